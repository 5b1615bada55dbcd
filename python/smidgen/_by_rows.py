"""What expressions over whole vectors and matrices are in one row.

Observations of whole arrays are gone through row by row: of ``mu + X @ b``, an entry is ``mu[i] + dot(X's row, b)``. Names
that stand for such expressions are written out, so that the rows stay one plate. Functions of matrices that the language
has for vectors only are taken row by row likewise.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ._kinds import ARRAY, ELEMENTWISE, MATRIX, VECTOR, WHOLE_ARGUMENTS, called, kind_of, length_of
from ._registry import procedures
from ._scope import Scope, Word
from ._syntax import Node, call, items, word

if TYPE_CHECKING:
    from ._expressions import Expressions

#: The name of the number of the row, in expressions that are gone through row by row.
ROW = "_row_index"


def entry_by_entry(e: "Expressions", node: ast.expr, scope: Scope) -> ast.expr:
    """What an expression over whole vectors is in one row: vectors of the model at the row's index."""

    def entry(part: ast.expr) -> ast.expr:
        return entry_by_entry(e, part, scope)

    match node:
        case ast.Name():
            binding = scope.find(node.id)
            if not isinstance(binding, Word) or binding.kind not in (VECTOR, ARRAY):
                return node
            return entry(_written_out(e, binding)) if binding.formula is not None else _at_row(node)
        case ast.BinOp(op=ast.MatMult()):
            if kind_of(e, node.left, scope) != MATRIX:
                return node
            if kind_of(e, node, scope) != VECTOR or not _has_rows(e, node.left, scope):
                return _at_row(node) if kind_of(e, node, scope) == VECTOR else node
            return ast.copy_location(ast.BinOp(row_of(e, node.left, scope), node.op, node.right), node)
        case ast.BinOp():
            return ast.copy_location(ast.BinOp(entry(node.left), node.op, entry(node.right)), node)
        case ast.UnaryOp():
            return ast.copy_location(ast.UnaryOp(node.op, entry(node.operand)), node)
        case ast.IfExp():
            parts = [entry(part) for part in (node.test, node.body, node.orelse)]
            return ast.copy_location(ast.IfExp(*parts), node)
        case ast.List() | ast.Tuple():
            return ast.copy_location(ast.List([entry(part) for part in node.elts], ast.Load()), node)
        case ast.Compare():
            left, *others = [entry(part) for part in (node.left, *node.comparators)]
            return ast.copy_location(ast.Compare(left, node.ops, others), node)
        case ast.Subscript(slice=ast.Tuple(elts=indices)) if not any(isinstance(i, ast.Slice) for i in indices):
            places = ast.copy_location(ast.Tuple([entry(index) for index in indices], ast.Load()), node)
            return ast.copy_location(ast.Subscript(node.value, places, ast.Load()), node)
        case ast.Subscript(slice=ast.Slice() | ast.Tuple()) if kind_of(e, node, scope) == VECTOR:
            return _entry_of_slice(node)
        case ast.Subscript(slice=ast.Call() | ast.BinOp() | ast.Name()) if kind_of(e, node, scope) == VECTOR:
            return ast.copy_location(ast.Subscript(node.value, entry(node.slice), ast.Load()), node)
        case ast.Call():
            made = _entry_of_call(e, node, scope)
            return _at_row(node) if made is node and kind_of(e, node, scope) == VECTOR else made
    return node


def _entry_of_slice(node: ast.Subscript) -> ast.expr:
    """`z[2:]` in one row is `z[row + 2]`."""
    cut = node.slice
    if not isinstance(cut, ast.Slice) or isinstance(cut.lower, ast.UnaryOp):
        return _at_row(node)
    index: ast.expr = ast.copy_location(ast.Name(ROW, ast.Load()), node)
    if cut.lower is not None:
        index = ast.copy_location(ast.BinOp(index, ast.Add(), cut.lower), node)
    return ast.copy_location(ast.Subscript(node.value, index, ast.Load()), node)


def _entry_of_call(e: "Expressions", node: ast.Call, scope: Scope) -> ast.expr:
    name = called(e, node, scope)
    entry = procedures().get(name or "")
    is_law = entry is not None and entry.is_distribution and not entry.is_plural
    if not (name in ELEMENTWISE or name == "biplex" or is_law):
        return node
    whole = WHOLE_ARGUMENTS.get(name or "")

    def argument(place: int, part: ast.expr) -> ast.expr:
        if is_law and kind_of(e, part, scope) == MATRIX:
            return row_of(e, part, scope)
        if place == whole and isinstance(part, ast.Name):
            return part
        if name == "mixture" and isinstance(part, ast.Call):
            return part  # its vectors go by components
        return entry_by_entry(e, part, scope)

    arguments = [argument(place, part) for place, part in enumerate(node.args)]
    named = [ast.copy_location(ast.keyword(k.arg, entry_by_entry(e, k.value, scope)), k) for k in node.keywords]
    return ast.copy_location(ast.Call(node.func, arguments, named), node)


