"""Bodies of functions: statements to one expression. Every way through the body returns."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ._kinds import kind_of, length_of
from ._compile import Compiler
from ._scope import Procedure, Scope, Word
from ._syntax import Node, call, items, word

if TYPE_CHECKING:
    from ._expressions import Expressions

RECURSION = "use recursion, a comprehension or fold(f, start, xs)"

#: Statements that have no meaning in a model: what they are called, and what to write.
REFUSED_STATEMENTS: dict[type, tuple[str, str]] = {
    ast.While: ("`while`", RECURSION),
    ast.AsyncFor: ("`async`", "compute it before the model is called"),
    ast.AsyncWith: ("`async`", "compute it before the model is called"),
    ast.AsyncFunctionDef: ("`async`", "compute it before the model is called"),
    ast.Try: ("`try`", "values that a law cannot take are rejected anyway"),
    ast.ClassDef: ("`class`", "use functions, lists and dict(...)"),
    ast.Import: ("`import`", "import it outside the model"),
    ast.ImportFrom: ("`import`", "import it outside the model"),
    ast.Global: ("`global`", "values do not change in a model"),
    ast.Nonlocal: ("`nonlocal`", "values do not change in a model"),
    ast.Delete: ("`del`", "values do not change in a model"),
    ast.Match: ("`match`", "write `if` and `elif`"),
    ast.Raise: ("`raise`", "observe(flip(1 if fine else 0), True) conditions"),
    ast.Break: ("`break`", RECURSION),
    ast.Continue: ("`continue`", RECURSION),
}


def refuse(compiler: Compiler, statement: ast.stmt) -> bool:
    """Notes a statement that is not part of the language at all."""
    if isinstance(statement, ast.Assert):
        compiler.mistake(
            "`assert` is not part of the model language",
            statement,
            "observe(flip(1 if a < b else 0), True) conditions",
        )
        return True
    refused = REFUSED_STATEMENTS.get(type(statement))
    if refused is None:
        return False
    marked: ast.AST = statement
    if isinstance(statement, ast.While):
        # The first line says it; the body is not to blame.
        marked = _head(statement, statement.test)
    compiler.mistake(f"{refused[0]} is not part of the model language", marked, refused[1])
    return True


def _head(statement: ast.stmt, last: ast.expr) -> ast.AST:
    """A statement up to the colon of its first line."""
    head = ast.Pass()
    head.lineno, head.col_offset = statement.lineno, statement.col_offset
    head.end_lineno, head.end_col_offset = last.end_lineno, (last.end_col_offset or 0) + 1
    return head


def is_text(statement: ast.stmt) -> bool:
    """A docstring."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, (str, type(...)))


