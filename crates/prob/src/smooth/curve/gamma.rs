//! log Gamma(x) for x > 0, whose derivatives are the polygamma functions.
//!
//! psi^(m)(x) = psi^(m)(x + 1) - (-1)^m m! x^-(m+1) until x is 16, from where the asymptotic series is exact to rounding:
//! (-1)^(m+1) (m - 1)! x^-m (1 + m/(2x) + the sum over n of B_2n (2n + m - 1)! / ((2n)! (m - 1)!) x^-2n). All terms of an
//! order have one sign, so nothing cancels, and every polygamma function is monotone. The log gamma function itself has its
//! least value at 1.4616.

use smidgen_value::math::{digamma, ln_gamma};

/// Where the series begins.
const FAR: f64 = 16.0;

/// B_2, B_4, ..., B_22
const BERNOULLI: [f64; 11] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174_611.0 / 330.0,
    854_513.0 / 138.0,
];

pub fn log_gamma(x: f64, out: &mut [f64]) {
    let [value, rest @ ..] = out else { return };
    *value = ln_gamma(x);
    let [slope, rest @ ..] = rest else { return };
    *slope = digamma(x);
    polygamma(x, rest);
}

/// psi', psi'', ...
fn polygamma(x: f64, out: &mut [f64]) {
    out.fill(0.0);
    // The sums over i of (x + i)^-(m+1), for m = 1, 2, ...
    let mut z = x;
    while z < FAR {
        let per_z = 1.0 / z;
        let mut power = per_z;
        for sum in out.iter_mut() {
            power *= per_z;
            *sum += power;
        }
        z += 1.0;
    }
    let (mut factorial, mut power) = (1.0, 1.0);
    let square = 1.0 / (z * z);
    for (m, out) in (1..).map(f64::from).zip(out) {
        // (m - 1)! and z^-m
        power /= z;
        let (mut sum, mut term) = (1.0 + 0.5 * m / z, 1.0);
        for (n, bernoulli) in (1..).map(f64::from).zip(BERNOULLI) {
            let last = 2.0 * n;
            term *= square * (last + m - 2.0) * (last + m - 1.0) / (last * (last - 1.0));
            sum += bernoulli * term;
        }
        let sign = if m % 2.0 == 1.0 { 1.0 } else { -1.0 };
        *out = sign * factorial * (m * *out + power * sum);
        factorial *= m;
    }
}
