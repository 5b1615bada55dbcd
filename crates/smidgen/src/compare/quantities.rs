//! What the two runs say about each recorded scalar.
//!
//! * Means: (m_a − m_e)/s_e, and the same difference in Monte Carlo standard errors,
//!   z = (m_a − m_e)/√(mcse_a² + mcse_e²).
//! * Spread: s_a/s_e. The standard error of log s is ½ mcse(q)/mean(q) for the squared deviations
//!   q = (x − m)², so tails and autocorrelation of the squares count.
//! * Shape: Kolmogorov–Smirnov on draws thinned to their effective number.
//!
//! The same seed gives both runs the same start but not the same decisions: they are treated as
//! independent, which is cautious if they are not.

use smidgen_draws::diagnostics::{ess_bulk, mcse_mean};
use smidgen_draws::{Draws, Scalar, SummaryRow, summarise_scalar};
use smidgen_infer::austerity::agreement::kolmogorov_smirnov;
use smidgen_report::comparison::{Moments, QuantityComparison};
use smidgen_value::math;

/// Fewer thinned draws than this are not tested.
const LEAST: usize = 8;

/// Every scalar that both runs recorded. Verdicts are left to [`super::findings`].
pub fn quantities(exact: &Draws, approximate: &Draws) -> Vec<QuantityComparison> {
    // What never moves in either run does not differ, whatever a summary says about it.
    let row = |scalar: Scalar| {
        let chains = &scalar.chains;
        let (mcse, ess_bulk) = (mcse_mean(chains), ess_bulk(chains));
        let row = SummaryRow { mcse, ess_bulk, ..summarise_scalar(&scalar) };
        (scalar, row)
    };
    let rows = |draws: &Draws| draws.scalars().into_iter().map(row).collect::<Vec<_>>();
    let exact: Vec<(Scalar, SummaryRow)> = rows(exact);
    let places: std::collections::HashMap<&str, usize> =
        exact.iter().enumerate().map(|(i, (scalar, _))| (scalar.name.as_str(), i)).collect();
    let compared = |found: (Scalar, SummaryRow)| {
        let place = places.get(found.0.name.as_str())?;
        Some(quantity(&exact[*place], found))
    };
    rows(approximate).into_iter().filter_map(compared).collect()
}

fn quantity(
    (exact, e): &(Scalar, SummaryRow),
    (approximate, a): (Scalar, SummaryRow),
) -> QuantityComparison {
    let moments = |row: &SummaryRow| Moments {
        mean: row.mean,
        sd: row.sd,
        mcse: row.mcse,
        ess_bulk: row.ess_bulk,
    };
    let shift = a.mean - e.mean;
    let ratio = over(a.sd, e.sd, 1.0);
    let error = |scalar: &Scalar, row: &SummaryRow| log_sd_error(&scalar.chains, row.mean);
    let ratio_error = math::hypot(error(&approximate, &a), error(exact, e));
    let (few, fewer) =
        (thinned(&exact.chains, e.ess_bulk), thinned(&approximate.chains, a.ess_bulk));
    let enough = few.len().min(fewer.len()) >= LEAST;
    QuantityComparison {
        name: approximate.name,
        mean_difference: over(shift, e.sd, 0.0),
        mean_difference_z: over(shift, math::hypot(a.mcse, e.mcse), 0.0),
        sd_ratio: ratio,
        sd_ratio_z: over(math::ln(ratio), ratio_error, 0.0),
        ks_p: if enough { kolmogorov_smirnov(&few, &fewer).p } else { f64::NAN },
        exact: moments(e),
        approximate: moments(&a),
        exact_draws: exact.chains.clone(),
        approximate_draws: approximate.chains,
        ..QuantityComparison::default()
    }
}

/// x / y, and `alike` if both vanish: what never moves in either run does not differ.
fn over(x: f64, y: f64, alike: f64) -> f64 {
    if x == 0.0 && y == 0.0 { alike } else { x / y }
}

/// The standard error of the logarithm of the standard deviation.
fn log_sd_error(chains: &[Vec<f64>], mean: f64) -> f64 {
    let square = |x: &f64| (x - mean) * (x - mean);
    let squares: Vec<Vec<f64>> =
        chains.iter().map(|chain| chain.iter().map(square).collect()).collect();
    let count = squares.iter().map(Vec::len).sum::<usize>() as f64;
    over(0.5 * mcse_mean(&squares), squares.iter().flatten().sum::<f64>() / count, 0.0)
}

