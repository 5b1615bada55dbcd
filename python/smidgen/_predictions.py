"""What a model says about data: draws of what it observes, from the prior or given former draws."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Mapping

import numpy as np

from . import _core
from ._errors import DataWarning
from ._result import Array, Summary

if TYPE_CHECKING:
    from ._model import BoundModel

#: (name, coordinates or None) of each dimension beyond chain and draw.
Dims = list[tuple[str, Any]]


def row_dims(name: str, rounds: list[list[int]]) -> Dims:
    """The dimension of what is observed in a loop: its rows."""
    if not rounds:
        return []
    if all(len(round_) == 1 for round_ in rounds):
        return [(f"{name}_row", [round_[0] for round_ in rounds])]
    return [(f"{name}_row", [",".join(map(str, round_)) for round_ in rounds])]


class Predictions(Mapping[str, Array]):
    """Draws of what a model observes (``.observed``) and records (``.recorded``), by name: arrays (chain, draw, row).

    ``.rows[name]`` are the numbers of the rows, ``.draws`` those of the draws that the predictions go on from.
    """

    def __init__(self, outcome: _core.Outcome, observed: list[bool], draws: list[list[int]], kind: str) -> None:
        self._outcome = outcome
        self._kind = kind
        self._is_observed = observed
        #: The draws of each chain that these go on from.
        self.draws = draws
        flags = dict(zip(outcome.names, observed))
        self._arrays: dict[str, Array] = {}
        self._rounds: dict[str, list[list[int]]] = {}
        for name, rounds, numbers in outcome.groups():
            self._arrays[name] = np.asarray(numbers)
            self._rounds[name] = rounds
        self.observed = [name for name, rounds in self._rounds.items() if flags.get(_first(name, rounds), False)]
        self.recorded = [name for name in self._arrays if name not in self.observed]
        #: The numbers of the rows that an array has in its last dimension.
        self.rows = {name: _rows(rounds) for name, rounds in self._rounds.items() if rounds}

    def __getitem__(self, name: str) -> Array:
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"nothing was predicted as {name!r}; there is {', '.join(self._arrays)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @property
    def seed(self) -> int:
        """The seed of what was drawn."""
        return self._outcome.seed

    def summary(self) -> Summary:
        """Mean, sd and quantiles of every number."""
        return Summary(self._outcome)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._outcome.__arrow_c_stream__(requested_schema)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes them, a row per draw: .parquet .arrow .csv .json."""
        skipped, _ = self._outcome.save(os.fspath(path))
        for quantity, reason in skipped:
            warnings.warn(f"{os.fspath(path)} does not hold `{quantity}`: {reason}", DataWarning, stacklevel=2)

    def _dims(self, model_dims: Mapping[str, Dims]) -> dict[str, Dims]:
        return {name: model_dims.get(name) or row_dims(name, self._rounds[name]) for name in self._arrays}

    def to_datatree(self) -> Any:
        """An ``xarray.DataTree`` of these groups alone."""
        from ._arviz import tree_of_predictions

        return tree_of_predictions(self)

    def __repr__(self) -> str:
        words = {"prior": "from the prior", "posterior": "given the draws", "new": "for new data, given the draws"}
        lines = [f"predictions {words[self._kind]}, seed {self.seed}"]
        for name in (*self.observed, *self.recorded):
            what = "" if name in self.observed else "  (recorded)"
            lines.append(f"  {name}: {' x '.join(map(str, self[name].shape))}{what}")
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        return (_predictions, (self._outcome.state(), self._is_observed, self.draws, self._kind))


def _predictions(state: dict[str, Any], observed: list[bool], draws: list[list[int]], kind: str) -> Predictions:
    return Predictions(_core.Outcome.from_state(state), observed, draws, kind)


def _first(name: str, rounds: list[list[int]]) -> str:
    return name + "".join(f"[{i}]" for i in rounds[0]) if rounds else name


def _rows(rounds: list[list[int]]) -> Array:
    if all(len(round_) == 1 for round_ in rounds):
        return np.array([round_[0] for round_ in rounds])
    return np.array(rounds)


def observed_data(model: "BoundModel", most: int) -> dict[str, tuple[Array, Dims]]:
    """What a model has observed, by name; empty if that is too much, or no numbers."""
    try:
        found = model._core.observed(most)
    except _core.Failure:
        return {}
    by_name: dict[str, list[tuple[list[int], Any]]] = {}
    for name, rounds, value in found or []:
        by_name.setdefault(name, []).append((rounds, value))
    data: dict[str, tuple[Array, Dims]] = {}
    for name, listed in by_name.items():
        listed.sort(key=lambda pair: pair[0])
        try:
            array = np.array([value for _, value in listed])
        except ValueError:
            continue
        places = [round_ for round_, _ in listed if round_]
        if array.dtype.kind in "fibU":
            data[name] = (array if places else array[0], row_dims(name, places))
    return data
