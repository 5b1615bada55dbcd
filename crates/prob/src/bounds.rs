//! Upper bounds of log densities over unknown arguments, for rejection sampling: the least M with
//! log p(x | args) ≤ M for all values of the arguments that are not known.
//!
//! Nearly always M is the log density at the arguments that maximise it, so this file is a table
//! of those. A location is best at x itself; a scale, given the location, at the distance |x − loc|
//! (for the logistic law, at that over 1.5434, where z tanh(z/2) = 1); a rate at shape / x; an end of
//! an interval at x. Parameters in which the log density is concave (natural ones, and shapes) are
//! searched. Probabilities are at most 1.
//!
//! Where the density has no bound (a normal law with unknown mean and sd can be as narrow as it
//! likes), and for distributions that this table does not know, there is none.

use smidgen_value::math::{HALF_LN_2PI, cos, exp, ln, logistic};
use smidgen_value::{Matrix, Value};

use crate::procedure::{Args, Distribution};

/// An upper bound of the log density at x; None stands for an argument that may be anything.
pub fn log_density_bound(
    distribution: &dyn Distribution,
    x: &Value,
    args: &[Option<&Value>],
) -> Option<f64> {
    if let Some(known) = args.iter().copied().collect::<Option<Vec<&Value>>>() {
        return finite(distribution.log_density(x, &known).ok()?);
    }
    let name = distribution.spec().name;
    let question = Question { distribution, x, args };
    match name {
        "bernoulli"
        | "flip"
        | "categorical"
        | "bernoulli_logit"
        | "categorical_logit"
        | "ordered_logistic"
        | "ordered_probit"
        | "beta_binomial"
        | "hypergeometric"
        | "dirichlet_multinomial" => Some(0.0),
        "poisson"
        | "poisson_log"
        | "geometric"
        | "binomial"
        | "negative_binomial"
        | "negative_binomial_mean"
        | "uniform_discrete" => Some(question.of_count(name).map_or(0.0, |bound| bound.min(0.0))),
        "multinomial" => Some(question.of_counts().map_or(0.0, |bound| bound.min(0.0))),
        "multivariate_normal"
        | "multivariate_normal_cholesky"
        | "multivariate_diag_normal"
        | "multivariate_student_t"
        | "symmetric_dirichlet"
        | "wishart"
        | "inv_wishart" => question.of_several(name),
        _ => question.of_number(name),
    }
}

/// Slack for what was found by a search, and for rounding.
const SLACK: f64 = 1e-9;

fn finite(bound: f64) -> Option<f64> {
    // An outcome that is impossible whatever the arguments is bounded by anything.
    (bound < f64::INFINITY).then(|| bound.max(f64::MIN) + SLACK * (1.0 + bound.max(-1e9).abs()))
}

struct Question<'a> {
    distribution: &'a dyn Distribution,
    x: &'a Value,
    args: &'a [Option<&'a Value>],
}

