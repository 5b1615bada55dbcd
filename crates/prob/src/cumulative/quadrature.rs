//! Distribution functions as integrals of the density, outwards from x: relative to the density there, so that the far
//! tails keep their digits. Panels double in width from the distance over which the density changes; each is a
//! Gauss-Legendre rule of twenty points.

use smidgen_value::math::{HALF_LN_2PI, PI, atan2, exp, ln, sin};

use super::{Side, log_complement};
use crate::smooth::{Curve, log_scaled_bessel};
use crate::support::wrap;

/// Nodes in (0, 1) and weights of the rule on (-1, 1), which is symmetric.
const RULE: [(f64, f64); 10] = [
    (0.9931285991850949, 0.017614007139152118),
    (0.9639719272779138, 0.04060142980038694),
    (0.912234428251326, 0.06267204833410907),
    (0.8391169718222188, 0.08327674157670475),
    (0.7463319064601508, 0.10193011981724044),
    (0.636053680726515, 0.11819453196151843),
    (0.5108670019508271, 0.13168863844917664),
    (0.37370608871541955, 0.14209610931838204),
    (0.22778585114164507, 0.14917298647260374),
    (0.07652652113349734, 0.15275338713072584),
];

/// What a panel may add and still not count.
const NEGLIGIBLE: f64 = 1e-18;

/// Where the log density is below this, the density falls off as an exponential to twelve digits of the logarithm.
const FAR: f64 = -1e6;

/// The integrals of two functions over (a, b).
fn panel(a: f64, b: f64, f: &dyn Fn(f64) -> [f64; 2]) -> [f64; 2] {
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    let mut sums = [0.0; 2];
    for (node, weight) in RULE {
        for at in [middle - half * node, middle + half * node] {
            let values = f(at);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * half * value);
        }
    }
    sums
}

/// The integrals of two functions from 0 to `end`, by panels that begin with this width and have at most `widest`.
fn outwards(width: f64, widest: f64, end: f64, f: &dyn Fn(f64) -> [f64; 2]) -> [f64; 2] {
    let (mut from, mut width) = (0.0, width.min(widest));
    let mut sums = [0.0; 2];
    while from < end {
        let to = (from + width).min(end);
        let found = panel(from, to, f);
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
        // Neither does what is no number.
        let counts = found[0] > NEGLIGIBLE * sums[0];
        if !counts || to <= from {
            break;
        }
        (from, width) = (to, to.min(widest).max(width));
    }
    sums
}

// ---------------------------------------------------------------- the skew normal law

/// log(2 phi(z) Phi(shape z)), up to what does not depend on z.
fn skew(z: f64, shape: f64) -> f64 {
    Curve::LogNormalCdf.value(shape * z) - 0.5 * z * z
}

/// log P(Z <= z) and log P(Z > z) of location 0 and scale 1. The density falls off faster than an exponential on either
/// side; between 0 and the median it rises over a distance of 1/|shape|.
pub fn skew_normal(z: f64, shape: f64) -> [f64; 2] {
    if shape < 0.0 {
        let [below, above] = skew_normal(-z, -shape);
        return [above, below];
    }
    let tail = |direction: f64| {
        let mut slopes = [0.0; 2];
        Curve::LogNormalCdf.derivatives(shape * z, &mut slopes);
        let steepness = (shape * slopes[1] - z).abs().max(1.0);
        let start = skew(z, shape);
        if start < FAR {
            return start + ln(2.0 / steepness) - HALF_LN_2PI;
        }
        let integrand = |u: f64| [exp(skew(z + direction * u, shape) - start), 0.0];
        let [integral, _] = outwards(1.0 / steepness, 1.0, f64::INFINITY, &integrand);
        start + ln(2.0 * integral) - HALF_LN_2PI
    };
    if z <= 0.0 {
        let below = tail(-1.0).min(-f64::MIN_POSITIVE);
        return [below, log_complement(below)];
    }
    let above = tail(1.0).min(-f64::MIN_POSITIVE);
    if above < -0.7 {
        return [log_complement(above), above];
    }
    // P(Z <= 0) is known.
    let at_zero = atan2(1.0, shape) / PI;
    let integrand = |u: f64| [2.0 * exp(skew(u, shape) - HALF_LN_2PI), 0.0];
    let [between, _] = outwards(1.0 / shape.max(1.0), 0.5, z, &integrand);
    let below = ln(at_zero + between);
    [below, log_complement(below)]
}

