"""A run in the background: wait for it, look at it, stop it."""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, Mapping

from . import _core
from ._errors import Interrupted, InterruptedWarning, SmidgenError, SmidgenWarning
from ._progress import Display, display
from ._result import Result
from ._words import python_words

if TYPE_CHECKING:
    from ._model import BoundModel

#: What is known about a chain while it runs.
CHAIN = ("phase", "tune", "draws", "divergences", "acceptance", "step_size", "share_of_data", "sweeps_per_second")

#: How often a waiting call looks at signals and at the display.
GLANCE = 0.05


class Run:
    """A run that goes on in threads of its own; errors come out of :meth:`wait`."""

    def __init__(self, core: _core.Run, model: "BoundModel", request: Mapping[str, int], folder: str | None = None) -> None:
        self._core = core
        self._model = model
        self._request = dict(request)
        #: The run folder that it is written to.
        self._folder = folder
        self._process = os.getpid()
        self._result: Result | None = None
        self._display: Display | None = None

    def _own(self) -> _core.Run:
        if os.getpid() != self._process:
            raise SmidgenError("a run belongs to the process that began it; after a fork there is none")
        return self._core

    @property
    def is_finished(self) -> bool:
        """Whether the run is over, for whatever reason."""
        return self._own().is_finished

    @property
    def progress(self) -> dict[str, Any]:
        """How far it is: sweeps ``done`` of ``total`` (tuning included), ``seconds``, ``sweeps_per_second``, and ``chains``."""
        done, total, seconds = self._own().progress()
        chains = [dict(zip(CHAIN, chain)) for chain in self._core.chains()]
        return {
            "chains": chains,
            "done": done,
            "total": total,
            "seconds": seconds,
            "sweeps_per_second": done / seconds if seconds > 0 else 0.0,
        }

    def wait(self, timeout: float | None = None) -> Result:
        """The result, when it is there; ``TimeoutError`` after ``timeout`` seconds, while the run goes on."""
        __tracebackhide__ = True
        core = self._own()
        end = None if timeout is None else time.monotonic() + timeout
        while not core.wait(GLANCE if end is None else max(min(GLANCE, end - time.monotonic()), 0.0)):
            if end is not None and time.monotonic() >= end:
                raise TimeoutError("the run has not finished yet; it goes on")
            self._repaint()
        return self._finished(stacklevel=3)

    def cancel(self) -> Result:
        """Stops the run and gives what was drawn until then."""
        core = self._own()
        core.stop()
        while not core.wait(GLANCE):
            pass
        return self._finished(stacklevel=3, cancelled=True)

    def inspect(self) -> Result:
        """What has been drawn so far, while the run goes on."""
        outcome = self._own().inspect()
        if outcome is None:
            raise SmidgenError("nothing has been drawn yet")
        return Result(outcome, self._model, self._request)

    def _finished(self, stacklevel: int, cancelled: bool = False) -> Result:
        __tracebackhide__ = True
        if self._display is not None:
            self._display.close(self._core)
            self._display = None
        self._say(stacklevel + 1)
        if self._result is None:
            try:
                outcome = self._core.result()
            except _core.Failure as failure:
                raise self._model._error(failure) from None
            self._result = Result(outcome, self._model, self._request)
            self._result._warn(stacklevel + 1, quiet=cancelled)
        return self._result

    # ------------------------------------------------------------ waiting in the call

    def _show(self, wanted: bool | None) -> None:
        self._display = display(wanted, self._request)

    def _show_by_itself(self, wanted: bool | None) -> None:
        """Repaints while nobody waits, until the run has ended."""
        import threading

        self._show(wanted)
        shown = self._display
        if shown is None:
            return

        def paint() -> None:
            while not self._core.wait(GLANCE) and self._display is shown:
                shown.paint(self._core)
            if self._display is shown:
                self._display = None
                shown.close(self._core)

        threading.Thread(target=paint, name="smidgen progress", daemon=True).start()

    def _say(self, stacklevel: int = 4) -> None:
        """What there is to be said about the folder."""
        for text in self._core.said():
            text = text.removeprefix("note: ").removeprefix("warning: ")
            warnings.warn(python_words(text), SmidgenWarning, stacklevel=stacklevel)

    def _repaint(self) -> None:
        self._say()
        if self._display is not None:
            self._display.paint(self._core)

    def _wait_here(self, progress: bool | None) -> Result:
        """Waits as ``sample`` does: Ctrl-C stops the run and keeps what was drawn."""
        __tracebackhide__ = True
        self._show(progress)
        try:
            while not self._core.wait(GLANCE):
                self._repaint()
        except KeyboardInterrupt:
            return self._interrupted()
        except BaseException:
            self._core.stop()
            raise
        return self._finished(stacklevel=4)

    def _interrupted(self) -> Result:
        self._core.stop()
        while not self._core.wait(GLANCE):
            pass  # a second Ctrl-C raises here
        result: Result | None = None
        try:
            result = self._finished(stacklevel=5, cancelled=True)
        except SmidgenError:
            result = None
        if result is not None and not result.names:
            result = None
        if is_interactive() and result is not None:
            made = max(result._outcome.lengths, default=0)
            warnings.warn(
                f"stopped: {made} of {self._request['draws']} draws per chain", InterruptedWarning, stacklevel=4
            )
            return result
        _end_as_interrupted()
        goes_on = "" if self._folder is None else f'; resume("{self._folder}") goes on'
        error = Interrupted(f"stopped by Ctrl-C; `.result` has what was drawn{goes_on}")
        error.result = result
        raise error from None

    def __reduce__(self) -> Any:
        raise TypeError("a run belongs to its process: wait for its result and pickle that")

    def __repr__(self) -> str:
        done, total, seconds = self._core.progress()
        state = "finished" if self._core.is_finished else "running"
        return f"<smidgen run of {self._model.name}: {state}, {done} of {total} sweeps, {seconds:.1f} s>"

    def _repr_html_(self) -> str:
        from ._html import progress_html

        return progress_html(self._core, self._request, self._core.is_finished)


def _end_as_interrupted() -> None:
    """A script that does not catch it ends as scripts do after Ctrl-C: by the signal, which shells call 130."""
    import atexit
    import signal

    previous = sys.excepthook

    def hook(kind: type[BaseException], value: BaseException, trace: Any) -> None:
        previous(kind, value, trace)
        if issubclass(kind, Interrupted):
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)

    sys.excepthook = hook


def is_interactive() -> bool:
    if hasattr(sys, "ps1"):
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None
