"""Pieces of HTML for notebooks: plain tables that follow the page's own colours."""

from __future__ import annotations

import html
from typing import Mapping, Sequence

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


def progress_html(progress: tuple[int, int, float], request: Mapping[str, int], finished: bool) -> str:
    done, total, seconds = progress
    share = done / total if total else 0.0
    bar = (
        '<div style="width:240px;height:8px;background:#8884;border-radius:4px">'
        f'<div style="width:{240 * share:.0f}px;height:8px;background:#3a7;border-radius:4px"></div></div>'
    )
    sweeps = f"{done / seconds:.0f}" if seconds > 0 else "–"
    state = "finished" if finished else "sampling"
    row = (state, str(request["chains"]), f"{done} of {total}", sweeps, f"{seconds:.1f}")
    return table_html(("", "chains", "sweeps", "sweeps/s", "seconds"), [row]) + ("" if finished else bar)
