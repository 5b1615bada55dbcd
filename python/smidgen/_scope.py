"""What names mean while a model is compiled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator

from ._syntax import Node


@dataclass
class Word:
    """A name of the program: assumed, or a parameter of a lambda."""

    text: str
    #: ``matrix``, ``vector`` or ``array``, where that is known.
    kind: str | None = None
    #: How many entries it has, where that does not hang on its value.
    length: Node | None = None
    #: How many columns a matrix has, likewise.
    columns: Node | None = None
    #: What it stands for, where that is arithmetic on vectors.
    formula: Any = None
    #: Whether it is computed from the row of a loop and from what is outside, and nothing random.
    is_data: bool = False


@dataclass
class Procedure:
    """A function of the program whose arguments have names."""

    text: str
    parameters: list[str]
    defaults: dict[str, Node]


@dataclass
class Cell:
    """A name that stands for an expression, such as a cell of the row."""

    node: Node


@dataclass
class Row:
    """A row of a table: the variable of a ``for``, or an index into it."""

    table: str
    variable: str
    index: Node | None = None


@dataclass
class Input:
    """A parameter of the model."""

    name: str


Binding = Word | Procedure | Cell | Row | Input


@dataclass
class Scope:
    """Names by the part of the model that binds them: ``model``, ``loop`` or ``function``."""

    kind: str
    parent: "Scope | None" = None
    names: dict[str, Binding] = field(default_factory=dict)

    def inner(self, kind: str) -> "Scope":
        return Scope(kind, self)

    def find(self, name: str) -> Binding | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def __iter__(self) -> Iterator["Scope"]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def in_function(self) -> bool:
        return any(scope.kind == "function" for scope in self)

    @property
    def in_loop(self) -> bool:
        return any(scope.kind == "loop" for scope in self)


@dataclass
class TableUse:
    """A table of the program: what it is made of, and the vectors of columns that it needs."""

    name: str
    #: ``frame``: the input itself; ``arrays``: one column per input array.
    kind: str
    sources: list[tuple[str, Any]]
    vectors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: What becomes of missing cells: ``skip`` or ``infer``.
    missing: str | None = None
