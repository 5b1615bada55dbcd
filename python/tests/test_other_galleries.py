"""Models of other systems' galleries as their readers would write them, with NumPy's habits, on data that they made."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit

import smidgen as sm

rng = np.random.default_rng(42)

#: name -> (model, its data, what its posterior mean should be within four posterior deviations of)
CASES = {}


def case(truth, **data):
    def keep(function):
        CASES[function.__name__] = (sm.model(function), data, truth)
        return function

    return keep


J = 20
uranium = rng.normal(0, 1, J)
county, floor = rng.integers(0, J, 600), rng.integers(0, 2, 600).astype(float)
level = 1.3 + 0.7 * uranium + rng.normal(0, 0.3, J)


@case(
    dict(gamma_1=0.7, b=-0.6, sigma=0.7),
    county=county, floor=floor, u=uranium, log_radon=level[county] - 0.6 * floor + rng.normal(0, 0.7, 600),
)  # fmt: skip
def radon_with_a_covariate_of_counties(county, floor, u, log_radon):
    gamma_0, gamma_1, sigma_a = normal(0, 10), normal(0, 10), expon(1)
    z = normal(0, 1, size=len(u))
    a = gamma_0 + gamma_1 * u + sigma_a * z
    b, sigma = normal(0, 10), expon(1)
    mu = a[county] + b * floor
    observe(normal(mu, sigma), log_radon)
    return gamma_1, b, sigma, a


home, away = (np.tile(side, 3) for side in np.nonzero(~np.eye(6, dtype=bool)))
attack, defence = np.array([0.4, 0.2, 0, -0.1, -0.2, -0.3]), np.array([-0.3, -0.1, 0, 0.1, 0.1, 0.2])


@case(
    dict(advantage=0.2, intercept=2.9), teams=6,
    games=pd.DataFrame({
        "home": home, "away": away,
        "home_points": rng.poisson(np.exp(3.1 + attack[home] + defence[away])),
        "away_points": rng.poisson(np.exp(2.9 + attack[away] + defence[home])),
    }),
)  # fmt: skip
def rugby(games, teams):
    advantage, intercept = normal(0, 1), normal(3, 1)
    attack_, defence_ = normal(0, half_student_t(3, 1), size=teams), normal(0, 1, size=teams)
    attack = attack_ - np.mean(attack_)
    defence = defence_ - defence_.mean()
    for game in games:
        home_rate = np.exp(intercept + advantage + attack[game.home] + defence[game.away])
        away_rate = np.exp(intercept + attack[game.away] + defence[game.home])
        observe(poisson(home_rate), game.home_points)
        observe(poisson(away_rate), game.away_points)
    return advantage, intercept, attack


@case(dict(difference=1), y1=101 + rng.standard_t(5, 47), y2=100 + 1.2 * rng.standard_t(5, 42))
def best(y1, y2):
    m1, m2 = normal(100, 10), normal(100, 10)
    s1, s2 = uniform(0.1, 10), uniform(0.1, 10)
    nu = 1 + expon(1 / 29)
    observe(student_t(nu, m1, s1), y1)
    observe(student_t(nu, m2, s2), y2)
    return dict(difference=m1 - m2, effect=(m1 - m2) / np.sqrt((s1**2 + s2**2) / 2))


@case(dict(best=1), n=np.array([1000, 1100, 900]), conversions=np.array([100, 160, 80]))
def variants(n, conversions):
    p = beta(2, 20, size=len(n))
    observe(binomial(n, p), conversions)
    return p, dict(lift=p[1:] / p[0] - 1, best=np.argmax(p))


@case(
    dict(phi=0.26),
    at_bats=np.full(18, 45), hits=np.array([18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 10, 10, 10, 9, 8, 7]),
)  # fmt: skip
def baseball(at_bats, hits):
    phi, kappa = uniform(0, 1), np.exp(expon(1.5))
    theta = beta(phi * kappa, (1 - phi) * kappa, size=len(hits))
    observe(binomial(at_bats, theta), hits)
    return phi, kappa, theta


person, item = np.repeat(np.arange(40), 8), np.tile(np.arange(8), 40)
skill, hard, sharp = rng.normal(size=40), rng.normal(size=8), np.exp(rng.normal(0, 0.3, 8))


@case({}, person=person, item=item, correct=rng.random(320) < expit(sharp[item] * (skill[person] - hard[item])))
def item_response_with_discrimination(person, item, correct):
    ability = normal(0, 1, size=len(np.unique(person)))
    difficulty = normal(0, 1, size=item.max() + 1)
    discrimination = lognormal(0, 0.5, size=item.max() + 1)
    p = expit(discrimination[item] * (ability[person] - difficulty[item]))
    observe(bernoulli(p), correct)
    return difficulty, discrimination


one, step = rng.integers(0, 8, 300), rng.integers(1, 8, 300)
strength = rng.normal(size=8)


@case(
    dict(spread=float(strength.std())),
    first=one, second=(one + step) % 8, won=rng.random(300) < expit(strength[one] - strength[(one + step) % 8]), n=8,
)  # fmt: skip
def bradley_terry(first, second, won, n):
    spread = half_normal(1)
    skill = normal(0, spread, size=n)
    observe(bernoulli_logit(skill[first] - skill[second]), won)
    return spread, skill


campers, persons = rng.integers(0, 2, 250), rng.integers(1, 5, 250)
caught = np.where(rng.random(250) < 0.4, 0, rng.poisson(np.exp(-1 + 0.5 * campers + 0.8 * persons)))


@case(dict(b=0.8, inflated=0.4), visits=pl.DataFrame({"camper": campers, "persons": persons, "count": caught}))
def fishing(visits):
    a, c, b = normal(0, 2), normal(0, 2), normal(0, 2)
    inflated = beta(1, 1)
    mu = np.exp(a + c * visits.camper + b * visits["persons"])
    observe(zero_inflated(poisson(mu), inflated), visits["count"])
    return a, b, c, inflated


there = rng.random(80) < 0.6


@case(dict(psi=0.6, p=0.4), detections=(rng.random((80, 5)) < 0.4) & there[:, None])
def occupancy(detections):
    psi, p = beta(1, 1), beta(1, 1)
    z = mem(lambda i: bernoulli(psi))
    for i, visits in enumerate(detections):
        for v in range(5):
            observe(bernoulli(z(i) * p), visits[v])
    return psi, p


X = rng.normal(size=(100, 10))


@case(dict(sigma=1), X=X, y=3 * X[:, 0] - 2 * X[:, 1] + rng.normal(size=100))
def horseshoe(X, y):
    n, p = X.shape
    tau, lam = half_cauchy(1), half_cauchy(1, size=p)
    weights = normal(0, 1, size=p) * lam * tau
    sigma = half_normal(1)
    observe(normal(X @ weights, sigma), y)
    return sigma, weights


factors = rng.normal(size=(60, 1)) @ np.array([[1.0, -1, 0.5]]) + rng.normal(0, 0.3, (60, 3))


@case(dict(sigma=0.3), X=factors)
def principal_components(X):
    d = X.shape[1]
    W, sigma = normal(0, 1, size=(d, 1)), half_normal(1)
    covariance = W @ W.T + sigma**2 * np.eye(d)
    observe(multivariate_normal(np.zeros(d), covariance), X)
    return sigma


group, slope = rng.integers(0, 15, 400), rng.normal(size=400)
effects = rng.multivariate_normal([1, -0.5], [[0.4, 0.1], [0.1, 0.2]], 15)


@case(
    dict(sigma=0.3),
    group=group, x=slope, y=effects[group, 0] + effects[group, 1] * slope + rng.normal(0, 0.3, 400), n=15,
)  # fmt: skip
def correlated_slopes(group, x, y, n):
    mu, sds = normal(0, 2, size=2), half_normal(1, size=2)
    L = np.diag(sds) @ lkj_cholesky(2, 2)
    both = multivariate_normal_cholesky(mu, L, size=n)
    sigma = half_normal(1)
    a, b = both[:, 0], both[:, 1]
    observe(normal(a[group] + b[group] * x, sigma), y)
    return mu, sds, sigma


pull = rng.normal(size=200)
lasted = rng.weibull(1.5, 200) * np.exp(1 + 0.5 * pull)


@case(dict(shape=1.5, b=0.5), t=np.minimum(lasted, 4.0), event=lasted < 4.0, x=pull)
def survival(t, event, x):
    shape, a, b = half_normal(2), normal(0, 2), normal(0, 2)
    scale = np.exp(a + b * x)
    for i in range(len(t)):
        if event[i]:
            observe(weibull(shape, scale[i]), t[i])
        else:
            factor(log_ccdf(weibull, t[i], shape, scale[i]))
    return shape, b


@pytest.mark.parametrize("name", CASES)
def test_a_model_from_elsewhere(name):
    model, data, truth = CASES[name]
    fit = model(**data).sample(draws=150, tune=250, chains=2, seed=1)
    summary = fit.summary()
    assert max(row["r_hat"] for row in summary.rows.values()) < 1.15
    for quantity, value in truth.items():
        found = summary[quantity]
        assert abs(found["mean"] - value) < 4 * max(found["sd"], 0.01), (quantity, found)
    if name != "survival":
        assert fit.posterior_predictive(draws=10).observed
