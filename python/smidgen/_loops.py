"""Loops over data, ranges and arrays; comprehensions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import _outside as outside
from ._compile import Compiler, cell_word, column_word
from ._outside import MISSING
from ._registry import procedures
from ._scope import Cell, Row, Scope, Word
from ._syntax import Node, call, items, number, word

if TYPE_CHECKING:
    from ._expressions import Expressions


def is_call_of(compiler: Compiler, node: ast.expr, name: str, function: Any, scope: Scope) -> bool:
    """Whether it is a call of one of Python's functions, whatever it is called here."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if scope.find(node.func.id) is not None:
        return False
    value = compiler.outside.find(node.func.id)
    return value is function or outside.known_function(value) == name


class Loops:
    """The head of a `for` at the top level: what is gone through, and what its names mean."""

    def __init__(self, compiler: Compiler, expressions: "Expressions") -> None:
        self.c = compiler
        self.e = expressions

    def head(self, node: ast.For, scope: Scope) -> tuple[Node, Node, Scope] | None:
        """(variable, source, names) of a loop."""
        inner = scope.inner("loop")
        if is_call_of(self.c, node.iter, "range", range, scope):
            return self._range(node, scope, inner)
        target, over, index = node.target, node.iter, None
        if is_call_of(self.c, over, "enumerate", enumerate, scope):
            assert isinstance(over, ast.Call)
            if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[0], ast.Name):
                self.c.mistake("enumerate gives an index and a row: for i, row in enumerate(t)", target)
                return None
            index, target, over = target.elts[0], target.elts[1], over.args[0]
        if is_call_of(self.c, over, "zip", zip, scope):
            assert isinstance(over, ast.Call)
            made = self._zip(target, over, inner, scope)
        else:
            made = self._single(target, over, inner, scope)
        if made is None:
            return None
        variable, table = made
        if index is not None:
            inner.names[index.id] = Cell(word(f"{variable}.index"))
        return word(variable, self.c.span(node.target)), word(table, self.c.span(node.iter)), inner

    def _range(self, node: ast.For, scope: Scope, inner: Scope) -> tuple[Node, Node, Scope] | None:
        assert isinstance(node.iter, ast.Call)
        if not isinstance(node.target, ast.Name):
            self.c.mistake("a range gives single numbers", node.target)
            return None
        if not 1 <= len(node.iter.args) <= 2:
            self.c.mistake("a loop goes through range(n) or range(a, b)", node.iter)
            return None
        bounds = [self.e(part, scope) for part in node.iter.args]
        if len(bounds) == 1:
            bounds.insert(0, word("0"))
        text = self.c.local(node.target.id)
        inner.names[node.target.id] = Word(text, is_data=True)
        return word(text, self.c.span(node.target)), call("range", *bounds, span=self.c.span(node.iter)), inner

    def _variable(self, name: str) -> str:
        # `row.x` is a word of its own: the language's `row` (of a matrix) stays what it is.
        return name if name == "row" else self.c.local(name)

    def _single(self, target: ast.expr, over: ast.expr, inner: Scope, scope: Scope) -> tuple[str, str] | None:
        if not isinstance(over, ast.Name):
            hint = "a loop goes through a table, an array, range(n), zip(a, b) or enumerate(t)"
            if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and "rows" in over.func.attr:
                hint = "go through the table itself: for row in t"  # `df.iterrows()`
            self.c.mistake("this cannot be gone through at the top level of a model", over, hint)
            return None
        binding = scope.find(over.id)
        value = self.c.value_of(over.id, scope)
        if value is MISSING:
            if binding is not None and isinstance(binding, (Word, Cell)):
                hint = f"for i in range(len(...)): x = {over.id}[i], or a comprehension"
                self.c.mistake(f"`{over.id}` is random or computed: its length may change", over, hint)
                return None
            if not self.c.is_defining:
                self.e.unknown(over.id, over)
                return None
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._columns_of_array(target, over, value, inner)
        if not isinstance(target, ast.Name):
            self.c.mistake("the variable of a loop is a name", target)
            return None
        variable = self._variable(target.id)
        if value is MISSING:
            inner.names[target.id] = Row("?", variable)
            return variable, over.id
        if outside.is_frame(value):
            use = self.c.table(over.id, value)
        else:
            if outside.is_series(value):
                value = value.to_numpy()
            if not outside.is_array(value):
                kind = outside.type_name(value)
                hint = "a table is a frame, a dict of arrays, or anything with __arrow_c_stream__"
                self.c.mistake(f"`{over.id}` is a {kind}, which cannot be gone through", over, hint)
                return None
            use = self.c.arrays_table([(over.id, value)])
        inner.names[target.id] = Row(use.name, variable)
        return variable, use.name

    def _columns_of_array(
        self, target: ast.Tuple | ast.List, over: ast.Name, value: Any, inner: Scope
    ) -> tuple[str, str]:
        """`for a, b in xs`: the entries of each row of an array."""
        variable = "row"
        if value is MISSING:
            table = over.id
        else:
            table = self.c.arrays_table([(over.id, value)]).name
        for i, part in enumerate(target.elts):
            if isinstance(part, ast.Name):
                cell = word(cell_word(variable, over.id))
                inner.names[part.id] = Cell(call("lookup", cell, number(i)))
        return variable, table

    def _zip(self, target: ast.expr, over: ast.Call, inner: Scope, scope: Scope) -> tuple[str, str] | None:
        names = [part for part in over.args if isinstance(part, ast.Name)]
        targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        if len(names) != len(over.args) or len(targets) != len(names):
            self.c.mistake("zip goes through inputs of one length: for x, y in zip(X, Y)", over)
            return None
        sources = []
        for name in names:
            value = self.c.value_of(name.id, scope)
            if value is MISSING and not self.c.is_defining:
                self.e.unknown(name.id, name)
                return None
            if value is not MISSING and outside.is_series(value):
                value = value.to_numpy()
            sources.append((name.id, value))
        if not self.c.is_defining:
            lengths = {name: len(value) for name, value in sources if hasattr(value, "__len__")}
            if len(set(lengths.values())) > 1:
                shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
                self.c.mistake("what is zipped has different lengths", over, shown)
                return None
            table = self.c.arrays_table(sources).name
        else:
            table = "_".join(name for name, _ in sources)
        variable = "row"
        for part, (source, _) in zip(targets, sources):
            if not isinstance(part, ast.Name):
                self.c.mistake("names are bound one level deep", part)
                continue
            inner.names[part.id] = Cell(word(cell_word(variable, source)))
        return variable, table


