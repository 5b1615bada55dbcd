//! log(1 + t^2), the heart of the Cauchy and Student laws, as one curve: composed of a square and a logarithm its bounds
//! would be two to three times as wide.
//!
//! It is log(t + i) + log(t - i), so the k-th derivative is 2 (-1)^(k-1) (k - 1)! Re (t + i)^-k.

use smidgen_value::math::{ln, ln_1p};

pub fn log_1p_square(t: f64, out: &mut [f64]) {
    let [value, rest @ ..] = out else { return };
    let square = t * t;
    *value = if square < 1e20 { ln_1p(square) } else { 2.0 * ln(t.abs()) };
    // 1 / (t + i), also where the square overflows.
    let (re, im) = if t.abs() > 1.0 {
        let per_t = 1.0 / t;
        (per_t / (1.0 + per_t * per_t), -per_t * per_t / (1.0 + per_t * per_t))
    } else {
        (t / (1.0 + square), -1.0 / (1.0 + square))
    };
    let (mut power_re, mut power_im) = (2.0 * re, 2.0 * im);
    for (k, out) in (1..).zip(rest) {
        *out = power_re;
        let factor = -f64::from(k);
        (power_re, power_im) =
            (factor * (power_re * re - power_im * im), factor * (power_re * im + power_im * re));
    }
}
