"""The top level of a model: statements to directives."""

from __future__ import annotations

import ast
from typing import Any

from . import _outside as outside
from ._bodies import assigned, decorated, is_text, refuse
from ._branches import Unclear, flatten
from ._by_rows import is_formula
from ._compile import Compiler
from ._dims import dims_of
from ._directives import Directives
from ._folding import fold
from ._kinds import MATRIX, VECTOR, columns_of, kind_of, length_of
from ._loops import Loops
from ._outside import MISSING
from ._registry import directives, procedures, special_forms
from ._scope import Binding, Cell, Input, Procedure, Row, Scope, Word
from ._syntax import Node, call, directive, items, word


class Statements(Directives):
    def __init__(self, compiler: Compiler) -> None:
        super().__init__(compiler)
        self.loops = Loops(compiler, self.e)

    def model(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self.statement(fold(self.e, statement, scope), scope)

    # ------------------------------------------------------------ one statement

    def statement(self, node: ast.stmt, scope: Scope) -> None:
        if is_text(node) or isinstance(node, ast.Pass) or refuse(self.c, node):
            return
        match node:
            case ast.FunctionDef():
                self._function(node, scope)
            case ast.Return():
                self._return(node, scope)
            case ast.If():
                self._if(node, scope)
            case ast.For():
                self._for(node, scope)
            case ast.With():
                self._with(node, scope)
            case ast.Expr():
                self._expression(node, scope)
            case ast.AugAssign():
                name = node.target.id if isinstance(node.target, ast.Name) else "this"
                self.c.mistake(
                    f"`{name}` already has a value: in a model every name is bound once",
                    node,
                    "give the new value another name",
                )
            case _:
                self._assign(node, scope)

    def _assume(self, name: str, made: Node, node: ast.AST, scope: Scope, binding: Binding | None = None) -> None:
        text = self.c.own(name)
        if self.c.bind(scope, name, binding or Word(text), node):
            self.emit(directive("assume", word(text, self.c.span(node)), self._tagged(made), span=self.c.span(node)))

    def _assign(self, node: ast.stmt, scope: Scope) -> None:
        pair = assigned(self.c, node)
        if pair is None:
            return
        target, value = pair
        if isinstance(target, ast.Name):
            if isinstance(value, ast.Name) and value.id in self.c.parts.values():
                self.c.bind(scope, target.id, Input(value.id), target)
                return
            self.c.comprehensions[target.id] = value
            self._assume(target.id, self.e(value, scope), target, scope)
            self._learn(target.id, value, scope)
            return
        names = [part for part in target.elts if isinstance(part, ast.Name)]
        if len(names) != len(target.elts):
            self.c.mistake("names are bound one level deep", target)
        elif isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(names):
            made = [self.e(part, scope) for part in value.elts]
            for name, part, expression in zip(names, made, value.elts):
                self.c.comprehensions[name.id] = expression
                self._assume(name.id, part, name, scope)
                self._learn(name.id, expression, scope)
        else:
            hidden = self.c.hidden_name("tuple")
            self.emit(directive("assume", word(hidden), self._tagged(self.e(value, scope)), span=self.c.span(node)))
            for i, name in enumerate(names):
                self._assume(name.id, call("lookup", word(hidden), word(str(i))), name, scope)

    def _learn(self, name: str, value: ast.expr, scope: Scope) -> None:
        """Notes whether a name is a vector or a matrix, and what it stands for."""
        binding = scope.names.get(name)
        if isinstance(binding, Word) and binding.kind is None:
            binding.kind = kind_of(self.e, value, scope)
            if binding.kind is not None:
                binding.length = length_of(self.e, value, scope)
            if binding.kind == MATRIX:
                binding.columns = columns_of(self.e, value, scope)
            if binding.kind in (VECTOR, MATRIX) and is_formula(self.e, value, scope):
                binding.formula = value

    def _function(self, node: ast.FunctionDef, scope: Scope) -> None:
        text = self.c.own(node.name)
        procedure = Procedure(text, [], {})
        if not self.c.bind(scope, node.name, procedure, node):
            return
        made = decorated(self.c, self.e, node, scope, procedure)
        self.emit(directive("assume", word(text), made, span=self.c.span(node)))

    # ------------------------------------------------------------ what is recorded

    def _return(self, node: ast.Return, scope: Scope) -> None:
        if scope.kind != "model":
            self.c.mistake("`return` stands at the end of the model", node)
            return
        if node.value is None or isinstance(node.value, ast.Constant) and node.value.value is None:
            return
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for part in parts:
            if self._is_dict(part, scope):
                assert isinstance(part, ast.Call)
                for keyword in part.keywords:
                    if keyword.arg is not None:
                        self._record(keyword.arg, keyword.value, scope)
            elif isinstance(part, ast.Dict):
                for key, value in zip(part.keys, part.values):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        self._record(key.value, value, scope)
                    else:
                        self.c.mistake("what is recorded is named by a text", key or part)
            elif isinstance(part, ast.Name):
                self._record(part.id, part, scope)
            else:
                self._record(" ".join(self.c.text.segment(self.c.span(part)).split()), part, scope)

    def _is_dict(self, node: ast.expr, scope: Scope) -> bool:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
            return False
        return node.func.id == "dict" and scope.find("dict") is None

    def _record(self, label: str, node: ast.expr, scope: Scope) -> None:
        made = self._tagged(self.e(node, scope))
        dims = dims_of(self.c, node, scope)
        if dims:
            self.c.dims[label] = dims
        self.emit(directive("predict", made, span=self.c.span(node), label=label))

    # ------------------------------------------------------------ branches

    def _if(self, node: ast.If, scope: Scope) -> None:
        known = self._decided(node.test, scope)
        if known is not MISSING:
            for statement in node.body if known else node.orelse:
                self.statement(statement, scope)
            return
        if self._is_constant(node.test, scope):
            # At definition: both ways are looked at, each by itself.
            for branch in (node.body, node.orelse):
                inner = Scope("model", scope, {})
                for statement in branch:
                    self.statement(statement, inner)
                scope.names.update(inner.names)
            return
        pair = self._same_name(node)
        if pair is None:
            self._effects(node, scope)
            return
        name, then, other = pair
        parts = (self.e(node.test, scope), self.e(then, scope), self.e(other, scope))
        self._assume(name.id, call("if", *parts, span=self.c.span(node.test)), name, scope)

    def _same_name(self, node: ast.If) -> tuple[ast.Name, ast.expr, ast.expr] | None:
        found = []
        for branch in (node.body, node.orelse):
            pair = assigned(self.c, branch[0]) if len(branch) == 1 else None
            if pair is None or not isinstance(pair[0], ast.Name):
                return None
            found.append((pair[0], pair[1]))
        return (found[0][0], found[0][1], found[1][1]) if found[0][0].id == found[1][0].id else None

    def _is_constant(self, test: ast.expr, scope: Scope) -> bool:
        """Whether a condition is about inputs and names from outside alone."""
        for part in ast.walk(test):
            if isinstance(part, ast.Name):
                binding = scope.find(part.id)
                if binding is not None and not isinstance(binding, Input):
                    return False
                if binding is None and self.c.outside.find(part.id) is MISSING and outside.is_language(part.id):
                    return False
        return True

    def _decided(self, test: ast.expr, scope: Scope) -> Any:
        if self.c.is_defining or not self._is_constant(test, scope):
            return MISSING
        names: dict[str, Any] = {}
        for part in ast.walk(test):
            if isinstance(part, ast.Name):
                value = self.c.value_of(part.id, scope)
                if value is MISSING:
                    self.e.unknown(part.id, part)
                    return False
                names[part.id] = value
        code = compile(ast.Expression(test), self.c.text.filename, "eval")
        try:
            return bool(eval(code, {"__builtins__": {}}, names))
        except Exception as error:
            self.c.mistake(f"this condition cannot be decided: {error}", test)
            return False

    # ------------------------------------------------------------ scopes

    def _with(self, node: ast.With, scope: Scope) -> None:
        added = 0
        for item in node.items:
            tag = item.context_expr
            named = isinstance(tag, ast.Call) and isinstance(tag.func, (ast.Name, ast.Attribute))
            name = (tag.func.id if isinstance(tag.func, ast.Name) else tag.func.attr) if named else ""  # type: ignore[attr-defined]
            if name != "scope" or item.optional_vars is not None or not tag.args:  # type: ignore[attr-defined]
                hint = "what is repeated is a loop over rows, `for row in t`, or a vector, `normal(0, 1, size=n)`"
                self.c.mistake('`with` in a model is `with scope("name", block):`', tag, hint)
                return
            assert isinstance(tag, ast.Call)
            block = self.e.calls.tag(tag.args[1], scope) if len(tag.args) > 1 else word("0")
            self.tags.append((self.e.calls.tag(tag.args[0], scope), block))
            added += 1
        for statement in node.body:
            self.statement(statement, scope)
        del self.tags[len(self.tags) - added :]

    # ------------------------------------------------------------ loops

    def _for(self, node: ast.For, scope: Scope) -> None:
        head = self.loops.head(node, scope)
        if node.orelse:
            self.c.mistake("`else` of a loop is not part of the model language", node.orelse[0])
        if head is None:
            return
        variable, source, inner = head
        kept, self.c.program = self.c.program, []
        functions_before = len(self.c.procedures)
        for statement in node.body:
            self._in_loop(statement, inner)
        body, self.c.program = self.c.program, kept
        # Functions from outside are assumed before the loop that calls them.
        if len(self.c.procedures) > functions_before:
            outer = [part for part in body if part.content[0].content == "assume"]  # type: ignore[union-attr]
            self.c.program.extend(outer)
            body = [part for part in body if part not in outer]
        if body:
            self.emit(directive("for", variable, word("in"), source, *body, span=self.c.span(node)))

    def _in_loop(self, node: ast.stmt, scope: Scope) -> None:
        if is_text(node) or isinstance(node, ast.Pass) or refuse(self.c, node):
            return
        if isinstance(node, ast.For):
            self._for(node, scope)
        elif isinstance(node, ast.Expr):
            self._expression(node, scope)
        elif isinstance(node, ast.If):
            self._if_in_loop(node, scope)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            self._let(node, scope)
        elif isinstance(node, ast.With):
            self._with(node, scope)
        elif isinstance(node, ast.AugAssign):
            self.c.mistake("values do not change in a model", node, "sum([... for row in t]), or fold(f, start, xs)")
        elif isinstance(node, ast.FunctionDef):
            self.c.mistake("a function is bound outside the loop", node, "with what it needs of the row as arguments")
        else:
            self.c.mistake(f"`{type(node).__name__.lower()}` is not part of a loop of a model", node)

    def _let(self, node: ast.stmt, scope: Scope) -> None:
        """A name of the round."""
        pair = assigned(self.c, node)
        if pair is None:
            return
        target, value = pair
        if isinstance(target, ast.Name):
            self._name_of_round(target, self._tagged(self.e(value, scope)), value, scope)
            return
        names = [part for part in target.elts if isinstance(part, ast.Name)]
        if (
            len(names) == len(target.elts)
            and isinstance(value, (ast.Tuple, ast.List))
            and len(value.elts) == len(names)
        ):
            made = [self._tagged(self.e(part, scope)) for part in value.elts]
            for name, part, expression in zip(names, made, value.elts):
                self._name_of_round(name, part, expression, scope)
        else:
            self.c.mistake("names of a round are bound one by one", target)

    def _name_of_round(self, target: ast.Name, made: Node, value: ast.expr, scope: Scope) -> None:
        if "let" in directives():
            text = self.c.fresh(target.id)
            known = Word(text, is_data=self._is_of_rows(value, scope))
            if self.c.bind(scope, target.id, known, target):
                self.emit(directive("let", word(text, self.c.span(target)), made, span=self.c.span(target)))
        elif self.c.bind(scope, target.id, Cell(made), target):
            # Without `let`, the expression stands wherever the name does: right if it draws nothing.
            if self._draws(value, scope):
                self.c.mistake(
                    "a choice in a loop has no name of its own", value, "make it a memoised function of the index"
                )

    def _draws(self, value: ast.expr, scope: Scope) -> bool:
        for part in ast.walk(value):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and scope.find(part.func.id) is None:
                entry = procedures().get(part.func.id)
                if entry is not None and entry.is_distribution:
                    return True
        return False

    def _if_in_loop(self, node: ast.If, scope: Scope) -> None:
        known = self._decided(node.test, scope)
        if known is not MISSING:
            for statement in node.body if known else node.orelse:
                self._in_loop(statement, scope)
            return
        pair = self._same_name(node)
        if pair is not None:
            name, value, otherwise = pair
            parts = (self.e(node.test, scope), self.e(value, scope), self.e(otherwise, scope))
            made = call("if", *parts, span=self.c.span(node.test))
            self._name_of_round(name, made, ast.IfExp(node.test, value, otherwise), scope)
            return
        if self._is_constant(node.test, scope):
            for statement in (*node.body, *node.orelse):
                self._in_loop(statement, scope)
            return
        self._effects(node, scope)

    def _effects(self, node: ast.If, scope: Scope) -> None:
        """A branch of more than one name: what it does, without branches."""
        each = self._in_loop if scope.in_loop else self.statement
        try:
            found = flatten(node, lambda made: self._directive(made, scope), lambda test: self._is_of_rows(test, scope))
        except Unclear as why:
            self.c.mistake(why.reason, why.node, *why.hints)
            return
        for bound in found.names.values():
            each(bound, scope)
        for made in (*found.observed, *found.weights):
            each(ast.copy_location(ast.Expr(made), made), scope)
        for condition, made in found.one_sided:
            self._observe_where(condition, made, scope)
        for name in found.fleeting:
            scope.names.pop(name, None)

    def _is_of_rows(self, test: ast.expr, scope: Scope) -> bool:
        """Whether a value hangs on the row, inputs and what is outside alone: nothing of it is random."""
        return all(self._is_fixed(part.id, scope) for part in ast.walk(test) if isinstance(part, ast.Name))

    def _is_fixed(self, name: str, scope: Scope) -> bool:
        binding = scope.find(name)
        if binding is not None:
            return isinstance(binding, (Row, Cell, Input)) or isinstance(binding, Word) and binding.is_data
        value = self.c.outside.find(name)
        known = outside.known_function(value) if value is not MISSING else name
        if known is None:
            # What a function of the user's draws is not looked for.
            return not outside.is_function(value)
        entry = procedures().get(known)
        if entry is not None:
            return entry.group == "Deterministic procedures"
        return known.startswith("@") or known == "inf" or known in special_forms()

    def _observe_where(self, condition: ast.expr, node: ast.Call, scope: Scope) -> None:
        """An observation where a condition holds. Where that is random, as a weight."""
        if self._is_of_rows(condition, scope):
            self._observe(node, scope, condition)
            return
        law, value = self.e(node.args[0], scope), self.e(node.args[1], scope)
        parts = law.content
        head = parts[0].content if isinstance(parts, list) and parts else None
        entry = procedures().get(head) if isinstance(head, str) else None
        if entry is None or not entry.is_distribution:
            self.c.mistake(
                "what is observed in one branch alone is the call of a distribution",
                node.args[0],
                "observe(normal(...), value), or observe on both sides: observe(a if c else b, value)",
            )
            return
        assert isinstance(parts, list)
        weight = call("log_density", parts[0], value, *parts[1:], span=law.span)
        made = call("if", self.e(condition, scope), weight, word("0"), span=self.c.span(node))
        self.emit(directive("factor", made, span=self.c.span(node), label=self._label(node, scope)))


__all__ = ["Statements", "items"]
