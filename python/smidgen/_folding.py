"""Parts of the data that a model asks for as NumPy's users do: ``y[1:]``, ``X[:, 0]``, ``y[group == 1]``, ``X.shape``.

They hang on what is outside alone, so they are computed when the model is called, and are inputs like others from there
on. Only what the language has no word for is computed; functions are NumPy's own, nothing of the user's is run.
"""

from __future__ import annotations

import ast
import copy
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _outside as outside
from ._compile import LARGEST_VALUE, Compiler
from ._kinds import MATRIX, VECTOR, called, kind_of
from ._outside import MISSING
from ._scope import Input, Scope

if TYPE_CHECKING:
    from ._expressions import Expressions

#: Attributes of arrays that are numbers, or tuples of them.
_FACTS = {"shape", "size", "ndim"}
#: Methods of arrays that the language has no word for.
_METHODS = {
    "std", "var", "argmax", "argmin", "cumsum", "astype", "ravel", "flatten", "reshape", "squeeze", "nonzero", "round",
    "clip", "ptp",
}  # fmt: skip
#: Methods that only say in which library's type an array is.
_SPELLINGS = {"to_numpy", "to_list", "tolist"}
#: Methods that the language has, of one whole vector.
_REDUCTIONS = {"sum", "mean", "min", "max", "prod"}

_PARTS = (
    ast.Constant, ast.Name, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp, ast.Compare,
    ast.Attribute, ast.Call, ast.keyword, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip


def fold(expressions: "Expressions", statement: ast.stmt, scope: Scope) -> ast.stmt:
    """The statement with such parts as names of inputs."""
    # The tree is that of the function, which may be called again with other data.
    own = copy.deepcopy(statement)
    return _Folding(expressions, scope, _bound_in(own)).visit(own)  # type: ignore[no-any-return]


def _bound_in(statement: ast.stmt) -> set[str]:
    """Names that a statement binds itself, anywhere."""
    found = set()
    for part in ast.walk(statement):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, ast.arg):
            found.add(part.arg)
        elif isinstance(part, ast.FunctionDef):
            found.add(part.name)
    return found


