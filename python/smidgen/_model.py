"""Models: a function that is compiled, and what it becomes when it is called with data."""

from __future__ import annotations

import functools
import os
import types
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from . import _core
from ._data import arrays_table, table
from ._durable import new_place, resume
from ._errors import ModelError, ModelSyntaxError, SmidgenError, model_error
from ._result import Result
from ._run import Run
from ._words import fresh_seed, python_words
from .kernel import Kernel

if TYPE_CHECKING:
    from ._compile import Compiled
    from ._criticism import Calibration, Enumeration, KernelComparison
    from ._predictions import Predictions
    from ._scope import TableUse
    from ._source import Span, Text
    from ._syntax import Written

#: Beyond so many rows, the log density of every draw is reckoned on request only.
MANY_ROWS = 20_000

#: Words of other systems, and ours.
_OTHER_WORDS = {
    "random_seed": "seed", "rng_key": "seed", "num_samples": "draws", "iter_sampling": "draws", "num_warmup": "tune",
    "iter_warmup": "tune", "warmup": "tune", "burn": "tune", "num_chains": "chains", "n_chains": "chains",
    "progressbar": "progress", "progress_bar": "progress", "threads": "cores", "initvals": "init", "initial_params": "init",
    "step": "kernel", "thinning": "thin", "nuts_sampler": "kernel", "target_accept": "kernel",
}  # fmt: skip


class Model:
    """A compiled function. Calling it with data gives a :class:`BoundModel`; nothing runs yet."""

    def __init__(self, function: types.FunctionType) -> None:
        import inspect

        # The compiler is read when the first model is defined: importing the package stays light.
        from ._compile import compile_model
        from ._source import definition

        __tracebackhide__ = True  # IPython and pytest show the user's frames
        functools.update_wrapper(self, function)
        self._function = function
        self._definition = definition(function)
        self._signature = inspect.signature(function)
        compile_model(function, self._definition, None)

    def __call__(self, *args: Any, **kwargs: Any) -> "BoundModel":
        from ._compile import compile_model

        __tracebackhide__ = True
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        try:
            compiled = compile_model(self._function, self._definition, dict(bound.arguments))
        except ModelSyntaxError as error:
            raise error.with_traceback(None) from None
        return BoundModel._of(compiled)

    def __repr__(self) -> str:
        return f"<smidgen model {self._function.__name__}{self._signature}>"


def model(function: Callable[..., Any]) -> Model:
    """Makes a model of a function. Its source is compiled; it is never run as Python.

    >>> import smidgen as sm
    >>> coin = sm.program("[assume p (beta 1 1)] [observe (binomial 10 p) 7] [predict p]")
    >>> fit = coin.sample(draws=500, tune=200, chains=2, seed=1)
    >>> bool(0.5 < fit["p"].mean() < 0.8)
    True
    """
    __tracebackhide__ = True
    if not isinstance(function, types.FunctionType):
        raise TypeError("@smidgen.model stands before a function")
    try:
        return Model(function)
    except ModelSyntaxError as error:
        # The way through the compiler is no news.
        raise error.with_traceback(None) from None


