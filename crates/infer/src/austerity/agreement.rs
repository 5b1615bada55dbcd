//! Do two runs agree? An interval for a rate, and two two-sample tests.
//!
//! * Wilson: the 95 % interval (p̂ + z²/2n ± z √(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n).
//! * Kolmogorov–Smirnov: D = max |F − G|, p = 2 Σ (−1)^{k−1} e^{−2k²λ²} with
//!   λ = D (√n + 0.12 + 0.11/√n), n = n_1 n_2/(n_1 + n_2).
//! * Maximum mean discrepancy: the unbiased
//!   MMD² = mean_{i≠j} k(x_i, x_j) + mean_{i≠j} k(y_i, y_j) − 2 mean k(x_i, y_j)
//!   with a Gaussian kernel as wide as the median distance, each coordinate in units of its pooled
//!   standard deviation; p by permutation. Samples of more than 400 rows are thinned evenly.
//!
//! The p-values are those of independent draws: thin a chain to its effective sample size first.

use smidgen_value::{Rng, math};

use super::moments::Accumulator;
use super::normality::Tested;

/// Φ⁻¹(0.975).
const Z: f64 = 1.959_963_984_540_054;
const MOST_ROWS: usize = 400;
const PERMUTATIONS: usize = 500;

/// The 95 % Wilson interval of a rate; everything without trials.
pub fn wilson(successes: u64, trials: u64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let n = trials as f64;
    let p = successes as f64 / n;
    let centre = p + Z * Z / (2.0 * n);
    let half = Z * math::sqrt(p * (1.0 - p) / n + Z * Z / (4.0 * n * n));
    let scale = 1.0 + Z * Z / n;
    (((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0))
}

/// The two-sample Kolmogorov–Smirnov test with its asymptotic p-value.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> Tested {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (xs, ys) = (sorted(a), sorted(b));
    let (mut i, mut j, mut statistic) = (0, 0, 0.0_f64);
    while i < xs.len() && j < ys.len() {
        let here = xs[i].min(ys[j]);
        i += xs[i..].iter().take_while(|x| **x <= here).count();
        j += ys[j..].iter().take_while(|y| **y <= here).count();
        let gap = i as f64 / xs.len() as f64 - j as f64 / ys.len() as f64;
        statistic = statistic.max(gap.abs());
    }
    let root = math::sqrt(a.len() as f64 * b.len() as f64 / (a.len() + b.len()) as f64);
    Tested { statistic, p: kolmogorov_tail(statistic * (root + 0.12 + 0.11 / root)) }
}

fn kolmogorov_tail(lambda: f64) -> f64 {
    // The series is useless there, and its sum 1 to all digits.
    if lambda < 0.2 {
        return 1.0;
    }
    let term =
        |k: i32| f64::from(2 * (k % 2) - 1) * math::exp(-2.0 * f64::from(k * k) * lambda * lambda);
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// The maximum mean discrepancy between two samples of rows. Each needs two rows at least.
pub fn mmd(a: &[Vec<f64>], b: &[Vec<f64>], rng: &mut Rng) -> Tested {
    let (a, b) = (thinned(a), thinned(b));
    let rows = standardised(a.iter().chain(&b).copied());
    let kernel = Kernel::new(&rows);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let statistic = kernel.discrepancy(&order[..a.len()]);
    let mut as_large = 1;
    for _ in 0..PERMUTATIONS {
        for i in 0..a.len() {
            order.swap(i, i + rng.below(rows.len() - i));
        }
        // Rounding must not tell equal values apart.
        if kernel.discrepancy(&order[..a.len()]) >= statistic - 1e-12 {
            as_large += 1;
        }
    }
    Tested { statistic, p: f64::from(as_large) / (PERMUTATIONS + 1) as f64 }
}

/// At most so many rows, evenly spaced.
fn thinned(rows: &[Vec<f64>]) -> Vec<&[f64]> {
    let keep = rows.len().min(MOST_ROWS);
    (0..keep).map(|i| rows[i * rows.len() / keep].as_slice()).collect()
}

fn standardised<'a>(rows: impl Iterator<Item = &'a [f64]>) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = rows.map(<[f64]>::to_vec).collect();
    for column in 0..rows.first().map_or(0, Vec::len) {
        let all: Accumulator = rows.iter().map(|row| row[column]).collect();
        let sd = math::sqrt(all.variance());
        if sd > 0.0 {
            rows.iter_mut().for_each(|row| row[column] /= sd);
        }
    }
    rows
}

/// The kernel matrix without its diagonal, and its row sums.
struct Kernel {
    matrix: Vec<f64>,
    sums: Vec<f64>,
}

