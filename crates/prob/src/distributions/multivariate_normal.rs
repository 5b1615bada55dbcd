//! f(x) = exp(-(x - m)' S^-1 (x - m) / 2) / sqrt(|2 pi S|), for mean m and covariance S. Cost:
//! one solve with the Cholesky factor of S, which is found once for each S.

use std::borrow::Cow;

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::HALF_LN_2PI;
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::linalg;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct MultivariateNormal;

static SPEC: Spec = Spec {
    name: "multivariate_normal",
    aliases: &[],
    parameters: "mean covariance",
    arity: Arity::exactly(2),
    summary: "A normal vector with this mean vector and covariance matrix",
    example: "(multivariate_normal (vector 0 0) (id_matrix 2))",
};

/// A vector of at least one number, all finite.
pub(crate) fn finite_vector<'a>(args: Args<'a>, i: usize) -> Result<Cow<'a, [f64]>, ArgumentError> {
    let xs = arguments::reals(args, i)?;
    if xs.is_empty() {
        return Err(ArgumentError::domain(i, "a vector of at least dimension 1", args[i]));
    }
    if xs.iter().all(|x| x.is_finite()) {
        Ok(xs)
    } else {
        Err(ArgumentError::domain(i, "a vector of finite numbers", args[i]))
    }
}

/// The Cholesky factor of a matrix that has to be symmetric and positive definite.
pub(crate) fn factor<'a>(args: Args<'a>, i: usize) -> Result<&'a Matrix, ArgumentError> {
    let matrix = arguments::matrix(args, i)?;
    matrix
        .factor(linalg::cholesky)
        .filter(|lower| lower.rows() > 0)
        .ok_or_else(|| ArgumentError::domain(i, "a symmetric positive definite matrix", args[i]))
}

/// The Cholesky factor of the matrix with these entries, if it has one.
pub(crate) fn factor_of_entries(entries: &[f64]) -> Option<Matrix> {
    let size = entries.len().isqrt();
    if size * size != entries.len() || size == 0 {
        return None;
    }
    linalg::cholesky(&Matrix::new(size, size, entries.to_vec()))
}

/// The mean, and the Cholesky factor of the covariance.
fn parameters<'a>(args: Args<'a>) -> Result<(Cow<'a, [f64]>, &'a Matrix), ArgumentError> {
    let mean = finite_vector(args, 0)?;
    let covariance = arguments::matrix(args, 1)?;
    if covariance.rows() != mean.len() || covariance.cols() != mean.len() {
        return Err(ArgumentError::other(format!(
            "the dimensions differ: a mean of {} numbers, a covariance of {} x {}",
            mean.len(),
            covariance.rows(),
            covariance.cols()
        )));
    }
    Ok((mean, factor(args, 1)?))
}

/// m + L z with standard normal z.
pub(crate) fn drawn(mean: &[f64], lower: &Matrix, rng: &mut Rng) -> Value {
    let z: Vec<f64> = mean.iter().map(|_| StandardNormal.sample(rng)).collect();
    let dot = |i: usize| lower.row(i).iter().zip(&z).map(|(l, z)| l * z).sum::<f64>();
    let x = mean.iter().enumerate().map(|(i, m)| outcome::finite(m + dot(i)));
    Value::vector(x.collect::<Vec<_>>())
}

/// The log density, and L^-1 (x - m), for the Cholesky factor L.
pub(crate) fn log_density_and_residual(x: &[f64], mean: &[f64], lower: &Matrix) -> (f64, Vec<f64>) {
    let mut residual: Vec<f64> = x.iter().zip(mean).map(|(x, m)| x - m).collect();
    linalg::solve_lower(lower, &mut residual);
    let square: f64 = residual.iter().map(|r| r * r).sum();
    let log_norm = 0.5 * linalg::log_det_from_cholesky(lower) + mean.len() as f64 * HALF_LN_2PI;
    (-0.5 * square - log_norm, residual)
}

/// With r = S^-1 (x - m), the derivatives are -r, r and (r r' - S^-1) / 2.
fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let mean = args[0];
    let Some(lower) = factor_of_entries(args[1]).filter(|lower| {
        lower.rows() == mean.len() && in_support(mean, mean.len()) && in_support(x, mean.len())
    }) else {
        return f64::NEG_INFINITY;
    };
    let (log_density, mut r) = log_density_and_residual(x, mean, &lower);
    linalg::solve_lower_transposed(&lower, &mut r);
    x_slope.iter_mut().zip(&r).for_each(|(slope, r)| *slope -= r);
    slopes[0].iter_mut().zip(&r).for_each(|(slope, r)| *slope += r);
    if !slopes[1].is_empty() {
        let inverse = linalg::inverse_from_cholesky(&lower);
        let outer = r.iter().flat_map(|a| r.iter().map(move |b| a * b));
        for (slope, (product, inverse)) in slopes[1].iter_mut().zip(outer.zip(inverse.as_slice())) {
            *slope += 0.5 * (product - inverse);
        }
    }
    log_density
}

impl Distribution for MultivariateNormal {
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

pub(crate) fn in_support(x: &[f64], len: usize) -> bool {
    x.len() == len && x.iter().all(|x| x.is_finite())
}
