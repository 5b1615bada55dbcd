"""What NumPy's users write: slices, masks, products of matrices, laws with vectors, facts about arrays."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import smidgen as sm

FEW = dict(draws=60, tune=100, chains=1, seed=1)
rng = np.random.default_rng(8)
N = 150


def close(model, other, names):
    """Two spellings of one model: their log densities differ by nothing, whatever the choices are."""
    starts = model.prior_predictive(6, seed=2)
    for k in range(6):
        at = {name: starts[name][0, k].tolist() for name in names}
        lp = [
            m.sample(draws=1, tune=0, chains=1, seed=1, init=at, kernel="(do)", stats=True).stats["lp"][0, 0]
            for m in (model, other)
        ]
        assert np.isfinite(lp[0]) and abs(lp[0] - lp[1]) < 1e-9 * abs(lp[0]), (at, lp)


@sm.model
def ar_slices(y):
    c, phi, sd = normal(0, 1), normal(0, 1, size=2), half_normal(1)
    mean = c + phi[0] * y[1:-1] + phi[1] * y[:-2]
    observe(normal(mean, sd), y[2:], label="y")
    return c, phi, sd


@sm.model
def ar_places(y):
    c, phi, sd = normal(0, 1), normal(0, 1, size=2), half_normal(1)
    for t in range(2, len(y)):
        observe(normal(c + phi[0] * y[t - 1] + phi[1] * y[t - 2], sd), y[t])
    return c, phi, sd


def test_slices_of_data_are_columns():
    y = rng.normal(size=N)
    model = ar_slices(y)
    close(model, ar_places(y), ("c", "phi", "sd"))
    assert model.text.count("[for row in") == 1 and "{y" not in model.text
    fit = model.sample(**FEW)
    assert fit.posterior_predictive()["y"].shape == (1, 60, N - 2)
    # A part is of these data: other data are another model.
    with pytest.raises(sm.ModelError, match="`y`"):
        fit.posterior_predictive(y=y)


@sm.model
def masked(y, group):
    m, sd = normal(0, 1, size=2), half_normal(1)
    observe(normal(m[0], sd), y[group == 0])
    observe(normal(m[1], sd), y[(group == 1) & (y > -10)])
    return m, sd


@sm.model
def indexed(y, group):
    m, sd = normal(0, 1, size=2), half_normal(1)
    observe(normal(m[group], sd), y)
    return m, sd


def test_masks_of_data():
    y, group = rng.normal(size=N), rng.integers(0, 2, N)
    close(masked(y, group), indexed(y, group), ("m", "sd"))
    assert masked(pd.Series(y), pd.Series(group)).text == masked(y, group).text


@sm.model
def softmax_regression(X, y, k):
    n, p = X.shape
    a, B = normal(0, 1, size=k), normal(0, 1, size=(p, k))
    logits = a + X @ B
    observe(categorical_logit(logits), y)
    return a, B


def test_a_matrix_of_logits():
    X, y = rng.normal(size=(N, 3)), rng.integers(0, 4, N)
    model = softmax_regression(X, y, 4)
    assert "[assume logits" not in model.text and model.text.count("[for row in") == 1
    fit = model.sample(**FEW)
    p = softmax(fit["a"][:, :, None, :] + np.einsum("np,cdpk->cdnk", X, fit["B"]), axis=-1)
    assert np.allclose(fit.log_likelihood()["y"], np.log(p[..., np.arange(N), y]), rtol=1e-9)
    assert fit.posterior_predictive(X=X[:5])["y"].shape == (1, 60, 5)


@sm.model
def network(X, y, width):
    w1, w2 = normal(0, 1, size=(X.shape[1], width)), normal(0, 1, size=width)
    hidden = np.tanh(X @ w1)
    sd = half_normal(1)
    observe(normal(np.dot(hidden, w2), sd), y)
    return w1, w2, sd, dict(first=hidden[0])


def test_a_layer_of_a_network():
    X, y = rng.normal(size=(N, 2)), rng.normal(size=N)
    fit = network(X, y, 3).sample(**FEW)
    hidden = np.tanh(np.einsum("p,cdph->cdh", X[0], fit["w1"]))
    assert np.allclose(fit["first"], hidden, atol=1e-12)
    hidden = np.tanh(np.einsum("np,cdph->cdnh", X, fit["w1"]))
    mean = np.einsum("cdnh,cdh->cdn", hidden, fit["w2"])
    sd = fit["sd"][..., None]
    by_hand = -0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
    found = fit.log_likelihood()
    assert np.allclose(found["y"], by_hand, rtol=1e-9)


@sm.model
def sliced(n):
    a = normal(0, 1, size=n)
    m = normal(0, 1, size=(3, 2))
    pairs = multivariate_normal(np.zeros(2), np.eye(2), size=4)
    return a, m, dict(
        rest=a[1:], but_last=a[:-1], middle=a[1:-1], last=a[-2:], difference=a[1:] - a[:-1], column=m[:, 1], row=m[2, :],
        doubled=np.exp(2 * m), firsts=pairs[:, 0], pairs=pairs, best=np.argmax(a), spread=np.std(a), share=softmax(a),
    )  # fmt: skip


def test_slices_of_vectors_and_matrices():
    fit = sliced(5).sample(draws=20, tune=0, chains=1, seed=3)
    a, m, pairs = fit["a"][0], fit["m"][0], fit["pairs"][0]
    expected = dict(
        rest=a[:, 1:], but_last=a[:, :-1], middle=a[:, 1:-1], last=a[:, -2:], difference=np.diff(a), column=m[:, :, 1],
        row=m[:, 2], doubled=np.exp(2 * m), best=a.argmax(axis=1), spread=a.std(axis=1),
        share=np.exp(a) / np.exp(a).sum(axis=1, keepdims=True),
    )  # fmt: skip
    for name, values in expected.items():
        assert np.allclose(fit[name][0].astype(float), values, atol=1e-12), name
    pairs = np.array([[list(map(list, draw)) for draw in pairs]])[0] if pairs.dtype == object else pairs
    assert np.allclose(fit["firsts"][0], np.asarray(pairs, dtype=float)[..., 0])


def test_facts_about_arrays():
    @sm.model
    def m(x, group, y):
        z = (x - x.mean()) / x.std()
        effects = normal(0, 1, size=len(np.unique(group)))
        b, sd = normal(0, 1, size=group.max() + 1), half_normal(1)
        observe(normal(effects[group] + b[group] * z, sd), y)
        return effects, b

    x, group = rng.normal(size=N), rng.integers(0, 3, N)
    fit = m(x, group, rng.normal(size=N)).sample(**FEW)
    assert fit["effects"].shape == (1, 60, 3) and fit["b"].shape == (1, 60, 3)
    # Of any size.
    many = m(np.tile(x, 200), np.tile(group, 200), np.tile(x, 200))
    assert many.sample(draws=2, tune=2, chains=1, seed=1)["b"].shape == (1, 2, 3)


def test_mixtures_of_a_number_of_components():
    @sm.model
    def listed(y, k):
        w, mu, sd = dirichlet(np.ones(k)), ordered(normal(0, 3), k), half_normal(2, size=k)
        observe(mixture(w, [normal(mu[i], sd[i]) for i in range(k)]), y)
        return w, mu, sd

    @sm.model
    def vectors(y, k):
        w, mu, sd = dirichlet(np.ones(k)), ordered(normal(0, 3), k), half_normal(2, size=k)
        observe(mixture(w, normal(mu, sd)), y)
        return w, mu, sd

    y = rng.normal(size=N)
    assert listed(y, 3).text == vectors(y, 3).text and listed(y, 3).text.count("(lookup mu") == 3
    fit = vectors(y, 2).sample(**FEW)
    w, mu, sd = (fit[name][..., None, :] for name in ("w", "mu", "sd"))
    density = w * np.exp(-0.5 * ((y[:, None] - mu) / sd) ** 2) / sd / np.sqrt(2 * np.pi)
    assert np.allclose(fit.log_likelihood()["y"], np.log(density.sum(axis=-1)), rtol=1e-9)


def test_laws_of_vectors():
    @sm.model
    def several(y, counts, n):
        mu = normal(np.array([1.0, -1.0, 0.0]), 0.5)
        rate = gamma(np.exp(mu) * 10, 10)
        shift = normal(mean=mu, sd=[1.0, 2.0, 3.0])
        observe(poisson(rate[np.arange(3)]), counts)
        observe(normal(mu, 1), y)  # a row is three draws
        return mu, rate, shift

    Y = rng.normal(size=(40, 3))
    fit = several(Y, np.array([3, 0, 1]), 3).sample(**FEW)
    assert fit["mu"].shape == fit["rate"].shape == fit["shift"].shape == (1, 60, 3)
    mean = fit["mu"][0][:, None, :]
    by_hand = (-0.5 * (Y - mean) ** 2 - 0.5 * np.log(2 * np.pi)).sum(axis=-1)
    assert np.allclose(fit.log_likelihood()["y"][0], by_hand, rtol=1e-9)
    prior = several(Y, np.array([3, 0, 1]), 3).prior_predictive(4000, seed=1)["mu"][0]
    assert np.allclose(prior.mean(axis=0), [1, -1, 0], atol=0.05) and np.allclose(prior.std(axis=0), 0.5, atol=0.05)


def test_data_in_other_spellings():
    @sm.model
    def one(df, X, y):
        b, sd = normal(0, 1, size=3), half_normal(1)
        observe(normal(np.sum(X * b, axis=1), sd), df.y.values)
        observe(bernoulli(logistic((b * X).sum(axis=-1))), y > 0)
        return b, sd

    @sm.model
    def other(df, X, y):
        b, sd = normal(0, 1, size=3), half_normal(1)
        observe(normal(X @ b, sd), y)
        positive = (y > 0).astype(int)
        observe(bernoulli(logistic(X @ b)), positive)
        return b, sd

    y, X = rng.normal(size=N), rng.normal(size=(N, 3))
    inputs = (pd.DataFrame({"y": y}), X, y)
    close(one(*inputs), other(*inputs), ("b", "sd"))


def test_indices_that_are_choices_or_pairs():
    @sm.model
    def mixture_by_index(y, k: int = 3):
        w, mu = dirichlet(np.ones(k)), normal(0, 2, size=k)
        z = categorical(w, size=len(y))
        observe(normal(mu[z], 1), y)
        return mu, z

    y, group = rng.normal(size=N), rng.integers(0, 4, N)
    fit = mixture_by_index(y).sample(**FEW)
    chosen = np.take_along_axis(fit["mu"], fit["z"].astype(int), axis=2)
    assert np.allclose(fit.log_likelihood()["y"], -0.5 * (y - chosen) ** 2 - 0.5 * np.log(2 * np.pi), rtol=1e-9)

    @sm.model
    def slopes(y, x, group):
        a = normal(0, 1, size=(4, 2))
        mu = a[group, 0] + a[group, 1] * x
        observe(normal(mu, 1), y)
        return a, dict(third=mu[3], both=a[group[:5], [0, 1, 0, 1, 0]])

    x = rng.normal(size=N)
    fit = slopes(y, x, group).sample(**FEW)
    mean = fit["a"][:, :, group, 0] + fit["a"][:, :, group, 1] * x
    assert np.allclose(fit["third"], mean[..., 3]) and np.allclose(fit["both"][..., 1], fit["a"][:, :, group[1], 1])
    assert np.allclose(fit.log_likelihood()["y"], -0.5 * (y - mean) ** 2 - 0.5 * np.log(2 * np.pi), rtol=1e-9)


def test_what_is_said():
    def number_of_components(y):
        k = 1 + poisson(3)
        w = dirichlet(ones(k))
        observe(mixture(w, [normal(i, 1) for i in range(k)]), y)

    with pytest.raises(sm.ModelSyntaxError, match="number of components"):
        sm.model(number_of_components)(np.zeros(3)).text

    def step(n):
        a = normal(0, 1, size=n)
        return a[::2]

    with pytest.raises(sm.ModelSyntaxError, match="this slice"):
        sm.model(step)(4).text

    def beyond(X):
        return X[:, 7].mean()

    with pytest.raises(sm.ModelSyntaxError, match="cannot be computed: index 7"):
        sm.model(beyond)(np.zeros((3, 2))).text

    def named(names):
        b = normal(0, 1, size=2)
        for i, name in enumerate(names):
            predict(b[i], f"b_{name}")

    with pytest.raises(sm.ModelSyntaxError, match="number themselves"):
        sm.model(named)
