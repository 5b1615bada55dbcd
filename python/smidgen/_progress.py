"""How far a run is: a line on a terminal, a table in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Mapping

from . import _core

#: What is waited for.
Running = _core.Run | _core.Job

#: Seconds between two pictures.
PERIOD = 0.25


class Display:
    """Shows progress; whatever fails here must not disturb the run."""

    def __init__(self) -> None:
        self._last = 0.0

    def paint(self, core: Running) -> None:
        now = time.monotonic()
        if now - self._last >= PERIOD:
            self._last = now
            self._try(core, False)

    def close(self, core: Running) -> None:
        self._try(core, True)

    def _try(self, core: Running, finished: bool) -> None:
        try:
            self._draw(core, finished)
        except Exception:  # a closed stream, a notebook that went away
            pass

    def _draw(self, core: Running, finished: bool) -> None:
        raise NotImplementedError


class Terminal(Display):
    def __init__(self, request: Mapping[str, int]) -> None:
        super().__init__()
        self._request = request
        self._painted = False

    def _draw(self, core: Running, finished: bool) -> None:
        done, total, seconds = core.progress()
        if finished:
            if self._painted:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            return
        share = done / total if total else 0.0
        bar = "█" * int(24 * share) + "░" * (24 - int(24 * share))
        chains = f"{self._request['chains']} chains " if "chains" in self._request else ""
        left = f", about {seconds / share * (1 - share):.0f} s left" if share > 0.02 else ""
        sys.stderr.write(f"\r\x1b[K{chains}{bar} {100 * share:3.0f} %, {seconds:.1f} s{left}")
        sys.stderr.flush()
        self._painted = True


class Notebook(Display):
    """One cell output that is repainted; works from any thread."""

    def __init__(self, request: Mapping[str, int]) -> None:
        super().__init__()
        self._request = request
        self._handle: Any = None

    def _draw(self, core: Running, finished: bool) -> None:
        from IPython import display as ipython

        from ._html import progress_html

        page = ipython.HTML(progress_html(core, self._request, finished))
        if self._handle is None:
            self._handle = ipython.display(page, display_id=True)
        else:
            self._handle.update(page)


class Marimo(Display):
    def __init__(self, request: Mapping[str, int]) -> None:
        super().__init__()
        self._request = request

    def _draw(self, core: Running, finished: bool) -> None:
        import marimo

        from ._html import progress_html

        marimo.output.replace(marimo.Html(progress_html(core, self._request, finished)))


def display(wanted: bool | None, request: Mapping[str, int]) -> Display | None:
    """The display that suits the place; ``wanted`` False is none, True one even where nobody looks."""
    if wanted is False:
        return None
    if _in_marimo():
        return Marimo(request)
    if _in_notebook():
        return Notebook(request)
    if wanted or sys.stderr.isatty():
        return Terminal(request)
    return None


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _in_marimo() -> bool:
    marimo = sys.modules.get("marimo")
    try:
        return marimo is not None and bool(marimo.running_in_notebook())
    except Exception:
        return False
