"""The words of models, for completion and for type checkers: ``from smidgen.names import *``.

Made by scripts/python-names from docs/reference.md; do not edit. Inside a model these names need no
import. Python's own names (``len``, ``sum``, ``min`` ...) mean in a model what they mean in Python, and are not here.
"""

from typing import Any, NoReturn

inf: float = float("inf")


def _outside(name: str) -> NoReturn:
    raise TypeError(f"{name} is a word of models: it means something inside a function with @smidgen.model")


def observe(choice: Any, value: Any, *, label: str = "") -> Any:
    """Data: the random choice has this value."""
    _outside("observe")


def predict(value: Any, name: str = "") -> Any:
    """Records a value in every draw."""
    _outside("predict")


def force(choice: Any, value: Any) -> Any:
    """A starting value of a random choice."""
    _outside("force")


def factor(log_density: Any, *, label: str = "") -> Any:
    """Adds a number to the log density."""
    _outside("factor")


def impute(column: Any, law: Any) -> Any:
    """The law of a column with missing cells: ``impute(t.x, normal(mu, sd))``."""
    _outside("impute")


def infer(kernel: Any) -> Any:
    """An inference program of the model's own."""
    _outside("infer")


def mem(f: Any = None, *, scope: Any = None) -> Any:
    """A function that remembers its value for each argument: one choice per argument."""
    _outside("mem")


def scope(name: Any, block: Any = 0) -> Any:
    """``with scope("w", block):`` tags choices, for kernels to name."""
    _outside("scope")


def scope_include(scope: Any, block: Any, value: Any) -> Any:
    """evaluates e; the random choices made on the way belong to that block of that scope, for inference to address.

    As text: ``[assume mu (scope_include 'hypers 0 (normal 0 10))]``
    """
    _outside("scope_include")


def scope_exclude(scope: Any, value: Any) -> Any:
    """evaluates e; the random choices made on the way do not belong to the scope.

    As text: ``(scope_exclude 'weights (f x))``
    """
    _outside("scope_exclude")


def column(table: Any, name: str) -> Any:
    """a whole column of a table as a vector; a constant of the program.

    As text: ``[observe (multivariate_normal (zeros 11) cov) (column points y)]``
    """
    _outside("column")


def cell(table: Any, name: str, index: Any) -> Any:
    """one cell of a table, rows counted from 0; a constant of the program.

    As text: ``(cell points x 3)``
    """
    _outside("cell")


def rows(table: Any) -> Any:
    """the number of rows of a table; a constant of the program.

    As text: ``(range 0 (rows points))``
    """
    _outside("rows")


def levels(table: Any, name: str) -> Any:
    """the different cells of a column, in ascending order: a vector of numbers, or an array; a constant of the program.

    As text: ``(map effect (levels homes county))``
    """
    _outside("levels")


def is_missing(cell: Any) -> Any:
    """whether a cell of a table is missing; where it is not, the cell can be used even if others of its column are missing.

    As text: ``(if (is_missing row.x) level (+ level (* slope row.x)))``
    """
    _outside("is_missing")


def only_if(condition: Any, value: Any) -> Any:
    """stands where the value of an `observe` does: nothing is observed where the condition, which may not be random, is false.

    As text: ``[for row in t [observe (normal mu 1) (only_if (= row.kind 1) row.y)]]``
    """
    _outside("only_if")


def bernoulli(p: Any = None, *, size: Any = None) -> Any:
    """1 with probability p (one half if not given), otherwise 0.

    As text: ``(bernoulli 0.3)``
    """
    _outside("bernoulli")


def flip(p: Any = None, *, size: Any = None) -> Any:
    """true with probability p (one half if not given), otherwise false.

    As text: ``(flip 0.3)``
    """
    _outside("flip")


def bernoulli_logit(log_odds: Any, *, size: Any = None) -> Any:
    """1 with probability (logistic log_odds), otherwise 0.

    As text: ``(bernoulli_logit 0.4)``
    """
    _outside("bernoulli_logit")


def binomial(n: Any, p: Any, *, size: Any = None) -> Any:
    """The number of successes in n trials that succeed with probability p.

    As text: ``(binomial 10 0.3)``
    """
    _outside("binomial")


def beta_binomial(n: Any, a: Any, b: Any, *, size: Any = None) -> Any:
    """The number of successes in n trials that succeed with a probability drawn from (beta a b).

    As text: ``(beta_binomial 10 2 3)``
    """
    _outside("beta_binomial")


def hypergeometric(n: Any, good: Any, bad: Any, *, size: Any = None) -> Any:
    """How many good ones are among n that are drawn without replacement from so many good and bad ones.

    As text: ``(hypergeometric 5 6 7)``
    """
    _outside("hypergeometric")


def geometric(p: Any, *, size: Any = None) -> Any:
    """The number of failures before the first success, each trial succeeding with probability p.

    As text: ``(geometric 0.3)``
    """
    _outside("geometric")


def negative_binomial(r: Any, p: Any, *, size: Any = None) -> Any:
    """The number of failures before the r-th success, each trial succeeding with probability p.

    As text: ``(negative_binomial 3 0.5)``
    """
    _outside("negative_binomial")


def negative_binomial_mean(mu: Any, phi: Any, *, size: Any = None) -> Any:
    """A count with mean mu and variance mu + mu^2 / phi, negative binomially distributed.

    As text: ``(negative_binomial_mean 4 2)``
    """
    _outside("negative_binomial_mean")


def poisson(rate: Any, *, size: Any = None) -> Any:
    """The number of events in a unit of time when they come at this rate.

    As text: ``(poisson 4)``
    """
    _outside("poisson")


def poisson_log(log_rate: Any, *, size: Any = None) -> Any:
    """The number of events in a unit of time when they come at the rate (exp log_rate).

    As text: ``(poisson_log 1.5)``
    """
    _outside("poisson_log")


def categorical(weights: Any, objects: Any = None, *, size: Any = None) -> Any:
    """An index from 0 on, or the object at it, with probability proportional to its weight.

    As text: ``(categorical (array 0.2 0.3 0.5))``
    """
    _outside("categorical")


def categorical_logit(logits: Any, *, size: Any = None) -> Any:
    """An index from 0 on, with probability proportional to the exponential of its entry.

    As text: ``(categorical_logit (array 0.5 -1 2))``
    """
    _outside("categorical_logit")


def ordered_logistic(eta: Any, cuts: Any, *, size: Any = None) -> Any:
    """The index, from 0 on, of the stretch between increasing cut points into which eta plus logistic noise falls.

    As text: ``(ordered_logistic 0.3 (vector -1 0.5 2))``
    """
    _outside("ordered_logistic")


