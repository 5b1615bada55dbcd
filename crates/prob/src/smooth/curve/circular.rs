//! Sine, cosine and tangent. The first two have their extremes at quarter turns; all derivatives of the tangent are
//! polynomials in it with positive coefficients, so those of odd order are least in the middle between two poles,
//! and those of even order increase.

use smidgen_value::math::{PI, cos, sin, tan};

use super::Interval;

const QUARTER: f64 = 0.5 * PI;

/// The derivatives of sin(x + `quarters` quarter turns).
pub fn sine(quarters: usize, x: f64, out: &mut [f64]) {
    let (s, c) = (sin(x), cos(x));
    let round = [s, c, -s, -c];
    for (k, out) in out.iter_mut().enumerate() {
        *out = round[(quarters + k) % 4];
    }
}

/// What sin(x + `quarters` quarter turns) reaches between lo and hi, both included in `ends`.
pub fn sine_range(quarters: usize, ends: Interval, lo: f64, hi: f64) -> Interval {
    // Numbers of quarter turns that are 1 modulo 4 are peaks, those that are 3 valleys. Rounding is covered by
    // searching a little further: what is just outside is hardly more than the end.
    let slack = 1e-9 * (1.0 + lo.abs().max(hi.abs()));
    let turn = |x: f64| x / QUARTER + (quarters % 4) as f64;
    let reaches = |place: f64| {
        let next = ((turn(lo - slack) - place) / 4.0).ceil() * 4.0 + place;
        next <= turn(hi + slack)
    };
    let mut range = ends;
    if reaches(1.0) {
        range.hi = 1.0;
    }
    if reaches(3.0) {
        range.lo = -1.0;
    }
    range
}

/// The middle between the poles on both sides of [lo, hi], if there is none inside.
pub fn tangent_branch(lo: f64, hi: f64) -> Option<f64> {
    let branch = |x: f64| (x / PI).round();
    (branch(lo) == branch(hi) && tan(lo) <= tan(hi)).then(|| branch(lo) * PI)
}

/// Coefficients of the derivatives of tan, by powers of tan: the next one is the derivative times 1 + tan^2.
const TANGENT: [&[f64]; 9] = [
    &[0.0, 1.0],
    &[1.0, 0.0, 1.0],
    &[0.0, 2.0, 0.0, 2.0],
    &[2.0, 0.0, 8.0, 0.0, 6.0],
    &[0.0, 16.0, 0.0, 40.0, 0.0, 24.0],
    &[16.0, 0.0, 136.0, 0.0, 240.0, 0.0, 120.0],
    &[0.0, 272.0, 0.0, 1232.0, 0.0, 1680.0, 0.0, 720.0],
    &[272.0, 0.0, 3968.0, 0.0, 12096.0, 0.0, 13440.0, 0.0, 5040.0],
    &[0.0, 7936.0, 0.0, 56320.0, 0.0, 129_024.0, 0.0, 120_960.0, 0.0, 40320.0],
];

pub fn tangent(x: f64, out: &mut [f64]) {
    let t = tan(x);
    for (out, coefficients) in out.iter_mut().zip(TANGENT) {
        *out = coefficients.iter().rfold(0.0, |sum, coefficient| sum * t + coefficient);
    }
}
