"""Messages of the engine in Python's words: ``tune=`` where the command says ``--warmup``."""

from __future__ import annotations

import os
import re

_WORDS = [
    (r"`smidgen sample --resume (\S+)`", r'resume("\1")'),
    (r"--restart-from (\S+\.run)", r'sample(restart_from="\1")'),
    (r"--restart-from\b", "sample(restart_from=...)"),
    (r"--from-seed\b", "resume(from_seed=True)"),
    (r"--resume\b", "resume()"),
    (r"`smidgen explain(?: \S+)?`|smidgen explain(?: FILE| \S+\.smg)?", ".explain()"),
    (r"`smidgen compare(?: \S+)?`", ".compare()"),
    (r"--warmup\b", "tune="),
    (r"--draws\b", "draws="),
    (r"--chains\b", "chains="),
    (r"--thin\b", "thin="),
    (r"--seed\b", "seed="),
    (r"--kernel\b", "kernel="),
    (r"--record(?: EXPR)?", "record="),
    (r"--approximate\b", "approximate=True"),
    (r"--threads\b", "cores="),
    (r"--data (\w+)=path\.csv", r"\1=frame"),
    (r"--param (\w+)=\S+", r"\1=value"),
    (r"--param ", ""),
    (r"--data ", ""),
    (r"--out(?: FILE)?\b", ".save()"),
    (r"--most(?: N)?\b", "most="),
    (r"--simulations\b", "simulations="),
    (r"--init\b", "init="),
    (r'\[table (\w+) "\.\.\." \(missing (\w+)\)\]', r'sm.table(\1, missing="\2")'),
    (r"\(missing (skip|infer)\)", r'missing="\1"'),
    (r"\[impute ([\w.]+) \(normal mu sd\)\]", r"impute(\1, normal(mu, sd))"),
    (r"\bwarm-up draws\b", "tuning draws"),
]


def fresh_seed() -> int:
    """A seed that nobody gave, short enough to be typed again."""
    return int.from_bytes(os.urandom(4), "big")


def python_words(text: str) -> str:
    for pattern, replacement in _WORDS:
        text = re.sub(pattern, replacement, text)
    return text
