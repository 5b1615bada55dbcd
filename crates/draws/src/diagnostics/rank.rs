//! Rank normalisation: draws are replaced by the normal scores of their ranks among all draws,
//! z = Phi^-1((r - 3/8) / (S + 1/4)) (Blom 1958), ties sharing their average rank. Diagnostics
//! of z do not need the quantity to have a mean or a variance.

use crate::normal::normal_quantile;

/// Draws in order, and what that makes of them. To sort is most of the work of all diagnostics together.
pub struct Ranked {
    /// Chains of normal scores.
    pub scores: Vec<Vec<f64>>,
    /// All draws, ascending.
    pub sorted: Vec<f64>,
}

impl Ranked {
    /// None if a draw is NaN.
    pub fn new(chains: &[&[f64]]) -> Option<Ranked> {
        // The draw beside its place: to compare by way of the place would be a walk through all memory.
        let mut order: Vec<(f64, usize)> =
            chains.iter().copied().flatten().copied().zip(0..).collect();
        if order.iter().any(|(x, _)| x.is_nan()) {
            return None;
        }
        let size = order.len() as f64;
        order.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut scores = vec![0.0; order.len()];
        let mut start = 0;
        for tied in order.chunk_by(|(a, _), (b, _)| a == b) {
            let end = start + tied.len();
            // Ranks count from 1: the average of start + 1, ..., end.
            let rank = (start + 1 + end) as f64 / 2.0;
            let score = normal_quantile((rank - 0.375) / (size + 0.25));
            tied.iter().for_each(|(_, i)| scores[*i] = score);
            start = end;
        }
        let mut scores = scores.into_iter();
        let of_chain = |chain: &&[f64]| scores.by_ref().take(chain.len()).collect();
        let scores = chains.iter().map(of_chain).collect();
        Some(Ranked { scores, sorted: order.into_iter().map(|(x, _)| x).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal_scores(chains: &[&[f64]]) -> Option<Vec<Vec<f64>>> {
        Ranked::new(chains).map(|ranked| ranked.scores)
    }

    #[test]
    fn ties_share_a_rank_and_nan_has_none() {
        let scores = normal_scores(&[&[2.0, 1.0], &[2.0, 9.0]]).expect("no NaN");
        // Ranks 2.5, 1, 2.5, 4 of 4.
        assert_eq!(scores[0][0], 0.0);
        assert_eq!(scores[1][0], 0.0);
        assert_eq!(scores[0][1], normal_quantile(0.625 / 4.25));
        assert!((scores[1][1] + scores[0][1]).abs() < 1e-15);
        let zeros = normal_scores(&[&[0.0, -0.0]]).expect("no NaN");
        assert_eq!(zeros[0][0], zeros[0][1], "the two zeros tie");
        assert_eq!(normal_scores(&[&[1.0, f64::NAN]]), None);
    }
}
