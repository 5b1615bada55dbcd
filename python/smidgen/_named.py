"""Tables for people: a row of numbers by name."""

from __future__ import annotations

from typing import Any, ClassVar, Iterator


class NamedRows:
    """What summaries and rankings have in common."""

    columns: ClassVar[tuple[str, ...]]
    rows: dict[str, dict[str, float]]

    def __getitem__(self, name: str) -> dict[str, float]:
        return self.rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_pandas(self) -> Any:
        import pandas

        return pandas.DataFrame.from_dict(self.rows, orient="index", columns=list(self.columns))
