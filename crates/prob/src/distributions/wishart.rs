//! f(X) = |X|^((dof - p - 1)/2) exp(-tr(V^-1 X)/2) / (2^(dof p/2) |V|^(dof/2) Gamma_p(dof/2)) for
//! symmetric positive definite X of size p; mean dof V.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{LN_2, ln_gamma_multivariate};
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::multivariate_normal::factor;
use super::{gamma, outcome};
use crate::arguments;
use crate::linalg;
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

pub struct Wishart;

static SPEC: Spec = Spec {
    name: "wishart",
    aliases: &[],
    parameters: "scale dof",
    arity: Arity::exactly(2),
    summary: "A symmetric positive definite matrix with mean dof times scale",
    example: "(wishart (id_matrix 2) 4)",
};

/// The Cholesky factor of the scale matrix, and the degrees of freedom.
pub(crate) fn parameters(args: Args<'_>) -> Result<(Matrix, f64), ArgumentError> {
    let lower = factor(args, 0)?;
    let expected = "degrees of freedom above the size of the scale matrix minus 1";
    let least = lower.rows() as f64 - 1.0;
    let dof = arguments::number_where(args, 1, expected, |dof| dof > least && dof.is_finite())?;
    Ok((lower, dof))
}

/// Bartlett's factor A: A A' is a draw with the identity for scale.
pub(crate) fn draw_factor(size: usize, dof: f64, rng: &mut Rng) -> Matrix {
    Matrix::from_fn(size, size, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => gamma::draw(0.5 * (dof - i as f64), 0.5, rng).sqrt(),
        std::cmp::Ordering::Greater => StandardNormal.sample(rng),
    })
}

/// M M', symmetric to the bit.
pub(crate) fn times_transpose(m: &Matrix) -> Matrix {
    Matrix::from_fn(m.rows(), m.rows(), |i, j| {
        m.row(i).iter().zip(m.row(j)).map(|(a, b)| a * b).sum()
    })
}

/// The trace of (L L')^-1 (M M'), the sum of the squares in L^-1 M.
pub(crate) fn trace_of_ratio(lower: &Matrix, m: &Matrix) -> f64 {
    let mut trace = 0.0;
    for j in 0..m.cols() {
        let mut column: Vec<f64> = (0..m.rows()).map(|i| m.get(i, j)).collect();
        linalg::solve_lower(lower, &mut column);
        trace += column.iter().map(|x| x * x).sum::<f64>();
    }
    trace
}

/// The Cholesky factor of an outcome, if it is one of this size.
pub(crate) fn factor_of_outcome(x: &Value, size: usize) -> Option<Matrix> {
    match x {
        Value::Matrix(x) if x.rows() == size => linalg::cholesky(x),
        _ => None,
    }
}

impl Distribution for Wishart {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (lower, dof) = parameters(args)?;
        let a = draw_factor(lower.rows(), dof, rng);
        let m = Matrix::from_fn(a.rows(), a.rows(), |i, j| {
            lower.row(i).iter().enumerate().map(|(k, l)| l * a.get(k, j)).sum()
        });
        Ok(Value::matrix(times_transpose(&m)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (lower, dof) = parameters(args)?;
        let size = lower.rows();
        let Some(x_lower) = factor_of_outcome(x, size) else {
            return Ok(f64::NEG_INFINITY);
        };
        let p = size as f64;
        Ok(0.5 * (dof - p - 1.0) * linalg::log_det_from_cholesky(&x_lower)
            - 0.5 * trace_of_ratio(&lower, &x_lower)
            - 0.5 * dof * (p * LN_2 + linalg::log_det_from_cholesky(&lower))
            - ln_gamma_multivariate(size, 0.5 * dof))
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
