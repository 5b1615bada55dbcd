"""Runs on several processes or machines: a Dask client, an executor of ``concurrent.futures``, or processes of our own.

Chains are walked in rounds, each a task that is a pure function of its bytes: a worker that is lost costs the round
that it had, which somebody else repeats bit for bit. Draws are those of ``m.sample(checkpoint=..., seed=...)`` on one
machine, however many workers there are. With ``checkpoint="fit.run"`` whoever asked may be lost as well: rounds are
committed to a run folder as they come, and :func:`resume` goes on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import _core
from ._result import Result

if TYPE_CHECKING:
    from ._crew import Task
    from ._criticism import Calibration, KernelComparison
    from ._model import BoundModel
    from .kernel import Kernel

__all__ = ["calibrate", "compare", "exact", "resume", "sample"]


def sample(
    model: "BoundModel",
    client: Any,
    draws: int = 1000,
    *,
    tune: int = 1000,
    chains: int = 4,
    seed: int | None = None,
    kernel: "Kernel | str | None" = None,
    thin: int = 1,
    record: Mapping[str, str] | list[str] | None = None,
    init: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    approximate: bool = False,
    exact: bool = False,
    audit: float | None = None,
    keep_tune: bool = False,
    stats: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    discard: bool = False,
    round: int | None = None,
) -> Result:
    """Draws from the posterior, by the workers of ``client``: a ``dask.distributed.Client``, an executor, or a number
    of processes. The draws are those of ``model.sample(checkpoint=..., checkpoint_every=...)`` with the same seed.

    A round ends where a chain is written down, which its work decides, or ``checkpoint_every`` draws; ``round`` is
    how many draws it has at least, by default so many as take half a minute. Neither ``round`` nor the workers change
    a draw. Files are read by the workers where they lie, and compared with what they are here.

    With ``checkpoint="fit.run"`` every round is committed to a run folder when it comes home, as a run of one machine would
    be: reports read it meanwhile, and :func:`resume` here or :func:`smidgen.resume` on one machine goes on with it. ``discard=True``
    removes a run that is there.
    """
    from ._durable import new_place
    from ._jobs import whole
    from ._model import _seed
    from ._walkers import sampled

    whole({
        "draws": (draws, 1), "tune": (tune, 0), "chains": (chains, 1), "thin": (thin, 1), "round": (round, 1),
        "checkpoint_every": (checkpoint_every, 1),
    })  # fmt: skip
    if isinstance(init, Result):
        raise ValueError("init= takes values by name here, not a former result")
    if checkpoint is None and discard:
        raise ValueError("discard= goes with checkpoint=")
    place = None if checkpoint is None else new_place(checkpoint, checkpoint_every, discard, None)
    order = model._order(
        draws=draws, tune=tune, chains=chains, cores=1, seed=_seed(seed), kernel=kernel, thin=thin, record=record, init=init,
        approximate=approximate, exact=exact, audit=audit, max_seconds=None, keep_states=False, keep_tune=keep_tune, stats=stats,
    )  # fmt: skip
    return sampled(model, client, order, place, checkpoint_every, round)


def resume(
    path: str | os.PathLike[str],
    client: Any,
    draws: int | None = None,
    *,
    model: "BoundModel | None" = None,
    round: int | None = None,
) -> Result:
    """Goes on with a run in a folder by the workers of ``client``, whatever has stopped it, or makes one longer: the draws
    are those of a run that was never stopped. It may have been begun by :func:`sample` or :func:`exact` here, or by
    ``model.sample(checkpoint=...)``. A run over frames or arrays needs the model with these again."""
    from ._durable import going_on
    from ._jobs import whole
    from ._result import load
    from ._walkers import sampled

    whole({"round": (round, 1)})
    found = going_on(path, draws, model)
    if found.is_over:
        return load(found.name, found.model)
    assert found.model is not None, "a run that is over has been dealt with"
    if found.then.get("sharded") is not None:
        from ._sharded import resumed

        return resumed(found, client)
    return sampled(found.model, client, found.order(1), found.place(), found.then["checkpoint_every"], round)


def exact(
    model: "BoundModel",
    client: Any,
    files: Sequence[str | os.PathLike[str]],
    draws: int = 1000,
    *,
    tune: int = 100,
    chains: int = 1,
    thin: int = 1,
    seed: int | None = None,
    record: Mapping[str, str] | list[str] | None = None,
    reel: int = 4096,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    discard: bool = False,
) -> Result:
    """Exact draws from the posterior given all rows of ``files``, the parts of the model's one table, which stay with the
    workers: no row is approximated, and a draw waits for hardly any of them.

    The model moves continuous choices that all rows share (a regression) and goes through the rows once. Sums and
    bounds are made by the workers, a chain then has ``reel`` rows brought at a time, drawn ahead. The draws are the same
    for any number of workers, and for files cut elsewhere at multiples of 65,536 rows. What the model was bound to as
    its table does not matter.

    With ``checkpoint="fit.run"`` what was prepared and the draws go to a run folder, from which :func:`resume` goes on.
    """
    from ._durable import new_place
    from ._jobs import whole
    from ._model import _seed
    from ._sharded import begun

    whole({
        "draws": (draws, 1), "tune": (tune, 0), "chains": (chains, 1), "thin": (thin, 1), "reel": (reel, 1),
    })  # fmt: skip
    order = model._order(
        draws=draws, tune=tune, chains=chains, cores=1, seed=_seed(seed), kernel=None, thin=thin, record=record, init=None,
        approximate=False, exact=True, audit=None, max_seconds=None, keep_states=False, keep_tune=False, stats=False,
    )  # fmt: skip
    if checkpoint is None and (discard or checkpoint_every is not None):
        raise ValueError("checkpoint_every= and discard= go with checkpoint=")
    place = None if checkpoint is None else new_place(checkpoint, checkpoint_every, discard, None)
    return begun(model, client, files, order, reel, place)


def calibrate(
    model: "BoundModel",
    client: Any,
    simulations: int = 200,
    *,
    draws: int = 31,
    tune: int = 500,
    thin: int | None = None,
    kernel: "Kernel | str | None" = None,
    record: list[str] | None = None,
    seed: int | None = None,
    together: int | None = None,
) -> "Calibration":
    """Simulation-based calibration by the workers of ``client``: what ``model.calibrate(...)`` gives for the same seed.
    A task has ``together`` simulations, by default so many that there are about thirty tasks."""
    from ._crew import Task, with_crew
    from ._criticism import Calibration
    from ._jobs import wait_for, whole
    from ._model import _kernel_text, _seed

    whole({
        "simulations": (simulations, 1), "draws": (draws, 1), "tune": (tune, 0), "thin": (thin, 1), "together": (together, 1),
    })  # fmt: skip
    _, expressions = model._recorded(record)
    order: dict[str, Any] = {
        "kernel": _kernel_text(kernel, model._renamed), "simulations": simulations, "draws": draws, "tune": tune, "thin": thin,
        "seed": _seed(seed), "record": expressions, "cores": 1,
    }  # fmt: skip
    found: dict[int, list[Any]] = {}

    def parts(number: int, size: int) -> list[Task]:
        found.clear()
        firsts = range(0, number, size)
        return [Task("part of a calibration", first, order=order, first=first, end=min(first + size, number)) for first in firsts]

    def done(task: Task, answer: Any, seconds: float) -> list[Task]:
        found[task.about] = answer
        return []

    spacing = (thin or 1, False)
    if thin is None:
        with_crew(model, client, parts(_core.pilots(), 1), done)
        spacing = _core.spacing([share for first in sorted(found) for share in found[first]])
        order = {**order, "thin": spacing[0]}
    with_crew(model, client, parts(simulations, together or -(-simulations // 32)), done)
    places = [place for first in sorted(found) for place in found[first]]
    return Calibration(wait_for(model._core.collect_calibration(order, places, spacing), model, False))


def compare(
    model: "BoundModel",
    client: Any,
    kernel: "Kernel | str | None" = None,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 2,
    thin: int = 1,
    seed: int | None = None,
    record: list[str] | None = None,
) -> "KernelComparison":
    """Subsampled against exact inference, by one of the workers of ``client``: what ``model.compare(...)`` gives. Its three
    runs belong together, so it is a single task."""
    from ._crew import Task, with_crew
    from ._criticism import KernelComparison
    from ._jobs import whole
    from ._model import _kernel_text, _seed

    whole({"draws": (draws, 1), "tune": (tune, 0), "chains": (chains, 1), "thin": (thin, 1)})
    _, expressions = model._recorded(record)
    order = {
        "kernel": _kernel_text(kernel, model._renamed), "draws": draws, "tune": tune, "chains": chains, "thin": thin,
        "seed": _seed(seed), "record": expressions, "cores": None, "max_seconds": None,
    }  # fmt: skip
    found: list[KernelComparison] = []

    def done(task: Task, answer: Any, seconds: float) -> list[Task]:
        found.append(KernelComparison(answer))
        return []

    with_crew(model, client, [Task("compare", "the comparison", order=order)], done)
    return found[0]
