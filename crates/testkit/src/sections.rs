//! Decisions by sections, from the engine's public face alone: G and all l_i of one proposal,
//! kernels that use them with one mistake each, and transitions whose cost is counted.

use smidgen_engine::{Choice, EvalError};
use smidgen_engine::{Evaluator, NodeId, Partition, Proposal, Proposed, Proposer, Scaffold, Trace};
use smidgen_infer::Tally;
use smidgen_infer::acceptance::{AcceptanceTest, Question};
use smidgen_infer::kernel::mh::mh_move;
use smidgen_infer::proposer::Learner;
use smidgen_infer::sections::{Orders, Sections};
use smidgen_value::{Rng, Value};

/// One proposal, weighed.
#[derive(Clone, Debug)]
pub struct Weighed {
    /// G.
    pub log_global: f64,
    /// l_i of every section.
    pub weights: Vec<f64>,
    /// Edges from the border into a section, the most of any kind.
    pub entries: usize,
    /// Nodes that lead to sections.
    pub hubs: usize,
}

impl Weighed {
    pub fn sum(&self) -> f64 {
        self.weights.iter().sum()
    }
}

/// What a kernel by sections may get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Counts a section once for every way into it.
    CountsEveryWay,
    ForgetsTheGlobalPart,
    LeavesOneSectionOut,
    /// Counts a section below several nodes of the block as often as there are nodes.
    WrongDivisor,
    /// The old weight is that of the state before the last accepted move.
    ReadsStaleValues,
    /// Draws u again if it would reject.
    DrawsUAgain,
}

/// A kernel that reads every section of a block, with room for its proposals.
pub struct BySections {
    scaffold: Scaffold,
    partition: Partition,
    evaluator: Evaluator,
    orders: Orders,
    fault: Fault,
    /// What the last accepted move added to the log weight of the state.
    stale: f64,
    /// Moves decided by sections.
    pub moves: usize,
}

/// What one transition came to and what it cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub accepted: bool,
    /// Sections read, and nodes looked at for them.
    pub sections: usize,
    pub touched: u64,
    pub population: usize,
}

impl BySections {
    pub fn new(fault: Fault) -> BySections {
        BySections {
            scaffold: Scaffold::new(),
            partition: Partition::new(),
            evaluator: Evaluator::new(),
            orders: Orders::default(),
            fault,
            stale: 0.0,
            moves: 0,
        }
    }

    /// G and l_i as the kernel sees them, and the proposal they belong to; none if the block has
    /// no partition.
    fn propose<'t>(
        &'t mut self,
        trace: &'t mut Trace,
        block: &[NodeId],
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Option<(Proposal<'t>, Weighed)> {
        let BySections { scaffold, partition, evaluator, fault, .. } = self;
        partition.find(trace, block).ok()?;
        let entries = partition.kinds(trace).iter().map(|count| count.kind.entries).max();
        let mut proposal =
            Proposal::propose_global(trace, scaffold, block, partition, evaluator, (proposer, rng))
                .expect("a proposal");
        let mut weighed = Weighed {
            log_global: proposal.log_ratio(),
            weights: Vec::new(),
            entries: entries.unwrap_or(1),
            hubs: partition.hubs.len(),
        };
        if !proposal.is_identity() && weighed.log_global > f64::NEG_INFINITY {
            for place in (0..partition.places()).filter(|place| !partition.is_excluded(*place)) {
                let mut one = Vec::new();
                proposal
                    .log_weights(partition, evaluator, &[place as u32], &mut one)
                    .expect("a weight");
                let weight = one[0];
                weighed.weights.push(weight);
            }
        }
        match fault {
            Fault::CountsEveryWay => {
                let ways = weighed.entries as f64;
                weighed.weights.iter_mut().for_each(|weight| *weight *= ways);
            }
            Fault::WrongDivisor => {
                let hubs = weighed.hubs as f64;
                weighed.weights.iter_mut().for_each(|weight| *weight *= hubs);
            }
            Fault::ForgetsTheGlobalPart => weighed.log_global = 0.0,
            Fault::LeavesOneSectionOut => drop(weighed.weights.pop()),
            Fault::None | Fault::ReadsStaleValues | Fault::DrawsUAgain => {}
        }
        Some((proposal, weighed))
    }

    /// G and l_i of one proposal, which is dropped.
    pub fn weigh(
        &mut self,
        trace: &mut Trace,
        block: &[NodeId],
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Option<Weighed> {
        self.propose(trace, block, proposer, rng).map(|(_, weighed)| weighed)
    }

    /// One move of a block; the exact one if there is no partition.
    pub fn step(
        &mut self,
        trace: &mut Trace,
        block: &[NodeId],
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) {
        if self.partition.find(trace, block).is_err() {
            let mut tally = Tally::default();
            mh_move(trace, &mut self.scaffold, block, proposer, None, rng, &mut tally)
                .expect("a move");
            return;
        }
        self.moves += 1;
        let (fault, stale) = (self.fault, self.stale);
        let mut log_u = rng.log_uniform();
        let (proposal, weighed) = self.propose(trace, block, proposer, rng).expect("found above");
        let mut log_alpha = weighed.log_global + weighed.sum();
        if fault == Fault::ReadsStaleValues {
            log_alpha += stale;
        }
        if fault == Fault::DrawsUAgain && log_u >= log_alpha {
            log_u = rng.log_uniform();
        }
        if proposal.is_identity() || log_u < log_alpha {
            let moved = weighed.sum();
            proposal.commit_lazily();
            self.stale = moved;
        }
    }

    /// One transition by a test, with a given u.
    pub fn count(
        &mut self,
        trace: &mut Trace,
        block: &[NodeId],
        (proposer, test): (&mut dyn Proposer, &mut dyn AcceptanceTest),
        log_u: f64,
        rng: &mut Rng,
    ) -> Cost {
        let BySections { scaffold, partition, evaluator, orders, .. } = self;
        partition.find(trace, block).expect("sections");
        let population = partition.population();
        let mut proposal = Proposal::propose_global(
            trace,
            scaffold,
            block,
            partition,
            evaluator,
            (proposer, &mut *rng),
        )
        .expect("a proposal");
        let question = Question { log_u, log_global: proposal.log_ratio(), population };
        let mut sections = Sections::new(&mut proposal, partition, evaluator, orders, rng);
        let verdict = test.decide(&question, &mut sections).expect("a decision");
        if verdict.accept {
            proposal.commit_lazily();
        }
        Cost {
            accepted: verdict.accept,
            sections: verdict.sections,
            touched: self.evaluator.touched,
            population,
        }
    }
}

/// Proposes one given number, as if by a symmetric walk.
pub struct Given(pub f64);

impl Proposer for Given {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(true)
    }

    fn propose(&mut self, _: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        Ok(Proposed::Local { value: Value::Number(self.0), log_q_ratio: 0.0 })
    }
}

/// Proposes numbers one after the other, as if by a symmetric walk.
pub struct InTurn<I>(pub I);

impl<I: Iterator<Item = f64>> Proposer for InTurn<I> {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(true)
    }

    fn propose(&mut self, _: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        let value = Value::Number(self.0.next().expect("numbers enough"));
        Ok(Proposed::Local { value, log_q_ratio: 0.0 })
    }
}

impl<I: Iterator<Item = f64> + Send> Learner for InTurn<I> {}
