//! How the prior of (β, ln σ) bends, by differences: a black box of any shape. Proposals alone are made of it; what they miss
//! is in the acceptance.

/// The log prior density of β and of the logarithms of scales.
pub type LogPrior<'a> = dyn FnMut(&[f64], &[f64]) -> f64 + 'a;

/// The second-order polynomial of the log prior in β at the reference, and its slopes in ln σ.
#[derive(Clone, Debug)]
pub struct Prior {
    pub gradient: Vec<f64>,
    /// The second derivatives, p x p.
    pub hessian: Vec<f64>,
    /// The derivatives in each ln σ that moves.
    pub slopes: Vec<f64>,
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
        log_prior: &mut LogPrior<'_>,
        shared: &[f64],
        log_scales: &[f64],
        is_free: impl Fn(usize) -> bool,
        scales: &[f64],
    ) -> Option<Prior> {
        let p = shared.len();
        let steps: Vec<f64> = (scales.iter().zip(shared))
            .map(|(s, x)| (SHARE * s).clamp(LEAST, MOST * (1.0 + x.abs())))
            .collect();
        let mut there = shared.to_vec();
        let here = log_prior(shared, log_scales);
        let mut at = |by: [(usize, f64); 2]| {
            by.iter().for_each(|(k, sign)| there[*k] += sign * steps[*k]);
            let log_p = log_prior(&there, log_scales);
            by.iter().for_each(|(k, _)| there[*k] = shared[*k]);
            log_p
        };
        let (mut gradient, mut hessian) = (vec![0.0; p], vec![0.0; p * p]);
        for j in 0..p {
            let up = at([(j, 1.0), (j, 0.0)]);
            let down = at([(j, -1.0), (j, 0.0)]);
            gradient[j] = (up - down) / (2.0 * steps[j]);
            hessian[j * p + j] = (up - 2.0 * here + down) / (steps[j] * steps[j]);
            for l in 0..j {
                let alike = at([(j, 1.0), (l, 1.0)]) + at([(j, -1.0), (l, -1.0)]);
                let apart = at([(j, 1.0), (l, -1.0)]) + at([(j, -1.0), (l, 1.0)]);
                let bend = (alike - apart) / (4.0 * steps[j] * steps[l]);
                (hessian[j * p + l], hessian[l * p + j]) = (bend, bend);
            }
        }
        let mut slopes = vec![0.0; log_scales.len()];
        for (k, slope) in slopes.iter_mut().enumerate().filter(|(k, _)| is_free(*k)) {
            let mut there = log_scales.to_vec();
            let mut at = |by: f64| {
                there[k] = log_scales[k] + by;
                log_prior(shared, &there)
            };
            *slope = (at(SCALE_STEP) - at(-SCALE_STEP)) / (2.0 * SCALE_STEP);
        }
        let is_finite = here.is_finite()
            && gradient.iter().chain(&hessian).chain(&slopes).all(|x| x.is_finite());
        is_finite.then_some(Prior { gradient, hessian, slopes })
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
    pub fn variance(&self, scale: usize, squares: f64, effects: usize) -> f64 {
        squares / self.freedom(scale, effects)
    }

    /// G less the slope of the prior in ln σ: twice the shape of the conjugate law of σ^{−2}.
    pub fn freedom(&self, scale: usize, effects: usize) -> f64 {
        let g = effects as f64;
        (g - self.slopes[scale]).clamp(0.25 * g, 4.0 * g + 4.0)
    }
}