def ordered_probit(eta: Any, cuts: Any, *, size: Any = None) -> Any:
    """The index, from 0 on, of the stretch between increasing cut points into which eta plus standard normal noise falls.

    As text: ``(ordered_probit 0.3 (vector -1 0.5 2))``
    """
    _outside("ordered_probit")


def uniform_discrete(lo: Any, hi: Any, *, size: Any = None) -> Any:
    """A whole number from lo on and below hi, all equally likely.

    As text: ``(uniform_discrete 0 10)``
    """
    _outside("uniform_discrete")


def normal(mean: Any, sd: Any, *, size: Any = None) -> Any:
    """A real number with this mean and standard deviation, normally distributed.

    As text: ``(normal 0 1)``
    """
    _outside("normal")


def skew_normal(loc: Any, scale: Any, shape: Any, *, size: Any = None) -> Any:
    """A normal number leaning to the right for positive shape and to the left for negative; shape 0 is normal.

    As text: ``(skew_normal 0 1 3)``
    """
    _outside("skew_normal")


def uniform_continuous(lo: Any, hi: Any, *, size: Any = None) -> Any:
    """A real number between lo and hi, all equally likely.

    As text: ``(uniform_continuous 0 1)``
    """
    _outside("uniform_continuous")


def uniform(lo: Any, hi: Any, *, size: Any = None) -> Any:
    """A real number between lo and hi, all equally likely.

    As text: ``(uniform_continuous 0 1)``
    """
    _outside("uniform")


def beta(a: Any, b: Any, *, size: Any = None) -> Any:
    """A number between 0 and 1 with mean a / (a + b).

    As text: ``(beta 2 2)``
    """
    _outside("beta")


def beta_mean(mu: Any, kappa: Any, *, size: Any = None) -> Any:
    """A number between 0 and 1 with mean mu, the more concentrated the larger kappa: beta with the shapes mu kappa and (1 - mu) kappa.

    As text: ``(beta_mean 0.3 10)``
    """
    _outside("beta_mean")


def gamma(shape: Any, rate: Any, *, size: Any = None) -> Any:
    """A positive number with mean shape / rate.

    As text: ``(gamma 2 1)``
    """
    _outside("gamma")


def inv_gamma(shape: Any, scale: Any, *, size: Any = None) -> Any:
    """A positive number with mean scale / (shape - 1), the inverse of a gamma draw.

    As text: ``(inv_gamma 3 2)``
    """
    _outside("inv_gamma")


def inverse_gaussian(mu: Any, lambda_: Any, *, size: Any = None) -> Any:
    """A positive number with mean mu and variance mu^3 / lambda: when a Brownian motion first comes to a level.

    As text: ``(inverse_gaussian 1 3)``
    """
    _outside("inverse_gaussian")


def wald(mu: Any, lambda_: Any, *, size: Any = None) -> Any:
    """A positive number with mean mu and variance mu^3 / lambda: when a Brownian motion first comes to a level.

    As text: ``(inverse_gaussian 1 3)``
    """
    _outside("wald")


def expon(rate: Any, *, size: Any = None) -> Any:
    """A waiting time when events come at this rate.

    As text: ``(expon 1)``
    """
    _outside("expon")


def exponential(rate: Any, *, size: Any = None) -> Any:
    """A waiting time when events come at this rate.

    As text: ``(expon 1)``
    """
    _outside("exponential")


def student_t(df: Any, loc: Any = None, scale: Any = None, *, size: Any = None) -> Any:
    """Student's t with df degrees of freedom, moved to loc (0 if not given) and stretched by scale (1 if not given).

    As text: ``(student_t 4)``
    """
    _outside("student_t")


def cauchy(loc: Any, scale: Any, *, size: Any = None) -> Any:
    """A real number around loc with tails so heavy that it has no mean.

    As text: ``(cauchy 0 1)``
    """
    _outside("cauchy")


def laplace(loc: Any, scale: Any, *, size: Any = None) -> Any:
    """A real number around loc, an exponential draw to either side.

    As text: ``(laplace 0 1)``
    """
    _outside("laplace")


def logistic_dist(loc: Any, scale: Any, *, size: Any = None) -> Any:
    """A real number around loc whose distribution function is the logistic curve.

    As text: ``(logistic_dist 0 1)``
    """
    _outside("logistic_dist")


def lognormal(mu: Any, sigma: Any, *, size: Any = None) -> Any:
    """A positive number whose logarithm is normal with mean mu and standard deviation sigma.

    As text: ``(lognormal 0 1)``
    """
    _outside("lognormal")


def weibull(shape: Any, scale: Any, *, size: Any = None) -> Any:
    """A lifetime whose hazard grows as its power shape - 1.

    As text: ``(weibull 1.5 1)``
    """
    _outside("weibull")


def gumbel(loc: Any, scale: Any, *, size: Any = None) -> Any:
    """The law of a maximum: with loc as its mode, stretched by scale.

    As text: ``(gumbel 0 1)``
    """
    _outside("gumbel")


def pareto(minimum: Any, shape: Any, *, size: Any = None) -> Any:
    """A number from the minimum on that exceeds x with probability (minimum / x)^shape.

    As text: ``(pareto 1 3)``
    """
    _outside("pareto")


def chi_squared(df: Any, *, size: Any = None) -> Any:
    """The sum of the squares of df standard normal draws.

    As text: ``(chi_squared 3)``
    """
    _outside("chi_squared")


def half_normal(sd: Any, *, size: Any = None) -> Any:
    """The size of a normal draw with mean 0 and standard deviation sd.

    As text: ``(half_normal 1)``
    """
    _outside("half_normal")


def half_cauchy(scale: Any, *, size: Any = None) -> Any:
    """The size of a Cauchy draw around 0.

    As text: ``(half_cauchy 1)``
    """
    _outside("half_cauchy")


def half_student_t(df: Any, scale: Any, *, size: Any = None) -> Any:
    """The size of a Student t draw around 0.

    As text: ``(half_student_t 4 1)``
    """
    _outside("half_student_t")


def truncated_normal(mean: Any, sd: Any, lo: Any, hi: Any, *, size: Any = None) -> Any:
    """A normal draw with this mean and sd, given that it lies between lo and hi.

    As text: ``(truncated_normal 0 1 0 2)``
    """
    _outside("truncated_normal")


def vonmises(mu: Any, kappa: Any, *, size: Any = None) -> Any:
    """An angle in (-pi, pi] around mu, the more concentrated the larger kappa.

    As text: ``(vonmises 0 2)``
    """
    _outside("vonmises")


