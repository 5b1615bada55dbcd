//! Log probabilities from their saddle point (Loader 2000, "Fast and accurate computation of
//! binomial probabilities").
//!
//! The textbook sum of log gamma functions cancels: at n = 10^9 its terms are of size 10^10 and
//! the result of size 10, so half of the digits are gone. Here every term is of the size of
//! the result.

use smidgen_value::math::{HALF_LN_2PI, ln, ln_gamma, xlog1py};

/// log Gamma(x + 1) - ((x + 1/2) log x - x + log(2 pi)/2), for x > 0.
pub fn stirling_error(x: f64) -> f64 {
    if x < 16.0 {
        return ln_gamma(x + 1.0) - (x + 0.5) * ln(x) + x - HALF_LN_2PI;
    }
    let w = 1.0 / (x * x);
    (1.0 / 12.0
        - w * (1.0 / 360.0
            - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w * (1.0 / 1188.0 - w * 691.0 / 360_360.0)))))
        / x
}

/// x log(x / m) + m - x, the deviance of a count x from its mean m = `mean` + `mean_low`, where
/// `mean_low` is what rounding took from the mean.
pub fn deviance(x: f64, mean: f64, mean_low: f64) -> f64 {
    if x == 0.0 {
        return mean;
    }
    if mean == 0.0 {
        return f64::INFINITY;
    }
    let difference = (x - mean) - mean_low;
    if difference.abs() >= 0.1 * (x + mean) {
        let ratio = x / mean;
        let log_ratio = if ratio.is_normal() { ln(ratio) } else { ln(x) - ln(mean) };
        return x * log_ratio - difference - x * (mean_low / mean);
    }
    let v = difference / (x + mean);
    let mut sum = difference * v;
    let mut power = 2.0 * (x * v);
    // v^2 is below 0.01, so a dozen terms are enough.
    for odd in (3..40).step_by(2) {
        power *= v * v;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// log of Gamma(k + m + 1) / (Gamma(k + 1) Gamma(m + 1)) p^k (1 - p)^m, for k and m above zero
/// and not necessarily whole.
pub fn log_binomial(k: f64, m: f64, p: f64) -> f64 {
    // n, p n and (1 - p) n with the part that rounding takes from each: near the mode an error
    // of one unit in the last place of n p would show.
    let (large, small) = if k > m { (k, m) } else { (m, k) };
    let n = large + small;
    if n == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    let n_low = small - (n - large);
    let q = 1.0 - p;
    let q_low = (1.0 - q) - p;
    let np = n * p;
    let np_low = n.mul_add(p, -np) + n_low * p;
    let nq = n * q;
    let nq_low = n.mul_add(q, -nq) + n_low * q + n * q_low;
    stirling_error(n)
        - stirling_error(k)
        - stirling_error(m)
        - deviance(k, np, np_low)
        - deviance(m, nq, nq_low)
        - HALF_LN_2PI
        - 0.5 * (ln(small) + ln(large / n))
}

/// log of t^power e^-t / Gamma(shape), for `power` = `shape` - 1 or `shape` + 1 and t > 0. The
/// caller gives log t too, because t itself may have left the range of doubles.
#[inline]
pub fn log_gamma_kernel(power: f64, shape: f64, t: f64, log_t: f64) -> f64 {
    if shape < 20.0 || !t.is_normal() {
        let log_power = if power == 0.0 { 0.0 } else { power * log_t };
        return log_power - t - ln_gamma(shape);
    }
    0.5 * ln(shape) - HALF_LN_2PI - stirling_error(shape) - deviance(shape, t, 0.0)
        + (power - shape) * log_t
}

/// As [`log_binomial`], where either may be zero.
pub fn log_trials(k: f64, m: f64, p: f64) -> f64 {
    if k == 0.0 {
        xlog1py(m, -p)
    } else if m == 0.0 {
        k * ln(p)
    } else {
        log_binomial(k, m, p)
    }
}
