"""Posterior means and sds of the gallery's models, found without smidgen: python3 reference.py [NAME ...]

Needs NumPy and SciPy, and writes reference.json. Where a model allows it, the answer is a sum or an integral
(conjugate forms, quadrature on a fine grid, enumeration); else importance sampling from a t law at the mode of
a density whose latent variables are summed or integrated out, with the effective number of draws in `how`; else a
chain of a few lines that is written here. Nothing of it shares code with smidgen.
"""
import json, math, pathlib, sys

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln, expit, gammaln, logsumexp

here = pathlib.Path(__file__).resolve().parent
normal = stats.norm.logpdf


def table(name, folder=here / "data"):
    return np.genfromtxt(folder / f"{name}.csv", delimiter=",", names=True)


def half_normal(x, sd):
    return np.where(x > 0, normal(x, 0, sd) + math.log(2), -np.inf)


def summary(values, weights):
    weights = weights / weights.sum()
    mean = (weights * values).sum()
    return {"mean": float(mean), "sd": float(np.sqrt((weights * (values - mean) ** 2).sum()))}


def grid(*axes):
    return [a.ravel() for a in np.meshgrid(*axes, indexing="ij")]


def importance(log_density, start, draws=100_000, seed=1):
    """Draws and weights of a density on R^d, from a t law of 6 degrees of freedom at its mode."""
    one = lambda x: -float(log_density(np.asarray(x)[None, :])[0])
    mode = minimize(one, start, method="Nelder-Mead", options={"maxiter": 20_000, "xatol": 1e-6, "fatol": 1e-9, "adaptive": True}).x
    d, step = len(mode), 1e-3
    hessian = np.zeros((d, d))
    for i in range(d):
        for j in range(d):
            a, b = np.eye(d)[i] * step, np.eye(d)[j] * step
            hessian[i, j] = (one(mode + a + b) - one(mode + a - b) - one(mode - a + b) + one(mode - a - b)) / (4 * step**2)
    law = stats.multivariate_t(mode, np.linalg.inv(hessian) * 1.2, df=6, seed=seed)
    x = law.rvs(draws)
    log_weights = np.concatenate([log_density(part) for part in np.array_split(x, 50)]) - law.logpdf(x)
    weights = np.exp(log_weights - log_weights.max())
    ess = weights.sum() ** 2 / (weights**2).sum()
    assert ess > 5_000, ess
    return x, weights, f"importance sampling at the mode, effective draws {ess:.0f} of {draws}"


def gaussian_given(prior_mean, prior_sd, design, y, sigma):
    """Log evidence, mean and covariance of the weights of a linear regression, for one sigma."""
    precision = design.T @ design / sigma**2 + np.diag(1 / prior_sd**2)
    covariance = np.linalg.inv(precision)
    mean = covariance @ (design.T @ y / sigma**2 + prior_mean / prior_sd**2)
    rest = y - design @ mean
    log_evidence = -0.5 * rest @ rest / sigma**2 - len(y) * math.log(sigma) - len(y) / 2 * math.log(2 * math.pi)
    log_evidence += -0.5 * (((mean - prior_mean) / prior_sd) ** 2).sum() - np.log(prior_sd).sum()
    log_evidence += 0.5 * np.linalg.slogdet(covariance)[1]
    return log_evidence, mean, covariance


def mixed(weights, means, variances):
    """Mean and sd of a mixture of laws with these means and variances."""
    weights = weights / weights.sum()
    mean = (weights * means).sum()
    return {"mean": float(mean), "sd": float(math.sqrt((weights * (variances + (means - mean) ** 2)).sum()))}


def regression():
    t = table("seedlings")
    design = np.stack([np.ones(len(t)), t["light"] - 8], 1)
    sigmas = np.linspace(1.2, 4.5, 2000)
    prior = np.array([15.0, 0.0]), np.array([20.0, 5.0])
    parts = [gaussian_given(*prior, design, t["height"], s) for s in sigmas]
    log_weights = np.array([p[0] for p in parts]) + half_normal(sigmas, 5)
    w = np.exp(log_weights - log_weights.max())
    means, covariances = np.array([p[1] for p in parts]), np.array([p[2] for p in parts])
    a = np.array([1.0, 4.0])
    return "weights given sigma are normal; quadrature over sigma", {
        "level": mixed(w, means[:, 0], covariances[:, 0, 0]),
        "slope": mixed(w, means[:, 1], covariances[:, 1, 1]),
        "sigma": summary(sigmas, w),
        "next": mixed(w, means @ a, np.einsum("i,nij,j->n", a, covariances, a) + sigmas**2),
    }


