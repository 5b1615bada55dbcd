"""Functions of Python that the language has no word for, by formulas of those that it has."""

from __future__ import annotations

import math

from ._source import Span
from ._syntax import Node, call, items, word

#: What stands for a call; ``x`` is its argument.
FORMULAS: dict[str, str] = {
    "@tanh": "(- (* 2 (logistic (* 2 x))) 1)",
    "@sinh": "(/ (- (expm1 x) (expm1 (- x))) 2)",
    "@cosh": "(/ (+ (exp x) (exp (- x))) 2)",
    "@atan": "(atan2 x 1)",
    "@asin": "(atan2 x (sqrt (- 1 (square x))))",
    "@acos": "(atan2 (sqrt (- 1 (square x))) x)",
    "@log2": f"(/ (log x) {math.log(2)!r})",
    "@log10": f"(/ (log x) {math.log(10)!r})",
    "@erf": f"(- (* 2 (cdf normal (* x {math.sqrt(2)!r}) 0 1)) 1)",
    "@ndtr": "(cdf normal x 0 1)",
    # Of whole vectors.
    "@var": "(mean (mapv square (- (to_vector x) (mean x))))",
    "@std": "(sqrt (mean (mapv square (- (to_vector x) (mean x)))))",
    "@argmax": "(first (filter (lambda (i) (= (lookup x i) (max x))) (range 0 (size x))))",
    "@argmin": "(first (filter (lambda (i) (= (lookup x i) (min x))) (range 0 (size x))))",
    "@softmax": "(to_vector (mapv exp (- (to_vector x) (logsumexp x))))",
}


def formula(name: str, argument: Node, span: Span) -> Node:
    """The formula with this argument, which is evaluated once."""
    text = FORMULAS[name]
    name_of = "_x"
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    is_single = words.count("x") == 1
    place = iter(words)

    def read(token: str) -> Node:
        if token != "(":
            return (argument if is_single else word(name_of, span)) if token == "x" else word(token, span)
        parts: list[Node] = []
        for inner in place:
            if inner == ")":
                return items(parts, span)
            parts.append(read(inner))
        raise AssertionError("brackets are balanced")

    made = read(next(place))
    if is_single:
        return made
    return call("let", items([items([word(name_of), argument])]), made, span=span)