impl Question<'_> {
    /// An argument that is known and a plain number; any other may be anything.
    fn known(&self, i: usize) -> Option<f64> {
        let known = self.args.get(i).copied().flatten();
        known.filter(|arg| !matches!(arg, Value::Linked(..))).and_then(Value::as_number)
    }

    fn log_density(&self, args: Args<'_>) -> Option<f64> {
        self.distribution.log_density(self.x, args).ok().filter(|log_p| !log_p.is_nan())
    }

    /// The log density at these arguments, which maximise it.
    fn at(&self, args: &[f64]) -> Option<f64> {
        let values: Vec<Value> = args.iter().map(|arg| Value::Number(*arg)).collect();
        finite(self.log_density(&values.iter().collect::<Vec<_>>())?)
    }

    /// The maximum over argument i, in which the log density is concave. `to` gives the argument
    /// from a number without limits, increasing.
    fn concave(&self, i: usize, to: impl Fn(f64) -> f64) -> Option<f64> {
        let mut args: Vec<Value> = Vec::new();
        for (k, arg) in self.args.iter().enumerate() {
            match arg {
                Some(value) => args.push((*value).clone()),
                None if k == i => args.push(Value::Nil),
                None => return None,
            }
        }
        let f = |u: f64| {
            let mut args = args.clone();
            args[i] = Value::Number(to(u));
            self.log_density(&args.iter().collect::<Vec<_>>()).unwrap_or(f64::NEG_INFINITY)
        };
        finite(maximum(f)?)
    }

    /// A number above `low`.
    fn concave_above(&self, i: usize, low: f64) -> Option<f64> {
        self.concave(i, |u| low + exp(u))
    }

    /// Whole numbers. None: nothing better than 0 is known.
    fn of_count(&self, name: &str) -> Option<f64> {
        let k = self.x.as_number()?;
        match (name, self.known(0), self.known(1)) {
            ("poisson", ..) if k > 0.0 => self.at(&[k]),
            ("poisson_log", ..) if k > 0.0 => self.at(&[ln(k)]),
            ("negative_binomial_mean", None, Some(phi)) if k > 0.0 => self.at(&[k, phi]),
            ("geometric", ..) => self.at(&[1.0 / (1.0 + k)]),
            ("binomial", Some(n), None) if n > 0.0 => self.at(&[n, (k / n).clamp(0.0, 1.0)]),
            ("negative_binomial", Some(r), None) => self.at(&[r, r / (r + k)]),
            ("uniform_discrete", Some(low), None) => self.at(&[low, k + 1.0]),
            ("uniform_discrete", None, Some(high)) => self.at(&[k, high]),
            _ => None,
        }
    }

    fn of_counts(&self) -> Option<f64> {
        let (n, counts) = (self.known(0).filter(|n| *n > 0.0)?, self.x.to_reals()?);
        let shares = Value::vector(counts.iter().map(|k| k / n).collect::<Vec<_>>());
        finite(self.log_density(&[&Value::Number(n), &shares])?)
    }

    /// Continuous numbers.
    fn of_number(&self, name: &str) -> Option<f64> {
        let x = self.x.as_number()?;
        let (first, second) = (self.known(0), self.known(1));
        match name {
            "normal" | "cauchy" | "laplace" => self.location_and_scale(x, 1.0),
            "lognormal" if x > 0.0 => self.location_and_scale(ln(x), 1.0),
            "logistic_dist" => self.location_and_scale(x, 1.543_404_638_418_21),
            "student_t" => self.student_t(x),
            "half_normal" | "half_cauchy" if x > 0.0 => self.at(&[x]),
            "half_student_t" => {
                let log_scale = second.map(|scale| -ln(scale)).or_else(|| beyond(x));
                match (first, second) {
                    (Some(df), None) if x > 0.0 => self.at(&[df, x]),
                    _ => finite(std::f64::consts::LN_2 - HALF_LN_2PI + log_scale?),
                }
            }
            "expon" if x > 0.0 => self.at(&[1.0 / x]),
            "gamma" if x > 0.0 => match first {
                Some(shape) => self.at(&[shape, shape / x]),
                None => self.concave_above(0, 0.0),
            },
            "inv_gamma" if x > 0.0 => match first {
                Some(shape) => self.at(&[shape, shape * x]),
                None => self.concave_above(0, 0.0),
            },
            "chi_squared" if x > 0.0 => self.concave_above(0, 0.0),
            "beta" if x > 0.0 && x < 1.0 => self.concave_above(usize::from(first.is_some()), 0.0),
            "weibull" if x > 0.0 => match (first, second) {
                (Some(shape), None) => self.at(&[shape, x]),
                (None, Some(scale)) if x != scale => self.concave_above(0, 0.0),
                _ => None,
            },
            "uniform_continuous" => match (first, second) {
                (Some(low), None) if x > low => finite(-ln(x - low)),
                (None, Some(high)) if x < high => finite(-ln(high - x)),
                _ => None,
            },
            "truncated_normal" => self.truncated_normal(x),
            "skew_normal" => self.skew_normal(x),
            "beta_mean" if x > 0.0 && x < 1.0 => match (first, second) {
                (None, Some(_)) => self.concave(0, logistic),
                (Some(mu), None) if x != mu => self.concave_above(1, 0.0),
                _ => None,
            },
            "inverse_gaussian" if x > 0.0 => match (first, second) {
                (None, Some(lambda)) => self.at(&[x, lambda]),
                (Some(mu), None) if x != mu => {
                    let away = (x - mu) / mu;
                    self.at(&[mu, x / (away * away)])
                }
                _ => None,
            },
            "gumbel" => {
                // Where z (1 - e^-z) = 1, to either side.
                let right = first.is_none_or(|loc| x > loc);
                let z = if right { 1.349_976_485_401_125 } else { 0.806_465_994_236_327_1 };
                self.location_and_scale(x, z)
            }
            "pareto" if x > 0.0 => match (first, second) {
                (None, Some(shape)) => self.at(&[x, shape]),
                (Some(minimum), None) if x > minimum => self.at(&[minimum, 1.0 / ln(x / minimum)]),
                _ => None,
            },
            "vonmises" => match (first, second) {
                (None, Some(kappa)) => self.at(&[x, kappa]),
                (Some(mu), None) if cos(x - mu) < 1.0 => self.concave_above(1, 0.0),
                _ => None,
            },
            _ => None,
        }
    }

    /// Arguments loc and scale; `y` is what is compared with loc, and the best scale is
    /// |y − loc| / `z`.
    fn location_and_scale(&self, y: f64, z: f64) -> Option<f64> {
        match (self.known(0), self.known(1)) {
            (None, Some(scale)) => self.at(&[y, scale]),
            (Some(loc), None) if y != loc => self.at(&[loc, (y - loc).abs() / z]),
            _ => None,
        }
    }

    /// The more degrees of freedom, the higher the density at its centre and at one scale from it,
    /// up to the normal law's.
    fn student_t(&self, x: f64) -> Option<f64> {
        let given = self.args.len() > 1;
        let loc = if given { self.known(1) } else { Some(0.0) };
        let scale = if given { self.known(2) } else { Some(1.0) };
        match (self.known(0), loc, scale) {
            (Some(df), None, Some(scale)) => self.at(&[df, x, scale]),
            (Some(df), Some(loc), None) if x != loc => self.at(&[df, loc, (x - loc).abs()]),
            (None, _, Some(scale)) => finite(-HALF_LN_2PI - ln(scale)),
            (None, Some(loc), None) => finite(-HALF_LN_2PI + beyond(x - loc)?),
            _ => None,
        }
    }

    /// Concave in the location. The shape makes it at most twice the normal density.
    fn skew_normal(&self, x: f64) -> Option<f64> {
        match (self.known(0), self.known(1), self.known(2)) {
            (None, Some(scale), Some(_)) => self.concave(0, |u| x + scale * sinh(u)),
            (Some(loc), Some(scale), None) => {
                let z = (x - loc) / scale;
                finite(std::f64::consts::LN_2 - HALF_LN_2PI - 0.5 * z * z - ln(scale))
            }
            _ => None,
        }
    }

    fn truncated_normal(&self, x: f64) -> Option<f64> {
        match (self.known(0), self.known(1)?, self.known(2), self.known(3)) {
            (None, sd, Some(low), Some(high)) if low < x && x < high => {
                self.concave(0, |u| x + sd * sinh(u))
            }
            (Some(mean), sd, Some(low), None) if low < x => self.at(&[mean, sd, low, x]),
            (Some(mean), sd, None, Some(high)) if x < high => self.at(&[mean, sd, x, high]),
            _ => None,
        }
    }

    /// Vectors and matrices.
    fn of_several(&self, name: &str) -> Option<f64> {
        let (first, second) = (self.args[0], self.args[1]);
        match (name, first, second) {
            ("multivariate_student_t", Some(df), None) => {
                finite(self.log_density(&[df, self.x, self.args[2]?])?)
            }
            (
                "multivariate_normal" | "multivariate_normal_cholesky" | "multivariate_diag_normal",
                None,
                Some(spread),
            ) => finite(self.log_density(&[self.x, spread])?),
            ("multivariate_diag_normal", Some(mean), None) => {
                let (xs, means) = (self.x.to_reals()?, mean.to_reals()?);
                let sds: Vec<f64> = xs.iter().zip(&means).map(|(x, m)| (x - m).abs()).collect();
                finite(self.log_density(&[mean, &Value::vector(sds)])?)
            }
            ("symmetric_dirichlet", None, Some(_)) => {
                let xs = self.x.to_reals()?;
                let even = xs.iter().all(|x| (x - xs[0]).abs() < 1e-6);
                if even || xs.iter().any(|x| *x <= 0.0) { None } else { self.concave_above(0, 0.0) }
            }
            ("wishart" | "inv_wishart", None, Some(dof)) => {
                let Value::Matrix(m) = self.x else { return None };
                let dof_number = dof.as_number()?;
                let factor = if name == "wishart" { 1.0 / dof_number } else { dof_number };
                let best = Matrix::from_fn(m.rows(), m.cols(), |i, j| factor * m.get(i, j));
                finite(self.log_density(&[&Value::matrix(best), dof])?)
            }
            ("wishart" | "inv_wishart", Some(_), None) => {
                let Value::Matrix(m) = self.x else { return None };
                self.concave_above(1, m.rows() as f64 - 1.0)
            }
            _ => None,
        }
    }
}

