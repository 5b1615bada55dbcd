//! Trial decisions: before a test is trusted, some decisions are made with all sections in view.
//!
//! With batch and epsilon given, decisions number 1, 2, 4, …, 512 of the warm-up are looked at
//! (theory 5.1): are the log weights so shaped that the mean of a mini-batch is normal? The worst
//! finding becomes a warning; the user's word stands.
//!
//! In automatic mode the first decisions are all exact. They give pairs (log α, σ_l), from which
//! batch and epsilon are designed so that the acceptance probability errs by 0.01 on average
//! (theory 3.6), or the reason why every decision stays exact. What is right far from the posterior
//! is wrong near it, so the trial is made again, after twice as many decisions each time, until
//! the warm-up ends.

use smidgen_value::{Rng, bytes_of_fields};

use crate::acceptance::StudentT;
use crate::austerity::{Check, Pair, Schedule, Trust, check, design};
use crate::record::main_reasons;

/// Decisions looked at in a warm-up: 1, 2, 4, … up to this one.
const LAST_CHECK: u64 = 512;

/// Whether the n-th decision of a warm-up is looked at.
pub fn is_due(decision: u64) -> bool {
    decision.is_power_of_two() && decision <= LAST_CHECK
}

/// Pairs that an automatic choice is based on.
const PAIRS: usize = 50;
/// Every so many pairs, the shape of the log weights is looked at.
const CHECK_EVERY: usize = 5;
/// The mini-batch and level that the shape is judged for, before they are chosen.
const NOMINAL: (usize, f64) = (100, 0.01);
/// Mean error of the acceptance probability that is aimed at.
const TARGET: f64 = 0.01;
/// A test that reads more than this share of the sections is not worth its error.
const USAGE: f64 = 0.5;
/// Growth of the batches.
const GROWTH: f64 = 1.5;
/// Populations up to this size are always read whole.
pub const FEW: usize = 2 * NOMINAL.0;

/// What an automatic choice came to.
pub enum Choice {
    Test { test: StudentT, schedule: Schedule, epsilon: f64, note: String },
    Exact(String),
}

#[derive(Default)]
pub struct Trial {
    pairs: Vec<Pair>,
    worst: Option<Check>,
}

bytes_of_fields!(Trial { pairs, worst });

/// When trials are made: after 0, 100, 200, 400, … decisions by what the last one chose.
#[derive(Default)]
pub struct Trials {
    made: u32,
    decisions: u64,
}

bytes_of_fields!(Trials { made, decisions });

impl Trials {
    /// A trial came to its end.
    pub fn end(&mut self) {
        self.made += 1;
        self.decisions = 0;
    }

    /// Counts a decision; whether it is time for another trial.
    pub fn is_due(&mut self) -> bool {
        self.decisions += 1;
        self.decisions >= PAIRS as u64 * (1 << self.made.min(40))
    }
}

impl Trial {
    /// Takes in one exact decision; a choice when there are enough.
    pub fn add(&mut self, pair: Pair, weights: &[f64], rng: &mut Rng) -> Option<Choice> {
        if self.pairs.len().is_multiple_of(CHECK_EVERY) {
            let found = check(weights, NOMINAL.0, NOMINAL.1, rng);
            if self.worst.as_ref().is_none_or(|worst| found.trust() > worst.trust()) {
                self.worst = Some(found);
            }
        }
        self.pairs.push(pair);
        (self.pairs.len() >= PAIRS).then(|| self.choose())
    }

    fn choose(&self) -> Choice {
        if let Some(check) = &self.worst
            && check.trust() > Trust::Fine
        {
            let reasons = main_reasons(check);
            return Choice::Exact(format!("the t-test is not to be trusted here: {reasons}"));
        }
        match design(&self.pairs, GROWTH, TARGET) {
            Some(found) if found.usage <= USAGE => {
                let schedule = Schedule::new(found.batch, GROWTH);
                let note = format!(
                    "chose batch {}, epsilon {}, growth {GROWTH}: about {:.0}% of the sections, acceptance probability off by {:.3} on average",
                    found.batch,
                    found.epsilon,
                    100.0 * found.usage,
                    found.mean_delta
                );
                let epsilon = found.epsilon;
                Choice::Test { test: StudentT::new(schedule, epsilon), schedule, epsilon, note }
            }
            Some(found) => Choice::Exact(format!(
                "a test with an acceptance probability off by {TARGET} on average would read {:.0}% of the sections, which does not pay",
                100.0 * found.usage
            )),
            None => Choice::Exact(format!(
                "no mini-batch keeps the error of the acceptance probability below {TARGET} on average"
            )),
        }
    }
}
