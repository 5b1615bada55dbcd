//! Trial proposals at the present state, and what follows from them.
//!
//! Each proposal is made, weighed and dropped. Its log α and the spread σ_l of its log weights say,
//! by the dynamic programme (theory 3.4), what a test of it reads and how often it errs. Large
//! populations get fewer proposals, and very large ones are sampled.

use smidgen_engine::proposal::Proposal;
use smidgen_engine::{
    Choice, EvalError, Evaluator, NodeId, Partition, Proposed, Proposer, Scaffold,
};
use smidgen_value::Rng;

use super::Look;
use crate::acceptance::LogWeights;
use crate::audit::Tables;
use crate::austerity::{Check, Design, Pair, Schedule, Shape, check, design, pair_outcome};
use crate::sections::{Orders, Sections};

/// Proposals that are tried.
const PROPOSALS: usize = 20;
/// Sections that all of them may read together, but for the first few.
const SECTIONS: usize = 4_000_000;
const FEWEST: usize = 4;
/// Populations up to this size are read whole, larger ones sampled.
const WHOLE: usize = 2_000_000;
const SAMPLE: usize = 200_000;
/// Proposals whose log weights are checked for normality.
const CHECKS: usize = 4;
/// Growth of the batches, and mean error of the acceptance probability, of a suggested test.
pub const GROWTH: f64 = 1.5;
pub const TARGET: f64 = 0.01;

/// The test that a prediction is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    pub schedule: Schedule,
    /// 0 for a test that reads everything.
    pub epsilon: f64,
}

/// What transitions at the present state are expected to do.
#[derive(Clone, Debug)]
pub struct Prediction {
    pub proposals: usize,
    /// How many sections of each proposal were read, if not all.
    pub sampled: Option<usize>,
    /// The expected share of proposals that are accepted, by exact decisions.
    pub acceptance: f64,
    /// Whether steps are taken from the current value, not from the prior.
    pub is_local: bool,
    /// Sections read per transition, and what the exact transition reads.
    pub sections: f64,
    pub exact_sections: f64,
    /// The probability of a wrong decision.
    pub decision_error: f64,
    /// By how much the acceptance probability is off: mean absolute value, and mean.
    pub acceptance_error: f64,
    pub acceptance_bias: f64,
    /// The median of N σ_l: the noise in log α of a single section, scaled up.
    pub noise: f64,
    /// Proposals that made some section impossible.
    pub impossible: usize,
    /// The cheapest test whose acceptance probability is off by [`TARGET`] on average.
    pub design: Option<Suggestion>,
    /// The worst of the checks of log weights.
    pub check: Option<Check>,
}

impl Prediction {
    /// Of what the exact transition reads.
    pub fn share(&self) -> f64 {
        if self.exact_sections > 0.0 { self.sections / self.exact_sections } else { 1.0 }
    }
}

/// A test that would do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suggestion {
    pub batch: usize,
    pub epsilon: f64,
    pub growth: f64,
    /// Sections per transition.
    pub sections: f64,
    pub acceptance_error: f64,
}

/// Trial proposals of one block.
#[derive(Default)]
struct Trials {
    made: usize,
    /// Nothing was changed, which is accepted.
    identities: usize,
    /// Rejected before any section was read.
    hopeless: usize,
    impossible: usize,
    /// Sections read until the impossible ones are found.
    searched: f64,
    pairs: Vec<Pair>,
    worst: Option<Check>,
}

/// Tries the proposals of a block whose partition was found.
pub fn predict(
    look: &mut Look<'_>,
    principals: &[NodeId],
    partition: &Partition,
    proposer: &mut dyn Proposer,
    test: Test,
) -> Result<Prediction, EvalError> {
    let population = partition.population();
    let read = if population <= WHOLE { population } else { SAMPLE };
    let mut proposer = Watched { proposer, is_local: false };
    let trials = try_out(look, principals, partition, &mut proposer, (read, test))?;
    let mut prediction = trials.weigh(population, test);
    prediction.is_local = proposer.is_local;
    prediction.sampled = (read < population).then_some(read);
    Ok(prediction)
}

