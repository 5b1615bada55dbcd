//! log(e^-κ I_0(κ)) for κ >= 0, with which von Mises' law is normalised.
//!
//! It is the log of the mean of e^(-κ c) over the circle, c = 1 - cos θ, so its k-th derivative is (-1)^k times the k-th
//! cumulant of c under von Mises' law: sums over equally spaced angles, which for functions of an angle, and for bells, are exact to
//! rounding with a few dozen of them.

use smidgen_value::math::{HALF_LN_2PI, PI, atan2, exp, ln, ln_1p, sin, xovery};

use super::ORDERS;
use super::cumulants::from_moments;

/// Angles from 0 to the last one.
const ANGLES: i32 = 32;

/// κ c is this at the last angle, where the law has nothing left, or that angle is π.
const REACH: f64 = 60.0;

/// log(e^-κ I_0(κ)) and its derivative, I_1(κ) / I_0(κ) - 1.
pub fn value_and_slope(kappa: f64) -> (f64, f64) {
    // The terms are powers of kappa: the derivative of the sum is the sum of n times the term.
    let (mut term, mut sum, mut weighted, mut n) = (1.0, 0.0, 0.0, 0.0);
    if kappa < 30.0 {
        // The sum over n > 0 of (kappa / 2)^2n / n!^2.
        while term > 1e-17 * sum {
            n += 1.0;
            term *= 0.25 * kappa * kappa / (n * n);
            sum += term;
            weighted += n * term;
        }
        return (ln_1p(sum) - kappa, 2.0 * xovery(weighted, kappa * (1.0 + sum)) - 1.0);
    }
    // The asymptotic series, whose smallest term is far below rounding from 30 on.
    while term > 1e-17 {
        n += 1.0;
        term *= (2.0 * n - 1.0) * (2.0 * n - 1.0) / (8.0 * kappa * n);
        sum += term;
        weighted += n * term;
    }
    (ln_1p(sum) - HALF_LN_2PI - 0.5 * ln(kappa), -(weighted / (1.0 + sum) + 0.5) / kappa)
}

pub fn log_scaled(kappa: f64, out: &mut [f64]) {
    if out.len() > 2 {
        higher(kappa, out);
    }
    let (value, slope) = value_and_slope(kappa);
    out.iter_mut().zip([value, slope]).for_each(|(out, derivative)| *out = derivative);
}

/// The derivatives from the second on.
fn higher(kappa: f64, out: &mut [f64]) {
    let half_sine = (0.5 * REACH / kappa).min(1.0).sqrt();
    let last = if half_sine < 1.0 {
        2.0 * atan2(half_sine, (1.0 - half_sine * half_sine).sqrt())
    } else {
        PI
    };
    let mut law = [(0.0, 0.0); ANGLES as usize + 1];
    for (j, place) in (0..=ANGLES).zip(&mut law) {
        let half_sine = sin(0.5 * last * f64::from(j) / f64::from(ANGLES));
        let c = 2.0 * half_sine * half_sine;
        // The first and the last angle stand for themselves, the others for their mirror images too.
        let weight = if j == 0 || j == ANGLES { 0.5 } else { 1.0 };
        *place = (c, weight * exp(-kappa * c));
    }
    let mass: f64 = law.iter().map(|(_, p)| p).sum();
    let mean = law.iter().map(|(c, p)| c * p).sum::<f64>() / mass;
    // Around the mean and in units of it, whose powers may be no doubles.
    let mut moments = [0.0; ORDERS];
    for (c, p) in law {
        let mut power = p / mass;
        for moment in &mut moments[..out.len()] {
            *moment += power;
            power *= c / mean - 1.0;
        }
    }
    (moments[0], moments[1]) = (1.0, 0.0);
    let mut unit = 1.0;
    let cumulants = from_moments(&moments[..out.len()]);
    for (out, cumulant) in out.iter_mut().zip(cumulants) {
        *out = cumulant * unit;
        unit *= -mean;
    }
}
