//! Exponentials, logarithms and powers: every derivative is the one before times a number over x, so none cancels.

use smidgen_value::math::{exp, pow};

/// `value`, and e^x for all derivatives.
pub fn exponential(value: f64, x: f64, out: &mut [f64]) {
    if let [first, rest @ ..] = out {
        *first = value;
        rest.fill(exp(x));
    }
}

/// `value`, and the derivatives of log x.
pub fn logarithm(value: f64, x: f64, out: &mut [f64]) {
    if let [first, rest @ ..] = out {
        *first = value;
        reciprocal(x, rest);
    }
}

/// 1/x, -1/x^2, 2/x^3, ...
pub fn reciprocal(x: f64, out: &mut [f64]) {
    let mut derivative = 1.0 / x;
    for (k, out) in (1..).zip(out) {
        *out = derivative;
        derivative *= -f64::from(k) / x;
    }
}

/// `value`, `slope`, and nothing from there on.
pub fn line(value: f64, slope: f64, out: &mut [f64]) {
    out.fill(0.0);
    out.iter_mut().zip([value, slope]).for_each(|(out, derivative)| *out = derivative);
}

pub fn square(x: f64, out: &mut [f64]) {
    out.fill(0.0);
    out.iter_mut().zip([x * x, 2.0 * x, 2.0]).for_each(|(out, derivative)| *out = derivative);
}

/// `value`, which is x^p, and its derivatives p x^(p - 1), p (p - 1) x^(p - 2), ...
pub fn power(value: f64, p: f64, x: f64, out: &mut [f64]) {
    let mut factor = 1.0;
    let mut last = value;
    for (k, out) in (0..).map(f64::from).zip(out) {
        // By division where that keeps the digits; at 0, and where a power has left the doubles, anew.
        let by_division = if k == 0.0 { value } else { last * (p - k + 1.0) / x };
        *out = if factor == 0.0 {
            0.0
        } else if by_division.is_normal() {
            by_division
        } else {
            factor * pow(x, p - k)
        };
        last = *out;
        factor *= p - k;
    }
}