class _Folding(ast.NodeTransformer):
    def __init__(self, expressions: "Expressions", scope: Scope, bound: set[str]) -> None:
        self.e = expressions
        self.c: Compiler = expressions.c
        self.scope = scope
        self.bound = bound

    # ------------------------------------------------------------ what is asked for

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return node  # `X.shape[0]`: a number already
        if isinstance(node.ctx, ast.Load) and self._is_data(node) and self._is_part(node):
            return self._computed(node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """`z = (x - x.mean()) / x.std()` is an input; after `n, p = X.shape`, data of another length will do where n is
        not used."""
        known, target, value = set(self.c.lengths), node.targets[0], node.value
        if isinstance(target, ast.Name) and not isinstance(value, ast.Name) and self._is_computed(value):
            node.value = self._computed(value)
            return node
        self.generic_visit(node)
        if isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
            first = target.elts[0].id
            loads = (part for part in ast.walk(self.c.found.node) if isinstance(part, ast.Name))
            if not any(part.id == first and isinstance(part.ctx, ast.Load) for part in loads):
                self.c.lengths = known
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr == "values" and self.e._is_outer(node.value, self.scope):
            return self.visit(node.value)  # type: ignore[no-any-return]
        if node.attr in _FACTS and self._is_data(node.value) and self._is_array(node.value):
            return self._computed(node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Name) and function.id == "observe" and len(node.args) == 2:
            value = node.args[1]
            if not isinstance(value, ast.Name) and self._is_computed(value):
                node.args[1] = self._computed(value)
        if isinstance(function, ast.Attribute) and function.attr in _SPELLINGS and not node.args and not node.keywords:
            if self.e._is_outer(function.value, self.scope):
                return self.visit(function.value)  # type: ignore[no-any-return]
        product = self._sum_of_products(node)
        if product is not None:
            return self.visit(product)  # type: ignore[no-any-return]
        if self._is_data(node) and isinstance(function, ast.Attribute):
            if self._is_data(function.value):
                unusual = function.attr in _METHODS or function.attr in _REDUCTIONS and self._is_beyond(node)
                wanted = unusual and self._is_array(function.value)
            else:
                value = self.e.member(function, self.scope)
                wanted = outside.known_function(value) is None or self._is_beyond(node)
            if wanted:
                return self._computed(node)
        self.generic_visit(node)
        if len(node.args) == 2 and not node.keywords and called(self.e, node, self.scope) == "dot":
            # One spelling of products, `a @ b`, of which kinds and rows are known.
            return ast.copy_location(ast.BinOp(node.args[0], ast.MatMult(), node.args[1]), node)
        return node

    def _sum_of_products(self, node: ast.Call) -> ast.expr | None:
        """`(X * b).sum(axis=1)` and `np.sum(X * b, axis=1)` are `X @ b`."""
        function = node.func
        if not isinstance(function, ast.Attribute) or function.attr != "sum" or len(node.keywords) != 1:
            return None
        axis = node.keywords[0]
        if axis.arg != "axis" or ast.unparse(axis.value) not in ("1", "-1"):
            return None
        whole = node.args[0] if len(node.args) == 1 and self._is_module(function.value) else function.value
        if not isinstance(whole, ast.BinOp) or not isinstance(whole.op, ast.Mult):
            return None
        left, right = whole.left, whole.right
        kinds = kind_of(self.e, left, self.scope), kind_of(self.e, right, self.scope)
        if not self.c.is_defining and sorted(map(str, kinds)) != [MATRIX, VECTOR]:
            return None
        if kinds[1] == MATRIX:
            left, right = right, left
        return ast.copy_location(ast.BinOp(left, ast.MatMult(), right), node)

    def _is_computed(self, node: ast.expr) -> bool:
        """Whether it is arithmetic on data that gives an array of numbers."""
        value = self._value(node)
        return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind in "iufb"

    def _is_part(self, node: ast.Subscript) -> bool:
        """Whether it is more than an entry, or the entries at given places, which the language has."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(index, ast.Slice) for index in indices):
            return self._is_array(node.value)
        if self.c.is_defining:
            return any(isinstance(part, (ast.Compare, ast.Invert)) for part in ast.walk(node.slice))
        base, index = self._value(node.value), self._value(node.slice)
        if not isinstance(base, np.ndarray) or not isinstance(index, (np.ndarray, list)):
            return False
        return np.asarray(index).dtype == bool or base.ndim > 1

    def _is_beyond(self, node: ast.Call) -> bool:
        """Whether the language's own procedure would not do: along an axis, or of more numbers than a value may have."""
        if node.keywords:
            return True
        arrays = [self._value(part) for part in ast.walk(node) if isinstance(part, ast.Name)]
        return any(isinstance(array, np.ndarray) and array.size > LARGEST_VALUE for array in arrays)

    # ------------------------------------------------------------ data

    def _is_data(self, node: ast.expr) -> bool:
        """Whether it hangs on data from outside alone, and on functions of NumPy."""
        inside: set[int] = set()
        has_name = False
        for part in ast.walk(node):
            if id(part) in inside:
                continue
            if not isinstance(part, _PARTS):
                return False
            if isinstance(part, ast.Call):
                inside.add(id(part.func))
                if not isinstance(part.func, ast.Attribute):
                    return False
                owner = part.func.value
                if self._is_module(owner):
                    inside.update(id(name) for name in ast.walk(owner))
                    if not _is_numpys(self.e.member(part.func, self.scope)):
                        return False
                elif part.func.attr not in _METHODS | _REDUCTIONS:
                    return False
            elif isinstance(part, ast.Attribute) and part.attr not in {*_FACTS, "T"}:
                return False
            elif isinstance(part, ast.Name) and not self._is_type(part):
                if not self._is_input(part):
                    return False
                has_name = True
        return has_name

    def _is_module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.bound or self.scope.find(node.id) is not None:
            return False
        return isinstance(self.c.outside.find(node.id), types.ModuleType)

    def _is_type(self, node: ast.Name) -> bool:
        """Whether it is the type of `x.astype(int)`."""
        if node.id in self.bound or self.scope.find(node.id) is not None:
            return False
        return self.c.outside.find(node.id) in (int, float, bool)

    def _is_input(self, node: ast.Name) -> bool:
        if node.id in self.bound:
            return False
        binding = self.scope.find(node.id)
        if binding is not None and not isinstance(binding, Input):
            return False
        value = self.c.value_of(node.id, self.scope)
        if value is MISSING:
            return self.c.is_defining and binding is not None
        return outside.is_array(value) or outside.is_series(value) or outside.is_number(value)

    def _is_array(self, node: ast.expr) -> bool:
        if self.c.is_defining:
            return True
        return isinstance(self._value(node), np.ndarray)

    def _value(self, node: ast.expr) -> Any:
        """What it is, or MISSING if that is not known."""
        if self.c.is_defining or not self._is_data(node):
            return MISSING
        try:
            return self._evaluated(node)
        except Exception:
            return MISSING

    def _evaluated(self, node: ast.expr) -> Any:
        names: dict[str, Any] = {}
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and self._is_input(part):
                value = self.c.value_of(part.id, self.scope)
                if outside.is_series(value):
                    value = value.to_numpy()
                names[part.id] = np.asarray(value) if isinstance(value, (list, tuple)) else value
            elif isinstance(part, ast.Name):
                names[part.id] = self.c.outside.find(part.id)  # a module, or a type
        code = compile(ast.Expression(node), self.c.text.filename, "eval")
        return eval(code, {}, names)

    def _computed(self, node: ast.expr) -> ast.expr:
        bases = [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and self._is_input(part)]
        if self.c.is_defining:
            return ast.copy_location(ast.Name(bases[0], ast.Load()), node)
        try:
            value = self._evaluated(node)
        except Exception as error:
            self.c.mistake(f"this part of the data cannot be computed: {error}", node)
            return ast.copy_location(ast.Constant(0), node)
        # Other data would give other parts.
        self.c.lengths.update(bases)
        return _written(node, value) or self._named(node, bases[0], value)

    def _named(self, node: ast.expr, base: str, value: Any) -> ast.expr:
        model = self.scope
        while model.parent is not None:
            model = model.parent
        return ast.copy_location(ast.Name(self.c.part(base, ast.dump(node), value, model), ast.Load()), node)


def _is_numpys(value: Any) -> bool:
    """Whether it is a function of NumPy that draws nothing."""
    if value is MISSING or not callable(value) or outside.draws_outside(value):
        return False
    if isinstance(value, np.ufunc):
        return True
    return (getattr(value, "__module__", None) or "").split(".")[0] == "numpy" and not isinstance(value, type)


def _written(node: ast.expr, value: Any) -> ast.expr | None:
    """A number, or a few of them, as they would be written; None for others."""

    def constant(x: Any) -> ast.expr:
        return ast.copy_location(ast.Constant(x.item() if hasattr(x, "item") else x), node)

    if outside.is_number(value):
        return constant(value)
    if isinstance(value, tuple) and all(outside.is_number(x) for x in value):
        return ast.copy_location(ast.Tuple([constant(x) for x in value], ast.Load()), node)
    return None
