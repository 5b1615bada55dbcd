"""A Python expression, given as text, as an expression of the language."""

from __future__ import annotations

import ast
import types
from typing import Any, Mapping

from ._errors import raise_mistakes
from ._source import Definition, Text
from ._syntax import write


def expression_text(text: str, renamed: Mapping[str, str] = {}, values: Mapping[str, Any] = {}) -> str:
    """``"after / before"`` to ``(/ after before)``; text in round brackets that begins like Lisp is kept."""
    from ._compile import Compiler
    from ._expressions import Expressions
    from ._scope import Scope, Word

    lines = text.splitlines(keepends=True)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return text
    function = types.FunctionType((lambda: 0).__code__, dict(values))
    found = Definition(Text.of("<expression>", lines), ast.Lambda(args=_nothing(), body=tree.body))
    compiler = Compiler(function, found, {})
    compiler.outside.function.__globals__.pop("__builtins__", None)
    scope = Scope("model")
    from ._outside import is_language
    import builtins

    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and part.id not in values:
            if part.id in renamed or not (is_language(part.id) or hasattr(builtins, part.id)):
                scope.names[part.id] = Word(renamed.get(part.id, part.id))
    made = Expressions(compiler)(tree.body, scope)
    if compiler.mistakes:
        raise_mistakes(compiler.mistakes)
    return write([made]).text.strip()


def _nothing() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
