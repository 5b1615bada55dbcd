"""The five models of the documentation, as somebody would write them in a file."""

import numpy as np

import smidgen as sm


features = ["dep_delay", "distance", "hour"]


@sm.model  # 1. a million rows
def late(flights, sd=2.5):
    w = normal(0, sd, size=1 + len(features))  # one vector choice
    for row in flights:
        observe(bernoulli(linear_logistic(w, row[features])), row.late)
    return w


@sm.model  # 2. hierarchy
def radon(homes):
    mu, tau = normal(0, 5), half_cauchy(1)
    slope, sigma = normal(0, 2), half_normal(2)

    @mem  # one choice per county, whoever asks
    def level(county):
        return normal(mu, tau)

    for row in homes:
        observe(normal(level(row.county) + slope * row.floor, sigma), row.radon)
    return mu, tau, dict(level=[level(county) for county in unique(homes.county)])


@sm.model  # 3. Dirichlet-process mixture of regressions
def lines(points):
    alpha = gamma(1, 1)
    crp = make_crp(alpha)
    z = mem(lambda i: crp())
    line = mem(lambda k: normal(0, 5, size=2))
    noise = mem(lambda k: inv_gamma(2, 0.5))
    for row in points:
        k = z(row.index)  # a name of this row
        observe(normal(line(k)[0] + line(k)[1] * row.x, noise(k)), row.y)
    return alpha, dict(clusters=len(unique([z(i) for i in range(len(points))])))


@sm.model  # 4. stochastic volatility, own inference
def volatility(returns):
    phi, sigma, level = beta(20, 1.5), half_normal(0.5), normal(0, 5)

    @mem
    def h(t):
        if t == 0:
            return normal(level, sigma / np.sqrt(1 - phi**2))
        return normal(level + phi * (h(t - 1) - level), sigma)

    for row in returns:
        observe(normal(0, np.exp(h(row.index) / 2)), row.r)
    return phi, sigma, level


k = sm.kernel
sweep = k.cycle(
    k.pgibbs("h", "ordered", particles=20), k.slice("phi"), k.slice("sigma"), k.mh("level", drift=0.5, adapt=True, n=2)
)


def leaves(tree):  # compiled when a model calls it
    return 1 if is_number(tree) else leaves(tree[0]) + leaves(tree[1])


@sm.model  # 5. random structure
def lineages(colonies):
    rate, stop = gamma(2, 1), beta(6, 3)

    def grow(depth):
        if depth == 8 or flip(stop):
            return expon(rate)
        left = grow(depth + 1)
        return [left, grow(depth + 1)]

    tree = mem(lambda i: grow(0))
    for row in colonies:
        observe(poisson(2 * leaves(tree(row.index))), row.cells)
    return rate, stop
