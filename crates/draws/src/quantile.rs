//! Sample quantiles by linear interpolation between order statistics (type 7 of Hyndman and
//! Fan 1996, "Sample quantiles in statistical packages"; numpy's default):
//! with h = (n - 1) p, the quantile is x_(floor h) + (h - floor h) (x_(floor h + 1) - x_(floor h)),
//! counted from 0.

/// The `p` quantile of ascending numbers; NaN when there are none or one is NaN.
///
/// # Panics
/// If `p` is no probability.
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    assert!((0.0..=1.0).contains(&p), "a quantile belongs to a probability");
    // In the order of `f64::total_cmp` a NaN is at one of the ends.
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return f64::NAN };
    if first.is_nan() || last.is_nan() {
        return f64::NAN;
    }
    let h = (sorted.len() - 1) as f64 * p;
    let below = h.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let (a, b, t) = (sorted[below], sorted[above], h - h.floor());
    if a == b || t == 0.0 {
        return a; // also where b - a would be infinite
    }
    // As numpy: from the nearer end, so that the result is monotone in t.
    if t < 0.5 { a + (b - a) * t } else { b - (b - a) * (1.0 - t) }
}

/// The `p` quantile of numbers in any order.
pub fn quantile(xs: &[f64], p: f64) -> f64 {
    quantile_of_sorted(&sorted(xs.iter().copied()), p)
}

/// Ascending, with any NaN at an end.
pub(crate) fn sorted(xs: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut xs: Vec<f64> = xs.into_iter().collect();
    xs.sort_unstable_by(f64::total_cmp);
    xs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_as_numpy() {
        let xs = [3.0, 1.0, 4.0, 1.5, 9.0];
        // numpy.quantile(xs, p)
        for (p, want) in [(0.0, 1.0), (0.05, 1.1), (0.5, 3.0), (0.95, 8.0), (1.0, 9.0)] {
            assert!((quantile(&xs, p) - want).abs() < 1e-14, "{p}");
        }
        assert_eq!(quantile(&[2.0], 0.3), 2.0);
        assert_eq!(quantile(&[1.0, f64::INFINITY], 0.0), 1.0);
        assert_eq!(quantile(&[f64::INFINITY; 2], 0.7), f64::INFINITY);
        assert!(quantile(&[], 0.5).is_nan());
        for nan in [f64::NAN, -f64::NAN] {
            assert!(quantile(&[1.0, nan, 2.0], 0.5).is_nan());
        }
    }
}
