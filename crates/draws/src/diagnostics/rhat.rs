//! R-hat: the factor by which the spread of the draws might still shrink, 1 at convergence.
//!
//! For m (split) chains of n draws with within-chain variance W and variance of the chain means
//! B/n, R-hat = sqrt(((n - 1) W/n + B/n) / W). It is taken of the rank-normalised draws (do the
//! chains agree in location?) and of the rank-normalised distances from the median (do they
//! agree in spread?); the larger one counts.

use super::rank::Ranked;
use super::{enough, mean, rectangular, split, variance};
use crate::quantile::quantile_of_sorted;

/// Rank-normalised split R-hat. NaN for a single chain, as in ArviZ.
pub fn r_hat<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let chains = rectangular(chains);
    let halves = split(&chains);
    match enough(&chains).then(|| Ranked::new(&halves)).flatten() {
        Some(ranked) => r_hat_of_ranked(&halves, &ranked),
        None => f64::NAN,
    }
}

/// The same of split chains whose ranks are known.
pub(super) fn r_hat_of_ranked(halves: &[&[f64]], ranked: &Ranked) -> f64 {
    // Two halves are those of a single chain.
    if halves.len() < 4 {
        return f64::NAN;
    }
    let bulk = basic(&ranked.scores);
    let median = quantile_of_sorted(&ranked.sorted, 0.5);
    let fold = |half: &&[f64]| half.iter().map(|x| (x - median).abs()).collect::<Vec<f64>>();
    let folded: Vec<Vec<f64>> = halves.iter().map(fold).collect();
    let folded = Ranked::new(&folded.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let tail = folded.map_or(f64::NAN, |folded| basic(&folded.scores));
    // The tail has no say when the median is infinite.
    if tail > bulk { tail } else { bulk }
}

/// The formula above, without ranks or splitting.
fn basic(chains: &[Vec<f64>]) -> f64 {
    let n = chains[0].len() as f64;
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let variances: Vec<f64> = chains.iter().map(|chain| variance(chain)).collect();
    ((n * variance(&means) / mean(&variances) + n - 1.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stuck_chains_at_different_values_never_agree() {
        assert_eq!(r_hat(&[vec![1.0; 50], vec![2.0; 50]]), f64::INFINITY);
    }

    #[test]
    fn one_chain_says_nothing() {
        assert!(r_hat(&[vec![1.0, 2.0, 3.0, 4.0, 5.0]]).is_nan());
        assert!(r_hat::<Vec<f64>>(&[]).is_nan());
    }
}
