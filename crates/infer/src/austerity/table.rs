//! Error and usage of the test tabulated over the margin |μ_std|, once for a schedule and an ε.
//!
//! The table is even in log μ_std, from where the drift begins to matter at the last look to where
//! the first look decides, and is read by cubic (Catmull–Rom) interpolation: good to 1e-5 in the
//! error and to a relative 4e-4 in the usage. The tabulated functions depend on the population only through
//! the shares n_j / N.

use smidgen_value::math;

use super::programme::{Outcome, Walk};
use super::schedule::Schedule;

/// The step of the grid in log μ_std.
const STEP: f64 = 0.1;

#[derive(Clone, Debug)]
pub struct ErrorTable {
    at_zero: Outcome,
    log_low: f64,
    /// At log μ = log_low, log_low + STEP, …; the last is beyond where anything happens.
    grid: Vec<Outcome>,
}

impl ErrorTable {
    pub fn new(population: usize, schedule: &Schedule, epsilon: f64) -> ErrorTable {
        let walk = Walk::new(&schedule.sizes(population), epsilon, None);
        let at_zero = walk.outcome(0.0);
        let Some((low, high)) = walk.range() else {
            return ErrorTable { at_zero, log_low: 0.0, grid: Vec::new() };
        };
        let log_low = math::ln(low);
        let points = 3 + ((math::ln(high) - log_low) / STEP) as usize;
        let grid =
            (0..points).map(|i| walk.outcome(math::exp(log_low + STEP * i as f64))).collect();
        ErrorTable { at_zero, log_low, grid }
    }

    /// Error and usage at a margin of either sign.
    pub fn at(&self, mu_std: f64) -> Outcome {
        let [Some(first), Some(last)] = [self.grid.first(), self.grid.last()] else {
            return self.at_zero;
        };
        let mu = mu_std.abs();
        let place = (math::ln(mu) - self.log_low) / STEP;
        if place < 0.0 {
            let t = mu / math::exp(self.log_low);
            return mix(&[(1.0 - t, &self.at_zero), (t, first)]);
        }
        if place >= (self.grid.len() - 2) as f64 {
            return Outcome { error: 0.0, usage: last.usage };
        }
        let i = place as usize;
        let weights = catmull_rom(place - i as f64);
        let at = |k: usize| &self.grid[(i + k).saturating_sub(1)];
        mix(&[(weights[0], at(0)), (weights[1], at(1)), (weights[2], at(2)), (weights[3], at(3))])
    }
}

/// Weights of the points −1, 0, 1, 2 for a value at t in [0, 1].
fn catmull_rom(t: f64) -> [f64; 4] {
    [
        0.5 * t * (t * (2.0 - t) - 1.0),
        0.5 * (t * t * (3.0 * t - 5.0) + 2.0),
        0.5 * t * (t * (4.0 - 3.0 * t) + 1.0),
        0.5 * t * t * (t - 1.0),
    ]
}

fn mix(parts: &[(f64, &Outcome)]) -> Outcome {
    let sum = |of: fn(&Outcome) -> f64| parts.iter().map(|(w, part)| w * of(part)).sum::<f64>();
    Outcome {
        error: sum(|part| part.error).max(0.0),
        usage: sum(|part| part.usage).clamp(0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_the_programme() {
        for (population, schedule, epsilon) in [
            (10_000, Schedule::new(100, 1.0), 0.01),
            (10_000, Schedule::new(500, 1.5), 0.2),
            (1_000_000, Schedule::new(100, 2.0), 0.001),
            (300, Schedule::new(100, 1.0), 0.05),
        ] {
            let table = ErrorTable::new(population, &schedule, epsilon);
            let walk = Walk::new(&schedule.sizes(population), epsilon, None);
            for i in 0..400 {
                let mu = 1e-4 * math::exp(0.05 * f64::from(i)) - 1e-4;
                let (got, want) = (table.at(-mu), walk.outcome(mu));
                assert!((got.error - want.error).abs() < 1e-5, "{mu}: {got:?} {want:?}");
                assert!(
                    (got.usage - want.usage).abs() < 4e-4 * want.usage,
                    "{mu}: {got:?} {want:?}"
                );
            }
        }
    }

    #[test]
    fn the_ends_of_the_table() {
        let schedule = Schedule::new(100, 1.0);
        let table = ErrorTable::new(1000, &schedule, 0.05);
        let far = table.at(f64::INFINITY);
        assert!(far.error == 0.0 && (far.usage - 0.1).abs() < 1e-9, "{far:?}");
        assert_eq!(table.at(0.0), Walk::new(&schedule.sizes(1000), 0.05, None).outcome(0.0));
        // Never stopping early is exact; always stopping is one look.
        let exact = ErrorTable::new(1000, &schedule, 0.0);
        assert_eq!(exact.at(0.3), Outcome { error: 0.0, usage: 1.0 });
        let rash = ErrorTable::new(1000, &schedule, 0.5).at(0.0);
        assert!((rash.error - 0.5).abs() < 1e-9 && (rash.usage - 0.1).abs() < 1e-9, "{rash:?}");
        assert_eq!(ErrorTable::new(100, &schedule, 0.05).at(0.0), exact.at(0.0));
    }
}
