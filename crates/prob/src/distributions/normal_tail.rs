//! The standard normal law between two points, and its moments there, without cancellation in
//! the tails.

use smidgen_value::math::{HALF_LN_2PI, LN_2, erf, erfc, exp, ln};
use std::f64::consts::FRAC_1_SQRT_2;

use crate::smooth::Curve;

/// log of the probability of (a, b), for a < 0 < b.
pub fn log_mass_around_zero(a: f64, b: f64) -> f64 {
    ln(erf(b * FRAC_1_SQRT_2) - erf(a * FRAC_1_SQRT_2)) - LN_2
}

/// log of the probability of (a, b), either of which may be infinite; their distance is given too, because the difference of
/// the two may have lost it.
pub fn log_mass(a: f64, b: f64, width: f64) -> f64 {
    let log_phi = |z: f64| -0.5 * z * z - HALF_LN_2PI;
    if a == f64::NEG_INFINITY {
        Curve::LogNormalCdf.value(b)
    } else if b == f64::INFINITY {
        Curve::LogNormalCdf.value(-a)
    } else if a >= 0.0 {
        log_phi(a) + log_mass_from(a, width)
    } else if b <= 0.0 {
        log_phi(b) + log_mass_from(-b, width)
    } else {
        log_mass_around_zero(a, b)
    }
}

/// The law between two points.
pub struct Between {
    /// Its density at the ends.
    pub at_low: f64,
    pub at_high: f64,
    pub mean: f64,
    pub mean_square: f64,
}

/// For the points a < 0 < b.
pub fn between_around_zero(a: f64, b: f64) -> Between {
    let log_mass = log_mass_around_zero(a, b);
    let density = |z: f64| exp(-0.5 * z * z - HALF_LN_2PI - log_mass);
    let (at_low, at_high) = (density(a), density(b));
    if b - a < 2.0 {
        // The two ends differ too little to subtract one density from the other.
        let moment =
            |power: i32| integral(b - a, |t| (a + t).powi(power) * exp(-0.5 * (a + t) * (a + t)));
        let mass = moment(0);
        return Between { at_low, at_high, mean: moment(1) / mass, mean_square: moment(2) / mass };
    }
    let flow = |z: f64, density: f64| if density == 0.0 { 0.0 } else { z * density };
    Between {
        at_low,
        at_high,
        mean: at_low - at_high,
        mean_square: 1.0 + flow(a, at_low) - flow(b, at_high),
    }
}

/// The mean of the law on (a, a + `width`) minus a, for a >= 0.
pub fn mean_beyond(a: f64, width: f64) -> f64 {
    let fall = width * (a + 0.5 * width);
    if fall <= 2.0 {
        return integral(width, |t| t * exp(-t * (a + 0.5 * t))) / integral_over(a, width);
    }
    if fall >= 800.0 {
        return mean_excess(a);
    }
    let (near, far) = (scaled_tail(a), exp(-fall) * scaled_tail(a + width));
    (mean_excess(a) * near - (width + mean_excess(a + width)) * far) / (near - far)
}

/// log of the integral over t from 0 to `width` of exp(-a t - t^2 / 2), for a >= 0: the mass of
/// (a, a + `width`) against the density at a.
pub fn log_mass_from(a: f64, width: f64) -> f64 {
    let fall = width * (a + 0.5 * width);
    if fall <= 2.0 {
        // The two ends differ too little to subtract one tail from the other.
        return ln(integral_over(a, width));
    }
    let beyond = if fall < 800.0 { exp(-fall) * scaled_tail(a + width) } else { 0.0 };
    ln(scaled_tail(a) - beyond) + HALF_LN_2PI
}

/// P(Z > t) e^(t^2 / 2), for t >= 0.
fn scaled_tail(t: f64) -> f64 {
    if t < 5.0 {
        return 0.5 * erfc(t * FRAC_1_SQRT_2) * exp(0.5 * t * t);
    }
    exp(-HALF_LN_2PI) / continued_fraction(t, 1)
}

/// The mean of Z - t given Z > t, for t >= 0.
fn mean_excess(t: f64) -> f64 {
    if t < 5.0 { exp(-HALF_LN_2PI) / scaled_tail(t) - t } else { 1.0 / continued_fraction(t, 2) }
}

/// t + n / (t + (n + 1) / (t + (n + 2) / ...)) from the far end, for t of 5 or more. With n = 1
/// it is the density at t over the probability of the tail; the error of k terms is about
/// exp(-t sqrt(8 k)).
fn continued_fraction(t: f64, n: i32) -> f64 {
    let terms = 8 + (400.0 / (t * t)) as i32;
    (n..=terms).rev().fold(t, |rest, n| t + f64::from(n) / rest)
}

/// Gauss-Legendre nodes and weights of order 24, one half of each.
const NODES: [(f64, f64); 6] = [
    (0.125_233_408_511_468_9, 0.249_147_045_813_402_8),
    (0.367_831_498_998_180_2, 0.233_492_536_538_354_8),
    (0.587_317_954_286_617_5, 0.203_167_426_723_065_92),
    (0.769_902_674_194_304_7, 0.160_078_328_543_346_22),
    (0.904_117_256_370_474_9, 0.106_939_325_995_318_43),
    (0.981_560_634_246_719_2, 0.047_175_336_386_511_83),
];

fn integral_over(a: f64, width: f64) -> f64 {
    integral(width, |t| exp(-t * (a + 0.5 * t)))
}

/// The integral of f from 0 to `width`.
fn integral(width: f64, f: impl Fn(f64) -> f64) -> f64 {
    let half = 0.5 * width;
    let both =
        |(node, weight): &(f64, f64)| weight * (f(half - half * node) + f(half + half * node));
    half * NODES.iter().map(both).sum::<f64>()
}
