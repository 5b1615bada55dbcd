"""What was drawn: arrays, a summary, words about whether to trust it, and the way to other tools."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Mapping

import numpy as np

from . import _core
from ._errors import ApproximationWarning, ConvergenceWarning, DataWarning, SmidgenError, SmidgenWarning
from ._named import NamedRows
from ._words import python_words

if TYPE_CHECKING:
    from ._loo import LogLikelihood, Loo
    from ._model import BoundModel
    from ._predictions import Predictions

Array = np.ndarray[Any, np.dtype[Any]]

_COLUMNS = ("mean", "sd", "mcse", "5%", "50%", "95%", "ess_bulk", "ess_tail", "r_hat")


class Draws(Mapping[str, Array]):
    """Draws by name: read-only arrays of (chain, draw, ...) that look at the engine's own memory."""

    def __init__(self, outcome: _core.Outcome) -> None:
        self._outcome = outcome
        self._arrays: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._arrays:
            self._arrays[name] = self._array(name)
        return self._arrays[name]

    def _array(self, name: str) -> Array:
        try:
            numbers = self._outcome.numbers(name)
        except KeyError:
            raise KeyError(f"nothing was recorded as {name!r}; there is {', '.join(self._outcome.names)}") from None
        if numbers is not None:
            return np.asarray(numbers)
        chains = self._outcome.values(name)
        draws = min((len(chain) for chain in chains), default=0)
        made = np.empty((len(chains), draws), dtype=object)
        for i, chain in enumerate(chains):
            for j in range(draws):
                made[i, j] = chain[j]
        made.flags.writeable = False
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._outcome.names)

    def __len__(self) -> int:
        return len(self._outcome.names)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {self[name].shape}" for name in self)
        return f"<draws {shown}>"


class Summary(NamedRows):
    """The command's table: a row per number."""

    columns = _COLUMNS

    def __init__(self, outcome: _core.Outcome) -> None:
        self.rows: dict[str, dict[str, float]] = {
            name: dict(zip(_COLUMNS, numbers)) for name, numbers in outcome.summary()
        }
        self._text = outcome.table()
        self._left_out = outcome.left_out()

    def __repr__(self) -> str:
        return self._text.rstrip("\n") + "".join(f"\n{name}: {reason}" for name, reason in self._left_out)

    def _repr_html_(self) -> str:
        from ._html import notes_html, table_html

        lines = [line.rsplit(maxsplit=9) for line in self._text.splitlines()[1:]]
        return table_html(("", *_COLUMNS), lines) + notes_html([f"{n}: {r}" for n, r in self._left_out])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        columns: list[tuple[str, str, Any, int]] = [("name", "texts", list(self.rows), 1)]
        for column in _COLUMNS:
            numbers = np.array([row[column] for row in self.rows.values()], dtype=np.float64)
            columns.append((column, "reals", np.nan_to_num(numbers, nan=-1.0), 1))
        return _core.Table.from_arrays("summary", columns, "").__arrow_c_stream__(requested_schema)