class BoundModel:
    """A program with its data."""

    def __init__(
        self,
        name: str,
        written: "Written",
        text: str,
        params: Mapping[str, Any],
        tables: Mapping[str, _core.Table],
        files: Mapping[str, str],
        dims: Mapping[str, Any],
        renamed: Mapping[str, str],
        folder: str = "",
        arrays: Mapping[str, list[str]] = {},
        lengths: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self._written = written
        self._text = text
        self._params = dict(params)
        self._tables = dict(tables)
        self._files = dict(files)
        self._dims = dict(dims)
        self._renamed = dict(renamed)
        self._folder = folder
        #: Of tables that are made of arrays: the names of these.
        self._arrays = dict(arrays)
        #: Arrays whose length the program has as a constant.
        self._lengths = lengths
        self._core = _core.Program(name, text, folder, self._params, self._tables, self._files)

    @staticmethod
    def _of(compiled: "Compiled") -> "BoundModel":
        tables = {name: _table(use) for name, use in compiled.tables.items()}
        arrays = {name: [source for source, _ in use.sources] for name, use in compiled.tables.items() if use.kind != "frame"}
        c = compiled
        lengths = frozenset(c.lengths)
        return BoundModel(c.name, c.written, c.text, c.params, tables, {}, c.dims, c.renamed, "", arrays, lengths)

    @staticmethod
    def _like(model: "BoundModel", params: Mapping[str, Any], tables: Mapping[str, _core.Table]) -> "BoundModel":
        """The same program with other data."""
        m = model
        files = {name: path for name, path in m._files.items() if name not in tables}
        return BoundModel(
            m.name, m._written, m._text, params, tables, files, {}, m._renamed, m._folder, m._arrays, m._lengths
        )

    def _anywhere(self) -> "BoundModel":
        """The same, for a process that works in another folder."""
        m = self
        files = {name: os.path.abspath(path) for name, path in m._files.items()}
        folder = os.path.abspath(m._folder) if m._folder else ""
        return BoundModel(
            m.name, m._written, m._text, m._params, m._tables, files, m._dims, m._renamed, folder, m._arrays, m._lengths
        )

    # ------------------------------------------------------------ what it is

    @property
    def text(self) -> str:
        """The program as text: the command samples the same draws from it."""
        return self._text

    @property
    def inputs(self) -> dict[str, Any]:
        """What the program takes from outside, by name: ``smidgen.program(m.text, **m.inputs)`` is the same model."""
        return {**self._params, **self._tables, **self._files}

    def __repr__(self) -> str:
        takes = ", ".join(self.inputs)
        return f"<smidgen model {self.name}({takes})>"

    def _repr_html_(self) -> str:
        from ._html import program_html

        return program_html(self._text)

    def __reduce__(self) -> Any:
        made = (
            self.name, self._written, self._text, self._params,
            {name: _Packed(value) for name, value in self._tables.items()}, self._files, self._dims, self._renamed, self._folder,
            self._arrays, self._lengths,
        )  # fmt: skip
        return (_unpack, made)

    def _find(self, source: str, start: int, end: int) -> "Span | None":
        from ._source import Span

        if source != self.name:
            return None
        found = self._written.find(start, end)
        return found if found is not None else Span(_program_text(self.name, self._text), start, end)

    def _error(self, failure: _core.Failure) -> ModelError:
        problems = [_in_python(problem) for problem in failure.args[0]]
        return model_error(problems, self._find)

    # ------------------------------------------------------------ before sampling

    def check(self) -> list[str]:
        """All mistakes and remarks about the program with these data, without running anything."""
        found = []
        for problem in self._core.check():
            error = model_error([_in_python(problem)], self._find)
            found.append(f"{'error' if problem['is_error'] else 'remark'}: {error}")
        return found

    def explain(self, kernel: Kernel | str | None = None, seed: int = 0) -> "Explanation":
        """Which kernel moves what, and why; which columns were copied."""
        try:
            text = self._core.explain(_kernel_text(kernel, self._renamed), seed)
        except _core.Failure as failure:
            raise self._error(failure) from None
        account = {name: value.account() for name, value in self._tables.items()}
        return Explanation(python_words(self._places_in(text)), account)

    def _places_in(self, text: str) -> str:
        """Lines of the program become lines of the user's source."""
        import re

        starts = [0]
        for line in self._text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line.encode()))

        def source(match: "re.Match[str]") -> str:
            line = int(match[1])
            places = [p for p in self._written.places if starts[line - 1] <= p[0] < starts[min(line, len(starts) - 1)]]
            if not places:
                return match[0]
            span = max(places, key=lambda p: p[1] - p[0])[2]
            line = span.text.position(span.start)[0]
            folder, _, short = span.text.filename.replace("\\", "/").rpartition("/")
            # A cell of a notebook has a file name that says nothing to anybody.
            is_cell = "/ipykernel_" in folder or "marimo" in short or short.startswith("<ipython")
            return f"cell, line {line}" if is_cell else f"{short}:{line}"

        return re.sub(rf"\b{re.escape(self.name)}:(\d+)", source, text)

    # ------------------------------------------------------------ sampling

    def sample(
        self,
        draws: int = 1000,
        *,
        tune: int = 1000,
        chains: int = 4,
        cores: int | None = None,
        seed: int | None = None,
        kernel: Kernel | str | None = None,
        thin: int = 1,
        record: Mapping[str, str] | list[str] | None = None,
        init: "Mapping[str, Any] | Sequence[Mapping[str, Any]] | Result | None" = None,
        approximate: bool = False,
        exact: bool = False,
        audit: float | None = None,
        max_seconds: float | None = None,
        keep_states: bool | str = "auto",
        keep_tune: bool = False,
        stats: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int | None = None,
        discard: bool = False,
        restart_from: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        wait: bool = True,
        **unknown: Any,
    ) -> Any:
        """Draws from the posterior: a :class:`Result`, or with ``wait=False`` a :class:`Run`.

        ``record`` are further expressions to keep: ``{"ratio": "after / before"}``; ``init`` starting values of
        choices by name (``{"mu": 0.3, "effect(3)": 1}``, or a list of such, one per chain), or a former result, whose
        ends are the starts. ``keep_states`` are for predictions: up to 256 MB, ``True`` for all, ``False`` for none;
        ``keep_tune`` keeps the draws of the tuning. ``stats`` are those of every draw: False for none, True also
        with the log density where it costs a look at many rows. Without ``seed`` one is drawn (``fit.seed``).

        With ``checkpoint="fit.run"`` the draws go to a folder while they are made, and :func:`smidgen.resume` goes on
        after whatever has stopped the run; ``checkpoint_every`` asks for a checkpoint after so many draws,
        ``discard=True`` removes a run that is there, ``restart_from="old.run"`` begins where an older one stood.
        """
        __tracebackhide__ = True
        _refuse_unknown(unknown)
        for value, word in ((draws, "draws"), (tune, "tune"), (chains, "chains"), (thin, "thin")):
            if not isinstance(value, int) or value < (0 if word == "tune" else 1):
                raise ValueError(f"{word}={value!r}: a whole number from {0 if word == 'tune' else 1} on")
        if keep_states not in (True, False, "auto", "all"):
            raise ValueError(f'keep_states={keep_states!r}: "auto", True or False')
        order = self._order(
            draws=draws, tune=tune, chains=chains, cores=cores, seed=_seed(seed), kernel=kernel, thin=thin, record=record,
            init=init, approximate=approximate, exact=exact, audit=audit, max_seconds=max_seconds,
            keep_states=keep_states, keep_tune=keep_tune, stats=stats,
        )  # fmt: skip
        place = None
        if restart_from is not None:
            if init is not None:
                raise ValueError("init= and restart_from= both say where the chains begin")
            order["init"] = os.fspath(restart_from)
        if checkpoint is not None:
            _refuse_with_checkpoint(init, keep_states, max_seconds)
            place = new_place(checkpoint, checkpoint_every, discard, restart_from)
            order["keep_states"] = "no"
        elif checkpoint_every is not None or discard:
            raise ValueError("checkpoint_every= and discard= go with checkpoint=")
        try:
            core = self._core.start(order, place)
        except OSError as error:
            raise SmidgenError(python_words(str(error))) from None
        folder = None if checkpoint is None else os.fspath(checkpoint)
        run = Run(core, self, {"tune": tune, "draws": draws, "chains": chains, "thin": thin}, folder)
        if not wait:
            run._show_by_itself(progress)
            return run
        return run._wait_here(progress)

    def resume(
        self,
        path: str | os.PathLike[str],
        draws: int | None = None,
        *,
        cores: int | None = None,
        from_seed: bool = False,
        progress: bool | None = None,
        wait: bool = True,
    ) -> Any:
        """Goes on with a run of this model in a folder: see :func:`smidgen.resume`. Its program and data have to be
        those of the run; what differs is named."""
        return resume(path, draws, model=self, cores=cores, from_seed=from_seed, progress=progress, wait=wait)

    def _order(self, *, kernel: Any, record: Any, init: Any, keep_states: Any, stats: Any, **others: Any) -> dict[str, Any]:
        """A request, as the native half takes it."""
        labels, expressions = self._recorded(record)
        return {
            **others, "kernel": _kernel_text(kernel, self._renamed), "record": list(zip(labels, expressions)),
            "keep_states": "auto" if keep_states == "auto" else "all" if keep_states else "no",
            "stats": (stats is not False, self._knows_density(stats)), "init": self._started(init),
        }  # fmt: skip

    def _knows_density(self, stats: bool | None) -> bool:
        """Whether the log density of every draw is worth its cost: it reads whatever moved."""
        if stats is None:
            return not self._files and sum(table.rows for table in self._tables.values()) <= MANY_ROWS
        return stats

    def _started(self, init: Any) -> Any:
        """Starting values, chain by chain, or the former result."""
        from ._expression_text import expression_text

        if init is None or not init and not isinstance(init, Result):
            return None
        if isinstance(init, Result):
            return init._outcome
        chains = [init] if isinstance(init, Mapping) else list(init)
        if not all(isinstance(chain, Mapping) for chain in chains):
            raise TypeError("init= takes values by name, a list of such (one per chain), or a former result")
        return [[(expression_text(name, self._renamed), v) for name, v in chain.items()] for chain in chains]

    # ------------------------------------------------------------ criticism

    def prior_predictive(
        self,
        draws: int = 500,
        *,
        rows: Any = None,
        seed: int | None = None,
        record: Mapping[str, str] | list[str] | None = None,
        cores: int | None = None,
        progress: bool | None = None,
    ) -> "Predictions":
        """Draws from the prior: of what is recorded, and of what is observed (of 1000 rows at most, spread evenly;
        ``rows`` is another number, indices, a slice, or ``"all"``)."""
        from ._jobs import wait_for, whole
        from ._predictions import Predictions
        from ._rows import MOST_ROWS, wanted_rows

        whole({"draws": (draws, 1), "cores": (cores, 1)})
        labels, expressions = self._recorded(record)
        wanted = wanted_rows(self, rows, MOST_ROWS, stacklevel=2)
        job = self._core.prior((1, draws), _seed(seed), list(zip(labels, expressions)), wanted, cores)
        outcome, observed, used = wait_for(job, self, progress)
        return Predictions(outcome, observed, used, kind="prior")

    def calibrate(
        self,
        simulations: int = 200,
        *,
        draws: int = 31,
        tune: int = 500,
        thin: int | None = None,
        kernel: Kernel | str | None = None,
        record: list[str] | None = None,
        seed: int | None = None,
        cores: int | None = None,
        progress: bool | None = None,
    ) -> "Calibration":
        """Simulation-based calibration: data are drawn from the model many times, and the truth is ranked among the
        draws given each of them. A model and sampler that are right FAIL with probability 1 % at most."""
        from ._criticism import Calibration
        from ._jobs import wait_for, whole

        whole({"simulations": (simulations, 1), "draws": (draws, 1), "tune": (tune, 0), "thin": (thin, 1)})
        _, expressions = self._recorded(record)
        order = {
            "kernel": _kernel_text(kernel, self._renamed), "simulations": simulations, "draws": draws, "tune": tune, "thin": thin,
            "seed": _seed(seed), "record": expressions, "cores": cores,
        }  # fmt: skip
        job = self._core.calibrate(order)
        return Calibration(wait_for(job, self, progress))

    def enumerate(
        self,
        *,
        record: Mapping[str, str] | list[str] | None = None,
        most: int = 1_000_000,
        progress: bool | None = None,
    ) -> "Enumeration":
        """Exact answers for a model whose choices are finite: the law of what is recorded, and the log evidence."""
        from ._criticism import Enumeration
        from ._jobs import wait_for, whole

        whole({"most": (most, 1)})
        labels, expressions = self._recorded(record)
        return Enumeration(wait_for(self._core.enumerate(list(zip(labels, expressions)), most), self, progress))

    def compare(
        self,
        kernel: Kernel | str | None = None,
        *,
        draws: int = 1000,
        tune: int = 1000,
        chains: int = 2,
        thin: int = 1,
        seed: int | None = None,
        record: list[str] | None = None,
        cores: int | None = None,
        seconds: float | None = None,
        progress: bool | None = None,
    ) -> "KernelComparison":
        """Subsampled against exact inference on this model: decisions, posterior, cost. ``seconds`` are processor
        seconds after which a chain of each of the three runs stops. (Models are compared by ``smidgen.compare``.)"""
        from ._criticism import KernelComparison
        from ._jobs import wait_for, whole

        whole({"draws": (draws, 1), "tune": (tune, 0), "chains": (chains, 1), "thin": (thin, 1)})
        _, expressions = self._recorded(record)
        job = self._core.compare(
            kernel=_kernel_text(kernel, self._renamed), draws=draws, tune=tune, chains=chains, thin=thin,
            seed=_seed(seed), record=expressions, cores=cores, max_seconds=seconds,
        )  # fmt: skip
        return KernelComparison(wait_for(job, self, progress))

    def _recorded(self, record: Mapping[str, str] | list[str] | None) -> tuple[list[str], list[str]]:
        from ._expression_text import expression_text

        if record is None:
            return [], []
        pairs = list(record.items()) if isinstance(record, Mapping) else [(text, text) for text in record]
        return [label for label, _ in pairs], [expression_text(text, self._renamed) for _, text in pairs]