def hierarchy():
    t = table("clinics")
    groups = [t["wait"][t["clinic"] == k] for k in range(12)]
    taus, sigmas = grid(np.linspace(0.02, 18, 450), np.linspace(6.5, 16, 160))
    log_weights = half_normal(taus, 10) + half_normal(sigmas, 20)
    precision, shift = np.full(len(taus), 1 / 400.0), np.full(len(taus), 30 / 400.0)
    constant = -0.5 * 30**2 / 400
    for g in groups:
        n, mean, spread = len(g), g.mean(), ((g - g.mean()) ** 2).sum()
        log_weights += -(n - 1) * np.log(sigmas) - 0.5 * spread / sigmas**2
        v = taus**2 + sigmas**2 / n
        log_weights += -0.5 * np.log(v)
        precision += 1 / v
        shift += mean / v
        constant = constant - 0.5 * mean**2 / v
    mu, variance = shift / precision, 1 / precision
    log_weights += constant + 0.5 * shift**2 / precision + 0.5 * np.log(variance)
    w = np.exp(log_weights - log_weights.max())
    found = {"mu": mixed(w, mu, variance), "tau": summary(taus, w), "sigma": summary(sigmas, w)}
    for name, k in (("levels[5]", 5), ("levels[6]", 6)):
        n, mean = len(groups[k]), groups[k].mean()
        share = taus**2 / (taus**2 + sigmas**2 / n)  # how far the clinic's own mean counts
        found[name] = mixed(w, share * mean + (1 - share) * mu, share * sigmas**2 / n + (1 - share) ** 2 * variance)
    return "levels and mu integrated out; quadrature over tau and sigma", found


def survival():
    t = table("pumps")
    shape, level, gain = grid(np.linspace(0.7, 2.6, 90), np.linspace(1.9, 4.2, 90), np.linspace(-1.2, 2.6, 90))
    log_weights = stats.gamma.logpdf(shape, 4, scale=1 / 2) + normal(level, 2.5, 1) + normal(gain, 0, 1)
    for row in t:
        z = math.log(row["time"]) - level - gain * row["new"]
        log_weights -= np.exp(shape * z)
        if row["time"] < row["end"]:
            log_weights += np.log(shape) + shape * z - math.log(row["time"])
    w = np.exp(log_weights - log_weights.max())
    better = np.where(gain > 0, 1.0, 0.0)
    return "quadrature on a grid of 90 x 90 x 90", {
        "shape": summary(shape, w), "level": summary(level, w), "gain": summary(gain, w), "better": summary(better, w)}


def mixture():
    y = table("geyser")["minutes"]

    def log_density(x):
        share, sds = expit(x[:, 0]), np.exp(x[:, 3:5])
        a, b = x[:, 1], x[:, 1] + np.exp(x[:, 2])
        prior = stats.beta.logpdf(share, 2, 2) + np.log(share * (1 - share)) + normal(a, 70, 20) + normal(b, 70, 20)
        prior += x[:, 2] + (half_normal(sds, 10) + x[:, 3:5]).sum(1)
        first = np.log(share)[:, None] + normal(y, a[:, None], sds[:, :1])
        second = np.log1p(-share)[:, None] + normal(y, b[:, None], sds[:, 1:])
        return prior + np.logaddexp(first, second).sum(1)

    x, w, how = importance(log_density, [-0.6, 54, 3.2, 1.8, 1.8])
    return how, {"share": summary(expit(x[:, 0]), w), "short": summary(x[:, 1], w),
                 "long": summary(x[:, 1] + np.exp(x[:, 2]), w), "sd0": summary(np.exp(x[:, 3]), w), "sd1": summary(np.exp(x[:, 4]), w)}


