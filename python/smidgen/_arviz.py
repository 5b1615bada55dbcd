"""Draws for ArviZ of both generations, by way of xarray."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Mapping

import numpy as np

from . import _core

if TYPE_CHECKING:
    from ._predictions import Predictions
    from ._result import Result


#: Rows of data beyond which they are not handed on.
MOST_DATA = 100_000


def datasets(result: "Result", prior: "Predictions | None" = None) -> dict[str, Any]:
    """The groups that ArviZ knows, each an ``xarray.Dataset``."""
    from ._predictions import Predictions, observed_data

    model = result._model
    dims = model._dims if model is not None else {}
    attrs = {
        "inference_library": "smidgen", "inference_library_version": result._outcome.version, "seed": result.seed,
        "sampling_time": result.seconds, "tuning_steps": result._request.get("tune", 0), "program": result.program,
        "kernels": result._outcome.kernels(), "warnings": json.dumps(result.warnings),
    }  # fmt: skip
    posterior = {name: result[name] for name in result.names if result[name].dtype != object}
    found = {"posterior": _dataset(posterior, dims, attrs)}
    attrs = {name: value for name, value in attrs.items() if name.startswith("inference_library")}
    stats = result.stats
    if stats:
        found["sample_stats"] = _dataset(stats, {}, attrs)
    tuning = result.tuning
    if tuning:
        found["warmup_posterior"] = _dataset(tuning, dims, attrs)
    tuning_stats = result._tuning_stats
    if tuning_stats:
        found["warmup_sample_stats"] = _dataset(tuning_stats, {}, attrs)
    for group in ("posterior_predictive", "predictions"):
        made = result._later.get(group)
        if isinstance(made, Predictions):
            found[group] = _predicted(made, made.observed, dims, attrs)
    likelihood = result._later.get("log_likelihood")
    if likelihood is not None:
        found["log_likelihood"] = _dataset(dict(likelihood), likelihood._dims, attrs, likelihood.draws[0])
    if prior is not None:
        found["prior"] = _predicted(prior, prior.recorded, dims, attrs)
        found["prior_predictive"] = _predicted(prior, prior.observed, dims, attrs)
    if model is not None:
        data = observed_data(model, MOST_DATA)
        if data:
            arrays = {name: array for name, (array, _) in data.items()}
            found["observed_data"] = _dataset(arrays, {name: d for name, (_, d) in data.items()}, attrs, is_data=True)
    return found


def _predicted(made: "Predictions", names: list[str], dims: Mapping[str, Any], attrs: dict[str, Any]) -> Any:
    draws = made.draws[0] if made.draws else None
    return _dataset({name: made[name] for name in names}, made._dims(dims), attrs, draws)


def tree_of_predictions(made: "Predictions") -> Any:
    """A tree of predictions alone."""
    import xarray

    data = {"prior": "prior_predictive", "posterior": "posterior_predictive", "new": "predictions"}[made._kind]
    attrs = {"inference_library": "smidgen", "seed": made.seed}
    groups = {data: _predicted(made, made.observed, {}, attrs)}
    if made._kind == "prior" and made.recorded:
        groups["prior"] = _predicted(made, made.recorded, {}, attrs)
    return xarray.DataTree.from_dict({f"/{name}": dataset for name, dataset in groups.items()})


def _dataset(
    arrays: Mapping[str, Any],
    dims: Mapping[str, Any],
    attrs: dict[str, Any],
    numbers: list[int] | None = None,
    is_data: bool = False,
) -> Any:
    """``numbers`` are those of the draws, if they are not all."""
    import xarray

    draws = not is_data
    variables: dict[str, Any] = {}
    coords: dict[str, Any] = {} if numbers is None else {"draw": np.array(numbers)}
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


def to_datatree(result: "Result", prior: "Predictions | None" = None) -> Any:
    import xarray

    return xarray.DataTree.from_dict({f"/{name}": dataset for name, dataset in datasets(result, prior).items()})


def to_arviz(result: "Result", prior: "Predictions | None" = None) -> Any:
    try:
        import arviz
    except ImportError:
        return to_datatree(result, prior)
    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(**datasets(result, prior))
    return to_datatree(result, prior)


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
