//! log of the rising factorial r (r + 1) ... (r + k - 1) as a function of x = log r, for counts k: what a negative binomial of
//! unknown size has of it. As the difference of two log gamma functions, each of which bends by itself as much as k = r would
//! make it, a bound would be hundreds of times too wide.
//!
//! It is the sum over j < k of log(e^x + j), and the slope of a term is the logistic curve at x - log j. So derivatives are
//! sums of those of logistic curves, each within its range; beyond many terms there are no ranges.

use smidgen_value::math::{exp, ln, ln_gamma_ratio};

use super::gamma;
use super::interval::Interval;
use super::{Curve, ORDERS, logistic};

/// Terms that are added up.
const MOST: f64 = 512.0;

/// Whether k is a count that has ranges.
pub fn has_ranges(k: f64) -> bool {
    (0.0..=MOST).contains(&k) && k.fract() == 0.0
}

/// log 1, log 2, ..., one for each term that moves.
fn logs(k: f64) -> impl Iterator<Item = f64> {
    (1..k as usize).map(|j| ln(j as f64))
}

pub fn log_rising(k: f64, x: f64, out: &mut [f64]) {
    let [value, rest @ ..] = out else { return };
    *value = ln_gamma_ratio(exp(x), k);
    if rest.is_empty() {
        return;
    }
    if !has_ranges(k) {
        return composed(k, x, rest);
    }
    rest.fill(0.0);
    rest[0] = f64::from(u8::from(k > 0.0));
    let mut term = [0.0; ORDERS];
    for log in logs(k) {
        logistic::derivatives(x - log, &mut term[..rest.len()]);
        rest.iter_mut().zip(term).for_each(|(sum, term)| *sum += term);
    }
}

/// The ranges of f, f', ...; false if one of them is not finite.
pub fn ranges(k: f64, lo: f64, hi: f64, out: &mut [Interval]) -> bool {
    let [value, rest @ ..] = out else { return true };
    let ends = [lo, hi].map(|x| ln_gamma_ratio(exp(x), k));
    let ends = Interval::hull(ends[0], ends[1]);
    *value = ends.widened(1e-9 * ends.magnitude());
    rest.fill(Interval::point(0.0));
    if let [slope, ..] = rest {
        *slope = Interval::point(f64::from(u8::from(k > 0.0)));
    }
    let mut term = [Interval::point(0.0); ORDERS];
    for log in logs(k) {
        if !Curve::Logistic.ranges(lo - log, hi - log, &mut term[..rest.len()]) {
            return false;
        }
        for (sum, term) in rest.iter_mut().zip(term) {
            *sum = Interval { lo: sum.lo + term.lo, hi: sum.hi + term.hi };
        }
    }
    value.is_finite() && rest.iter().all(|range| range.is_finite())
}

/// Through r = e^x: the n-th derivative is the sum over m of S(n, m) r^m f^(m)(r), with Stirling numbers of the second kind.
fn composed(k: f64, x: f64, out: &mut [f64]) {
    let r = exp(x);
    let (mut above, mut below) = ([0.0; ORDERS], [0.0; ORDERS]);
    gamma::log_gamma(r + k, &mut above[..=out.len()]);
    gamma::log_gamma(r, &mut below[..=out.len()]);
    let mut stirling = [0.0; ORDERS];
    stirling[0] = 1.0;
    for (n, out) in out.iter_mut().enumerate() {
        for m in (1..=n + 1).rev() {
            stirling[m] = m as f64 * stirling[m] + stirling[m - 1];
        }
        stirling[0] = 0.0;
        let (mut sum, mut power) = (0.0, 1.0);
        for m in 1..=n + 1 {
            power *= r;
            sum += stirling[m] * power * (above[m] - below[m]);
        }
        *out = sum;
    }
}
