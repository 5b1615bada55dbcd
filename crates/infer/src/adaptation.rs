//! Learning how to propose, in the warm-up (theory 8.6). Pure numbers.
//!
//! * (8.7) Robbins–Monro on the log scale: log s ← log s + t^−0.6 (a − a*), a the acceptance probability
//!   of the t-th move; a* = .44 for one coordinate, .234 for five and more.
//! * (8.8) Covariance by Welford's updates.
//! * (8.9) Dual averaging for step sizes of Hamiltonian moves:
//!   H̄_t = (1 − 1/(t + t0)) H̄_{t−1} + (δ − a_t)/(t + t0), log h_t = μ − (√t/γ) H̄_t,
//!   log h̄_t = t^−κ log h_t + (1 − t^−κ) log h̄_{t−1}.

use smidgen_value::{Matrix, bytes_of_fields, math};

/// The acceptance probability that a random walk of so many coordinates does best with.
pub fn walk_target(coordinates: usize) -> f64 {
    let share = (coordinates.clamp(1, 5) - 1) as f64 / 4.0;
    0.44 + share * (0.234 - 0.44)
}

#[derive(Clone, Copy, Debug)]
pub struct RobbinsMonro {
    pub log_scale: f64,
    target: f64,
    moves: u64,
}

bytes_of_fields!(RobbinsMonro { log_scale, target, moves });

impl RobbinsMonro {
    const DECAY: f64 = 0.6;
    /// Scales beyond e^±50 of the first one say that there is nothing to learn.
    const FARTHEST: f64 = 50.0;

    pub fn new(target: f64) -> RobbinsMonro {
        RobbinsMonro { log_scale: 0.0, target, moves: 0 }
    }

    /// A move had this acceptance probability.
    pub fn learn(&mut self, acceptance: f64) {
        self.moves += 1;
        let gain = math::pow(self.moves as f64, -Self::DECAY);
        let moved = self.log_scale + gain * (acceptance - self.target);
        self.log_scale = moved.clamp(-Self::FARTHEST, Self::FARTHEST);
    }

    pub fn scale(&self) -> f64 {
        math::exp(self.log_scale)
    }
}

/// The mean and the covariance of points that come one by one, in O(d²) each.
#[derive(Clone, Debug)]
pub struct Welford {
    n: u64,
    mean: Vec<f64>,
    /// Σ (x − mean)(x − mean)ᵀ, the lower triangle row by row.
    products: Vec<f64>,
}

bytes_of_fields!(Welford { n, mean, products });

impl Welford {
    pub fn new(d: usize) -> Welford {
        Welford { n: 0, mean: vec![0.0; d], products: vec![0.0; d * (d + 1) / 2] }
    }

    pub fn count(&self) -> u64 {
        self.n
    }

    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    pub fn add(&mut self, x: &[f64]) {
        self.n += 1;
        let n = self.n as f64;
        let before: Vec<f64> = x.iter().zip(&self.mean).map(|(x, mean)| x - mean).collect();
        for (mean, difference) in self.mean.iter_mut().zip(&before) {
            *mean += difference / n;
        }
        let mut k = 0;
        for i in 0..x.len() {
            let after = x[i] - self.mean[i];
            for difference in &before[..=i] {
                self.products[k] += after * difference;
                k += 1;
            }
        }
    }

    /// The covariance, divisor n − 1; none of fewer than two points.
    pub fn covariance(&self) -> Option<Matrix> {
        let d = self.mean.len();
        let divisor = self.n.checked_sub(1).filter(|n| *n > 0)? as f64;
        let entry = |i: usize, j: usize| self.products[i * (i + 1) / 2 + j] / divisor;
        Some(Matrix::from_fn(d, d, |i, j| if i >= j { entry(i, j) } else { entry(j, i) }))
    }
}

/// A step size that brings the mean of a statistic, the acceptance probability say, to δ.
#[derive(Clone, Copy, Debug)]
pub struct DualAveraging {
    target: f64,
    /// μ, towards which steps are drawn.
    centre: f64,
    t: u64,
    /// H̄
    error: f64,
    log_step: f64,
    /// log h̄
    log_averaged: f64,
}

bytes_of_fields!(DualAveraging { target, centre, t, error, log_step, log_averaged });

impl DualAveraging {
    const GAMMA: f64 = 0.05;
    const T0: f64 = 10.0;
    const KAPPA: f64 = 0.75;

