//! Mixed regressions written by hand.

use smidgen_prob::collapsed::draw::standard_normal;
use smidgen_value::{Rng, math};

use crate::patches::{Patched, Predicted, Predictors, Rows};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// bernoulli(logistic(η))
    Coin,
    /// poisson(e^η)
    Count,
    /// normal(η, 1)
    Normal,
}

/// sup |f^(k)| of the log-sigmoid, k = 3, ..., 7, rounded up.
pub const MOST: [f64; 5] = [0.096_226, 0.125_001, 0.127_685, 0.250_001, 0.408_329];

/// f and its derivatives up to order 7.
pub fn derivatives(outcome: Outcome, y: f64, eta: f64) -> [f64; 8] {
    match outcome {
        Outcome::Coin => {
            let p = math::logistic(eta);
            let w = p * (1.0 - p);
            let d = 1.0 - 2.0 * p;
            [
                log_weight(outcome, y, eta),
                y - p,
                -w,
                -w * d,
                -w * (1.0 - 6.0 * w),
                -w * d * (1.0 - 12.0 * w),
                -w * (1.0 - 30.0 * w + 120.0 * w * w),
                -w * d * (1.0 - 60.0 * w + 360.0 * w * w),
            ]
        }
        Outcome::Count => {
            let mean = math::exp(eta);
            let [mut f, _] = [[-mean; 8], [0.0; 8]];
            (f[0], f[1]) = (y * eta - mean, y - mean);
            f
        }
        Outcome::Normal => {
            let mut f = [0.0; 8];
            (f[0], f[1], f[2]) = (-0.5 * (y - eta) * (y - eta), y - eta, -1.0);
            f
        }
    }
}

pub fn log_weight(outcome: Outcome, y: f64, eta: f64) -> f64 {
    match outcome {
        Outcome::Coin => y * eta - math::ln_1p_exp(eta),
        Outcome::Count => y * eta - math::exp(eta),
        Outcome::Normal => -0.5 * (y - eta) * (y - eta),
    }
}

/// A bound of a derivative over an interval.
pub fn most(outcome: Outcome, y: f64, eta: f64, radius: f64, order: usize) -> f64 {
    match outcome {
        Outcome::Coin => {
            let f = derivatives(outcome, y, eta)[order].abs();
            let next = MOST.get(order - 2).map_or(f64::INFINITY, |next| f + radius * next);
            MOST[order - 3].min(next)
        }
        Outcome::Count => math::exp(eta + radius),
        Outcome::Normal => 0.0,
    }
}

/// b_g ~ normal(β_0, σ), β ~ normal(0, 5) each, σ ~ half-normal(0, 2); β_0 is the first coordinate and no row reads it.
#[derive(Clone, Debug)]
pub struct Mixed {
    pub outcome: Outcome,
    /// The first row of each patch, and the number of rows.
    pub starts: Vec<usize>,
    /// x of the other coordinates, row by row.
    pub x: Vec<[f64; 2]>,
    pub y: Vec<f64>,
    /// What the bounds are multiplied by.
    pub share: f64,
    /// A Laplace prior of β in the place of the normal one.
    pub is_sharp: bool,
    /// Whether the effects have coefficients other than 1.
    pub has_slopes: bool,
}

pub struct Plan {
    pub outcome: Outcome,
    pub rows: usize,
    pub groups: usize,
    /// Sizes fall as 1/rank.
    pub is_uneven: bool,
    pub intercept: f64,
    pub seed: u64,
}

