//! How the prior of (β, ln σ) bends, by differences: a black box of any shape. Proposals alone are made of it; what they miss
//! is in the acceptance.

use super::Patched;

/// The second-order polynomial of the log prior in β at the reference, and its slope in ln σ.
#[derive(Clone, Debug)]
pub struct Prior {
    pub gradient: Vec<f64>,
    /// The second derivatives, p x p.
    pub hessian: Vec<f64>,
    /// The derivative in ln σ.
    pub slope: f64,
}

/// By how much a coordinate is moved: this share of its scale, within limits.
const SHARE: f64 = 0.3;
const LEAST: f64 = 1e-6;
const MOST: f64 = 0.5;
/// How far ln σ is moved.
const SCALE_STEP: f64 = 0.05;

impl Prior {
    /// At a point, where each coordinate of β has a scale. None where the prior is not finite around it.
    pub fn new(
        model: &mut dyn Patched,
        shared: &[f64],
        log_scale: f64,
        scales: &[f64],
    ) -> Option<Prior> {
        let p = shared.len();
        let steps: Vec<f64> = (scales.iter().zip(shared))
            .map(|(s, x)| (SHARE * s).clamp(LEAST, MOST * (1.0 + x.abs())))
            .collect();
        let mut there = shared.to_vec();
        let here = model.log_prior(shared, log_scale);
        let mut at = |model: &mut dyn Patched, by: [(usize, f64); 2]| {
            by.iter().for_each(|(k, sign)| there[*k] += sign * steps[*k]);
            let log_p = model.log_prior(&there, log_scale);
            by.iter().for_each(|(k, _)| there[*k] = shared[*k]);
            log_p
        };
        let (mut gradient, mut hessian) = (vec![0.0; p], vec![0.0; p * p]);
        for j in 0..p {
            let up = at(model, [(j, 1.0), (j, 0.0)]);
            let down = at(model, [(j, -1.0), (j, 0.0)]);
            gradient[j] = (up - down) / (2.0 * steps[j]);
            hessian[j * p + j] = (up - 2.0 * here + down) / (steps[j] * steps[j]);
            for l in 0..j {
                let alike = at(model, [(j, 1.0), (l, 1.0)]) + at(model, [(j, -1.0), (l, -1.0)]);
                let apart = at(model, [(j, 1.0), (l, -1.0)]) + at(model, [(j, -1.0), (l, 1.0)]);
                let bend = (alike - apart) / (4.0 * steps[j] * steps[l]);
                (hessian[j * p + l], hessian[l * p + j]) = (bend, bend);
            }
        }
        let slope = match model.is_scale_free() {
            true => {
                let up = model.log_prior(shared, log_scale + SCALE_STEP);
                (up - model.log_prior(shared, log_scale - SCALE_STEP)) / (2.0 * SCALE_STEP)
            }
            false => 0.0,
        };
        let is_finite = here.is_finite()
            && slope.is_finite()
            && gradient.iter().chain(&hessian).all(|x| x.is_finite());
        is_finite.then_some(Prior { gradient, hessian, slope })
    }

    /// The polynomial at a step from the reference, without its value there.
    pub fn polynomial(&self, step: &[f64]) -> f64 {
        let p = step.len();
        let mut total = 0.0;
        for (k, row) in self.hessian.chunks_exact(p.max(1)).enumerate() {
            let bend: f64 = row.iter().zip(step).map(|(h, x)| h * x).sum();
            total += step[k] * (self.gradient[k] + 0.5 * bend);
        }
        total
    }

    /// σ² that (sum of squares, number of effects) call for: the mode in ln σ, kept away from what a steep prior would ask.
    pub fn variance(&self, squares: f64, effects: usize) -> f64 {
        squares / self.freedom(effects)
    }

    /// G less the slope of the prior in ln σ: twice the shape of the conjugate law of σ^{−2}.
    pub fn freedom(&self, effects: usize) -> f64 {
        let g = effects as f64;
        (g - self.slope).clamp(0.25 * g, 4.0 * g + 4.0)
    }
}
