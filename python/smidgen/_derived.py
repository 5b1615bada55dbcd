"""Laws made of other laws: ``truncate(normal(mu, sd), 0, inf)``, ``mixture(w, [normal(0, 1), normal(3, 1)])``.

In the language the inner law is a name followed by what belongs to the outer one and then its own arguments,
``(truncate normal 0 inf mu sd)``; that spelling, with the bare name first, is understood too.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ._kinds import ARRAY, VECTOR, called, kind_of, length_of
from ._registry import procedures
from ._scope import Cell, Scope
from ._syntax import Node, call, number, word

if TYPE_CHECKING:
    from ._calls import Calls

#: What the outer law takes: (name, other names, what it is if it is not given).
_OUTER: dict[str, list[tuple[str, tuple[str, ...], str | None]]] = {
    "truncate": [("lo", ("lower", "low"), "-inf"), ("hi", ("upper", "high"), "inf")],
    "censor": [("lo", ("lower", "low"), "-inf"), ("hi", ("upper", "high"), "inf")],
    "zero_inflated": [("p", (), None)],
    "hurdle": [("p", (), None)],
    "ordered": [("n", ("size",), None)],
}

DERIVED = {*_OUTER, "mixture"}


def is_law(calls: "Calls", node: ast.expr, scope: Scope) -> bool:
    """Whether it is a call of a distribution of the language."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    entry = procedures().get(name) if scope.find(name) is None else None
    return entry is not None and entry.is_distribution


def derived(calls: "Calls", name: str, node: ast.Call, scope: Scope) -> Node | None:
    """The law, or None if it is written in the language's own order."""
    if name == "mixture":
        return _mixture(calls, node, scope)
    if not node.args or not is_law(calls, node.args[0], scope):
        return None
    inner = calls.e(node.args[0], scope)
    if inner.is_word:
        return inner  # a mistake that was noted already
    outer = _OUTER[name]
    given: dict[str, Node] = {}
    for (own, _, _), part in zip(outer, node.args[1:]):
        given[own] = calls.e(part, scope)
    takes = f"{name}(law, {', '.join(own for own, _, _ in outer)})"
    if len(node.args) - 1 > len(outer):
        return calls.c.mistake(f"{name} has too many arguments here", node.args[len(outer) + 1], takes)
    for keyword in node.keywords:
        known = [own for own, others, _ in outer if keyword.arg in (own, *others)]
        if not known or known[0] in given:
            return calls.c.mistake(f"{name} has no free argument `{keyword.arg or '**'}`", keyword.value, takes)
        given[known[0]] = calls.e(keyword.value, scope)
    parts: list[Node] = []
    for own, _, default in outer:
        if own not in given and default is None:
            return calls.c.mistake(f"{name} is called without `{own}`", node, takes)
        parts.append(given[own] if own in given else word(str(default)))
    assert isinstance(inner.content, list)
    return call(name, inner.content[0], *parts, *inner.content[1:], span=calls.c.span(node))


def _mixture(calls: "Calls", node: ast.Call, scope: Scope) -> Node | None:
    if node.keywords or len(node.args) < 2:
        return None
    laws = [(law, scope) for law in node.args[1:]]
    if len(laws) == 1:
        several = _components(calls, node.args[1], scope)
        if several is None:
            return None
        laws = several
    if not all(is_law(calls, law, scope) for law, _ in laws):
        return None
    parts = [calls.e(node.args[0], scope)]
    for law, names in laws:
        made = calls.e(law, names)
        if made.is_word:
            return made
        assert isinstance(made.content, list)
        parts += [made.content[0], call("list", *made.content[1:], span=made.span)]
    return call("mixture", *parts, span=calls.c.span(node))


def _components(calls: "Calls", node: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]] | None:
    """The laws of `[normal(0, 1), normal(3, 1)]`, of `[normal(mu[k], sd) for k in range(3)]`, and of `normal(mu, sd)`
    where `mu` or `sd` are vectors; each with what its names mean. Their number is a part of the program."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [(law, scope) for law in node.elts]
    if isinstance(node, ast.ListComp) and len(node.generators) == 1:
        first = node.generators[0]
        over, target = first.iter, first.target
        if first.ifs or not isinstance(target, ast.Name) or not isinstance(over, ast.Call) or len(over.args) != 1:
            return None
        if called(calls.e, over, scope) != "@range":
            return None
        return [(node.elt, inner) for inner in _each(calls, over.args[0], target.id, scope)]
    if isinstance(node, ast.Call) and is_law(calls, node, scope):
        vectors = [part for part in node.args if kind_of(calls.e, part, scope) in (VECTOR, ARRAY)]
        if not vectors:
            return None
        length = length_of(calls.e, vectors[0], scope)
        place = ast.copy_location(ast.Name("_component", ast.Load()), node)
        entries: list[ast.expr] = [
            ast.copy_location(ast.Subscript(part, place, ast.Load()), part) if part in vectors else part
            for part in node.args
        ]
        law = ast.copy_location(ast.Call(node.func, entries, node.keywords), node)
        count = _number(calls, length)
        if count is None and not calls.c.is_defining:
            calls.c.mistake("the number of components of a mixture has to be known when the model is called", node)
        return [(law, inner) for inner in _bound(range(count or 1), "_component", scope)]
    return None


def _each(calls: "Calls", count: ast.expr, name: str, scope: Scope) -> list[Scope]:
    """Scopes in which a name is 0, 1, 2, ..."""
    found = _number(calls, calls.e(count, scope))
    if found is None and not calls.c.is_defining:
        hint = "range(3), or range(k) where k is an input of the model"
        calls.c.mistake("the number of components of a mixture has to be known when the model is called", count, hint)
    return _bound(range(found or 1), name, scope)


def _bound(values: range, name: str, scope: Scope) -> list[Scope]:
    made = []
    for value in values:
        inner = scope.inner("function")
        inner.names[name] = Cell(number(value))
        made.append(inner)
    return made


def _number(calls: "Calls", node: Node | None) -> int | None:
    """The whole number that a part of the program is, if that is a constant or an input."""
    if node is None or not isinstance(node.content, str):
        return None
    value = calls.c.params.get(node.content.strip("{}"), node.content)
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
