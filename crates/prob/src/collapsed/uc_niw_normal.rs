//! Vectors of unknown mean and covariance, both drawn: the latent array (mu, Sigma) has
//! Sigma ~ inv_wishart(S0, v0) and mu ~ multivariate normal with mean m0 and covariance Sigma / k0; the
//! applications are independent given it. [`super::niw_normal`] integrates it out.
//!
//! After n vectors of average x and scatter C about it,
//!
//! * log p(x_1..x_n) = -(n/2) (d log 2 pi + log|Sigma|)
//!   - (trace(Sigma^-1 C) + n (x - mu)' Sigma^-1 (x - mu)) / 2.

use std::cell::RefCell;

use smidgen_value::math::{self, HALF_LN_2PI, LN_2};
use smidgen_value::{ArgumentError, Matrix, Rng, Value, Vector};

use super::counted::{Law, Made, admit_vector, counted};
use super::draw;
use super::niw_normal::{
    Prior, Sums, as_point, check, combine, same, square_norm, standard_normals,
};
use crate::linalg::{cholesky, log_det_from_cholesky, solve_lower};
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

/// Mean and covariance of a latent value, if it is one.
fn parts(latent: &Value) -> Option<(&Vector, &Matrix)> {
    match latent {
        Value::Array(items) => match items.as_slice() {
            [Value::Vector(mean), Value::Matrix(covariance)] => Some((mean, covariance)),
            _ => None,
        },
        _ => None,
    }
}

/// A latent value with the factor of its covariance.
#[derive(Clone)]
struct Known {
    latent: Value,
    mean: Vec<f64>,
    factor: Matrix,
    log_det: f64,
    scratch: Vec<f64>,
}

impl Known {
    fn read(params: Args<'_>) -> Result<Known, ArgumentError> {
        let (mean, covariance) = parts(params[0]).ok_or_else(|| {
            ArgumentError::wrong_type(0, "an array of a mean and a covariance", params[0])
        })?;
        if covariance.rows() != mean.len() || !mean.iter().all(|x| x.is_finite()) {
            let expected = "a mean and a covariance of the same dimension";
            return Err(ArgumentError::domain(0, expected, params[0]));
        }
        let factor = cholesky(covariance).ok_or_else(|| {
            ArgumentError::domain(0, "a mean and a positive definite covariance", params[0])
        })?;
        let log_det = log_det_from_cholesky(&factor);
        let scratch = vec![0.0; mean.len()];
        Ok(Known { latent: params[0].clone(), mean: mean.to_vec(), factor, log_det, scratch })
    }

    fn dimension(&self) -> usize {
        self.mean.len()
    }

    fn constant(&self) -> f64 {
        -(self.dimension() as f64) * HALF_LN_2PI - 0.5 * self.log_det
    }
}

#[derive(Clone, Default)]
struct IndependentVectors {
    ready: RefCell<Option<Known>>,
}

impl IndependentVectors {
    fn with<R>(
        &self,
        params: Args<'_>,
        use_it: impl FnOnce(&mut Known) -> R,
    ) -> Result<R, ArgumentError> {
        let mut ready = self.ready.borrow_mut();
        if !ready.as_ref().is_some_and(|known| same(&known.latent, params[0])) {
            *ready = None;
            *ready = Some(Known::read(params)?);
        }
        Ok(use_it(ready.as_mut().expect("it was just made")))
    }
}

impl Law<Sums> for IndependentVectors {
    fn sample(&self, _: &Sums, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        self.with(params, |known| {
            let z = standard_normals(known.dimension(), rng);
            Value::vector(combine(&known.mean, &known.factor, &z, 1.0))
        })
    }

    fn log_predictive(&self, x: &Value, _: &Sums, params: Args<'_>) -> Result<f64, ArgumentError> {
        self.with(params, |known| {
            let Some(x) = as_point(x, known.dimension()) else { return f64::NEG_INFINITY };
            for ((y, x), mean) in known.scratch.iter_mut().zip(x).zip(&known.mean) {
                *y = x - mean;
            }
            solve_lower(&known.factor, &mut known.scratch);
            known.constant() - 0.5 * square_norm(&known.scratch)
        })
    }

    fn log_marginal(&self, seen: &Sums, params: Args<'_>) -> Result<f64, ArgumentError> {
        self.with(params, |known| {
            let d = known.dimension();
            if seen.outside > 0 || (seen.n > 0 && seen.dimension() != d) {
                return f64::NEG_INFINITY;
            }
            if seen.n == 0 {
                return 0.0;
            }
            let n = seen.n as f64;
            // The trace of L^-1 C L'^-1, by two triangular solves, and the part of the mean.
            let mut half: Vec<Vec<f64>> = (0..d)
                .map(|j| (0..d).map(|i| seen.scatter(i.max(j), i.min(j))).collect())
                .collect();
            half.iter_mut().for_each(|column| solve_lower(&known.factor, column));
            let mut trace = 0.0;
            for i in 0..d {
                let mut row: Vec<f64> = half.iter().map(|column| column[i]).collect();
                solve_lower(&known.factor, &mut row);
                trace += row[i];
            }
            let mut offset = seen.mean_from(&known.mean);
            solve_lower(&known.factor, &mut offset);
            n * known.constant() - 0.5 * (trace + n * square_norm(&offset))
        })
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        self.with(params, |known| Support::Vectors { len: known.dimension() })
    }
}

