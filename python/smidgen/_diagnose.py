"""The verdict on a run, in prose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._result import Result


def diagnose(result: "Result") -> str:
    rows = result.summary().rows
    lengths = result._outcome.lengths
    sentences = [f"{len(lengths)} chains of {max(lengths, default=0)} draws, seed {result.seed}."]
    if not result.is_complete:
        sentences.append("The run was stopped before all draws were made.")
    known = {name: row for name, row in rows.items() if not math.isnan(row["r_hat"])}
    if known:
        worst = max(known, key=lambda name: known[name]["r_hat"])
        least = min(known, key=lambda name: min(known[name]["ess_bulk"], known[name]["ess_tail"]))
        r_hat = known[worst]["r_hat"]
        effective = min(known[least]["ess_bulk"], known[least]["ess_tail"])
        sentences.append(
            f"The largest r_hat is {r_hat:.3f} (`{worst}`): "
            + ("the chains agree." if r_hat <= 1.01 else "the chains do not agree yet; more tune= and draws= may help.")
        )
        sentences.append(
            f"`{least}` has the fewest effective draws, {effective:.0f}: "
            + ("enough for means and intervals." if effective >= 400 else "its mean and interval are rough.")
        )
    for kernel in result.kernels:
        if kernel.get("population"):
            share = 100 * kernel["sections_used"] / kernel["population"]
            sentences.append(f"{kernel['kernel']} read {share:.3g} % of the data that a scan would have read.")
    sentences += [text if text.endswith(".") else text + "." for text in result.warnings]
    if not result.warnings:
        sentences.append("Nothing speaks against these draws.")
    return "\n".join(sentences)
