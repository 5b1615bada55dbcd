"""What an expression is, as far as its text tells: a matrix, a vector, a list of numbers, or something else.

NumPy's operators mean different things for them. What is not known is taken for a number, and the engine says so if
that is wrong.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Iterable

import numpy as np

from . import _outside as outside
from ._outside import MISSING
from ._registry import Entry, procedures
from ._scope import Cell, Row, Scope, Word
from ._syntax import Node, call, number, word

if TYPE_CHECKING:
    from ._expressions import Expressions

MATRIX, VECTOR, ARRAY = "matrix", "vector", "array"

_MATRICES = {
    "matrix", "id_matrix", "zero_matrix", "diag_matrix", "transpose", "matrix_add", "matrix_mul", "scale_matrix",
    "matrix_inverse", "cholesky", "lkj", "lkj_cholesky", "wishart", "inv_wishart", "cov_exp_quad", "cov_matern32",
    "cov_matern52", "cov_periodic",
}  # fmt: skip

_VECTORS = {
    "vector", "to_vector", "zeros", "ones", "linspace", "arange", "scale_vector", "vector_add", "simplex", "normalize",
    "ravel", "row", "col", "matrix_times_vector", "vector_times_matrix", "multivariate_normal",
    "multivariate_normal_cholesky", "multivariate_diag_normal", "multivariate_student_t", "random_walk", "ar",
    "dirichlet", "symmetric_dirichlet", "multinomial", "dirichlet_multinomial", "ordered", "@softmax",
}  # fmt: skip

#: Arguments of laws of numbers that are vectors: whole ones, the same for every row, or rows of a matrix.
WHOLE_ARGUMENTS = {"categorical": 0, "categorical_logit": 0, "ordered_logistic": 1, "ordered_probit": 1, "mixture": 0}

#: Functions of a number; of a vector they are taken entry by entry, as in NumPy.
ELEMENTWISE = {
    "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "abs", "floor", "ceil", "square", "signum", "logistic",
    "logit", "log_logistic", "negate", "@tanh", "@sinh", "@cosh", "@atan", "@asin", "@acos", "@log2", "@log10", "@erf",
    "@ndtr",
}  # fmt: skip


def called(e: "Expressions", node: ast.Call, scope: Scope) -> str | None:
    """The language's name of what is called."""
    value = MISSING
    if isinstance(node.func, ast.Name):
        if scope.find(node.func.id) is not None:
            return None
        value = e.c.outside.find(node.func.id)
        if value is MISSING:
            entry = procedures().get(node.func.id)
            return entry.name if entry is not None else None
    elif isinstance(node.func, ast.Attribute):
        value = e.member(node.func, scope)
    return outside.known_function(value) if value is not MISSING else None


def kind_of(e: "Expressions", node: ast.expr, scope: Scope) -> str | None:
    match node:
        case ast.Name():
            return _of_name(e, node, scope)
        case ast.Attribute(attr="T"):
            return MATRIX
        case ast.Attribute() | ast.Subscript():
            return _of_part(e, node, scope)
        case ast.Call():
            return _of_call(e, node, scope)
        case ast.ListComp() | ast.List() | ast.Tuple():
            elements = [node.elt] if isinstance(node, ast.ListComp) else node.elts
            return ARRAY if all(kind_of(e, part, scope) is None for part in elements) else None
        case ast.BinOp(op=ast.MatMult()):
            left, right = kind_of(e, node.left, scope), kind_of(e, node.right, scope)
            if MATRIX in (left, right):
                return MATRIX if left == right else VECTOR
            return None
        case ast.BinOp():
            kinds = (kind_of(e, node.left, scope), kind_of(e, node.right, scope))
            return MATRIX if MATRIX in kinds else VECTOR if VECTOR in kinds or ARRAY in kinds else None
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            return kind_of(e, node.operand, scope)
        case ast.IfExp():
            return kind_of(e, node.body, scope)
        case ast.Compare(ops=[op]) if not isinstance(op, (ast.In, ast.NotIn)):
            sides = [kind_of(e, part, scope) for part in (node.left, *node.comparators)]
            return VECTOR if VECTOR in sides else None
    return None


