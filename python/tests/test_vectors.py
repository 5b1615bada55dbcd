"""NumPy's habits: whole vectors, indices that are arrays, matrices."""

import numpy as np
import pytest

import smidgen as sm

FEW = dict(draws=200, tune=300, chains=2, seed=1)
rng = np.random.default_rng(5)


@sm.model
def whole(county, floor, y, n):
    mu, tau, slope, sd = normal(0, 5), half_normal(1), normal(0, 2), half_normal(1)
    alpha = normal(mu, tau, size=n)
    centre = alpha[county] + slope * floor
    observe(normal(centre, sd), y)
    return mu, tau, slope, sd, alpha


@sm.model
def by_rows(county, floor, y, n):
    mu, tau, slope, sd = normal(0, 5), half_normal(1), normal(0, 2), half_normal(1)
    alpha = normal(mu, tau, size=n)
    for c, f, value in zip(county, floor, y):
        observe(normal(alpha[c] + slope * f, sd), value)
    return mu, tau, slope, sd, alpha


def test_whole_vectors_are_observed_row_by_row():
    county, floor = rng.integers(0, 6, 200), rng.integers(0, 2, 200).astype(float)
    level = rng.normal(1, 0.5, 6)
    y = level[county] - 0.7 * floor + rng.normal(0, 0.3, 200)
    one, other = whole(county, floor, y, 6), by_rows(county, floor, y, 6)
    assert "[assume centre" not in one.text and one.text.count("[for row in") == 1
    fit = one.sample(**FEW)
    assert np.allclose(fit["alpha"].mean(axis=(0, 1)), other.sample(**FEW)["alpha"].mean(axis=(0, 1)), atol=0.05)
    assert np.allclose(fit["alpha"].mean(axis=(0, 1)), level, atol=0.2)
    assert fit.posterior_predictive(county=[0, 1], floor=[0.0, 1.0])["y"].shape == (2, 200, 2)


@sm.model
def recorded(x, y):
    a, b = normal(0, 5), normal(0, 5)
    line = a + b * x
    observe(normal(line, 0.5), y)
    return a, b, line


def test_a_name_that_is_recorded_stays():
    x = np.linspace(-1, 1, 30)
    fit = recorded(x, 1 + 2 * x + rng.normal(0, 0.5, 30)).sample(**FEW)
    assert fit["line"].shape == (2, 200, 30)
    assert np.allclose(fit["line"], fit["a"][..., None] + fit["b"][..., None] * x)


@sm.model
def schools(y, sigma):
    mu, tau = normal(0, 5), half_cauchy(5)
    theta = normal(mu, tau, size=len(y))
    observe(normal(theta, sigma), y)
    return mu, tau, theta


def test_a_vector_of_the_model_goes_along_with_the_rows():
    model = schools(np.array([28.0, 8, -3, 7]), np.array([15.0, 10, 16, 11]))
    assert "(lookup theta row.index)" in model.text
    with np.errstate(all="ignore"):
        fit = model.sample(**FEW)
    assert fit["theta"].shape == (2, 200, 4)


@sm.model
def logit(X, y):
    w = normal(0, 2, size=X.shape[1])
    p = logistic(X @ w)
    observe(bernoulli(p), y)
    return w


@sm.model
def logit_rows(X, y):
    w = normal(0, 2, size=X.shape[1])
    for x, label in zip(X, y):
        observe(bernoulli(logistic(dot(x, w))), label)
    return w


def test_a_matrix_times_weights_is_a_product_by_rows():
    X = rng.normal(size=(200, 3))
    y = (rng.random(200) < 1 / (1 + np.exp(-X @ [1.0, -1.0, 0.5]))).astype(float)
    fit = logit(X, y).sample(**FEW)
    assert np.allclose(fit["w"].mean(axis=(0, 1)), [1, -1, 0.5], atol=0.5)
    other = logit_rows(X, y).sample(**FEW)
    assert np.allclose(fit["w"].mean(axis=(0, 1)), other["w"].mean(axis=(0, 1)), atol=0.1)
    assert min(row["ess_bulk"] for row in fit.summary().rows.values()) > 100


@sm.model
def functions():
    v = normal(0, 1, size=3)
    m = np.array([[2.0, 0.5], [0.5, 1.0]])
    u = np.array([v[0], v[1]])
    L = np.linalg.cholesky(m)
    return v, dict(
        exp=np.exp(v), power=v**2, total=np.sum(np.tanh(v)), product=m @ u, twice=(m + m) @ u, scaled=(2 * m / 4) @ u,
        lower=L @ u, square=u @ m @ u, sinh=np.sinh(v[0]), log2=np.log2(np.exp(v[1])), ndtr=np.arctan(v[2]),
    )  # fmt: skip


def test_functions_of_vectors_and_matrices_are_those_of_numpy():
    fit = functions().sample(draws=50, tune=0, chains=1, seed=1)
    v = fit["v"][0]
    m = np.array([[2.0, 0.5], [0.5, 1.0]])
    u = v[:, :2]
    expected = dict(
        exp=np.exp(v), power=v**2, total=np.tanh(v).sum(axis=1), product=u @ m, twice=2 * u @ m, scaled=u @ m / 2,
        lower=u @ np.linalg.cholesky(m).T, square=np.einsum("ni,ij,nj->n", u, m, u), sinh=np.sinh(v[:, 0]), log2=v[:, 1] / np.log(2),
        ndtr=np.arctan(v[:, 2]),
    )  # fmt: skip
    for name, values in expected.items():
        assert np.allclose(fit[name][0], values, atol=1e-12), name


@sm.model
def softmax(X, y, k):
    W = normal(0, 1, size=(k, X.shape[1]))
    for x, label in zip(X, y):
        observe(categorical_logit(W @ x), label)
    return W, dict(first=W[0, 1], row=W[1])


