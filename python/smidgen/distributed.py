"""Runs on several processes or machines: a Dask client, an executor of ``concurrent.futures``, or processes of our own.

Chains are walked in rounds, each a task that is a pure function of its bytes: a worker that is lost costs the round
that it had, which somebody else repeats bit for bit. Draws are those of ``m.sample(checkpoint=..., seed=...)`` on one
machine, however many workers there are.
"""

from __future__ import annotations

import os
import pickle
import time
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

from . import _core
from ._result import Result

if TYPE_CHECKING:
    from ._criticism import Calibration, KernelComparison
    from ._crew import Task
    from ._model import BoundModel
    from .kernel import Kernel

__all__ = ["calibrate", "compare", "exact", "sample"]

#: Seconds that a round should take, if nobody says how many draws it has.
ROUND = 30.0

#: Draws of the first round, from which the pace is learnt.
FIRST = 50


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
    checkpoint_every: int | None = None,
    round: int | None = None,
) -> Result:
    """Draws from the posterior, by the workers of ``client``: a ``dask.distributed.Client``, an executor, or a number
    of processes. The draws are those of ``model.sample(checkpoint=..., checkpoint_every=...)`` with the same seed.

    A round ends where a chain is written down, which its work decides, or ``checkpoint_every`` draws; ``round`` is
    how many draws it has at least, by default so many as take half a minute. Neither ``round`` nor the workers change
    a draw. Files are read by the workers where they lie, and compared with what they are here.
    """
    from ._jobs import wait_for, whole
    from ._model import _seed

    whole({
        "draws": (draws, 1), "tune": (tune, 0), "chains": (chains, 1), "thin": (thin, 1), "round": (round, 1),
        "checkpoint_every": (checkpoint_every, 1),
    })  # fmt: skip
    if isinstance(init, Result):
        raise ValueError("init= takes values by name here, not a former result")
    begun = time.monotonic()
    order = model._order(
        draws=draws, tune=tune, chains=chains, cores=1, seed=_seed(seed), kernel=kernel, thin=thin, record=record, init=init,
        approximate=approximate, exact=exact, audit=audit, max_seconds=None, keep_states=False, keep_tune=keep_tune, stats=stats,
    )  # fmt: skip
    # What travels with the model need not be compared; what is read from files is.
    has_files = any(name not in model._tables for name in model._core.wants()[1])
    tables = wait_for(model._core.tables(order), model, False) if has_files else None
    walkers = [Walker(chain, order, checkpoint_every, round, tables) for chain in range(chains)]

    def walked(task: "Task", answer: Any, seconds: float) -> list["Task"]:
        walker: Walker = task.about
        return walker.come_home(answer, seconds)

    _with_crew(model, client, [walker.next() for walker in walkers], walked)
    ends = [(walker.streams, walker.end) for walker in walkers]
    job = model._core.gather(order, ends, time.monotonic() - begun)
    outcome: _core.Outcome = wait_for(job, model, False)
    result = Result(outcome, model, {"tune": tune, "draws": draws, "chains": chains, "thin": thin})
    result._warn(stacklevel=3)
    return result


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
) -> Result:
    """Exact draws from the posterior given all rows of ``files``, the parts of the model's one table, which stay with the
    workers: no row is approximated, and a draw waits for hardly any of them.

    The model moves continuous choices that all rows share (a regression) and goes through the rows once. Sums and
    bounds are made by the workers, a chain then has ``reel`` rows brought at a time, drawn ahead. The draws are the same
    for any number of workers, and for files cut elsewhere at multiples of 65,536 rows. What the model was bound to as
    its table does not matter.
    """
    from ._jobs import whole
    from ._model import _seed
    from ._sharded import run

    whole({
        "draws": (draws, 1), "tune": (tune, 0), "chains": (chains, 1), "thin": (thin, 1), "reel": (reel, 1),
    })  # fmt: skip
    order = model._order(
        draws=draws, tune=tune, chains=chains, cores=1, seed=_seed(seed), kernel=None, thin=thin, record=record, init=None,
        approximate=False, exact=True, audit=None, max_seconds=None, keep_states=False, keep_tune=False, stats=False,
    )  # fmt: skip
    outcome, reels, total = run(model, client, files, order, reel)
    result = Result(outcome, model, {"tune": tune, "draws": draws, "chains": chains, "thin": thin})
    result._later["sharded"] = {"reels": reels, "bound": total}
    result._warn(stacklevel=3)
    return result


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
    from ._crew import Task
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
        _with_crew(model, client, parts(_core.pilots(), 1), done)
        spacing = _core.spacing([share for first in sorted(found) for share in found[first]])
        order = {**order, "thin": spacing[0]}
    _with_crew(model, client, parts(simulations, together or -(-simulations // 32)), done)
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
    from ._crew import Task
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

    _with_crew(model, client, [Task("compare", "the comparison", order=order)], done)
    return found[0]


def _with_crew(model: "BoundModel", client: Any, tasks: Iterable["Task"], done: Any) -> None:
    from ._crew import Crew, compute

    crew = Crew(client, pickle.dumps(model._anywhere()))
    try:
        compute(crew, tasks, done)
    except _core.Failure as failure:
        raise model._error(failure) from None
    finally:
        crew.close()


class Walker:
    """A chain from round to round."""

    def __init__(self, chain: int, order: dict[str, Any], every: int | None, round: int | None, tables: str | None) -> None:
        self.chain = chain
        self.streams: list[bytes] = []
        self.end = b""
        self._order = order
        self._leg = {"chain": chain, "checkpoint": None, "until": 0, "every": every, "tables": tables}
        self._round = round
        self._made = 0

    def __str__(self) -> str:
        return f"chain {self.chain} after {self._made} draws"

    def next(self) -> "Task":
        from ._crew import Task

        return Task("walk", self, order=self._order, leg=self._leg)

    def come_home(self, answer: Any, seconds: float) -> list["Task"]:
        made, streams, checkpoint, end = answer
        self.streams.extend(streams)
        if end is not None:
            self.end = end
            return []
        pace = (made - self._made) / max(seconds, 1e-3)
        self._made = made
        # The clock decides how many draws the next round has, and so which draws come together, but no draw.
        length = self._round or (max(int(pace * ROUND), FIRST) if pace else FIRST)
        self._leg = {**self._leg, "checkpoint": checkpoint, "until": made + length}
        return [self.next()]