def multivariate_normal(mean: Any, covariance: Any, *, size: Any = None) -> Any:
    """A normal vector with this mean vector and covariance matrix.

    As text: ``(multivariate_normal (vector 0 0) (id_matrix 2))``
    """
    _outside("multivariate_normal")


def multivariate_normal_cholesky(mean: Any, factor: Any, *, size: Any = None) -> Any:
    """A normal vector with this mean vector and the covariance L L' of this lower triangular matrix L.

    As text: ``(multivariate_normal_cholesky (vector 0 0) (matrix (list (list 1 0) (list 0.5 2))))``
    """
    _outside("multivariate_normal_cholesky")


def multivariate_diag_normal(mean: Any, sds: Any, *, size: Any = None) -> Any:
    """A vector of independent normal numbers with these means and standard deviations.

    As text: ``(multivariate_diag_normal (vector 0 0) (vector 1 2))``
    """
    _outside("multivariate_diag_normal")


def multivariate_student_t(df: Any, loc: Any, scale: Any, *, size: Any = None) -> Any:
    """Student's t for vectors: df degrees of freedom, around the vector loc, with a scale matrix (covariance scale df / (df - 2)).

    As text: ``(multivariate_student_t 4 (vector 0 0) (id_matrix 2))``
    """
    _outside("multivariate_student_t")


def random_walk(n: Any, sd: Any, start: Any = None, *, size: Any = None) -> Any:
    """A vector of n numbers, each the one before plus a normal step of this sd; the first is a step from start (0 if not given).

    As text: ``(random_walk 5 0.3)``
    """
    _outside("random_walk")


def ar(n: Any, coefficients: Any, sd: Any, mean: Any = None, *, size: Any = None) -> Any:
    """A vector of n numbers, each made of those before by the coefficients (of the last first) plus normal noise of this sd; all around mean (0 if not given), where what comes before the first number is.

    As text: ``(ar 5 (vector 0.5 0.2) 1)``
    """
    _outside("ar")


def wishart(scale: Any, dof: Any, *, size: Any = None) -> Any:
    """A symmetric positive definite matrix with mean dof times scale.

    As text: ``(wishart (id_matrix 2) 4)``
    """
    _outside("wishart")


def inv_wishart(scale: Any, dof: Any, *, size: Any = None) -> Any:
    """A symmetric positive definite matrix with mean scale / (dof - size - 1).

    As text: ``(inv_wishart (id_matrix 2) 5)``
    """
    _outside("inv_wishart")


def lkj(n: Any, eta: Any, *, size: Any = None) -> Any:
    """An n x n correlation matrix with density proportional to its determinant to the power eta - 1; uniform for eta 1.

    As text: ``(lkj 3 2)``
    """
    _outside("lkj")


def lkj_cholesky(n: Any, eta: Any, *, size: Any = None) -> Any:
    """The Cholesky factor of an n x n correlation matrix drawn from (lkj n eta).

    As text: ``(lkj_cholesky 3 2)``
    """
    _outside("lkj_cholesky")


def dirichlet(alphas: Any, *, size: Any = None) -> Any:
    """A vector of probabilities with means proportional to the alphas.

    As text: ``(dirichlet (array 1 1 1))``
    """
    _outside("dirichlet")


def symmetric_dirichlet(alpha: Any, n: Any, *, size: Any = None) -> Any:
    """A vector of n probabilities, the more even the larger alpha.

    As text: ``(symmetric_dirichlet 1 3)``
    """
    _outside("symmetric_dirichlet")


def multinomial(n: Any, p: Any, *, size: Any = None) -> Any:
    """How often each outcome comes in n trials with these probabilities.

    As text: ``(multinomial 10 (vector 0.2 0.3 0.5))``
    """
    _outside("multinomial")


def dirichlet_multinomial(n: Any, alphas: Any, *, size: Any = None) -> Any:
    """How often each outcome comes in n trials with probabilities drawn from (dirichlet alphas).

    As text: ``(dirichlet_multinomial 10 (vector 1 2 3))``
    """
    _outside("dirichlet_multinomial")


def ordered(*args: Any, size: Any = None) -> Any:
    """An increasing vector: n independent draws of (D args ...), sorted.

    As text: ``(ordered normal 3 0 2)``
    """
    _outside("ordered")


def zero_inflated(*args: Any, size: Any = None) -> Any:
    """0 with probability p, otherwise a count drawn from (D args ...), which may be 0 as well.

    As text: ``(zero_inflated poisson 0.3 4)``
    """
    _outside("zero_inflated")


def hurdle(*args: Any, size: Any = None) -> Any:
    """0 with probability p, otherwise a count drawn from (D args ...) given that it is not 0.

    As text: ``(hurdle poisson 0.3 4)``
    """
    _outside("hurdle")


def mixture(*args: Any, size: Any = None) -> Any:
    """A draw from one of the distributions D1, D2, ..., each followed by the list of its arguments, chosen with probability proportional to its weight.

    As text: ``(mixture (vector 0.3 0.7) normal (list 0 1) normal (list 3 0.5))``
    """
    _outside("mixture")


def truncate(*args: Any, size: Any = None) -> Any:
    """A draw from (D args ...), given that it lies from lo to hi; -inf and inf are no ends.

    As text: ``(truncate normal -1 2 0.5 1)``
    """
    _outside("truncate")


def censor(*args: Any, size: Any = None) -> Any:
    """A draw from (D args ...), seen as lo if it lies below and as hi if it lies above; -inf and inf are no ends.

    As text: ``(censor normal -1 2 0.5 1)``
    """
    _outside("censor")


def flat(*, size: Any = None) -> Any:
    """The improper flat prior on the reals: log density 0, starting at 0.

    As text: ``(flat)``
    """
    _outside("flat")


def flat_pos(*, size: Any = None) -> Any:
    """The improper flat prior on the positive reals: log density 0, starting at 1.

    As text: ``(flat_pos)``
    """
    _outside("flat_pos")


def make_crp(alpha: Any, d: Any = None) -> Any:
    """A Chinese restaurant process of concentration alpha (with discount d: Pitman-Yor) that draws table labels from 1 on.

    As text: ``((make_crp 1.5))``
    """
    _outside("make_crp")


def make_beta_bernoulli(a: Any, b: Any) -> Any:
    """A coin whose weight has a beta(a, b) prior and is integrated out.

    As text: ``((make_beta_bernoulli 1 1))``
    """
    _outside("make_beta_bernoulli")


def make_dir_cat(alphas: Any, objects: Any = None) -> Any:
    """Indices or objects whose weights have a dirichlet(alphas) prior and are integrated out.

    As text: ``((make_dir_cat (vector 1 1 2)))``
    """
    _outside("make_dir_cat")


