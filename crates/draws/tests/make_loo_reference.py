"""Prints loo.tsv: PSIS-LOO of three models by ArviZ 0.23, from log likelihoods made by formulas.

Draw s of 4 x 500 has theta = scale log(u / (1 - u)) + centre with u = frac((s + 1) phi), in a scattered order;
the units are what `units` says. loo.rs makes the same matrix.
"""
import warnings

warnings.simplefilter("ignore")
import arviz as az
import numpy as np

CHAINS, DRAWS = 4, 500
S = CHAINS * DRAWS


def theta(scale, centre):
    s = (np.arange(S) * 7) % S
    u = np.modf((s + 1) * 0.6180339887498949)[0]
    return scale * np.log(u / (1 - u)) + centre


def normal(i, t):
    y = 0.3 * np.sin(3 * i) + 0.1 * i / 20
    return -0.9189385332046728 - 0.5 * (y - t) ** 2


def logistic(i, t):
    x, y = np.cos(i) * 2, (i % 3 == 0) * 1.0
    eta = t * x
    return y * eta - np.logaddexp(0, eta)


def outlier(i, t):
    y = 9.0 if i == 11 else 0.5 * np.sin(i)
    return -0.9189385332046728 - 0.5 * (y - t) ** 2


MODELS = {
    "normal": (normal, 0.12, 0.05, 1.0),
    "logistic": (logistic, 0.3, -0.4, 0.7),
    "outlier": (outlier, 0.5, 0.3, 1.3),
}
UNITS = 40

found = {}
print("model\treff\telpd\tse\tp_loo\tk_0\tk_11\tk_39\telpd_11")
for name, (f, scale, centre, reff) in MODELS.items():
    t = theta(scale, centre).reshape(CHAINS, DRAWS)
    log_lik = np.stack([f(i, t) for i in range(UNITS)], axis=-1)
    data = az.from_dict(posterior={"t": t}, log_likelihood={"y": log_lik})
    loo = az.loo(data, pointwise=True, reff=reff)
    found[name] = loo
    k, each = loo.pareto_k.values, loo.loo_i.values
    row = [reff, loo.elpd_loo, loo.se, loo.p_loo, k[0], k[11], k[39], each[11]]
    print(name, *(repr(float(x)) for x in row), sep="\t")
compared = az.compare({k: found[k] for k in ["normal", "logistic"]}, scale="log")
for name, row in compared.iterrows():
    print("compare", name, *(repr(float(row[c])) for c in ["elpd_loo", "elpd_diff", "dse", "weight"]), sep="\t")
