"""Programs as trees of words and brackets, and their text.

Every part knows which bytes of the user's source it came from. :func:`write` gives the text and a
map from bytes of the text to the source: that is how a mistake that the engine finds is shown in the
user's own file or cell.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Union

from ._source import Span

WIDTH = 100


@dataclass(slots=True)
class Node:
    """A word, or a list in round or square brackets; ``label`` stands before a directive."""

    content: Union[str, list["Node"]]
    span: Span | None = None
    square: bool = False
    label: str | None = None

    @property
    def is_word(self) -> bool:
        return isinstance(self.content, str)


def word(text: str, span: Span | None = None) -> Node:
    return Node(text, span)


def call(head: str, *parts: Node, span: Span | None = None) -> Node:
    return Node([word(head, span), *parts], span)


def items(parts: list[Node], span: Span | None = None) -> Node:
    return Node(parts, span)


def directive(head: str, *parts: Node, span: Span | None = None, label: str | None = None) -> Node:
    return Node([word(head, span), *parts], span, square=True, label=label)


def number(x: float | int | bool, span: Span | None = None) -> Node:
    if isinstance(x, bool):
        return word("true" if x else "false", span)
    value = float(x)
    if value != value:
        return call("/", word("0"), word("0"), span=span)
    if value in (float("inf"), float("-inf")):
        return word("inf" if value > 0 else "-inf", span)
    if value.is_integer() and abs(value) < 1e16:
        return word(str(int(value)), span)
    return word(repr(value), span)


def string(text: str, span: Span | None = None) -> Node:
    return word(quoted(text), span)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# ---------------------------------------------------------------- text


class Written:
    """The text of a program, and where its parts came from."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.places: list[tuple[int, int, Span]] = []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text.encode())

    def write(self, node: Node, indent: int = 0) -> None:
        if node.label is not None:
            self.put(f"{quoted(node.label)}: ")
        start = self._length
        if isinstance(node.content, str):
            self.put(node.content)
        else:
            opening, closing = "[]" if node.square else "()"
            self.put(opening)
            broken = node.square and node.content[0].content == "for" or _width(node) + indent > WIDTH
            for i, part in enumerate(node.content):
                if i > 0:
                    fresh = broken and (part.square or not part.is_word) and not _stays(node, i)
                    self.put("\n" + " " * (indent + 2) if fresh else " ")
                self.write(part, indent + 2)
            self.put(closing)
        if node.span is not None:
            self.places.append((start, self._length, node.span))

    def find(self, start: int, end: int) -> Span | None:
        """The part of the source that bytes of the text came from: the smallest that holds them."""
        holding = [p for p in self.places if p[0] <= start and end <= p[1]]
        if not holding:
            return None
        return min(holding, key=lambda p: p[1] - p[0])[2]


def _width(node: Node) -> int:
    if isinstance(node.content, str):
        return len(node.content)
    return sum(_width(part) + 1 for part in node.content) + 1


def _stays(node: Node, i: int) -> bool:
    """The parameters of a lambda and the range of a loop stay on its first line."""
    assert not isinstance(node.content, str)
    head = node.content[0].content
    return head == "lambda" and i == 1 or head == "for" and i <= 3


def write(program: list[Node]) -> Written:
    written = Written()
    for part in program:
        written.write(part)
        written.put("\n")
    return written
