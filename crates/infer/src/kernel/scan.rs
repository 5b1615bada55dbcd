//! Exact moves of a parameter that many sections depend on: the sections are weighed in lanes, without
//! writing, and all of them are read,
//!
//! log α = G + Σ l_i  (equation 5),
//!
//! instead of undoing and redoing every node below the choice. An accepted move leaves what follows from it
//! stale, as a subsampled one does. The proposal and the decision are those of [`mh_move`], from
//! the same random numbers.
//!
//! Rows of plates are scanned by the proposal itself, which remembers what the current state weighs.

use smidgen_engine::{
    EvalError, Evaluator, NodeId, Partition, Proposal, Proposer, Scaffold, Trace,
};
use smidgen_value::Rng;

use super::mh::mh_move;
use crate::acceptance::read_all;
use crate::block::Selection;
use crate::proposer::MoveOutcome;
use crate::run::Log;
use crate::sections::{Orders, Sections};

/// Sections from which on it pays.
pub const MANY: usize = 128;

/// Room for exact moves, by sections or by whole proposals.
#[derive(Default)]
pub struct ExactMoves {
    scaffold: Scaffold,
    partition: Partition,
    evaluator: Evaluator,
    orders: Orders,
}

impl ExactMoves {
    /// One proposal for a block, accepted or not.
    pub fn make(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        proposer: &mut dyn Proposer,
        selection: Selection<'_>,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<MoveOutcome, EvalError> {
        if self.scans(trace, principals, log.run.scan_from.unwrap_or(MANY)) {
            return self.scan(trace, principals, proposer, rng, log);
        }
        mh_move(trace, &mut self.scaffold, principals, proposer, selection, rng, &mut log.tally)
    }

    fn scans(&mut self, trace: &mut Trace, principals: &[NodeId], many: usize) -> bool {
        let [principal] = principals else { return false };
        Partition::fan_out(trace, *principal) >= many
            && self.partition.find(trace, principals).is_ok()
            && self.partition.population() >= many
            && self.partition.may_be_compiled(trace)
    }

    fn scan(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<MoveOutcome, EvalError> {
        let ExactMoves { scaffold, partition, evaluator, orders } = self;
        let log_u = rng.log_uniform();
        let from = (proposer, &mut *rng);
        let mut proposal =
            Proposal::propose_global(trace, scaffold, principals, partition, evaluator, from)?;
        let population = partition.population() as u64;
        log.tally.transitions += 1;
        log.tally.population += population;
        log.tally.sections_used += population;
        // The number of blocks cannot change: there is no structure below the block.
        let mut log_ratio = proposal.log_ratio();
        if !proposal.is_identity() && log_ratio > f64::NEG_INFINITY {
            let mut sections = Sections::new(&mut proposal, partition, evaluator, orders, rng);
            log_ratio += read_all(&mut sections, &mut |_| {})?;
        }
        let accepted = log_u < log_ratio;
        if accepted {
            log.tally.accepted += 1;
            log.run.kernel(log.number).compiled |= partition.is_compiled(proposal.trace());
            proposal.commit_lazily();
        }
        Ok(MoveOutcome { log_ratio, accepted })
    }
}
