"""Calls: of the language's procedures, of functions of the model, of functions from outside."""

from __future__ import annotations

import ast
import types
from typing import TYPE_CHECKING, Any

from . import _outside as outside
from ._by_rows import each_row
from ._compile import Compiler
from ._derived import DERIVED, derived
from ._errors import ModelSyntaxError
from ._formulas import FORMULAS, formula
from ._kinds import ARRAY, ELEMENTWISE, MATRIX, VECTOR, kind_of, length_of, vectors_of
from ._outside import MISSING, REFUSED_BUILTINS, Outside
from ._registry import DIRECTIVES, Entry, closest, procedures, special_forms
from ._scope import Procedure, Scope, Word
from ._source import definition
from ._syntax import Node, call, directive, items, number, string, word

if TYPE_CHECKING:
    from ._expressions import Expressions

#: Methods of arrays that are procedures here.
_METHODS = {"sum": "sum", "mean": "mean", "prod": "prod", "dot": "dot", "max": "max", "min": "min"}
_METHODS |= {name: f"@{name}" for name in ("var", "std", "argmax", "argmin")}


class Calls:
    def __init__(self, compiler: Compiler, expressions: "Expressions") -> None:
        self.c = compiler
        self.e = expressions

    def __call__(self, node: ast.Call, scope: Scope) -> Node:
        function = node.func
        if isinstance(function, ast.Name):
            binding = scope.find(function.id)
            if isinstance(binding, Procedure):
                return self._own(binding, node, scope)
            if binding is None:
                return self._outer(function.id, self.c.outside.find(function.id), node, scope)
        elif isinstance(function, ast.Attribute):
            value = self.e.member(function, scope)
            if value is not MISSING:
                return self._outer(function.attr, value, node, scope)
            method = self._method(function, node, scope)
            if method is not None:
                return method
        return self._plain(self.e(function, scope), node, scope)

    def _plain(self, head: Node, node: ast.Call, scope: Scope) -> Node:
        if node.keywords:
            self.c.mistake("arguments of this call have no names", node.keywords[0].value, "give them in their order")
        return items([head, *(self.e(part, scope) for part in node.args)], self.c.span(node))

    # ------------------------------------------------------------ names from outside

    def _outer(self, name: str, value: Any, node: ast.Call, scope: Scope) -> Node:
        known = outside.known_function(value) if value is not MISSING else None
        if known is not None:
            return self.language(known, node, scope)
        if value is MISSING:
            if outside.is_language(name):
                return self.language(name, node, scope)
            if self.c.is_defining and not _own_word(name):
                # It may come to be before the model is called.
                for part in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    self.e(part, scope)
                return word(name, self.c.span(node.func))
            return self.e.unknown(name, node.func)
        if outside.draws_outside(value):
            near = name if name in procedures() else "normal"
            return self.c.mistake("this draws outside the model", node, f"use {near}(...) of the language")
        if outside.is_function(value):
            found = self.outside_procedure(name, value, node.func)
            if isinstance(found, Procedure):
                return self._own(found, node, scope)
            return self._plain(word(found.text, self.c.span(node.func)), node, scope)
        if name in REFUSED_BUILTINS and getattr(value, "__module__", "") == "builtins":
            return self.c.mistake(f"`{name}` is not part of the model language", node, REFUSED_BUILTINS[name])
        if outside.is_language(name):
            return self.c.mistake(
                f"`{name}` is {outside.type_name(value)} {value!r:.40} outside the model, which hides the language's `{name}`",
                node.func,
                "give it another name",
            )
        return self.c.mistake(
            f"`{name}` is a {outside.type_name(value)}, which a model cannot call",
            node.func,
            *_own_word(name),
            "compute it before the model is called, or write it as a function",
        )

    def outside_function(self, name: str, value: Any, node: ast.AST) -> Node:
        found = self.outside_procedure(name, value, node)
        return word(found.text, self.c.span(node))

    def outside_procedure(self, name: str, value: types.FunctionType, node: ast.AST) -> Procedure | Word:
        """The procedure that a function of the user's becomes, assumed before its first use."""
        known = self.c.procedures.get(id(value))
        if known is not None:
            return known[1]
        try:
            found = definition(value)
        except ModelSyntaxError as error:
            self.c.mistake(str(error).split("\n")[0], node)
            return Word(name)
        text = self.c.own(value.__name__ if value.__name__.isidentifier() else name)
        procedure = Procedure(text, [], {})
        self.c.procedures[id(value)] = (value, procedure)
        kept = self.c.text, self.c.outside
        self.c.text, self.c.outside = found.text, Outside(value)
        try:
            made = self.function(found.node, Scope("model"), procedure)
            self.c.program.append(directive("assume", word(text), made, span=self.c.span(found.node)))
        finally:
            self.c.text, self.c.outside = kept
        return procedure

    # ------------------------------------------------------------ functions

    def function(self, node: ast.FunctionDef | ast.Lambda, scope: Scope, into: Procedure | None = None) -> Node:
        """A function as a lambda; ``into`` learns its arguments before the body is looked at."""
        from ._bodies import Bodies

        inner = scope.inner("function")
        parameters = self.parameters(node.args, inner, node)
        if into is not None:
            into.parameters = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
            into.defaults = self._defaults(node.args, scope)
        if isinstance(node, ast.Lambda):
            body = self.e(node.body, inner)
        else:
            body = Bodies(self.c, self.e).whole(node, inner)
        return call("lambda", items(parameters), body, span=self.c.span(node))

    def parameters(self, arguments: ast.arguments, scope: Scope, node: ast.AST) -> list[Node]:
        for unusual in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs):
            if unusual is not None:
                self.c.mistake("`*` in the arguments is not part of the model language", unusual, "name every argument")
        names = []
        for argument in [*arguments.posonlyargs, *arguments.args]:
            text = self.c.local(argument.arg)
            scope.names[argument.arg] = Word(text)
            names.append(word(text, self.c.span(argument)))
        return names

    def _defaults(self, arguments: ast.arguments, scope: Scope) -> dict[str, Node]:
        every = [*arguments.posonlyargs, *arguments.args]
        defaults = {}
        for argument, value in zip(every[len(every) - len(arguments.defaults) :], arguments.defaults):
            if not isinstance(value, (ast.Constant, ast.UnaryOp)):
                self.c.mistake("a default in a model is a constant", value)
                continue
            defaults[argument.arg] = self.e(value, scope)
        return defaults

    def _own(self, procedure: Procedure, node: ast.Call, scope: Scope) -> Node:
        """A call of a function whose arguments have names and defaults."""
        given: dict[str, Node] = {}
        for i, part in enumerate(node.args):
            made = self.e(part, scope)
            if i >= len(procedure.parameters):
                takes = f"it takes {', '.join(procedure.parameters) or 'none'}"
                return self.c.mistake(f"`{procedure.text}` has too many arguments here", part, takes)
            given[procedure.parameters[i]] = made
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in procedure.parameters or keyword.arg in given:
                takes = f"it takes {', '.join(procedure.parameters) or 'none'}"
                shown = keyword.arg or "**"
                return self.c.mistake(f"`{procedure.text}` has no free argument `{shown}`", keyword.value, takes)
            given[keyword.arg] = self.e(keyword.value, scope)
        arguments = []
        for name in procedure.parameters:
            if name in given:
                arguments.append(given[name])
            elif name in procedure.defaults:
                arguments.append(procedure.defaults[name])
            else:
                return self.c.mistake(f"`{procedure.text}` is called without its argument `{name}`", node)
        return items([word(procedure.text, self.c.span(node.func)), *arguments], self.c.span(node))

    def _method(self, function: ast.Attribute, node: ast.Call, scope: Scope) -> Node | None:
        """A method of an array or a list."""
        span = self.c.span(node)
        if self.e.row_of(function.value, scope) or self.e.table_of(function.value, scope):
            return self.c.mistake(f"`.{function.attr}()` of a table is not part of the model language", node)
        if function.attr in _METHODS and not node.keywords:
            parts = [self.e(part, scope) for part in (function.value, *node.args)]
            if _METHODS[function.attr] in FORMULAS and len(parts) == 1:
                return formula(_METHODS[function.attr], parts[0], span)
            return call(_METHODS[function.attr], *parts, span=span)
        if function.attr in ("append", "extend", "insert", "pop", "remove", "update", "sort", "reverse"):
            hint = "write a new list: [*] is append(xs, [x]), or a comprehension"
            return self.c.mistake("values do not change in a model", node, hint.replace("[*] is ", ""))
        if self.c.is_defining and self.e._is_outer(function.value, scope):
            return word("0")
        return self.c.mistake(f"`.{function.attr}()` is not part of the model language", node, *_own_word(function.attr))

    # ------------------------------------------------------------ the language

    def language(self, name: str, node: ast.Call, scope: Scope) -> Node:
        span = self.c.span(node)
        if name in DIRECTIVES:
            return self.c.mistake(
                f"`{name}` is no value: it stands on a line of its own, at the top level of the model", node
            )
        if name in ELEMENTWISE and len(node.args) == 1 and kind_of(self.e, node.args[0], scope) in (VECTOR, ARRAY):

            def one(parts: list[Node]) -> Node:
                return formula(name, parts[0], span) if name in FORMULAS else call(name, parts[0])

            return self.e.each_entry(one, [(node.args[0], True)], node, scope)
        if name in ELEMENTWISE and len(node.args) == 1 and kind_of(self.e, node.args[0], scope) == MATRIX:
            rows = each_row(self.e, node, scope)
            if rows is None:
                hint = "bind what draws to a name first, or go through the rows: [f(row) for row in ...]"
                return self.c.mistake("this function of a matrix is not part of the model language", node, hint)
            return rows
        if name == "biplex" and len(node.args) == 3 and not node.keywords and kind_of(self.e, node, scope) == VECTOR:
            sides = [(part, kind_of(self.e, part, scope) is not None) for part in node.args]
            return self.e.each_entry(lambda parts: call(name, *parts, span=span), sides, node, scope)
        if name in FORMULAS:
            if len(node.args) != 1 or node.keywords:
                return self.c.mistake(f"{name.lstrip('@')} takes one number", node)
            return formula(name, self.e(node.args[0], scope), span)
        if name == "dot" and len(node.args) == 2:
            kinds = [kind_of(self.e, part, scope) for part in node.args]
            return call(self.e.product(*kinds), *(self.e(part, scope) for part in node.args), span=span)
        special = getattr(self, "_" + name.lstrip("@"), None) if name in _SPECIAL else None
        if special is not None:
            made: Node = special(node, scope)
            return made
        if name in special_forms() and name not in procedures():
            parts = [self._form_part(part, scope) for part in node.args]
            return call(name, *parts, span=span)
        if name in DERIVED:
            law = derived(self, name, node, scope)
            if law is not None:
                return law
        known = procedures()[name]
        size = next((k for k in node.keywords if k.arg == "size"), None)
        if size is not None and known.is_distribution:
            return self._sized(known, name, node, size.value, scope)
        if vectors_of(self.e, name, node, scope):
            return self._of_vectors(known, name, node, scope)
        return call(known.name if name == known.name else name, *self._arguments(known, node, scope), span=span)

    def _form_part(self, part: ast.expr, scope: Scope) -> Node:
        """In a special form, a table is its name and a text that names something is quoted."""
        use = self.e.table_of(part, scope)
        if use is not None:
            return word(use.name, self.c.span(part))
        return self.e(part, scope)

    def _arguments(self, entry: Entry, node: ast.Call, scope: Scope) -> list[Node]:
        arguments = [self.e(part, scope) for part in node.args]
        named = [keyword for keyword in node.keywords if not (keyword.arg == "size" and entry.is_distribution)]
        if not named:
            return arguments
        if entry.parameters is None:
            self.c.mistake(f"the arguments of {entry.name} have no names", named[0].value, entry.shape)
            return arguments
        places: dict[int, Node] = dict(enumerate(arguments))
        for keyword in named:
            takes = ", ".join(entry.parameters)
            if keyword.arg is not None and keyword.arg.rstrip("_") in entry.parameters:
                keyword.arg = keyword.arg.rstrip("_")  # `lambda_`: Python has that word for itself
            if keyword.arg is None or keyword.arg not in entry.parameters:
                shown = keyword.arg or "**"
                hint = f"{entry.name}({takes}): {entry.summary}"
                self.c.mistake(f"{entry.name} has no argument `{shown}`; it takes {takes}", keyword, hint)
                continue
            place = entry.parameters.index(keyword.arg)
            if place in places:
                self.c.mistake(f"{entry.name} is given `{keyword.arg}` twice", keyword)
            places[place] = self.e(keyword.value, scope)
        for place in range(max(places, default=-1) + 1):
            if place not in places:
                self.c.mistake(f"{entry.name} is called without `{entry.parameters[place]}`", node)
                places[place] = word("0")
        return [places[place] for place in sorted(places)]

    def _sized(self, entry: Entry, name: str, node: ast.Call, size: ast.expr, scope: Scope) -> Node:
        """Several draws at once: one vector if they are normal."""
        span = self.c.span(node)
        arguments = self._arguments(entry, node, scope)
        sizes = list(size.elts) if isinstance(size, ast.Tuple) else [size]
        lengths = [self.e(part, scope) for part in sizes]
        inner, last = lengths[:-1], lengths[-1]
        if entry.name == "normal" and len(arguments) == 2:
            filled = [call("fill", last, argument, span=span) for argument in arguments]
            made = call("multivariate_diag_normal", *filled, span=span)
        else:
            one = call(name, *arguments, span=span)
            made = self._repeated(one, last, node)
            if not entry.is_plural:
                made = call("to_vector", made, span=span)
        for i, length in enumerate(reversed(inner)):
            made = self._repeated(made, length, node)
            if i == 0 and not entry.is_plural:
                made = call("matrix", made, span=span)
        return made

    def _of_vectors(self, entry: Entry, name: str, node: ast.Call, scope: Scope) -> Node:
        """A law with vectors for arguments: a draw for each entry; one vector if they are normal."""
        span = self.c.span(node)
        if entry.name != "normal":
            names = list(entry.parameters or ())
            parts = list(node.args) + [k.value for k in sorted(node.keywords, key=lambda k: names.index(k.arg or ""))]
            sides = [(part, kind_of(self.e, part, scope) in (VECTOR, ARRAY)) for part in parts]
            return self.e.each_entry(lambda made: call(name, *made, span=span), sides, node, scope)
        length = length_of(self.e, node, scope)
        if length is None:
            hint = "normal(mu, sd, size=n), where n is known"
            return self.c.mistake("how many draws these are is not known when the model is called", node, hint)
        places = {keyword.arg: keyword.value for keyword in node.keywords}
        exprs = [*node.args, *(places[name] for name in (entry.parameters or ())[len(node.args) :] if name in places)]
        arguments = []
        for part, made in zip(exprs, self._arguments(entry, node, scope)):
            kind = kind_of(self.e, part, scope)
            if kind == VECTOR:
                arguments.append(made)
            else:
                arguments.append(call("to_vector", made) if kind == ARRAY else call("fill", length, made))
        return call("multivariate_diag_normal", *arguments, span=span)

    def _repeated(self, one: Node, length: Node, node: ast.AST) -> Node:
        each = call("lambda", items([word("_")]), one, span=self.c.span(node))
        return call("mapv", each, call("range", word("0"), length), span=self.c.span(node))

    # ------------------------------------------------------------ names with a form of their own

    def _mem(self, node: ast.Call, scope: Scope) -> Node:
        if len(node.args) != 1 or node.keywords:
            return self.c.mistake("mem takes one function: mem(lambda i: ...)", node)
        return call("mem", self.e(node.args[0], scope), span=self.c.span(node))

    def _scope(self, node: ast.Call, scope: Scope) -> Node:
        return self.c.mistake("scope stands in a `with`", node, 'with scope("w", block): x = normal(0, 1)')

    def _scope_include(self, node: ast.Call, scope: Scope) -> Node:
        if len(node.args) != 3:
            return self.c.mistake("scope_include takes a scope, a block and a value", node)
        tag, block, value = node.args
        return call(
            "scope_include", self.tag(tag, scope), self.tag(block, scope), self.e(value, scope), span=self.c.span(node)
        )

    def tag(self, node: ast.expr, scope: Scope) -> Node:
        """The name of a scope or a block."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            return word(f"'{node.value}", self.c.span(node))
        return self.e(node, scope)

    def _size(self, node: ast.Call, scope: Scope) -> Node:
        """`len`: of a table, its rows."""
        if len(node.args) == 1 and not node.keywords:
            part = node.args[0]
            use = self.e.table_of(part, scope)
            if use is not None:
                return self.rows(use.name, use.sources[0][1], node)
            if isinstance(part, ast.Name):
                value = self.c.value_of(part.id, scope)
                if isinstance(value, (list, tuple)) or hasattr(value, "shape"):
                    # A length from outside is a constant.
                    self.c.lengths.add(part.id)
                    return number(len(value), self.c.span(node))
        return call("size", *(self.e(part, scope) for part in node.args), span=self.c.span(node))

    def rows(self, table: str, value: Any, node: ast.AST) -> Node:
        if "rows" in special_forms():
            return call("rows", word(table), span=self.c.span(node))
        from ._data import row_count

        return number(row_count(value), self.c.span(node))

    def _range(self, node: ast.Call, scope: Scope) -> Node:
        parts = [self.e(part, scope) for part in node.args]
        if len(parts) == 3:
            return call("arange", *parts, span=self.c.span(node))
        return call("range", *([word("0")] if len(parts) == 1 else []), *parts, span=self.c.span(node))

    def _vector(self, node: ast.Call, scope: Scope) -> Node:
        """`np.array([...])`, or the language's `vector(a, b)`."""
        if len(node.args) == 1 and isinstance(node.args[0], (ast.List, ast.Tuple)):
            elements = node.args[0].elts
            if elements and all(isinstance(part, (ast.List, ast.Tuple)) for part in elements):
                return call("matrix", self.e(node.args[0], scope), span=self.c.span(node))
            return call("vector", *(self.e(part, scope) for part in elements), span=self.c.span(node))
        head = "to_vector" if len(node.args) == 1 else "vector"
        return call(head, *(self.e(part, scope) for part in node.args), span=self.c.span(node))

    def _real(self, node: ast.Call, scope: Scope) -> Node:
        if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            try:
                return number(float(node.args[0].value), self.c.span(node))
            except ValueError:
                return self.c.mistake("this is no number", node)
        return call("real", *(self.e(part, scope) for part in node.args), span=self.c.span(node))

    def _table_form(self, name: str, node: ast.Call, scope: Scope) -> Node:
        parts: list[Node] = []
        for i, part in enumerate(node.args):
            if i == 1 and isinstance(part, ast.Constant) and isinstance(part.value, str):
                text = part.value
                parts.append(word(text) if text.isidentifier() else string(text))
            else:
                parts.append(self._form_part(part, scope))
        return call(name, *parts, span=self.c.span(node))

    def _column(self, node: ast.Call, scope: Scope) -> Node:
        return self._table_form("column", node, scope)

    def _cell(self, node: ast.Call, scope: Scope) -> Node:
        return self._table_form("cell", node, scope)

    def _levels(self, node: ast.Call, scope: Scope) -> Node:
        return self._table_form("levels", node, scope)


_SPECIAL = {"mem", "scope", "scope_include", "size", "@range", "range", "@vector", "real", "column", "cell", "levels"}


def _own_word(name: str) -> list[str]:
    """A hint for the words of other systems, `pm.Normal("mu", 0, 1)`."""
    if name in procedures():
        return [f"write {name}(...)"]
    if name == "cumsum":
        return ["random_walk(n, sd), or [sum(xs[: i + 1]) for i in range(n)]"]
    meant = closest(name) if name[:1].isupper() else None
    return [f"the language's own is {meant}(...), without a name in quotes"] if meant in procedures() else []
