//! f(x) = exp(-(x - m)' S^-1 (x - m) / 2) / sqrt(|2 pi S|), for mean m and covariance S. Cost:
//! one Cholesky factor of S.

use std::borrow::Cow;

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::HALF_LN_2PI;
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::linalg;
use crate::procedure::{Args, Arity, Distribution, Spec};
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
pub(crate) fn factor(args: Args<'_>, i: usize) -> Result<Matrix, ArgumentError> {
    let matrix = arguments::matrix(args, i)?;
    linalg::cholesky(matrix)
        .filter(|lower| lower.rows() > 0)
        .ok_or_else(|| ArgumentError::domain(i, "a symmetric positive definite matrix", args[i]))
}

/// The mean, and the Cholesky factor of the covariance.
fn parameters<'a>(args: Args<'a>) -> Result<(Cow<'a, [f64]>, Matrix), ArgumentError> {
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

impl Distribution for MultivariateNormal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mean, lower) = parameters(args)?;
        let z: Vec<f64> = mean.iter().map(|_| StandardNormal.sample(rng)).collect();
        let dot = |i: usize| lower.row(i).iter().zip(&z).map(|(l, z)| l * z).sum::<f64>();
        let x = mean.iter().enumerate().map(|(i, m)| outcome::finite(m + dot(i)));
        Ok(Value::vector(x.collect::<Vec<_>>()))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (mean, lower) = parameters(args)?;
        let Some(x) = outcome::reals(x).filter(|x| in_support(x, mean.len())) else {
            return Ok(f64::NEG_INFINITY);
        };
        let mut residual: Vec<f64> = x.iter().zip(mean.iter()).map(|(x, m)| x - m).collect();
        linalg::solve_lower(&lower, &mut residual);
        let square: f64 = residual.iter().map(|r| r * r).sum();
        let log_norm =
            0.5 * linalg::log_det_from_cholesky(&lower) + mean.len() as f64 * HALF_LN_2PI;
        Ok(-0.5 * square - log_norm)
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
