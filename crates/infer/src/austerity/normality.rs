//! Three tests of normality, each with its p-value.
//!
//! * Jarque–Bera: JB = (R/6)(S² + (K − 3)²/4) with skewness S and kurtosis K; p = e^{−JB/2}.
//! * Anderson–Darling: A² = −R − (1/R) Σ (2i − 1)[log Φ(y_(i)) + log(1 − Φ(y_(R+1−i)))], y
//!   standardised with divisor R − 1; A* = A² (1 + 0.75/R + 2.25/R²), p by the usual fit in A*.
//! * Shapiro–Francia: W' = corr(x_(i), Φ⁻¹((i − 3/8)/(R + 1/4)))²; log(1 − W') is about normal.
//!
//! Jarque–Bera rejects a little too often at small levels; the others keep theirs.

use smidgen_value::math;

use super::moments::{Accumulator, Shape};
use super::tails::{normal_cdf, normal_quantile, normal_tail};

/// A statistic and the probability of one at least as extreme under the hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    pub statistic: f64,
    pub p: f64,
}

pub fn jarque_bera(values: &[f64]) -> Tested {
    let shape = Shape::of(values);
    let (s, k) = (shape.skewness, shape.kurtosis);
    let statistic = values.len() as f64 / 6.0 * (s * s + 0.25 * k * k);
    Tested { statistic, p: math::exp(-0.5 * statistic) }
}

/// The statistic is A*.
pub fn anderson_darling(values: &[f64]) -> Tested {
    let all: Accumulator = values.iter().copied().collect();
    let sd = math::sqrt(all.variance());
    let sorted = sorted(values);
    let r = values.len() as f64;
    let log = |p: f64| math::ln(p.max(f64::MIN_POSITIVE));
    let mut sum = 0.0;
    for (i, (low, high)) in sorted.iter().zip(sorted.iter().rev()).enumerate() {
        let (low, high) = ((low - all.mean) / sd, (high - all.mean) / sd);
        sum += (2 * i + 1) as f64 * (log(normal_cdf(low)) + log(normal_tail(high)));
    }
    let statistic = (-r - sum / r) * (1.0 + 0.75 / r + 2.25 / (r * r));
    Tested { statistic, p: anderson_darling_p(statistic) }
}

fn anderson_darling_p(a: f64) -> f64 {
    match a {
        a if a < 0.2 => 1.0 - math::exp(-13.436 + 101.14 * a - 223.73 * a * a),
        a if a < 0.34 => 1.0 - math::exp(-8.318 + 42.796 * a - 59.938 * a * a),
        a if a < 0.6 => math::exp(0.9177 - 4.279 * a - 1.38 * a * a),
        a if a < 10.0 => math::exp(1.2937 - 5.709 * a + 0.0186 * a * a),
        _ => 0.0,
    }
}

/// For 5 to 5000 values. The statistic is W'.
pub fn shapiro_francia(values: &[f64]) -> Tested {
    let sorted = sorted(values);
    let r = values.len() as f64;
    let score = |i: usize| normal_quantile((i as f64 + 0.625) / (r + 0.25));
    let mean = sorted.iter().sum::<f64>() / r;
    let (mut xx, mut xm, mut mm) = (0.0, 0.0, 0.0);
    for (i, x) in sorted.iter().enumerate() {
        let (x, m) = (x - mean, score(i));
        xx += x * x;
        xm += x * m;
        mm += m * m;
    }
    let statistic = if xx > 0.0 { xm * xm / (xx * mm) } else { 0.0 };
    let u = math::ln(r);
    let v = math::ln(u);
    let centre = -1.2725 + 1.0521 * (v - u);
    let spread = 1.0308 - 0.26758 * (v + 2.0 / u);
    Tested { statistic, p: normal_tail((math::ln(1.0 - statistic) - centre) / spread) }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposer::standard_normal;
    use smidgen_value::Rng;

    #[test]
    fn the_fixture_of_the_theory() {
        // theory 5.1
        let x = [-1.2, -0.7, -0.5, -0.3, -0.1, 0.0, 0.2, 0.3, 0.6, 0.8, 1.1, 2.9];
        for (got, statistic, p) in [
            (jarque_bera(&x), 3.799058, 0.149639),
            (anderson_darling(&x), 0.449175, 0.277275),
            (shapiro_francia(&x), 0.889978, 0.103339),
        ] {
            assert!((got.statistic - statistic).abs() < 1e-5, "{got:?} {statistic}");
            assert!((got.p - p).abs() < 1e-5, "{got:?} {p}");
        }
    }

    #[test]
    fn normal_samples_are_seldom_rejected_and_others_always() {
        let mut rng = Rng::from_seed(8);
        let mut rejected = [0; 3];
        for _ in 0..1000 {
            let x: Vec<f64> = (0..200).map(|_| standard_normal(&mut rng)).collect();
            for (count, test) in
                rejected.iter_mut().zip([jarque_bera, anderson_darling, shapiro_francia])
            {
                *count += usize::from(test(&x).p < 0.05);
            }
        }
        // theory 5.1: .044, .048, .054; the standard error here is .007
        assert!(rejected.iter().all(|count| (22..82).contains(count)), "{rejected:?}");
        let skewed: Vec<f64> = (0..200).map(|_| -rng.log_uniform()).collect();
        for test in [jarque_bera, anderson_darling, shapiro_francia] {
            assert!(test(&skewed).p < 1e-4);
        }
    }
}
