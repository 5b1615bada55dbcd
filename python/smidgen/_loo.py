"""How well models predict what they have not seen: log likelihoods by rows, leaving out, comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Mapping

import numpy as np

from . import _core
from ._errors import ModelError
from ._named import NamedRows
from ._predictions import Dims, row_dims
from ._result import Array
from ._words import python_words

if TYPE_CHECKING:
    from ._result import Result


class LogLikelihood(Mapping[str, Array]):
    """log p(datum | draw), by the name of what is observed: arrays (chain, draw, row).

    A row is a unit, with everything that is observed in it; several names are joined by ``+``.
    """

    def __init__(self, found: _core.Likelihood) -> None:
        self._found = found
        #: The draws of each chain that these belong to.
        self.draws: list[list[int]] = found.draws
        numbers = np.asarray(found.numbers())
        places: dict[str, list[int]] = {}
        units = found.units()
        for i, (name, _) in enumerate(units):
            places.setdefault(name, []).append(i)
        self._arrays: dict[str, Array] = {}
        self._dims: dict[str, Dims] = {}
        #: The numbers of the rows.
        self.rows: dict[str, Array] = {}
        for name, listed in places.items():
            rounds = [units[i][1] for i in listed if units[i][1]]
            if not rounds:
                self._arrays[name] = numbers[:, :, listed[0]]
                self._dims[name] = []
                continue
            whole = listed == list(range(listed[0], listed[0] + len(listed)))
            self._arrays[name] = numbers[:, :, listed[0] : listed[-1] + 1] if whole else numbers[:, :, listed]
            self._dims[name] = row_dims(name, rounds)
            self.rows[name] = np.array(self._dims[name][0][1])

    def __getitem__(self, name: str) -> Array:
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"nothing is observed as {name!r}; there is {', '.join(self._arrays)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def loo(self) -> "Loo":
        """What leaving out one row at a time comes to."""
        return Loo(self._found.loo())

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {' x '.join(map(str, array.shape))}" for name, array in self.items())
        return f"<log likelihoods of {shown}>"


class Loo:
    """Leave-one-out cross-validation by Pareto-smoothed importance sampling (PSIS-LOO)."""

    def __init__(self, found: _core.Loo) -> None:
        self._found = found
        #: The expected log predictive density, its standard error, and the effective number of parameters.
        self.elpd: float
        self.se: float
        self.p_loo: float
        #: Draws, and how many independent ones each is worth.
        self.draws: int
        self.efficiency: float
        self.elpd, self.se, self.p_loo, self.draws, self.efficiency = found.numbers()
        units = found.units()
        #: Of every unit: its name, its share of elpd, and k_hat.
        self.names: list[str] = [unit[0] for unit in units]
        self.pointwise: Array = np.array([unit[1] for unit in units])
        self.k_hat: Array = np.array([unit[2] for unit in units])

    @property
    def largest_good_k(self) -> float:
        """Above this k_hat, the share of a unit is not to be trusted."""
        return self._found.largest_good_k()

    @property
    def warnings(self) -> list[str]:
        """What speaks against these numbers, such as rows with a large k_hat."""
        return [python_words(text) for text in self._found.warnings()]

    def __repr__(self) -> str:
        return python_words(self._found.text()).rstrip("\n")

    def _repr_html_(self) -> str:
        from ._html import notes_html, table_html

        worst = max(range(len(self.names)), key=lambda i: self.k_hat[i]) if self.names else None
        cells = [f"{self.elpd:.2f}", f"{self.se:.2f}", f"{self.p_loo:.2f}", str(len(self.names)), str(self.draws)]
        notes = [] if worst is None else [f"k_hat at most {self.k_hat[worst]:.3f}, at {self.names[worst]}"]
        table = table_html(("", "elpd_loo", "se", "p_loo", "units", "draws"), [["", *cells]])
        return table + notes_html([*notes, *self.warnings])

    def __reduce__(self) -> Any:
        return (_loo, (self._found.parts(),))


def _loo(parts: Any) -> Loo:
    return Loo(_core.Loo.from_parts(parts))


_COLUMNS = ("elpd_loo", "se", "difference", "difference_se", "p_loo", "weight")


class Ranking(NamedRows):
    """Models of the same data, the best first. ``ranking["name"]["weight"]``, ``.best``, ``.to_pandas()``."""

    columns = _COLUMNS

    def __init__(self, names: list[str], models: list[Loo]) -> None:
        try:
            rows, text = _core.compare_models(names, [model._found for model in models])
        except ValueError as error:
            raise ModelError(str(error)) from None
        self.rows: dict[str, dict[str, float]] = {names[which]: dict(zip(_COLUMNS, row)) for which, row in rows}
        self.loo = dict(zip(names, models))
        self._text = python_words(text)

    @property
    def best(self) -> str:
        """The name of the model that is expected to predict best."""
        return next(iter(self.rows))

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        from ._html import notes_html, table_html

        lines = [[name, *(f"{row[column]:.3g}" for column in _COLUMNS)] for name, row in self.rows.items()]
        below = [line for line in self._text.splitlines()[len(self.rows) + 1 :] if line]
        return table_html(("", *_COLUMNS), lines) + notes_html(below)


def compare(*results: "Result | Loo", **named: "Result | Loo") -> Ranking:
    """Compares models of the same data by leaving out: ``sm.compare(pooled=fit1, partial=fit2)``.

    Gives differences of ``elpd_loo`` with their standard errors, and stacking weights.
    """
    given: dict[str, Any] = {}
    for result in results:
        if isinstance(result, Mapping):
            given.update(result)
            continue
        model = getattr(result, "_model", None)
        name = model.name if model is not None else f"model {len(given) + 1}"
        number = 2
        while name in given:
            name = f"{name.rsplit(' ', 1)[0] if number > 2 else name} {number}"
            number += 1
        given[name] = result
    given.update(named)
    if len(given) < 2:
        raise TypeError("compare takes two results or more")
    models = [value if isinstance(value, Loo) else value.loo() for value in given.values()]
    return Ranking(list(given), models)
