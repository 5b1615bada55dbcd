//! The standard normal law between two points, without cancellation in the tails.

use smidgen_value::math::{HALF_LN_2PI, LN_2, erf, erfc, exp, ln};
use std::f64::consts::FRAC_1_SQRT_2;

/// log of the probability of (a, b), for a < 0 < b.
pub fn log_mass_around_zero(a: f64, b: f64) -> f64 {
    ln(erf(b * FRAC_1_SQRT_2) - erf(a * FRAC_1_SQRT_2)) - LN_2
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
    // 1 / (t + 1 / (t + 2 / (t + 3 / ...))) from the far end; the error of n terms is about
    // exp(-t sqrt(8 n)).
    let terms = 8 + (400.0 / (t * t)) as i32;
    let tail = (1..=terms).rev().fold(t, |rest, n| t + f64::from(n) / rest);
    exp(-HALF_LN_2PI) / tail
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
    let half = 0.5 * width;
    let density = |t: f64| exp(-t * (a + 0.5 * t));
    let both = |(node, weight): &(f64, f64)| {
        weight * (density(half - half * node) + density(half + half * node))
    };
    half * NODES.iter().map(both).sum::<f64>()
}