def make_dir_mult(alphas: Any, objects: Any = None) -> Any:
    """Indices or objects whose weights have a dirichlet(alphas) prior and are integrated out.

    As text: ``((make_dir_cat (vector 1 1 2)))``
    """
    _outside("make_dir_mult")


def make_sym_dir_cat(alpha: Any, k: Any, objects: Any = None) -> Any:
    """Indices below k or objects whose weights have a symmetric Dirichlet prior and are integrated out.

    As text: ``((make_sym_dir_cat 0.5 3))``
    """
    _outside("make_sym_dir_cat")


def make_sym_dir_mult(alpha: Any, k: Any, objects: Any = None) -> Any:
    """Indices below k or objects whose weights have a symmetric Dirichlet prior and are integrated out.

    As text: ``((make_sym_dir_cat 0.5 3))``
    """
    _outside("make_sym_dir_mult")


def make_gamma_poisson(shape: Any, rate: Any) -> Any:
    """Poisson counts whose rate has a gamma(shape, rate) prior and is integrated out.

    As text: ``((make_gamma_poisson 2 1))``
    """
    _outside("make_gamma_poisson")


def make_nig_normal(m: Any, V: Any, a: Any, b: Any) -> Any:
    """Normal draws with both mean and variance integrated out: variance ~ inv_gamma(a, b), mean ~ normal of variance V times that.

    As text: ``((make_nig_normal 0 1 2 2))``
    """
    _outside("make_nig_normal")


def make_collapsed_multivariate_normal(m0: Any, k0: Any, v0: Any, S0: Any) -> Any:
    """Multivariate normal draws with mean and covariance integrated out: covariance ~ inv_wishart(S0, v0), mean ~ normal of covariance 1/k0 times that.

    As text: ``((make_collapsed_multivariate_normal (vector 0 0) 1 4 (id_matrix 2)))``
    """
    _outside("make_collapsed_multivariate_normal")


def make_cmvn(m0: Any, k0: Any, v0: Any, S0: Any) -> Any:
    """Multivariate normal draws with mean and covariance integrated out: covariance ~ inv_wishart(S0, v0), mean ~ normal of covariance 1/k0 times that.

    As text: ``((make_collapsed_multivariate_normal (vector 0 0) 1 4 (id_matrix 2)))``
    """
    _outside("make_cmvn")


def make_niw_normal(m0: Any, k0: Any, v0: Any, S0: Any) -> Any:
    """Multivariate normal draws with mean and covariance integrated out: covariance ~ inv_wishart(S0, v0), mean ~ normal of covariance 1/k0 times that.

    As text: ``((make_collapsed_multivariate_normal (vector 0 0) 1 4 (id_matrix 2)))``
    """
    _outside("make_niw_normal")


def make_suff_stat_bernoulli(p: Any) -> Any:
    """A coin of weight p whose weight can move in O(1), however often it was thrown.

    As text: ``((make_suff_stat_bernoulli 0.3))``
    """
    _outside("make_suff_stat_bernoulli")


def make_suff_stat_poisson(rate: Any) -> Any:
    """Poisson counts whose rate can move in O(1), however many were drawn.

    As text: ``((make_suff_stat_poisson 4))``
    """
    _outside("make_suff_stat_poisson")


def make_suff_stat_normal(mean: Any, sd: Any) -> Any:
    """Normal draws whose mean and sd can move in O(1), however many were drawn.

    As text: ``((make_suff_stat_normal 0 1))``
    """
    _outside("make_suff_stat_normal")


def make_uc_beta_bernoulli(a: Any, b: Any) -> Any:
    """A coin whose weight is drawn from beta(a, b).

    As text: ``((make_uc_beta_bernoulli 1 1))``
    """
    _outside("make_uc_beta_bernoulli")


def make_uc_dir_cat(alphas: Any, objects: Any = None) -> Any:
    """Indices or objects whose weights are drawn from dirichlet(alphas).

    As text: ``((make_uc_dir_cat (vector 1 1 2)))``
    """
    _outside("make_uc_dir_cat")


def make_uc_dir_mult(alphas: Any, objects: Any = None) -> Any:
    """Indices or objects whose weights are drawn from dirichlet(alphas).

    As text: ``((make_uc_dir_cat (vector 1 1 2)))``
    """
    _outside("make_uc_dir_mult")


def make_uc_sym_dir_cat(alpha: Any, k: Any, objects: Any = None) -> Any:
    """Indices below k or objects whose weights are drawn from a symmetric Dirichlet.

    As text: ``((make_uc_sym_dir_cat 0.5 3))``
    """
    _outside("make_uc_sym_dir_cat")


def make_uc_sym_dir_mult(alpha: Any, k: Any, objects: Any = None) -> Any:
    """Indices below k or objects whose weights are drawn from a symmetric Dirichlet.

    As text: ``((make_uc_sym_dir_cat 0.5 3))``
    """
    _outside("make_uc_sym_dir_mult")


def make_uc_gamma_poisson(shape: Any, rate: Any) -> Any:
    """Poisson counts whose rate is drawn from gamma(shape, rate).

    As text: ``((make_uc_gamma_poisson 2 1))``
    """
    _outside("make_uc_gamma_poisson")


def make_uc_nig_normal(m: Any, V: Any, a: Any, b: Any) -> Any:
    """Normal draws whose variance is drawn from inv_gamma(a, b) and mean from a normal of variance V times that.

    As text: ``((make_uc_nig_normal 0 1 2 2))``
    """
    _outside("make_uc_nig_normal")


def make_uc_niw_normal(m0: Any, k0: Any, v0: Any, S0: Any) -> Any:
    """Multivariate normal draws whose covariance is drawn from inv_wishart(S0, v0) and mean from a normal of covariance 1/k0 times that.

    As text: ``((make_uc_niw_normal (vector 0 0) 1 4 (id_matrix 2)))``
    """
    _outside("make_uc_niw_normal")


def make_uc_cmvn(m0: Any, k0: Any, v0: Any, S0: Any) -> Any:
    """Multivariate normal draws whose covariance is drawn from inv_wishart(S0, v0) and mean from a normal of covariance 1/k0 times that.

    As text: ``((make_uc_niw_normal (vector 0 0) 1 4 (id_matrix 2)))``
    """
    _outside("make_uc_cmvn")


def add(*args: Any) -> Any:
    """The sum; a vector is added to another of its length or to a number, elementwise.

    As text: ``(+ 1 2 3)``
    """
    _outside("add")


def sub(x: Any, y: Any = None) -> Any:
    """The difference, or the negative of a single argument; elementwise on vectors.

    As text: ``(- 5 2)``
    """
    _outside("sub")


