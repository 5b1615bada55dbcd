//! A logistic regression written by hand: the law of the draws against quadrature, by every test, and what would be seen if the bounds
//! were wrong.

use smidgen_value::{Rng, math};

use super::chain::Chain;
use super::preparation::{Preparation, Test, Unfit, Want};
use super::quadratic::{Reference, Sums};
use super::thinning::{Alias, Bounds};
use super::{Tall, newton};

const D: usize = 2;

/// y_i ~ bernoulli(logistic(a + b x_i)), a and b normal(0, 3).
struct Logistic {
    rows: Vec<([f64; D], f64)>,
    /// What the bounds are multiplied by.
    share: f64,
    read: u64,
}

impl Logistic {
    /// Rare events: about one row of twelve is a 1.
    fn rare(n: usize, seed: u64) -> Logistic {
        let mut rng = Rng::from_seed(seed);
        let row = |_| {
            let x = [1.0, 2.0 * rng.uniform() - 1.0];
            let y = rng.uniform() < math::logistic(-2.5 + 0.8 * x[1]);
            (x, f64::from(u8::from(y)))
        };
        Logistic { rows: (0..n).map(row).collect(), share: 1.0, read: 0 }
    }

    fn eta(x: &[f64; D], theta: &[f64]) -> f64 {
        x[0] * theta[0] + x[1] * theta[1]
    }

    fn log_p(&self, i: usize, theta: &[f64]) -> f64 {
        let (x, y) = &self.rows[i];
        let eta = Logistic::eta(x, theta);
        y * eta - math::ln_1p_exp(eta)
    }

    fn log_posterior(&self, theta: &[f64]) -> f64 {
        let rest = -(theta[0] * theta[0] + theta[1] * theta[1]) / 18.0;
        rest + (0..self.rows.len()).map(|i| self.log_p(i, theta)).sum::<f64>()
    }
}

impl Tall for Logistic {
    fn dimension(&self) -> usize {
        D
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn log_rest(&mut self, theta: &[f64]) -> f64 {
        -(theta[0] * theta[0] + theta[1] * theta[1]) / 18.0
    }

    fn log_rest_with_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(theta).for_each(|(g, x)| *g = -x / 9.0);
        self.log_rest(theta)
    }

    fn log_sections(&mut self, theta: &[f64]) -> f64 {
        self.read += self.rows.len() as u64;
        (0..self.rows.len()).map(|i| self.log_p(i, theta)).sum()
    }

    fn log_sections_of_many(&mut self, thetas: &[f64], out: &mut [f64]) {
        for (theta, out) in thetas.chunks_exact(D).zip(out) {
            *out = self.log_sections(theta);
        }
    }

    fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Sums> {
        let mut sums = Sums { value: 0.0, gradient: vec![0.0; D], hessian: vec![0.0; D * D] };
        let scale = self.rows.len() as f64 / self.rows.len().div_ceil(stride) as f64;
        for i in (0..self.rows.len()).step_by(stride) {
            let (x, y) = &self.rows[i];
            let p = math::logistic(Logistic::eta(x, theta));
            sums.value += scale * self.log_p(i, theta);
            for k in 0..D {
                sums.gradient[k] += scale * (y - p) * x[k];
                for l in 0..D {
                    sums.hessian[k * D + l] -= scale * p * (1.0 - p) * x[k] * x[l];
                }
            }
        }
        Some(sums)
    }

    fn bounds(&mut self, _: &[f64], lower: &[f64], _: f64, out: &mut Vec<f32>) {
        let most = 1.0 / (6.0 * math::sqrt(3.0));
        out.extend(self.rows.iter().map(|(x, _)| {
            let along = [x[0] * lower[0] + x[1] * lower[D], x[1] * lower[D + 1]];
            let norm = math::hypot(along[0], along[1]);
            (self.share * most / 6.0 * norm * norm * norm * 1.001) as f32
        }));
    }

    fn remainders(&mut self, centre: &[f64], rows: &[u32], at: [&[f64]; 2], out: &mut [[f64; 2]]) {
        self.read += rows.len() as u64;
        for (row, out) in rows.iter().zip(out) {
            let (x, y) = self.rows[*row as usize];
            let eta = Logistic::eta(&x, centre);
            let p = math::logistic(eta);
            for (theta, out) in at.into_iter().zip(out) {
                let u = Logistic::eta(&x, theta) - eta;
                let polynomial =
                    self.log_p(*row as usize, centre) + (y - p) * u - 0.5 * p * (1.0 - p) * u * u;
                *out = self.log_p(*row as usize, theta) - polynomial;
            }
        }
    }
}