/// How a quantile of the skew normal law moves with its shape, over its scale: from
/// dF/dshape = -exp(-z²(1 + shape²)/2) / (π (1 + shape²)).
pub fn skew_normal_velocity(z: f64, shape: f64) -> f64 {
    let w = shape * z;
    exp(-0.5 * w * w - Curve::LogNormalCdf.value(w) - HALF_LN_2PI) / (1.0 + shape * shape)
}

// ---------------------------------------------------------------- the von Mises law

/// log ∫ exp(kappa (cos t - 1)) dt over (a, b), and the mean of cos t - 1 there; 0 is at an end of it or outside, and so
/// are π and -π: the density is monotonous.
fn arc(mut a: f64, mut b: f64, kappa: f64) -> (f64, f64) {
    if b <= 0.0 {
        (a, b) = (-b, -a);
    }
    let length = b - a;
    if length <= 0.0 {
        return (f64::NEG_INFINITY, 0.0);
    }
    let width = (1.0 / (1.0 + kappa.sqrt())).min(1.0 / (1.0 + kappa * sin(a)));
    let start = -2.0 * kappa * sin(0.5 * a) * sin(0.5 * a);
    let integrand = |u: f64| {
        let density = exp(-2.0 * kappa * sin(0.5 * u) * sin(a + 0.5 * u));
        let half = sin(0.5 * (a + u));
        [density, -2.0 * half * half * density]
    };
    let [total, cosine] = outwards(width, 0.5, length, &integrand);
    (start + ln(total), cosine / total)
}

/// One side of the law: its log probability, and the slope of that with kappa.
fn vonmises_side(side: Side, x: f64, mu: f64, kappa: f64) -> (f64, f64) {
    let centre = wrap(mu);
    let (from, to) = match side {
        Side::Below => (-PI - centre, x - centre),
        Side::Above => (x - centre, PI - centre),
    };
    // Cut where the density turns, and brought to the turn around the centre.
    let mut pieces = Vec::with_capacity(4);
    for (k, turn) in [(-2.0, 2.0), (-1.0, 0.0), (0.0, 0.0), (1.0, -2.0)] {
        let (a, b) = (from.max(k * PI), to.min((k + 1.0) * PI));
        if a < b {
            pieces.push(arc(a + turn * PI, b + turn * PI, kappa));
        }
    }
    let largest = pieces.iter().map(|(log, _)| *log).fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return (largest, 0.0);
    }
    let weight = |log: f64| exp(log - largest);
    let total: f64 = pieces.iter().map(|(log, _)| weight(*log)).sum();
    let cosine: f64 = pieces.iter().map(|(log, mean)| weight(*log) * mean).sum::<f64>() / total;
    let (log_bessel, by_kappa) = log_scaled_bessel(kappa);
    let log_p = largest + ln(total) - 2.0 * HALF_LN_2PI - log_bessel;
    (log_p.min(0.0), cosine - by_kappa)
}

/// log P(X <= x) and log P(X > x) on (-π, π].
pub fn vonmises(x: f64, mu: f64, kappa: f64) -> [f64; 2] {
    [Side::Below, Side::Above].map(|side| vonmises_side(side, x, mu, kappa).0)
}

/// How a quantile of the von Mises law moves with mu, and with kappa.
pub fn vonmises_velocity(x: f64, mu: f64, kappa: f64) -> [f64; 2] {
    let log_density = |x: f64| {
        let half = sin(0.5 * (x - mu));
        -2.0 * kappa * half * half - 2.0 * HALF_LN_2PI - log_scaled_bessel(kappa).0
    };
    let here = log_density(x);
    let below = vonmises_side(Side::Below, x, mu, kappa);
    let above = vonmises_side(Side::Above, x, mu, kappa);
    let with_kappa = match below.0 < above.0 {
        true => -exp(below.0 - here) * below.1,
        false => exp(above.0 - here) * above.1,
    };
    [1.0 - exp(log_density(-PI) - here), with_kappa]
}
