"""The models of examples/python/gallery.py: they compile, run, and find what their data were made from."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "python"))
import gallery

DATA = gallery._data()

#: What the posterior mean must be near: (name, low, high).
FOUND = {
    "eight_schools": ("mu", 0, 9),
    "coal_disasters": ("change", 33, 44),
    "robust_regression": ("slope", 1.7, 2.3),
    "admissions": ("gender_effect", -1.5, 0.3),
    "finite_mixture": ("sd", 0.7, 1.3),
    "hidden_markov": ("centres", 0, 3),
    "local_level": ("noise", 0.4, 1.0),
    "zero_inflated_counts": ("p", 0.1, 0.45),
    "gaussian_process": ("noise", 0.05, 0.6),
    "correlated_effects": ("sd", 0.4, 0.6),
    "item_response": ("difficulty", -1, 1.5),
    "capture_recapture": ("n", 120, 260),
    "survival": ("shape", 1.0, 2.0),
}


@pytest.mark.parametrize("name", list(DATA))
def test_a_model_of_the_gallery(name):
    fit = getattr(gallery, name)(*DATA[name]).sample(draws=150, tune=200, chains=2, seed=1)
    quantity, low, high = FOUND[name]
    assert low < fit[quantity].mean() < high, fit[quantity].mean()