def hmm():
    y = table("sensor")["y"]

    def filtered(x):
        leave, sd = expit(x[:, 3:5]), np.exp(x[:, 2])
        means = np.stack([x[:, 0], x[:, 0] + np.exp(x[:, 1])], 1)
        emit = np.exp(normal(y[:, None, None], means, sd[:, None]))
        move = np.stack([np.stack([1 - leave[:, 0], leave[:, 0]], 1), np.stack([leave[:, 1], 1 - leave[:, 1]], 1)], 1)
        return leave, means, sd, emit, move

    def log_density(x):
        leave, means, sd, emit, move = filtered(x)
        prior = stats.beta.logpdf(leave, 1, 9).sum(1) + np.log(leave * (1 - leave)).sum(1)
        prior += normal(means, 0, 2).sum(1) + x[:, 1] + half_normal(sd, 1) + x[:, 2]
        p, total = 0.5 * emit[0], 0.0
        for t in range(len(y)):
            if t:
                p = np.einsum("ni,nij->nj", p, move) * emit[t]
            scale = p.sum(1, keepdims=True)
            total, p = total + np.log(scale[:, 0]), p / scale
        return prior + total

    x, w, how = importance(log_density, [0, 0.4, -0.3, -2.2, -2], draws=60_000)
    leave, means, sd, emit, move = filtered(x)
    forward, backward = [0.5 * emit[0]], [np.ones((len(x), 2))]
    for t in range(1, len(y)):
        p = np.einsum("ni,nij->nj", forward[-1], move) * emit[t]
        forward.append(p / p.sum(1, keepdims=True))
    for t in range(len(y) - 1, 0, -1):
        p = np.einsum("nij,nj->ni", move, backward[-1] * emit[t])
        backward.append(p / p.sum(1, keepdims=True))
    smoothed = np.array(forward) * np.array(backward[::-1])
    moving = smoothed[:, :, 1] / smoothed.sum(2)
    chances = {f"path[{t}]": float((w * moving[t]).sum() / w.sum()) for t in range(120) if 0.2 < moving[t].mean() < 0.8}
    flag = lambda p: {"mean": p, "sd": math.sqrt(p * (1 - p))}
    return "states summed out; " + how, {
        "rest": summary(means[:, 0], w), "move": summary(means[:, 1], w), "sd": summary(sd, w),
        "leave0": summary(leave[:, 0], w), "leave1": summary(leave[:, 1], w),
        **{name: flag(p) for name, p in chances.items()}}


def volatility():
    r = table("returns")["r"]
    points, weights = np.polynomial.hermite_e.hermegauss(31)

    def log_density(x):
        """The log variance is a Markov chain on a grid, filtered for each parameter."""
        mu, phi, sigma = x[:, 0], expit(x[:, 1]), np.exp(x[:, 2])
        prior = normal(mu, 0, 1) + stats.beta.logpdf(phi, 20, 1.5) + np.log(phi * (1 - phi))
        prior += half_normal(sigma, 0.5) + x[:, 2]
        total = np.empty(len(x))
        for i in range(len(x)):
            total[i], _ = filtered(mu[i], phi[i], sigma[i])
        return prior + total

    def filtered(mu, phi, sigma):
        # 121 points over six stationary sds, at most; the first state is one step from 0.
        reach = 5.5 * sigma / math.sqrt(1 - min(phi, 0.995) ** 2)
        h = np.linspace(-reach, reach, max(121, int(2 * reach / (0.5 * sigma))))
        move = np.exp(-0.5 * ((h[None, :] - phi * h[:, None]) / sigma) ** 2)
        move /= move.sum(1, keepdims=True)
        p = np.exp(-0.5 * (h / sigma) ** 2)
        p, total = p / p.sum(), 0.0
        sd = np.exp((mu + h) / 2)
        emit = np.exp(-0.5 * (r[:, None] / sd) ** 2) / sd / math.sqrt(2 * math.pi)
        for t in range(len(r)):
            p = (p if t == 0 else p @ move) * emit[t]
            scale = p.sum()
            total, p = total + math.log(scale), p / scale
        return total, ((p * sd).sum(), (p * sd**2).sum())

    x, w, how = importance(log_density, [0.3, 2.9, -1.3], draws=20_000)
    w = w / w.sum()
    keep = np.random.default_rng(1).choice(len(x), 3000, p=w)
    last = np.array([filtered(x[i, 0], expit(x[i, 1]), math.exp(x[i, 2]))[1] for i in keep])
    mean, square = last.mean(0)
    return "states summed out on a grid; " + how, {
        "mu": summary(x[:, 0], w), "phi": summary(expit(x[:, 1]), w), "sigma": summary(np.exp(x[:, 2]), w),
        "sd[119]": {"mean": float(mean), "sd": float(math.sqrt(square - mean**2))}}


