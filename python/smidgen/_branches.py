"""Branches that hold observations, weights and names of their own: as statements without branches.

`if c: observe(A, y)`, `else: observe(B, y)` is one observation, of the choice `A if c else B`. What is observed on one side
alone, or is another value there, is an observation of the rows in which the side is taken; where that is random, it is a
weight: the log density where the side is taken, else 0. Names that a side binds are bound before, and nothing is drawn for
them where the side is not taken.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Callable

from ._bodies import is_text

#: What a call at the top of a branch is, by its name among the directives.
Directive = Callable[[ast.Call], "str | None"]


@dataclass
class Effects:
    """What a branch does, in order."""

    names: dict[str, ast.Assign] = field(default_factory=dict)
    observed: list[ast.Call] = field(default_factory=list)
    weights: list[ast.Call] = field(default_factory=list)
    #: Observations of one side, with the condition under which it is taken.
    one_sided: list[tuple[ast.expr, ast.Call]] = field(default_factory=list)
    #: Names that only one side binds: after the `if` they have no value.
    fleeting: set[str] = field(default_factory=set)

    @property
    def only_binds(self) -> bool:
        return not (self.observed or self.weights or self.one_sided)


class Unclear(Exception):
    """A branch that cannot be rewritten, and where."""

    def __init__(self, node: ast.AST, reason: str, *hints: str) -> None:
        super().__init__(reason)
        self.node, self.reason, self.hints = node, reason, hints


def flatten(node: ast.If, directive: Directive, is_data: Callable[[ast.expr], bool]) -> Effects:
    """What an `if` does on both sides together."""
    then, other = (_branch(body, directive, is_data) for body in (node.body, node.orelse))
    test, merged = node.test, Effects()
    _merge_names(test, then, other, merged)
    merged.fleeting = then.fleeting | other.fleeting | (then.names.keys() ^ other.names.keys())
    negated = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
    for a, b in zip(then.observed, other.observed):
        if _are_alike(a, b):
            merged.observed.append(_either(test, a, b))
        elif is_data(test):
            merged.one_sided += [(test, a), (negated, b)]
        else:
            raise Unclear(
                b.args[1],
                "which value is observed hangs on what is random",
                "observe one value on both sides: observe(a if c else b, value)",
                "or weigh: factor(log_density(law, value, arguments) if c else ...)",
            )
    paired = min(len(then.observed), len(other.observed))
    for condition, side in ((test, then), (negated, other)):
        merged.one_sided += [(condition, call) for call in side.observed[paired:]]
        merged.one_sided += [(_both(condition, inner), call) for inner, call in side.one_sided]
        for weight in side.weights:
            chosen = ast.copy_location(ast.IfExp(condition, weight.args[0], _zero(weight)), weight)
            merged.weights.append(ast.copy_location(ast.Call(weight.func, [chosen], weight.keywords), weight))
    if merged.only_binds and merged.fleeting:
        name = min(merged.fleeting)
        raise Unclear(
            merged.names[name],
            f"`{name}` gets a value in one branch alone",
            f"{name} = a if c else b, or bind it in both branches",
        )
    return merged


def _branch(body: list[ast.stmt], directive: Directive, is_data: Callable[[ast.expr], bool]) -> Effects:
    found = Effects()
    for statement in body:
        if is_text(statement) or isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.If):
            inner = flatten(statement, directive, is_data)
            for name, bound in inner.names.items():
                _bind(found, name, bound)
            found.observed += inner.observed
            found.weights += inner.weights
            found.one_sided += inner.one_sided
            found.fleeting |= inner.fleeting
            continue
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                _bind(found, target.id, statement)
                continue
        call = statement.value if isinstance(statement, ast.Expr) else None
        kind = directive(call) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and kind == "observe" and len(call.args) == 2:
            found.observed.append(call)
        elif isinstance(call, ast.Call) and kind == "factor" and len(call.args) == 1:
            found.weights.append(call)
        else:
            raise Unclear(
                statement,
                "a branch of an `if` on random values or rows observes, weighs with `factor`, or binds names",
                "put the rest before or after the `if`, with values `a if c else b`",
            )
    return found


def _bind(found: Effects, name: str, bound: ast.Assign) -> None:
    if name in found.names:
        raise Unclear(bound, f"`{name}` already has a value: in a model every name is bound once")
    found.names[name] = bound


def _merge_names(test: ast.expr, then: Effects, other: Effects, merged: Effects) -> None:
    """Names of both sides in an order in which each comes after those before it on its side."""
    waiting = dict(other.names)

    def add(name: str, sides: tuple[ast.Assign | None, ast.Assign | None]) -> None:
        bound = sides[0] or sides[1]
        assert bound is not None
        values = [_zero(bound) if side is None else side.value for side in sides]
        value = ast.copy_location(ast.IfExp(test, *values), bound.value)
        merged.names[name] = ast.copy_location(ast.Assign(bound.targets, value), bound)

    for name, bound in then.names.items():
        if name in other.names:
            for before in list(waiting):
                twin = waiting.pop(before)
                if before == name:
                    break
                if before in then.names:
                    raise Unclear(twin, f"`{before}` and `{name}` are bound in another order on the other side")
                add(before, (None, twin))
        add(name, (bound, other.names.get(name)))
    for name, twin in waiting.items():
        if name not in merged.names:
            add(name, (None, twin))


def _are_alike(a: ast.Call, b: ast.Call) -> bool:
    """Whether two observations are of one value, under one label."""
    one, other = ([ast.dump(part) for part in (call.args[1], *call.keywords)] for call in (a, b))
    return one == other


def _either(test: ast.expr, a: ast.Call, b: ast.Call) -> ast.Call:
    choice = ast.copy_location(ast.IfExp(test, a.args[0], b.args[0]), a.args[0])
    return ast.copy_location(ast.Call(a.func, [choice, a.args[1]], a.keywords), a)


def _both(a: ast.expr, b: ast.expr) -> ast.expr:
    return ast.copy_location(ast.BoolOp(ast.And(), [a, b]), a)


def _zero(like: ast.AST) -> ast.expr:
    zero = ast.Constant(0)
    ast.copy_location(zero, like)
    return zero
