//! The curves that most rows are made of, in all lanes at once: with two derivatives, and the bounds of the third.

use pulp::{Simd, WithSimd};

use super::Wide;
use super::elementary::{exp_within, ln_1p_up_to_one};

/// Where |f'''| of the log of the logistic curve is largest: log(2 + √3).
const STEEPEST: f64 = 1.316_957_896_924_816_8;

/// Ranges are widened as those of [`smidgen_prob::smooth::Curve::ranges`] are; where they are all but 0 by rounding.
const WIDENED: f64 = 1.0 + 1e-9;
const NOISE: f64 = 1e-15;

/// Beyond this e^x is left to the slow way.
const LARGE: f64 = 700.0;

impl Wide {
    /// The log of the logistic curve, with its first and second derivatives.
    pub(crate) fn log_logistics(self, x: &[f64], value: &mut [f64], slopes: [&mut [f64]; 2]) {
        widely!(
            self.0,
            _simd,
            { x: &'a [f64], value: &'a mut [f64], slopes: [&'a mut [f64]; 2] } -> (),
            {
                let lanes = value.len();
                let [first, second] = slopes;
                let (x, first, second) = (&x[..lanes], &mut first[..lanes], &mut second[..lanes]);
                for l in 0..lanes {
                    let size = x[l].abs();
                    let e = exp_within(-size);
                    let inverse = 1.0 / (1.0 + e);
                    let (excess, rest) = if x[l] < 0.0 { (size, inverse) } else { (0.0, e * inverse) };
                    value[l] = -(excess + ln_1p_up_to_one(e));
                    first[l] = rest;
                    second[l] = -(e * inverse * inverse);
                }
            }
        );
    }

    /// e^x, unless some x is too large.
    pub(crate) fn exponentials(self, x: &[f64], out: &mut [f64]) -> bool {
        widely!(
            self.0,
            _simd,
            { x: &'a [f64], out: &'a mut [f64] } -> bool,
            {
                let x = &x[..out.len()];
                let mut largest = 0.0;
                for l in 0..out.len() {
                    out[l] = exp_within(x[l]);
                    largest = if x[l] < largest { largest } else { x[l] };
                }
                largest < LARGE
            }
        )
    }

    /// The largest third derivative of log logistic(a) for a in [lo, hi] that moves by a1: |f'''| = u (1 − u)/(1 + u)³ with
    /// u = e^−|a|, which grows up to its steepest point and falls from there on.
    pub(crate) fn log_logistic_thirds(self, lo: &[f64], hi: &[f64], a1: &[f64], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { lo: &'a [f64], hi: &'a [f64], a1: &'a [f64], out: &'a mut [f64] } -> (),
            {
                let lanes = out.len();
                let (lo, hi, a1) = (&lo[..lanes], &hi[..lanes], &a1[..lanes]);
                for l in 0..lanes {
                    let (left, right) = (lo[l].abs(), hi[l].abs());
                    let farthest = if left > right { left } else { right };
                    let nearest = if left > right { right } else { left };
                    let nearest = if lo[l] < 0.0 && hi[l] > 0.0 { 0.0 } else { nearest };
                    let at = if STEEPEST > nearest { STEEPEST } else { nearest };
                    let at = if at < farthest { at } else { farthest };
                    let u = exp_within(-at);
                    let sum = 1.0 + u;
                    let third = u * (1.0 - u) / (sum * sum * sum);
                    let n = a1[l];
                    let bound = (third * WIDENED + NOISE) * n * n * n;
                    out[l] = if farthest < f64::MAX { bound } else { f64::INFINITY };
                }
            }
        );
    }
}

#[cfg(test)]
mod tests {
    use smidgen_prob::smooth::Curve;

    use super::*;

    #[test]
    fn curves_are_those_of_the_library() {
        let x: Vec<f64> =
            (-400..=400).map(|k| f64::from(k) * 0.05).chain([-800.0, 750.0]).collect();
        let (mut value, mut first, mut second) = (x.clone(), x.clone(), x.clone());
        Wide::default().log_logistics(&x, &mut value, [&mut first, &mut second]);
        let mut want = [0.0; 3];
        for (l, x) in x.iter().enumerate() {
            Curve::LogLogistic.derivatives(*x, &mut want);
            for (found, want) in [value[l], first[l], second[l]].iter().zip(want) {
                assert!(
                    (found - want).abs() <= 1e-14 * (want.abs() + 1e-290),
                    "{x}: {found} {want}"
                );
            }
        }
        let x = &x[..801];
        let mut out = x.to_vec();
        assert!(Wide::default().exponentials(x, &mut out));
        for (x, out) in x.iter().zip(&out) {
            assert!((out / Curve::Exp.value(*x) - 1.0).abs() < 1e-14);
        }
        assert!(!Wide::default().exponentials(&[1.0, 750.0], &mut [0.0; 2]));
    }

    #[test]
    fn bounds_of_thirds_are_those_of_the_library() {
        let ends: Vec<f64> = (-60..=60).map(|k| f64::from(k) * 0.11).collect();
        for lo in &ends {
            for hi in ends.iter().filter(|hi| *hi >= lo) {
                let mut found = [0.0];
                Wide::default().log_logistic_thirds(&[*lo], &[*hi], &[1.0], &mut found);
                let most = Curve::LogLogistic.range(3, *lo, *hi).expect("a range").magnitude();
                assert!(found[0] <= most * (1.0 + 1e-8) + 2e-15, "{lo} {hi}: {} {most}", found[0]);
                for k in 0..=20 {
                    let mut f = [0.0; 4];
                    Curve::LogLogistic.derivatives(lo + (hi - lo) * f64::from(k) / 20.0, &mut f);
                    assert!(found[0] >= f[3].abs(), "{lo} {hi}: {} {}", found[0], f[3]);
                }
            }
        }
        let mut open = [0.0; 2];
        let infinite = [f64::NEG_INFINITY, f64::NAN];
        Wide::default().log_logistic_thirds(&infinite, &[1.0, f64::NAN], &[1.0; 2], &mut open);
        assert_eq!(open, [f64::INFINITY; 2]);
    }
}
