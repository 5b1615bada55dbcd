//! Effective sample size: how many independent draws would estimate as well.
//!
//! ESS = m n / tau with tau = 1 + 2 sum_(t>0) rho_t over m (split) chains of n draws, where
//! rho_t = 1 - (W - gamma_t) / V combines the autocovariances gamma_t of the chains with their
//! within-chain variance W and the variance V = (n - 1) W/n + B/n of all draws (so that chains
//! which disagree have few effective draws). The sum is cut where a pair
//! rho_2k + rho_(2k+1) turns negative, and the pairs are made to decrease (Geyer 1992,
//! "Practical Markov chain Monte Carlo", initial monotone sequence). tau is at least
//! 1 / log10(m n), which bounds the gain from antithetic chains.

use smidgen_value::math;

use super::autocovariance::Autocovariances;
use super::rank::Ranked;
use super::{enough, mean, rectangular, split, variance};
use crate::quantile::sorted;

/// Of rank-normalised draws: the reliability of location estimates in the bulk.
pub fn ess_bulk<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let chains = rectangular(chains);
    match enough(&chains).then(|| Ranked::new(&split(&chains))).flatten() {
        Some(ranked) => ess_of_ranked(&ranked),
        None => f64::NAN,
    }
}

/// The same of split chains whose ranks are known.
pub(super) fn ess_of_ranked(halves: &Ranked) -> f64 {
    ess(&halves.scores.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The smaller of the sizes for the 5% and the 95% quantile: the reliability of intervals.
pub fn ess_tail<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let chains = rectangular(chains);
    if !enough(&chains) {
        return f64::NAN;
    }
    ess_of_tails(&chains, &sorted(chains.iter().copied().flatten().copied()))
}

/// The same of chains of one length whose draws are given in ascending order as well.
pub(super) fn ess_of_tails(chains: &[&[f64]], sorted: &[f64]) -> f64 {
    let ess_at = |p: f64| {
        let threshold = type_7(sorted, p);
        let indicator = |x: &f64| f64::from(u8::from(*x <= threshold));
        let below: Vec<Vec<f64>> =
            chains.iter().map(|chain| chain.iter().map(indicator).collect()).collect();
        ess(&split(&below))
    };
    let (low, high) = (ess_at(0.05), ess_at(0.95));
    if high < low { high } else { low }
}

/// Of the draws themselves: the reliability of their mean.
pub fn ess_mean<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let chains = rectangular(chains);
    if !enough(&chains) {
        return f64::NAN;
    }
    ess(&split(&chains))
}

/// The same quantile as [`crate::quantile`] in the rounding of scipy's `mquantiles`, which
/// decides on which side of the threshold tied draws fall, and so the size.
fn type_7(sorted: &[f64], p: f64) -> f64 {
    let n = sorted.len();
    let place = n as f64 * p + (1.0 - p);
    let k = place.clamp(1.0, (n - 1) as f64).floor();
    let t = (place - k).clamp(0.0, 1.0);
    (1.0 - t) * sorted[k as usize - 1] + t * sorted[k as usize]
}

/// The formula above, for chains of equal length (at least 2).
fn ess(chains: &[&[f64]]) -> f64 {
    let n = chains[0].len();
    let size = (chains.len() * n) as f64;
    let all = || chains.iter().copied().flatten().copied();
    let range = all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min);
    if range < 1e-15 {
        return size;
    }
    let gamma = Autocovariances::new(chains);
    let n_real = n as f64;
    let within = gamma.at(0) * n_real / (n_real - 1.0);
    let mut total = within * (n_real - 1.0) / n_real;
    if chains.len() > 1 {
        total += variance(&chains.iter().map(|chain| mean(chain)).collect::<Vec<_>>());
    }
    let rho = |t: usize| 1.0 - (within - gamma.at(t)) / total;
    let tau = integrated_autocorrelation(n, rho);
    if tau.is_nan() {
        return f64::NAN;
    }
    size / tau.max(std::f64::consts::LN_10 / math::ln(size))
}

/// 1 + 2 sum rho_t by Geyer's initial monotone sequence, as ArviZ evaluates it: the last even
/// term before the cut counts once, if it is positive.
fn integrated_autocorrelation(n: usize, rho: impl Fn(usize) -> f64) -> f64 {
    let mut kept = vec![1.0, rho(1)];
    let (mut even, mut odd) = (1.0, kept[1]);
    let mut pairs = 0;
    while 2 * pairs + 4 < n && even + odd > 0.0 {
        pairs += 1;
        (even, odd) = (rho(2 * pairs), rho(2 * pairs + 1));
        kept.extend(if even + odd >= 0.0 { [even, odd] } else { [0.0, 0.0] });
    }
    if (even + odd).is_nan() {
        return f64::NAN;
    }
    kept[2 * pairs] = if even > 0.0 { even } else { kept[2 * pairs] };
    for pair in 1..pairs {
        let before = kept[2 * pair - 2] + kept[2 * pair - 1];
        if kept[2 * pair] + kept[2 * pair + 1] > before {
            kept[2 * pair] = before / 2.0;
            kept[2 * pair + 1] = before / 2.0;
        }
    }
    -1.0 + 2.0 * kept[..2 * pairs].iter().sum::<f64>() + kept[2 * pairs]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stuck_chains_have_few_effective_draws() {
        let chains = [vec![1.0; 100], vec![2.0; 100], vec![3.0; 100], vec![4.0; 100]];
        for size in [ess_bulk(&chains), ess_mean(&chains)] {
            assert!(size < 10.0, "{size}");
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        for size in [ess_bulk::<Vec<f64>>(&[]), ess_mean(&[vec![]]), ess_tail(&[vec![1.0; 3]])] {
            assert!(size.is_nan());
        }
    }
}