impl Plan {
    pub fn make(self) -> Mixed {
        let mut rng = Rng::from_seed(self.seed);
        let weights: Vec<f64> =
            (1..=self.groups).map(|g| if self.is_uneven { 1.0 / g as f64 } else { 1.0 }).collect();
        let total: f64 = weights.iter().sum();
        let (mut starts, mut sum) = (vec![0], 0.0);
        for weight in weights {
            sum += weight;
            let end = (sum / total * self.rows as f64).round() as usize;
            starts.push(end.max(starts[starts.len() - 1] + 1));
        }
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for pair in starts.windows(2) {
            let effect = self.intercept + 0.7 * standard_normal(&mut rng);
            let mean = 0.5 * standard_normal(&mut rng);
            for _ in pair[0]..pair[1] {
                let row = [standard_normal(&mut rng) + mean, standard_normal(&mut rng)];
                let eta = effect + 0.5 * row[0] - 0.3 / 1.3 * row[1];
                y.push(draw(self.outcome, eta, &mut rng));
                x.push(row);
            }
        }
        Mixed {
            outcome: self.outcome,
            starts,
            x,
            y,
            share: 1.0,
            is_sharp: false,
            has_slopes: false,
        }
    }
}

fn draw(outcome: Outcome, eta: f64, rng: &mut Rng) -> f64 {
    match outcome {
        Outcome::Coin => f64::from(u8::from(rng.uniform() < math::logistic(eta))),
        Outcome::Normal => eta + standard_normal(rng),
        Outcome::Count => {
            let (mut count, mut left) = (0.0, math::exp(eta) + rng.log_uniform());
            while left > 0.0 {
                count += 1.0;
                left += rng.log_uniform();
            }
            count
        }
    }
}

/// The rows' numbers.
fn each(rows: Rows) -> impl Iterator<Item = usize> {
    (0..rows.count).map(move |i| rows.first + i * rows.step)
}

impl Mixed {
    /// u_i
    pub fn lever(&self, row: usize) -> f64 {
        if self.has_slopes { 0.4 + 0.3 * (row % 5) as f64 } else { 1.0 }
    }
}

impl Predicted for Mixed {
    fn shared(&self) -> usize {
        3
    }

    fn coefficients(&mut self, rows: Rows, out: &mut [f64]) {
        let n = rows.count;
        out.fill(0.0);
        for (i, row) in each(rows).enumerate() {
            out[n + i] = self.x[row][0];
            out[2 * n + i] = self.x[row][1];
            out[3 * n + i] = self.lever(row);
        }
    }

    fn log_weight(&mut self, rows: Rows, [eta, _]: Predictors<'_>) -> f64 {
        each(rows).zip(eta).map(|(row, eta)| log_weight(self.outcome, self.y[row], *eta)).sum()
    }

    fn derivatives(&mut self, rows: Rows, [eta, _]: Predictors<'_>, out: &mut [f64]) {
        for (i, (row, eta)) in each(rows).zip(eta).enumerate() {
            let f = derivatives(self.outcome, self.y[row], *eta);
            for (f, out) in f.into_iter().zip(out[i..].iter_mut().step_by(rows.count)) {
                *out = f;
            }
        }
    }

    fn most(&mut self, rows: Rows, eta: &[f64], radius: f64, order: usize, out: &mut [f64]) {
        for ((row, eta), out) in each(rows).zip(eta).zip(out) {
            *out = self.share * most(self.outcome, self.y[row], *eta, radius, order);
        }
    }
}

impl Patched for Mixed {
    fn groups(&self) -> usize {
        self.starts.len() - 1
    }

    fn patch(&self, group: usize) -> Rows {
        let (first, end) = (self.starts[group], self.starts[group + 1]);
        Rows { first, step: 1, count: end - first }
    }

    fn location(&self, _: usize, out: &mut [f64]) -> f64 {
        out.copy_from_slice(&[1.0, 0.0, 0.0]);
        0.0
    }

    fn is_scale_free(&self) -> bool {
        true
    }

    fn log_prior(&mut self, shared: &[f64], log_scale: f64) -> f64 {
        let scale = math::exp(log_scale);
        let of_scale = log_scale - scale * scale / 8.0;
        let of_shared: f64 = match self.is_sharp {
            true => shared.iter().map(|b| -2.0 * b.abs()).sum(),
            false => shared.iter().map(|b| -b * b / 50.0).sum(),
        };
        of_scale + of_shared
    }
}
