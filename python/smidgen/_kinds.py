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
from ._registry import procedures
from ._scope import Cell, Row, Scope, Word
from ._syntax import Node, number

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
    "dirichlet", "symmetric_dirichlet", "multinomial", "dirichlet_multinomial", "ordered",
}  # fmt: skip

#: Arguments of laws of numbers that are vectors: whole ones, the same for every row.
_WHOLE_ARGUMENTS = {"categorical": 0, "categorical_logit": 0, "ordered_logistic": 1, "ordered_probit": 1, "mixture": 0}

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
    if isinstance(node, ast.Attribute) or isinstance(node.slice, (ast.Slice, ast.Tuple)):
        return None
    if kind_of(e, node.value, scope) == MATRIX:
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
    if name == "@vector":
        rows = node.args[0] if node.args else None
        nested = isinstance(rows, (ast.List, ast.Tuple)) and any(isinstance(r, (ast.List, ast.Tuple)) for r in rows.elts)
        return MATRIX if nested else VECTOR
    if name in _MATRICES:
        return MATRIX
    if name in _VECTORS:
        return VECTOR
    if name in ELEMENTWISE and len(node.args) == 1:
        return VECTOR if kind_of(e, node.args[0], scope) in (VECTOR, ARRAY) else None
    if name == "biplex":
        return VECTOR if any(kind_of(e, part, scope) in (VECTOR, ARRAY) for part in node.args) else None
    if name in ("fill",) and len(node.args) == 2:
        return VECTOR if kind_of(e, node.args[1], scope) is None else None
    if name in ("matrix_solve",) and len(node.args) == 2:
        return kind_of(e, node.args[1], scope)
    return None


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
            return length_of(e, node.left, scope) if kind_of(e, node.left, scope) == MATRIX else None
        case ast.BinOp():
            return _length_of_one((node.left, node.right), e, scope)
        case ast.Compare():
            return _length_of_one((node.left, *node.comparators), e, scope)
        case ast.UnaryOp():
            return length_of(e, node.operand, scope)
        case ast.Subscript():
            return length_of(e, node.slice, scope)
        case ast.Call():
            size = next((keyword.value for keyword in node.keywords if keyword.arg == "size"), None)
            if size is not None:
                return None if isinstance(size, ast.Tuple) else e(size, scope)
            name = called(e, node, scope)
            if name in ELEMENTWISE and len(node.args) == 1:
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


def _length_of_one(parts: Iterable[ast.expr], e: "Expressions", scope: Scope) -> Node | None:
    """The length of the first vector among these of which it is known."""
    wholes = [part for part in parts if kind_of(e, part, scope) is not None]
    return next((n for part in wholes if (n := length_of(e, part, scope)) is not None), None)


# ---------------------------------------------------------------- entry by entry

#: The name of the number of the row, in expressions that are gone through row by row.
ROW = "_row_index"


def entry_by_entry(e: "Expressions", node: ast.expr, scope: Scope) -> ast.expr:
    """What an expression over whole vectors is in one row: vectors of the model at the row's index, and names that
    stand for such expressions written out, so that the rows stay one plate."""
    match node:
        case ast.Name():
            binding = scope.find(node.id)
            if not isinstance(binding, Word) or binding.kind not in (VECTOR, ARRAY):
                return node
            if binding.formula is not None:
                if binding.text not in e.c.written_out:
                    e.c.written_out.append(binding.text)
                return entry_by_entry(e, binding.formula, scope)
            index = ast.copy_location(ast.Name(ROW, ast.Load()), node)
            return ast.copy_location(ast.Subscript(node, index, ast.Load()), node)
        case ast.BinOp(op=ast.MatMult()):
            return node
        case ast.BinOp():
            left, right = entry_by_entry(e, node.left, scope), entry_by_entry(e, node.right, scope)
            return ast.copy_location(ast.BinOp(left, node.op, right), node)
        case ast.UnaryOp():
            return ast.copy_location(ast.UnaryOp(node.op, entry_by_entry(e, node.operand, scope)), node)
        case ast.IfExp():
            parts = [entry_by_entry(e, part, scope) for part in (node.test, node.body, node.orelse)]
            return ast.copy_location(ast.IfExp(*parts), node)
        case ast.List() | ast.Tuple():
            parts = [entry_by_entry(e, part, scope) for part in node.elts]
            return ast.copy_location(ast.List(parts, ast.Load()), node)
        case ast.Compare():
            left, *others = [entry_by_entry(e, part, scope) for part in (node.left, *node.comparators)]
            return ast.copy_location(ast.Compare(left, node.ops, others), node)
        case ast.Call():
            name = called(e, node, scope)
            entry = procedures().get(name or "")
            if name in ELEMENTWISE or name == "biplex" or (entry is not None and entry.is_distribution and not entry.is_plural):
                whole = _WHOLE_ARGUMENTS.get(name or "")
                arguments = [
                    part if place == whole and isinstance(part, ast.Name) else entry_by_entry(e, part, scope)
                    for place, part in enumerate(node.args)
                ]
                named = [ast.keyword(k.arg, entry_by_entry(e, k.value, scope)) for k in node.keywords]
                for old, new in zip(node.keywords, named):
                    ast.copy_location(new, old)
                return ast.copy_location(ast.Call(node.func, arguments, named), node)
    return node


def is_formula(e: "Expressions", node: ast.expr, scope: Scope) -> bool:
    """Whether it is arithmetic on vectors that draws nothing, and so can be written out for one row."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.BinOp(op=ast.MatMult()):
            # A row of a matrix from outside, times a vector.
            value = e.c.value_of(node.left.id, scope) if isinstance(node.left, ast.Name) else MISSING
            return getattr(value, "ndim", 0) == 2 and isinstance(node.right, ast.Name)
        case ast.BinOp():
            return is_formula(e, node.left, scope) and is_formula(e, node.right, scope)
        case ast.UnaryOp():
            return is_formula(e, node.operand, scope)
        case ast.Compare(ops=[op]) if not isinstance(op, (ast.In, ast.NotIn)):
            return all(is_formula(e, part, scope) for part in (node.left, *node.comparators))
        case ast.Subscript():
            return isinstance(node.value, ast.Name) and not isinstance(node.slice, (ast.Slice, ast.Tuple))
        case ast.Attribute():
            return e.table_of(node.value, scope) is not None
        case ast.Call():
            return called(e, node, scope) in {*ELEMENTWISE, "biplex"} and all(is_formula(e, part, scope) for part in node.args)
    return False