def nig_evidence(n, s, q, m, v, a, b):
    """Log evidence of n normal numbers with sum s and sum of squares q: variance ~ inv_gamma(a, b), mean ~ normal(m, v variance)."""
    precision = 1 / v + n
    mean = (m / v + s) / precision
    shape, scale = a + n / 2, b + 0.5 * (q + m * m / v - precision * mean**2)
    return (-n / 2 * math.log(2 * math.pi) - 0.5 * math.log(v * precision) + a * math.log(b) - shape * math.log(scale)
            + math.lgamma(shape) - math.lgamma(a))


def clusters(sweeps=20_000):
    y = table("shells")["size"]
    n, rng = len(y), np.random.default_rng(1)
    groups, of = [[0, 0.0, 0.0]], [0] * n
    for x in y:
        groups[0] = [groups[0][0] + 1, groups[0][1] + x, groups[0][2] + x * x]
    prior = (5, 10, 2, 1)
    evidence = lambda g: nig_evidence(*g, *prior) if g[0] else 0.0
    known = [evidence(g) for g in groups]
    kinds, together = [], []
    for sweep in range(sweeps + 500):
        for i in range(n):
            x, k = y[i], of[i]
            groups[k] = [groups[k][0] - 1, groups[k][1] - x, groups[k][2] - x * x]
            known[k] = evidence(groups[k])
            if groups[k][0] == 0:
                groups[k], known[k] = groups[-1], known[-1]
                of = [k if g == len(groups) - 1 else g for g in of]
                groups.pop(), known.pop()
            options = groups + [[0, 0.0, 0.0]]
            with_x = [evidence([g[0] + 1, g[1] + x, g[2] + x * x]) for g in options]
            log_p = [math.log(g[0] or 1) + a - b for g, a, b in zip(options, with_x, known + [0.0])]
            top = max(log_p)
            p = [math.exp(l - top) for l in log_p]
            u, k = rng.random() * sum(p), 0
            while u > p[k]:
                u, k = u - p[k], k + 1
            if k == len(groups):
                groups.append([0, 0.0, 0.0]), known.append(0.0)
            groups[k] = [groups[k][0] + 1, groups[k][1] + x, groups[k][2] + x * x]
            known[k], of[i] = with_x[k], k
        if sweep >= 500:
            kinds.append(len(groups)), together.append(float(of[0] == of[2]))
    ones = np.ones(sweeps)
    return f"a collapsed Gibbs sampler in Python, {sweeps} sweeps", {
        "(size (unique (map kind (range 0 50))))": summary(np.array(kinds, float), ones), "together": summary(np.array(together), ones)}


def changepoint():
    y = table("tickets", here.parent / "data")["tickets"]
    log_w, parts = [], []
    evidence = lambda n, s: 2 * math.log(0.5) - (2 + s) * math.log(0.5 + n) + math.lgamma(2 + s)
    days = np.arange(1, 100)
    for c in days:
        before, after = (c, y[:c].sum()), (len(y) - c, y[c:].sum())
        log_w.append(evidence(*before) + evidence(*after))
        parts.append([(2 + s, 0.5 + n) for n, s in (before, after)])
    w = np.exp(np.array(log_w) - max(log_w))
    parts = np.array(parts)
    shape, rate = parts[..., 0], parts[..., 1]
    # after / before = (a2 / r2) / (a1 / r1) times an F ratio of gammas, with known moments.
    ratio = shape[:, 1] / rate[:, 1] * rate[:, 0] / (shape[:, 0] - 1)
    square = shape[:, 1] * (shape[:, 1] + 1) / rate[:, 1] ** 2 * rate[:, 0] ** 2 / ((shape[:, 0] - 1) * (shape[:, 0] - 2))
    return "rates integrated out (gamma and Poisson), sum over 99 days", {
        "change": {**summary(days.astype(float), w), "within": 0.3},
        "before": mixed(w, shape[:, 0] / rate[:, 0], shape[:, 0] / rate[:, 0] ** 2),
        "after": mixed(w, shape[:, 1] / rate[:, 1], shape[:, 1] / rate[:, 1] ** 2),
        "drop": mixed(w, 1 - ratio, square - ratio**2)}


