"""Laws made of other laws: ``truncate(normal(mu, sd), 0, inf)``, ``mixture(w, [normal(0, 1), normal(3, 1)])``.

In the language the inner law is a name followed by what belongs to the outer one and then its own arguments,
``(truncate normal 0 inf mu sd)``; that spelling, with the bare name first, is understood too.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ._registry import procedures
from ._scope import Scope
from ._syntax import Node, call, word

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
    laws: list[ast.expr] = list(node.args[1:])
    if len(laws) == 1 and isinstance(laws[0], (ast.List, ast.Tuple)):
        laws = list(laws[0].elts)
    if node.keywords or not laws or not all(is_law(calls, law, scope) for law in laws):
        return None
    parts = [calls.e(node.args[0], scope)]
    for law in laws:
        made = calls.e(law, scope)
        if made.is_word:
            return made
        assert isinstance(made.content, list)
        parts += [made.content[0], call("list", *made.content[1:], span=made.span)]
    return call("mixture", *parts, span=calls.c.span(node))
