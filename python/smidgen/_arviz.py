"""Draws for ArviZ of both generations, by way of xarray."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from ._result import Result


def datasets(result: "Result") -> dict[str, Any]:
    """The groups that ArviZ knows, each an ``xarray.Dataset``."""
    import xarray

    dims = result._model._dims if result._model is not None else {}
    attrs = {
        "inference_library": "smidgen", "inference_library_version": result._outcome.version, "seed": result.seed,
        "sampling_time": result.seconds, "tuning_steps": result._request.get("tune", 0), "program": result.program,
        "kernels": result._outcome.kernels(), "warnings": json.dumps(result.warnings),
    }  # fmt: skip
    posterior = {name: result[name] for name in result.names if result[name].dtype != object}
    found = {"posterior": _dataset(xarray, posterior, dims, attrs)}
    for group, arrays in result._groups.items():
        found[group] = _dataset(xarray, arrays, dims, attrs, draws=group not in ("observed_data", "constant_data"))
    return found


def _dataset(
    xarray: Any, arrays: dict[str, Any], dims: dict[str, Any], attrs: dict[str, Any], draws: bool = True
) -> Any:
    variables: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for name, array in arrays.items():
        array = np.asarray(array)
        axes = ["chain", "draw"] if draws else []
        inner = dims.get(name, [])
        for axis in range(len(axes), array.ndim):
            place = axis - (2 if draws else 0)
            label, values = inner[place] if place < len(inner) else (f"{name}_dim_{place}", None)
            if values is not None and len(values) == array.shape[axis]:
                if label in coords and list(coords[label]) != list(values):
                    label = f"{name}_{label}"
                coords[label] = np.asarray(values)
            axes.append(label)
        variables[name] = (axes, array)
        for axis_name, length in zip(axes, array.shape):
            coords.setdefault(axis_name, np.arange(length))
    return xarray.Dataset(variables, coords=coords, attrs=attrs)


def to_datatree(result: "Result") -> Any:
    import xarray

    return xarray.DataTree.from_dict({f"/{name}": dataset for name, dataset in datasets(result).items()})


def to_arviz(result: "Result") -> Any:
    try:
        import arviz
    except ImportError:
        return to_datatree(result)
    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(**datasets(result))
    return to_datatree(result)


def from_netcdf(path: str) -> _core.Outcome:
    import xarray

    with xarray.open_datatree(path) as tree:
        posterior = tree["posterior"].to_dataset()
        quantities = []
        for name in posterior.data_vars:
            values = posterior[name].transpose("chain", "draw", ...).values
            quantities.append((str(name), [chain.tolist() for chain in values]))
        attrs = posterior.attrs
    about = {
        "draws": {}, "kernels": json.loads(str(attrs.get("kernels", "[]"))),
        "warnings": json.loads(str(attrs.get("warnings", "[]"))), "program": str(attrs.get("program", "")),
        "version": str(attrs.get("inference_library_version", "")),
    }  # fmt: skip
    state = {
        "about": json.dumps(about), "seed": int(attrs.get("seed", 0)), "quantities": quantities,
        "seconds": float(attrs.get("sampling_time", 0.0)), "interrupted": False,
    }  # fmt: skip
    return _core.Outcome.from_state(state)