/// log of the largest normal density at this distance, without the constant.
fn beyond(distance: f64) -> Option<f64> {
    (distance != 0.0).then(|| -ln(distance.abs()) - 0.5)
}

fn sinh(u: f64) -> f64 {
    0.5 * (exp(u) - exp(-u))
}

/// The maximum of a function that rises to it and falls from it; None if it lies at the end of what
/// doubles can show.
fn maximum(f: impl Fn(f64) -> f64) -> Option<f64> {
    const FARTHEST: f64 = 300.0;
    const GOLDEN: f64 = 0.618_033_988_749_895;
    // A bracket (a, b) around the best of a first look.
    let mut centre = 0.0;
    let mut best = f(centre);
    for direction in [1.0, -1.0] {
        let mut u = centre;
        loop {
            u += direction;
            let here = f(u);
            if here <= best {
                break;
            }
            (centre, best) = (u, here);
            if u.abs() > FARTHEST {
                return None;
            }
        }
    }
    let (mut a, mut b) = (centre - 1.0, centre + 1.0);
    let (mut c, mut d) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
    let (mut at_c, mut at_d) = (f(c), f(d));
    for _ in 0..60 {
        if at_c >= at_d {
            (b, d, at_d) = (d, c, at_c);
            c = b - GOLDEN * (b - a);
            at_c = f(c);
        } else {
            (a, c, at_c) = (c, d, at_d);
            d = a + GOLDEN * (b - a);
            at_d = f(d);
        }
    }
    Some(best.max(at_c).max(at_d))
}
