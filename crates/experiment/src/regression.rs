//! What is known about a logistic regression without sampling: the mode w* of its posterior by
//! Newton's method and, from the curvature there, standard deviations √((−H)⁻¹)_jj; what a
//! sequential test would make of a proposal (w, w'), from its log weights
//! l_i = log p(y_i | x_i, w') − log p(y_i | x_i, w); and means and standard deviations by quadrature.

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
    /// L with L Lᵀ = (−H)⁻¹
    lower: DMatrix<f64>,
}

/// Means and standard deviations of the weights.
#[derive(Clone, Debug)]
pub struct Moments {
    pub means: Vec<f64>,
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
    let lower = covariance.cholesky()?.unpack();
    Some(Mode { weights, sds, lower })
}

/// log p(y | η)
fn log_likelihood(eta: f64, y: f64) -> f64 {
    -math::ln_1p_exp(if y > 0.5 { -eta } else { eta })
}

/// Σ_j −w_j² / 2v
fn log_prior(weights: &[f64], variance: f64) -> f64 {
    -weights.iter().map(|w| w * w).sum::<f64>() / (2.0 * variance)
}

/// A rule of quadrature for a standard normal: nodes with their weights.
type Rule = &'static [(f64, f64)];

/// Gauss and Hermite's with five points, exact for powers up to 9.
const FIVE: Rule = &[
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_612_64),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_64),
    (2.856_970_013_872_806, 0.011_257_411_327_720_69),
    (-2.856_970_013_872_806, 0.011_257_411_327_720_69),
];
/// The same with seven, for powers up to 13.
const SEVEN: Rule = &[
    (0.0, 0.457_142_857_142_857_14),
    (1.154_405_394_739_968, 0.240_123_178_605_012_7),
    (-1.154_405_394_739_968, 0.240_123_178_605_012_7),
    (2.366_759_410_734_541, 0.030_757_123_967_586_497),
    (-2.366_759_410_734_541, 0.030_757_123_967_586_497),
    (3.750_439_717_725_742_4, 0.000_548_268_855_972_217_8),
    (-3.750_439_717_725_742_4, 0.000_548_268_855_972_217_8),
];
/// From so many rows on five points in each direction are as good as exact: the posterior is nearly normal.
const NEARLY_NORMAL: usize = 100_000;

/// Of the posterior, by quadrature around the mode: ∫ f(w) π(w) dw over products of a rule in the coordinates
/// z = L⁻¹(w − w*), in which the posterior is nearly standard normal. A pass over the data for each of 5^d or 7^d points.
pub fn moments(data: &Logistic, variance: f64, at: &Mode) -> Moments {
    let rule = if data.y.len() < NEARLY_NORMAL { SEVEN } else { FIVE };
    let size = at.weights.len();
    let points = rule.len().pow(size as u32);
    let mut best = f64::NEG_INFINITY;
    let mut terms: Vec<(f64, Vec<f64>)> = Vec::with_capacity(points);
    for point in 0..points {
        let digits = (0..size).map(|j| point / rule.len().pow(j as u32) % rule.len());
        let (z, factors): (Vec<f64>, Vec<f64>) = digits.map(|digit| rule[digit]).unzip();
        let z = DVector::from_vec(z);
        let w: Vec<f64> =
            (&at.lower * &z).iter().zip(&at.weights).map(|(step, w)| w + step).collect();
        let rows = data.x.chunks_exact(data.features).zip(&data.y);
        let log_density = log_prior(&w, variance)
            + rows.map(|(x, &y)| log_likelihood(linear(&w, x), y)).sum::<f64>();
        let log_weight = log_density
            + 0.5 * z.norm_squared()
            + factors.iter().map(|f| math::ln(*f)).sum::<f64>();
        best = best.max(log_weight);
        terms.push((log_weight, w));
    }
    let mean = |of: &dyn Fn(&[f64]) -> f64| {
        let [mut total, mut sum] = [0.0; 2];
        for (log_weight, w) in &terms {
            let weight = math::exp(log_weight - best);
            total += weight;
            sum += weight * of(w);
        }
        sum / total
    };
    let means: Vec<f64> = (0..size).map(|j| mean(&|w| w[j])).collect();
    let sds = (0..size).map(|j| math::sqrt(mean(&|w| (w[j] - means[j]) * (w[j] - means[j]))));
    Moments { sds: sds.collect(), means }
}

/// Sections that the test is expected to read for the proposal from `old` to `new`.
pub fn expected_sections(
    data: &Logistic,
    variance: f64,
    table: &ErrorTable,
    [old, new]: [&[f64]; 2],
) -> f64 {
    let mut all = Accumulator::default();
    for (x, &y) in data.x.chunks_exact(data.features).zip(&data.y) {
        all.push(log_likelihood(linear(new, x), y) - log_likelihood(linear(old, x), y));
    }
    let prior = log_prior(new, variance) - log_prior(old, variance);
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
        let Mode { weights, sds, .. } = mode(&data, 0.1).expect("a proper prior");
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

    #[test]
    fn rules_know_the_moments_of_a_normal() {
        for (rule, known) in [(FIVE, 9), (SEVEN, 13)] {
            let mut moment = 1.0;
            for power in (0..=known).step_by(2) {
                let sum: f64 = rule.iter().map(|(z, f)| f * z.powi(power)).sum();
                assert!((sum / moment - 1.0).abs() < 1e-12, "{power}: {sum}");
                moment *= f64::from(power + 1);
            }
        }
    }

    #[test]
    fn quadrature_finds_what_a_grid_finds() {
        let data = Logistic::new(1, 60, 3);
        let at = mode(&data, 0.1).expect("a proper prior");
        let Moments { means, sds } = moments(&data, 0.1, &at);
        let mut sums = [0.0; 3];
        let steps = 160;
        for k in 0..(steps + 1) * (steps + 1) {
            let place = |k: usize, j: usize| {
                at.weights[j] + at.sds[j] * (12.0 * k as f64 / steps as f64 - 6.0)
            };
            let w = [place(k % (steps + 1), 0), place(k / (steps + 1), 1)];
            let rows = data.x.iter().zip(&data.y);
            let log_density = log_prior(&w, 0.1)
                + rows.map(|(x, &y)| log_likelihood(w[0] + w[1] * x, y)).sum::<f64>();
            let weight = math::exp(log_density + 40.0);
            let by = [1.0, w[1], w[1] * w[1]];
            sums.iter_mut().zip(by).for_each(|(sum, by)| *sum += weight * by);
        }
        let mean = sums[1] / sums[0];
        let sd = math::sqrt(sums[2] / sums[0] - mean * mean);
        assert!((means[1] - mean).abs() < 1e-4 * sd, "{} {mean}", means[1]);
        assert!((sds[1] / sd - 1.0).abs() < 1e-4, "{} {sd}", sds[1]);
        // The mode would not do.
        assert!((at.weights[1] - mean).abs() > 1e-3 * sd);
    }
}