impl Kernel {
    fn new(rows: &[Vec<f64>]) -> Kernel {
        let n = rows.len();
        let square = |i: usize, j: usize| -> f64 {
            rows[i].iter().zip(&rows[j]).map(|(x, y)| (x - y) * (x - y)).sum()
        };
        let mut matrix: Vec<f64> = (0..n * n).map(|k| square(k / n, k % n)).collect();
        let mut distances: Vec<f64> =
            (0..n).flat_map(|i| matrix[i * n..i * n + i].iter().copied()).collect();
        let middle = distances.len() / 2;
        let median = *distances.select_nth_unstable_by(middle, f64::total_cmp).1;
        let width = if median > 0.0 { median } else { 1.0 };
        for (k, entry) in matrix.iter_mut().enumerate() {
            *entry = if k / n == k % n { 0.0 } else { math::exp(-0.5 * *entry / width) };
        }
        let sums = matrix.chunks(n).map(|row| row.iter().sum()).collect();
        Kernel { matrix, sums }
    }

    /// MMD² between the rows in `part` and the others. Only the sum within the part is added up:
    /// the row sums give the rest.
    fn discrepancy(&self, part: &[usize]) -> f64 {
        let all = self.sums.len();
        let (n, m) = (part.len() as f64, (all - part.len()) as f64);
        let mut within = 0.0;
        for (k, i) in part.iter().enumerate() {
            let row = &self.matrix[i * all..(i + 1) * all];
            within += 2.0 * part[..k].iter().map(|j| row[*j]).sum::<f64>();
        }
        let across = part.iter().map(|i| self.sums[*i]).sum::<f64>() - within;
        let rest = self.sums.iter().sum::<f64>() - within - 2.0 * across;
        within / (n * (n - 1.0)) + rest / (m * (m - 1.0)) - 2.0 * across / (n * m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposer::standard_normal;

    #[test]
    fn wilson_intervals() {
        // by the formula, in long arithmetic
        for (successes, trials, low, high) in [
            (0, 10, 0.0, 0.277_532_8),
            (5, 10, 0.236_593_1, 0.763_406_9),
            (3, 200, 0.005_114_2, 0.043_165_7),
            (200, 200, 0.981_154_7, 1.0),
        ] {
            let got = wilson(successes, trials);
            assert!(
                (got.0 - low).abs() < 1e-6 && (got.1 - high).abs() < 1e-6,
                "{got:?} {low} {high}"
            );
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn kolmogorov_smirnov_by_hand() {
        let got = kolmogorov_smirnov(&[1.0, 2.0, 3.0, 4.0], &[2.5, 3.5, 4.5, 5.5]);
        assert!((got.statistic - 0.5).abs() < 1e-12);
        assert_eq!(kolmogorov_smirnov(&[1.0, 1.0], &[1.0, 1.0, 1.0]).statistic, 0.0);
        // The 5 % and 1 % points of Kolmogorov's distribution
        assert!((kolmogorov_tail(1.358_10) - 0.05).abs() < 1e-5);
        assert!((kolmogorov_tail(1.627_62) - 0.01).abs() < 1e-5);
        assert_eq!(kolmogorov_tail(0.0), 1.0);
    }

    #[test]
    fn equal_laws_agree_and_others_do_not() {
        let mut rng = Rng::from_seed(12);
        let mut sample = |scale: f64| -> Vec<f64> {
            (0..1000).map(|_| scale * standard_normal(&mut rng)).collect()
        };
        let (a, b, wide) = (sample(1.0), sample(1.0), sample(1.3));
        assert!(kolmogorov_smirnov(&a, &b).p > 0.01);
        assert!(kolmogorov_smirnov(&a, &wide).p < 0.01);
        let rows = |values: &[f64]| values.chunks(2).map(<[f64]>::to_vec).collect::<Vec<_>>();
        let mut rng = Rng::from_seed(13);
        assert!(mmd(&rows(&a), &rows(&b), &mut rng).p > 0.01);
        let far = mmd(&rows(&a), &rows(&wide), &mut rng);
        assert!(far.p < 0.01 && far.statistic > 0.0, "{far:?}");
    }

    #[test]
    fn the_discrepancy_is_the_formula() {
        let rows: Vec<Vec<f64>> = [0.0, 1.0, 3.0, 3.5, 5.0].iter().map(|x| vec![*x]).collect();
        let kernel = Kernel::new(&rows);
        // the median of the ten squared distances, upper of the two in the middle
        let k = |x: f64, y: f64| math::exp(-0.5 * (x - y) * (x - y) / 6.25);
        let within = k(0.0, 1.0);
        let rest = (k(3.0, 3.5) + k(3.0, 5.0) + k(3.5, 5.0)) / 3.0;
        let across: f64 =
            [0.0, 1.0].iter().flat_map(|x| [3.0, 3.5, 5.0].map(|y| k(*x, y))).sum::<f64>() / 6.0;
        let got = kernel.discrepancy(&[0, 1]);
        assert!((got - (within + rest - 2.0 * across)).abs() < 1e-12, "{got}");
    }
}