def _of_name(e: "Expressions", node: ast.Name, scope: Scope) -> str | None:
    binding = scope.find(node.id)
    if isinstance(binding, Word):
        return binding.kind
    if isinstance(binding, (Cell, Row)):
        return None
    value = e.c.value_of(node.id, scope)
    if value is MISSING:
        return None
    if outside.is_series(value):
        return VECTOR
    if not outside.is_array(value):
        return None
    array = value if isinstance(value, np.ndarray) else _array(value)
    if array is None or array.dtype.kind not in "iufb":
        return None
    return {1: VECTOR, 2: MATRIX if isinstance(value, np.ndarray) else None}.get(array.ndim)


def _array(value: object) -> "np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None":
    try:
        return np.asarray(value)
    except ValueError:
        return None


def _of_part(e: "Expressions", node: ast.Attribute | ast.Subscript, scope: Scope) -> str | None:
    if e.row_of(node.value, scope) is not None:
        return None
    if e.table_of(node.value, scope) is not None:
        return VECTOR
    if isinstance(node, ast.Attribute):
        return None
    whole = kind_of(e, node.value, scope)
    if isinstance(node.slice, ast.Slice):
        return whole
    if isinstance(node.slice, ast.Tuple):
        return VECTOR if any(isinstance(i, ast.Slice) or kind_of(e, i, scope) is not None for i in node.slice.elts) else None
    if whole == MATRIX:
        return VECTOR
    return VECTOR if kind_of(e, node.slice, scope) in (VECTOR, ARRAY) else None


def _of_call(e: "Expressions", node: ast.Call, scope: Scope) -> str | None:
    name = called(e, node, scope)
    if name is None:
        return None
    entry = procedures().get(name)
    size = next((keyword.value for keyword in node.keywords if keyword.arg == "size"), None)
    if entry is not None and entry.is_distribution and size is not None:
        sizes = len(size.elts) if isinstance(size, ast.Tuple) else 1
        return None if entry.is_plural else {1: VECTOR, 2: MATRIX}.get(sizes)
    if entry is not None and vectors_of(e, name, node, scope):
        return VECTOR
    if name == "@vector":
        rows = node.args[0] if node.args else None
        nested = isinstance(rows, (ast.List, ast.Tuple)) and any(isinstance(r, (ast.List, ast.Tuple)) for r in rows.elts)
        return MATRIX if nested else VECTOR
    if name in _MATRICES:
        return MATRIX
    if name in _VECTORS:
        return VECTOR
    if name in ELEMENTWISE and len(node.args) == 1:
        kind = kind_of(e, node.args[0], scope)
        return VECTOR if kind == ARRAY else kind
    if name == "biplex":
        return VECTOR if any(kind_of(e, part, scope) in (VECTOR, ARRAY) for part in node.args) else None
    if name in ("fill",) and len(node.args) == 2:
        return VECTOR if kind_of(e, node.args[1], scope) is None else None
    if name in ("matrix_solve",) and len(node.args) == 2:
        return kind_of(e, node.args[1], scope)
    return None


def vectors_of(e: "Expressions", name: str, node: ast.Call, scope: Scope) -> list[ast.expr]:
    """Arguments of a law of numbers that are vectors: it is drawn once for each of their entries."""
    entry = procedures().get(name)
    if entry is None or not entry.is_distribution or entry.is_plural or name in ("mixture", "truncate", "censor"):
        return []
    if name in ("zero_inflated", "hurdle"):
        return []
    found = []
    for place, part in [*enumerate(node.args), *((_place(entry, k.arg), k.value) for k in node.keywords)]:
        if place != WHOLE_ARGUMENTS.get(entry.name) and kind_of(e, part, scope) in (VECTOR, ARRAY):
            found.append(part)
    return found


def _place(entry: Entry, name: str | None) -> int | None:
    parameters = entry.parameters or ()
    return parameters.index(name) if name in parameters else None


