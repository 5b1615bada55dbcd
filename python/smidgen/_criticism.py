"""What calibration, a comparison of kernels and enumeration come to."""

from __future__ import annotations

import os
from typing import Any, Iterator, Sequence

import numpy as np

from ._result import Array
from ._words import python_words


class _Page:
    """A verdict with a text, a page and data."""

    def __init__(self, parts: Sequence[str]) -> None:
        import json

        self._text, self._page, data = parts
        self.data: dict[str, Any] = json.loads(data)
        #: ``"PASS"``, ``"WARN"`` or ``"FAIL"``.
        self.verdict: str = str(self.data["verdict"]).upper()

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the page, with its plots, in one file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._page)

    def __repr__(self) -> str:
        return python_words(self._text).rstrip("\n")

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self._page, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:1px solid #8884"></iframe>'

    def __reduce__(self) -> Any:
        import json

        return (type(self), ((self._text, self._page, json.dumps(self.data)),))


class Calibration(_Page):
    """Simulation-based calibration of a model: whether its sampler draws from its posterior."""

    def __init__(self, parts: Sequence[str]) -> None:
        super().__init__(parts)
        #: The probability of ranks as bad as these if all is right.
        self.p: float = float(self.data["p"])
        self.seed = int(self.data["seed"])
        self.findings: list[str] = [python_words(text) for text in self.data["findings"]]
        #: The ranks of every quantity, each from 0 to the number of draws.
        self.ranks: dict[str, Array] = {
            part["name"]: np.array(part["ranks"] or [], dtype=np.int64) for part in self.data["quantities"]
        }


class KernelComparison(_Page):
    """Subsampled against exact decisions on the same model and data."""

    def __init__(self, parts: Sequence[str]) -> None:
        super().__init__(parts)
        self.findings: list[str] = [python_words(part["text"]) for part in self.data["findings"]]


class Enumeration:
    """Exact answers: the law of everything that is recorded, and the log evidence.

    ``found["z"]`` is a dictionary of values and probabilities, ``found.mean("z")`` its mean.
    """

    def __init__(self, parts: Any) -> None:
        self._parts = parts
        self._text, self.log_evidence, self.states, self.runs, marginals = parts
        self._values: dict[str, tuple[list[Any], Array]] = {}
        for name, values, chances in marginals:
            self._values[name] = ([_key(value) for value in values], np.array(chances))

    def __getitem__(self, name: str) -> dict[Any, float]:
        try:
            values, chances = self._values[name]
        except KeyError:
            raise KeyError(f"nothing is known about {name!r}; there is {', '.join(self._values)}") from None
        return dict(zip(values, chances.tolist()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def mean(self, name: str) -> float:
        """The exact mean of what is recorded under this name."""
        law = self[name]
        return float(sum(value * p for value, p in law.items()))

    def sd(self, name: str) -> float:
        """The exact standard deviation of what is recorded under this name."""
        law, mean = self[name], self.mean(name)
        return float(np.sqrt(sum((value - mean) ** 2 * p for value, p in law.items())))

    def __repr__(self) -> str:
        return str(self._text).rstrip("\n")

    def __reduce__(self) -> Any:
        return (Enumeration, (self._parts,))


def _key(value: Any) -> Any:
    """A value that a dictionary can have as a key; whole numbers without a point."""
    if isinstance(value, list):
        return tuple(_key(part) for part in value)
    if isinstance(value, dict):
        return tuple((_key(key), _key(part)) for key, part in value.items())
    return int(value) if isinstance(value, float) and value.is_integer() else value
