"""Waiting for what takes long, with an eye on Ctrl-C and on the display."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Mapping

from . import _core
from ._errors import SmidgenWarning
from ._progress import display
from ._words import python_words

if TYPE_CHECKING:
    from ._model import BoundModel

#: How often a waiting call looks at signals and at the display.
GLANCE = 0.05

#: Below this nobody needs to see how far it is.
PATIENCE = 0.5


def wait_for(job: _core.Job, model: "BoundModel", progress: bool | None = None) -> Any:
    """The result of a job. Ctrl-C ends it: half a prediction is of no use to anybody."""
    shown: Any = None
    waited = 0.0
    try:
        while not job.wait(GLANCE):
            waited += GLANCE
            if waited >= PATIENCE:
                shown = shown or display(progress, {})
                if shown is not None:
                    shown.paint(job)
    except BaseException:
        job.stop()
        raise
    finally:
        if shown is not None:
            shown.close(job)
    try:
        return job.result()
    except _core.Failure as failure:
        raise model._error(failure) from None


def say(texts: list[str], category: type[SmidgenWarning], stacklevel: int) -> None:
    for text in texts:
        warnings.warn(python_words(text), category, stacklevel=stacklevel + 1)


def whole(values: Mapping[str, tuple[Any, int]]) -> None:
    """Refuses arguments that are no whole numbers from so much on."""
    for word, (value, least) in values.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise ValueError(f"{word}={value!r}: a whole number from {least} on")
