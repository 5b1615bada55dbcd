//! Quantiles: where a side has a given probability, by halving in a coordinate without limits.

use smidgen_value::Value;
use smidgen_value::math::{PI, exp, ln, ln_1p, logistic};

use super::{Side, log_probability};
use crate::law::Inner;
use crate::support::Support;

/// Halvings in one coordinate until nothing is left of its doubles.
const HALVINGS: usize = 200;

/// A discrete law's distribution function may be this much below a probability, by rounding.
const ROUNDING: f64 = 1e-14;

/// The least x with P(X <= x) >= p, for p from 0 to 1. None for a law without a distribution function, or arguments out of its
/// domain.
pub fn quantile(inner: Inner, p: f64, args: &[f64]) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    if p <= 0.5 {
        at_log(inner, Side::Below, ln(p), args)
    } else {
        at_log(inner, Side::Above, ln_1p(-p), args)
    }
}

/// The least x at which the side below has at least, or the side above at most, this log probability.
pub fn at_log(inner: Inner, side: Side, log_p: f64, args: &[f64]) -> Option<f64> {
    let values: Vec<Value> = args.iter().map(|x| Value::Number(*x)).collect();
    let support = inner.support(&values.iter().collect::<Vec<_>>()).ok()?;
    let at = |x: f64| log_probability(inner, side, x, args, false).map(|(log_p, _)| log_p);
    at(1.0)?;
    let has_come = |x: f64| {
        at(x).is_some_and(|found| match side {
            Side::Below => found >= log_p - ROUNDING,
            Side::Above => found <= log_p + ROUNDING,
        })
    };
    match support {
        Support::Integers { low, high } => Some(least_count(low, high, has_come)),
        Support::Reals => Some(halve((-709.0, 709.0), &|y| 0.5 * (exp(y) - exp(-y)), has_come)),
        Support::Interval { low, high } if high == f64::INFINITY => {
            Some(halve((-745.0, 709.0), &|y| low + exp(y), has_come))
        }
        Support::Interval { low, high } if low == f64::NEG_INFINITY => {
            Some(halve((-709.0, 745.0), &|y| high - exp(-y), has_come))
        }
        Support::Interval { .. } | Support::Circle => {
            let (low, high) = match support {
                Support::Interval { low, high } => (low, high),
                _ => (-PI, PI),
            };
            let width = high - low;
            // From the end that is nearer, whose distance has all its digits.
            let place = |y: f64| match y < 0.0 {
                true => low + width * logistic(y),
                false => high - width * logistic(-y),
            };
            Some(halve((-745.0, 745.0), &place, has_come))
        }
        _ => None,
    }
}

fn halve(
    (mut a, mut b): (f64, f64),
    place: &dyn Fn(f64) -> f64,
    has_come: impl Fn(f64) -> bool,
) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (a + b);
        if middle <= a || middle >= b {
            break;
        }
        if has_come(place(middle)) {
            b = middle;
        } else {
            a = middle;
        }
    }
    place(b)
}

fn least_count(low: f64, high: f64, has_come: impl Fn(f64) -> bool) -> f64 {
    if has_come(low) {
        return low;
    }
    // It has come at b and not at a.
    let (mut a, mut b) = (low, low + 1.0);
    while !has_come(b) {
        if b >= high || b - low > 1e15 {
            return high.min(b);
        }
        (a, b) = (b, (low + 2.0 * (b - low)).min(high));
    }
    while b - a > 1.0 {
        let middle = (0.5 * (a + b)).floor();
        if has_come(middle) {
            b = middle;
        } else {
            a = middle;
        }
    }
    b
}