# ---------------------------------------------------------------- matrices


def row_of(e: "Expressions", node: ast.expr, scope: Scope, is_observed: bool = True) -> ast.expr:
    """A row of a matrix. What stands beside it in an operation is the same for all rows, as in NumPy.

    ``is_observed``: arrays from outside stay, because each is a column of the rows that are observed, and names that
    stand for expressions are written out.
    """

    def row(part: ast.expr) -> ast.expr:
        return row_of(e, part, scope, is_observed) if kind_of(e, part, scope) == MATRIX else part

    match node:
        case ast.Name() if is_observed:
            binding = scope.find(node.id)
            if isinstance(binding, Word):
                return row(_written_out(e, binding)) if binding.formula is not None else _at_row(node)
            return node
        case ast.BinOp(op=ast.MatMult()):
            return ast.copy_location(ast.BinOp(row(node.left), node.op, node.right), node)
        case ast.BinOp():
            return ast.copy_location(ast.BinOp(row(node.left), node.op, row(node.right)), node)
        case ast.UnaryOp():
            return ast.copy_location(ast.UnaryOp(node.op, row(node.operand)), node)
        case ast.Call() if called(e, node, scope) in ELEMENTWISE and len(node.args) == 1:
            return ast.copy_location(ast.Call(node.func, [row(node.args[0])], []), node)
    return _at_row(node)


def each_row(e: "Expressions", node: ast.expr, scope: Scope) -> Node | None:
    """A matrix of the language from what it is row by row; None where a part draws or has no known rows."""
    rows = length_of(e, node, scope)
    if rows is None or not is_formula(e, node, scope):
        return None
    place = e.c.hidden_name("place")
    inner = scope.inner("function")
    inner.names[ROW] = Word(place)
    one = row_of(e, node, scope, is_observed=False)
    each = call("lambda", items([word(place)]), e(one, inner), span=e.c.span(node))
    return call("matrix", call("mapv", each, call("range", word("0"), rows)), span=e.c.span(node))


def _has_rows(e: "Expressions", node: ast.expr, scope: Scope) -> bool:
    """Whether a matrix is made of arrays from outside, the rows of which are gone through."""
    match node:
        case ast.Name():
            binding = scope.find(node.id)
            if isinstance(binding, Word):
                return binding.formula is not None and _has_rows(e, binding.formula, scope)
            return True
        case ast.BinOp(op=ast.MatMult()):
            return _has_rows(e, node.left, scope)
        case ast.BinOp():
            sides = (part for part in (node.left, node.right) if kind_of(e, part, scope) == MATRIX)
            return all(_has_rows(e, part, scope) for part in sides)
        case ast.UnaryOp():
            return _has_rows(e, node.operand, scope)
        case ast.Call():
            return called(e, node, scope) in ELEMENTWISE and _has_rows(e, node.args[0], scope)
    return False


def _written_out(e: "Expressions", binding: Word) -> ast.expr:
    if binding.text not in e.c.written_out:
        e.c.written_out.append(binding.text)
    formula: ast.expr = binding.formula
    return formula


def _at_row(node: ast.expr) -> ast.expr:
    index = ast.copy_location(ast.Name(ROW, ast.Load()), node)
    return ast.copy_location(ast.Subscript(node, index, ast.Load()), node)


# ---------------------------------------------------------------- formulas


def is_formula(e: "Expressions", node: ast.expr, scope: Scope) -> bool:
    """Whether it is arithmetic on vectors or matrices that draws nothing, and so can be written out for one row."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.BinOp(op=ast.MatMult()):
            # Rows of what comes from outside, times something of the model.
            if not is_formula(e, node.right, scope) and not isinstance(node.right, ast.Attribute):
                return False
            is_matrix = kind_of(e, node.left, scope) == MATRIX
            return is_matrix and is_formula(e, node.left, scope) and _has_rows(e, node.left, scope)
        case ast.BinOp():
            return is_formula(e, node.left, scope) and is_formula(e, node.right, scope)
        case ast.UnaryOp():
            return is_formula(e, node.operand, scope)
        case ast.Compare(ops=[op]) if not isinstance(op, (ast.In, ast.NotIn)):
            return all(is_formula(e, part, scope) for part in (node.left, *node.comparators))
        case ast.Subscript():
            is_cut = isinstance(node.slice, ast.Tuple) and any(isinstance(i, ast.Slice) for i in node.slice.elts)
            return isinstance(node.value, ast.Name) and not is_cut
        case ast.Attribute():
            return e.table_of(node.value, scope) is not None
        case ast.Call():
            name = called(e, node, scope)
            return name in {*ELEMENTWISE, "biplex"} and all(is_formula(e, part, scope) for part in node.args)
    return False
