"""Names that a model takes from outside: closures, its module, Python and its libraries.

Functions are recognised by identity, whatever they are called. Nothing foreign is evaluated.
"""

from __future__ import annotations

import builtins
import functools
import math
import sys
import types
from typing import Any, Callable

import numpy as np

from ._registry import DIRECTIVES, procedures, special_forms

MISSING = object()


def is_language(name: str) -> bool:
    return name in procedures() or name in special_forms() or name in DIRECTIVES or name in ("scope", "mem", "inf")


class Outside:
    """What a function sees around itself, when it is asked."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function

    def find(self, name: str) -> Any:
        code, cells = self.function.__code__, self.function.__closure__ or ()
        for free, cell in zip(code.co_freevars, cells):
            if free == name:
                try:
                    return cell.cell_contents
                except ValueError:
                    return MISSING
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return getattr(builtins, name, MISSING)


# ---------------------------------------------------------------- known functions

_MATH = {
    "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt", "sin": "sin", "cos": "cos",
    "tan": "tan", "atan2": "atan2", "hypot": "hypot", "floor": "floor", "ceil": "ceil", "fabs": "abs", "pow": "pow",
    "prod": "prod", "lgamma": "log_gamma", "fsum": "sum", "erf": "@erf", "tanh": "@tanh", "atan": "@atan",
    "sinh": "@sinh", "cosh": "@cosh", "asin": "@asin", "acos": "@acos", "log2": "@log2", "log10": "@log10",
}  # fmt: skip

_NUMPY = {
    **_MATH, "arctan2": "atan2", "abs": "abs", "absolute": "abs", "power": "pow", "square": "square", "sign": "signum",
    "sum": "sum", "mean": "mean", "dot": "dot", "vdot": "dot", "inner": "dot", "maximum": "max", "minimum": "min",
    "max": "max", "min": "min", "amax": "max", "amin": "min", "zeros": "zeros", "ones": "ones",
    "linspace": "linspace", "arange": "arange", "full": "fill", "eye": "id_matrix", "identity": "id_matrix",
    "diag": "diag_matrix", "transpose": "transpose", "array": "@vector", "asarray": "@vector", "where": "biplex",
    "matmul": "dot", "logaddexp": "logsumexp", "unique": "unique", "negative": "negate", "trace": "matrix_trace",
    "ravel": "ravel", "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "arctan": "@atan", "arcsin": "@asin", "arccos": "@acos",
    "any": "any_p", "all": "all_p", "float64": "real", "cumsum": "cumulative_sum", "sort": "sort", "var": "@var", "std": "@std", "argmax": "@argmax", "argmin": "@argmin",
}  # fmt: skip

_BUILTINS: dict[str, str] = {
    "len": "size", "abs": "abs", "sum": "sum", "min": "min", "max": "max", "pow": "pow", "range": "@range",
    "zip": "zip", "map": "map", "list": "to_array", "tuple": "to_array", "float": "real", "reversed": "reverse",
    "any": "any_p", "all": "all_p", "filter": "filter",
}  # fmt: skip

#: Python's words that mean something else here, with what to write.
REFUSED_BUILTINS = {
    "print": 'predict(x, "x") records it',
    "round": "Python rounds halves to even, the language away from zero; write floor(x + 0.5)",
    "int": "write floor(x), or real(x) for a truth value",
    "bool": "a comparison is a truth value already",
    "sorted": "write sort(xs)",
    "enumerate": "it stands in a `for` or a comprehension",
    "isinstance": "write is_number(x), is_list(x), ...",
    "set": "write unique(xs)",
    "str": "texts are not made in a model",
    "input": "ask before the model is called",
    "open": "read it before the model is called",
}


@functools.cache
def _known() -> dict[int, tuple[Any, str]]:
    """Functions by their identity. (They are kept, so that no other object takes their place.)"""
    found: dict[int, tuple[Any, str]] = {}

    def add(module: Any, words: dict[str, str]) -> None:
        for name, target in words.items():
            function = getattr(module, name, None)
            exists = target.startswith("@") or target in procedures()
            if function is not None and exists:
                found[id(function)] = (function, target)

    add(builtins, _BUILTINS)
    add(math, _MATH)
    add(np, _NUMPY)
    add(np.linalg, {"inv": "matrix_inverse", "solve": "matrix_solve", "cholesky": "cholesky"})
    return found


def known_function(value: Any) -> str | None:
    """The language's name for a function of Python, NumPy or SciPy."""
    if getattr(value, "__module__", None) == "smidgen.names" and isinstance(value, types.FunctionType):
        return value.__name__
    try:
        found = _known().get(id(value))
    except TypeError:
        return None
    if found is not None:
        return found[1]
    special = sys.modules.get("scipy.special")
    if special is not None and isinstance(value, (np.ufunc, types.FunctionType)):
        words = {
            "expit": "logistic", "logit": "logit", "logsumexp": "logsumexp", "log_expit": "log_logistic",
            "gammaln": "log_gamma", "erf": "@erf", "ndtr": "@ndtr", "softmax": "@softmax",
        }  # fmt: skip
        for name, target in words.items():
            if getattr(special, name, None) is value and (target.startswith("@") or target in procedures()):
                return target
    return None


def draws_outside(value: Any) -> bool:
    """Whether calling it would draw a random number outside the model."""
    module = getattr(value, "__module__", None) or ""
    owner = getattr(value, "__self__", None)
    owner_module = type(owner).__module__ if owner is not None else ""
    names = (module, owner_module, getattr(value, "__name__", "") if isinstance(value, types.ModuleType) else "")
    return any(name == "random" or name.startswith("numpy.random") for name in names)


def is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number, np.bool_)) and not isinstance(value, complex)


def is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.names is None
    return isinstance(value, (list, tuple))


def is_frame(value: Any) -> bool:
    """Whether it is made of named columns."""
    from ._data import Table

    if isinstance(value, (Table, dict)):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.names is not None
    if type(value).__name__ == "LazyFrame":
        return True  # it is refused, with a word on what to do
    if hasattr(value, "__arrow_c_stream__") and not hasattr(value, "to_frame"):
        return True
    return hasattr(value, "columns") and hasattr(value, "shape")


def is_series(value: Any) -> bool:
    """A single column of pandas or polars."""
    return hasattr(value, "to_frame") and hasattr(value, "to_numpy")


def is_function(value: Any) -> bool:
    return isinstance(value, types.FunctionType)


def type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__name__}"


Evaluator = Callable[[], Any]
