"""One exact chain above a table in many files, whose rows stay with the workers.

The engine's half is ``smidgen::sampling::sharded``: who is asked what. Here is how it is asked: a task for each file, and
answers in the order of files, whoever gave them.
"""

from __future__ import annotations

import json
import os
import pickle
import re
from typing import TYPE_CHECKING, Any, Iterable, Sequence

import numpy as np

from . import _core
from ._errors import SmidgenError
from ._result import Result

if TYPE_CHECKING:
    from ._crew import Crew, Task
    from ._durable import GoingOn
    from ._model import BoundModel

#: Rows with which the chain's own part begins: any will do.
FIRST = 1024

#: A reel is not shorter: among fewer rows the terms of the prior could be taken for some.
SHORTEST = 1024


def table_of(model: "BoundModel") -> str:
    """The model's one table, if all that the program does with it is to go through its rows."""
    tables = model._core.wants()[1]
    if len(tables) != 1:
        raise SmidgenError(f"a sharded chain needs a model of one table, this has {len(tables)}")
    (name,) = tables
    code = re.sub(r";[^\n]*", "", model.text)
    others = re.sub(rf"\[table {re.escape(name)}(?![\w.])|\bin {re.escape(name)}(?![\w.])", "", code)
    if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", others) or model._lengths:
        raise SmidgenError(f"a sharded chain goes through the rows of `{name}` and cannot ask for anything else of it: its length, its columns")
    if re.search(r"\.index\b", code):
        raise SmidgenError("row.index would count the rows of a part here, not those of the table: give the rows a column with their number")
    return name