class Explanation(str):
    """What a sweep does, and how the data were taken over (``.columns``)."""

    columns: dict[str, list[tuple[str, str, int, str]]]

    def __new__(cls, text: str, columns: dict[str, list[tuple[str, str, int, str]]]) -> "Explanation":
        lines = [text.rstrip("\n"), ""] if columns else [text]
        for table_name, listed in columns.items():
            lines.append(f"{table_name}:")
            width = max((len(row[0]) for row in listed), default=0)
            for name, kind, size, how in listed:
                words = "lent" if how == "lent" else f"copied, {size / 1e6:.1f} MB: {how}"
                lines.append(f"  {name:<{width}}  {kind:<8}  {words}")
        made = super().__new__(cls, "\n".join(lines))
        made.columns = columns
        return made

    def __repr__(self) -> str:
        return str(self)


# ---------------------------------------------------------------- text


def program(text: str, **inputs: Any) -> BoundModel:
    """A program written as text. Inputs are values for ``{name}`` and tables for ``[table name]``.

    >>> import smidgen as sm
    >>> sm.program("[assume mu (normal 0 {sd})]", sd=2.0).inputs
    {'sd': 2.0}
    """
    return _program(text, inputs, "program", os.getcwd())


def read(path: str | os.PathLike[str], **inputs: Any) -> BoundModel:
    """A program from a file; relative paths in it start in its folder."""
    path = os.fspath(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return _program(text, inputs, path, os.path.dirname(os.path.abspath(path)))


def _program(text: str, inputs: Mapping[str, Any], name: str, folder: str) -> BoundModel:
    import difflib

    from ._syntax import Written

    written = Written()
    probe = _core.Program(name, text, folder, {}, {}, {})
    bare = BoundModel(name, written, text, {}, {}, {}, {}, {}, folder)
    try:
        params, tables = probe.wants()
    except _core.Failure as failure:
        raise bare._error(failure) from None
    values: dict[str, Any] = {}
    given: dict[str, _core.Table] = {}
    files: dict[str, str] = {}
    for key, value in inputs.items():
        if key in tables:
            if isinstance(value, (str, os.PathLike)):
                files[key] = os.fspath(value)
            else:
                given[key] = table(value, key)
        elif key in params:
            values[key] = value
        else:
            near = difflib.get_close_matches(key, [*params, *tables], 1)
            hint = f"did you mean `{near[0]}`?" if near else f"it takes {', '.join([*params, *tables]) or 'nothing'}"
            raise TypeError(f"the program has no input `{key}`; {hint}")
    return BoundModel(name, written, text, values, given, files, {}, {}, folder)


# ---------------------------------------------------------------- parts


def _table(use: "TableUse") -> _core.Table:
    if use.kind == "frame":
        return table(use.sources[0][1], use.name)
    return arrays_table(use.name, use.sources)


class _Packed:
    """A table on its way to another process: its columns, without their engine."""

    def __init__(self, value: _core.Table) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        import numpy as np

        columns = []
        for name, kind, _, _ in self.value.account():
            cells = self.value.column(name) or []
            kept: Any = cells
            if kind != "texts" and None not in cells:
                kept = np.array(cells, dtype=bool if kind == "booleans" else None)
            columns.append((name, kept))
        return (_repacked, (columns, self.value.missing))


def _repacked(columns: list[tuple[str, Any]], missing: str | None) -> _core.Table:
    made = arrays_table("table", columns)
    return made if missing is None else made.with_missing(missing)


def _unpack(*parts: Any) -> BoundModel:
    return BoundModel(*parts)


def _seed(seed: int | None) -> int:
    return fresh_seed() if seed is None else int(seed)


def _kernel_text(kernel: Kernel | str | int | None, renamed: Mapping[str, str]) -> str | None:
    if kernel is None:
        return None
    return kernel.text(renamed) if isinstance(kernel, Kernel) else str(kernel)


def _in_python(problem: dict[str, Any]) -> dict[str, Any]:
    return {
        **problem,
        "message": python_words(problem["message"]),
        "hints": [python_words(hint) for hint in problem["hints"]],
    }


def _refuse_with_checkpoint(init: Any, keep_states: Any, max_seconds: Any) -> None:
    """A folder has draws, and where the chains stand; it goes on from there and not from the clock."""
    if isinstance(init, Result):
        raise ValueError('with checkpoint=, init= takes values by name; restart_from="old.run" begins where a run in a folder stood')
    if keep_states is True or keep_states == "all":
        raise ValueError("keep_states=True: a run folder keeps no states beside the draws: record the choices that predictions need")
    if max_seconds is not None:
        raise ValueError("max_seconds= cannot go with checkpoint=: a run in a folder is stopped by Ctrl-C or .cancel(), and can be resumed")


def _refuse_unknown(unknown: Mapping[str, Any]) -> None:
    import difflib

    for name in unknown:
        ours = _OTHER_WORDS.get(name)
        known = ["draws", "tune", "chains", "cores", "seed", "kernel", "thin", "record", "init", "checkpoint", "progress", "wait"]
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; here it is `{ours}=`" if ours else f"; did you mean `{near[0]}=`?" if near else ""
        raise TypeError(f"sample() has no argument `{name}`{hint}")


@functools.lru_cache(maxsize=64)
def _program_text(name: str, text: str) -> "Text":
    """A program's own text as a place of mistakes; known to tracebacks."""
    import linecache

    from ._source import Text

    lines = text.splitlines(keepends=True)
    filename = name if os.path.exists(name) else f"<smidgen {name} {abs(hash(text)) % 10**8}>"
    if filename.startswith("<"):
        linecache.cache[filename] = (len(text), None, lines, filename)
    return Text.of(filename, lines)
