//! f(x) = exp(-|r|^2 / 2) / prod (L_ii sqrt(2 pi)) with L r = x - m: the normal law of vectors with
//! mean m and covariance L L', by the Cholesky factor L. Cost: one solve with L.

use std::borrow::Cow;

use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::multivariate_normal::{drawn, finite_vector, in_support, log_density_and_residual};
use super::outcome;
use crate::arguments;
use crate::linalg;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct MultivariateNormalCholesky;

static SPEC: Spec = Spec {
    name: "multivariate_normal_cholesky",
    aliases: &[],
    parameters: "mean factor",
    arity: Arity::exactly(2),
    summary: "A normal vector with this mean vector and the covariance L L' of this lower triangular matrix L",
    example: "(multivariate_normal_cholesky (vector 0 0) (matrix (list (list 1 0) (list 0.5 2))))",
};

/// Lower triangular, finite, with a positive diagonal.
pub(crate) fn is_factor(m: &Matrix) -> bool {
    let n = m.rows();
    let valid = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => m.get(i, j) == 0.0,
        std::cmp::Ordering::Equal => arguments::is_positive(m.get(i, i)),
        std::cmp::Ordering::Greater => m.get(i, j).is_finite(),
    };
    n > 0 && n == m.cols() && (0..n).all(|i| (0..n).all(|j| valid(i, j)))
}

/// The square matrix with these entries, if it is such a factor.
pub(crate) fn factor_of_entries(entries: &[f64]) -> Option<Matrix> {
    let size = entries.len().isqrt();
    if size * size != entries.len() {
        return None;
    }
    Some(Matrix::new(size, size, entries.to_vec())).filter(is_factor)
}

fn parameters<'a>(args: Args<'a>) -> Result<(Cow<'a, [f64]>, &'a Matrix), ArgumentError> {
    let mean = finite_vector(args, 0)?;
    let factor = arguments::matrix(args, 1)?;
    if factor.rows() != mean.len() || factor.cols() != mean.len() {
        return Err(ArgumentError::other(format!(
            "the dimensions differ: a mean of {} numbers, a factor of {} x {}",
            mean.len(),
            factor.rows(),
            factor.cols()
        )));
    }
    if !is_factor(factor) {
        let expected = "a lower triangular matrix with a positive diagonal";
        return Err(ArgumentError::domain(1, expected, args[1]));
    }
    Ok((mean, factor))
}

/// With L' u = r, the derivatives are -u, u and u_i r_j - [i = j] / L_ii for j not above i.
fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let mean = args[0];
    let Some(lower) = factor_of_entries(args[1]).filter(|lower| {
        lower.rows() == mean.len() && in_support(mean, mean.len()) && in_support(x, mean.len())
    }) else {
        return f64::NEG_INFINITY;
    };
    let (log_density, r) = log_density_and_residual(x, mean, &lower);
    let mut u = r.clone();
    linalg::solve_lower_transposed(&lower, &mut u);
    x_slope.iter_mut().zip(&u).for_each(|(slope, u)| *slope -= u);
    slopes[0].iter_mut().zip(&u).for_each(|(slope, u)| *slope += u);
    if !slopes[1].is_empty() {
        let n = mean.len();
        for i in 0..n {
            for j in 0..=i {
                slopes[1][i * n + j] += u[i] * r[j];
            }
            slopes[1][i * n + i] -= 1.0 / lower.get(i, i);
        }
    }
    log_density
}

impl Distribution for MultivariateNormalCholesky {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mean, lower) = parameters(args)?;
        Ok(drawn(&mean, lower, rng))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (mean, lower) = parameters(args)?;
        let Some(x) = outcome::reals(x).filter(|x| in_support(x, mean.len())) else {
            return Ok(f64::NEG_INFINITY);
        };
        Ok(log_density_and_residual(x, &mean, lower).0)
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (mean, _) = parameters(args)?;
        Ok(Support::Vectors { len: mean.len() })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }
}
