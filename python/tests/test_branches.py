"""Observations, weights and names in the branches of an `if`."""

import numpy as np
import pytest

import smidgen as sm

RNG = np.random.default_rng(4)
N = 40
TIMES = np.minimum(RNG.exponential(3, N), 2.5)
SEEN = {"t": TIMES, "event": (TIMES != 2.5).astype(float), "dose": RNG.normal(0, 1, N)}


@sm.model
def two_laws(patients):
    shape, scale = half_normal(2), half_normal(5)
    for row in patients:
        if row.event == 1:
            observe(weibull(shape, scale), row.t)
        else:
            observe(flip(ccdf(weibull, row.t, shape, scale)), True)
    return shape, scale


@sm.model
def one_law(patients):
    shape, scale = half_normal(2), half_normal(5)
    for row in patients:
        if row.event == 1:
            observe(weibull(shape, scale), row.t)
        else:
            factor(log_ccdf(weibull, row.t, shape, scale))
    return shape, scale


@sm.model
def censored(patients):
    shape, scale = half_normal(2), half_normal(5)
    for row in patients:
        observe(censor(weibull(shape, scale), upper=2.5), row.t)  # the same in other words
    return shape, scale


def test_a_branch_of_the_row_decides_what_is_observed():
    fits = [m(SEEN).sample(draws=500, tune=300, chains=2, seed=1) for m in (two_laws, one_law, censored)]
    for name in ("shape", "scale"):
        means = [fit[name].mean() for fit in fits]
        errors = [fit.summary()[name]["mcse"] for fit in fits]
        assert np.ptp(means) < 5 * max(errors), (name, means)
    # Twin: the weight of what was not seen left out.
    seen = {name: column[SEEN["event"] == 1] for name, column in SEEN.items()}
    twin = two_laws(seen).sample(draws=500, tune=300, chains=2, seed=1)
    assert abs(twin["scale"].mean() - fits[0]["scale"].mean()) > 10 * fits[0].summary()["scale"]["mcse"]


def test_elif_and_names_of_a_branch():
    @sm.model
    def m(patients):
        a, b = half_normal(2), half_normal(5)
        for row in patients:
            if row.event == 1 and row.dose > 0:
                k = a + row.dose
                observe(weibull(k, b), row.t)
            elif row.event == 1:
                observe(weibull(a, 1), row.t)
            else:
                k = 2 * b
                observe(normal(k, 1), row.dose)
        return a, b

    text = m(SEEN).text
    assert text.count("[observe") == 3 and "[let k" in text
    fit = m(SEEN).sample(draws=20, tune=20, chains=1, seed=1)
    t, dose, event = SEEN["t"], SEEN["dose"], SEEN["event"] == 1
    first, second = event & (dose > 0), event & (dose <= 0)
    a, b = fit["a"][..., None], fit["b"][..., None]

    def weibull(t, k, s):
        return np.log(k / s) + (k - 1) * np.log(t / s) - (t / s) ** k

    lp = 0.5 * np.log(2 / np.pi) - np.log([2, 5]).mean()  # of each prior's constant
    lp = 2 * lp - a[..., 0] ** 2 / 8 - b[..., 0] ** 2 / 50
    lp += weibull(t[first], a + dose[first], b).sum(axis=-1) + weibull(t[second], a, 1).sum(axis=-1)
    lp += (-0.5 * (dose[~event] - 2 * b) ** 2 - 0.5 * np.log(2 * np.pi)).sum(axis=-1)
    assert np.allclose(fit.stats["lp"], lp, rtol=1e-9)


@sm.model
def kinds(t):
    a, b, sd = normal(0, 1), normal(0, 1), half_normal(1)
    for row in t:
        of_kind = row.kind == 1 and row.w > -10
        if of_kind:
            observe(normal(a, sd), row.y)
        if row.kind == 2:
            observe(poisson(np.exp(b)), row.n)
        elif row.kind == 3:
            observe(normal(a + b, sd), row.w)
    return a, b, sd


def table_of_kinds(n):
    kind = np.arange(n) % 4
    return {"kind": kind, "y": RNG.normal(size=n), "n": RNG.poisson(2, n), "w": RNG.normal(size=n)}


