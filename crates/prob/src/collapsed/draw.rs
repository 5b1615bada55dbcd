//! Random variates of the laws behind the makers, safe for parameters of any size.

use rand_distr::{Distribution as _, Gamma, Poisson, StandardNormal};
use smidgen_value::{Rng, math};

pub fn standard_normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A normal variate, never infinite.
pub fn normal(mean: f64, sd: f64, rng: &mut Rng) -> f64 {
    (mean + sd * standard_normal(rng)).clamp(-f64::MAX, f64::MAX)
}

/// The logarithm of a gamma variate of rate 1. For a shape far below 1 the variate itself
/// underflows; its logarithm does not: G(a) = G(a + 1) U^(1/a).
pub fn log_gamma_variate(shape: f64, rng: &mut Rng) -> f64 {
    let gamma = |shape: f64, rng: &mut Rng| {
        Gamma::new(shape, 1.0).expect("a shape is positive and finite").sample(rng)
    };
    if shape >= 1.0 {
        math::ln(gamma(shape, rng))
    } else {
        math::ln(gamma(shape + 1.0, rng)) + rng.log_uniform() / shape
    }
}

/// A gamma variate of rate 1, never 0 and never infinite.
pub fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    math::exp(log_gamma_variate(shape, rng)).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// A beta variate, never 0 and never 1: the density may be infinite there.
pub fn beta(a: f64, b: f64, rng: &mut Rng) -> f64 {
    let (log_a, log_b) = (log_gamma_variate(a, rng), log_gamma_variate(b, rng));
    math::logistic(log_a - log_b).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0)
}

/// Dirichlet weights, none of them 0.
pub fn dirichlet(alphas: impl Iterator<Item = f64>, rng: &mut Rng) -> Vec<f64> {
    let mut weights: Vec<f64> = alphas.map(|alpha| log_gamma_variate(alpha, rng)).collect();
    let total = math::logsumexp(&weights);
    for weight in &mut weights {
        *weight = math::exp(*weight - total).max(f64::MIN_POSITIVE);
    }
    weights
}

pub fn poisson(rate: f64, rng: &mut Rng) -> f64 {
    match Poisson::new(rate) {
        Ok(law) => law.sample(rng),
        // Beyond 2^64 a whole number cannot be told from its neighbours.
        Err(_) => rate.floor(),
    }
}
