//! The choice of batch m and tolerance ε: the least expected usage whose mean |Δ| over trial pairs
//! stays within a target (Korattikara, Chen and Welling 2014, the average design).
//!
//! A grid search. For one m the usage grows as ε falls, so ε is tried in descending order: the
//! first that keeps the target is the best for its m, and the search for it ends as soon as the
//! usage exceeds the best known. Pairs whose populations differ by less than 5 % share tables.

use std::collections::BTreeMap;

use smidgen_value::math;

use super::pair::{Pair, pair_outcome};
use super::schedule::Schedule;
use super::table::ErrorTable;

const EPSILONS: [f64; 9] = [0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001];

/// A schedule's first batch and tolerance, with what they are expected to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    pub batch: usize,
    pub epsilon: f64,
    pub usage: f64,
    pub mean_delta: f64,
    pub max_delta: f64,
}

/// The best design on the grid; none without pairs, without batches of at most half the
/// population, or if nothing on the grid keeps the target.
pub fn design(pairs: &[Pair], growth: f64, target: f64) -> Option<Design> {
    let groups = Groups::of(pairs);
    let smallest = pairs.iter().map(|pair| pair.population).min()?;
    let largest = pairs.iter().map(|pair| pair.population).max()?;
    let mut best: Option<Design> = None;
    // From above: the tables of large batches are cheap, and a good bound comes early.
    for batch in batches(smallest / 2).into_iter().rev() {
        let least_usage = batch as f64 / largest as f64;
        if best.is_some_and(|best| least_usage >= best.usage) {
            continue;
        }
        for epsilon in EPSILONS {
            let candidate = groups.evaluate(batch, growth, epsilon);
            if best.is_some_and(|best| candidate.usage >= best.usage) {
                break;
            }
            if candidate.mean_delta <= target {
                best = Some(candidate);
                break;
            }
        }
    }
    best
}

/// What one choice of batch and tolerance is expected to do to the pairs.
pub fn evaluate(pairs: &[Pair], batch: usize, growth: f64, epsilon: f64) -> Design {
    Groups::of(pairs).evaluate(batch, growth, epsilon)
}

/// 100, 200, 500, 1000, … up to `most`.
fn batches(most: usize) -> Vec<usize> {
    let decades = (2..).map(|power| 10_usize.pow(power));
    decades.flat_map(|ten| [ten, 2 * ten, 5 * ten]).take_while(|batch| *batch <= most).collect()
}

/// Pairs by about equal populations.
struct Groups<'a>(BTreeMap<i64, Vec<&'a Pair>>);

impl Groups<'_> {
    fn of(pairs: &[Pair]) -> Groups<'_> {
        let mut groups: BTreeMap<i64, Vec<&Pair>> = BTreeMap::new();
        for pair in pairs {
            let key = (math::ln(pair.population.max(1) as f64) * 20.0).round() as i64;
            groups.entry(key).or_default().push(pair);
        }
        Groups(groups)
    }

    fn evaluate(&self, batch: usize, growth: f64, epsilon: f64) -> Design {
        let schedule = Schedule::new(batch, growth);
        let (mut usage, mut sum, mut max_delta) = (0.0, 0.0, 0.0_f64);
        for pairs in self.0.values() {
            let table = ErrorTable::new(pairs[0].population, &schedule, epsilon);
            for pair in pairs {
                let outcome = pair_outcome(&table, pair);
                usage += outcome.usage;
                sum += outcome.delta.abs();
                max_delta = max_delta.max(outcome.delta.abs());
            }
        }
        let count = self.0.values().map(Vec::len).sum::<usize>().max(1) as f64;
        Design { batch, epsilon, usage: usage / count, mean_delta: sum / count, max_delta }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The six pairs of theory 3.6: log α from −3.5 to 1.5, N σ_l = 50, N = 10 000.
    fn pairs() -> Vec<Pair> {
        let pair = |i| Pair { log_alpha: -3.5 + f64::from(i), sigma_l: 0.005, population: 10_000 };
        (0..6).map(pair).collect()
    }

    #[test]
    fn the_grid_of_the_theory() {
        for (batch, epsilon, equal, growing) in [
            (100, 0.05, (0.0440, 0.192), (0.0410, 0.256)),
            (100, 0.02, (0.0176, 0.294), (0.0158, 0.374)),
            (100, 0.01, (0.0087, 0.357), (0.0076, 0.444)),
            (100, 0.005, (0.0043, 0.409), (0.0037, 0.499)),
            (500, 0.05, (0.0132, 0.280), (0.0133, 0.313)),
            (500, 0.02, (0.0048, 0.366), (0.0047, 0.409)),
            (500, 0.01, (0.0023, 0.417), (0.0022, 0.466)),
            (1000, 0.10, (0.0146, 0.266), (0.0152, 0.271)),
            (1000, 0.05, (0.0067, 0.337), (0.0068, 0.349)),
            (1000, 0.01, (0.0012, 0.458), (0.0011, 0.483)),
            (2000, 0.05, (0.0029, 0.420), (0.0032, 0.413)),
        ] {
            for (growth, (mean, usage)) in [(1.0, equal), (1.5, growing)] {
                let got = evaluate(&pairs(), batch, growth, epsilon);
                let what = format!("{growth}: {got:?}, {mean} {usage}");
                assert!((got.usage / usage - 1.0).abs() < 0.01, "{what}");
                assert!((got.mean_delta - mean).abs() < 0.1 * mean + 5e-5, "{what}");
            }
        }
    }

    #[test]
    fn the_best_design_keeps_the_target() {
        for growth in [1.0, 1.5] {
            let best = design(&pairs(), growth, 0.01).unwrap();
            assert!(best.mean_delta <= 0.01 && best.max_delta >= best.mean_delta, "{best:?}");
            assert!([500, 1000].contains(&best.batch), "{best:?}");
            assert!(best.usage > 0.3 && best.usage < 0.35, "{best:?}");
            // Nothing on the grid beats it.
            for batch in batches(5000) {
                for epsilon in EPSILONS {
                    let other = evaluate(&pairs(), batch, growth, epsilon);
                    assert!(other.mean_delta > 0.01 || other.usage >= best.usage, "{other:?}");
                }
            }
        }
    }

    #[test]
    fn no_design() {
        assert_eq!(design(&[], 1.5, 0.01), None);
        let small = Pair { log_alpha: 0.0, sigma_l: 0.1, population: 150 };
        assert_eq!(design(&[small], 1.5, 0.01), None);
        assert_eq!(design(&pairs(), 1.5, 0.0), None);
    }

    #[test]
    fn populations_may_differ_a_little() {
        let mut mixed = pairs();
        mixed[0].population = 10_040;
        mixed[5].population = 30_000;
        let best = design(&mixed, 1.5, 0.01).unwrap();
        assert!(best.usage > 0.2 && best.usage < 0.5, "{best:?}");
    }
}
