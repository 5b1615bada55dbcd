//! Elementary and special functions: the only place that calls them (`clippy.toml` bans
//! `f64::exp` and its kin elsewhere), so every evaluator of a density agrees to the bit.

#![allow(clippy::disallowed_methods)]

use std::sync::LazyLock;

use special::{Beta as _, Gamma as _};

pub use std::f64::consts::{LN_2, PI};

/// log(2 pi) / 2
pub const HALF_LN_2PI: f64 = 0.918_938_533_204_672_8;
pub const LN_PI: f64 = 1.144_729_885_849_400_2;

macro_rules! forward {
    ($($name:ident = $method:ident),* $(,)?) => {
        $(#[inline] pub fn $name(x: f64) -> f64 { x.$method() })*
    };
}
forward!(
    exp = exp,
    expm1 = exp_m1,
    ln = ln,
    ln_1p = ln_1p,
    sqrt = sqrt,
    sin = sin,
    cos = cos,
    tan = tan,
    tanh = tanh
);

#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    x.powf(y)
}

#[inline]
pub fn atan2(y: f64, x: f64) -> f64 {
    y.atan2(x)
}

#[inline]
pub fn hypot(x: f64, y: f64) -> f64 {
    x.hypot(y)
}

/// log n of a number that counts something: looked up if it is small.
#[inline]
pub fn ln_count(n: usize) -> f64 {
    static LOGS: LazyLock<Vec<f64>> =
        LazyLock::new(|| (0..4096).map(|n| ln(f64::from(n))).collect());
    LOGS.get(n).copied().unwrap_or_else(|| ln(n as f64))
}

/// log |Gamma(x)|
#[inline]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// log B(a, b). Free of cancellation when one argument dwarfs the other.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    ln_gamma(small) - ln_gamma_ratio(large, small)
}

/// log Gamma(x + a) - log Gamma(x), for x > 0 and x + a > 0.
///
/// The direct difference loses all digits when x dwarfs a; from x = 20 on the Stirling
/// series is differenced term by term instead.
pub fn ln_gamma_ratio(x: f64, a: f64) -> f64 {
    if a == 0.0 {
        return 0.0;
    }
    let y = x + a;
    if x < 20.0 || y < 20.0 {
        return ln_gamma(y) - ln_gamma(x);
    }
    // log Gamma(z) = (z - 1/2) log z - z + log(2 pi)/2 + s(z)
    let series = |z: f64| {
        let w = 1.0 / (z * z);
        (1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w / 1188.0)))) / z
    };
    (x - 0.5) * ln_1p(a / x) + a * ln(y) - a + (series(y) - series(x))
}

/// psi(x), the derivative of log Gamma, for x > 0.
pub fn digamma(x: f64) -> f64 {
    // psi(x) = psi(x + 1) - 1/x; from 8 on the asymptotic series is exact to rounding.
    let (mut z, mut below) = (x, 0.0);
    while z < 8.0 {
        below += 1.0 / z;
        z += 1.0;
    }
    ln(z) - 0.5 / z - digamma_series(z) - below
}

/// log x - 1/(2 x) - psi(x), for x of 8 or more.
fn digamma_series(x: f64) -> f64 {
    let w = 1.0 / (x * x);
    let bernoulli = [
        3617.0 / 8160.0,
        1.0 / 12.0,
        691.0 / 32760.0,
        1.0 / 132.0,
        1.0 / 240.0,
        1.0 / 252.0,
        1.0 / 120.0,
        1.0 / 12.0,
    ];
    w * bernoulli.iter().fold(0.0, |sum, coefficient| coefficient - w * sum)
}

/// psi(x + a) - psi(x), for x > 0 and x + a > 0: the derivative of [`ln_gamma_ratio`] with
/// respect to x, and like it free of cancellation when x dwarfs a.
pub fn digamma_difference(x: f64, a: f64) -> f64 {
    let y = x + a;
    if x < 20.0 || y < 20.0 {
        return digamma(y) - digamma(x);
    }
    ln_1p(a / x) + 0.5 * (a / x) / y + (digamma_series(x) - digamma_series(y))
}

