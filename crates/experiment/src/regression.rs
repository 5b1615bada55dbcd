//! What is known about a logistic regression without sampling: the mode w* of its posterior by
//! Newton's method and, from the curvature there, standard deviations √((−H)⁻¹)_jj; and what a
//! sequential test would make of a proposal (w, w'), from its log weights
//! l_i = log p(y_i | x_i, w') − log p(y_i | x_i, w).

use nalgebra::{DMatrix, DVector};
use smidgen::infer::austerity::{Accumulator, ErrorTable, Pair, pair_outcome};
use smidgen::value::math;

use crate::synthetic::Logistic;

/// Steps of Newton's method: it doubles the digits in each.
const STEPS: usize = 12;

/// The mode of a posterior, with the standard deviations of its normal approximation.
#[derive(Clone, Debug)]
pub struct Mode {
    pub weights: Vec<f64>,
    pub sds: Vec<f64>,
}

/// w_0 + Σ_j w_j x_j.
pub fn linear(weights: &[f64], x: &[f64]) -> f64 {
    weights[0] + weights[1..].iter().zip(x).map(|(w, x)| w * x).sum::<f64>()
}

/// Of the regression with weights ~ N(0, `variance`), the bias first. None if there is no
/// curvature, which the prior excludes unless numbers overflow.
pub fn mode(data: &Logistic, variance: f64) -> Option<Mode> {
    let size = data.features + 1;
    let mut weights = vec![0.0; size];
    let mut covariance = DMatrix::zeros(size, size);
    for _ in 0..STEPS {
        let mut gradient: Vec<f64> = weights.iter().map(|w| -w / variance).collect();
        let mut curvature = vec![0.0; size * size];
        let mut row = vec![1.0; size];
        for (x, y) in data.x.chunks_exact(data.features).zip(&data.y) {
            row[1..].copy_from_slice(x);
            let p = math::logistic(linear(&weights, x));
            for j in 0..size {
                gradient[j] += (y - p) * row[j];
                let scaled = p * (1.0 - p) * row[j];
                for k in 0..=j {
                    curvature[j * size + k] += scaled * row[k];
                }
            }
        }
        let full = DMatrix::from_fn(size, size, |j, k| {
            let prior = if j == k { 1.0 / variance } else { 0.0 };
            prior + curvature[j.max(k) * size + j.min(k)]
        });
        let factor = full.cholesky()?;
        let step = factor.solve(&DVector::from_vec(gradient));
        weights.iter_mut().zip(step.iter()).for_each(|(w, step)| *w += step);
        covariance = factor.inverse();
        if step.iter().all(|step| step.abs() < 1e-10) {
            break;
        }
    }
    let sds = (0..size).map(|j| math::sqrt(covariance[(j, j)])).collect();
    Some(Mode { weights, sds })
}

/// Sections that the test is expected to read for the proposal from `old` to `new`.
pub fn expected_sections(
    data: &Logistic,
    variance: f64,
    table: &ErrorTable,
    [old, new]: [&[f64]; 2],
) -> f64 {
    let log_density =
        |eta: f64, y: f64| if y > 0.5 { -math::ln_1p_exp(-eta) } else { -math::ln_1p_exp(eta) };
    let mut all = Accumulator::default();
    for (x, &y) in data.x.chunks_exact(data.features).zip(&data.y) {
        all.push(log_density(linear(new, x), y) - log_density(linear(old, x), y));
    }
    let square = |w: &[f64]| w.iter().map(|w| w * w).sum::<f64>();
    let prior = (square(old) - square(new)) / (2.0 * variance);
    let population = data.y.len();
    let n = population as f64;
    let pair =
        Pair { log_alpha: prior + n * all.mean, sigma_l: math::sqrt(all.m2 / n), population };
    n * pair_outcome(table, &pair).usage
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen::infer::austerity::Schedule;

    #[test]
    fn the_gradient_vanishes_at_the_mode() {
        let data = Logistic::new(2, 500, 3);
        let Mode { weights, sds } = mode(&data, 0.1).expect("a proper prior");
        for j in 0..3 {
            let slope = |x: &[f64], y: f64| {
                let feature = if j == 0 { 1.0 } else { x[j - 1] };
                (y - math::logistic(linear(&weights, x))) * feature
            };
            let rows = data.x.chunks_exact(2).zip(&data.y);
            let total: f64 = rows.map(|(x, &y)| slope(x, y)).sum();
            assert!((total - weights[j] / 0.1).abs() < 1e-8, "{j}");
            assert!(sds[j] > 0.05 && sds[j] < 0.2, "{sds:?}");
        }
    }

    #[test]
    fn a_far_proposal_needs_one_batch_and_a_near_one_everything() {
        let data = Logistic::new(2, 2000, 3);
        let at = mode(&data, 0.1).expect("a proper prior").weights;
        let table = ErrorTable::new(2000, &Schedule::new(100, 1.0), 0.01);
        let read = |step: f64| {
            let to: Vec<f64> = at.iter().map(|w| w + step).collect();
            expected_sections(&data, 0.1, &table, [&at, &to])
        };
        assert!((read(3.0) - 100.0).abs() < 1.0, "{}", read(3.0));
        assert!(read(0.03) > 1000.0, "{}", read(0.03));
        assert!(read(0.3) < read(0.1));
    }
}
