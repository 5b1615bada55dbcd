//! Mean and variance in one pass, and the shape of a whole population of log weights.
//!
//! Welford: d = x − mean, mean += d/n, m2 += d (x − mean). Two parts merge by Chan's rule: with
//! d = mean_b − mean_a, mean = mean_a + d n_b/n and m2 = m2_a + m2_b + d² n_a n_b/n. Neither ever
//! subtracts two large sums of squares.
//!
//! The tail index is Hill's: with X the distances from the median in descending order,
//! 1/α̂ = (1/k) Σ_{i≤k} log(X_i / X_{k+1}), k = N/100. P(X > x) falls like x^−α.

use smidgen_value::{bytes_of_fields, math};

/// Number, mean and sum of squared deviations of the values so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accumulator {
    pub n: u64,
    pub mean: f64,
    pub m2: f64,
}

impl Accumulator {
    #[inline]
    pub fn push(&mut self, x: f64) {
        self.n += 1;
        let d = x - self.mean;
        self.mean += d / self.n as f64;
        self.m2 += d * (x - self.mean);
    }

    /// Those of a batch, in two passes: more accurate than one by one, and without a division for
    /// each.
    pub fn of_batch(xs: &[f64]) -> Accumulator {
        if xs.is_empty() {
            return Accumulator::default();
        }
        let mean = sum(xs, |x| x) / xs.len() as f64;
        let m2 = sum(xs, |x| (x - mean) * (x - mean));
        Accumulator { n: xs.len() as u64, mean, m2 }
    }

    pub fn merge(self, other: Accumulator) -> Accumulator {
        if self.n == 0 || other.n == 0 {
            return if self.n == 0 { other } else { self };
        }
        let n = self.n + other.n;
        let d = other.mean - self.mean;
        let share = other.n as f64 / n as f64;
        Accumulator {
            n,
            mean: self.mean + d * share,
            m2: self.m2 + other.m2 + d * d * self.n as f64 * share,
        }
    }

    /// With divisor n − 1; 0 for fewer than two values.
    pub fn variance(&self) -> f64 {
        if self.n < 2 { 0.0 } else { self.m2 / (self.n - 1) as f64 }
    }
}

/// Σ f(x) with eight running sums.
fn sum(xs: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let mut chunks = xs.chunks_exact(8);
    for chunk in chunks.by_ref() {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += f(*x);
        }
    }
    let rest: f64 = chunks.remainder().iter().map(|x| f(*x)).sum();
    sums.iter().sum::<f64>() + rest
}

impl FromIterator<f64> for Accumulator {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Accumulator {
        let mut all = Accumulator::default();
        values.into_iter().for_each(|x| all.push(x));
        all
    }
}

/// What a population of log weights looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub mean: f64,
    /// With divisor N.
    pub sd: f64,
    /// γ1; 0 when sd = 0, and so are the next two.
    pub skewness: f64,
    /// γ2, 0 for the normal distribution.
    pub kurtosis: f64,
    /// The largest |l − mean| / sd; infinite, as sd, when a value is.
    pub largest: f64,
    pub tail: Option<Tail>,
}

/// Hill's tail index and how many values it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    pub index: f64,
    pub values: usize,
}

bytes_of_fields!(Tail { index, values });

impl Tail {
    /// With fewer, the largest ten are no tail: those of an exponential population look heavy.
    const LEAST: usize = 1000;

    /// Two standard errors above the estimate, whose relative standard error is 1/√k.
    pub fn upper(&self) -> f64 {
        self.index * (1.0 + 2.0 / math::sqrt(self.values as f64))
    }

    fn of(values: &[f64]) -> Option<Tail> {
        if values.len() < Tail::LEAST {
            return None;
        }
        let mut sorted = values.to_vec();
        let middle = sorted.len() / 2;
        let median = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
        sorted.iter_mut().for_each(|x| *x = (*x - median).abs());
        let k = values.len() / 100;
        let (above, base, _) = sorted.select_nth_unstable_by(k, |a, b| b.total_cmp(a));
        if *base == 0.0 {
            return None;
        }
        let sum: f64 = above.iter().map(|x| math::ln(x / *base)).sum();
        Some(Tail { index: k as f64 / sum, values: k })
    }
}

