//! How far draws can be trusted, for one scalar at a time: chains in, one number out.
//!
//! Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), "Rank-normalization, folding, and
//! localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16,
//! with the conventions of ArviZ 0.23 (compared number by number in `tests/arviz.rs`):
//!
//! * chains without draws are left out and the others are cut to the shortest;
//! * fewer than 4 draws a chain, or a NaN among them, give NaN;
//! * draws that never change give R-hat NaN and as many effective draws as there are draws;
//! * an infinite draw gives NaN where its size matters (mean, mcse) and is an ordinary largest
//!   or smallest draw where only its rank does.

pub mod autocovariance;
pub mod ess;
pub mod mcse;
mod rank;
pub mod rhat;

pub use autocovariance::autocovariance;
pub use ess::{ess_bulk, ess_mean, ess_tail};
pub use mcse::mcse_mean;
pub use rhat::r_hat;

/// What depends on ranks, for one scalar.
pub(crate) struct Standing {
    pub ess_bulk: f64,
    pub ess_tail: f64,
    pub r_hat: f64,
}

impl Standing {
    /// All of it, from as few sorts as there can be. `sorted`: all draws in ascending order.
    pub fn new<C: AsRef<[f64]>>(chains: &[C], sorted: &[f64]) -> Standing {
        let chains = rectangular(chains);
        let halves = split(&chains);
        let Some(ranked) = enough(&chains).then(|| rank::Ranked::new(&halves)).flatten() else {
            return Standing { ess_bulk: f64::NAN, ess_tail: f64::NAN, r_hat: f64::NAN };
        };
        let is_whole = chains.iter().map(|chain| chain.len()).sum::<usize>() == sorted.len();
        Standing {
            ess_bulk: ess::ess_of_ranked(&ranked),
            ess_tail: match is_whole {
                true => ess::ess_of_tails(&chains, sorted),
                false => ess_tail(&chains),
            },
            r_hat: rhat::r_hat_of_ranked(&halves, &ranked),
        }
    }
}

/// The chains that have draws, cut to the shortest of them.
fn rectangular<C: AsRef<[f64]>>(chains: &[C]) -> Vec<&[f64]> {
    let drawn = || chains.iter().map(AsRef::as_ref).filter(|chain| !chain.is_empty());
    let shortest = drawn().map(<[f64]>::len).min().unwrap_or(0);
    drawn().map(|chain| &chain[..shortest]).collect()
}

/// Whether the diagnostics are defined: 4 draws a chain, none of them NaN.
fn enough(chains: &[&[f64]]) -> bool {
    chains.first().is_some_and(|chain| chain.len() >= 4)
        && !chains.iter().copied().flatten().any(|x| x.is_nan())
}

/// First and second half of every chain as chains of their own, so that a drift within a
/// chain shows as a difference between chains. The middle draw of an odd number is left out.
fn split<C: AsRef<[f64]>>(chains: &[C]) -> Vec<&[f64]> {
    let halves = |chain: &C| chain.as_ref().len() / 2;
    let first = chains.iter().map(|chain| &chain.as_ref()[..halves(chain)]);
    let second = chains.iter().map(|chain| &chain.as_ref()[chain.as_ref().len() - halves(chain)..]);
    first.chain(second).collect()
}

/// Exact for constant numbers, since the deviations from the first are then zero.
fn mean(xs: &[f64]) -> f64 {
    let Some(&origin) = xs.first() else { return f64::NAN };
    if !origin.is_finite() {
        return xs.iter().sum::<f64>() / xs.len() as f64;
    }
    origin + xs.iter().map(|x| x - origin).sum::<f64>() / xs.len() as f64
}

/// With divisor n - 1.
fn variance(xs: &[f64]) -> f64 {
    let mean = mean(xs);
    xs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (xs.len() as f64 - 1.0)
}

/// Mean and standard deviation (divisor n - 1).
pub(crate) fn mean_and_sd(xs: &[f64]) -> (f64, f64) {
    (mean(xs), variance(xs).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_cut_and_split() {
        let chains = [vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![], vec![7.0, 8.0, 9.0, 10.0, 11.0]];
        let cut = rectangular(&chains);
        assert_eq!(cut, [&[1.0, 2.0, 3.0, 4.0, 5.0], &[7.0, 8.0, 9.0, 10.0, 11.0]]);
        assert_eq!(split(&cut), [[1.0, 2.0], [7.0, 8.0], [4.0, 5.0], [10.0, 11.0]]);
        assert!(enough(&cut));
        assert!(!enough(&rectangular(&[vec![1.0, 2.0, 3.0]])) && !enough(&[]));
        assert!(!enough(&rectangular(&[vec![1.0, 2.0, f64::NAN, 3.0]])));
    }

    #[test]
    fn a_constant_has_no_variance() {
        let xs = [0.1; 1000];
        assert_eq!(mean_and_sd(&xs), (0.1, 0.0));
        let (mean, sd) = mean_and_sd(&[1.0, 2.0, 4.0]);
        assert!((mean - 7.0 / 3.0).abs() < 1e-15 && (sd * sd - 7.0 / 3.0).abs() < 1e-14);
        assert_eq!(mean_and_sd(&[1.0, f64::INFINITY]).0, f64::INFINITY);
    }
}
