//! Distribution functions of laws of numbers: log P(X <= x) and log P(X > x), neither as a difference from 1, with
//! their derivatives; and quantiles.
//!
//! * Discrete laws are parts of beta and gamma laws ([`discrete`]); the few others are summed away from x, and the slopes of the sum are those
//!   of its terms.
//! * Continuous laws are a table by name ([`continuous`], [`incomplete`]). With f the density, a change of a
//!   parameter moves a quantile by v = dx/dθ, and d log P(X <= x)/dθ = -v f(x) / P(X <= x). Where v has no simple form (the
//!   shapes of gamma, beta and Student's t laws), the derivative is a difference of fourth order, good to nine digits.
//! * `skew_normal` and `vonmises` are integrals of their densities ([`quadrature`]).
//! * What has no distribution function here: laws that are made of others.

mod continuous;
mod discrete;
mod incomplete;
mod quadrature;
mod quantile;

use smidgen_value::Value;
use smidgen_value::math::{PI, exp, expm1, ln, ln_1p};

use crate::law::{Inner, Numbers};
use crate::support::Support;

pub use quantile::{at_log, quantile};

/// Which part of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// P(X <= x)
    Below,
    /// P(X > x)
    Above,
}

impl Side {
    /// 1 below, -1 above.
    pub(crate) fn sign(self) -> f64 {
        match self {
            Side::Below => 1.0,
            Side::Above => -1.0,
        }
    }

    pub fn other(self) -> Side {
        match self {
            Side::Below => Side::Above,
            Side::Above => Side::Below,
        }
    }
}

/// log(1 - e^t), for t <= 0.
pub fn log_complement(t: f64) -> f64 {
    if t > -0.7 { ln(-expm1(t)) } else { ln_1p(-exp(t)) }
}

/// Terms of a sum before it is given up.
const MOST_TERMS: usize = 5_000_000;

/// Whether a law has a distribution function.
pub fn is_known(inner: Inner, support: &Support) -> bool {
    let is_discrete = matches!(support, Support::Integers { .. });
    continuous::is_known(inner.law.spec().name, is_discrete)
}

/// The log probability of one side, and, if they are wanted, the slopes of x and of the arguments. None for a law without a
/// distribution function, or arguments out of its domain.
pub fn log_probability(
    inner: Inner,
    side: Side,
    x: f64,
    args: &[f64],
    wanted: bool,
) -> Option<(f64, Numbers)> {
    let values: Vec<Value> = args.iter().map(|x| Value::Number(*x)).collect();
    let support = inner.support(&values.iter().collect::<Vec<_>>()).ok()?;
    let nothing = if wanted { Numbers::from_elem(0.0, 1 + args.len()) } else { Numbers::new() };
    let (low, high) = match support {
        Support::Reals => (f64::NEG_INFINITY, f64::INFINITY),
        Support::Interval { low, high } | Support::Integers { low, high } => (low, high),
        Support::Circle => (-PI, PI),
        _ => return None,
    };
    let is_discrete = matches!(support, Support::Integers { .. });
    if x.is_nan() {
        return None;
    }
    // Beyond an end.
    let below = x < low || (!is_discrete && x <= low);
    if below || x >= high {
        let is_certain = below == (side == Side::Above);
        // A law that is not there has no probability at all.
        continuous::is_known(inner.law.spec().name, is_discrete).then_some(())?;
        return Some((if is_certain { 0.0 } else { f64::NEG_INFINITY }, nothing));
    }
    if is_discrete {
        let k = x.floor();
        let found = discrete::log_probability(inner, side, k, args, wanted);
        return found.or_else(|| Some(summed(inner, side, k, args, (low, high), wanted)));
    }
    continuous::log_probability(inner, side, x, args, wanted)
}

/// From the smaller side if this one is nearly certain.
fn summed(
    inner: Inner,
    side: Side,
    k: f64,
    args: &[f64],
    ends: (f64, f64),
    wanted: bool,
) -> (f64, Numbers) {
    let (log_p, slopes) = sum(inner, side, k, args, ends, wanted);
    if log_p < -0.7 {
        return (log_p, slopes);
    }
    let (log_other, mut slopes) = sum(inner, side.other(), k, args, ends, wanted);
    let log_p = log_complement(log_other.min(-f64::MIN_POSITIVE));
    let ratio = -exp(log_other - log_p);
    slopes.iter_mut().for_each(|slope| *slope *= ratio);
    (log_p, slopes)
}

/// The terms from k downwards, or from k + 1 upwards.
fn sum(
    inner: Inner,
    side: Side,
    k: f64,
    args: &[f64],
    (low, high): (f64, f64),
    wanted: bool,
) -> (f64, Numbers) {
    let (mut i, step) = match side {
        Side::Below => (k, -1.0),
        Side::Above => (k + 1.0, 1.0),
    };
    let size = if wanted { 1 + args.len() } else { 0 };
    // Relative to the largest term so far.
    let (mut largest, mut total, mut slopes) =
        (f64::NEG_INFINITY, 0.0, Numbers::from_elem(0.0, size));
    let mut last = f64::NEG_INFINITY;
    for _ in 0..MOST_TERMS {
        if i < low || i > high {
            break;
        }
        let (log_term, term_slopes) = inner.slopes(i, args, wanted);
        if log_term > largest {
            let shrink = exp(largest - log_term);
            total *= shrink;
            slopes.iter_mut().for_each(|slope| *slope *= shrink);
            largest = log_term;
        }
        let term = exp(log_term - largest);
        if term > 0.0 {
            total += term;
            slopes.iter_mut().zip(&term_slopes).for_each(|(slope, s)| *slope += term * s);
        }
        // Falling, and too small to count.
        if log_term < last && term < 1e-19 * total {
            break;
        }
        last = log_term;
        i += step;
    }
    if largest == f64::NEG_INFINITY {
        return (largest, slopes);
    }
    slopes.iter_mut().for_each(|slope| *slope /= total);
    ((largest + ln(total)).min(0.0), slopes)
}