impl Shape {
    pub fn of(values: &[f64]) -> Shape {
        let all: Accumulator = values.iter().copied().collect();
        let n = values.len().max(1) as f64;
        let sd = math::sqrt(all.m2 / n);
        let plain =
            Shape { mean: all.mean, sd, skewness: 0.0, kurtosis: 0.0, largest: 0.0, tail: None };
        if !values.iter().all(|x| x.is_finite()) {
            return Shape { sd: f64::INFINITY, largest: f64::INFINITY, ..plain };
        }
        if !is_spread(sd, values) {
            return Shape { sd: 0.0, ..plain };
        }
        let (mut third, mut fourth, mut largest) = (0.0, 0.0, 0.0_f64);
        for value in values {
            let z = (value - all.mean) / sd;
            third += z * z * z;
            fourth += z * z * z * z;
            largest = largest.max(z.abs());
        }
        Shape {
            mean: all.mean,
            sd,
            skewness: third / n,
            kurtosis: fourth / n - 3.0,
            largest,
            tail: Tail::of(values),
        }
    }
}

/// Whether a standard deviation is more than the rounding noise of equal values.
fn is_spread(sd: f64, values: &[f64]) -> bool {
    let largest = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    sd > 64.0 * f64::EPSILON * largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposer::standard_normal;
    use smidgen_value::Rng;

    #[test]
    fn large_values_keep_their_variance() {
        let all: Accumulator = [0.1, 0.2, 0.3, 0.4].iter().map(|x| 1e8 + x).collect();
        assert!((all.m2 / 4.0 - 0.0125).abs() < 1e-8, "{all:?}");
        assert!((all.variance() - 0.0125 * 4.0 / 3.0).abs() < 1e-8);
        assert_eq!(Accumulator::default().variance(), 0.0);
    }

    #[test]
    fn parts_merge_to_the_whole() {
        let mut rng = Rng::from_seed(4);
        let values: Vec<f64> = (0..1000).map(|_| 3.0 + standard_normal(&mut rng)).collect();
        let whole: Accumulator = values.iter().copied().collect();
        for cut in [0, 1, 17, 999, 1000] {
            let (a, b) = values.split_at(cut);
            let merged =
                a.iter().copied().collect::<Accumulator>().merge(b.iter().copied().collect());
            assert_eq!(merged.n, whole.n);
            assert!((merged.mean - whole.mean).abs() < 1e-12);
            assert!((merged.m2 - whole.m2).abs() < 1e-9);
        }
    }

    #[test]
    fn the_shape_of_a_small_sample() {
        // theory 5.1, the fixture of the normality tests
        let x = [-1.2, -0.7, -0.5, -0.3, -0.1, 0.0, 0.2, 0.3, 0.6, 0.8, 1.1, 2.9];
        let shape = Shape::of(&x);
        assert!((shape.skewness - 1.180564).abs() < 1e-6);
        assert!((shape.kurtosis + 3.0 - 4.422390).abs() < 1e-6);
        assert_eq!(shape.tail, None);
        let flat = Shape::of(&[0.1 + 0.2; 300]);
        assert_eq!((flat.sd, flat.largest, flat.tail), (0.0, 0.0, None));
    }

    #[test]
    fn tail_indices_match_the_theory() {
        // theory 5.1: Pareto(2) 1.95, t_3 2.89, normal 8.5 at N = 1e5
        let mut rng = Rng::from_seed(11);
        let n = 100_000;
        let pareto: Vec<f64> = (0..n).map(|_| 1.0 / math::sqrt(rng.open_uniform())).collect();
        let normal: Vec<f64> = (0..n).map(|_| standard_normal(&mut rng)).collect();
        let mut square = || math::pow(standard_normal(&mut rng), 2.0);
        let chi: Vec<f64> = (0..n).map(|_| (square() + square() + square()) / 3.0).collect();
        let student: Vec<f64> = normal.iter().zip(&chi).map(|(z, c)| z / math::sqrt(*c)).collect();
        for (values, want) in [(&pareto, 1.95), (&student, 2.89), (&normal, 8.5)] {
            let tail = Tail::of(values).unwrap();
            assert!((tail.index / want - 1.0).abs() < 0.1, "{tail:?} {want}");
            assert_eq!(tail.values, 1000);
        }
    }
}
