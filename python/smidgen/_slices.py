"""Slices of vectors, lists and matrices of a model: ``xs[1:]``, ``xs[:-1]``, ``m[:, 0]``.

They go through the places, ``[xs[i] for i in range(1, n)]``, so that nothing comes and goes when the entries move.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ._kinds import MATRIX, VECTOR, bounds, kind_of
from ._scope import Scope
from ._syntax import Node, call, items, word

if TYPE_CHECKING:
    from ._expressions import Expressions

HINT = "xs[a:b] of a vector or a list, m[i, :] and m[:, j] of a matrix"


class Slices:
    def __init__(self, expressions: "Expressions") -> None:
        self.e = expressions
        self.c = expressions.c

    def __call__(self, node: ast.Subscript, scope: Scope) -> Node:
        whole = self.e(node.value, scope)
        if whole.is_word:
            return self._of(whole, node, scope)
        name = word(self.c.hidden_name("whole"))
        return call("let", items([items([name, whole])]), self._of(name, node, scope), span=self.c.span(node))

    def _of(self, whole: Node, node: ast.Subscript, scope: Scope) -> Node:
        span, kind, index = self.c.span(node), kind_of(self.e, node.value, scope), node.slice
        if isinstance(index, ast.Slice):
            limits = bounds(self.e, index, node.value, whole, scope)
            if limits is None or kind == MATRIX:
                return self.c.mistake("this slice is not part of the model language", index, HINT)
            place = word(self.c.hidden_name("place"))
            each = call("lambda", items([place]), call("lookup", whole, place), span=span)
            found = call("mapv", each, call("range", *limits), span=span)
            return call("to_vector", found, span=span) if kind == VECTOR else found
        if isinstance(index, ast.Tuple) and len(index.elts) == 2:
            row, column = index.elts
            if _is_all(row) and not isinstance(column, ast.Slice):
                return self._column(whole, self.e(column, scope), kind, node)
            if _is_all(column) and not isinstance(row, ast.Slice):
                return call("lookup", whole, self.e(row, scope), span=span)
        return self.c.mistake("this slice is not part of the model language", index, HINT)

    def _column(self, whole: Node, column: Node, kind: str | None, node: ast.Subscript) -> Node:
        span = self.c.span(node)
        if kind == MATRIX:
            return call("col", whole, column, span=span)
        # A list of vectors.
        row = word(self.c.hidden_name("row"))
        each = call("lambda", items([row]), call("lookup", row, column), span=span)
        return call("to_vector", call("mapv", each, whole), span=span)


def _is_all(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) and index.lower is None and index.upper is None and index.step is None


__all__ = ["Slices"]