/// log of the multivariate gamma function Gamma_d(x).
pub fn ln_gamma_multivariate(d: usize, x: f64) -> f64 {
    let d_real = d as f64;
    let mut total = 0.25 * d_real * (d_real - 1.0) * LN_PI;
    for j in 0..d {
        total += ln_gamma(x - 0.5 * j as f64);
    }
    total
}

#[inline]
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

#[inline]
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// Regularised lower incomplete gamma P(a, x).
pub fn gamma_p(a: f64, x: f64) -> f64 {
    x.inc_gamma(a)
}

/// Regularised incomplete beta I_x(a, b).
pub fn beta_inc(a: f64, b: f64, x: f64) -> f64 {
    x.inc_beta(a, b, a.ln_beta(b))
}

/// log(1 + e^x) without overflow.
#[inline]
pub fn ln_1p_exp(x: f64) -> f64 {
    if x > 0.0 { x + ln_1p(exp(-x)) } else { ln_1p(exp(x)) }
}

/// 1 / (1 + e^-x) without overflow.
#[inline]
pub fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + exp(-x))
    } else {
        let e = exp(x);
        e / (1.0 + e)
    }
}

/// log(1 / (1 + e^-x)), accurate in both tails
#[inline]
pub fn log_logistic(x: f64) -> f64 {
    0.0 - ln_1p_exp(-x)
}

/// log(e^a + e^b + ...); -inf for nothing.
pub fn logsumexp(xs: &[f64]) -> f64 {
    let max = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !max.is_finite() {
        return if xs.iter().any(|x| x.is_nan()) { f64::NAN } else { max };
    }
    max + ln(xs.iter().map(|x| exp(x - max)).sum::<f64>())
}

/// x log y with 0 log 0 = 0.
#[inline]
pub fn xlogy(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * ln(y) }
}

/// x log(1 + y) with 0 log 0 = 0.
#[inline]
pub fn xlog1py(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * ln_1p(y) }
}

/// x / y with 0 / 0 = 0, the derivative of [`xlogy`] with respect to y.
#[inline]
pub fn xovery(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / y }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_ratios_keep_their_digits() {
        // mpmath, 40 digits
        for (x, a, want) in [
            (1e8, 0.5, 9.210_340_370_726_183),
            (1e12, 3.0, 82.893_063_347_788_64),
            (25.0, 7.5, 25.036_456_015_502_043),
            (3.0, 0.25, 0.242_654_750_548_780_06),
        ] {
            let got = ln_gamma_ratio(x, a);
            assert!((got - want).abs() < 1e-13 * want.abs().max(1.0), "{x} {a}: {got} {want}");
        }
    }

    #[test]
    fn logistic_functions_do_not_overflow() {
        assert_eq!(logistic(-800.0), 0.0);
        assert_eq!(logistic(800.0), 1.0);
        assert_eq!(ln_1p_exp(800.0), 800.0);
        assert!((ln_1p_exp(-40.0) - 4.248354255291589e-18).abs() < 1e-33);
    }

    #[test]
    fn digamma_keeps_its_digits() {
        // mpmath, 40 digits
        for (x, want) in [
            (1e-06, -1000000.5772140201),
            (0.1, -10.423754940411076),
            (0.75, -1.0858608797864722),
            (1.0, -0.5772156649015329),
            (1.4616321449683622, -9.241265521729427e-17),
            (3.5, 1.103156640645243),
            (7.9, 2.002238487563571),
            (11.99, 2.441792283668335),
            (12.0, 2.442661679975812),
            (50.0, 3.901989673427892),
            (1000000000.0, 20.723265836446412),
        ] {
            let got = digamma(x);
            assert!((got - want).abs() < 4e-15 * want.abs().max(1.0), "{x}: {got} {want}");
        }
        for (x, a, want) in [
            (100000000.0, 0.5, 5.0000000125e-09),
            (1000000000000.0, 3.0, 2.999999999997e-12),
            (25.0, 7.5, 0.2670340731016205),
            (3.0, 0.25, 0.0942065759697119),
            (40.0, -15.0, -0.47758486118286914),
        ] {
            let got = digamma_difference(x, a);
            assert!((got - want).abs() < 4e-15 * want.abs(), "{x} {a}: {got} {want}");
        }
    }
}
