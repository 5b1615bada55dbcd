//! The transition matrix of a Metropolis-Hastings kernel on a finite program, exactly.
//!
//! States are found by walking; a state's name is the list of its predicted values, so a program
//! predicts whatever tells its states apart. In each state, for each block that the kernel may
//! draw, proposals are made (and undone) with one stream after the other until every outcome has
//! been met: the probabilities q of the outcomes, computed outside the engine ([`crate::oracle`]),
//! sum to 1. For an outcome the log ratio is a number, not a random variable, so with K blocks
//! before and K' after the move
//!
//! P(i, j) = Σ_blocks 1/K · q(j | i, block) · min(1, exp(log α + log K − log K')),
//!
//! and π ∝ exp(log joint) has to satisfy π_i P_ij = π_j P_ji and πP = π to 1e-12. Where q depends
//! on the order in which applications of one made procedure were drawn and scored, which cannot
//! be seen from outside, the ratios of a move and of the move back still have to be inverse.

use std::collections::BTreeMap;

use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{NodeId, Proposal, Scaffold, Trace};
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_value::{Rng, Value, math};

use crate::oracle::Snapshot;
use crate::pvalue::{self, PValue};
use crate::world::{World, operand_value};

/// What one proposal led to.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub state: usize,
    pub log_q: f64,
    /// log α without the term for the choice of the block.
    pub log_ratio: f64,
    pub blocks_before: usize,
    pub blocks_after: usize,
    /// Whether `log_q` depends on an order that is not known ([`Snapshot::order_matters`]).
    pub uncertain: bool,
}

/// The log acceptance ratio of the right kernel.
pub fn metropolis(outcome: &Outcome) -> f64 {
    outcome.log_ratio + math::ln(outcome.blocks_before as f64)
        - math::ln(outcome.blocks_after as f64)
}

/// How a state is called, from its predicted values.
pub type Name = fn(&[Value]) -> String;

