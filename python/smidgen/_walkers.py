"""Chains that are walked elsewhere, round by round, and the run folder that they are kept in."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

from . import _core
from ._crew import Task, with_crew
from ._errors import SmidgenWarning
from ._jobs import GLANCE, wait_for
from ._result import Result
from ._words import python_words

if TYPE_CHECKING:
    from ._model import BoundModel

#: Seconds that a round should take, if nobody says how many draws it has.
ROUND = 30.0

#: Draws of the first round, from which the pace is learnt.
FIRST = 50


def sampled(
    model: "BoundModel", client: Any, order: dict[str, Any], place: dict[str, Any] | None, every: int | None, round: int | None
) -> Result:
    """The run of an order by the workers of ``client``, in a folder if there is a place for one."""
    begun = time.monotonic()
    book = None if place is None else Book(model, order, place)
    try:
        # What travels with the model need not be compared; what is read from files is.
        tables = None
        if any(name not in model._tables for name in model._core.wants()[1]):
            tables = book.tables() if book else wait_for(model._core.tables(order), model, False)
        walkers = [Walker(chain, order, every, round, tables, book) for chain in range(order["chains"])]

        def walked(task: Task, answer: Any, seconds: float) -> list[Task]:
            walker: Walker = task.about
            return walker.come_home(answer, seconds)

        with_crew(model, client, [walker.next() for walker in walkers], walked)
        ends = [(walker.streams, walker.end) for walker in walkers]
        job = model._core.gather(order, ends, time.monotonic() - begun, None if book is None else book.core)
        outcome: _core.Outcome = wait_for(job, model, False)
    finally:
        if book is not None:
            book.close()
    result = Result(outcome, model, {word: order[word] for word in ("tune", "draws", "chains", "thin")})
    result._warn(stacklevel=4)
    return result


class Book:
    """The run folder, as long as this process runs it."""

    def __init__(self, model: "BoundModel", order: dict[str, Any], place: dict[str, Any]) -> None:
        self._model = model
        self.core: _core.Logbook = wait_for(model._core.logbook(order, place), model, False)

    def tables(self) -> str:
        return self.core.tables()

    def keep(self, chain: int, streams: list[bytes], checkpoint: bytes | None, end: bytes | None) -> None:
        """When it comes back, what a round has brought is safe. A full disk is waited for; Ctrl-C ends that."""
        job = self.core.keep(chain, streams, checkpoint, end)
        try:
            while not job.wait(GLANCE):
                self._say()
        except BaseException:
            job.stop()
            raise
        finally:
            self._say()
        try:
            job.result()
        except _core.Failure as failure:
            raise self._model._error(failure) from None

    def _say(self) -> None:
        for text in self.core.said():
            warnings.warn(python_words(text.removeprefix("note: ").removeprefix("warning: ")), SmidgenWarning, stacklevel=6)

    def close(self) -> None:
        self.core.close()


class Walker:
    """A chain from round to round."""

    def __init__(
        self, chain: int, order: dict[str, Any], every: int | None, round: int | None, tables: str | None, book: Book | None
    ) -> None:
        self.chain = chain
        #: What it has drawn, unless that is in a folder.
        self.streams: list[bytes] = []
        self.end = b""
        self._order = order
        self._leg: dict[str, Any] = {"chain": chain, "checkpoint": None, "until": 0, "every": every, "tables": tables}
        self._round = round
        self._book = book
        self._made = 0
        stood = book.core.place(chain) if book else None
        if stood is not None:
            self._made, checkpoint = stood
            self._leg = {**self._leg, "checkpoint": checkpoint, "until": self._made + (round or FIRST)}

    def __str__(self) -> str:
        return f"chain {self.chain} after {self._made} draws"

    def next(self) -> Task:
        return Task("walk", self, order=self._order, leg=self._leg)

    def come_home(self, answer: Any, seconds: float) -> list[Task]:
        made, streams, checkpoint, end = answer
        if self._book is None:
            self.streams.extend(streams)
        else:
            self._book.keep(self.chain, streams, checkpoint, end)
        if end is not None:
            self.end = end
            return []
        pace = (made - self._made) / max(seconds, 1e-3)
        self._made = made
        # The clock decides how many draws the next round has, and so which draws come together, but no draw.
        length = self._round or (max(int(pace * ROUND), FIRST) if pace else FIRST)
        self._leg = {**self._leg, "checkpoint": checkpoint, "until": made + length}
        return [self.next()]
