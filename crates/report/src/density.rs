//! The shape of a sample: a Gaussian kernel density estimate, and a histogram.
//!
//! The estimate at x is (1 / n h) Σ φ((x - x_i) / h), with Silverman's bandwidth
//! h = 0.9 min(sd, IQR / 1.34) n^(-1/5). It costs the draws within 5 h of each grid point.
//! It knows no bounds: close to a hard edge of the distribution it is too low, and a little mass
//! shows beyond. Numbers that cannot be drawn are left out.

use smidgen_draws::quantile::quantile_of_sorted;
use smidgen_value::math::{HALF_LN_2PI, exp, pow};

use crate::scale::drawable;

/// The numbers that can be drawn, ascending.
pub fn drawable_sorted(xs: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut xs: Vec<f64> = xs.into_iter().filter(|&x| drawable(x)).collect();
    xs.sort_unstable_by(f64::total_cmp);
    xs
}

/// Silverman's bandwidth of an ascending sample; 0 for a constant or empty one.
pub fn bandwidth(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return 0.0 };
    if first == last {
        return 0.0;
    }
    let mean = sorted.iter().map(|x| x / n).sum::<f64>();
    let variance = sorted.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let iqr = quantile_of_sorted(sorted, 0.75) - quantile_of_sorted(sorted, 0.25);
    let spread = if iqr > 0.0 { variance.sqrt().min(iqr / 1.34) } else { variance.sqrt() };
    0.9 * spread * pow(n, -0.2)
}

/// The range that shows an ascending sample: all of it and its kernels, but not the last
/// thousandths where they lie far out.
pub fn view(sorted: &[f64]) -> Option<(f64, f64)> {
    let (&first, &last) = (sorted.first()?, sorted.last()?);
    let h = bandwidth(sorted);
    let (low, high) = (quantile_of_sorted(sorted, 0.002), quantile_of_sorted(sorted, 0.998));
    let room = 0.25 * (high - low) + 3.0 * h;
    Some(((first - 3.0 * h).max(low - room), (last + 3.0 * h).min(high + room)))
}

/// The estimate at `points` places from `low` to `high`; nothing for a sample without a density.
pub fn density(sorted: &[f64], (low, high): (f64, f64), points: usize) -> Vec<(f64, f64)> {
    let h = bandwidth(sorted);
    if h <= 0.0 || !h.is_finite() || points < 2 {
        return Vec::new();
    }
    let scale = 1.0 / (sorted.len() as f64 * h);
    let at = |k: usize| {
        let x = low + (high - low) * (k as f64 / (points - 1) as f64);
        let from = sorted.partition_point(|&s| s < x - 5.0 * h);
        let to = sorted.partition_point(|&s| s <= x + 5.0 * h);
        let kernel = |&s: &f64| {
            let z = (x - s) / h;
            exp(-0.5 * z * z - HALF_LN_2PI)
        };
        (x, scale * sorted[from..to].iter().map(kernel).sum::<f64>())
    };
    (0..points).map(at).collect()
}

/// One bar of a histogram: its edges and how much of the sample lies within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    pub low: f64,
    pub high: f64,
    pub count: usize,
}

/// Equal bins over the range of an ascending sample; a constant one has a single bin.
pub fn histogram(sorted: &[f64], bins: usize) -> Vec<Bin> {
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    if low == high {
        return vec![Bin { low: low - 0.5, high: high + 0.5, count: sorted.len() }];
    }
    let bins = bins.max(1);
    let edge = |k: usize| low + (high - low) * (k as f64 / bins as f64);
    let below = |k: usize| match k {
        k if k == bins => sorted.len(),
        k => sorted.partition_point(|&x| x < edge(k)),
    };
    let bin = |k: usize| Bin { low: edge(k), high: edge(k + 1), count: below(k + 1) - below(k) };
    (0..bins).map(bin).collect()
}

/// How often each value occurs, if the sample is of a few whole numbers.
pub fn frequencies(sorted: &[f64], most: usize) -> Option<Vec<(f64, usize)>> {
    let mut found = Vec::new();
    for run in sorted.chunk_by(|a, b| a == b) {
        if run[0].fract() != 0.0 || found.len() == most {
            return None;
        }
        found.push((run[0], run.len()));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(curve: &[(f64, f64)]) -> f64 {
        curve.windows(2).map(|w| 0.5 * (w[1].0 - w[0].0) * (w[0].1 + w[1].1)).sum()
    }

    /// Values at regular steps of a standard logistic distribution.
    fn sample(n: usize) -> Vec<f64> {
        let at = |k: usize| (k as f64 + 0.5) / n as f64;
        (0..n).map(|k| smidgen_value::math::ln(at(k) / (1.0 - at(k)))).collect()
    }

    #[test]
    fn densities_integrate_to_one() {
        for n in [2, 10, 1000] {
            let xs = sample(n);
            let h = bandwidth(&xs);
            let curve = density(&xs, (xs[0] - 5.0 * h, xs[n - 1] + 5.0 * h), 400);
            assert!((area(&curve) - 1.0).abs() < 2e-3, "{n}: {}", area(&curve));
            let shown = area(&density(&xs, view(&xs).unwrap(), 400));
            assert!(shown > 0.98 && shown < 1.002, "{n}: {shown}");
        }
    }

    #[test]
    fn the_density_is_that_of_the_sample() {
        let xs = sample(20_000);
        let curve = density(&xs, (-4.0, 4.0), 81);
        for (x, y) in curve {
            let p = smidgen_value::math::logistic(x);
            assert!((y - p * (1.0 - p)).abs() < 4e-3, "{x} {y}");
        }
    }

    #[test]
    fn an_outlier_does_not_flatten_the_rest() {
        let mut xs = sample(2000);
        xs.push(1e6);
        let (low, high) = view(&xs).unwrap();
        assert!(low > -20.0 && high < 20.0, "{low} {high}");
    }

    #[test]
    fn samples_without_a_density() {
        assert_eq!(bandwidth(&[]), 0.0);
        assert_eq!(bandwidth(&[2.0; 9]), 0.0);
        assert_eq!(view(&[]), None);
        assert!(density(&[2.0; 9], (0.0, 4.0), 10).is_empty());
        assert!(density(&[1.0], (0.0, 4.0), 10).is_empty());
        let odd = [1.0, f64::NAN, f64::INFINITY, -1e300, 2.0];
        assert_eq!(drawable_sorted(odd), [1.0, 2.0]);
    }

    #[test]
    fn histograms_count_everything_once() {
        let xs = sample(1000);
        let bins = histogram(&xs, 13);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<usize>(), 1000);
        assert_eq!(bins[12].high, xs[999]);
        assert_eq!(histogram(&[3.0; 5], 9), [Bin { low: 2.5, high: 3.5, count: 5 }]);
        assert_eq!(histogram(&[], 9), []);
    }

    #[test]
    fn frequencies_are_for_whole_numbers() {
        assert_eq!(frequencies(&[0.0, 0.0, 1.0], 5), Some(vec![(0.0, 2), (1.0, 1)]));
        assert_eq!(frequencies(&[0.0, 0.5], 5), None);
        assert_eq!(frequencies(&[0.0, 1.0, 2.0], 2), None);
    }
}
