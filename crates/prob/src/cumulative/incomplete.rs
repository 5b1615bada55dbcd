//! Incomplete gamma and beta functions by their logarithms, both sides: the series or the continued fraction, whichever
//! converges, and the other side as its complement. Cost: of the order of the root of the shape.

use smidgen_value::math::{ln, ln_1p};

use super::log_complement;
use crate::distributions::saddle_point::{log_binomial, log_gamma_kernel};

const MOST_STEPS: usize = 100_000;
const TINY: f64 = 1e-300;

/// log of the parts of a gamma law of this shape and rate 1 below and above t.
pub fn log_gamma_parts(shape: f64, t: f64) -> [f64; 2] {
    if t <= 0.0 {
        return [f64::NEG_INFINITY, 0.0];
    }
    if t == f64::INFINITY {
        return [0.0, f64::NEG_INFINITY];
    }
    let log_t = ln(t);
    // t^shape e^-t / Gamma(shape)
    let log_front = log_gamma_kernel(shape - 1.0, shape, t, log_t) + log_t;
    if t < shape + 1.0 {
        let (mut term, mut sum) = (1.0, 1.0);
        for n in 1..MOST_STEPS {
            term *= t / (shape + n as f64);
            sum += term;
            if term < 1e-17 * sum {
                break;
            }
        }
        let below = (log_front - ln(shape) + ln(sum)).min(0.0);
        return [below, log_complement(below)];
    }
    // 1 / (t + 1 - a - 1 (1 - a) / (t + 3 - a - ...)), by Lentz
    let mut b = t + 1.0 - shape;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / if b == 0.0 { TINY } else { b };
    let mut h = d;
    for n in 1..MOST_STEPS {
        let n = n as f64;
        let a = -n * (n - shape);
        b += 2.0;
        d = 1.0 / away_from_zero(a * d + b);
        c = away_from_zero(b + a / c);
        let factor = d * c;
        h *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    let above = (log_front + ln(h)).min(0.0);
    [log_complement(above), above]
}

fn away_from_zero(x: f64) -> f64 {
    if x.abs() < TINY { TINY } else { x }
}

/// log of the parts of a beta law below and above x, given with y = 1 - x.
pub fn log_beta_parts(a: f64, b: f64, x: f64, y: f64) -> [f64; 2] {
    if x <= 0.0 {
        return [f64::NEG_INFINITY, 0.0];
    }
    if y <= 0.0 {
        return [0.0, f64::NEG_INFINITY];
    }
    // By the smaller of x and y: beside a huge shape the other one is 1.
    let is_right = match y < x {
        true => y < (b + 1.0) / (a + b + 2.0),
        false => x > (a + 1.0) / (a + b + 2.0),
    };
    if is_right {
        let [above, below] = log_beta_parts_left(b, a, y, x);
        return [below, above];
    }
    log_beta_parts_left(a, b, x, y)
}

/// Left of about the mean: x^a y^b / (a B(a, b)) times a continued fraction.
fn log_beta_parts_left(a: f64, b: f64, x: f64, y: f64) -> [f64; 2] {
    // Of x and y the smaller one has all its digits.
    let log_front = if x <= y { log_binomial(a, b, x) } else { log_binomial(b, a, y) };
    let below = (log_front + ln(b / (a + b)) + ln(beta_fraction(a, b, x))).min(0.0);
    [below, if below == 0.0 { ln_1p(-1.0) } else { log_complement(below) }]
}

/// By Lentz, two steps at a time.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..MOST_STEPS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}
