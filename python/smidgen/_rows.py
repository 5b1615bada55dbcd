"""Which rows of its tables a model is asked about, and tables that take the place of others."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from . import _core
from ._errors import DataWarning, ModelError

if TYPE_CHECKING:
    from ._model import BoundModel

#: Rows that are predicted unless somebody asks for more.
MOST_ROWS = 1000

#: A number of rows, spread evenly; their indices; a slice of them; "all".
Rows = int | str | slice | Sequence[int] | Mapping[str, Any] | None

Wanted = list[tuple[str, bytes]]


def wanted_rows(model: "BoundModel", rows: Rows, most: int, stacklevel: int) -> Wanted:
    """A mask for each table of which some rows are left out."""
    tables = model._tables
    if isinstance(rows, Mapping):
        for name in rows:
            if name not in tables:
                raise ModelError(f"there is no table `{name}`", hints=[f"there is {', '.join(tables) or 'none'}"])
        given: dict[str, Any] = dict(rows)
    elif rows is None or isinstance(rows, (int, str)):
        given = {name: rows for name in tables}
    elif len(tables) == 1:
        given = {name: rows for name in tables}
    else:
        listed = ", ".join(tables) or "no table"
        raise ModelError(f"rows of which table? The model has {listed}", hints=["rows={'name': [0, 1, 2]}"])
    found: Wanted = []
    for name, table in tables.items():
        asked = given.get(name)
        if asked is None and table.rows > most:
            text = f"{most} of {table.rows} rows of `{name}` are taken, spread evenly; rows=\"all\" takes all"
            warnings.warn(text, DataWarning, stacklevel=stacklevel + 1)
            asked = most
        mask = _mask(name, table.rows, asked)
        if mask is not None and not mask.all():
            found.append((name, mask.tobytes()))
    return found


def _mask(name: str, n: int, asked: Any) -> "np.ndarray[Any, np.dtype[np.bool_]] | None":
    if asked is None:
        return None
    if isinstance(asked, str):
        if asked != "all":
            raise ModelError(f'rows={asked!r}: a number, indices, a slice, or "all"')
        return None
    mask = np.zeros(n, dtype=bool)
    if isinstance(asked, slice):
        mask[asked] = True
    elif isinstance(asked, (int, np.integer)):
        if asked < 1:
            raise ModelError(f"rows={asked}: at least one row")
        mask[np.arange(min(int(asked), n)) * n // min(int(asked), n)] = True
    else:
        indices = np.asarray(asked)
        if indices.dtype == bool and indices.shape == (n,):
            return indices.copy()
        if indices.dtype.kind not in "iu" or (indices.size and (indices.min() < 0 or indices.max() >= n)):
            raise ModelError(f"rows of `{name}` are whole numbers from 0 to {n - 1}")
        mask[indices] = True
    if not mask.any():
        raise ModelError(f"no row of `{name}` is left")
    return mask


def with_data(model: "BoundModel", data: Any, inputs: Mapping[str, Any]) -> "BoundModel":
    """The same program with other tables or values."""
    from ._data import arrays_table, table
    from ._model import BoundModel

    tables: dict[str, _core.Table] = dict(model._tables)
    params = dict(model._params)
    columns: dict[str, dict[str, Any]] = {}
    if data is not None:
        if len(tables) != 1:
            listed = ", ".join(tables) or "no table"
            hint = f"give it by name: {next(iter(tables))}=frame" if tables else "give values by their names"
            raise ModelError(f"which table do these data take the place of? The model has {listed}", hints=[hint])
        (name,) = tables
        tables[name] = table(data, name)
    for name, value in inputs.items():
        homes = [home for home, sources in model._arrays.items() if name in sources]
        if name in tables and name not in model._arrays:
            tables[name] = table(value, name)
        elif homes:
            for home in homes:
                columns.setdefault(home, {})[name] = value
        elif name in params:
            pass
        else:
            known = [*(n for n in tables if n not in model._arrays), *params]
            known += [source for sources in model._arrays.values() for source in sources]
            raise ModelError(f"the model takes no `{name}`", hints=[f"it takes {', '.join(dict.fromkeys(known))}"])
        if name in params:
            params[name] = value
        if name in model._lengths:
            raise ModelError(
                f"the length of `{name}` is a part of the program",
                hints=["write the model with a table, whose length may change: for row in t"],
            )
    for home, arrays in columns.items():
        tables[home] = arrays_table(home, list(arrays.items()))
    return BoundModel._like(model, params, tables)