def test_two_sizes_are_a_matrix():
    X = rng.normal(size=(200, 2))
    W = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]])
    p = np.exp(X @ W.T)
    y = [rng.choice(3, p=row / row.sum()) for row in p]
    fit = softmax(X, np.array(y), 3).sample(**FEW)
    assert fit["W"].shape == (2, 200, 3, 2) and np.array_equal(fit["W"][..., 0, 1], fit["first"])
    assert np.array_equal(fit["W"][..., 1, :], fit["row"])
    contrast = fit["W"].mean(axis=(0, 1)) - fit["W"].mean(axis=(0, 1))[2]
    assert np.allclose(contrast, W - W[2], atol=1.6), contrast


def test_an_operation_on_matrices_that_is_none():
    with pytest.raises(sm.ModelSyntaxError, match="operation on a matrix") as caught:

        @sm.model
        def wrong():
            L = lkj_cholesky(2, 1)
            return dict(x=L * L)

    assert "`@` is the product" in str(caught.value)


@sm.model
def curve(x, y):
    c = normal(0, 2, size=3)
    sd = half_normal(1)
    mu = c[0] + c[1] * x + c[2] * x**2
    observe(normal(mu, sd), y)
    return c, dict(peak=np.exp(c).sum())


@sm.model
def curve_rows(x, y):
    c = normal(0, 2, size=3)
    sd = half_normal(1)
    for a, b in zip(y, x):
        observe(normal(c[0] + c[1] * b + c[2] * b**2, sd), a)
    return c


def test_functions_of_vectors_do_not_slow_the_sampler():
    x = rng.normal(size=100)
    y = 1 + x - 0.5 * x**2 + rng.normal(0, 0.3, 100)
    fit = curve(x, y).sample(**FEW)
    assert min(row["ess_bulk"] for row in fit.summary().rows.values()) > 100
    same = curve_rows(x, y).sample(**FEW)
    assert np.allclose(fit["c"].mean(axis=(0, 1)), same["c"].mean(axis=(0, 1)), atol=0.03)


YEARS = np.arange(40.0)
COUNTS = np.where(YEARS < 15, 6, 1)


@sm.model
def switched(years, counts):
    change = uniform_discrete(0, 41)
    before, after = expon(1), expon(1)
    rate = np.where(years < change, before, after)
    observe(poisson(rate), counts)
    return change, before, after


@sm.model
def switched_by_rows(years, counts):
    change = uniform_discrete(0, 41)
    before, after = expon(1), expon(1)
    for year, count in zip(years, counts):
        observe(poisson(before if year < change else after), count)
    return change, before, after


def test_where_goes_entry_by_entry():
    a, b = (m(YEARS, COUNTS).sample(**FEW) for m in (switched, switched_by_rows))
    for name in ("change", "before", "after"):
        error = max(a.summary()[name]["mcse"], b.summary()[name]["mcse"], 1e-3)
        assert abs(a[name].mean() - b[name].mean()) < 6 * error, name


def test_comparisons_of_vectors_count():
    @sm.model
    def m():
        a = normal(0, 1, size=3)
        return dict(a=a, positive=sum(a > 0), size=np.where(a > 0, a, -a))

    fit = m().sample(draws=50, tune=0, chains=1, seed=3)
    assert ((fit["a"] > 0).sum(-1) == fit["positive"]).all()
    assert (np.abs(fit["a"]) == fit["size"]).all()


OUTCOMES = rng.multivariate_normal([1.0, -1.0], [[1.0, 0.5], [0.5, 2.0]], 30)
LEVELS = rng.integers(0, 3, 40)
X = rng.normal(0, 1, 40)


@sm.model
def rows_of_a_matrix(Y):
    mu, sd, L = normal(0, 5, size=2), half_normal(2), lkj_cholesky(2, 2)
    observe(multivariate_normal_cholesky(mu, sd * L), Y)
    return mu, sd


@sm.model
def one_by_one(Y):
    mu, sd, L = normal(0, 5, size=2), half_normal(2), lkj_cholesky(2, 2)
    for y in Y:
        observe(multivariate_normal_cholesky(mu, sd * L), y)
    return mu, sd


def test_rows_of_a_matrix_are_observed_one_by_one():
    a, b = (m(OUTCOMES).sample(**FEW) for m in (rows_of_a_matrix, one_by_one))
    assert all((a[name] == b[name]).all() for name in ("mu", "sd"))


@sm.model
def whole_arguments(x, y):
    slope, cuts, p = normal(0, 2), ordered(normal(0, 3), 2), dirichlet([1, 1, 1])
    w = beta(1, 1)
    observe(ordered_logistic(slope * x, cuts), y)
    observe(categorical(p), y)
    observe(mixture([w, 1 - w], [normal(slope + w * x, 1), normal(0, 1)]), x)
    return slope, cuts, p, w


@sm.model
def whole_arguments_by_rows(x, y):
    slope, cuts, p = normal(0, 2), ordered(normal(0, 3), 2), dirichlet([1, 1, 1])
    w = beta(1, 1)
    for xi, yi in zip(x, y):
        observe(ordered_logistic(slope * xi, cuts), yi)
    for yi in y:
        observe(categorical(p), yi)
    for xi in x:
        observe(mixture([w, 1 - w], [normal(slope + w * xi, 1), normal(0, 1)]), xi)
    return slope, cuts, p, w


def test_vectors_that_a_law_takes_whole_stay_whole():
    a, b = (m(X, LEVELS).sample(**FEW) for m in (whole_arguments, whole_arguments_by_rows))
    for name in ("slope", "cuts", "p", "w"):
        assert (a[name] == b[name]).all(), name
