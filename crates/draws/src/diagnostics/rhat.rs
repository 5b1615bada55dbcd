//! R-hat: the factor by which the spread of the draws might still shrink, 1 at convergence.
//!
//! For m (split) chains of n draws with within-chain variance W and variance of the chain means
//! B/n, R-hat = sqrt(((n - 1) W/n + B/n) / W). It is taken of the rank-normalised draws (do the
//! chains agree in location?) and of the rank-normalised distances from the median (do they
//! agree in spread?); the larger one counts.

use super::rank::normal_scores;
use super::{enough, mean, rectangular, split, variance};
use crate::quantile::{quantile_of_sorted, sorted};

/// Rank-normalised split R-hat. NaN for a single chain, as in ArviZ.
pub fn r_hat<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let chains = rectangular(chains);
    if chains.len() < 2 || !enough(&chains) {
        return f64::NAN;
    }
    let halves = split(&chains);
    let bulk = basic(normal_scores(&halves));
    let median = quantile_of_sorted(&sorted(halves.iter().copied().flatten().copied()), 0.5);
    let fold = |half: &&[f64]| half.iter().map(|x| (x - median).abs()).collect::<Vec<f64>>();
    let folded: Vec<Vec<f64>> = halves.iter().map(fold).collect();
    let tail = basic(normal_scores(&folded.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    // The tail has no say when the median is infinite.
    if tail > bulk { tail } else { bulk }
}

/// The formula above, without ranks or splitting.
fn basic(chains: Option<Vec<Vec<f64>>>) -> f64 {
    let Some(chains) = chains else { return f64::NAN };
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
