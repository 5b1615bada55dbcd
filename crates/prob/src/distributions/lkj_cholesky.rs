//! The Cholesky factor L of an `lkj` correlation matrix: f(L) = prod L_ii^(2 (eta - 1) + n - 1 - i) / Z, i from 0, with
//! the Z of `lkj`, against the entries below the diagonal.

use smidgen_value::math::ln;
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::lkj::{draw_factor, is_size, log_kernel, log_norm, log_norm_slope, parameters, weight};
use super::outcome;
use crate::arguments;
use crate::correlation;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct LkjCholesky;

static SPEC: Spec = Spec {
    name: "lkj_cholesky",
    aliases: &[],
    parameters: "n eta",
    arity: Arity::exactly(2),
    summary: "The Cholesky factor of an n x n correlation matrix drawn from (lkj n eta)",
    example: "(lkj_cholesky 3 2)",
};

/// The derivatives with respect to L_ii, whose row has length one, and to eta.
fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let (n, eta) = (args[0][0], args[1][0]);
    if !(is_size(n) && arguments::is_positive(eta) && x.len() as f64 == n * n) {
        return f64::NEG_INFINITY;
    }
    let n = n as usize;
    let lower = Matrix::new(n, n, x.to_vec());
    if !correlation::is_factor(&lower) {
        return f64::NEG_INFINITY;
    }
    if !x_slope.is_empty() {
        for i in 0..n {
            x_slope[i * n + i] += weight(n, i, eta) / lower.get(i, i);
        }
    }
    if let Some(slope) = slopes[1].first_mut() {
        let log_det: f64 = (0..n).map(|i| 2.0 * ln(lower.get(i, i))).sum();
        *slope += log_det - log_norm_slope(n, eta);
    }
    log_kernel(&lower, eta) - log_norm(n, eta)
}

impl Distribution for LkjCholesky {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (n, eta) = parameters(args)?;
        Ok(Value::matrix(draw_factor(n, eta, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (n, eta) = parameters(args)?;
        Ok(match x {
            Value::Matrix(x) if x.rows() == n && correlation::is_factor(x) => {
                log_kernel(x, eta) - log_norm(n, eta)
            }
            _ => f64::NEG_INFINITY,
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::CorrelationFactor { size: parameters(args)?.0 })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_matrix(x)
    }
}