@pytest.mark.parametrize("n", [40, 800])
def test_what_some_rows_observe_is_of_these_rows(n):
    """Likelihoods and predictions, of few rows (one by one) and of many (as plates)."""
    data = table_of_kinds(n)
    kind = data["kind"]
    model = kinds(data)
    assert "factor" not in model.text and "[let of_kind" in model.text
    fit = model.sample(draws=40, tune=60, chains=1, seed=1)
    a, b, sd = (fit[name][0][:, None] for name in ("a", "b", "sd"))

    def normal_log_p(y, mean, sd):
        return -0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)

    each = fit.log_likelihood(rows="all")
    names = {"y": 1, "n": 2, "w": 3}
    for name, wanted in names.items():
        assert list(each.rows[name]) == list(np.flatnonzero(kind == wanted)), name
    assert np.allclose(each["y"][0], normal_log_p(data["y"][kind == 1], a, sd), rtol=1e-9)
    assert np.allclose(each["w"][0], normal_log_p(data["w"][kind == 3], a + b, sd), rtol=1e-9)
    made = fit.posterior_predictive(rows="all", draws=None)
    assert {name: made[name].shape for name in names} == {name: (1, 40, n // 4) for name in names}
    assert np.array_equal(made["n"], np.floor(made["n"])) and (made["n"] >= 0).all()
    # Other rows are observed where the condition is true of them.
    new = {"kind": [3, 1, 0, 1], "w": [0.0, 0.0, 0.0, -11.0]}
    again = fit.posterior_predictive(new, draws=None)
    assert list(again.rows["y"]) == [1] and list(again.rows["w"]) == [0] and "n" not in again.observed
    # Simulated data are of these rows too.
    assert model.prior_predictive(5, seed=1, rows="all")["w"].shape == (1, 5, n // 4)


def test_rounds_of_a_range_observe_in_part():
    @sm.model
    def m(y, seen):
        mu, sd = normal(0, 1), half_normal(1)
        for t in range(1, len(y)):
            if seen[t]:
                observe(normal(mu, sd), y[t])
        return mu, sd

    y, seen = RNG.normal(size=30), np.arange(30) % 3 == 0
    fit = m(y, seen).sample(draws=20, tune=20, chains=1, seed=1, stats=True)
    mu, sd = fit["mu"][..., None], fit["sd"][..., None]
    kept = y[1:][seen[1:]]
    lp = (-0.5 * ((kept - mu) / sd) ** 2 - np.log(sd)).sum(axis=-1) - 0.5 * len(kept) * np.log(2 * np.pi)
    lp += -0.5 * mu[..., 0] ** 2 - 0.5 * np.log(2 * np.pi) - 0.5 * sd[..., 0] ** 2 + 0.5 * np.log(2 / np.pi)
    assert np.allclose(fit.stats["lp"], lp, rtol=1e-9)


def test_a_random_side():
    @sm.model
    def m():
        z = flip(0.5)
        x = normal(0, 1)
        if z:
            observe(normal(x, 1), 1.5)
            factor(-1)
        return x, z

    fit = m().sample(draws=4000, tune=200, chains=2, seed=2)
    # p(z) is that of the evidence: N(1.5; 0, sqrt 2) e^-1 against 1.
    weight = np.exp(-(1.5**2) / 4 - 1) / np.sqrt(4 * np.pi)
    assert abs(fit["z"].mean() - weight / (1 + weight)) < 5 * fit.summary()["z"]["mcse"]


def mistake(function):
    with pytest.raises(sm.ModelSyntaxError) as caught:
        sm.model(function)
    return str(caught.value)


def test_what_cannot_be():
    def one_side(t):
        for row in t:
            if row.g == 1:
                m = 2
            observe(normal(m, 1), row.y)

    assert "`m` gets a value in one branch alone" in mistake(one_side)

    def which_value(t):
        z = flip()
        if z:
            observe(normal(0, 1), 1)
        else:
            observe(normal(0, 1), 2)

    assert "hangs on what is random" in mistake(which_value)

    def another(t):
        z = flip()
        if z:
            predict(1, "a")

    assert "observes, weighs with `factor`, or binds names" in mistake(another)

    def no_law(t):
        f, z = mem(lambda i: normal(0, 1)), flip()
        for row in t:
            if z:
                observe(f(row.index), row.y)

    assert "observed in one branch alone" in mistake(no_law)
