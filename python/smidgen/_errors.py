"""What goes wrong, as Python exceptions whose tracebacks lead into the user's own model."""

from __future__ import annotations

import sys
import types
import typing

if typing.TYPE_CHECKING:
    from ._source import Span


class SmidgenError(Exception):
    """Base of what this package raises."""


class SmidgenWarning(UserWarning):
    """Base of the warnings of this package."""


class ConvergenceWarning(SmidgenWarning):
    """The draws may not be from the posterior yet."""


class ApproximationWarning(SmidgenWarning):
    """Decisions were made from a part of the data, and something speaks against them."""


class DataWarning(SmidgenWarning):
    """Something about the data may not be as intended."""


class InterruptedWarning(SmidgenWarning):
    """A run was stopped before all draws were made."""


class ModelSyntaxError(SmidgenError, SyntaxError):
    """A model uses something that is not part of the model language."""

    hints: list[str]

    def __init__(self, message: str, *details: typing.Any, hints: typing.Sequence[str] = ()) -> None:
        full = "\n  hint: ".join([message, *hints])
        super().__init__(full, *details)
        self.hints = list(hints)


class ModelError(SmidgenError):
    """A model cannot be run with these data, or failed while it ran.

    ``places`` are (file, line, text) of the way to the mistake, outermost first; ``hints`` say what to do.
    """

    def __init__(self, message: str, places: typing.Sequence["Place"] = (), hints: typing.Sequence[str] = ()) -> None:
        self.message = message
        self.places = list(places)
        self.hints = list(hints)
        lines = [message]
        lines += [f"  at {shown_name(place.filename)}, line {place.line}: {place.text}" for place in self.places]
        lines += [f"  hint: {hint}" for hint in self.hints]
        super().__init__("\n".join(lines))

    def __reduce__(self) -> typing.Any:
        return (ModelError, (self.message, self.places, self.hints))


class Interrupted(SmidgenError, KeyboardInterrupt):
    """Ctrl-C in a script; ``result`` is what was drawn until then, or None."""

    result: typing.Any = None


def shown_name(filename: str) -> str:
    """What a reader calls a file: of a notebook's cell, its number."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(filename)
    return " ".join(name) if name else filename


class Place(typing.NamedTuple):
    """A line of a user's file or cell."""

    filename: str
    line: int
    text: str


class Mistake(typing.NamedTuple):
    """Something wrong with a model's source, and what to do about it."""

    message: str
    span: "Span | None"
    hints: tuple[str, ...] = ()

    def exception(self) -> ModelSyntaxError:
        if self.span is None:
            return ModelSyntaxError(self.message, hints=self.hints)
        text = self.span.text
        line, column = text.position(self.span.start)
        end_line, end = text.position(self.span.end)
        shown = text.line(line).rstrip("\n")
        if end_line != line:
            end_line, end = line, len(shown)
        details = (text.filename, line, column + 1, shown, end_line, end + 1)
        return ModelSyntaxError(self.message, details, hints=self.hints)

    def note(self) -> str:
        if self.span is None:
            return "\n  hint: ".join([f"also: {self.message}", *self.hints])
        text = self.span.text
        line, column = text.position(self.span.start)
        end_line, end = text.position(self.span.end)
        shown = text.line(line).rstrip("\n")
        if end_line != line:
            end = len(shown)
        stripped = shown.lstrip()
        shift = len(shown) - len(stripped)
        marks = " " * (column - shift) + "^" * max(end - column, 1)
        lines = [f'also: File "{shown_name(text.filename)}", line {line}', f"    {stripped}", f"    {marks}", self.message]
        return "\n".join([*lines, *(f"  hint: {hint}" for hint in self.hints)])


def raise_mistakes(mistakes: list[Mistake]) -> typing.NoReturn:
    """The first mistake as an exception, the others as its notes."""
    __tracebackhide__ = True
    ordered = sorted(mistakes, key=lambda m: m.span.start if m.span else -1)
    error = ordered[0].exception()
    for other in ordered[1:]:
        error.add_note(other.note())
    raise error from None


# ---------------------------------------------------------------- errors of the engine


def model_error(
    problems: list[dict[str, typing.Any]], find: typing.Callable[[str, int, int], "Span | None"]
) -> ModelError:
    """The exception for diagnostics of the engine; ``find`` knows the source of a text's bytes."""
    first = next((p for p in problems if p["is_error"]), problems[0])
    error = _model_error(first, find)
    for other in problems:
        if other is not first and other["is_error"]:
            error.add_note("also: " + str(_model_error(other, find)))
    return error


def _model_error(problem: dict[str, typing.Any], find: typing.Callable[[str, int, int], "Span | None"]) -> ModelError:
    spans: list[tuple[str, Span | None]] = []
    for text, place in problem["path"]:
        spans.append((text, find(*place)))
    if problem["place"] is not None:
        spans.append(("", find(*problem["place"])))
    places, frames = [], []
    for i, (label, span) in enumerate(spans):
        if span is None or _holds(span, spans[i + 1][1] if i + 1 < len(spans) else None):
            continue
        line, _ = span.text.position(span.start)
        places.append(Place(span.text.filename, line, " ".join(span.text.segment(span).split())))
        frames.append((span, _function_at(span)))
    message = problem["message"]
    if problem["label"]:
        message += f" ({problem['label']})"
    error = ModelError(message, places, problem["hints"])
    return error.with_traceback(_traceback(frames))


def _holds(span: "Span", inner: "Span | None") -> bool:
    """Whether the next place is inside this one, and so says more."""
    if inner is None or inner.text.filename != span.text.filename:
        return False
    return span.start <= inner.start and inner.end <= span.end


def _function_at(span: "Span") -> str:
    """The name of the innermost function of the source around a place."""
    import ast

    try:
        tree = ast.parse("".join(span.text.lines))
    except SyntaxError:
        return "<model>"
    name = "<module>"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            whole = span.text.span(node)
            if whole.start <= span.start and span.end <= whole.end:
                name = node.name
    return name


def _traceback(frames: list[tuple["Span", str]]) -> types.TracebackType | None:
    """Real frames at these places of the user's source, so that Python draws its carets there."""
    made: types.TracebackType | None = None
    for span, name in reversed(frames):
        frame = _frame(span, name)
        if frame is not None:
            made = types.TracebackType(made, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return made


def _frame(span: "Span", name: str) -> types.TracebackType | None:
    import ast

    line, column, end_line, end = span.text.columns(span)
    statement = ast.Raise(exc=ast.Name(id="_smidgen_error", ctx=ast.Load()), cause=None)
    for node in ast.walk(statement):
        node.lineno, node.col_offset = line, column  # type: ignore[attr-defined]
        node.end_lineno, node.end_col_offset = end_line, end  # type: ignore[attr-defined]
    try:
        code = compile(ast.Module(body=[statement], type_ignores=[]), span.text.filename, "exec", dont_inherit=True)
        code = code.replace(co_name=name, co_qualname=name)
        exec(code, {"_smidgen_error": SmidgenError(), "__name__": name})
    except SmidgenError as error:
        return error.__traceback__.tb_next if error.__traceback__ else None
    except (SyntaxError, ValueError):
        return None
    return None
