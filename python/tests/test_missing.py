"""Missing cells, laws made of laws, weights: in Python's words."""

import numpy as np
import pytest
from conftest import same_draws

import smidgen as sm

FEW = dict(draws=200, tune=300, chains=2, seed=1)


@sm.model
def line(points):
    slope, sd = normal(0, 5), half_normal(2)
    for row in points:
        observe(normal(slope * row.x, sd), row.y)
    return slope, sd


@sm.model
def holes(points):
    mu, spread = normal(0, 5), half_normal(2)
    slope, sd = normal(0, 5), half_normal(2)
    impute(points.x, normal(mu, spread))
    for row in points:
        observe(normal(slope * row.x, sd), row.y)
    return mu, slope, sd, dict(third=cell(points, "x", 3))


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(3)
    x = rng.normal(1, 1, size=100)
    return x, 2 * x + rng.normal(0, 0.3, size=100)


def test_rows_with_holes_are_skipped_on_request(points):
    x, y = points[0].copy(), points[1].copy()
    x[3], y[7] = np.nan, np.nan
    with pytest.raises(sm.ModelError, match="missing") as caught:
        line({"x": x, "y": y}).sample(**FEW)
    assert 'missing="skip"' in str(caught.value), str(caught.value)
    model = line(sm.table({"x": x, "y": y}, missing="skip"))
    assert "(missing skip)" in model.text
    fit = model.sample(**FEW)
    assert any("2 of 100 rows" in note for note in fit.notes), fit.notes
    whole = line({"x": np.delete(x, [3, 7]), "y": np.delete(y, [3, 7])}).sample(**FEW)
    assert np.allclose(fit["slope"].mean(), whole["slope"].mean(), atol=0.02)
    assert fit.log_likelihood()["y"].shape[2] == 98
    with pytest.raises(ValueError, match="missing="):
        sm.table({"x": x}, missing="drop")


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_holes_of_frames_are_inferred(points, library):
    frames = pytest.importorskip(library)
    x = [None if i == 3 else v for i, v in enumerate(points[0])]
    y = [None if i == 7 else v for i, v in enumerate(points[1])]
    model = holes(frames.DataFrame({"x": x, "y": y}))
    assert "[impute points.x (normal mu spread)]" in model.text and "(missing infer)" in model.text
    fit = model.sample(**FEW)
    # The cell is known about as well as y / slope tells.
    assert abs(fit["third"].mean() - points[0][3]) < 0.3 and fit["third"].std() < 0.3
    assert abs(fit["mu"].mean() - 1) < 0.4


@sm.model
def flagged(points):
    slope, level, sd = normal(0, 5), normal(0, 5), half_normal(2)
    for row in points:
        observe(normal(level if is_missing(row.x) else slope * row.x, sd), row.y)
    return slope, level


def test_a_model_may_ask_whether_a_cell_is_missing(points):
    x = np.where(np.arange(100) % 2 == 0, points[0], np.nan)
    fit = flagged({"x": x, "y": points[1]}).sample(**FEW)
    assert abs(fit["slope"].mean() - 2) < 0.2
    assert abs(fit["level"].mean() - points[1][1::2].mean()) < 0.4


@sm.model
def lifetimes(patients):
    shape, scale = half_normal(2), half_normal(5)
    for row in patients:
        observe(censor(weibull(shape, scale), upper=3.0), row.time)
    return shape, scale


@sm.model
def cut(ys):
    mu = normal(0, 3)
    for y in ys:
        observe(truncate(normal(mu, 1), 0, 2), y)
    return mu


@sm.model
def cut_in_the_language(ys):
    mu = normal(0, 3)
    for y in ys:
        observe(truncate(normal, 0, 2, mu, 1), y)
    return mu


@sm.model
def counts(ys):
    p, rate = beta(1, 1), gamma(2, 1)
    for y in ys:
        observe(zero_inflated(poisson(rate), p), y)
    return p, rate


@sm.model
def clumps(ys):
    w, m = beta(1, 1), ordered(normal(0, 5), 2)
    for y in ys:
        observe(mixture([w, 1 - w], [normal(m[0], 1), normal(m[1], 1)]), y)
    return w, m


def test_laws_made_of_laws():
    rng = np.random.default_rng(1)
    times = 2.0 * rng.weibull(1.5, size=400)
    fit = lifetimes({"time": np.minimum(times, 3.0)}).sample(**FEW)
    assert abs(fit["shape"].mean() - 1.5) < 0.2 and abs(fit["scale"].mean() - 2) < 0.2
    y = rng.normal(1.5, 1, size=2000)
    y = y[(y > 0) & (y < 2)]
    fit = cut(y).sample(**FEW)
    assert abs(fit["mu"].mean() - 1.5) < 0.25
    same_draws(fit, cut_in_the_language(y).sample(**FEW))
    y = np.where(rng.random(500) < 0.3, 0, rng.poisson(4, 500)).astype(float)
    fit = counts(y).sample(**FEW)
    assert abs(fit["p"].mean() - 0.3) < 0.08 and abs(fit["rate"].mean() - 4) < 0.4
    y = np.where(rng.random(300) < 0.3, rng.normal(-3, 1, 300), rng.normal(3, 1, 300))
    fit = clumps(y).sample(**FEW)
    assert abs(fit["w"].mean() - 0.3) < 0.08 and np.allclose(fit["m"].mean(axis=(0, 1)), [-3, 3], atol=0.3)
    assert "(mixture (array w (- 1 w)) normal (list (lookup m 0) 1) normal (list (lookup m 1) 1))" in clumps(y).text


def test_mistakes_in_laws_made_of_laws():
    with pytest.raises(sm.ModelSyntaxError, match="has no free argument `limit`") as caught:

        @sm.model
        def wrong(ys):
            mu = normal(0, 1)
            for y in ys:
                observe(censor(normal(mu, 1), limit=3), y)

    assert "censor(law, lo, hi)" in str(caught.value)


@sm.model
def weighed(ys):
    mu = normal(0, 10)
    for y in ys:
        factor(-0.5 * (y - mu) ** 2)
    return mu


@sm.model
def observed(ys):
    mu = normal(0, 10)
    for y in ys:
        observe(normal(mu, 1), y)
    return mu


def test_a_weight_is_a_likelihood():
    ys = np.array([1.0, 2.0, 3.0])
    one, other = weighed(ys).sample(**FEW), observed(ys).sample(**FEW)
    assert abs(one["mu"].mean() - other["mu"].mean()) < 0.1 and abs(one["mu"].std() - other["mu"].std()) < 0.1
    with pytest.raises(sm.ModelError, match="weights cannot be calibrated"):
        weighed(ys).calibrate(10)
