"""Names of dimensions and coordinates of what is recorded, from the comprehensions that made it."""

from __future__ import annotations

import ast
from typing import Any

from . import _outside as outside
from ._compile import Compiler
from ._outside import MISSING
from ._scope import Scope


def dims_of(compiler: Compiler, node: ast.expr, scope: Scope) -> list[tuple[str, Any]]:
    """(name, coordinates or None) of each dimension; empty if nothing is known."""
    if compiler.is_defining:
        return []
    if isinstance(node, ast.Name):
        made = compiler.comprehensions.get(node.id)
        return dims_of(compiler, made, scope) if isinstance(made, (ast.ListComp, ast.GeneratorExp)) else []
    if not isinstance(node, (ast.ListComp, ast.GeneratorExp)) or len(node.generators) != 1:
        return []
    generator = node.generators[0]
    if generator.ifs or not isinstance(generator.target, ast.Name):
        return []
    coordinates = _constant(compiler, generator.iter, scope)
    return [(generator.target.id, coordinates), *dims_of(compiler, node.elt, scope)]


def _constant(compiler: Compiler, node: ast.expr, scope: Scope) -> Any:
    """The elements of what is gone through, if they are known before the model runs."""
    from ._data import column_values

    if isinstance(node, ast.Name):
        value = compiler.value_of(node.id, scope)
        return list(value) if value is not MISSING and outside.is_array(value) else None
    if isinstance(node, (ast.List, ast.Tuple)) and all(isinstance(part, ast.Constant) for part in node.elts):
        return [part.value for part in node.elts]  # type: ignore[attr-defined]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        table = compiler.value_of(node.value.id, scope)
        if table is not MISSING and outside.is_frame(table):
            return column_values(table, node.attr)
        return None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
        table = compiler.value_of(node.value.id, scope)
        if table is not MISSING and outside.is_frame(table):
            return column_values(table, str(node.slice.value))
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        parts = [_constant(compiler, part, scope) for part in node.args]
        if node.func.id == "unique" and len(parts) == 1 and parts[0] is not None:
            return list(dict.fromkeys(parts[0]))
        if node.func.id == "levels" and len(node.args) == 2 and isinstance(node.args[0], ast.Name):
            table = compiler.value_of(node.args[0].id, scope)
            if table is not MISSING and isinstance(node.args[1], ast.Constant):
                return list(dict.fromkeys(column_values(table, str(node.args[1].value)) or []))
        if node.func.id == "range":
            bounds = [_whole(compiler, part, scope) for part in node.args]
            if None not in bounds and bounds:
                return list(range(*bounds))  # type: ignore[arg-type]
    return None


def _whole(compiler: Compiler, node: ast.expr, scope: Scope) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        value = compiler.value_of(node.id, scope)
        return int(value) if value is not MISSING and outside.is_number(value) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        if isinstance(node.args[0], ast.Name):
            value = compiler.value_of(node.args[0].id, scope)
            if value is MISSING:
                return None
            if outside.is_frame(value):
                from ._data import row_count

                return row_count(value)
            return len(value) if hasattr(value, "__len__") else None
    return None
