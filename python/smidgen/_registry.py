"""The names of the language, as the engine lists them, and how their arguments are called."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from . import _core

#: Names that the compiler gives a meaning of its own.
DIRECTIVES = {"observe", "predict", "force", "infer", "factor", "impute"}

_PROCEDURES = {
    "Distributions",
    "Makers of exchangeable procedures",
    "Deterministic procedures",
    "Procedures of procedures",
}

#: Distributions whose draws are no numbers.
_PLURAL = {
    "multivariate_normal", "multivariate_normal_cholesky", "multivariate_diag_normal", "multivariate_student_t",
    "random_walk", "ar", "wishart", "inv_wishart", "lkj", "lkj_cholesky", "dirichlet", "symmetric_dirichlet",
    "multinomial", "dirichlet_multinomial", "ordered",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    group: str
    name: str
    shape: str
    summary: str
    example: str
    #: Names of the arguments in their order; None if they cannot be given by keyword.
    parameters: tuple[str, ...] | None
    required: int

    @property
    def is_distribution(self) -> bool:
        return self.group == "Distributions"

    @property
    def is_plural(self) -> bool:
        return self.name in _PLURAL

    @property
    def is_procedure(self) -> bool:
        return self.group in _PROCEDURES


@functools.cache
def procedures() -> dict[str, Entry]:
    """Every procedure and distribution by its names."""
    found: dict[str, Entry] = {}
    for group, name, aliases, shape, summary, example in _core.entries():
        if group in _PROCEDURES:
            entry = Entry(group, name, shape, summary, example, *_parameters(shape))
            for known in (name, *aliases):
                found[known] = entry
    return found


@functools.cache
def special_forms() -> frozenset[str]:
    return frozenset(e[1] for e in _core.entries() if e[0] == "Special forms")


@functools.cache
def directives() -> frozenset[str]:
    return frozenset(e[1] for e in _core.entries() if e[0] == "Directives")


@functools.cache
def kernels() -> dict[str, tuple[str, str]]:
    """Shape and summary of every kernel."""
    return {e[1]: (e[3], e[4]) for e in _core.entries() if e[0] == "Kernels"}


@functools.cache
def reserved() -> frozenset[str]:
    """Names that a program cannot bind without hiding something that the compiler writes."""
    words = {"true", "false", "else", "in", "inf", "nan", "default", "row"} - {"row"}
    return frozenset(words | set(procedures()) | special_forms() | {"lambda", "quote"})


def _parameters(shape: str) -> tuple[tuple[str, ...] | None, int]:
    inside = shape.strip("()").split(" ", 1)
    if len(inside) == 1:
        return (), 0
    words = inside[1]
    if "..." in words:
        return None, 0
    required, _, optional = words.partition("[")
    first = required.split()
    return tuple(first + re.findall(r"[^\s\[\]]+", optional)), len(first)


def closest(name: str) -> str | None:
    """A name of the language that was perhaps meant."""
    import difflib

    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    other = {
        "exponential": "expon", "half_student_t": "half_student_t", "inverse_gamma": "inv_gamma",
        "mv_normal": "multivariate_normal", "multivariate_normal": "multivariate_normal",
        "bernoulli_probs": "bernoulli", "bernoulli_logits": "bernoulli_logit", "discrete_uniform": "uniform_discrete",
        "lkj_cholesky_cov": "lkj_cholesky", "gaussian_random_walk": "random_walk", "log_normal": "lognormal",
        "von_mises": "vonmises", "sigmoid": "logistic", "expit": "logistic", "invlogit": "logistic",
        "deterministic": "predict", "potential": "factor", "categorical_logits": "categorical_logit",
        "half_studentt": "half_student_t", "studentt": "student_t", "zero_inflated_poisson": "zero_inflated",
    }  # fmt: skip
    for candidate in (other.get(snake), snake):
        if candidate and (candidate in procedures() or candidate in DIRECTIVES):
            return candidate
    near = difflib.get_close_matches(snake, [*procedures(), *DIRECTIVES], 1, 0.75)
    return near[0] if near else None
