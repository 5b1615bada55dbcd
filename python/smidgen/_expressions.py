"""Expressions of Python to expressions of the language."""

from __future__ import annotations

import ast
import functools
import types
from typing import Any, Callable

from . import _outside as outside
from ._by_rows import each_row
from ._calls import Calls
from ._compile import LARGEST_VALUE, Compiler, cell_word, column_word, columns_of
from ._kinds import ARRAY, MATRIX, VECTOR, kind_of, length_of
from ._outside import MISSING, REFUSED_BUILTINS
from ._registry import closest, procedures
from ._scope import Binding, Cell, Input, Procedure, Row, Scope, TableUse, Word
from ._slices import Slices
from ._syntax import Node, call, items, number, string, word

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "pow", ast.FloorDiv: "int_div",
    ast.Mod: "int_mod",
}  # fmt: skip

_COMPARISONS: dict[type, str] = {
    ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip

#: Syntax that has no meaning in a model: what it is called, and what to write.
REFUSED: dict[type, tuple[str, str]] = {
    ast.JoinedStr: ("an f-string", "texts are not made in a model"),
    ast.NamedExpr: ("`:=`", "bind the name on a line of its own"),
    ast.Await: ("`await`", "compute it before the model is called"),
    ast.Yield: ("`yield`", "return the value"),
    ast.YieldFrom: ("`yield`", "return the value"),
    ast.Starred: ("`*`", "write the elements one by one, or use apply(f, xs)"),
    ast.Set: ("a set", "write a list, and unique(xs)"),
    ast.SetComp: ("a set", "write unique([... for ...])"),
    ast.DictComp: ("a dictionary comprehension", "write a memoised function: mem(lambda key: ...)"),
    ast.Slice: ("a slice", "xs[a:b]"),
}


class Expressions:
    def __init__(self, compiler: Compiler) -> None:
        self.c = compiler
        self.calls = Calls(compiler, self)

    def __call__(self, node: ast.expr, scope: Scope) -> Node:
        refused = REFUSED.get(type(node))
        if refused is not None:
            return self.c.mistake(f"{refused[0]} is not part of the model language", node, refused[1])
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            return self.c.mistake(f"`{type(node).__name__}` is not part of the model language", node)
        made: Node = method(node, scope)
        return made

    # ------------------------------------------------------------ constants and names

    def _constant(self, node: ast.Constant, scope: Scope) -> Node:
        span, value = self.c.span(node), node.value
        if isinstance(value, (bool, float)):
            return number(value, span)
        if isinstance(value, int):
            if abs(value) > 2**53:
                return self.c.mistake("an integer beyond 2**53 has no exact double", node, "write it as a float")
            return number(value, span)
        if isinstance(value, str):
            return string(value, span)
        return self.c.mistake(f"`{value!r}` is not a value of the model language", node)

    def _name(self, node: ast.Name, scope: Scope) -> Node:
        binding = scope.find(node.id)
        if binding is not None:
            return self.bound(node.id, binding, node, scope)
        value = self.c.outside.find(node.id)
        return self.outer(node.id, value, node)

    def bound(self, name: str, binding: Binding, node: ast.AST, scope: Scope) -> Node:
        span = self.c.span(node)
        match binding:
            case Word(text) | Procedure(text):
                return word(text, span)
            case Cell(cell):
                return Node(cell.content, span)
            case Row():
                return self.row_itself(binding, node)
            case Input(input_name):
                if self.c.inputs is None:
                    return word("{" + input_name + "}", span)
                return self.outer(input_name, self.c.inputs[input_name], node)

    def row_itself(self, row: Row, node: ast.AST) -> Node:
        """The variable of a loop over one array is its element."""
        use = self.c.tables.get(row.table)
        if use is not None and use.kind == "arrays" and len(use.sources) == 1:
            return self.cell(row, use.sources[0][0], node)
        if self.c.is_defining:
            return word(f"{row.variable}.x", self.c.span(node))
        return self.c.mistake(
            "a row is no value by itself", node, f"ask for a column: {row.variable}.x, or for {row.variable}.index"
        )

    def outer(self, name: str, value: Any, node: ast.AST) -> Node:
        """A value from outside the model."""
        span = self.c.span(node)
        if value is MISSING:
            if name in procedures() or name == "inf":
                return word(procedures()[name].name if name in procedures() else name, span)
            if self.c.is_defining:
                return word("{" + name + "}", span)
            return self.unknown(name, node)
        known = outside.known_function(value)
        if known is not None and not known.startswith("@"):
            return word(known, span)
        if outside.is_number(value):
            return self._small_number(name, value, node)
        if isinstance(value, str):
            return self.c.parameter(name, value, node)
        if outside.is_function(value):
            return self.calls.outside_function(name, value, node)
        if outside.is_series(value):
            value = value.to_numpy()
        if outside.is_array(value) or isinstance(value, dict):
            return self._array(name, value, node)
        if self.c.is_defining:
            return word("{" + name + "}", span)
        if outside.is_frame(value):
            return self.c.mistake(
                f"`{name}` is a table, and no value by itself", node, f"for row in {name}: ..., or {name}.column"
            )
        if name in REFUSED_BUILTINS:
            return self.c.mistake(f"`{name}` is not part of the model language", node, REFUSED_BUILTINS[name])
        hint = "a model takes numbers, texts, lists, arrays, frames and functions from outside"
        return self.c.mistake(f"`{name}` is a {outside.type_name(value)}, which a model cannot use", node, hint)

    def _small_number(self, name: str, value: Any, node: ast.AST) -> Node:
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) > 2**53:
            return self.c.mistake(f"`{name}` is beyond 2**53, where doubles skip integers", node)
        if plain in (float("inf"), float("-inf")):
            return number(plain, self.c.span(node))
        return self.c.parameter(name, value, node)

    def _array(self, name: str, value: Any, node: ast.AST) -> Node:
        size = getattr(value, "size", None)
        size = len(value) if size is None else size
        if size > LARGEST_VALUE:
            return self.c.mistake(
                f"`{name}` has {size} numbers, too many for a value", node, f"go through it: for x in {name}: ..."
            )
        return self.c.parameter(name, value, node)

    def unknown(self, name: str, node: ast.AST) -> Node:
        near = closest(name)
        hints = [f"did you mean `{near}`?"] if near else []
        return self.c.mistake(f"the name `{name}` is not known here", node, *hints)

    # ------------------------------------------------------------ operators

    def _binop(self, node: ast.BinOp, scope: Scope) -> Node:
        left, right = self(node.left, scope), self(node.right, scope)
        span = self.c.span(node)
        kinds = kind_of(self, node.left, scope), kind_of(self, node.right, scope)
        if isinstance(node.op, ast.MatMult):
            return call(self.product(*kinds), left, right, span=span)
        operator = _OPERATORS.get(type(node.op))
        if operator is None:
            return self.c.mistake("operations on bits are not part of the model language", node)
        if MATRIX in kinds:
            return self._on_matrices(node, (left, right), kinds, scope)
        # A list of numbers is no vector yet.
        left, right = (call("to_vector", p, span=p.span) if k == ARRAY else p for p, k in zip((left, right), kinds))
        if operator in ("pow", "int_div", "int_mod") and (VECTOR in kinds or ARRAY in kinds):
            sides = [(part, kind is not None) for part, kind in zip((node.left, node.right), kinds)]
            return self.each_entry(lambda parts: call(operator, *parts, span=span), sides, node, scope)
        return call(operator, left, right, span=span)

    def product(self, left: str | None, right: str | None) -> str:
        """What `@` is for these kinds."""
        if MATRIX in (left, right):
            return "matrix_mul" if left == right else "matrix_times_vector" if left == MATRIX else "vector_times_matrix"
        return "dot"

    def _on_matrices(
        self, node: ast.BinOp, parts: tuple[Node, Node], kinds: tuple[str | None, str | None], scope: Scope
    ) -> Node:
        (left, right), span = parts, self.c.span(node)
        if kinds == (MATRIX, MATRIX) and isinstance(node.op, ast.Add):
            return call("matrix_add", left, right, span=span)
        if kinds == (MATRIX, MATRIX) and isinstance(node.op, ast.Sub):
            return call("matrix_add", left, call("scale_matrix", word("-1"), right), span=span)
        if isinstance(node.op, ast.Mult) and None in kinds:
            return call("scale_matrix", *((left, right) if kinds[1] == MATRIX else (right, left)), span=span)
        if isinstance(node.op, ast.Div) and kinds == (MATRIX, None):
            return call("scale_matrix", call("/", word("1"), right), left, span=span)
        made = each_row(self, node, scope)
        if made is not None:
            return made
        hint = "`@` is the product of matrices, + and - add them, a number * m and m / a number scale them"
        return self.c.mistake("this operation on a matrix is not part of the model language", node, hint)

    def each_entry(
        self, one: Callable[[list[Node]], Node], parts: list[tuple[ast.expr, bool]], node: ast.AST, scope: Scope
    ) -> Node:
        """Something that the language has for numbers only, on vectors (the parts with True).

        It goes through the places of the entries: their number is known, whatever the entries are, so that nothing
        comes and goes when they move.
        """
        span = self.c.span(node)
        lengths = (length_of(self, part, scope) for part, is_whole in parts if is_whole)
        length = next((length for length in lengths if length is not None), None)
        bindings: list[Node] = []
        place = word(self.c.hidden_name("place"))
        made: list[Node] = []
        for part, is_whole in parts:
            value = self(part, scope)
            if not value.is_word:
                name = word(self.c.hidden_name("whole"))
                bindings.append(items([name, value]))
                value = name
            made.append(call("lookup", value, place) if is_whole else value)
            if is_whole and length is None:
                length = call("size", value)
        each = call("lambda", items([place]), one(made), span=span)
        assert length is not None
        found = call("to_vector", call("mapv", each, call("range", word("0"), length)), span=span)
        return call("let", items(bindings), found, span=span) if bindings else found

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Node:
        span, operand = self.c.span(node), node.operand
        if isinstance(node.op, ast.Not):
            return call("not", self(operand, scope), span=span)
        if isinstance(node.op, ast.UAdd):
            return self(operand, scope)
        if isinstance(node.op, ast.Invert):
            return self.c.mistake("`~` is not part of the model language", node, "write `not`")
        if isinstance(operand, ast.Constant) and isinstance(operand.value, (int, float)):
            return number(-operand.value, span)
        return call("-", self(operand, scope), span=span)

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Node:
        head = "and" if isinstance(node.op, ast.And) else "or"
        return call(head, *(self(value, scope) for value in node.values), span=self.c.span(node))

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Node:
        parts = (self(node.test, scope), self(node.body, scope), self(node.orelse, scope))
        return call("if", *parts, span=self.c.span(node))

    def _compare(self, node: ast.Compare, scope: Scope) -> Node:
        if kind_of(self, node, scope) == VECTOR:
            span, operator = self.c.span(node), _COMPARISONS[type(node.ops[0])]
            sides = [(part, kind_of(self, part, scope) is not None) for part in (node.left, node.comparators[0])]

            def one(parts: list[Node]) -> Node:
                return call("biplex", call(operator, *parts, span=span), word("1"), word("0"), span=span)

            return self.each_entry(one, sides, node, scope)
        operands = [self(part, scope) for part in (node.left, *node.comparators)]
        span = self.c.span(node)
        # In a chain what stands in the middle is drawn once.
        bindings: list[Node] = []
        for i in range(1, len(operands) - 1):
            if not operands[i].is_word:
                name = self.c.hidden_name("middle")
                bindings.append(items([word(name), operands[i]]))
                operands[i] = word(name)
        parts = [self._one_comparison(node, i, operands) for i in range(len(node.ops))]
        whole = parts[0] if len(parts) == 1 else call("and", *parts, span=span)
        return call("let", items(bindings), whole, span=span) if bindings else whole

    def _one_comparison(self, node: ast.Compare, i: int, operands: list[Node]) -> Node:
        operator, span = node.ops[i], self.c.span(node)
        if isinstance(operator, (ast.In, ast.NotIn)):
            found = call("contains", operands[i + 1], operands[i], span=span)
            return found if isinstance(operator, ast.In) else call("not", found, span=span)
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return self.c.mistake("`is` is not part of the model language", node, "write `==`")
        return call(_COMPARISONS[type(operator)], operands[i], operands[i + 1], span=span)

    # ------------------------------------------------------------ containers

    def _list(self, node: ast.List | ast.Tuple, scope: Scope) -> Node:
        return call("array", *(self(part, scope) for part in node.elts), span=self.c.span(node))

    _tuple = _list

    def _dict(self, node: ast.Dict, scope: Scope) -> Node:
        entries = []
        for key, value in zip(node.keys, node.values):
            if key is None:
                return self.c.mistake("`**` is not part of the model language", node)
            entries.append(call("array", self(key, scope), self(value, scope), span=self.c.span(value)))
        return call("dict", *entries, span=self.c.span(node))

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Node:
        from ._loops import Comprehensions

        return Comprehensions(self.c, self).whole(node, scope)

    _generatorexp = _listcomp

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Node:
        inner = scope.inner("function")
        parameters = self.calls.parameters(node.args, inner, node)
        return call("lambda", items(parameters), self(node.body, inner), span=self.c.span(node))

    def _call(self, node: ast.Call, scope: Scope) -> Node:
        return self.calls(node, scope)

    # ------------------------------------------------------------ subscripts

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Node:
        row = self.row_of(node.value, scope)
        if row is not None:
            return self._row_subscript(row, node, scope)
        use = self.table_of(node.value, scope)
        if use is not None and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self.column(use, node.slice.value, node)
        if use is not None:
            hint = f"observe in some rows: `for row in {use.name}: if row.g == 1: observe(...)`, or select before the call"
            return self.c.mistake("a part of a table is not part of the model language", node, hint)
        shape = node.value
        if isinstance(shape, ast.Attribute) and shape.attr == "shape":
            return self._shape(shape, node, scope)
        if not isinstance(node.slice, (ast.Slice, ast.Tuple)) and kind_of(self, node.slice, scope) in (VECTOR, ARRAY):
            # An entry for every index, as in NumPy.
            whole = self(node.value, scope)
            return self.each_entry(lambda parts: call("lookup", whole, *parts), [(node.slice, True)], node, scope)
        if any(isinstance(part, ast.Slice) for part in ast.walk(node.slice)):
            return Slices(self)(node, scope)
        container = self(node.value, scope)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(indices) > 1 and kind_of(self, node, scope) == VECTOR:

            def entry(places: list[Node]) -> Node:
                return functools.reduce(lambda whole, place: call("lookup", whole, place), places, container)

            return self.each_entry(entry, [(i, kind_of(self, i, scope) is not None) for i in indices], node, scope)
        for index in indices:
            container = self._lookup(container, index, node, scope)
        return container

    def _lookup(self, container: Node, index: ast.expr, node: ast.AST, scope: Scope) -> Node:
        span = self.c.span(node)
        if (
            isinstance(index, ast.UnaryOp)
            and isinstance(index.op, ast.USub)
            and isinstance(index.operand, ast.Constant)
        ):
            back = number(index.operand.value, self.c.span(index))  # type: ignore[arg-type]
            if container.is_word:
                return call("lookup", container, call("-", call("size", container), back), span=span)
            name = word(self.c.hidden_name("whole"))
            found = call("lookup", name, call("-", call("size", name), back), span=span)
            return call("let", items([items([name, container])]), found, span=span)
        return call("lookup", container, self(index, scope), span=span)

    def _shape(self, shape: ast.Attribute, node: ast.Subscript, scope: Scope) -> Node:
        value = self.c.value_of(shape.value.id, scope) if isinstance(shape.value, ast.Name) else MISSING
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            if self.c.is_defining:
                return word("0")
            if hasattr(value, "shape"):
                return number(value.shape[node.slice.value], self.c.span(node))
        return self.c.mistake("`shape` is known for inputs only", node, "write len(xs)")

    def _row_subscript(self, row: Row, node: ast.Subscript, scope: Scope) -> Node:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self.cell(row, node.slice.value, node)
        use = self.c.tables.get(row.table)
        if use is not None and use.kind == "arrays" and len(use.sources) == 1:
            return self._lookup(self.row_itself(row, node.value), node.slice, node, scope)
        columns = self._column_list(node.slice, scope)
        if columns is None:
            if self.c.is_defining:
                return word(f"{row.variable}.x", self.c.span(node))
            return self.c.mistake(
                "a row is asked for a column or a list of columns",
                node,
                f'{row.variable}["a name"], {row.variable}[["a", "b"]]',
            )
        name = node.slice.id if isinstance(node.slice, ast.Name) else "_".join(columns)
        if use is None:
            return word(f"{row.variable}.{name}", self.c.span(node))
        for column in columns:
            self._check_column(use, column, node)
        return self.cell(
            row, self.c.vector(use, name if name.isidentifier() else "vector", columns), node, checked=True
        )

    def _column_list(self, node: ast.expr, scope: Scope) -> tuple[str, ...] | None:
        if isinstance(node, (ast.List, ast.Tuple)):
            names = [part.value for part in node.elts if isinstance(part, ast.Constant)]
            whole = len(names) == len(node.elts)
            return tuple(names) if whole and names and all(isinstance(n, str) for n in names) else None  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            value = self.c.value_of(node.id, scope)
            if isinstance(value, (list, tuple)) and value and all(isinstance(n, str) for n in value):
                return tuple(value)
        return None

    # ------------------------------------------------------------ attributes

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Node:
        row = self.row_of(node.value, scope)
        if row is not None:
            return self.cell(row, node.attr, node)
        use = self.table_of(node.value, scope)
        if use is not None:
            return self.column(use, node.attr, node)
        value = self.member(node, scope)
        if value is not MISSING:
            if outside.is_number(value):
                return number(float(value), self.c.span(node))
            return self.outer(node.attr, value, node)
        if node.attr == "T":
            return call("transpose", self(node.value, scope), span=self.c.span(node))
        if self.c.is_defining and self._is_outer(node.value, scope):
            return word("0")
        hint = "columns are those of the tables that the model is given: t.x"
        return self.c.mistake(f"`.{node.attr}` is not part of the model language", node, hint)

    def _is_outer(self, node: ast.expr, scope: Scope) -> bool:
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        return isinstance(node, ast.Name) and isinstance(scope.find(node.id), (Input, type(None)))

    def member(self, node: ast.Attribute, scope: Scope) -> Any:
        """A member of a module."""
        owner: Any = MISSING
        if isinstance(node.value, ast.Name) and scope.find(node.value.id) is None:
            owner = self.c.outside.find(node.value.id)
        elif isinstance(node.value, ast.Attribute):
            owner = self.member(node.value, scope)
        if isinstance(owner, types.ModuleType):
            return getattr(owner, node.attr, MISSING)
        return MISSING

    def row_of(self, node: ast.expr, scope: Scope) -> Row | None:
        binding = scope.find(node.id) if isinstance(node, ast.Name) else None
        return binding if isinstance(binding, Row) else None

    def table_of(self, node: ast.expr, scope: Scope) -> TableUse | None:
        """The table that a name stands for."""
        if not isinstance(node, ast.Name):
            return None
        binding = scope.find(node.id)
        if isinstance(binding, Input):
            if self.c.inputs is None:
                return None
            value = self.c.inputs[binding.name]
        elif binding is None:
            value = self.c.outside.find(node.id)
        else:
            return None
        if value is MISSING or not outside.is_frame(value) or isinstance(value, dict) and not _is_columns(value):
            return None
        return self.c.table(node.id, value)

    def cell(self, row: Row, column: str, node: ast.AST, checked: bool = False) -> Node:
        span, use = self.c.span(node), self.c.tables.get(row.table)
        if column == "index":
            return Node(row.index.content, span) if row.index else word(f"{row.variable}.index", span)
        if use is not None and not checked:
            column = self._check_column(use, column, node)
        if row.index is not None:
            return call("cell", word(row.table), column_word(column), row.index, span=span)
        return word(cell_word(row.variable, column), span)

    def column(self, use: TableUse, column: str, node: ast.AST) -> Node:
        column = self._check_column(use, column, node)
        return call("column", word(use.name), column_word(column), span=self.c.span(node))

    def _check_column(self, use: TableUse, column: str, node: ast.AST) -> str:
        """The table's own spelling of a column; Python reads µ as μ in names."""
        known = columns_of(use)
        if column in known or not known:
            return column
        import unicodedata

        for name in known:
            if unicodedata.normalize("NFKC", name) == column:
                return name
        import difflib

        near = difflib.get_close_matches(column, known, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"it has {', '.join(known[:8])}"
        self.c.mistake(f"the table `{use.name}` has no column `{column}`", node, hint)
        return column


def _is_columns(value: dict[Any, Any]) -> bool:
    """Whether a dictionary is a table: arrays of one length, by name."""
    sizes = {len(v) if hasattr(v, "__len__") and not isinstance(v, str) else -1 for v in value.values()}
    return bool(value) and all(isinstance(k, str) for k in value) and len(sizes) == 1 and -1 not in sizes
