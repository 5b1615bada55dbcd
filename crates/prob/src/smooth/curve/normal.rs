//! The normal distribution function Φ and its logarithm.
//!
//! Φ^(k) is the density times a Hermite polynomial. For log Φ the slope is h = φ/Φ with h' = -h (x + h). Far to the left x + h
//! cancels; there, with t = -x, log Φ = -t^2/2 - log(2 pi)/2 + log of the integral over y > 0 of exp(-t y - y^2/2), whose
//! derivatives are cumulants of y. The ratios r(n) = E y^n / E y^(n-1) satisfy r(n) = n / (t + r(n + 1)), a continued fraction of
//! positive numbers, and h = t + r(1).

use std::f64::consts::FRAC_1_SQRT_2;

use smidgen_value::math::{HALF_LN_2PI, erfc, exp, ln, ln_1p};

use super::ORDERS;
use super::cumulants::{from_moments, of_product};

fn density(x: f64) -> f64 {
    exp(-0.5 * x * x - HALF_LN_2PI)
}

fn probability(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

pub fn cdf(x: f64, out: &mut [f64]) {
    let [value, rest @ ..] = out else { return };
    *value = probability(x);
    // φ' = -x φ and φ^(n+1) = -x φ^(n) - n φ^(n-1)
    let (mut last, mut this) = (0.0, density(x));
    if this == 0.0 {
        return rest.fill(0.0);
    }
    for (n, out) in (0..).map(f64::from).zip(rest) {
        *out = this;
        (last, this) = (this, -x * this - n * last);
    }
}

/// Left of here the derivatives of log Φ are cumulants, and further left Φ itself is lost.
const LEFT: f64 = -1.5;
const FAR: f64 = 30.0;

pub fn log_cdf(x: f64, out: &mut [f64]) {
    let [value, rest @ ..] = out else { return };
    if x < LEFT {
        return log_cdf_left(-x, out);
    }
    *value = if x > 0.0 { ln_1p(-probability(-x)) } else { ln(probability(x)) };
    if let [h, ..] = rest {
        *h = density(x) / probability(x);
    }
    for n in 1..rest.len() {
        let of_x = |i: usize| [x, 1.0].get(i).copied().unwrap_or(0.0);
        rest[n] = -of_product(n - 1, |i| rest[i], |i| rest[i] + of_x(i));
    }
}

/// log Φ(-t) and its derivatives with respect to -t.
fn log_cdf_left(t: f64, out: &mut [f64]) {
    let value = if t < FAR { ln(probability(-t)) } else { f64::NAN };
    if let [only] = out
        && t < FAR
    {
        *only = value;
        return;
    }
    // From a far ratio, about the fixed point of its recursion, downwards.
    let far = 24 + (240.0 / (t * t)) as i32;
    let mut ratio = 2.0 * f64::from(far) / (t + (t * t + 4.0 * f64::from(far)).sqrt());
    let mut ratios = [0.0; ORDERS];
    for n in (1..far).rev() {
        ratio = f64::from(n) / (t + ratio);
        if let Some(place) = ratios.get_mut(n as usize) {
            *place = ratio;
        }
    }
    // Moments of y over its mean, which may be so small that its powers are none.
    let mean = ratios[1];
    let mut moments = [1.0; ORDERS];
    for n in 1..out.len() {
        moments[n] = moments[n - 1] * (ratios[n] / mean);
    }
    let cumulants = from_moments(&moments[..out.len()]);
    let mut unit = 1.0;
    for (out, cumulant) in out.iter_mut().zip(cumulants) {
        *out = cumulant * unit;
        unit *= mean;
    }
    let square = [t, -1.0];
    out.iter_mut().skip(1).zip(square).for_each(|(out, square)| *out += square);
    out[0] = if t < FAR { value } else { -0.5 * t * t - HALF_LN_2PI - ln(t + mean) };
}