fn try_out(
    look: &mut Look<'_>,
    principals: &[NodeId],
    partition: &Partition,
    proposer: &mut dyn Proposer,
    (read, test): (usize, Test),
) -> Result<Trials, EvalError> {
    let population = partition.population();
    let (mut scaffold, mut evaluator) = (Scaffold::new(), Evaluator::new());
    let (mut orders, mut weights) = (Orders::default(), Vec::new());
    let mut trials = Trials::default();
    for _ in 0..(SECTIONS / read.max(1)).clamp(FEWEST, PROPOSALS) {
        trials.made += 1;
        let made = Proposal::propose_global(
            look.trace,
            &mut scaffold,
            principals,
            partition,
            &mut evaluator,
            (&mut *proposer, look.rng),
        );
        let mut proposal = made?;
        let log_global = proposal.log_ratio();
        if proposal.is_identity() {
            trials.identities += 1;
            continue;
        }
        if log_global == f64::NEG_INFINITY {
            trials.hopeless += 1;
            continue;
        }
        weights.clear();
        let mut sections =
            Sections::new(&mut proposal, partition, &mut evaluator, &mut orders, look.rng);
        if read < population {
            sections.draw(read, &mut weights)?;
        } else {
            sections.scan(&mut |lot| {
                weights.extend_from_slice(lot);
                true
            })?;
        }
        drop(proposal);
        trials.take(log_global, &weights, population, test, look.rng);
    }
    Ok(trials)
}

impl Trials {
    fn take(
        &mut self,
        log_global: f64,
        weights: &[f64],
        population: usize,
        test: Test,
        rng: &mut Rng,
    ) {
        let impossible = weights.iter().filter(|weight| **weight == f64::NEG_INFINITY).count();
        if impossible > 0 {
            // The first of k among n, in random order, has the place (n + 1)/(k + 1) on average.
            let place = (weights.len() + 1) as f64 / (impossible + 1) as f64;
            let first = if test.epsilon > 0.0 { test.schedule.first as f64 } else { 1.0 };
            self.impossible += 1;
            self.searched += place.max(first).min(population as f64);
            return;
        }
        let scale = population as f64 / weights.len() as f64;
        let log_alpha = log_global + scale * weights.iter().sum::<f64>();
        let sigma_l = Shape::of(weights).sd;
        self.pairs.push(Pair { log_alpha, sigma_l, population });
        if self.pairs.len() <= CHECKS && log_alpha.is_finite() && test.epsilon > 0.0 {
            let found = check(weights, test.schedule.first.max(2), test.epsilon, rng);
            if self.worst.as_ref().is_none_or(|worst| found.trust() > worst.trust()) {
                self.worst = Some(found);
            }
        }
    }

    fn weigh(self, population: usize, test: Test) -> Prediction {
        let mut tables = Tables::default();
        let (n, made) = (population as f64, self.made as f64);
        let mut accepted = self.identities as f64;
        let mut sections = self.searched;
        let (mut error, mut off, mut bias) = (0.0, 0.0, 0.0);
        for pair in &self.pairs {
            let table = tables.table(population, test.schedule, test.epsilon);
            let outcome = pair_outcome(table, pair);
            accepted += outcome.p_accept;
            sections += outcome.usage * n;
            error += outcome.error;
            off += outcome.delta.abs();
            bias += outcome.delta;
        }
        let read = (self.pairs.len() as f64 + self.impossible as f64) / made;
        let mut noise: Vec<f64> = self.pairs.iter().map(|pair| n * pair.sigma_l).collect();
        noise.sort_by(f64::total_cmp);
        let suggestion = |found: Design| Suggestion {
            batch: found.batch,
            epsilon: found.epsilon,
            growth: GROWTH,
            sections: found.usage * n * read,
            acceptance_error: found.mean_delta,
        };
        Prediction {
            proposals: self.made,
            sampled: None,
            acceptance: accepted / made,
            is_local: false,
            sections: sections / made,
            exact_sections: n * read,
            decision_error: error / made,
            acceptance_error: off / made,
            acceptance_bias: bias / made,
            noise: noise.get(noise.len() / 2).copied().unwrap_or(0.0),
            impossible: self.impossible,
            design: design(&self.pairs, GROWTH, TARGET).map(suggestion),
            check: self.worst,
        }
    }
}

/// Notes whether a proposer takes steps from the current value.
struct Watched<'a> {
    proposer: &'a mut dyn Proposer,
    is_local: bool,
}

impl Proposer for Watched<'_> {
    fn begin(&mut self) {
        self.proposer.begin();
    }

    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        self.proposer.is_local(choice)
    }

    fn prepare(&mut self, choice: &Choice<'_>) -> Result<(), EvalError> {
        self.proposer.prepare(choice)
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        let proposed = self.proposer.propose(choice, rng)?;
        self.is_local |= matches!(proposed, Proposed::Local { .. });
        Ok(proposed)
    }
}
