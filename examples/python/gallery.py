"""Models that everybody knows from the galleries of other systems, in this syntax.

``python examples/python/gallery.py`` samples them all on small data that it makes up.
"""

from typing import Any

import numpy as np

import smidgen as sm
from smidgen.names import *


@sm.model
def eight_schools(schools: Any) -> Any:
    mu, tau = normal(0, 5), half_cauchy(5)

    @mem
    def theta(school: Any) -> Any:
        return normal(mu, tau)

    for row in schools:
        observe(normal(theta(row.index), row.sigma), row.y)
    return mu, tau, dict(theta=[theta(i) for i in range(len(schools))])


@sm.model
def coal_disasters(years: Any) -> Any:
    early, late = expon(1), expon(1)
    change = uniform_discrete(0, len(years))
    for row in years:
        observe(poisson(early if row.index < change else late), row.disasters)
    return change, early, late


@sm.model
def robust_regression(points: Any) -> Any:
    level, slope, scale, df = normal(0, 5), normal(0, 5), half_normal(2), gamma(2, 0.1)
    for row in points:
        observe(student_t(df, level + slope * row.x, scale), row.y)
    return level, slope, scale


@sm.model
def admissions(departments: Any) -> Any:
    gender_effect, spread = normal(0, 1), half_normal(1)
    rate = mem(lambda department: normal(0, spread))
    for row in departments:
        log_odds = rate(row.department) + gender_effect * row.male
        observe(binomial(row.applications, logistic(log_odds)), row.admitted)
    return gender_effect, spread


@sm.model
def finite_mixture(ys: Any, k: int = 2) -> Any:
    weights = dirichlet(ones(k))
    centres = ordered(normal, k, 0, 5)
    sd = half_normal(1)
    z = mem(lambda i: categorical(weights))
    for i, y in enumerate(ys):
        observe(normal(centres[z(i)], sd), y)
    return weights, centres, sd


@sm.model
def hidden_markov(emissions: Any, states: int = 2) -> Any:
    row_of = mem(lambda s: dirichlet(ones(states)))
    centres = ordered(normal, states, 0, 3)

    @mem
    def state(t: Any) -> Any:
        if t == 0:
            return uniform_discrete(0, states)
        return categorical(row_of(state(t - 1)))

    for t, y in enumerate(emissions):
        observe(normal(centres[state(t)], 1), y)
    return centres, dict(path=[state(t) for t in range(len(emissions))])


@sm.model
def local_level(ys: Any) -> Any:
    drift, noise = half_normal(1), half_normal(1)
    level = random_walk(len(ys), drift)
    for i, y in enumerate(ys):
        observe(normal(level[i], noise), y)
    return drift, noise, level


@sm.model
def zero_inflated_counts(visits: Any) -> Any:
    p, rate, effect = beta(1, 1), normal(0, 2), normal(0, 1)
    for row in visits:
        observe(zero_inflated(poisson, p, np.exp(rate + effect * row.camper)), row.fish)
    return p, rate, effect


@sm.model
def gaussian_process(x: Any, y: Any) -> Any:
    n = len(x)
    length, height, noise = inv_gamma(5, 5), half_normal(2), half_normal(1)

    def covariance(i: Any, j: Any) -> Any:
        near = height**2 * exp(-((x[i] - x[j]) ** 2) / (2 * length**2))
        return near + (noise**2 + 1e-6 if i == j else 0)

    observe(multivariate_normal(zeros(n), build_matrix(n, n, covariance)), y)
    return length, height, noise


@sm.model
def correlated_effects(trials: Any, groups: int) -> Any:
    centre = normal(0, 2, size=2)
    scales = half_normal(1, size=2)
    factor_ = lkj_cholesky(2, 2)
    scaled = matrix_mul(diag_matrix(scales), factor_)
    effect = mem(lambda g: multivariate_normal_cholesky(centre, scaled))
    sd = half_normal(1)
    for row in trials:
        e = effect(row.group)
        observe(normal(e[0] + e[1] * row.x, sd), row.y)
    return centre, scales, sd