def ab():
    rows = [line.split(",") for line in (here / "data/versions.csv").read_text().split()[1:]]
    (_, n0, k0), (_, n1, k1) = rows
    old, new = [stats.beta(2 + int(k), 20 + int(n) - int(k)) for n, k in ((n0, k0), (n1, k1))]
    x = np.linspace(0, 0.3, 200_001)
    better = float((new.pdf(x) * old.cdf(x)).sum() * (x[1] - x[0]))
    a, b = old.args
    inverse, inverse_square = (a + b - 1) / (a - 1), (a + b - 1) * (a + b - 2) / ((a - 1) * (a - 2))
    lift = new.mean() * inverse - 1
    return "conjugate; one integral for the comparison", {
        "old": {"mean": float(old.mean()), "sd": float(old.std())}, "new": {"mean": float(new.mean()), "sd": float(new.std())},
        "lift": {"mean": float(lift), "sd": float(math.sqrt((new.var() + new.mean() ** 2) * inverse_square - (lift + 1) ** 2))},
        "better": {"mean": better, "sd": math.sqrt(better * (1 - better))}}


def ordinal():
    t = table("guests")
    wait, grade = t["wait"] / 10, t["grade"].astype(int)

    def cuts_of(x):
        return np.cumsum(np.stack([x[:, 1], np.exp(x[:, 2]), np.exp(x[:, 3])], 1), 1)

    def log_density(x):
        cuts = cuts_of(x)
        prior = normal(x[:, 0], 0, 1) + normal(cuts, 0, 3).sum(1) + x[:, 2] + x[:, 3]
        ends = np.concatenate([np.full((len(x), 1), -np.inf), cuts, np.full((len(x), 1), np.inf)], 1)
        eta = x[:, :1] * wait
        p = expit(ends[:, grade + 1] - eta) - expit(ends[:, grade] - eta)
        return prior + np.log(p).sum(1)

    x, w, how = importance(log_density, [-0.4, -2.2, 0.3, 0.5])
    cuts = cuts_of(x)
    return how, {"slope": summary(x[:, 0], w), **{f"cut{k}": summary(cuts[:, k], w) for k in range(3)}}


