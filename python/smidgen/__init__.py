"""Probabilistic programming whose inference reads only as much data as each decision needs.

A model is a function with ``@smidgen.model``; it is compiled, never run. A call of a distribution is a random
choice, ``observe(choice, value)`` is data, ``return`` says what is recorded.
"""

from . import distributed, kernel
from ._core import version as _version
from ._criticism import Calibration, Enumeration, KernelComparison
from ._data import Table, table
from ._durable import resume
from ._errors import (
    ApproximationWarning,
    ConvergenceWarning,
    DataWarning,
    Interrupted,
    InterruptedWarning,
    ModelError,
    ModelSyntaxError,
    SmidgenError,
    SmidgenWarning,
)
from ._loo import LogLikelihood, Loo, Ranking, compare
from ._model import BoundModel, Model, model, program, read
from ._predictions import Predictions
from ._result import Result, Summary, load
from ._run import Run
from ._session import Session

for _public in (
    ApproximationWarning, ConvergenceWarning, DataWarning, Interrupted, InterruptedWarning, ModelError,
    ModelSyntaxError, SmidgenError, SmidgenWarning,
):  # fmt: skip
    _public.__module__ = "smidgen"

__version__: str = _version()

__all__ = [
    "ApproximationWarning", "BoundModel", "Calibration", "ConvergenceWarning", "DataWarning", "Enumeration",
    "Interrupted", "InterruptedWarning", "KernelComparison", "LogLikelihood", "Loo", "Model", "ModelError",
    "ModelSyntaxError", "Predictions", "Ranking", "Result", "Run", "Session", "SmidgenError", "SmidgenWarning",
    "Summary", "Table", "compare", "distributed", "kernel", "load", "model", "program", "read", "resume", "table",
]  # fmt: skip
