"""Directives one after the other on one trace: for data that keep coming, and for looking around."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

from . import _core
from ._data import table
from ._errors import ModelError, SmidgenWarning, model_error
from ._words import fresh_seed, python_words
from .kernel import Kernel

if TYPE_CHECKING:
    from ._source import Span


class Session:
    """One trace that directives act on; each happens whole or not at all.

    >>> import smidgen as sm
    >>> s = sm.Session(seed=1)
    >>> s.assume("mu", "normal(0, 1)") is not None
    True
    >>> s.observe("normal(mu, 1)", 2.5, label="y1")
    >>> s.infer(sm.kernel.nuts(n=100))
    >>> s.forget("y1")

    Text stands in square brackets (:meth:`run`); expressions in strings are Python.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = fresh_seed() if seed is None else int(seed)
        self._core = _core.Session(self.seed)
        self._values = 0
        self._runs = 0
        self._texts: dict[str, str] = {}

    # ------------------------------------------------------------ text

    def run(self, text: str, **inputs: Any) -> list[Any]:
        """Executes directives; the values that they show."""
        for name, value in inputs.items():
            if hasattr(value, "__arrow_c_stream__") or isinstance(value, dict):
                self._core.give_table(name, table(value, name))
            else:
                self._core.give_parameter(name, value)
        return [shown[3] for shown in self._execute(text) if shown[2] != "infer"]

    def _execute(self, text: str) -> list[tuple[int, str | None, str, Any, list[str]]]:
        self._runs += 1
        name = f"session {self._runs}"
        self._texts[name] = text
        outcome: list[Any] = []

        def work() -> None:
            try:
                outcome.append(self._core.run(name, text))
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.05)
        except KeyboardInterrupt:
            self._core.stop()
            thread.join()
            raise
        if isinstance(outcome[0], _core.Failure):
            raise self._error(outcome[0]) from None
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        for shown in outcome[0]:
            for warning in shown[4]:
                warnings.warn(python_words(warning), SmidgenWarning, stacklevel=4)
        found: list[tuple[int, str | None, str, Any, list[str]]] = outcome[0]
        return found

    def _error(self, failure: _core.Failure) -> ModelError:
        from ._model import _in_python, _program_text
        from ._source import Span

        def find(source: str, start: int, end: int) -> "Span | None":
            text = self._texts.get(source)
            return None if text is None else Span(_program_text(source, text), start, end)

        return model_error([_in_python(problem) for problem in failure.args[0]], find)

    # ------------------------------------------------------------ directives

    def _expression(self, expression: Any) -> str:
        from ._expression_text import expression_text

        if isinstance(expression, str):
            return expression_text(expression)
        return self._value(expression)

    def _value(self, value: Any) -> str:
        """A value from Python, by way of a parameter."""
        self._values += 1
        name = f"value{self._values}"
        self._core.give_parameter(name, value)
        return "{" + name + "}"

    def _labelled(self, label: str | None, text: str) -> str:
        return text if label is None else f"{_quoted(label)}: {text}"

    def _shown(self, text: str) -> Any:
        shown = self._execute(text)
        return shown[-1][3] if shown else None

    def assume(self, name: str, expression: Any, label: str | None = None) -> Any:
        """Binds a name; gives its value."""
        return self._shown(self._labelled(label, f"[assume {name} {self._expression(expression)}]"))

    def observe(self, choice: str, value: Any, label: str | None = None) -> None:
        """Constrains a random choice."""
        self._execute(self._labelled(label, f"[observe {self._expression(choice)} {self._value(value)}]"))

    def observe_rows(
        self, choice: str, value: str, table: Any, label: str | None = None, name: str | None = None
    ) -> None:
        """Observes every row of a table; ``row.x`` is a cell: ``observe_rows("normal(mu, row.se)", "row.y", df)``.

        With a ``name`` the table can get more rows, see :meth:`append`.
        """
        from ._data import table as make

        if name is None:
            self._values += 1
            name = f"table{self._values}"
        self._core.give_table(name, make(table, name))
        inner = self._labelled(label, f"[observe {_row_text(choice)} {_row_text(value)}]")
        self._execute(f"[table {name}]\n[for row in {name} {inner}]")

    def append(self, name: str, table: Any) -> int:
        """Gives a table more rows, and observes them in every loop over it; how many rows it has then.

        The rows before are not looked at again. It happens whole or not at all, and what else was made of the table's
        rows, such as their number, is an error that points at it.

        >>> import smidgen as sm
        >>> s = sm.Session(seed=1)
        >>> s.assume("mu", "normal(0, 1)") is not None
        True
        >>> s.observe_rows("normal(mu, 1)", "row.y", {"y": [1.0, 2.0]}, name="t")
        >>> s.append("t", {"y": [0.5]})
        3
        """
        from ._data import table as make

        try:
            first, rows, _ = self._core.append(name, make(table, name))
        except _core.Failure as failure:
            raise self._error(failure) from None
        return first + rows

    def predict(self, expression: Any, label: str | None = None) -> Any:
        """Evaluates in the trace and keeps it there; gives its value."""
        return self._shown(self._labelled(label, f"[predict {self._expression(expression)}]"))

    def sample(self, expression: Any) -> Any:
        """A value that leaves no trace."""
        return self._shown(f"[sample {self._expression(expression)}]")

    def force(self, choice: str, value: Any) -> None:
        """Sets a random choice once."""
        self._execute(f"[force {self._expression(choice)} {self._value(value)}]")

    def infer(self, kernel: Kernel | str | int) -> None:
        """Runs an inference program; a number is so many sweeps of the default kernel."""
        self._execute(f"[infer {kernel}]")

    def report(self, label: str) -> Any:
        """The value of a labelled directive."""
        return self._shown(f"[report {_quoted(label)}]")

    def forget(self, label: str) -> None:
        """Removes a labelled directive and its choices."""
        self._execute(f"[forget {_quoted(label)}]")

    def freeze(self, label: str) -> None:
        """Makes the value of a labelled directive a constant."""
        self._execute(f"[freeze {_quoted(label)}]")

    def log_joint(self) -> float:
        """The log density of all random choices."""
        return float(self._shown("[log_joint]"))

    def log_likelihood(self) -> float:
        """The log density of the observed random choices."""
        return float(self._shown("[log_likelihood]"))

    def clear(self) -> None:
        """Starts over."""
        self._execute("[clear]")

    def __reduce__(self) -> Any:
        raise TypeError("a session belongs to its process, and cannot be pickled")


def _quoted(text: str) -> str:
    from ._syntax import quoted

    return quoted(text)


def _row_text(expression: str) -> str:
    """An expression in which ``row.x`` is a cell."""
    import re

    from ._expression_text import expression_text

    held: dict[str, str] = {}

    def hold(match: "re.Match[str]") -> str:
        name = f"_cell_{len(held)}_"
        held[name] = match[0]
        return name

    text = expression_text(re.sub(r"\brow\.\w+", hold, expression))
    for name, cell in held.items():
        text = text.replace(name, cell)
    return text
