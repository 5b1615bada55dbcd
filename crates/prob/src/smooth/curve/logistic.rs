//! The logistic curve p(x) = 1/(1 + e^-x), its logarithm and its inverse.
//!
//! With w = p (1 - p) and s = 1 - 2p, w' = w s and s' = -2w, so the derivatives of p are w times a polynomial in w, and
//! times s for even orders. Neither w nor s is found by a difference.

use smidgen_value::link::logit;
use smidgen_value::math::{exp, expm1, ln_1p};

/// Polynomials in w, two orders each: p' = w, p'' = w s, p''' = w (1 - 6w), p'''' = w s (1 - 12w), ...
const BY_W: [[f64; 4]; 8] = [
    [1.0, 0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0, 0.0],
    [1.0, -6.0, 0.0, 0.0],
    [1.0, -12.0, 0.0, 0.0],
    [1.0, -30.0, 120.0, 0.0],
    [1.0, -60.0, 360.0, 0.0],
    [1.0, -126.0, 1680.0, -5040.0],
    [1.0, -252.0, 5040.0, -20160.0],
];

/// What all is made of.
struct Point {
    x: f64,
    /// e^-|x|
    e: f64,
}

impl Point {
    fn new(x: f64) -> Point {
        Point { x, e: exp(-x.abs()) }
    }

    /// p(x), or 1 - p(x) = p(-x).
    fn chance(&self, of_success: bool) -> f64 {
        let numerator = if (self.x >= 0.0) == of_success { 1.0 } else { self.e };
        numerator / (1.0 + self.e)
    }

    /// The derivatives of p from the first on, times `sign`.
    fn slopes(&self, sign: f64, out: &mut [f64]) {
        let Point { x, e } = *self;
        let one_minus_e = if e > 0.75 { -expm1(-x.abs()) } else { 1.0 - e };
        let w = e / ((1.0 + e) * (1.0 + e));
        let s = -(one_minus_e / (1.0 + e)).copysign(x);
        for (k, (out, [a, b, c, d])) in out.iter_mut().zip(BY_W).enumerate() {
            let factor = if k % 2 == 0 { w } else { w * s };
            *out = sign * factor * (a + w * (b + w * (c + w * d)));
        }
    }
}

pub fn derivatives(x: f64, out: &mut [f64]) {
    let point = Point::new(x);
    if let [value, rest @ ..] = out {
        *value = point.chance(true);
        point.slopes(1.0, rest);
    }
}

/// Of log p(x), whose slope is 1 - p(x).
pub fn of_logarithm(x: f64, out: &mut [f64]) {
    let point = Point::new(x);
    if let [value, rest @ ..] = out {
        *value = x.min(0.0) - ln_1p(point.e);
        if let [slope, rest @ ..] = rest {
            *slope = point.chance(false);
            point.slopes(-1.0, rest);
        }
    }
}

/// Of log p - log(1 - p), for p between 0 and 1: (k - 1)! ((1 - p)^-k - (-p)^-k). Of odd order they are least at 1/2, of
/// even order they increase.
pub fn of_inverse(p: f64, out: &mut [f64]) {
    if let [value, rest @ ..] = out {
        *value = logit(p);
        let (mut rising, mut falling) = (1.0 / (1.0 - p), 1.0 / p);
        for (k, out) in (1..).zip(rest) {
            *out = rising + falling;
            rising *= f64::from(k) / (1.0 - p);
            falling *= -f64::from(k) / p;
        }
    }
}