def mul(*args: Any) -> Any:
    """The product; elementwise on vectors.

    As text: ``(* 2 3 4)``
    """
    _outside("mul")


def div(x: Any, y: Any = None) -> Any:
    """The quotient, or the reciprocal of a single argument; elementwise on vectors.

    As text: ``(/ 1 4)``
    """
    _outside("div")


def negate(x: Any) -> Any:
    """The number with the other sign; elementwise on a vector.

    As text: ``(negate 3)``
    """
    _outside("negate")


def signum(x: Any) -> Any:
    """The sign as -1, 0 or 1.

    As text: ``(signum -3)``
    """
    _outside("signum")


def floor(x: Any) -> Any:
    """The largest whole number that is not above x.

    As text: ``(floor 2.7)``
    """
    _outside("floor")


def ceil(x: Any) -> Any:
    """The smallest whole number that is not below x.

    As text: ``(ceil 2.1)``
    """
    _outside("ceil")


def int_div(x: Any, y: Any) -> Any:
    """The quotient rounded down to a whole number.

    As text: ``(int_div 7 2)``
    """
    _outside("int_div")


def int_mod(x: Any, y: Any) -> Any:
    """The remainder of int_div, with the sign of y.

    As text: ``(int_mod -7 3)``
    """
    _outside("int_mod")


def exp(x: Any) -> Any:
    """e to the power of x; as the scale or rate of a law accurate however small or large.

    As text: ``(exp 1)``
    """
    _outside("exp")


def expm1(x: Any) -> Any:
    """exp(x) - 1 without loss of digits near 0.

    As text: ``(expm1 1e-10)``
    """
    _outside("expm1")


def log(x: Any) -> Any:
    """The natural logarithm.

    As text: ``(log 10)``
    """
    _outside("log")


def log1p(x: Any) -> Any:
    """log(1 + x) without loss of digits near 0.

    As text: ``(log1p 1e-10)``
    """
    _outside("log1p")


def square(x: Any) -> Any:
    """x times x.

    As text: ``(square 3)``
    """
    _outside("square")


def sqrt(x: Any) -> Any:
    """The square root.

    As text: ``(sqrt 2)``
    """
    _outside("sqrt")


def sin(x: Any) -> Any:
    """The sine of an angle in radians.

    As text: ``(sin 1)``
    """
    _outside("sin")


def cos(x: Any) -> Any:
    """The cosine of an angle in radians.

    As text: ``(cos 1)``
    """
    _outside("cos")