/// Mean, sd and skewness of both coordinates, by quadrature over a wide box.
fn quadrature(model: &mut Logistic) -> [[f64; 3]; D] {
    const N: i32 = 40;
    let mode = newton::find(model, &[0.0; D], false).map(|mode| mode.reference).expect("a mode");
    let mut theta = [0.0; D];
    let top = model.log_posterior(&mode.centre);
    let mut points = Vec::new();
    for i in -N..=N {
        for j in -N..=N {
            let y = [7.0 * f64::from(i) / f64::from(N), 7.0 * f64::from(j) / f64::from(N)];
            mode.unwhiten(&y, &mut theta);
            points.push((theta, math::exp(model.log_posterior(&theta) - top)));
        }
    }
    let total: f64 = points.iter().map(|(_, w)| w).sum();
    [0, 1].map(|k| {
        let moment = |f: &dyn Fn(f64) -> f64| {
            points.iter().map(|(theta, w)| w * f(theta[k])).sum::<f64>() / total
        };
        let mean = moment(&|x| x);
        let sd = math::sqrt(moment(&|x| (x - mean) * (x - mean)));
        [mean, sd, moment(&|x| ((x - mean) / sd) * ((x - mean) / sd) * ((x - mean) / sd))]
    })
}

/// How far a chain of so many moves is from the truth: the largest shift of a mean in sds, of an sd, and of a skewness; and its
/// violations.
fn deviation(model: &mut Logistic, test: Test, moves: usize, seed: u64) -> ([f64; 3], u64) {
    let truth = quadrature(model);
    let prepared = Preparation::new(model, &[0.0; D], Want::This(test)).expect("it fits");
    let mut rng = Rng::from_seed(seed);
    let mut chain = Chain::new(&mut rng);
    chain.go(model, &prepared, &prepared.reference.centre.clone());
    let mut sums = [[0.0; 3]; D];
    let mut violations = 0;
    for _ in 0..moves {
        violations += chain.transition(model, &prepared, &mut rng).violations;
        for ((sums, x), [mean, sd, _]) in sums.iter_mut().zip(chain.theta()).zip(&truth) {
            let z = (x - mean) / sd;
            sums.iter_mut().zip([z, z * z, z * z * z]).for_each(|(sum, z)| *sum += z);
        }
    }
    let mut worst = [0.0_f64; 3];
    for (sums, [_, _, skewness]) in sums.iter().zip(&truth) {
        let [mean, square, cube] = sums.map(|sum| sum / moves as f64);
        let variance = square - mean * mean;
        let third = cube - 3.0 * mean * square + 2.0 * mean * mean * mean;
        let found = [mean, math::sqrt(variance) - 1.0, third - skewness];
        worst.iter_mut().zip(found).for_each(|(worst, x)| *worst = worst.max(x.abs()));
    }
    (worst, violations)
}

#[test]
fn the_law_is_that_of_the_posterior_by_every_test() {
    for (test, moves) in [(Test::Thinned, 400_000), (Test::Scan, 60_000), (Test::Delayed, 60_000)] {
        let mut model = Logistic::rare(200, 3);
        let ([mean, sd, skewness], violations) = deviation(&mut model, test, moves, 5);
        // Five standard errors at half an effective draw a move; skewness has about √15 times the noise of a mean.
        let error = 5.0 / math::sqrt(0.5 * moves as f64);
        assert!(mean < error, "{test:?}: a mean is off by {mean} sd");
        assert!(sd < error, "{test:?}: an sd is off by {sd}");
        assert!(skewness < 5.0 * error, "{test:?}: a skewness is off by {skewness}");
        assert_eq!(violations, 0);
    }
}

/// As near as is promised, from few rows to many.
#[test]
fn draws_are_as_near_as_is_promised() {
    for n in [200, 1_000, 10_000] {
        let mut model = Logistic::rare(n, 3);
        let ([mean, sd, skewness], violations) = deviation(&mut model, Test::Thinned, 3_000_000, 6);
        assert!(mean < 0.005, "{n} rows: a mean is off by {mean} sd");
        assert!(sd < 0.005, "{n} rows: an sd is off by {sd}");
        assert!(skewness < 0.02, "{n} rows: a skewness is off by {skewness}");
        assert_eq!(violations, 0);
    }
}

#[test]
fn bounds_that_are_too_small_are_seen() {
    for (share, least) in [(0.3, 0.007), (0.1, 0.03)] {
        let mut model = Logistic { share, ..Logistic::rare(200, 3) };
        let ([mean, ..], violations) = deviation(&mut model, Test::Thinned, 2_000_000, 5);
        assert!(violations > 1000, "{violations} violations");
        assert!(mean > least, "bounds times {share}: the mean is off by {mean} sd only");
    }
}