class Result:
    """A finished run, or what there is of one."""

    def __init__(self, outcome: _core.Outcome, model: "BoundModel | None", request: Mapping[str, int]) -> None:
        self._outcome = outcome
        self._model = model
        self._request = dict(request)
        self._draws = Draws(outcome)
        #: What was computed later: predictions and log likelihoods, for ArviZ.
        self._later: dict[str, Any] = {}

    # ------------------------------------------------------------ draws

    def __getitem__(self, name: str) -> Array:
        return self._draws[name]

    @property
    def draws(self) -> Draws:
        """All draws by name."""
        return self._draws

    @property
    def names(self) -> list[str]:
        """What is recorded, in the order of the program."""
        return list(self._outcome.names)

    @property
    def seed(self) -> int:
        """The seed of the run: the same gives the same draws."""
        return self._outcome.seed

    @property
    def program(self) -> str:
        """The text of the program that was run."""
        return self._outcome.program

    @property
    def seconds(self) -> float:
        """How long the run took."""
        return self._outcome.seconds

    @property
    def is_complete(self) -> bool:
        """Whether all draws that were asked for are there."""
        return not self._outcome.interrupted

    @property
    def stats(self) -> dict[str, Array]:
        """Statistics of every draw, arrays (chain, draw): ``lp``, ``acceptance_rate``, ``step_size``, ``tree_depth``,
        ``energy``, ``diverging``, ``n_used`` and ``n_total``. What no kernel knows is left out."""
        return _statistics(self._outcome.beside("stats"))

    @property
    def tuning(self) -> dict[str, Array]:
        """The draws of the tuning, with ``sample(keep_tune=True)``."""
        return {name: np.asarray(numbers) for name, numbers in self._outcome.beside("warmup")}

    @property
    def _tuning_stats(self) -> dict[str, Array]:
        return _statistics(self._outcome.beside("warmup_stats"))

    @property
    def notes(self) -> list[str]:
        """What there is to be said about the data: rows that were left out."""
        return [python_words(text) for text in self._outcome.notes]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._outcome.__arrow_c_stream__(requested_schema)

    # ------------------------------------------------------------ judgement

    def summary(self) -> Summary:
        """Mean, sd, Monte Carlo error, quantiles, effective draws and R-hat of every number."""
        return Summary(self._outcome)

    @property
    def warnings(self) -> list[str]:
        """What speaks against the draws, in sentences; empty if nothing does."""
        return [python_words(text) for text in self._outcome.warnings]

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """What each kernel did: transitions, acceptance, share of the data, audits."""
        import json

        found: list[dict[str, Any]] = json.loads(self._outcome.kernels())
        return found

    def diagnose(self) -> str:
        """Whether to trust the draws, in a few sentences."""
        from ._diagnose import diagnose

        return diagnose(self)

    def _warn(self, stacklevel: int, quiet: bool = False) -> None:
        if quiet:
            return
        # One warning of a kind, whatever speaks against the draws.
        kinds: dict[type[Warning], list[str]] = {}
        for text in self.warnings:
            kinds.setdefault(_category(text), []).append(text)
        for kind, texts in kinds.items():
            warnings.warn("\n".join(texts), kind, stacklevel=stacklevel)

    def __repr__(self) -> str:
        lengths = self._outcome.lengths
        head = f"{len(lengths)} chains of {max(lengths, default=0)} draws, seed {self.seed}, {self.seconds:.1f} s"
        return f"{head}\n{self.summary()!r}"

    def _repr_html_(self) -> str:
        from ._html import notes_html

        lengths = self._outcome.lengths
        head = f"{len(lengths)} chains of {max(lengths, default=0)} draws, seed {self.seed}, {self.seconds:.1f} s"
        verdict = self.warnings or ["Nothing speaks against these draws."]
        return self.summary()._repr_html_() + notes_html([head, *self.notes, *verdict])

    # ------------------------------------------------------------ predictions

    def _bound(self) -> "BoundModel":
        if self._model is None:
            raise SmidgenError("these draws were read without their model: smidgen.load(path, model=m)")
        return self._model

    def posterior_predictive(
        self,
        data: Any = None,
        *,
        rows: Any = None,
        draws: int | None = 1000,
        seed: int | None = None,
        record: Mapping[str, str] | list[str] | None = None,
        cores: int | None = None,
        progress: bool | None = None,
        **inputs: Any,
    ) -> "Predictions":
        """Draws of what the model observes, given these draws; with ``data`` for the rows of another table.

        New data need the columns that the model reads, not those that it observes. What a new row has of its own
        (a county that was never seen) is drawn given the rest. Of more than 1000 rows, 1000 are taken, spread evenly;
        ``rows`` is another number, indices, a slice, or ``"all"``. ``draws`` are spread evenly over those that there
        are; None takes all. Inputs of a model with several go by name: ``posterior_predictive(X=new)``.
        """
        from ._jobs import wait_for, whole
        from ._predictions import Predictions
        from ._rows import MOST_ROWS, wanted_rows, with_data

        whole({"draws": (draws, 1), "cores": (cores, 1)})
        model = self._bound()
        is_new = data is not None or bool(inputs)
        other = with_data(model, data, inputs) if is_new else model
        labels, expressions = model._recorded(record)
        wanted = wanted_rows(other, rows, MOST_ROWS, stacklevel=2)
        job = other._core.predict(
            model._core, self._outcome, draws, self.seed if seed is None else int(seed),
            list(zip(labels, expressions)), wanted, cores,
        )  # fmt: skip
        outcome, observed, used = wait_for(job, other, progress)
        made = Predictions(outcome, observed, used, kind="new" if is_new else "posterior")
        self._later["predictions" if is_new else "posterior_predictive"] = made
        return made

    def log_likelihood(
        self,
        *,
        rows: Any = None,
        draws: int | None = None,
        cores: int | None = None,
        progress: bool | None = None,
    ) -> "LogLikelihood":
        """The log density of every row in every draw. Where that would be more than 20 million numbers, of 1000
        rows, spread evenly; ``rows`` is another number, indices, a slice, or ``"all"``."""
        from ._jobs import wait_for, whole
        from ._loo import LogLikelihood
        from ._rows import MOST_ROWS, wanted_rows

        whole({"draws": (draws, 1), "cores": (cores, 1)})
        model = self._bound()
        made = sum(self._outcome.lengths) if draws is None else draws
        most = max(MOST_ROWS, 20_000_000 // max(made, 1))
        too_many = any(table.rows > most for table in model._tables.values())
        wanted = wanted_rows(model, rows, MOST_ROWS if too_many else most, stacklevel=2)
        job = model._core.likelihood(self._outcome, draws, wanted, cores)
        found = LogLikelihood(wait_for(job, model, progress))
        self._later["log_likelihood"] = found
        return found

    def loo(self, *, rows: Any = "all", cores: int | None = None, progress: bool | None = None) -> "Loo":
        """How well the model predicts a row that it has not seen: PSIS-LOO, with k_hat of every row."""
        from ._jobs import say

        key = repr(rows)
        known: dict[str, Any] = self._later.setdefault("loo", {})
        if key not in known:
            known[key] = self.log_likelihood(rows=rows, cores=cores, progress=progress).loo()
            say(known[key].warnings, SmidgenWarning, stacklevel=2)
        found: "Loo" = known[key]
        return found

    # ------------------------------------------------------------ elsewhere

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the draws: .parquet .arrow .csv .json by our own writers, .nc through xarray. What predictions need
        beyond the draws is written beside them (``x.states``)."""
        name = os.fspath(path)
        if name.endswith(".nc"):
            self.to_datatree().to_netcdf(name)
            return
        skipped, note = self._outcome.save(name)
        for quantity, reason in skipped:
            warnings.warn(f"{name} does not hold `{quantity}`: {reason}", DataWarning, stacklevel=2)
        if note is not None:
            warnings.warn(python_words(note), DataWarning, stacklevel=2)

    def report(self, path: str | os.PathLike[str]) -> None:
        """A page about the draws with plots, in one file."""
        title = f"Draws of {self._model.name if self._model is not None else 'a model'}"
        facts = [("seed", str(self.seed)), *((word, str(value)) for word, value in self._request.items())]
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._outcome.report(title, facts))

    def to_datatree(self, prior: "Predictions | None" = None) -> Any:
        """An ``xarray.DataTree``: posterior, sample_stats, observed_data (up to 100,000 rows), and what was computed
        (posterior_predictive, predictions, log_likelihood). ``prior`` is what ``prior_predictive()`` gave."""
        from ._arviz import to_datatree

        return to_datatree(self, prior)

    def to_arviz(self, prior: "Predictions | None" = None) -> Any:
        """What the installed ArviZ wants: ``InferenceData`` before 1.0, a ``DataTree`` since, as ``to_datatree``."""
        from ._arviz import to_arviz

        return to_arviz(self, prior)

    def __reduce__(self) -> Any:
        later = {name: value for name, value in self._later.items() if name != "log_likelihood"}
        return (_result, (self._outcome.state(), self._model, self._request, later))


def _result(state: dict[str, Any], model: Any, request: dict[str, int], later: dict[str, Any]) -> Result:
    made = Result(_core.Outcome.from_state(state), model, request)
    made._later.update(later)
    return made


def _statistics(found: list[tuple[str, _core.Numbers]]) -> dict[str, Array]:
    made: dict[str, Array] = {}
    for name, numbers in found:
        array = np.asarray(numbers)
        if array.size and np.isnan(array).all():
            continue
        made[name] = array.astype(bool) if name == "diverging" else array
    return made


def _category(text: str) -> type[SmidgenWarning]:
    if any(word in text for word in ("r_hat", "effective", "diverge", "tuning", "warm-up", "never moved", "stayed at one value", "do not agree", "stuck")):
        return ConvergenceWarning
    if any(word in text for word in ("subsampled", "audit", "batch", "decision", "approximat")):
        return ApproximationWarning
    return SmidgenWarning


def load(path: str | os.PathLike[str], model: "BoundModel | None" = None) -> Result:
    """Draws from a file that :meth:`Result.save` or ``smidgen sample --out`` wrote, or from a run folder, whose run
    may be unfinished; with their ``model``, predictions and log likelihoods can be made from them."""
    name = os.fspath(path)
    if name.endswith(".nc"):
        from ._arviz import from_netcdf

        return Result(from_netcdf(name), model, {})
    try:
        return Result(_core.read_outcome(name), model, {})
    except OSError as error:
        raise SmidgenError(str(error)) from None
