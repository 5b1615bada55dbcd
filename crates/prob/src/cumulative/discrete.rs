//! The distribution functions of discrete laws that are parts of a beta or gamma law, or simpler: neither the numbers nor the cost hang on
//! how many terms there are.
//!
//! * Poisson: P(X > k) is the part of gamma(k + 1, 1) below the rate.
//! * Binomial: P(X > k) is the part of beta(k + 1, n - k) below p.
//! * Negative binomial: P(X <= k) is the part of beta(r, k + 1) below p.
//! * Geometric: P(X > k) = (1 - p)^(k + 1).
//!
//! Other laws of whole numbers have finitely many values and are summed.

use smallvec::smallvec;
use smidgen_value::math::{exp, ln, ln_1p};

use super::continuous::{Parts, difference};
use super::incomplete::{log_beta_parts, log_gamma_parts};
use super::{Side, log_complement};
use crate::law::{Inner, Numbers};

/// log P(X <= k) and log P(X > k), for a whole k inside the support; none for laws that have to be summed.
fn parts(name: &str, k: f64, args: &[f64]) -> Option<Parts> {
    let of_poisson = |rate: f64| {
        let [above, below] = log_gamma_parts(k + 1.0, rate);
        [below, above]
    };
    Some(match (name, args) {
        ("poisson", [rate]) => of_poisson(*rate),
        ("poisson_log", [log_rate]) => of_poisson(exp(*log_rate)),
        ("binomial", [n, p]) => {
            let [above, below] = log_beta_parts(k + 1.0, n - k, *p, 1.0 - p);
            [below, above]
        }
        ("negative_binomial", [r, p]) => log_beta_parts(*r, k + 1.0, *p, 1.0 - p),
        ("negative_binomial_mean", [mu, phi]) => {
            let total = mu + phi;
            log_beta_parts(*phi, k + 1.0, phi / total, mu / total)
        }
        ("geometric", [p]) => {
            let above = (k + 1.0) * ln_1p(-p);
            [log_complement(above), above]
        }
        ("uniform_discrete", [low, high]) => {
            let (below, above) = (k + 1.0 - low, high - 1.0 - k);
            [ln(below / (high - low)), ln(above / (high - low))]
        }
        _ => return None,
    })
}

/// dP(X <= k)/dθ over P(X = k) for each argument; none where it has no simple form.
fn rates(name: &str, k: f64, args: &[f64]) -> [Option<f64>; 2] {
    match (name, args) {
        ("poisson", _) => [Some(-1.0), Some(0.0)],
        ("poisson_log", [log_rate]) => [Some(-exp(*log_rate)), Some(0.0)],
        ("binomial", [n, p]) => [Some(0.0), Some(-(n - k) / (1.0 - p))],
        ("negative_binomial", [r, p]) => [None, Some((r + k) / p)],
        ("negative_binomial_mean", [mu, phi]) => [Some(-(phi + k) / (mu + phi)), None],
        // (k + 1) (1 - p)^k over p (1 - p)^k
        ("geometric", [p]) => [Some((k + 1.0) / p), Some(0.0)],
        // The ends are whole numbers.
        _ => [Some(0.0), Some(0.0)],
    }
}

/// The log probability of one side and, if they are wanted, the slopes of x and of the arguments.
pub(super) fn log_probability(
    inner: Inner,
    side: Side,
    k: f64,
    args: &[f64],
    wanted: bool,
) -> Option<(f64, Numbers)> {
    let name = inner.law.spec().name;
    let at = |args: &[f64]| {
        let [below, above] = parts(name, k, args)?;
        Some(if side == Side::Below { below } else { above })
    };
    let log_p = at(args)?;
    if !wanted {
        return Some((log_p, Numbers::new()));
    }
    // The law jumps from one whole number to the next.
    let mut slopes: Numbers = smallvec![0.0];
    let ratio = side.sign() * exp((inner.score)(k, args, &mut []) - log_p);
    for (i, rate) in rates(name, k, args).into_iter().enumerate().take(args.len()) {
        slopes.push(match rate {
            Some(_) if ratio == 0.0 || ratio.is_nan() => 0.0,
            Some(rate) => rate * ratio,
            None => difference(args, i, inner, &at),
        });
    }
    Some((log_p, slopes))
}