#[test]
fn the_more_rows_the_fewer_are_read() {
    let read = |n: usize| {
        let mut model = Logistic::rare(n, 7);
        let prepared = Preparation::new(&mut model, &[0.0; D], Want::Best).expect("it fits");
        assert_eq!(prepared.test, Test::Thinned, "{:?}", prepared.forecast);
        let mut rng = Rng::from_seed(1);
        let mut chain = Chain::new(&mut rng);
        chain.go(&mut model, &prepared, &prepared.reference.centre.clone());
        model.read = 0;
        for _ in 0..100_000 {
            chain.transition(&mut model, &prepared, &mut rng);
        }
        model.read as f64 / 1e5
    };
    let [few, many] = [1_000, 100_000].map(read);
    assert!(few < 2.0, "{few} rows of 1,000");
    // By N^{−1/2}, if no move leaves the ball.
    assert!(many < 0.15 * few, "{many} rows of 100,000, {few} of 1,000");
}

#[test]
fn an_alias_table_draws_in_proportion() {
    let weights = [0.0_f32, 3.0, 1.0, 0.5, 100.0, 0.25, 7.0, 1e-3];
    let alias = Alias::new(&weights);
    let total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
    let mut rng = Rng::from_seed(2);
    let mut counts = [0.0; 8];
    const N: f64 = 1e6;
    (0..N as usize).for_each(|_| counts[alias.draw(&mut rng)] += 1.0);
    for (count, weight) in counts.into_iter().zip(weights) {
        let p = f64::from(weight) / total;
        let error = math::sqrt(N * p * (1.0 - p));
        assert!(
            (count - N * p).abs() <= 5.0 * error + 3.0 * f64::from(u8::from(p > 0.0)),
            "{count} at {p}"
        );
    }
}

#[test]
fn rows_without_a_bound_and_with_a_large_one_are_hard() {
    let bounds = Bounds::new(vec![1e-6, f32::INFINITY, 0.5, 1e-6], 10.0).expect("few are hard");
    assert_eq!(bounds.hard, [1, 2]);
    assert!((bounds.total - 2e-6).abs() < 1e-12);
    assert!(Bounds::new(vec![f32::INFINITY; 10_000], 10.0).is_none());
}

#[test]
fn two_modes_are_told() {
    /// (|a| − 4)² and the like: two modes far apart.
    struct TwoModes;
    impl Tall for TwoModes {
        fn dimension(&self) -> usize {
            1
        }
        fn rows(&self) -> usize {
            1000
        }
        fn log_rest(&mut self, _: &[f64]) -> f64 {
            0.0
        }
        fn log_rest_with_gradient(&mut self, _: &[f64], gradient: &mut [f64]) -> f64 {
            gradient[0] = 0.0;
            0.0
        }
        fn log_sections(&mut self, theta: &[f64]) -> f64 {
            let x = theta[0];
            -(x * x - 1.0) * (x * x - 1.0) * 20.0
        }
        fn log_sections_of_many(&mut self, thetas: &[f64], out: &mut [f64]) {
            for (x, out) in thetas.iter().zip(out) {
                *out = self.log_sections(&[*x]);
            }
        }
        fn sums(&mut self, theta: &[f64], _: usize) -> Option<Sums> {
            let x = theta[0];
            let gradient = vec![-80.0 * x * (x * x - 1.0)];
            let hessian = vec![-80.0 * (3.0 * x * x - 1.0)];
            Some(Sums { value: self.log_sections(theta), gradient, hessian })
        }
        fn bounds(&mut self, _: &[f64], _: &[f64], _: f64, _: &mut Vec<f32>) {}
        fn remainders(&mut self, _: &[f64], _: &[u32], _: [&[f64]; 2], _: &mut [[f64; 2]]) {}
    }
    let found = Preparation::new(&mut TwoModes, &[0.3], Want::Best).err();
    assert_eq!(found, Some(Unfit::SeveralModes));
}

#[test]
fn coordinates_go_there_and_back() {
    let precision = smidgen_value::Matrix::new(2, 2, vec![4.0, 1.0, 1.0, 2.0]);
    let reference = Reference::new(vec![1.0, -2.0], precision).expect("positive definite");
    let (mut y, mut theta) = ([0.0; 2], [0.0; 2]);
    reference.whiten(&[0.3, 0.7], &mut y);
    reference.unwhiten(&y, &mut theta);
    assert!((theta[0] - 0.3).abs() < 1e-14 && (theta[1] - 0.7).abs() < 1e-14);
    // |y|² is the quadratic form of the precision.
    let (a, b) = (0.3 - 1.0, 0.7 + 2.0);
    let form = 4.0 * a * a + 2.0 * a * b + 2.0 * b * b;
    assert!((super::quadratic::square(&y) - form).abs() < 1e-12 * form);
}