/// About as many draws as are effective, evenly spaced in each chain.
pub fn thinned(chains: &[Vec<f64>], ess: f64) -> Vec<f64> {
    let all: usize = chains.iter().map(Vec::len).sum();
    if !ess.is_finite() || ess < 1.0 {
        return Vec::new();
    }
    let stride = ((all as f64 / ess).ceil() as usize).max(1);
    chains.iter().flat_map(|chain| chain.iter().step_by(stride)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_value::{Rng, Value};

    /// Chains of an autoregressive sequence with this mean and standard deviation.
    fn draws(mean: f64, sd: f64, stream: u64) -> Draws {
        draws_of(4000, mean, sd, stream)
    }

    fn draws_of(length: usize, mean: f64, sd: f64, stream: u64) -> Draws {
        let mut draws = Draws::new(["x", "still"], 2);
        let mut rng = Rng::for_chain(stream, 0);
        for chain in 0..2 {
            let mut x = 0.0;
            for _ in 0..length {
                let noise = (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
                x = 0.5 * x + math::sqrt(0.75) * noise;
                draws.push(chain, [Value::from(mean + sd * x), Value::from(2.0)]);
            }
        }
        draws
    }

    #[test]
    fn differences_are_measured_in_their_errors() {
        let exact = draws(1.0, 2.0, 1);
        let same = &quantities(&exact, &draws(1.0, 2.0, 2))[0];
        assert!(
            same.mean_difference_z.abs() < 3.5 && same.sd_ratio_z.abs() < 3.5,
            "{:?}",
            same.exact
        );
        assert!(same.ks_p > 1e-3, "{}", same.ks_p);
        // 8000 draws with correlation ½ are worth 2667 for the mean, 4800 for the spread.
        let other = &quantities(&exact, &draws(2.0, 3.0, 3))[0];
        assert!((other.mean_difference - 0.5).abs() < 0.2, "{}", other.mean_difference);
        let error = 1.0 / math::hypot(2.0, 3.0) * math::sqrt(2667.0);
        assert!(
            (other.mean_difference_z / error - 1.0).abs() < 0.25,
            "{}",
            other.mean_difference_z
        );
        let spread = math::ln(1.5) / math::sqrt(2.0 / (2.0 * 4800.0));
        assert!((other.sd_ratio_z / spread - 1.0).abs() < 0.25, "{} {spread}", other.sd_ratio_z);
        assert!(other.ks_p < 1e-6);
    }

    /// Where nothing differs, the standard errors are what they claim: 300 comparisons of two runs
    /// exceed two of them 14 times on average (standard deviation 3.6), three about once.
    #[test]
    fn errors_are_calibrated() {
        let mut beyond = [[0; 2]; 2];
        for pair in 0..300 {
            let [exact, approximate] =
                [0, 1].map(|run| draws_of(400, 1.0, 2.0, 100 + 2 * pair + run));
            let q = &quantities(&exact, &approximate)[0];
            for (count, z) in beyond.iter_mut().zip([q.mean_difference_z, q.sd_ratio_z]) {
                count[0] += u32::from(z.abs() > 2.0);
                count[1] += u32::from(z.abs() > 3.0);
            }
        }
        assert!(
            beyond.iter().all(|[two, three]| (4..=28).contains(two) && *three <= 5),
            "{beyond:?}"
        );
    }

    #[test]
    fn what_never_moves_does_not_differ() {
        let exact = draws(0.0, 1.0, 1);
        let still = &quantities(&exact, &exact)[1];
        let found = [still.mean_difference, still.mean_difference_z, still.sd_ratio_z];
        assert_eq!((found, still.sd_ratio), ([0.0; 3], 1.0));
    }

    #[test]
    fn thinning_keeps_about_the_effective_number() {
        let chains = vec![vec![1.0; 1000], vec![2.0; 1000]];
        assert_eq!(thinned(&chains, 200.0).len(), 200);
        assert_eq!(thinned(&chains, 5000.0).len(), 2000);
        assert!(thinned(&chains, f64::NAN).is_empty());
    }
}
