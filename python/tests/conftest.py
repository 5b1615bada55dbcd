"""Data and helpers that several tests share."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import five


def frames():
    rng = np.random.default_rng(1)
    n = 400
    features = {name: rng.normal(size=n) for name in five.features}
    logit = 0.3 + features["dep_delay"] - 0.5 * features["hour"]
    county = [f"county {i}" for i in rng.integers(0, 6, n)]
    floor = rng.integers(0, 2, n).astype(float)
    x = rng.normal(size=40)
    h = np.cumsum(rng.normal(0, 0.2, 30)) - 1
    return {
        "late": {**features, "late": (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(float)},
        "radon": {"county": county, "floor": floor, "radon": 1 - 0.6 * floor + rng.normal(0, 0.7, n)},
        "lines": {"x": x, "y": np.where(np.arange(40) % 2 == 0, 3 * x, -3 * x) + rng.normal(0, 0.2, 40)},
        "volatility": {"r": rng.normal(size=30) * np.exp(h / 2)},
        "lineages": {"cells": rng.integers(1, 8, 12).astype(float)},
    }


@pytest.fixture(scope="session")
def data():
    return frames()


def same_draws(one, other):
    """Whether two results are equal to the bit."""
    assert one.names == other.names
    for name in one.names:
        assert one[name].tobytes() == other[name].tobytes(), name


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """Writes a module and imports it."""
    import importlib
    import itertools

    numbers = itertools.count()

    def write(text, name=None):
        name = name or f"written_{next(numbers)}_{abs(hash(str(tmp_path))) % 10**8}"
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return write
