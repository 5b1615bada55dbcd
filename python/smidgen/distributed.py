"""Runs on several processes or machines: a Dask client, an executor of ``concurrent.futures``, or processes of our own.

Chains are walked in rounds, each a task that is a pure function of its bytes: a worker that is lost costs the round
that it had, which somebody else repeats bit for bit. Draws are those of ``m.sample(checkpoint=..., seed=...)`` on one
machine, however many workers there are.
"""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

from . import _core
from ._result import Result

if TYPE_CHECKING:
    from ._crew import Crew, Task
    from ._model import BoundModel
    from .kernel import Kernel

__all__ = ["sample"]

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

    def walked(task: "Task", answer: Any, seconds: float) -> Iterable["Task"]:
        return walkers[task.about.chain].come_home(answer, seconds)

    _with_crew(model, client, [walker.next() for walker in walkers], walked)
    ends = [(walker.streams, walker.end) for walker in walkers]
    job = model._core.gather(order, ends, time.monotonic() - begun)
    outcome: _core.Outcome = wait_for(job, model, False)
    result = Result(outcome, model, {"tune": tune, "draws": draws, "chains": chains, "thin": thin})
    result._warn(stacklevel=3)
    return result


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
