"""A function's syntax to a program: what all parts of the compiler share, and the order of the work.

A model is compiled twice. When it is defined, nothing is known about its inputs: this finds what is not
part of the language. When it is called, names from outside get their values; the same code then
decides what is a table, a number or a procedure. All mistakes are collected before any is raised.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass, field
from typing import Any

from . import _outside as outside
from ._errors import Mistake, raise_mistakes
from ._outside import MISSING, Outside
from ._registry import reserved
from ._scope import Binding, Input, Procedure, Row, Scope, TableUse, Word
from ._source import Definition, Span, Text, definition
from ._syntax import Node, Written, call, directive, number, quoted, string, word, write

#: Larger arrays are tables.
LARGEST_VALUE = 10_000


@dataclass
class Compiled:
    """A program, and everything that it takes from outside."""

    name: str
    written: Written
    tables: dict[str, TableUse]
    params: dict[str, Any]
    dims: dict[str, list[tuple[str, Any]]]
    #: What names of the model are called in the program, where that differs.
    renamed: dict[str, str]
    #: Arrays whose length the program has as a constant.
    lengths: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        return self.written.text


class Compiler:
    def __init__(self, function: types.FunctionType, found: Definition, inputs: dict[str, Any] | None) -> None:
        self.function = function
        self.found = found
        self.text: Text = found.text
        self.outside = Outside(function)
        self.inputs = inputs
        self.mistakes: list[Mistake] = []
        self.program: list[Node] = []
        self.tables: dict[str, TableUse] = {}
        self.params: dict[str, Any] = {}
        self.dims: dict[str, list[tuple[str, Any]]] = {}
        self.renamed: dict[str, str] = {}
        self.lengths: set[str] = set()
        self.procedures: dict[int, tuple[Any, Procedure | Word]] = {}
        self.taken: set[str] = set()
        self.hidden = 0
        #: Names whose formulas stand in their place somewhere.
        self.written_out: list[str] = []
        self.comprehensions: dict[str, ast.expr] = {}
        #: Inputs that are parts of others, by the expressions that they are.
        self.parts: dict[str, str] = {}

    # ------------------------------------------------------------ mistakes

    @property
    def is_defining(self) -> bool:
        """Whether nothing is known about what is outside."""
        return self.inputs is None

    def span(self, node: ast.AST) -> Span:
        return self.text.span(node)

    def mistake(self, message: str, node: ast.AST | None, *hints: str) -> Node:
        span = self.span(node) if node is not None else None
        found = Mistake(message, span, tuple(hints))
        if found not in self.mistakes:
            self.mistakes.append(found)
        return word("0", span)

    # ------------------------------------------------------------ names

    def fresh(self, name: str) -> str:
        """A name of the program that hides nothing."""
        text = name
        while text in reserved() or text in self.taken:
            text += "_"
        return text

    def own(self, name: str) -> str:
        """The program's name for a name that the model binds at its top level."""
        text = self.fresh(name)
        self.taken.add(text)
        if text != name:
            self.renamed[name] = text
        return text

    def local(self, name: str) -> str:
        """The program's name for a name of a function: it may be the same in several."""
        return name + "_" if name in reserved() else name

    def hidden_name(self, what: str) -> str:
        self.hidden += 1
        return f"_{what}{self.hidden}"

    def bind(self, scope: Scope, name: str, binding: Binding, node: ast.AST) -> bool:
        """Binds a name once; False if it was bound before."""
        known = scope.names.get(name)
        if known is None and scope.kind == "loop":
            known = next((s.names[name] for s in scope if s.kind != "function" and name in s.names), None)
        if known is not None:
            self.mistake(
                f"`{name}` already has a value: in a model every name is bound once",
                node,
                "give the new value another name",
            )
            return False
        scope.names[name] = binding
        return True

    # ------------------------------------------------------------ inputs

    def part(self, base: str, expression: str, value: Any, scope: Scope) -> str:
        """The name of an input that is computed from others, the same for the same expression."""
        name = self.parts.get(expression)
        if name is None:
            assert self.inputs is not None
            written = {part.id for part in ast.walk(self.found.node) if isinstance(part, ast.Name)}
            taken = written | scope.names.keys() | self.inputs.keys()
            name, k = f"{base}_part", 1
            while name in taken or self.outside.find(name) is not MISSING:
                k += 1
                name = f"{base}_part{k}"
            self.parts[expression] = name
            scope.names[name] = Input(name)
            self.inputs = {**self.inputs, name: value}
        return name

    def value_of(self, name: str, scope: Scope) -> Any:
        """The Python value behind a name from outside the model, or MISSING."""
        binding = scope.find(name)
        if isinstance(binding, Input):
            return MISSING if self.inputs is None else self.inputs[binding.name]
        if binding is not None:
            return MISSING
        return self.outside.find(name)

    def parameter(self, name: str, value: Any, node: ast.AST) -> Node:
        """`{name}`, for a value from outside."""
        text = name
        while text in self.tables or (text in self.params and self.params[text] is not value):
            text += "_"
        self.params[text] = value
        return word("{" + text + "}", self.span(node))

    def table(self, name: str, value: Any) -> TableUse:
        """The table that an input is."""
        use = self.tables.get(name)
        if use is None or not (use.sources and use.sources[0][1] is value):
            text = name
            while text in self.tables or text in self.params or text in reserved() or text in self.taken:
                text += "_"
            kind = "frame" if value is None or outside.is_frame(value) else "arrays"
            use = self.tables.setdefault(text, TableUse(text, kind, [(name, value)]))
            self.taken.add(text)
        return use

    def arrays_table(self, sources: list[tuple[str, Any]]) -> TableUse:
        """A table of which every array is a column."""
        for use in self.tables.values():
            if use.kind == "arrays" and [s[0] for s in use.sources] == [s[0] for s in sources]:
                return use
        text = "_".join(name for name, _ in sources)
        text = text if len(sources) > 1 else f"{text}_rows"
        while text in self.tables or text in self.params or text in reserved() or text in self.taken:
            text += "_"
        self.taken.add(text)
        return self.tables.setdefault(text, TableUse(text, "arrays", sources))

    def vector(self, use: TableUse, name: str, columns: tuple[str, ...]) -> str:
        """The name under which a table binds several columns as one."""
        for known, listed in use.vectors.items():
            if listed == columns:
                return known
        while name in columns or name in use.vectors or name in columns_of(use):
            name += "_"
        use.vectors[name] = columns
        return name

    # ------------------------------------------------------------ the whole

    def compile(self) -> Compiled:
        from ._statements import Statements

        __tracebackhide__ = True
        assert isinstance(self.found.node, ast.FunctionDef)
        scope = Scope("model")
        for argument in self._arguments(self.found.node):
            scope.names[argument] = Input(argument)
        Statements(self).model(self.found.node.body, scope)
        if self.mistakes:
            raise_mistakes(self.mistakes)
        self._drop_written_out()
        program = [self._table_directive(use) for use in self.tables.values()] + self.program
        name = self.function.__name__
        return Compiled(name, write(program), self.tables, self.params, self.dims, self.renamed, self.lengths)

    def _drop_written_out(self) -> None:
        """Names that were written out wherever they stood need not be kept, if the model says what it records."""
        if not any(node.content[0].content == "predict" for node in self.program):  # type: ignore[union-attr]
            return
        for name in self.written_out:
            uses = sum(_mentions(node, name) for node in self.program)
            if uses == 1:  # its own
                self.program = [node for node in self.program if not _is_assumed(node, name)]
        for name in list(self.params):
            if not any(_mentions(node, "{" + name + "}") for node in self.program):
                del self.params[name]

    def _arguments(self, node: ast.FunctionDef) -> list[str]:
        arguments = node.args
        for unusual in (arguments.vararg, arguments.kwarg):
            if unusual is not None:
                self.mistake("`*args` and `**kwargs` are not part of the model language", unusual, "name every input")
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return [argument.arg for argument in every]

    def _table_directive(self, use: TableUse) -> Node:
        options = [
            call("vector", word(name), *(string(column) for column in columns)) for name, columns in use.vectors.items()
        ]
        given = getattr(use.sources[0][1], "missing", None) if use.sources and use.kind == "frame" else None
        rule = use.missing or (given if isinstance(given, str) else None)
        if rule is not None:
            options.append(call("missing", word(rule)))
        return directive("table", word(use.name), *options)