class Bodies:
    def __init__(self, compiler: Compiler, expressions: "Expressions") -> None:
        self.c = compiler
        self.e = expressions

    def whole(self, node: ast.FunctionDef, scope: Scope) -> Node:
        return self._rest(list(node.body), scope, node)

    def _rest(self, body: list[ast.stmt], scope: Scope, function: ast.AST) -> Node:
        if not body:
            return self.c.mistake(
                "not every way through this function returns a value", function, "end it with `return`"
            )
        statement, rest = body[0], body[1:]
        if is_text(statement) or isinstance(statement, ast.Pass):
            return self._rest(rest, scope, function)
        if refuse(self.c, statement):
            return self._rest(rest, scope, function) if rest else word("0")
        if isinstance(statement, ast.Return):
            if statement.value is None:
                return self.c.mistake("a function of a model returns a value", statement)
            return self.e(statement.value, scope)
        if isinstance(statement, ast.If):
            return self._if(statement, rest, scope, function)
        if isinstance(statement, ast.FunctionDef):
            return self._function(statement, rest, scope, function)
        if isinstance(statement, ast.For):
            self.c.mistake(
                "`for` in a function is not part of the model language", _head(statement, statement.iter), RECURSION
            )
            return self._rest(rest, scope, function) if rest else word("0")
        bindings = self._bindings(statement, scope)
        if bindings is None:
            return self._rest(rest, scope, function) if rest else word("0")
        return self._let(bindings, self._rest(rest, scope, function), statement)

    def _let(self, bindings: list[Node], rest: Node, statement: ast.AST) -> Node:
        """Names one after the other are one `let`: each sees those before it."""
        content = rest.content
        if (
            isinstance(content, list)
            and content
            and content[0].content == "let"
            and isinstance(content[1].content, list)
        ):
            return call("let", items([*bindings, *content[1].content]), *content[2:], span=rest.span)
        return call("let", items(bindings), rest, span=rest.span)

    # ------------------------------------------------------------ names

    def _bindings(self, statement: ast.stmt, scope: Scope) -> list[Node] | None:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            changed = ast.copy_location(
                ast.BinOp(
                    ast.copy_location(ast.Name(statement.target.id, ast.Load()), statement.target),
                    statement.op,
                    statement.value,
                ),
                statement,
            )
            made = self.e(changed, scope)
            text = self.c.local(statement.target.id)
            scope.names[statement.target.id] = Word(text)
            return [items([word(text), made])]
        pair = assigned(self.c, statement)
        if pair is None:
            if isinstance(statement, ast.Expr):
                self._lone(statement, scope)
            elif not isinstance(statement, ast.AnnAssign):
                self.c.mistake(f"`{type(statement).__name__}` is not part of a function of a model", statement)
            return None
        target, value = pair
        if isinstance(target, ast.Name):
            made, kind = self.e(value, scope), kind_of(self.e, value, scope)
            length = length_of(self.e, value, scope) if kind is not None else None
            return [items([word(self._bind(scope, target, Word("", kind, length))), made])]
        return self._unpacked(target, value, scope)

    def _bind(self, scope: Scope, target: ast.Name, known: Word | None = None) -> str:
        text = self.c.local(target.id)
        known = known or Word("")
        self.c.bind(scope, target.id, Word(text, known.kind, known.length), target)
        return text

    def _unpacked(self, target: ast.Tuple | ast.List, value: ast.expr, scope: Scope) -> list[Node]:
        names = [part for part in target.elts if isinstance(part, ast.Name)]
        if len(names) != len(target.elts):
            self.c.mistake("names are bound one level deep", target)
            return []
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(names):
            made = [self.e(part, scope) for part in value.elts]
            return [items([word(self._bind(scope, name)), node]) for name, node in zip(names, made)]
        whole = self.e(value, scope)
        hidden = word(self.c.hidden_name("tuple"))
        bindings = [items([hidden, whole])]
        for i, name in enumerate(names):
            bindings.append(items([word(self._bind(scope, name)), call("lookup", hidden, word(str(i)))]))
        return bindings

    def _lone(self, statement: ast.Expr, scope: Scope) -> None:
        value = statement.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and scope.find(value.func.id) is None:
            if value.func.id in ("observe", "predict", "force", "infer", "factor"):
                self.c.mistake(f"`{value.func.id}` stands at the top level of the model, not in a function", statement)
                return
        if isinstance(value, ast.Call):
            before = len(self.c.mistakes)
            self.e(value, scope)
            if len(self.c.mistakes) > before:
                return
        self.c.mistake("this value is not used", statement, "return it, or bind it to a name")

    # ------------------------------------------------------------ functions and branches

    def _function(self, statement: ast.FunctionDef, rest: list[ast.stmt], scope: Scope, function: ast.AST) -> Node:
        text = self.c.local(statement.name)
        procedure = Procedure(text, [], {})
        self.c.bind(scope, statement.name, procedure, statement)
        made = decorated(self.c, self.e, statement, scope, procedure)
        after = self._rest(rest, scope, function)
        return call("letrec", items([items([word(text), made])]), after, span=after.span)

    def _if(self, statement: ast.If, rest: list[ast.stmt], scope: Scope, function: ast.AST) -> Node:
        test = self.e(statement.test, scope)
        same = self._same_name(statement)
        if same is not None and rest:
            values = [self.e(part, scope) for part in same[1:]]
            name = same[0]
            chosen = call("if", test, *values, span=self.c.span(statement))
            bindings = [items([word(self._bind(scope, name)), chosen])]
            return self._let(bindings, self._rest(rest, scope, function), statement)
        then = self._branch(statement.body, rest, scope, function)
        other = self._branch(statement.orelse, rest, scope, function)
        return call("if", test, then, other, span=self.c.span(statement))

    def _branch(self, body: list[ast.stmt], rest: list[ast.stmt], scope: Scope, function: ast.AST) -> Node:
        inner = Scope("function", scope, {})
        return self._rest(body if _returns(body) else [*body, *rest], inner, function)

    def _same_name(self, statement: ast.If) -> tuple[ast.Name, ast.expr, ast.expr] | None:
        """Both branches only bind the same one name."""
        if len(statement.body) != 1 or len(statement.orelse) != 1:
            return None
        found = []
        for part in (statement.body[0], statement.orelse[0]):
            if not isinstance(part, ast.Assign) or len(part.targets) != 1 or not isinstance(part.targets[0], ast.Name):
                return None
            found.append((part.targets[0], part.value))
        if found[0][0].id != found[1][0].id:
            return None
        return found[0][0], found[0][1], found[1][1]


def _returns(body: list[ast.stmt]) -> bool:
    """Whether every way through some statements returns."""
    for statement in body:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, ast.If) and _returns(statement.body) and _returns(statement.orelse):
            return True
    return False


def assigned(compiler: Compiler, statement: ast.stmt) -> tuple[ast.Name | ast.Tuple | ast.List, ast.expr] | None:
    """Target and value of a plain assignment; notes what is none."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return (statement.target, statement.value) if statement.value is not None else None
    if not isinstance(statement, ast.Assign):
        return None
    if len(statement.targets) != 1:
        compiler.mistake("`a = b = x` is not part of the model language", statement, "bind each name on its own line")
        return None
    target = statement.targets[0]
    if isinstance(target, (ast.Name, ast.Tuple, ast.List)):
        return target, statement.value
    compiler.mistake("values do not change in a model", target, "bind a new name: xs = [... for ...]")
    return None


def decorated(
    compiler: Compiler, expressions: "Expressions", statement: ast.FunctionDef, scope: Scope, procedure: Procedure
) -> Node:
    """A function with or without `@mem`, which may name a scope."""
    tag: Node | None = None
    memoised = False
    for decorator in statement.decorator_list:
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        is_mem = (
            isinstance(name, ast.Name) and name.id == "mem" or isinstance(name, ast.Attribute) and name.attr == "mem"
        )
        if not is_mem:
            compiler.mistake("functions of a model have no decorator but `@mem`", decorator)
            continue
        memoised = True
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                if keyword.arg == "scope":
                    tag = expressions.calls.tag(keyword.value, scope)
                else:
                    compiler.mistake("`@mem` takes `scope=` only", keyword.value)
    made = expressions.calls.function(statement, scope, procedure)
    if tag is not None and isinstance(made.content, list):
        parameters = made.content[1].content
        assert isinstance(parameters, list)
        block = parameters[0] if len(parameters) == 1 else call("array", *parameters) if parameters else word("0")
        made = Node([*made.content[:2], call("scope_include", tag, block, made.content[2])], made.span)
    return call("mem", made, span=made.span) if memoised else made