def structure():
    t = table("steps")
    known = {}

    def evidence(start, end):
        """Log evidence of an interval: one leaf, or cut in two."""
        if (start, end) not in known:
            y = t["y"][start:end]
            leaf = nig_evidence(len(y), y.sum(), (y**2).sum(), 0, 4, 3, 1)
            if end - start <= 4:
                known[start, end] = leaf, 0.0
            else:
                middle = (start + end) // 2
                both = math.log(0.4) + evidence(start, middle)[0] + evidence(middle, end)[0]
                total = np.logaddexp(math.log(0.6) + leaf, both)
                known[start, end] = float(total), math.exp(both - total)
        return known[start, end]

    cut = lambda *interval: (evidence(*interval), known[interval][1])[1]
    flag = lambda p: {"mean": p, "sd": math.sqrt(p * (1 - p))}
    root = cut(0, 64)
    leaves = lambda a, b: 1.0 if b - a <= 4 else 1 + cut(a, b) * (leaves(a, (a + b) // 2) + leaves((a + b) // 2, b) - 1)

    def spread(a, b):
        """Mean and variance of the number of leaves below an interval."""
        if b - a <= 4:
            return 1.0, 0.0
        p, middle = cut(a, b), (a + b) // 2
        (m1, v1), (m2, v2) = spread(a, middle), spread(middle, b)
        mean = (1 - p) + p * (m1 + m2)
        square = (1 - p) + p * (v1 + v2 + (m1 + m2) ** 2)
        return mean, square - mean**2

    mean, variance = spread(0, 64)
    return "exact: leaves integrated out, recursion over intervals", {
        "half": flag(root * cut(32, 64)), "third": flag(root * cut(0, 32) * cut(0, 16)),
        "parts": {"mean": mean, "sd": math.sqrt(variance)}}


def arma():
    y = table("demand")["y"]

    def forecasts(x):
        level, phi, theta = x[:, 0], np.tanh(x[:, 1]), np.tanh(x[:, 2])
        found = [level]
        for t in range(1, len(y) + 1):
            found.append(level + phi * (y[t - 1] - level) + theta * (y[t - 1] - found[-1]))
        return np.array(found)

    def log_density(x):
        sigma = np.exp(x[:, 3])
        prior = normal(x[:, 0], 5, 5) + np.log(1 - np.tanh(x[:, 1]) ** 2) + np.log(1 - np.tanh(x[:, 2]) ** 2)
        return prior + half_normal(sigma, 2) + x[:, 3] + normal(y[:, None], forecasts(x)[:-1], sigma).sum(0)

    x, w, how = importance(log_density, [5, 0.8, 0.3, 0])
    sigma, ahead = np.exp(x[:, 3]), forecasts(x)[-1]
    return how, {"level": summary(x[:, 0], w), "phi": summary(np.tanh(x[:, 1]), w), "theta": summary(np.tanh(x[:, 2]), w),
                 "sigma": summary(sigma, w), "ahead[0]": mixed(w, ahead, sigma**2)}


def measurement():
    t = table("salt")

    def log_density(x):
        mu, tau, level, slope, sigma = x[:, 0], np.exp(x[:, 1]), x[:, 2], x[:, 3], np.exp(x[:, 4])
        prior = normal(mu, 8, 5) + half_normal(tau, 3) + x[:, 1] + normal(level, 120, 20) + normal(slope, 0, 5)
        prior += half_normal(sigma, 10) + x[:, 4]
        # Measured and pressure are jointly normal once the true salt is integrated out.
        v1, v2, c = tau**2 + 1, slope**2 * tau**2 + sigma**2, slope * tau**2
        a = t["measured"][None, :] - mu[:, None]
        b = t["pressure"][None, :] - (level + slope * (mu - 8))[:, None]
        rest = v2 - c**2 / v1
        first = normal(a, 0, np.sqrt(v1)[:, None])
        return prior + (first + normal(b, (c / v1)[:, None] * a, np.sqrt(rest)[:, None])).sum(1)

    x, w, how = importance(log_density, [8, 0.4, 120, 4, 1.8])
    return "true values integrated out; " + how, {
        "mu": summary(x[:, 0], w), "tau": summary(np.exp(x[:, 1]), w), "level": summary(x[:, 2], w),
        "slope": summary(x[:, 3], w), "sigma": summary(np.exp(x[:, 4]), w)}


def spike():
    t = table("treatments")
    x, y = np.stack([t[f"x{j}"] for j in range(8)], 1), t["y"]
    sigmas = np.linspace(0.7, 1.6, 120)
    log_w, included, means, variances, sds = [], [], [], [], []
    for subset in range(256):
        z = np.array([subset >> j & 1 for j in range(8)], bool)
        prior = z.sum() * math.log(0.3) + (8 - z.sum()) * math.log(0.7)
        for s in sigmas:
            k = int(z.sum())
            e, m, c = gaussian_given(np.zeros(k), np.ones(k), x[:, z], y, s)
            mean, variance = np.zeros(8), np.zeros(8)
            mean[z], variance[z] = m, np.diag(c)
            log_w.append(e + prior + half_normal(s, 2)), included.append(z), means.append(mean), variances.append(variance), sds.append(s)
    w = np.exp(np.array(log_w) - max(log_w))
    included, means, variances = np.array(included, float), np.array(means), np.array(variances)
    found = {"sigma": summary(np.array(sds), w)}
    for j in (0, 3, 6):
        found[f"w[{j}]"] = mixed(w, means[:, j], variances[:, j])
    for j in (1, 4, 6):
        found[f"matters[{j}]"] = summary(included[:, j], w)
    return "all 256 subsets, weights given sigma are normal, quadrature over sigma", found


def missing():
    t = table("patients")
    age, w, y = t["age"] - 50, t["weight"], t["pressure"]
    no_w, no_y = np.isnan(w), np.isnan(y)
    assert not (no_w & no_y).any()

    def log_density(x):
        mu, c, tau = x[:, :1], x[:, 1:2], np.exp(x[:, 2:3])
        level, a, b, sigma = x[:, 3:4], x[:, 4:5], x[:, 5:6], np.exp(x[:, 6:7])
        prior = normal(mu, 75, 20) + normal(c, 0, 1) + half_normal(tau, 20) + x[:, 2:3] + normal(level, 120, 30)
        prior += normal(a, 0, 2) + normal(b, 0, 2) + half_normal(sigma, 20) + x[:, 6:7]
        expected = mu + c * age
        weights = normal(w, expected, tau)[:, ~no_w].sum(1)
        # Where the weight is missing, it is integrated out: its spread adds to that of the pressure.
        seen = np.where(no_w, expected, np.where(no_w, 0, w))
        spread = np.sqrt(sigma**2 + np.where(no_w, (b * tau) ** 2, 0))
        pressures = normal(y, level + a * age + b * (seen - 75), spread)[:, ~no_y].sum(1)
        return prior[:, 0] + weights + pressures

    x, w_, how = importance(log_density, [74, 0.1, 2.3, 125, 0.5, 0.6, 2.1])
    return "missing weights integrated out; " + how, {
        "level": summary(x[:, 3], w_), "age": summary(x[:, 4], w_), "weight": summary(x[:, 5], w_),
        "sigma": summary(np.exp(x[:, 6]), w_), "by_age": summary(x[:, 1], w_)}


def gp():
    t = table("curve")
    x, y = t["x"], t["y"]
    length, amplitude, noise = grid(np.exp(np.linspace(-1.2, 1.8, 45)), np.exp(np.linspace(-1.6, 2.0, 40)), np.exp(np.linspace(-2.3, 0.0, 40)))
    log_w, at = np.empty(len(length)), np.linspace(0, 10, 11)
    keep = [2, 5, 9]
    means, variances = np.empty((2, len(length), len(keep)))
    squares, new = (x[:, None] - x) ** 2, (at[keep][:, None] - x) ** 2
    for part in np.array_split(np.arange(len(length)), 200):
        l, a, s = length[part, None, None], amplitude[part, None, None], noise[part, None, None]
        k = a**2 * np.exp(-squares / (2 * l**2)) + s**2 * np.eye(len(x))
        solved = np.linalg.solve(k, np.broadcast_to(y[:, None], (len(part), len(y), 1)))[..., 0]
        log_w[part] = -0.5 * solved @ y - 0.5 * np.linalg.slogdet(k)[1]
        between = a**2 * np.exp(-new / (2 * l**2))
        means[part] = np.einsum("nij,nj->ni", between, solved)
        known = np.einsum("nij,nji->ni", between, np.linalg.solve(k, between.transpose(0, 2, 1)))
        variances[part] = amplitude[part, None] ** 2 + noise[part, None] ** 2 - known
    log_w += stats.invgamma.logpdf(length, 5, scale=5) + half_normal(amplitude, 2) + half_normal(noise, 1)
    log_w += np.log(length * amplitude * noise)  # the grid is even in logarithms
    w = np.exp(log_w - log_w.max())
    return "quadrature over the logarithms of length, amplitude and noise, 45 x 40 x 40", {
        "length": summary(length, w), "amplitude": summary(amplitude, w), "noise": summary(noise, w),
        **{f"next[{k}]": mixed(w, means[:, i], variances[:, i]) for i, k in enumerate(keep)}}


WITHIN = 0.15
MODELS = [regression, hierarchy, survival, mixture, hmm, volatility, clusters, changepoint, ab, ordinal, structure, arma,
          measurement, spike, missing, gp]

if __name__ == "__main__":
    path = here / "reference.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for model in MODELS:
        if sys.argv[1:] and model.__name__ not in sys.argv[1:]:
            continue
        how, found = model()
        found = {name: {key: float(f"{value:.5g}") for key, value in both.items()} for name, both in found.items()}
        known[model.__name__] = {"how": how, "within": WITHIN, "quantities": found}
        print(model.__name__, how)
        for name, both in found.items():
            print(f"  {name:12} {both['mean']:10.4f} {both['sd']:10.4f}")
        path.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