def tan(x: Any) -> Any:
    """The tangent of an angle in radians.

    As text: ``(tan 1)``
    """
    _outside("tan")


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y) in radians, between -pi and pi.

    As text: ``(atan2 1 1)``
    """
    _outside("atan2")


def hypot(x: Any, y: Any) -> Any:
    """The length of the hypotenuse, without overflow.

    As text: ``(hypot 3 4)``
    """
    _outside("hypot")


def logistic(x: Any) -> Any:
    """1 / (1 + exp(-x)); as the probability of a law accurate in both tails.

    As text: ``(logistic 0)``
    """
    _outside("logistic")


def logit(p: Any) -> Any:
    """log(p / (1 - p)), the inverse of logistic.

    As text: ``(logit 0.9)``
    """
    _outside("logit")


def log_logistic(x: Any) -> Any:
    """The logarithm of logistic(x), accurate in both tails.

    As text: ``(log_logistic -1000)``
    """
    _outside("log_logistic")


def logsumexp(*args: Any) -> Any:
    """log(exp(x0) + exp(x1) + ...) of the numbers, or of one container's, without overflow.

    As text: ``(logsumexp (vector -1000 -1001))``
    """
    _outside("logsumexp")


def linear_logistic(w: Any, x: Any) -> Any:
    """logistic(w[0] + w[1:] . x): w has one entry more than x, the first is the bias.

    As text: ``(linear_logistic (vector 0.5 1 -1) (vector 2 3))``
    """
    _outside("linear_logistic")


def eq(*args: Any) -> Any:
    """Whether all arguments are equal.

    As text: ``(= 1 1.0)``
    """
    _outside("eq")


def neq(x: Any, y: Any) -> Any:
    """Whether the arguments differ.

    As text: ``(!= 1 2)``
    """
    _outside("neq")


def lt(*args: Any) -> Any:
    """Whether each argument is below the next.

    As text: ``(< 1 2)``
    """
    _outside("lt")


def lte(*args: Any) -> Any:
    """Whether no argument is above the next.

    As text: ``(<= 1 1)``
    """
    _outside("lte")


def gt(*args: Any) -> Any:
    """Whether each argument is above the next.

    As text: ``(> 2 1)``
    """
    _outside("gt")


def gte(*args: Any) -> Any:
    """Whether no argument is below the next.

    As text: ``(>= 2 2)``
    """
    _outside("gte")


def xor(x: Any, y: Any) -> Any:
    """Whether exactly one of the two is true.

    As text: ``(xor true false)``
    """
    _outside("xor")


def all_p(*args: Any) -> Any:
    """Whether all arguments, or all elements of one container, are true.

    As text: ``(all_p (list true true))``
    """
    _outside("all_p")


def any_p(*args: Any) -> Any:
    """Whether some argument, or some element of one container, is true.

    As text: ``(any_p (list true false))``
    """
    _outside("any_p")


def biplex(c: Any, x: Any, y: Any) -> Any:
    """x if c is true, else y; both have been evaluated.

    As text: ``(biplex true 1 2)``
    """
    _outside("biplex")


def pair(first: Any, rest: Any) -> Any:
    """A pair; onto a list, the list with one more element in front.

    As text: ``(pair 1 (list 2 3))``
    """
    _outside("pair")


def first(xs: Any) -> Any:
    """The first element of a list, array or vector.

    As text: ``(first (list 1 2 3))``
    """
    _outside("first")


def second(xs: Any) -> Any:
    """The second element of a list, array or vector.

    As text: ``(second (list 1 2 3))``
    """
    _outside("second")


def rest(xs: Any) -> Any:
    """All but the first element of a list, array or vector.

    As text: ``(rest (list 1 2 3))``
    """
    _outside("rest")


def append(*args: Any) -> Any:
    """The elements of all arguments in one container of the first one's kind.

    As text: ``(append (list 1 2) (list 3))``
    """
    _outside("append")


def reverse(xs: Any) -> Any:
    """The list, array or vector in opposite order.

    As text: ``(reverse (list 1 2 3))``
    """
    _outside("reverse")


def sort(xs: Any) -> Any:
    """The elements of a list, array or vector in ascending order: numbers by size, texts and symbols by their letters.

    As text: ``(sort (list 3 1 2))``
    """
    _outside("sort")


def unique(xs: Any) -> Any:
    """The distinct elements of a list, array or vector, in the order of their first occurrence.

    As text: ``(unique (list 1 2 1))``
    """
    _outside("unique")


def take(n: Any, xs: Any) -> Any:
    """The first n elements of a list, array or vector, or all if there are fewer; the arguments may come in either order.

    As text: ``(take 2 (list 1 2 3))``
    """
    _outside("take")


def size(xs: Any) -> Any:
    """The number of elements, of entries of a dictionary, of rows of a matrix or of characters of a string.

    As text: ``(size (list 1 2 3))``
    """
    _outside("size")


def is_empty(xs: Any) -> Any:
    """Whether the container has no element.

    As text: ``(is_empty (list))``
    """
    _outside("is_empty")


def lookup(xs: Any, i: Any) -> Any:
    """The element at an index counted from 0, the row of a matrix, or the value of a dictionary's key.

    As text: ``(lookup (array 10 20 30) 1)``
    """
    _outside("lookup")


def contains(xs: Any, x: Any) -> Any:
    """Whether x is an element of the list, array or vector, or a key of the dictionary.

    As text: ``(contains (list 1 2 3) 2)``
    """
    _outside("contains")


def array(*args: Any) -> Any:
    """The array of the arguments.

    As text: ``(array 1 'a true)``
    """
    _outside("array")


def to_list(xs: Any) -> Any:
    """The elements of an array or vector, or the rows of a matrix, as a list.

    As text: ``(to_list (vector 1 2))``
    """
    _outside("to_list")


def to_array(xs: Any) -> Any:
    """The elements of a list or vector, or the rows of a matrix, as an array.

    As text: ``(to_array (list 1 2))``
    """
    _outside("to_array")


def to_vector(xs: Any) -> Any:
    """The numbers of a list or array as a vector.

    As text: ``(to_vector (list 1 2))``
    """
    _outside("to_vector")


def vector(*args: Any) -> Any:
    """The vector of the numbers.

    As text: ``(vector 1 2 3)``
    """
    _outside("vector")


def fill(n: Any, x: Any) -> Any:
    """n times x: a vector if x is a number, else an array.

    As text: ``(fill 3 0.5)``
    """
    _outside("fill")


def zeros(n: Any) -> Any:
    """The vector of n zeros.

    As text: ``(zeros 3)``
    """
    _outside("zeros")


def ones(n: Any) -> Any:
    """The vector of n ones.

    As text: ``(ones 3)``
    """
    _outside("ones")


def linspace(from_: Any, to: Any, n: Any) -> Any:
    """The vector of n equally spaced numbers, both ends included.

    As text: ``(linspace 0 1 5)``
    """
    _outside("linspace")


def arange(from_: Any = None, to: Any = None, step: Any = None) -> Any:
    """The vector from (or 0), from + step (or 1), ... up to but excluding to.

    As text: ``(arange 0 1 0.25)``
    """
    _outside("arange")


def prod(xs: Any) -> Any:
    """The product of the numbers in a container.

    As text: ``(prod (list 2 3 4))``
    """
    _outside("prod")


def mean(xs: Any) -> Any:
    """The arithmetic mean of the numbers in a container.

    As text: ``(mean (list 1 2 6))``
    """
    _outside("mean")


def dot(xs: Any, ys: Any) -> Any:
    """The scalar product of two vectors of equal length.

    As text: ``(dot (vector 1 2) (vector 3 4))``
    """
    _outside("dot")


def scale_vector(c: Any, xs: Any) -> Any:
    """The vector with every entry times c; the arguments may come in either order.

    As text: ``(scale_vector 2 (vector 1 2))``
    """
    _outside("scale_vector")


def vector_add(xs: Any, ys: Any) -> Any:
    """The sum of two vectors of equal length, entry by entry.

    As text: ``(vector_add (vector 1 2) (vector 3 4))``
    """
    _outside("vector_add")


def simplex(*args: Any) -> Any:
    """The vector of these probabilities, which have to sum to 1.

    As text: ``(simplex 0.2 0.3 0.5)``
    """
    _outside("simplex")


def normalize(xs: Any) -> Any:
    """The vector of the numbers divided by their sum.

    As text: ``(normalize (vector 1 1 2))``
    """
    _outside("normalize")


def matrix(rows: Any) -> Any:
    """The matrix of a list of rows of equal length.

    As text: ``(matrix (list (list 1 2) (list 3 4)))``
    """
    _outside("matrix")


def id_matrix(n: Any) -> Any:
    """The n x n matrix with ones on the diagonal.

    As text: ``(id_matrix 2)``
    """
    _outside("id_matrix")


def zero_matrix(n: Any, m: Any = None) -> Any:
    """The n x m matrix of zeros, square if m is left out.

    As text: ``(zero_matrix 2 3)``
    """
    _outside("zero_matrix")


def diag_matrix(xs: Any) -> Any:
    """The square matrix with these numbers on the diagonal and zeros elsewhere.

    As text: ``(diag_matrix (vector 1 2))``
    """
    _outside("diag_matrix")


def ravel(m: Any) -> Any:
    """The entries of a matrix as one vector, row by row.

    As text: ``(ravel (matrix (list (list 1 2) (list 3 4))))``
    """
    _outside("ravel")


def row(m: Any, i: Any) -> Any:
    """Row i of a matrix as a vector, counted from 0.

    As text: ``(row (id_matrix 2) 0)``
    """
    _outside("row")


def col(m: Any, j: Any) -> Any:
    """Column j of a matrix as a vector, counted from 0.

    As text: ``(col (id_matrix 2) 0)``
    """
    _outside("col")


def transpose(m: Any) -> Any:
    """The matrix with rows and columns exchanged.

    As text: ``(transpose (matrix (list (list 1 2) (list 3 4))))``
    """
    _outside("transpose")


def matrix_add(a: Any, b: Any) -> Any:
    """The sum of two matrices of equal dimensions.

    As text: ``(matrix_add (id_matrix 2) (id_matrix 2))``
    """
    _outside("matrix_add")


def matrix_mul(a: Any, b: Any) -> Any:
    """The product of two matrices.

    As text: ``(matrix_mul (id_matrix 2) (id_matrix 2))``
    """
    _outside("matrix_mul")


def matrix_times_vector(m: Any, xs: Any) -> Any:
    """The product of a matrix and a column vector.

    As text: ``(matrix_times_vector (id_matrix 2) (vector 1 2))``
    """
    _outside("matrix_times_vector")


def vector_times_matrix(xs: Any, m: Any) -> Any:
    """The product of a row vector and a matrix.

    As text: ``(vector_times_matrix (vector 1 2) (id_matrix 2))``
    """
    _outside("vector_times_matrix")


def scale_matrix(c: Any, m: Any) -> Any:
    """The matrix with every entry times c; the arguments may come in either order.

    As text: ``(scale_matrix 2 (id_matrix 2))``
    """
    _outside("scale_matrix")


def matrix_inverse(m: Any) -> Any:
    """The inverse of a square matrix.

    As text: ``(matrix_inverse (diag_matrix (vector 2 4)))``
    """
    _outside("matrix_inverse")


def matrix_solve(a: Any, b: Any) -> Any:
    """The x with a x = b, for a vector or a matrix b.

    As text: ``(matrix_solve (diag_matrix (vector 2 4)) (vector 1 1))``
    """
    _outside("matrix_solve")


def matrix_trace(m: Any) -> Any:
    """The sum of the diagonal of a square matrix.

    As text: ``(matrix_trace (id_matrix 3))``
    """
    _outside("matrix_trace")


def cholesky(m: Any) -> Any:
    """The lower triangular L with L times its transpose = m, for a symmetric positive definite m.

    As text: ``(cholesky (diag_matrix (vector 4 9)))``
    """
    _outside("cholesky")


def log_det(m: Any) -> Any:
    """The logarithm of the determinant, for a positive definite matrix by its Cholesky factor, else of the determinant's absolute value.

    As text: ``(log_det (diag_matrix (vector 2 4)))``
    """
    _outside("log_det")


def cov_exp_quad(points: Any, others: Any = None, amplitude: Any = None, length: Any = None) -> Any:
    """The covariance matrix amplitude^2 exp(-r^2 / (2 length^2)) of points at distances r: a smooth Gaussian process.

    As text: ``(cov_exp_quad (vector 0 1 2) 1 0.5)``
    """
    _outside("cov_exp_quad")


def cov_matern32(points: Any, others: Any = None, amplitude: Any = None, length: Any = None) -> Any:
    """The covariance matrix amplitude^2 (1 + a) exp(-a) with a = sqrt(3) r / length, of points at distances r.

    As text: ``(cov_matern32 (vector 0 1 2) 1 0.5)``
    """
    _outside("cov_matern32")


def cov_matern52(points: Any, others: Any = None, amplitude: Any = None, length: Any = None) -> Any:
    """The covariance matrix amplitude^2 (1 + a + a^2 / 3) exp(-a) with a = sqrt(5) r / length, of points at distances r.

    As text: ``(cov_matern52 (vector 0 1 2) 1 0.5)``
    """
    _outside("cov_matern52")


def cov_periodic(points: Any, others: Any = None, amplitude: Any = None, length: Any = None, period: Any = None) -> Any:
    """The covariance matrix amplitude^2 exp(-2 sin^2(pi r / period) / length^2) of points at distances r.

    As text: ``(cov_periodic (vector 0 1 2) 1 0.5 3)``
    """
    _outside("cov_periodic")


def keys(d: Any) -> Any:
    """The list of a dictionary's keys, in the order of their entries.

    As text: ``(keys (dict (array 'a 1)))``
    """
    _outside("keys")


def values(d: Any) -> Any:
    """The list of a dictionary's values, in the order of their entries.

    As text: ``(values (dict (array 'a 1)))``
    """
    _outside("values")


def is_number(x: Any) -> Any:
    """Whether x is a number.

    As text: ``(is_number 3)``
    """
    _outside("is_number")


def is_integer(x: Any) -> Any:
    """Whether x is a whole number.

    As text: ``(is_integer 3)``
    """
    _outside("is_integer")


def is_boolean(x: Any) -> Any:
    """Whether x is true or false.

    As text: ``(is_boolean true)``
    """
    _outside("is_boolean")


def is_symbol(x: Any) -> Any:
    """Whether x is a symbol.

    As text: ``(is_symbol 'a)``
    """
    _outside("is_symbol")


def is_string(x: Any) -> Any:
    """Whether x is a string.

    As text: ``(is_string "text")``
    """
    _outside("is_string")


def is_procedure(x: Any) -> Any:
    """Whether x is a procedure.

    As text: ``(is_procedure +)``
    """
    _outside("is_procedure")


def is_pair(x: Any) -> Any:
    """Whether x is a pair, as every list with elements is.

    As text: ``(is_pair (list 1))``
    """
    _outside("is_pair")


def is_list(x: Any) -> Any:
    """Whether x is a list, with or without elements.

    As text: ``(is_list (list 1))``
    """
    _outside("is_list")


def is_array(x: Any) -> Any:
    """Whether x is an array.

    As text: ``(is_array (array 1))``
    """
    _outside("is_array")


def is_vector(x: Any) -> Any:
    """Whether x is a vector.

    As text: ``(is_vector (vector 1))``
    """
    _outside("is_vector")


def is_matrix(x: Any) -> Any:
    """Whether x is a matrix.

    As text: ``(is_matrix (id_matrix 2))``
    """
    _outside("is_matrix")


def is_dict(x: Any) -> Any:
    """Whether x is a dictionary.

    As text: ``(is_dict (dict))``
    """
    _outside("is_dict")


def is_environment(x: Any) -> Any:
    """Whether x is an environment.

    As text: ``(is_environment (get_empty_environment))``
    """
    _outside("is_environment")


def real(x: Any) -> Any:
    """x as a number: true is 1, false is 0.

    As text: ``(real true)``
    """
    _outside("real")


def integer(x: Any) -> Any:
    """x as a number, which has to be whole.

    As text: ``(integer 3)``
    """
    _outside("integer")


def probability(x: Any) -> Any:
    """x as a number, which has to lie between 0 and 1.

    As text: ``(probability 0.5)``
    """
    _outside("probability")


def log_density(*args: Any) -> Any:
    """The log density, or log probability, of (D args ...) at x.

    As text: ``(log_density normal 1.5 0 2)``
    """
    _outside("log_density")


def cdf(*args: Any) -> Any:
    """The probability that a draw from (D args ...) is at most x.

    As text: ``(cdf normal 1.5 0 2)``
    """
    _outside("cdf")


def ccdf(*args: Any) -> Any:
    """The probability that a draw from (D args ...) is above x, without loss where that is small.

    As text: ``(ccdf normal 1.5 0 2)``
    """
    _outside("ccdf")


def log_cdf(*args: Any) -> Any:
    """The logarithm of the probability that a draw from (D args ...) is at most x.

    As text: ``(log_cdf normal -40 0 2)``
    """
    _outside("log_cdf")


def log_ccdf(*args: Any) -> Any:
    """The logarithm of the probability that a draw from (D args ...) is above x.

    As text: ``(log_ccdf normal 40 0 2)``
    """
    _outside("log_ccdf")


def quantile(*args: Any) -> Any:
    """The least x that a draw from (D args ...) does not exceed with probability at least p.

    As text: ``(quantile normal 0.975 0 1)``
    """
    _outside("quantile")


def mapv(*args: Any) -> Any:
    """As map, giving an array.

    As text: ``(mapv (lambda (x) (* x x)) (array 1 2 3))``
    """
    _outside("mapv")


def fold(f: Any, start: Any, xs: Any) -> Any:
    """f applied from the left: (f (f start x0) x1) and so on.

    As text: ``(fold (lambda (total x) (+ total x)) 0 (list 1 2 3))``
    """
    _outside("fold")


def reduce(f: Any, start: Any, xs: Any) -> Any:
    """f applied from the left: (f (f start x0) x1) and so on.

    As text: ``(fold (lambda (total x) (+ total x)) 0 (list 1 2 3))``
    """
    _outside("reduce")


def apply(f: Any, args: Any) -> Any:
    """f applied to the elements of a list or array.

    As text: ``(apply + (list 1 2 3))``
    """
    _outside("apply")


def build_matrix(n: Any, m: Any, f: Any) -> Any:
    """The n x m matrix with entries (f i j), counted from 0.

    As text: ``(build_matrix 2 2 (lambda (i j) (+ i j)))``
    """
    _outside("build_matrix")


def extend_environment(environment: Any, name: Any, value: Any) -> Any:
    """The environment with one more name.

    As text: ``(eval 'x (extend_environment (get_empty_environment) 'x 3))``
    """
    _outside("extend_environment")


def get_empty_environment() -> Any:
    """The environment of the built-in procedures alone.

    As text: ``(eval '(+ 1 2) (get_empty_environment))``
    """
    _outside("get_empty_environment")


__all__ = [
    "inf",
    "observe",
    "predict",
    "force",
    "factor",
    "impute",
    "infer",
    "mem",
    "scope",
    "scope_include",
    "scope_exclude",
    "column",
    "cell",
    "rows",
    "levels",
    "is_missing",
    "only_if",
    "bernoulli",
    "flip",
    "bernoulli_logit",
    "binomial",
    "beta_binomial",
    "hypergeometric",
    "geometric",
    "negative_binomial",
    "negative_binomial_mean",
    "poisson",
    "poisson_log",
    "categorical",
    "categorical_logit",
    "ordered_logistic",
    "ordered_probit",
    "uniform_discrete",
    "normal",
    "skew_normal",
    "uniform_continuous",
    "uniform",
    "beta",
    "beta_mean",
    "gamma",
    "inv_gamma",
    "inverse_gaussian",
    "wald",
    "expon",
    "exponential",
    "student_t",
    "cauchy",
    "laplace",
    "logistic_dist",
    "lognormal",
    "weibull",
    "gumbel",
    "pareto",
    "chi_squared",
    "half_normal",
    "half_cauchy",
    "half_student_t",
    "truncated_normal",
    "vonmises",
    "multivariate_normal",
    "multivariate_normal_cholesky",
    "multivariate_diag_normal",
    "multivariate_student_t",
    "random_walk",
    "ar",
    "wishart",
    "inv_wishart",
    "lkj",
    "lkj_cholesky",
    "dirichlet",
    "symmetric_dirichlet",
    "multinomial",
    "dirichlet_multinomial",
    "ordered",
    "zero_inflated",
    "hurdle",
    "mixture",
    "truncate",
    "censor",
    "flat",
    "flat_pos",
    "make_crp",
    "make_beta_bernoulli",
    "make_dir_cat",
    "make_dir_mult",
    "make_sym_dir_cat",
    "make_sym_dir_mult",
    "make_gamma_poisson",
    "make_nig_normal",
    "make_collapsed_multivariate_normal",
    "make_cmvn",
    "make_niw_normal",
    "make_suff_stat_bernoulli",
    "make_suff_stat_poisson",
    "make_suff_stat_normal",
    "make_uc_beta_bernoulli",
    "make_uc_dir_cat",
    "make_uc_dir_mult",
    "make_uc_sym_dir_cat",
    "make_uc_sym_dir_mult",
    "make_uc_gamma_poisson",
    "make_uc_nig_normal",
    "make_uc_niw_normal",
    "make_uc_cmvn",
    "add",
    "sub",
    "mul",
    "div",
    "negate",
    "signum",
    "floor",
    "ceil",
    "int_div",
    "int_mod",
    "exp",
    "expm1",
    "log",
    "log1p",
    "square",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "atan2",
    "hypot",
    "logistic",
    "logit",
    "log_logistic",
    "logsumexp",
    "linear_logistic",
    "eq",
    "neq",
    "lt",
    "lte",
    "gt",
    "gte",
    "xor",
    "all_p",
    "any_p",
    "biplex",
    "pair",
    "first",
    "second",
    "rest",
    "append",
    "reverse",
    "sort",
    "unique",
    "take",
    "size",
    "is_empty",
    "lookup",
    "contains",
    "array",
    "to_list",
    "to_array",
    "to_vector",
    "vector",
    "fill",
    "zeros",
    "ones",
    "linspace",
    "arange",
    "prod",
    "mean",
    "dot",
    "scale_vector",
    "vector_add",
    "simplex",
    "normalize",
    "matrix",
    "id_matrix",
    "zero_matrix",
    "diag_matrix",
    "ravel",
    "row",
    "col",
    "transpose",
    "matrix_add",
    "matrix_mul",
    "matrix_times_vector",
    "vector_times_matrix",
    "scale_matrix",
    "matrix_inverse",
    "matrix_solve",
    "matrix_trace",
    "cholesky",
    "log_det",
    "cov_exp_quad",
    "cov_matern32",
    "cov_matern52",
    "cov_periodic",
    "keys",
    "values",
    "is_number",
    "is_integer",
    "is_boolean",
    "is_symbol",
    "is_string",
    "is_procedure",
    "is_pair",
    "is_list",
    "is_array",
    "is_vector",
    "is_matrix",
    "is_dict",
    "is_environment",
    "real",
    "integer",
    "probability",
    "log_density",
    "cdf",
    "ccdf",
    "log_cdf",
    "log_ccdf",
    "quantile",
    "mapv",
    "fold",
    "reduce",
    "apply",
    "build_matrix",
    "extend_environment",
    "get_empty_environment",
]
