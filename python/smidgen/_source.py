"""The source of a function, as the user wrote it, with places in bytes.

The whole text of the file or cell is parsed and the function is found in it by name and line, so a
place is a line's offset plus a node's column, both in bytes of UTF-8. Then the text is compiled once
more and compared with the function's own code: a file that was edited after its import is noticed.
"""

from __future__ import annotations

import ast
import linecache
import sys
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, Iterator

from ._errors import ModelSyntaxError

#: Cells of notebooks may await at their top level.
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


@dataclass(frozen=True)
class Span:
    """Bytes ``start .. end`` of a text."""

    text: "Text"
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Text:
    """A file or cell that models came from."""

    filename: str
    lines: list[str] = field(repr=False)
    offsets: list[int] = field(repr=False)

    @staticmethod
    def of(filename: str, lines: list[str]) -> "Text":
        offsets = [0]
        for line in lines:
            offsets.append(offsets[-1] + len(line.encode()))
        return Text(filename, lines, offsets)

    def span(self, node: ast.AST) -> Span:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
        return Span(self, self.offsets[line - 1] + column, self.offsets[end_line - 1] + end)

    def position(self, byte: int) -> tuple[int, int]:
        """Line from 1 and column from 0, both as Python counts them in characters."""
        line = next(i for i in range(len(self.offsets) - 1, -1, -1) if self.offsets[i] <= byte)
        line = min(line, max(len(self.lines) - 1, 0))
        within = self.lines[line].encode()[: byte - self.offsets[line]] if self.lines else b""
        return line + 1, len(within.decode(errors="replace"))

    def columns(self, span: Span) -> tuple[int, int, int, int]:
        """Lines from 1 and columns from 0 in bytes, as ``ast`` has them: start, then end."""
        line, _ = self.position(span.start)
        end_line, _ = self.position(max(span.end - 1, span.start))
        return line, span.start - self.offsets[line - 1], end_line, span.end - self.offsets[end_line - 1]

    def segment(self, span: Span) -> str:
        return "".join(self.lines).encode()[span.start : span.end].decode(errors="replace")

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


@dataclass(frozen=True, eq=False)
class Definition:
    """A function's own syntax in the text that it came from."""

    text: Text
    node: ast.FunctionDef | ast.Lambda


def definition(function: FunctionType) -> Definition:
    """Where a function is defined. An error if there is no text, or another one than it was made of."""
    code = function.__code__
    filename = code.co_filename
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__) or _timed(filename)
    if not lines:
        raise _no_source(function)
    text = Text.of(filename, list(lines))
    whole = "".join(lines)
    try:
        tree: ast.Module = compile(whole, filename, "exec", _FLAGS | ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError:
        raise _no_source(function) from None
    found = list(_candidates(tree, function))
    if not found:
        raise _no_source(function)
    flags = _FLAGS | (code.co_flags & _FUTURES)
    for node in found:
        if _agrees(code, tree, node, flags):
            return Definition(text, node)
    raise _changed(filename)


def _timed(filename: str) -> list[str]:
    """The lines of a cell under ``%%time``, which IPython runs without telling anybody its text: the last one in its
    history, without the magic. Whether it is the right one is seen by compiling it."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if filename == "<timed exec>" and ipython else None
    if shell is None:
        return []
    first, *rest = shell.history_manager.input_hist_raw[-1].splitlines(keepends=True) or [""]
    return rest if first.lstrip().startswith("%%") else []


#: Flags of ``from __future__`` imports, which a function's code remembers.
_FUTURES = 0x1000000 | 0x20000 | 0x40000 | 0x80000 | 0x100000 | 0x200000 | 0x400000 | 0x800000


def _candidates(tree: ast.AST, function: FunctionType) -> Iterator[ast.FunctionDef | ast.Lambda]:
    name, line = function.__name__, function.__code__.co_firstlineno
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == line:
                yield node
        elif isinstance(node, ast.Lambda) and function.__code__.co_name == "<lambda>" and node.lineno == line:
            yield node


def _agrees(code: CodeType, tree: ast.Module, node: ast.FunctionDef | ast.Lambda, flags: int) -> bool:
    """Whether the text, or the function alone at the level of a module, compiles to this code."""
    place = (node.lineno, node.col_offset)
    alone: ast.Module = ast.Module(body=[], type_ignores=[])
    if isinstance(node, ast.Lambda):
        alone.body = [ast.copy_location(ast.Expr(node), node)]
    else:
        alone.body = [node]
    for unit in (tree, alone):
        try:
            compiled = compile(unit, code.co_filename, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        for inner in _nested(compiled):
            if inner.co_name == code.co_name and _same(inner, code):
                if not isinstance(node, ast.Lambda) or _starts_at(inner, place, node):
                    return True
    return False


def _starts_at(code: CodeType, place: tuple[int, int], node: ast.Lambda) -> bool:
    """Several lambdas may stand on a line: the positions of their instructions tell them apart."""
    ends = (node.end_lineno or node.lineno, node.end_col_offset or 0)
    known = [
        p for p in code.co_positions() if p[0] is not None and p[2] is not None and p[0] != p[1] or (p[3] or 0) > 0
    ]
    return all(place <= (p[0] or 0, p[2] or 0) and (p[1] or 0, p[3] or 0) <= ends for p in known)


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _same(one: CodeType, other: CodeType) -> bool:
    """Equal instructions, names and constants, whatever the lines."""
    if one.co_code != other.co_code or one.co_names != other.co_names:
        return False
    if one.co_varnames != other.co_varnames or len(one.co_consts) != len(other.co_consts):
        return False
    for a, b in zip(one.co_consts, other.co_consts):
        if isinstance(a, CodeType) and isinstance(b, CodeType):
            if not _same(a, b):
                return False
        elif type(a) is not type(b) or a != b:
            return False
    return True


def _no_source(function: FunctionType) -> ModelSyntaxError:
    name = function.__name__
    return ModelSyntaxError(
        f"no source text for `{name}`: put it into a file or a cell of its own, "
        'or write text: smidgen.program("""[assume ...]""")'
    )


def _changed(filename: str) -> ModelSyntaxError:
    short = filename.replace("\\", "/").rsplit("/", 1)[-1]
    return ModelSyntaxError(f"{short} has changed since it was imported: import it again, or start Python again")
