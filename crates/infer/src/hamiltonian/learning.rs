//! What a kernel learns in the warm-up: a step size by dual averaging (theory 8.9) and a metric
//! from the draws of windows that double in length, the first few draws and the last aside.
//! Frozen afterwards.

use super::metric::Metric;
use crate::adaptation::{DualAveraging, Welford};
use smidgen_value::math;

/// Draws before the first window, and after the last, as shares of the warm-up.
const EARLY: f64 = 0.075;
const LATE: f64 = 0.1;
/// The first window.
const WINDOW: u64 = 25;
/// Up to this many coordinates their correlations are learnt too.
const DENSE: usize = 100;

pub struct Learning {
    metric: Metric,
    step: DualAveraging,
    spread: Spread,
    target: f64,
    /// Transitions seen.
    seen: u64,
    /// Of the warm-up, if known.
    planned: Option<u64>,
    /// The end of the window at hand, and its length.
    window_end: u64,
    window: u64,
    frozen: bool,
}

impl Learning {
    /// Starts from a step size that was searched for.
    pub fn new(metric: Metric, step: f64, target: f64, planned: Option<u64>) -> Learning {
        let size = metric.size();
        let early = planned.map_or(WINDOW, |n| (EARLY * n as f64) as u64);
        Learning {
            metric,
            step: DualAveraging::new(step, target),
            spread: Spread::new(size),
            target,
            seen: 0,
            planned,
            window_end: early + WINDOW,
            window: WINDOW,
            frozen: false,
        }
    }

    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    pub fn step(&self) -> f64 {
        if self.frozen { self.step.averaged() } else { self.step.step() }
    }

    /// Whether the metric is about to change: the caller then searches for a step anew, see
    /// [`Learning::restart`].
    pub fn learn(&mut self, z: &[f64], acceptance: f64) -> bool {
        if self.frozen {
            return false;
        }
        self.seen += 1;
        self.step.learn(acceptance);
        let begin = self.window_end - self.window;
        let end = self.planned.map(|n| n - (LATE * n as f64) as u64);
        if end.is_some_and(|end| self.seen > end) || self.seen <= begin {
            return false;
        }
        self.spread.add(z);
        if self.seen < self.window_end {
            return false;
        }
        self.metric = self.spread.metric();
        self.spread = Spread::new(self.metric.size());
        self.window *= 2;
        self.window_end += self.window;
        // A window that would be cut short swallows the rest.
        if let Some(end) = end
            && self.window_end + 2 * self.window > end
        {
            self.window = end.saturating_sub(self.seen).max(1);
            self.window_end = self.seen + self.window;
        }
        true
    }

    /// Goes on with another step size, after the metric has changed.
    pub fn restart(&mut self, step: f64) {
        self.step = DualAveraging::new(step, self.target);
    }

    pub fn freeze(&mut self) {
        self.frozen = true;
    }
}

/// How the draws of a window spread.
enum Spread {
    Joint(Welford),
    /// Too many coordinates for their correlations: mean and sum of squares of each.
    Each {
        n: u64,
        moments: Vec<(f64, f64)>,
    },
}

impl Spread {
    fn new(size: usize) -> Spread {
        match size <= DENSE {
            true => Spread::Joint(Welford::new(size)),
            false => Spread::Each { n: 0, moments: vec![(0.0, 0.0); size] },
        }
    }

    fn add(&mut self, z: &[f64]) {
        match self {
            Spread::Joint(welford) => welford.add(z),
            Spread::Each { n, moments } => {
                *n += 1;
                for ((mean, squares), z) in moments.iter_mut().zip(z) {
                    let before = z - *mean;
                    *mean += before / *n as f64;
                    *squares += before * (z - *mean);
                }
            }
        }
    }

    /// The covariance of the window, drawn towards a small multiple of the identity as if five
    /// more draws had said so; without correlations if there are too few draws to tell them.
    fn metric(&self) -> Metric {
        let shrink = |n: u64, c: f64, diagonal: bool| {
            let n = n as f64;
            let add = if diagonal { 1e-3 * 5.0 / (n + 5.0) } else { 0.0 };
            c * n / (n + 5.0) + add
        };
        match self {
            Spread::Each { n, moments } => {
                let divisor = n.saturating_sub(1).max(1) as f64;
                let sd =
                    |(_, squares): &(f64, f64)| math::sqrt(shrink(*n, squares / divisor, true));
                Metric::Diagonal(moments.iter().map(sd).collect())
            }
            Spread::Joint(welford) => {
                let (n, size) = (welford.count(), welford.mean().len());
                let Some(c) = welford.covariance() else { return Metric::unit(size) };
                if n < 5 * size as u64 {
                    let sd = |k: usize| math::sqrt(shrink(n, c.get(k, k), true));
                    return Metric::Diagonal((0..size).map(sd).collect());
                }
                let entry = |k: usize| shrink(n, c.as_slice()[k], k.is_multiple_of(size + 1));
                let shrunk: Vec<f64> = (0..size * size).map(entry).collect();
                Metric::of_covariance(size, &shrunk)
            }
        }
    }
}
