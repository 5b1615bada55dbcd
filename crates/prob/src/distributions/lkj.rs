//! f(R) = |R|^(eta - 1) / Z for correlation matrices R of size n, against the entries below the
//! diagonal (Lewandowski, Kurowicka and Joe 2009):
//!
//! log Z = sum for k from 1 to n - 1 of (k log(pi) / 2 + log Gamma(eta + (n - 1 - k)/2))
//!         - (n - 1) log Gamma(eta + (n - 1)/2).
//!
//! Each correlation is 2b - 1 with b from beta(a, a), a = eta + n/2 - 1.

use smidgen_value::math::{LN_PI, digamma, exp, ln, ln_gamma, sqrt};
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::{gamma, outcome};
use crate::arguments;
use crate::correlation;
use crate::linalg;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct Lkj;

static SPEC: Spec = Spec {
    name: "lkj",
    aliases: &[],
    parameters: "n eta",
    arity: Arity::exactly(2),
    summary: "An n x n correlation matrix with density proportional to its determinant to the power eta - 1; uniform for eta 1",
    example: "(lkj 3 2)",
};

/// Larger matrices are none that anybody means.
const MOST: f64 = 1e4;

pub(crate) fn is_size(n: f64) -> bool {
    arguments::is_count(n) && (1.0..=MOST).contains(&n)
}

pub(crate) fn parameters(args: Args<'_>) -> Result<(usize, f64), ArgumentError> {
    let expected = "a dimension (a whole number from 1 on)";
    let n = arguments::number_where(args, 0, expected, is_size)?;
    Ok((n as usize, arguments::positive(args, 1, "a positive eta")?))
}

/// log Z
pub(crate) fn log_norm(n: usize, eta: f64) -> f64 {
    let last = (n - 1) as f64;
    let each = (1..n).map(|k| {
        let k = k as f64;
        0.5 * k * LN_PI + ln_gamma(eta + 0.5 * (last - k)) - ln_gamma(eta + 0.5 * last)
    });
    each.sum()
}

/// Its derivative with respect to eta.
pub(crate) fn log_norm_slope(n: usize, eta: f64) -> f64 {
    let last = (n - 1) as f64;
    let whole = digamma(eta + 0.5 * last);
    (1..n).map(|k| digamma(eta + 0.5 * (last - k as f64)) - whole).sum()
}

/// The Cholesky factor of a draw, by partial correlations 2b - 1: those of column j have b from beta(a, a) with
/// a = eta + (n - 2 - j)/2. From b = 1/(1 + e^-t) come 2b - 1 and sqrt(1 - (2b - 1)^2) without a difference.
pub(crate) fn draw_factor(n: usize, eta: f64, rng: &mut Rng) -> Matrix {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        let mut left = 1.0;
        for j in 0..i {
            let shape = eta + 0.5 * (n as f64 - 2.0 - j as f64);
            let t = match gamma::draw_log(shape, rng) - gamma::draw_log(shape, rng) {
                // Both logarithms are beyond all doubles: of the law of b only its ends are left.
                t if t.is_nan() => f64::INFINITY.copysign(rng.uniform() - 0.5),
                t => t,
            };
            // tanh and 1 / cosh of t / 2
            let e = exp(-t.abs());
            l[i * n + j] = left * ((1.0 - e) / (1.0 + e)).copysign(t);
            left *= 2.0 * sqrt(e) / (1.0 + e);
        }
        l[i * n + i] = left.max(f64::MIN_POSITIVE);
    }
    Matrix::new(n, n, l)
}

/// The derivatives are (eta - 1) R^-1 off the diagonal, and log |R| - (log Z)'.
fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let (n, eta) = (args[0][0], args[1][0]);
    if !(is_size(n) && arguments::is_positive(eta) && x.len() as f64 == n * n) {
        return f64::NEG_INFINITY;
    }
    let n = n as usize;
    let Some(lower) = correlation::factor_of(&Matrix::new(n, n, x.to_vec())) else {
        return f64::NEG_INFINITY;
    };
    let log_det = linalg::log_det_from_cholesky(&lower);
    if !x_slope.is_empty() {
        let inverse = linalg::inverse_from_cholesky(&lower);
        for i in 0..n {
            for j in (0..n).filter(|j| *j != i) {
                x_slope[i * n + j] += (eta - 1.0) * inverse.get(i, j);
            }
        }
    }
    if let Some(slope) = slopes[1].first_mut() {
        *slope += log_det - log_norm_slope(n, eta);
    }
    (eta - 1.0) * log_det - log_norm(n, eta)
}

impl Distribution for Lkj {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (n, eta) = parameters(args)?;
        Ok(Value::matrix(correlation::product(&draw_factor(n, eta, rng))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (n, eta) = parameters(args)?;
        let lower = match x {
            Value::Matrix(x) if x.rows() == n => correlation::factor_of(x),
            _ => None,
        };
        Ok(lower.map_or(f64::NEG_INFINITY, |lower| {
            (eta - 1.0) * linalg::log_det_from_cholesky(&lower) - log_norm(n, eta)
        }))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::Correlation { size: parameters(args)?.0 })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_matrix(x)
    }
}

/// log |L L'| weighted as the density of a factor has it: the sum of (2 (eta - 1) + n - 1 - i) log L_ii, i from 0.
pub(crate) fn log_kernel(lower: &Matrix, eta: f64) -> f64 {
    let n = lower.rows();
    (0..n).map(|i| weight(n, i, eta) * ln(lower.get(i, i))).sum()
}

pub(crate) fn weight(n: usize, i: usize, eta: f64) -> f64 {
    2.0 * (eta - 1.0) + (n - 1 - i) as f64
}