class Parts:
    """The files of a table and those who have them."""

    def __init__(
        self, model: "BoundModel", crew: "Crew", files: Sequence[str], order: dict[str, Any], name: str, before: Sequence[str] | None
    ) -> None:
        self._model, self._crew, self._order, self._name = model, crew, order, name
        self._files = list(files)
        #: Sums of each file, once they are known: whoever reads it again has to find them.
        self._contents: list[str | None] = list(before) if before else [None] * len(self._files)
        self._ball: Any = None
        self.failed: list[BaseException] = []
        abouts = self._each("about")
        (_, self._dimension, self._addresses, _) = abouts[0]
        for file, about in zip(self._files, abouts):
            if about[1] != self._dimension or about[2] != self._addresses:
                raise SmidgenError(f"{file}: the choices of the model hang on the rows; a sharded chain moves choices that all rows share")
        self._contents = [about[3] for about in abouts]
        #: Of each block of all files: the file, and its number there.
        self._blocks = [(k, b) for k, about in enumerate(abouts) for b in range(len(about[0]))]
        self.rows = sum(sum(about[0]) for about in abouts)

        self._first = min(FIRST, abouts[0][0][0])

    def contents(self) -> list[str | None]:
        """Sums of the rows of each file."""
        return self._contents

    def front(self) -> _core.Shard:
        """Where the chain begins: any rows will do, as what they say is not read before the first reel has come."""
        cells = self._some("cells", {0: (list(range(self._first)),)})[0]
        return self._shard({0: cells}, [(0, k) for k in range(self._first)])

    def ask(self, question: tuple[Any, ...]) -> Any:
        """For the engine: None where it failed, and then ``failed`` says why."""
        try:
            what, *args = question
            if what == "reel":
                return self._reel(*args)
            if what in ("ball", "bounds"):
                self._ball = args[0]
            if what == "ball":
                return True
            # Of blocks in order, as nobody sees in the sum who had which.
            return [of_block for of_file in self._each(what, *args) for of_block in of_file]
        except BaseException as error:
            self.failed.append(error)
            return None

    def _reel(self, places: list[tuple[int, float, float]]) -> tuple[_core.Shard, list[float]]:
        asked: dict[int, list[tuple[int, float, float]]] = {}
        where = []
        for block, place, total in places:
            file, own = self._blocks[block]
            of_file = asked.setdefault(file, [])
            where.append((file, len(of_file)))
            of_file.append((own, place, total))
        found = self._some("rows_at", {file: (self._ball, of_file) for file, of_file in asked.items()})
        bounds = [found[file][0][k] for file, k in where]
        return self._shard({file: cells for file, (_, cells) in found.items()}, where), bounds

    def _shard(self, cells: dict[int, Any], where: list[tuple[int, int]]) -> _core.Shard:
        """Rows from several files, in the order of ``where`` (file, row there), under the model."""
        from ._model import BoundModel

        columns = []
        for c, (name, kind, _, width) in enumerate(next(iter(cells.values()))):
            each = {file: of_file[c][2] for file, of_file in cells.items()}
            column = [x for file, k in where for x in each[file][k * width : (k + 1) * width]]
            given: Any = column
            if kind != "texts":
                given = np.array(column, dtype=np.uint8 if kind == "booleans" else np.float64)
            columns.append((name, kind, given, width))
        table = _core.Table.from_arrays(self._name, columns, "")
        tables = {**self._model._tables, self._name: table}
        return BoundModel._like(self._model, self._model._params, tables)._core.shard(self._order, self._name)

    def _each(self, what: str, *args: Any) -> list[Any]:
        found = self._some(what, {k: args for k in range(len(self._files))})
        return [found[k] for k in range(len(self._files))]

    def _some(self, what: str, asked: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        from ._crew import Task, compute

        found: dict[int, Any] = {}

        def done(task: "Task", answer: Any, seconds: float) -> Iterable["Task"]:
            found[task.about.number] = answer
            return []

        def task(number: int, args: tuple[Any, ...]) -> "Task":
            parts = {"what": what, "args": args, "path": self._files[number], "contents": self._contents[number]}
            return Task("shard", _Part(number, self._files[number]), order=self._order, table=self._name, **parts)

        compute(self._crew, [task(number, args) for number, args in asked.items()], done)
        return found


class _Part:
    """What a task is about, for messages."""

    def __init__(self, number: int, file: str) -> None:
        self.number = number
        self._file = file

    def __str__(self) -> str:
        return self._file


def begun(
    model: "BoundModel", client: Any, files: Sequence[str | os.PathLike[str]], order: dict[str, Any], reel: int, place: dict[str, Any] | None
) -> Result:
    """A run that begins, in a folder if there is a place for one."""
    name = table_of(model)
    paths = [os.path.abspath(os.fspath(file)) for file in files]
    if not paths:
        raise ValueError("files=[]: a table has one part at least")
    if len(set(paths)) < len(paths):
        raise ValueError("files= has a file twice: its rows would count twice")
    rows = {"table": name, "files": paths, "reel": max(reel, SHORTEST)}
    return _run(model, client, order, rows, place)


def resumed(found: "GoingOn", client: Any) -> Result:
    """A run in a folder that goes on: its files have to be what they were."""
    assert found.model is not None, "a run that is over has been dealt with"
    return _run(found.model, client, found.order(1), found.then["sharded"], found.place())


def _run(model: "BoundModel", client: Any, order: dict[str, Any], rows: dict[str, Any], place: dict[str, Any] | None) -> Result:
    from ._crew import Crew
    from ._jobs import wait_for
    from ._model import BoundModel

    name = rows["table"]
    m = model._anywhere()
    others = {known: table for known, table in m._tables.items() if known != name}
    bare = BoundModel(m.name, m._written, m._text, m._params, others, {}, m._dims, m._renamed, m._folder, m._arrays, m._lengths)
    crew = Crew(client, pickle.dumps(bare))
    parts = None
    try:
        parts = Parts(bare, crew, rows["files"], order, name, rows.get("contents"))
        if place is not None:
            place = {**place, "sharded": json.dumps({**rows, "contents": parts.contents()})}
        job = bare._core.sharded(order, parts.front(), parts.ask, parts.rows, rows["reel"], place)
        outcome, reels, total = wait_for(job, model, False)
    except BaseException as error:
        why = parts.failed[0] if parts is not None and parts.failed else error
        if isinstance(why, _core.Failure):
            raise model._error(why) from None
        if why is error:
            raise
        raise why from None
    finally:
        crew.close()
    result = Result(outcome, model, {word: order[word] for word in ("tune", "draws", "chains", "thin")})
    result._later["sharded"] = {"reels": reels, "bound": total}
    result._warn(stacklevel=4)
    return result
