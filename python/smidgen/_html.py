"""Pieces of HTML for notebooks: plain tables that follow the page's own colours."""

from __future__ import annotations

import html
from typing import Mapping, Sequence

from . import _core

_STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;margin:4px 0"
_CELL = "padding:2px 10px;text-align:right;border:none"
_HEAD = _CELL + ";opacity:.65;font-weight:normal;border-bottom:1px solid currentColor"


def table_html(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th style="{_HEAD}">{html.escape(text)}</th>' for text in header)
    lines = []
    for row in rows:
        cells = [f'<td style="{_CELL};text-align:left">{html.escape(row[0])}</td>']
        cells += [f'<td style="{_CELL}">{html.escape(text)}</td>' for text in row[1:]]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>'


def notes_html(notes: Sequence[str]) -> str:
    return "".join(f'<div style="margin:2px 0;font-size:13px">{html.escape(note)}</div>' for note in notes)


def program_html(text: str) -> str:
    return f'<pre style="font-size:12px;line-height:1.35">{html.escape(text)}</pre>'


def progress_html(core: _core.Run | _core.Job, request: Mapping[str, int], finished: bool) -> str:
    """A row per chain, and a bar while there is something to wait for."""
    done, total, seconds = core.progress()
    share = done / total if total else 0.0
    rows = []
    chains = core.chains() if isinstance(core, _core.Run) else []
    for i, (phase, tune, draws, diverged, accepted, step, read, speed) in enumerate(chains):
        made = f"{tune} of {request['tune']}" if phase == "tuning" else f"{draws} of {request['draws']}"
        rows.append(
            (
                f"chain {i}",
                phase,
                made,
                str(diverged),
                _share(accepted),
                "–" if step is None else f"{step:.3g}",
                _share(read),
                f"{speed:.0f}",
            )
        )
    header = ("", "", "sweeps", "divergences", "accepted", "step", "data read", "sweeps/s")
    table = table_html(header, rows) if rows else ""
    is_whole = done >= total
    state = ("finished" if is_whole else "stopped") if finished else "sampling" if rows else "at work"
    bar = (
        '<div style="width:240px;height:8px;background:#8884;border-radius:4px">'
        f'<div style="width:{240 * share:.0f}px;height:8px;background:#3a7;border-radius:4px"></div></div>'
    )
    return table + notes_html([f"{state}, {seconds:.1f} s"]) + ("" if finished else bar)


def _share(x: float | None) -> str:
    return "–" if x is None else f"{100 * x:.3g} %"