def _mentions(node: Node, text: str) -> int:
    """How often a word stands in a part of a program."""
    if isinstance(node.content, str):
        return int(node.content == text)
    return sum(_mentions(part, text) for part in node.content)


def _is_assumed(node: Node, name: str) -> bool:
    parts = node.content
    return isinstance(parts, list) and parts[0].content == "assume" and parts[1].content == name


def columns_of(use: TableUse) -> list[str]:
    if use.kind == "arrays":
        return [name for name, _ in use.sources]
    from ._data import column_names

    value = use.sources[0][1] if use.sources else None
    return column_names(value) if value is not None else []


def cell_word(row: str, column: str) -> str:
    """`row.x`, or `row."any name"` for what is no word."""
    if column.isidentifier():
        return f"{row}.{column}"
    return f"{row}.{quoted(column)}"


def column_word(column: str) -> Node:
    return word(column) if column.isidentifier() else string(column)


def compile_model(function: types.FunctionType, found: Definition, inputs: dict[str, Any] | None) -> Compiled:
    __tracebackhide__ = True
    return Compiler(function, found, inputs).compile()


__all__ = [
    "Compiled", "Compiler", "LARGEST_VALUE", "Row", "cell_word", "column_word", "columns_of", "compile_model",
    "definition", "number",
]  # fmt: skip