/// (mu, Sigma)
struct MeanAndCovariance;

impl Distribution for MeanAndCovariance {
    fn spec(&self) -> &'static Spec {
        MAKE_UC_NIW_NORMAL.spec
    }

    /// Sigma = M M' with M = L B'^-1, where S0 = L L' and B is the lower triangular factor of a
    /// standard Wishart matrix (chi variates on its diagonal, normal ones below).
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let prior = Prior::read(args)?;
        let lower = prior.factor(args)?;
        let d = prior.dimension();
        let bartlett = Matrix::from_fn(d, d, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Greater => draw::standard_normal(rng),
            std::cmp::Ordering::Equal => {
                math::sqrt(2.0 * draw::gamma(0.5 * (prior.v - i as f64), rng))
            }
        });
        let rows: Vec<Vec<f64>> = (0..d)
            .map(|i| {
                let mut row = lower.row(i).to_vec();
                solve_lower(&bartlett, &mut row);
                row
            })
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let covariance = Matrix::from_fn(d, d, |i, j| dot(&rows[i], &rows[j]));
        let z = standard_normals(d, rng);
        let mean: Vec<f64> =
            (0..d).map(|i| prior.mean[i] + dot(&rows[i], &z) / math::sqrt(prior.k)).collect();
        Ok(Value::array(vec![Value::vector(mean), Value::matrix(covariance)]))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let prior = Prior::read(args)?;
        let scale = prior.factor(args)?;
        let Some((mean, covariance)) = parts(x) else { return Ok(f64::NEG_INFINITY) };
        let d = prior.dimension();
        if mean.len() != d || covariance.rows() != d {
            return Ok(f64::NEG_INFINITY);
        }
        let Some(factor) = cholesky(covariance) else { return Ok(f64::NEG_INFINITY) };
        let (log_det, real_d) = (log_det_from_cholesky(&factor), d as f64);
        // The trace of S0 Sigma^-1 is the squared size of F^-1 L, F F' = Sigma.
        let trace: f64 = (0..d)
            .map(|j| {
                let mut column: Vec<f64> = (0..d).map(|i| scale.get(i, j)).collect();
                solve_lower(&factor, &mut column);
                square_norm(&column)
            })
            .sum();
        let of_covariance = 0.5 * prior.v * (log_det_from_cholesky(&scale) - log_det)
            - 0.5 * (real_d + 1.0) * log_det
            - 0.5 * prior.v * real_d * LN_2
            - math::ln_gamma_multivariate(d, 0.5 * prior.v)
            - 0.5 * trace;
        let mut offset: Vec<f64> = mean.iter().zip(prior.mean.iter()).map(|(a, b)| a - b).collect();
        solve_lower(&factor, &mut offset);
        let of_mean = real_d * (0.5 * math::ln(prior.k) - HALF_LN_2PI)
            - 0.5 * log_det
            - 0.5 * prior.k * square_norm(&offset);
        let total = of_covariance + of_mean;
        Ok(if total.is_nan() { f64::NEG_INFINITY } else { total })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Prior::read(args)?;
        Err(ArgumentError::other(
            "the mean and covariance of make_uc_niw_normal move together and cannot drift",
        ))
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        const WANTED: &str = "an array of a mean vector and a covariance matrix";
        let items = x.elements().ok_or(WANTED)?;
        match items.as_slice() {
            [mean, covariance @ Value::Matrix(_)] => {
                let mean = admit_vector(mean).map_err(|_| WANTED)?;
                Ok(Value::array(vec![mean, covariance.clone()]))
            }
            _ => Err(WANTED),
        }
    }
}

pub static MAKE_UC_NIW_NORMAL: Made = Made {
    spec: &Spec {
        name: "make_uc_niw_normal",
        aliases: &["make_uc_cmvn"],
        parameters: "m0 k0 v0 S0",
        arity: Arity::exactly(4),
        summary: "Multivariate normal draws whose covariance is drawn from inv_wishart(S0, v0) and mean from a normal of covariance 1/k0 times that",
        example: "((make_uc_niw_normal (vector 0 0) 1 4 (id_matrix 2)))",
    },
    check,
    empty: |params| {
        let dimension = Known::read(params)?.dimension();
        Ok(counted(Sums::new(dimension), IndependentVectors::default()))
    },
    latent: Some(&MeanAndCovariance),
};