class Comprehensions:
    """`[f(x) for x in xs if c]`: map over what is gone through."""

    def __init__(self, compiler: Compiler, expressions: "Expressions") -> None:
        self.c = compiler
        self.e = expressions

    def whole(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Node:
        return self._level(node, node.elt, list(node.generators), scope)

    def _level(self, node: ast.expr, element: ast.expr, generators: list[ast.comprehension], scope: Scope) -> Node:
        span = self.c.span(node)
        first, rest = generators[0], generators[1:]
        inner = scope.inner("function")
        over, parameters, bindings = self._over(first, inner, scope)
        if first.ifs:
            over = [self._filtered(over, parameters, bindings, first, inner, node)]
        body = self._level(node, element, rest, inner) if rest else self.e(element, inner)
        if bindings:
            body = call("let", items(bindings), body, span=body.span)
        each = call("lambda", items([word(p) for p in parameters]), body, span=self.c.span(element))
        mapped = call("mapv", each, *over, span=span)
        return call("apply", word("append"), mapped, span=span) if rest else mapped

    def _filtered(
        self,
        over: list[Node],
        parameters: list[str],
        bindings: list[Node],
        first: ast.comprehension,
        inner: Scope,
        node: ast.expr,
    ) -> Node:
        if "filter" not in procedures():
            return self.c.mistake("`if` in a comprehension is not part of the model language", first.ifs[0])
        if len(over) != 1:
            return self.c.mistake("`if` in a comprehension goes with a single list", first.ifs[0])
        conditions = [self.e(part, inner) for part in first.ifs]
        test = conditions[0] if len(conditions) == 1 else call("and", *conditions)
        if bindings:
            test = call("let", items(bindings), test)
        each = call("lambda", items([word(p) for p in parameters]), test, span=self.c.span(first.ifs[0]))
        return call("filter", each, over[0], span=self.c.span(node))

    def _over(self, first: ast.comprehension, inner: Scope, scope: Scope) -> tuple[list[Node], list[str], list[Node]]:
        """What is gone through, the parameters of the lambda, and names that its body needs."""
        target, over = first.target, first.iter
        if (
            is_call_of(self.c, over, "enumerate", enumerate, scope)
            and isinstance(target, ast.Tuple)
            and len(target.elts) == 2
        ):
            assert isinstance(over, ast.Call)
            names = [self._names(part, inner)[0] for part in target.elts]
            container = self.e(over.args[0], scope)
            return [call("range", word("0"), call("size", container)), container], names, []
        if is_call_of(self.c, over, "zip", zip, scope) and isinstance(target, ast.Tuple):
            assert isinstance(over, ast.Call)
            names = [self._names(part, inner)[0] for part in target.elts]
            return [self.e(part, scope) for part in over.args], names, []
        use = self.e.table_of(over, scope)
        if use is not None and isinstance(target, ast.Name):
            index = self.c.hidden_name("row")
            inner.names[target.id] = Row(use.name, target.id, word(index))
            count = self.e.calls.rows(use.name, use.sources[0][1], over)
            return [call("range", word("0"), count)], [index], []
        container = self.e(over, scope)
        if isinstance(target, ast.Name):
            return [container], self._names(target, inner), []
        if isinstance(target, (ast.Tuple, ast.List)):
            whole = self.c.hidden_name("tuple")
            bindings: list[Node] = []
            for i, part in enumerate(target.elts):
                name = self._names(part, inner)[0]
                bindings.append(items([word(name), call("lookup", word(whole), number(i))]))
            return [container], [whole], bindings
        self.c.mistake("the variable of a comprehension is a name", target)
        return [container], ["_"], []

    def _names(self, target: ast.expr, inner: Scope) -> list[str]:
        if not isinstance(target, ast.Name):
            self.c.mistake("names are bound one level deep", target)
            return ["_"]
        text = self.c.local(target.id)
        inner.names[target.id] = Word(text)
        return [text]


__all__ = ["Comprehensions", "Loops", "column_word"]
