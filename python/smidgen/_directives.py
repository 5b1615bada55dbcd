"""Directives of a model: `observe`, `predict`, `factor`, `force`, `impute`, `infer`."""

from __future__ import annotations

import ast
from typing import Any

from . import _outside as outside
from ._by_rows import ROW, entry_by_entry, row_of
from ._compile import Compiler
from ._data import row_count
from ._expressions import Expressions
from ._kinds import MATRIX, kind_of
from ._outside import MISSING
from ._registry import DIRECTIVES, procedures
from ._scope import Cell, Input, Row, Scope, TableUse
from ._syntax import Node, call, directive, word

OBSERVE = "observe(choice, value): the choice is a call of a distribution"


class Directives:
    def __init__(self, compiler: Compiler) -> None:
        self.c = compiler
        self.e = Expressions(compiler)
        #: Tags of the `with scope(...)` around, outermost first.
        self.tags: list[tuple[Node, Node]] = []

    def emit(self, made: Node) -> None:
        self.c.program.append(made)

    def _tagged(self, made: Node) -> Node:
        for tag, block in reversed(self.tags):
            made = call("scope_include", tag, block, made, span=made.span)
        return made

    def _directive(self, node: ast.Call, scope: Scope) -> str | None:
        value: Any = MISSING
        if isinstance(node.func, ast.Name) and scope.find(node.func.id) is None:
            value = self.c.outside.find(node.func.id)
            if value is MISSING and node.func.id in DIRECTIVES:
                return node.func.id
        elif isinstance(node.func, ast.Attribute):
            value = self.e.member(node.func, scope)
        name = outside.known_function(value) if value is not MISSING else None
        return name if name in DIRECTIVES else None

    def _expression(self, node: ast.Expr, scope: Scope) -> None:
        value = node.value
        if isinstance(value, ast.Call):
            name = self._directive(value, scope)
            if name is not None:
                getattr(self, "_" + name)(value, scope)
                return
            before = len(self.c.mistakes)
            self.e(value, scope)
            if len(self.c.mistakes) > before:
                return
        self.c.mistake("this value is not used", node, "bind it to a name, or observe(choice, value)")

    def _label(self, node: ast.Call, scope: Scope) -> str | None:
        for keyword in node.keywords:
            if (
                keyword.arg == "label"
                and isinstance(keyword.value, ast.Constant)
                and isinstance(keyword.value.value, str)
            ):
                return keyword.value.value
            self.c.mistake('there is only `label="name"` here', keyword.value)
        return None

    def _observe(self, node: ast.Call, scope: Scope, condition: ast.expr | None = None) -> None:
        if len(node.args) != 2:
            self.c.mistake("observe takes a choice and its value", node, OBSERVE)
            return
        choice, value = node.args
        if self._is_data(choice, scope) and isinstance(value, ast.Call):
            self.c.mistake("the first part is data: observe(choice, value)", choice, "exchange the two")
            return
        label = self._label(node, scope)
        if isinstance(value, ast.Name) and getattr(self.c.value_of(value.id, scope), "shape", (1,))[:1] == (0,):
            return  # a part of the data in which nothing is
        columns = None if scope.in_loop else self._columns(choice, value, scope)
        if columns is not None:
            table, inner, choice = columns
            parts = (self._tagged(self.e(choice, inner)), self.e(value, inner))
            made = directive("observe", *parts, span=self.c.span(node), label=label)
            self.emit(directive("for", word("row"), word("in"), word(table), made, span=self.c.span(node)))
            return
        seen = self.e(value, scope)
        if condition is not None:
            seen = call("only_if", self.e(condition, scope), seen, span=seen.span)
        made = directive("observe", self._tagged(self.e(choice, scope)), seen, span=self.c.span(node), label=label)
        self.emit(made)

    def _columns(self, choice: ast.expr, value: ast.expr, scope: Scope) -> tuple[str, Scope, ast.expr] | None:
        """Whole columns or arrays that are observed at once are gone through row by row: the table, its names, and
        the choice in one row."""
        inner = scope.inner("loop")
        inner.names[ROW] = Cell(word("row.index"))
        if isinstance(value, (ast.Attribute, ast.Subscript)) and isinstance(value.value, ast.Name):
            use = self.e.table_of(value.value, scope)
            if use is None or not self._is_single(choice, scope):
                return None
            inner.names[value.value.id] = Row(use.name, "row")
            choice = entry_by_entry(self.e, choice, scope)
            self._beside(use, choice, inner, scope)
            return use.name, inner, choice
        if not isinstance(value, ast.Name):
            return None
        length = self._length(value, scope)
        if length is None:
            return None
        if self._is_vector(choice, scope) and getattr(self.c.value_of(value.id, scope), "ndim", 1) == 2:
            return self._rows_of_matrix(choice, value, inner, scope)
        if not self._is_single(choice, scope):
            return None
        if getattr(self.c.value_of(value.id, scope), "ndim", 1) == 2:
            # A row of a matrix is as many draws as it has columns.
            assert isinstance(choice, ast.Call)
            rows = [self._row(part, scope) for part in choice.args]
            choice = ast.copy_location(ast.Call(choice.func, rows, choice.keywords), choice)
        else:
            choice = entry_by_entry(self.e, choice, scope)
        names = dict.fromkeys(part.id for part in (value, *ast.walk(choice)) if isinstance(part, ast.Name))
        sources = []
        for name in names:
            found = ast.Name(name, ast.Load())
            if self._length(found, scope) == length:
                array = self.c.value_of(name, scope)
                sources.append((name, array.to_numpy() if outside.is_series(array) else array))
                inner.names[name] = Cell(word(f"row.{name}"))
        return self.c.arrays_table(sources).name, inner, choice

    def _beside(self, use: TableUse, choice: ast.expr, inner: Scope, scope: Scope) -> None:
        """Arrays beside a table, as long as it is, are asked for the row's entry."""
        names = [part for part in ast.walk(choice) if isinstance(part, ast.Name) and part.id not in inner.names]
        arrays = [part for part in names if self._length(part, scope) is not None]
        rows = row_count(use.sources[0][1]) if arrays else 0
        for part in arrays:
            if self._length(part, scope) == rows:
                whole = self.e.outer(part.id, self.c.value_of(part.id, scope), part)
                inner.names[part.id] = Cell(call("lookup", whole, word("row.index")))

    def _row(self, node: ast.expr, scope: Scope) -> ast.expr:
        return row_of(self.e, node, scope) if kind_of(self.e, node, scope) == MATRIX else node

    def _rows_of_matrix(
        self, choice: ast.expr, value: ast.Name, inner: Scope, scope: Scope
    ) -> tuple[str, Scope, ast.expr]:
        """The rows of a matrix are vectors that are observed one by one, each with its row of the first argument, or
        entry where that is a number, if there are as many."""
        assert isinstance(choice, ast.Call)
        names = [value]
        first = choice.args[0] if choice.args else value
        if isinstance(first, ast.Name) and self._length(first, scope) == self._length(value, scope):
            counts = isinstance(choice.func, ast.Name) and choice.func.id in ("multinomial", "dirichlet_multinomial")
            if getattr(self.c.value_of(first.id, scope), "ndim", 1) == (1 if counts else 2):
                names.append(first)
        for name in names:
            inner.names[name.id] = Cell(word(f"row.{name.id}"))
        sources = [(name.id, self.c.value_of(name.id, scope)) for name in names]
        return self.c.arrays_table(sources).name, inner, choice

    def _is_vector(self, choice: ast.expr, scope: Scope) -> bool:
        """Whether a choice is a call of a distribution whose draws are vectors."""
        name = choice.func.id if isinstance(choice, ast.Call) and isinstance(choice.func, ast.Name) else ""
        entry = procedures().get(name) if scope.find(name) is None else None
        matrices = ("wishart", "inv_wishart", "lkj", "lkj_cholesky")
        return entry is not None and entry.is_plural and entry.name not in matrices

    def _is_single(self, choice: ast.expr, scope: Scope) -> bool:
        """Whether a choice is a call of a distribution whose draws are numbers."""
        if not isinstance(choice, ast.Call) or any(keyword.arg == "size" for keyword in choice.keywords):
            return False
        name = choice.func.id if isinstance(choice.func, ast.Name) else getattr(choice.func, "attr", "")
        entry = procedures().get(name) if scope.find(name) is None else None
        return entry is not None and entry.is_distribution and not entry.is_plural

    def _length(self, node: ast.Name, scope: Scope) -> int | None:
        """The length of an array from outside."""
        value = self.c.value_of(node.id, scope)
        if value is MISSING or not (outside.is_array(value) or outside.is_series(value)):
            return None
        return (
            len(value)
            if len(value) and not isinstance(value[0] if isinstance(value, (list, tuple)) else 0, str)
            else None
        )

    def _is_data(self, node: ast.expr, scope: Scope) -> bool:
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return self.e.row_of(node.value, scope) is not None
        if isinstance(node, ast.Name):
            return isinstance(scope.find(node.id), (Input, Cell))
        return False

    def _predict(self, node: ast.Call, scope: Scope) -> None:
        if not 1 <= len(node.args) <= 2:
            self.c.mistake('predict takes a value and its name: predict(x, "x")', node)
            return
        label = self._label(node, scope)
        if len(node.args) == 2:
            if not isinstance(node.args[1], ast.Constant) or not isinstance(node.args[1].value, str):
                hint = 'in a loop the rounds number themselves: predict(b[i], "b") gives b[0], b[1], ...'
                self.c.mistake("what is recorded is named by a text", node.args[1], hint)
                return
            label = node.args[1].value
        elif label is None:
            label = " ".join(self.c.text.segment(self.c.span(node.args[0])).split())
        made = self._tagged(self.e(node.args[0], scope))
        self.emit(directive("predict", made, span=self.c.span(node), label=label))

    def _force(self, node: ast.Call, scope: Scope) -> None:
        if len(node.args) != 2:
            self.c.mistake("force takes a choice and its value", node)
            return
        self.emit(directive("force", *(self.e(part, scope) for part in node.args), span=self.c.span(node)))

    def _factor(self, node: ast.Call, scope: Scope) -> None:
        if len(node.args) != 1:
            self.c.mistake("factor takes a log density", node)
            return
        label = self._label(node, scope)
        self.emit(directive("factor", self.e(node.args[0], scope), span=self.c.span(node), label=label))

    def _impute(self, node: ast.Call, scope: Scope) -> None:
        """`impute(t.x, law)`: in the law, `t.z` is another cell of the row."""
        usage = "impute(t.x, normal(mu, sd)): a column of a table, and the law of its cells"
        if scope.in_loop:
            self.c.mistake("impute stands at the top level of a model", node, usage)
            return
        if len(node.args) != 2 or node.keywords:
            self.c.mistake("impute takes a column and the law of its cells", node, usage)
            return
        column, law = node.args
        parts = isinstance(column, (ast.Attribute, ast.Subscript)) and isinstance(column.value, ast.Name)
        use = self.e.table_of(column.value, scope) if parts else None  # type: ignore[attr-defined]
        if use is None:
            if not self.c.is_defining:
                self.c.mistake("this is no column of a table", column, usage)
            return
        use.missing = "infer"
        inner = scope.inner("loop")
        inner.names[column.value.id] = Row(use.name, use.name)  # type: ignore[attr-defined]
        made = (self.e(column, inner), self.e(law, inner))
        self.emit(directive("impute", *made, span=self.c.span(node)))

    def _infer(self, node: ast.Call, scope: Scope) -> None:
        """The kernel is computed by Python from what is outside, or is a text."""
        from .kernel import Kernel

        if len(node.args) != 1:
            self.c.mistake("infer takes a kernel", node)
            return
        part = node.args[0]
        if isinstance(part, ast.Constant) and isinstance(part.value, (str, int)):
            self.emit(directive("infer", word(str(part.value)), span=self.c.span(node)))
            return
        if self.c.is_defining:
            return
        names = {name.id: self.c.value_of(name.id, scope) for name in ast.walk(part) if isinstance(name, ast.Name)}
        if MISSING in names.values():
            self.c.mistake(
                "a kernel is made of what is outside the model", part, 'write it as text: infer("(mh default one 1)")'
            )
            return
        made = eval(compile(ast.Expression(part), self.c.text.filename, "eval"), names)
        if not isinstance(made, (Kernel, str, int)):
            self.c.mistake("this is no kernel", part, "sm.kernel.nuts(), or a text")
            return
        text = made.text(self.c.renamed) if isinstance(made, Kernel) else str(made)
        self.emit(directive("infer", word(text), span=self.c.span(node)))
