//! f(X) = |S|^(dof/2) |X|^(-(dof + p + 1)/2) exp(-tr(S X^-1)/2) / (2^(dof p/2) Gamma_p(dof/2)) for
//! symmetric positive definite X of size p; mean S / (dof - p - 1).

use smidgen_value::math::{LN_2, ln_gamma_multivariate};
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::outcome;
use super::wishart::{
    Factors, add_scaled, by_dof, draw_factor, factor_of_outcome, parameters, sandwich,
    times_transpose, trace_of_ratio,
};
use crate::linalg;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct InvWishart;

static SPEC: Spec = Spec {
    name: "inv_wishart",
    aliases: &[],
    parameters: "scale dof",
    arity: Arity::exactly(2),
    summary: "A symmetric positive definite matrix with mean scale / (dof - size - 1)",
    example: "(inv_wishart (id_matrix 2) 5)",
};

fn log_density(x_lower: &Matrix, lower: &Matrix, dof: f64) -> f64 {
    let size = lower.rows();
    let p = size as f64;
    0.5 * dof * (linalg::log_det_from_cholesky(lower) - p * LN_2)
        - 0.5 * (dof + p + 1.0) * linalg::log_det_from_cholesky(x_lower)
        - 0.5 * trace_of_ratio(x_lower, lower)
        - ln_gamma_multivariate(size, 0.5 * dof)
}

/// The derivatives are (X^-1 S X^-1 - (dof + p + 1) X^-1) / 2, (dof S^-1 - X^-1) / 2 and
/// (log |S| - log |2 X| - the sum over j of psi((dof - j) / 2)) / 2.
fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let Some(Factors { lower, x_lower, dof }) = Factors::read(x, args) else {
        return f64::NEG_INFINITY;
    };
    let p = lower.rows() as f64;
    if !x_slope.is_empty() {
        add_scaled(x_slope, 0.5, &sandwich(&x_lower, &lower));
        add_scaled(x_slope, -0.5 * (dof + p + 1.0), &linalg::inverse_from_cholesky(&x_lower));
    }
    if !slopes[0].is_empty() {
        add_scaled(slopes[0], 0.5 * dof, &linalg::inverse_from_cholesky(&lower));
        add_scaled(slopes[0], -0.5, &linalg::inverse_from_cholesky(&x_lower));
    }
    if let Some(slope) = slopes[1].first_mut() {
        *slope += by_dof(&lower, &x_lower, dof);
    }
    log_density(&x_lower, &lower, dof)
}

impl Distribution for InvWishart {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// With S = L L' and A A' a Wishart draw of identity scale, L (A A')^-1 L' is the draw; it is
    /// M M' for M = L A'^-1.
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (lower, dof) = parameters(args)?;
        let size = lower.rows();
        let a = draw_factor(size, dof, rng);
        // Row k of A'^-1 is column k of A^-1, the solution of A y = e_k.
        let inverse: Vec<Vec<f64>> = (0..size)
            .map(|j| {
                let mut unit: Vec<f64> = (0..size).map(|i| f64::from(u8::from(i == j))).collect();
                linalg::solve_lower(&a, &mut unit);
                unit
            })
            .collect();
        let m = Matrix::from_fn(size, size, |i, j| {
            lower.row(i).iter().zip(&inverse).map(|(l, column)| l * column[j]).sum()
        });
        Ok(Value::matrix(times_transpose(&m)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (lower, dof) = parameters(args)?;
        let size = lower.rows();
        let Some(x_lower) = factor_of_outcome(x, size) else {
            return Ok(f64::NEG_INFINITY);
        };
        Ok(log_density(&x_lower, lower, dof))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (lower, _) = parameters(args)?;
        Ok(Support::PositiveDefinite { size: lower.rows() })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_matrix(x)
    }
}