def length_of(e: "Expressions", node: ast.expr, scope: Scope) -> Node | None:
    """The number of entries of a vector, if it does not hang on what they are."""
    match node:
        case ast.Name():
            binding = scope.find(node.id)
            if isinstance(binding, Word):
                return binding.length
            value = e.c.value_of(node.id, scope)
            return number(len(value)) if value is not MISSING and hasattr(value, "__len__") else None
        case ast.Attribute() if (use := e.table_of(node.value, scope)) is not None:
            return e.calls.rows(use.name, use.sources[0][1], node)
        case ast.List() | ast.Tuple():
            return number(len(node.elts))
        case ast.ListComp(generators=[ast.comprehension(ifs=[])]):
            over = node.generators[0].iter
            if isinstance(over, ast.Call) and called(e, over, scope) == "@range" and len(over.args) == 1:
                return e(over.args[0], scope)
            return length_of(e, over, scope)
        case ast.BinOp(op=ast.MatMult()):
            if kind_of(e, node.left, scope) == MATRIX:
                return length_of(e, node.left, scope)
            return columns_of(e, node.right, scope) if kind_of(e, node.right, scope) == MATRIX else None
        case ast.BinOp():
            return _length_of_one((node.left, node.right), e, scope)
        case ast.Compare():
            return _length_of_one((node.left, *node.comparators), e, scope)
        case ast.UnaryOp():
            return length_of(e, node.operand, scope)
        case ast.Subscript(slice=ast.Slice() as cut):
            whole = length_of(e, node.value, scope)
            limits = bounds(e, cut, node.value, None, scope) if whole is not None else None
            return None if limits is None else limits[1] if limits[0].content == "0" else call("-", limits[1], limits[0])
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(lower=None, upper=None), _])):
            return length_of(e, node.value, scope)
        case ast.Subscript(slice=ast.Tuple(elts=indices)):
            return _length_of_one(indices, e, scope)
        case ast.Subscript():
            return length_of(e, node.slice, scope)
        case ast.Call():
            size = next((keyword.value for keyword in node.keywords if keyword.arg == "size"), None)
            if size is not None:
                return e(size.elts[0] if isinstance(size, ast.Tuple) else size, scope)
            name = called(e, node, scope)
            if vectors := vectors_of(e, name or "", node, scope):
                return _length_of_one(vectors, e, scope)
            if (name in ELEMENTWISE or name == "@softmax") and len(node.args) == 1:
                return length_of(e, node.args[0], scope)
            if name == "biplex":
                return _length_of_one(node.args, e, scope)
            if name in ("zeros", "ones", "fill", "random_walk", "ar") and node.args:
                return e(node.args[0], scope)
            if name in ("ordered", "symmetric_dirichlet") and len(node.args) > 1:
                return e(node.args[1], scope)
            if name in ("dirichlet", "@vector", "multivariate_normal") and node.args:
                return length_of(e, node.args[0], scope)
    return None


def columns_of(e: "Expressions", node: ast.expr, scope: Scope) -> Node | None:
    """The number of columns of a matrix, if that is known."""
    match node:
        case ast.Name():
            binding = scope.find(node.id)
            if isinstance(binding, Word):
                return binding.columns
            value = e.c.value_of(node.id, scope)
            return number(value.shape[1]) if getattr(value, "ndim", 0) == 2 else None
        case ast.Attribute(attr="T"):
            return length_of(e, node.value, scope)
        case ast.BinOp(op=ast.MatMult()):
            return columns_of(e, node.right, scope) if kind_of(e, node.right, scope) == MATRIX else None
        case ast.BinOp():
            sides = [part for part in (node.left, node.right) if kind_of(e, part, scope) == MATRIX]
            return next((n for part in sides if (n := columns_of(e, part, scope)) is not None), None)
        case ast.Call():
            size = next((keyword.value for keyword in node.keywords if keyword.arg == "size"), None)
            if isinstance(size, ast.Tuple) and len(size.elts) == 2:
                return e(size.elts[1], scope)
            if called(e, node, scope) in ELEMENTWISE and len(node.args) == 1:
                return columns_of(e, node.args[0], scope)
    return None


def bounds(
    e: "Expressions", node: ast.Slice, whole: ast.expr, name: Node | None, scope: Scope
) -> tuple[Node, Node] | None:
    """First and last place of a slice, the last excluded; None if it has a step. ``name`` is what is cut."""
    if node.step is not None:
        return None
    size = length_of(e, whole, scope)
    if size is None:
        size = call("size", name) if name is not None else None

    def place(part: ast.expr | None, default: Node | None) -> Node | None:
        if part is None:
            return default
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
            return call("-", size, e(part.operand, scope)) if size is not None else None
        return e(part, scope)

    low, high = place(node.lower, word("0")), place(node.upper, size)
    return None if low is None or high is None else (low, high)


def _length_of_one(parts: Iterable[ast.expr], e: "Expressions", scope: Scope) -> Node | None:
    """The length of the first vector among these of which it is known."""
    wholes = [part for part in parts if kind_of(e, part, scope) is not None]
    return next((n for part in wholes if (n := length_of(e, part, scope)) is not None), None)