@sm.model
def item_response(answers: Any) -> Any:
    ability = mem(lambda person: normal(0, 1))
    difficulty = mem(lambda item: normal(0, 2))
    for row in answers:
        observe(bernoulli_logit(ability(row.person) - difficulty(row.item)), row.correct)
    return dict(difficulty=[difficulty(item) for item in unique(answers.item)])


@sm.model
def capture_recapture(first: int, second: int, both: int) -> Any:
    extra = geometric(0.005)
    n = first + second - both + extra
    observe(hypergeometric(second, first, n - first), both)
    return n


@sm.model
def survival(patients: Any) -> Any:
    shape, level, effect = gamma(2, 2), normal(1, 2), normal(0, 1)
    for row in patients:
        scale = exp(level + effect * row.treated)
        if row.died == 1:
            observe(weibull(shape, scale), row.months)
        else:
            observe(censor(weibull, 0, row.months, shape, scale), row.months)
    return shape, effect


def _data() -> dict[str, tuple[Any, ...]]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    groups = rng.integers(0, 8, 160)
    slopes = rng.normal([1, 2], 0.5, (8, 2))
    gx = rng.normal(size=160)
    person, item = (a.ravel() for a in np.meshgrid(np.arange(20), np.arange(6)))
    ability, hard = rng.normal(size=20), np.linspace(-2, 2, 6)
    treated = rng.integers(0, 2, 80)
    months = rng.weibull(1.5, 80) * np.exp(1 + 0.8 * treated)
    grid = np.linspace(0, 3, 12)
    return {
        "eight_schools": ({"y": [28.0, 8, -3, 7, -1, 1, 18, 12], "sigma": [15.0, 10, 16, 11, 9, 11, 10, 18]},),
        "coal_disasters": ({"disasters": np.concatenate([rng.poisson(3, 40), rng.poisson(1, 60)])},),
        "robust_regression": ({"x": x, "y": 1 + 2 * x + rng.standard_t(3, 60) * 0.3},),
        "admissions": (
            {
                "department": ["A", "A", "B", "B", "C", "C"],
                "male": [1, 0, 1, 0, 1, 0],
                "applications": [825, 108, 560, 25, 325, 593],
                "admitted": [512, 89, 353, 17, 120, 202],
            },
        ),
        "finite_mixture": (np.concatenate([rng.normal(-3, 1, 40), rng.normal(3, 1, 60)]),),
        "hidden_markov": (np.repeat([0.0, 3, 0, 3], 15) + rng.normal(size=60) * 0.7,),
        "local_level": (np.cumsum(rng.normal(0, 0.3, 50)) + rng.normal(0, 0.5, 50),),
        "zero_inflated_counts": (
            {"camper": (c := rng.integers(0, 2, 100)), "fish": rng.poisson(np.exp(0.5 + c)) * (rng.random(100) < 0.7)},
        ),
        "gaussian_process": (grid, np.sin(2 * grid) + rng.normal(0, 0.2, 12)),
        "correlated_effects": (
            {"group": groups, "x": gx, "y": slopes[groups, 0] + slopes[groups, 1] * gx + rng.normal(0, 0.5, 160)},
            8,
        ),
        "item_response": (
            {
                "person": person,
                "item": item,
                "correct": rng.random(120) < 1 / (1 + np.exp(hard[item] - ability[person])),
            },
        ),
        "capture_recapture": (50, 40, 12),
        "survival": ({"treated": treated, "months": np.minimum(months, 6.0), "died": (months < 6.0).astype(float)},),
    }


def main() -> None:
    for name, inputs in _data().items():
        fit = globals()[name](*inputs).sample(seed=1, draws=500, tune=500)
        print(f"{name}: {fit.seconds:.1f} s\n{fit.summary()!r}\n")


if __name__ == "__main__":
    main()
