//! f(X) = |X|^((dof - p - 1)/2) exp(-tr(V^-1 X)/2) / (2^(dof p/2) |V|^(dof/2) Gamma_p(dof/2)) for
//! symmetric positive definite X of size p; mean dof V.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{LN_2, digamma, ln_gamma_multivariate};
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::multivariate_normal::{factor, factor_of_entries};
use super::{gamma, outcome};
use crate::arguments;
use crate::linalg;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
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
pub(crate) fn parameters<'a>(args: Args<'a>) -> Result<(&'a Matrix, f64), ArgumentError> {
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

fn log_density(x_lower: &Matrix, lower: &Matrix, dof: f64) -> f64 {
    let size = lower.rows();
    let p = size as f64;
    0.5 * (dof - p - 1.0) * linalg::log_det_from_cholesky(x_lower)
        - 0.5 * trace_of_ratio(lower, x_lower)
        - 0.5 * dof * (p * LN_2 + linalg::log_det_from_cholesky(lower))
        - ln_gamma_multivariate(size, 0.5 * dof)
}

/// What the entries of a scale matrix and of an outcome amount to.
pub(crate) struct Factors {
    pub lower: Matrix,
    pub x_lower: Matrix,
    pub dof: f64,
}

impl Factors {
    /// None outside the support or the parameters' domain.
    pub fn read(x: &[f64], args: &[&[f64]]) -> Option<Factors> {
        let (lower, dof) = (factor_of_entries(args[0])?, args[1][0]);
        let x_lower = factor_of_entries(x)?;
        let valid = x.len() == args[0].len() && dof > lower.rows() as f64 - 1.0;
        (valid && dof.is_finite()).then_some(Factors { lower, x_lower, dof })
    }
}

/// slope += c m
pub(crate) fn add_scaled(slope: &mut [f64], c: f64, m: &Matrix) {
    for (slope, entry) in slope.iter_mut().zip(m.as_slice()) {
        *slope += c * entry;
    }
}

/// A^-1 B A^-1 for A = L L' and B = M M': with W = A^-1 M it is W W'.
pub(crate) fn sandwich(lower: &Matrix, m: &Matrix) -> Matrix {
    times_transpose(&linalg::solve_cholesky_matrix(lower, m))
}

/// (log |X| - log |2 V| - the sum over j of psi((dof - j) / 2)) / 2
pub(crate) fn by_dof(x_lower: &Matrix, lower: &Matrix, dof: f64) -> f64 {
    let size = lower.rows();
    let each: f64 = (0..size).map(|j| digamma(0.5 * (dof - j as f64))).sum();
    let log_ratio = linalg::log_det_from_cholesky(x_lower) - linalg::log_det_from_cholesky(lower);
    0.5 * (log_ratio - size as f64 * LN_2 - each)
}

/// The derivatives are ((dof - p - 1) X^-1 - V^-1) / 2, (V^-1 X V^-1 - dof V^-1) / 2 and
/// (log |X| - log |2 V| - the sum over j of psi((dof - j) / 2)) / 2.
fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let Some(Factors { lower, x_lower, dof }) = Factors::read(x, args) else {
        return f64::NEG_INFINITY;
    };
    let p = lower.rows() as f64;
    if !x_slope.is_empty() {
        add_scaled(x_slope, 0.5 * (dof - p - 1.0), &linalg::inverse_from_cholesky(&x_lower));
        add_scaled(x_slope, -0.5, &linalg::inverse_from_cholesky(&lower));
    }
    if !slopes[0].is_empty() {
        add_scaled(slopes[0], 0.5, &sandwich(&lower, &x_lower));
        add_scaled(slopes[0], -0.5 * dof, &linalg::inverse_from_cholesky(&lower));
    }
    if let Some(slope) = slopes[1].first_mut() {
        *slope += by_dof(&x_lower, &lower, dof);
    }
    log_density(&x_lower, &lower, dof)
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
        let drawn = times_transpose(&m);
        if !drawn.as_slice().iter().all(|x| x.is_finite()) {
            let expected = "a scale matrix whose draws are finite numbers";
            return Err(ArgumentError::domain(0, expected, args[0]));
        }
        Ok(Value::matrix(drawn))
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
