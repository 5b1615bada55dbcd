"""Frames, arrays and dictionaries to tables of the engine.

Memory of Arrow is lent; what Python can write to is copied. pandas belongs to the latter: the Arrow memory
that it gives is its own, and later writes would be seen.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from . import _core
from ._core import Table as Table
from ._errors import ModelError, SmidgenError

_EXACT = 2**53


def table(frame: Any, name: str = "table", *, missing: str | None = None) -> Table:
    """A table to use in several models: read once, shared by all of them.

    ``frame`` is anything with named columns: a frame of polars or pandas, a pyarrow table, a DuckDB relation,
    anything with ``__arrow_c_stream__``, a dictionary of arrays, a structured NumPy array. ``missing`` says what
    becomes of missing cells: ``"skip"`` leaves out the rows of a loop in which a cell that it uses is missing;
    ``"infer"`` does not observe missing values, and draws other cells from laws that ``impute`` gives. Without it,
    using a missing cell is an error.
    """
    if missing not in (None, "skip", "infer"):
        raise ValueError(f'missing={missing!r}: "skip", "infer", or nothing')
    if missing is not None:
        return table(frame, name).with_missing(missing)
    if isinstance(frame, Table):
        return frame
    if type(frame).__name__ == "LazyFrame":
        raise ModelError(f"`{name}` is a LazyFrame, which has no rows yet", hints=["call .collect()"])
    try:
        if isinstance(frame, dict):
            return _from_columns(name, list(frame.items()))
        if isinstance(frame, np.ndarray) and frame.dtype.names is not None:
            return _from_columns(name, [(field, frame[field]) for field in frame.dtype.names])
        if _is_pandas(frame):
            return _from_pandas(name, frame)
        if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
            return Table.from_arrow(name, frame, True, "")
        if hasattr(frame, "columns"):
            return _from_columns(name, [(str(c), frame[c]) for c in frame.columns])
    except _core.Failure as failure:
        raise data_error(failure) from None
    except SmidgenError:
        raise
    except ValueError as error:
        raise ModelError(f"{name}: {error}") from None
    kind = type(frame).__name__
    raise ModelError(f"`{name}` is a {kind}, which is no table", hints=["give a frame, or a dictionary of arrays"])


def data_error(failure: _core.Failure) -> ModelError:
    problem = failure.args[0][0]
    message = re.sub(r"\brow (\d+)\b", lambda m: f"row {m[1]} (index {int(m[1]) - 1})", problem["message"])
    return ModelError(message, hints=problem["hints"])


def arrays_table(name: str, sources: list[tuple[str, Any]]) -> Table:
    """A table of which every array is a column."""
    try:
        return _from_columns(name, sources)
    except _core.Failure as failure:
        raise data_error(failure) from None
    except ValueError as error:
        raise ModelError(f"{name}: {error}") from None


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.split(".")[0] == "pandas"


def _from_pandas(name: str, frame: Any) -> Table:
    named = any(level is not None for level in frame.index.names)
    frame = frame.reset_index(drop=not named)
    frame.columns = [str(column) for column in frame.columns]
    reason = "pandas may write to it later"
    try:
        import pyarrow

        return Table.from_arrow(name, pyarrow.Table.from_pandas(frame, preserve_index=False), False, reason)
    except ImportError:
        return _from_columns(name, [(column, frame[column].to_numpy()) for column in frame.columns], reason)


def _from_columns(name: str, columns: list[tuple[str, Any]], reason: str = "Python may write to it later") -> Table:
    made = [_column(column, values) for column, values in columns]
    lengths = {column[0]: column[4] for column in made}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{column} has {n}" for column, n in lengths.items())
        raise ModelError(f"the columns of `{name}` have different lengths: {shown}")
    return Table.from_arrays(name, [column[:4] for column in made], reason)


def _column(name: str, values: Any) -> tuple[str, str, Any, int, int]:
    """(name, kind, data, width, rows) of one column."""
    array = np.asarray(values)
    rows = len(array)
    kind = array.dtype.kind
    if kind == "O":
        return _objects(name, array)
    if kind in "US":
        return name, "texts", [str(x) for x in array.tolist()], 1, rows
    if kind == "b" and array.ndim == 1:
        return name, "booleans", np.ascontiguousarray(array).view(np.uint8), 1, rows
    if kind in "iufb":
        if kind in "iu" and array.size and max(abs(int(array.max())), abs(int(array.min()))) > _EXACT:
            raise ModelError(f"column `{name}` has an integer beyond 2**53, where doubles skip integers")
        if array.ndim > 2:
            raise ModelError(f"`{name}` has {array.ndim} dimensions; a column has one, or two for vectors")
        data = np.ascontiguousarray(array, dtype=np.float64)
        if array.ndim == 2:
            return name, "vectors", data.reshape(-1), array.shape[1], rows
        return name, "reals", data, 1, rows
    raise ModelError(f"column `{name}` holds {array.dtype}; a table has numbers, booleans, texts and vectors")


def _objects(name: str, array: np.ndarray[Any, Any]) -> tuple[str, str, Any, int, int]:
    values = array.tolist()
    missing = [v is None or (isinstance(v, float) and v != v) for v in values]
    present = [v for v, gone in zip(values, missing) if not gone]
    if all(isinstance(v, str) for v in present):
        return name, "texts", [None if gone else v for v, gone in zip(values, missing)], 1, len(values)
    if all(isinstance(v, (int, float, np.number)) for v in present):
        return (
            name,
            "reals",
            np.array([float("nan") if g else float(v) for v, g in zip(values, missing)]),
            1,
            len(values),
        )
    kinds = sorted({type(v).__name__ for v in present})
    raise ModelError(
        f"column `{name}` holds objects ({', '.join(kinds)}); a table has numbers, booleans, texts and vectors"
    )


# ---------------------------------------------------------------- what is known without reading it


def column_names(frame: Any) -> list[str]:
    if isinstance(frame, dict):
        return [str(name) for name in frame]
    if isinstance(frame, Table):
        return list(frame.columns) + [name for name, _ in frame.unusable()]
    if isinstance(frame, np.ndarray) and frame.dtype.names is not None:
        return list(frame.dtype.names)
    if type(frame).__name__ == "LazyFrame":
        return []
    names = getattr(frame, "column_names", None)
    if names is None:
        names = getattr(frame, "columns", [])
    names = [str(name) for name in names]
    if _is_pandas(frame):
        names += [str(level) for level in frame.index.names if level is not None]
    return names


def row_count(frame: Any) -> int:
    if isinstance(frame, Table):
        return frame.rows
    if isinstance(frame, dict):
        return len(next(iter(frame.values())))
    shape = getattr(frame, "shape", None)
    return int(shape[0] if shape is not None else len(frame))


def column_values(frame: Any, column: str) -> list[Any] | None:
    """The cells of a column, for coordinates."""
    try:
        made = frame if isinstance(frame, Table) else table(frame)
    except SmidgenError:
        return None
    values = made.column(column)
    if values is None:
        return None
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]
