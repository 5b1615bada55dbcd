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
    assert text.count("[observe") == 1 and "[let k" in text
    a, b = 1.3, 0.8
    fit = m(SEEN).sample(draws=2, tune=0, chains=1, seed=1, init={"a": a, "b": b})
    assert np.isfinite(fit.stats["lp"]).all()


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
        f = mem(lambda i: normal(0, 1))
        for row in t:
            if row.g == 1:
                observe(f(row.index), row.y)

    assert "observed in one branch alone" in mistake(no_law)
