//! log(1 - e^x) for x < 0, and log(1 - exp(-e^x)), the log probability of an event under the complementary log-log link.
//!
//! With b = 1/(e^-x - 1), b' = b (1 + b), so the k-th derivative of log(1 - e^x) is minus the sum over j of (j - 1)! S(k, j) b^j,
//! with Stirling numbers of the second kind: all terms are of one sign, and the derivatives decrease.
//!
//! With u = e^x the k-th derivative of F(u) with respect to x is the sum over i of S(k, i) u^i F^(i)(u). Where u is small that
//! cancels, and log(1 - e^-u) = log u - u/2 + the sum over n of B_2n u^2n / (2n (2n)!) is taken term by term.

use smidgen_value::math::{LN_2, exp, expm1, ln, ln_1p};

use super::ORDERS;

/// S(k, j), of k things in j groups.
const STIRLING: [[f64; ORDERS]; ORDERS] = [
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 7.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 15.0, 25.0, 10.0, 1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 31.0, 90.0, 65.0, 15.0, 1.0, 0.0, 0.0],
    [0.0, 1.0, 63.0, 301.0, 350.0, 140.0, 21.0, 1.0, 0.0],
    [0.0, 1.0, 127.0, 966.0, 1701.0, 1050.0, 266.0, 28.0, 1.0],
];

/// Of log(1 - e^x).
pub fn log_1m_exp(x: f64, out: &mut [f64]) {
    let [value, rest @ ..] = out else { return };
    *value = if x > -LN_2 { ln(-expm1(x)) } else { ln_1p(-exp(x)) };
    let b = 1.0 / expm1(-x);
    for (k, out) in (1..).zip(rest) {
        // b (0! S(k, 1) + b (1! S(k, 2) + b (2! S(k, 3) + ...))), from the inside.
        let sum = |sum: f64, j: usize| b * (STIRLING[k][j] + j as f64 * sum);
        *out = -(1..=k).rev().fold(0.0, sum);
    }
}

/// Below this u = e^x the series is taken.
const SMALL: f64 = 1.0;

/// Beyond this u nothing is left of e^-u.
const LARGE: f64 = 746.0;

/// B_2n / (2n (2n)!), for n = 1, 2, ...
#[allow(clippy::unreadable_literal, clippy::excessive_precision)]
const SERIES: [f64; 18] = [
    0.041666666666666664,
    -0.00034722222222222224,
    5.5114638447971785e-06,
    -1.033399470899471e-07,
    2.08767569878681e-09,
    -4.403491782239578e-11,
    9.55895466477477e-13,
    -2.1185501852016142e-14,
    4.770034475709914e-16,
    -1.087434349279031e-17,
    2.5040921947091955e-19,
    -5.814360285755218e-21,
    1.3595027075497952e-22,
    -3.1976847953705525e-24,
    7.559841507792277e-26,
    -1.7952470840225633e-27,
    4.279919045926073e-29,
    -1.0238874835181417e-30,
];

/// Of log(1 - exp(-e^x)).
pub fn log_1m_exp_exp(x: f64, out: &mut [f64]) {
    let u = exp(x);
    let mut by_u = [0.0; ORDERS];
    if u < SMALL {
        out.iter_mut().zip([x, 1.0]).for_each(|(out, line)| *out = line);
        if let Some(rest) = out.get_mut(2..) {
            rest.fill(0.0);
        }
        out.iter_mut().for_each(|out| *out -= 0.5 * u);
        let mut power = 1.0;
        for (n, coefficient) in (1..).zip(SERIES) {
            power *= u * u;
            let mut term = coefficient * power;
            for out in out.iter_mut() {
                *out += term;
                term *= 2.0 * f64::from(n);
            }
        }
    } else if u < LARGE {
        // With respect to u the signs alternate.
        log_1m_exp(-u, &mut by_u[..out.len()]);
        let mut power = 1.0;
        for derivative in &mut by_u {
            *derivative *= power;
            power *= -u;
        }
        for (out, stirling) in out.iter_mut().zip(STIRLING) {
            *out = stirling.iter().zip(by_u).map(|(count, derivative)| count * derivative).sum();
        }
    } else {
        out.fill(0.0);
    }
}