pub fn by_values(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

/// The log ratio of a proposal for a block, made with this stream, where it is not to be that of
/// the whole scaffold.
pub type Ratio = Box<dyn FnMut(&mut Trace, &[NodeId], &mut Rng) -> Option<f64>>;

pub struct Chain {
    pub states: Vec<String>,
    pub log_joint: Vec<f64>,
    /// All outcomes from a state: the probability of the block, and what it led to.
    pub outcomes: Vec<Vec<(f64, Outcome)>>,
    name: Name,
    ratio: Option<Ratio>,
}

/// Streams that may pass without a new outcome when some proposals are impossible, so that the
/// probabilities of the possible ones do not sum to 1.
const QUIET_STREAMS: u64 = 500;
const MOST_STREAMS: u64 = 200_000;

/// The blocks that a kernel may draw, with their probabilities.
pub(crate) fn blocks(target: &Target, trace: &Trace) -> (usize, Vec<(f64, Vec<NodeId>)>) {
    let count = target.scope.count(trace);
    let share = 1.0 / count as f64;
    let blocks: Vec<(f64, Vec<NodeId>)> = match (&target.scope, &target.block) {
        (Scope::Default, Block::One) => {
            trace.choices().iter().map(|id| (share, vec![*id])).collect()
        }
        (Scope::Default, Block::All) => vec![(1.0, trace.choices().to_vec())],
        (Scope::Named(scope), Block::One) => {
            (0..count).map(|k| (share, trace.scopes().block_at(scope, k).to_vec())).collect()
        }
        (Scope::Named(scope), Block::Id(id)) => {
            vec![(1.0, trace.scopes().block(scope, id).to_vec())]
        }
        _ => panic!("enumeration knows no such target"),
    };
    let drawn = matches!(target.block, Block::One);
    let blocks = blocks.into_iter().filter(|(_, block)| !block.is_empty()).collect();
    (if drawn { count } else { 1 }, blocks)
}

fn count_after(target: &Target, trace: &Trace) -> usize {
    if matches!(target.block, Block::One) { target.scope.count(trace) } else { 1 }
}

impl Chain {
    /// Finds all states that can be reached, and all outcomes from each.
    ///
    /// # Panics
    /// If the outcomes of a block cannot be exhausted, or if one outcome has two ratios.
    pub fn explore(world: &mut World, target: &Target, name: Name) -> Chain {
        Chain::explore_by(world, target, name, None)
    }

    /// The same with ratios that are come by in another way, for the same proposals.
    ///
    /// # Panics
    /// As above.
    pub fn explore_by(
        world: &mut World,
        target: &Target,
        name: Name,
        ratio: Option<Ratio>,
    ) -> Chain {
        let mut chain = Chain { states: vec![], log_joint: vec![], outcomes: vec![], name, ratio };
        let mut scaffold = Scaffold::new();
        let mut walk = Rng::for_chain(1, 7);
        world.model.find_feasible_start(&mut walk).expect("a feasible start");
        for _ in 0..1_000_000 {
            let here = chain.index(chain.name_in(world, &world.model));
            if chain.outcomes[here].is_empty() {
                chain.explore_state(world, here, target, &mut scaffold);
            }
            if chain.outcomes.iter().all(|outcomes| !outcomes.is_empty()) {
                return chain;
            }
            let (_, blocks) = blocks(target, &world.model);
            if blocks.is_empty() {
                return chain;
            }
            let block = &blocks[walk.below(blocks.len())].1;
            let trace = world.model.trace_mut();
            let proposal =
                Proposal::propose(trace, &mut scaffold, block, &mut FromPrior, &mut walk)
                    .expect("a proposal");
            if proposal.log_ratio() > f64::NEG_INFINITY {
                proposal.commit();
            }
        }
        panic!("some states cannot be reached again");
    }

    /// States that were found in another way, for [`Chain::rows`] alone.
    pub fn of_states(states: Vec<String>, log_joint: Vec<f64>, name: Name) -> Chain {
        let outcomes = vec![vec![]; states.len()];
        Chain { states, log_joint, outcomes, name, ratio: None }
    }

    /// The chain of another kernel on the same states in the same order. The world walks by
    /// single-site moves, as the kernel alone may not reach all states.
    pub fn within(&self, world: &mut World, target: &Target) -> Chain {
        self.within_by(world, target, None)
    }

    /// The same with ratios that are come by in another way.
    pub fn within_by(&self, world: &mut World, target: &Target, ratio: Option<Ratio>) -> Chain {
        let n = self.states.len();
        let mut chain = Chain {
            states: self.states.clone(),
            log_joint: vec![f64::NAN; n],
            outcomes: vec![vec![]; n],
            name: self.name,
            ratio,
        };
        let (mut scaffold, mut rng) = (Scaffold::new(), Rng::for_chain(1, 8));
        let mut program = world.program("(mh default one 1)");
        while chain.outcomes.iter().any(|outcomes| outcomes.is_empty()) {
            let here = chain.index(chain.name_in(world, &world.model));
            if chain.outcomes[here].is_empty() {
                chain.explore_state(world, here, target, &mut scaffold);
            }
            std::mem::swap(&mut world.rng, &mut rng);
            world.step(&mut program);
            std::mem::swap(&mut world.rng, &mut rng);
        }
        chain
    }

    fn name_in(&self, world: &World, trace: &Trace) -> String {
        let values: Vec<Value> =
            world.predicted.iter().map(|root| operand_value(trace, root).clone()).collect();
        (self.name)(&values)
    }

    fn index(&mut self, state: String) -> usize {
        self.states.iter().position(|known| *known == state).unwrap_or_else(|| {
            self.states.push(state);
            self.log_joint.push(f64::NAN);
            self.outcomes.push(vec![]);
            self.states.len() - 1
        })
    }

    fn explore_state(
        &mut self,
        world: &mut World,
        here: usize,
        target: &Target,
        scaffold: &mut Scaffold,
    ) {
        let before = Snapshot::of(&world.model);
        self.log_joint[here] = world.log_joint();
        let difference = (before.log_joint - self.log_joint[here]).abs();
        assert!(
            difference < 1e-12 * (1.0 + before.log_joint.abs()),
            "log joint of {}",
            self.states[here]
        );
        let (blocks_before, blocks) = blocks(target, &world.model);
        let predicted = world.predicted.clone();
        for (share, block) in blocks {
            let mut found: BTreeMap<usize, Outcome> = BTreeMap::new();
            let (mut met, mut last_new, mut impossible) = (0.0, 0, false);
            for stream in 0.. {
                assert!(
                    stream < MOST_STREAMS,
                    "{}: only {met} of all outcomes met",
                    self.states[here]
                );
                let mut rng = Rng::for_chain(here as u64, stream);
                let trace = world.model.trace_mut();
                let proposal = Proposal::propose(trace, scaffold, &block, &mut FromPrior, &mut rng)
                    .expect("a proposal");
                if proposal.log_ratio() == f64::NEG_INFINITY {
                    impossible = true;
                } else {
                    let trace = proposal.trace();
                    let values: Vec<Value> =
                        predicted.iter().map(|root| operand_value(trace, root).clone()).collect();
                    let state = self.index((self.name)(&values));
                    let after = Snapshot::of(trace);
                    let drawn = before.drawn_by_move_to(&after, &block);
                    let drawn_back = after.drawn_by_move_to(&before, &block);
                    let uncertain = before.order_matters(&after, &drawn, &[])
                        || after.order_matters(&before, &drawn_back, &[]);
                    let mut outcome = Outcome {
                        state,
                        log_q: after.log_drawn(trace, &drawn),
                        log_ratio: proposal.log_ratio(),
                        blocks_before,
                        blocks_after: count_after(target, trace),
                        uncertain,
                    };
                    drop(proposal);
                    if let Some(ratio) = &mut self.ratio {
                        let (trace, mut rng) =
                            (world.model.trace_mut(), Rng::for_chain(here as u64, stream));
                        outcome.log_ratio =
                            ratio(trace, &block, &mut rng).unwrap_or(outcome.log_ratio);
                    }
                    match found.get(&state) {
                        Some(known) => {
                            let same = |a: f64, b: f64| a == b || (a - b).abs() < 1e-12;
                            assert!(
                                same(known.log_q, outcome.log_q)
                                    && same(known.log_ratio, outcome.log_ratio)
                                    && known.blocks_after == outcome.blocks_after,
                                "{} to {}: {known:?} and {outcome:?}",
                                self.states[here],
                                self.states[state],
                            );
                        }
                        None => {
                            met += math::exp(outcome.log_q);
                            last_new = stream;
                            found.insert(state, outcome);
                        }
                    }
                }
                let exhausted = met > 1.0 - 1e-12;
                if exhausted || (impossible && stream - last_new > QUIET_STREAMS) {
                    assert!(met < 1.0 + 1e-12, "probabilities of outcomes sum to {met}");
                    break;
                }
            }
            self.outcomes[here].extend(found.into_values().map(|outcome| (share, outcome)));
        }
    }

    /// Whether the probability of some outcome is not known, so that there is no matrix.
    pub fn is_uncertain(&self) -> bool {
        self.outcomes.iter().flatten().any(|(_, outcome)| outcome.uncertain)
    }

    /// A ratio and the ratio of the move back are inverse, whatever the probabilities. The
    /// largest departure from that among the outcomes of unknown probability.
    pub fn asymmetry(&self) -> f64 {
        let mut largest: f64 = 0.0;
        for (i, outcomes) in self.outcomes.iter().enumerate() {
            for (_, forth) in outcomes.iter().filter(|(_, outcome)| outcome.uncertain) {
                let back = self.outcomes[forth.state].iter().map(|(_, outcome)| outcome);
                let back = back.filter(|outcome| outcome.uncertain && outcome.state == i);
                let sums = back.map(|back| (metropolis(forth) + metropolis(back)).abs());
                largest = largest.max(sums.fold(f64::INFINITY, f64::min));
            }
        }
        largest
    }

    /// The posterior, from the exact joint densities.
    pub fn posterior(&self) -> Vec<f64> {
        let total = math::logsumexp(&self.log_joint);
        self.log_joint.iter().map(|log_joint| math::exp(log_joint - total)).collect()
    }

    /// P, for a kernel that accepts with this log ratio.
    pub fn matrix(&self, log_accept: impl Fn(&Outcome) -> f64) -> Vec<Vec<f64>> {
        let n = self.states.len();
        let mut matrix = vec![vec![0.0; n]; n];
        for (i, outcomes) in self.outcomes.iter().enumerate() {
            for (share, outcome) in outcomes.iter().filter(|(_, outcome)| outcome.state != i) {
                let accepted = math::exp(log_accept(outcome).min(0.0));
                matrix[i][outcome.state] += share * math::exp(outcome.log_q) * accepted;
            }
            matrix[i][i] = 1.0 - matrix[i].iter().sum::<f64>();
        }
        matrix
    }

    /// The counts of a kernel's own transitions against the rows of the matrix. Given the state
    /// it leaves, each transition is an independent draw from that row.
    pub fn rows(
        &self,
        matrix: &[Vec<f64>],
        world: &mut World,
        steps: usize,
        mut kernel: impl FnMut(&mut World),
    ) -> PValue {
        let n = self.states.len();
        let mut counts = vec![vec![0u64; n]; n];
        let place = |world: &mut World| {
            for root in &world.predicted {
                world.model.operand_value(root).expect("a value");
            }
            let state = self.name_in(world, &world.model);
            self.states.iter().position(|known| *known == state)
        };
        let Some(mut here) = place(world) else { return PValue::new(0.0, "an unknown state") };
        for _ in 0..steps {
            kernel(world);
            let Some(there) = place(world) else { return PValue::new(0.0, "an unknown state") };
            counts[here][there] += 1;
            here = there;
        }
        let rows = counts.iter().zip(matrix).filter(|(counts, _)| counts.iter().sum::<u64>() > 0);
        let rounded =
            |row: &[f64]| row.iter().map(|p| if *p < 1e-13 { 0.0 } else { *p }).collect::<Vec<_>>();
        PValue::smallest_of(rows.map(|(c, row)| pvalue::chi_square(c, &rounded(row))).collect())
    }
}

/// The largest |π_i P_ij − π_j P_ji| and the largest |(πP)_j − π_j|.
pub fn imbalance(pi: &[f64], matrix: &[Vec<f64>]) -> (f64, f64) {
    let n = pi.len();
    let (mut detailed, mut global) = (0.0f64, 0.0f64);
    for j in 0..n {
        let flow: f64 = (0..n).map(|i| pi[i] * matrix[i][j]).sum();
        global = global.max((flow - pi[j]).abs());
        for i in 0..n {
            detailed = detailed.max((pi[i] * matrix[i][j] - pi[j] * matrix[j][i]).abs());
        }
    }
    (detailed, global)
}

/// One kernel after the other.
pub fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = a.len();
    let entry = |i: usize, j: usize| (0..n).map(|k| a[i][k] * b[k][j]).sum();
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}