    /// From a first step size h_0, with μ = log(10 h_0).
    pub fn new(first: f64, target: f64) -> DualAveraging {
        let log_step = math::ln(first);
        let centre = math::ln(10.0 * first);
        DualAveraging { target, centre, t: 0, error: 0.0, log_step, log_averaged: log_step }
    }

    pub fn learn(&mut self, acceptance: f64) {
        self.t += 1;
        let t = self.t as f64;
        let share = 1.0 / (t + Self::T0);
        self.error = (1.0 - share) * self.error + share * (self.target - acceptance);
        self.log_step = self.centre - t.sqrt() / Self::GAMMA * self.error;
        let weight = math::pow(t, -Self::KAPPA);
        self.log_averaged = weight * self.log_step + (1.0 - weight) * self.log_averaged;
    }

    /// h_t, to be used for the next move.
    pub fn step(&self) -> f64 {
        math::exp(self.log_step)
    }

    /// h̄_t, to be kept when learning ends.
    pub fn averaged(&self) -> f64 {
        math::exp(self.log_averaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposer::standard_normal;
    use smidgen_value::Rng;

    /// The fixture of theory 8.6.
    #[test]
    fn dual_averaging_follows_the_fixture() {
        let mut learner = DualAveraging::new(0.1, 0.8);
        let steps = [1.199396, 0.624125, 0.449595, 0.424373];
        let averages = [1.199396, 0.813353, 0.627097, 0.546231];
        for (k, acceptance) in [0.9, 0.5, 0.7, 0.8].into_iter().enumerate() {
            learner.learn(acceptance);
            assert!((learner.step() - steps[k]).abs() < 1e-6, "{k}: {}", learner.step());
            assert!((learner.averaged() - averages[k]).abs() < 1e-6, "{k}");
        }
    }

    #[test]
    fn robbins_monro_follows_its_formula() {
        let mut learner = RobbinsMonro::new(0.44);
        learner.learn(1.0);
        assert!((learner.log_scale - 0.56).abs() < 1e-15);
        learner.learn(0.2);
        let want = 0.56 - 0.24 * math::pow(2.0, -0.6);
        assert!((learner.log_scale - want).abs() < 1e-15);
        let targets = [1, 2, 3, 5, 50].map(walk_target);
        for (found, want) in targets.into_iter().zip([0.44, 0.3885, 0.337, 0.234, 0.234]) {
            assert!((found - want).abs() < 1e-12, "{found} {want}");
        }
    }

    /// Acceptance falls with the scale: the scale at which it is a* is found.
    #[test]
    fn both_find_the_scale_they_look_for() {
        let mut rng = Rng::from_seed(1);
        let (mut walk, mut averaged) = (RobbinsMonro::new(0.44), DualAveraging::new(100.0, 0.44));
        let acceptance = |scale: f64, rng: &mut Rng| {
            (1.0 / (1.0 + scale) + 0.2 * (rng.uniform() - 0.5)).clamp(0.0, 1.0)
        };
        for _ in 0..20_000 {
            walk.learn(acceptance(walk.scale(), &mut rng));
            averaged.learn(acceptance(averaged.step(), &mut rng));
        }
        let want = 1.0 / 0.44 - 1.0;
        assert!((walk.scale() / want - 1.0).abs() < 0.05, "{}", walk.scale());
        assert!((averaged.averaged() / want - 1.0).abs() < 0.05, "{}", averaged.averaged());
    }

    #[test]
    fn welford_agrees_with_two_passes() {
        let mut rng = Rng::from_seed(2);
        let points: Vec<Vec<f64>> = (0..50)
            .map(|_| {
                let (a, b) = (standard_normal(&mut rng), standard_normal(&mut rng));
                vec![1e6 + a, a + 0.1 * b, b]
            })
            .collect();
        let mut seen = Welford::new(3);
        points.iter().for_each(|x| seen.add(x));
        let mean = |i: usize| points.iter().map(|x| x[i]).sum::<f64>() / 50.0;
        let found = seen.covariance().unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let products = points.iter().map(|x| (x[i] - mean(i)) * (x[j] - mean(j)));
                let want = products.sum::<f64>() / 49.0;
                assert!((found.get(i, j) - want).abs() < 1e-8, "{i} {j}");
            }
        }
        assert_eq!((seen.count(), Welford::new(2).covariance().is_none()), (50, true));
    }
}
