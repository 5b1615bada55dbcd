//! Choices above many members that come and go, such as the weights of the large clusters of a mixture of regressions: moved by
//! sums and bounds that their members bring and take with them, so that no density of all rows has to be compiled
//! when an assignment has changed.
//!
//! Which choices these are is learnt in the warm-up, by address, where the structure changes from sweep to sweep and the search
//! for a reference has found one that pays. From then on they are in no joint block. Where the members are not those that
//! the reference serves, a choice is moved by itself as well; that hangs on the members alone, not on the choice.

use smidgen_engine::{EvalError, NodeId, Trace};
use smidgen_value::Rng;

use super::{AutoKernel, Round, explain};
use crate::explain::Look;
use crate::kernel::reference_mh::Service;
use crate::run::{Log, Phase};

/// Moves of a choice per sweep: each costs little beside the moves of its members.
const MOVES: usize = 4;
/// One sweep of so many moves it by itself as well, in case the reference misses something.
const SELDOM: u64 = 50;
/// Choices that are looked at for an explanation.
const EXPLAINED: usize = 16;

impl AutoKernel {
    /// In the warm-up: continuous choices that could be moved by their members. Only where structure changes from sweep to sweep.
    pub(super) fn look_for_members(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let structure = Some(trace.structure_revision());
        let before = std::mem::replace(&mut self.structure, structure);
        if log.run.phase != Phase::Warmup || before.is_none() || before == structure {
            return Ok(());
        }
        for id in self.continuous() {
            if self.reference.move_members(trace, id, rng, log)?.is_ok() {
                self.plan.move_by_members(trace.address(id));
            }
        }
        self.plan.update(trace, true, log.run.approximate && !log.run.exact)
    }

    /// Those that the plan has in the joint block, or would have there if they did not come and go.
    fn continuous(&self) -> Vec<NodeId> {
        let excluded = self.plan.excluded.iter().map(|excluded| excluded.choice);
        self.plan.smooth.iter().copied().chain(excluded).collect()
    }

    pub(super) fn members(
        &mut self,
        trace: &mut Trace,
        round: Round,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        self.plan.update(trace, round.learns, round.approximate)?;
        let is_insured = self.sweeps % SELDOM == SELDOM - 1;
        for id in self.plan.above_members.clone() {
            // How well it is served hangs on the members, which these moves leave as they are.
            let mut is_served = true;
            for _ in 0..MOVES {
                let service = match is_served {
                    true => self.reference.move_members(trace, id, rng, log)?,
                    false => break,
                };
                is_served = service.is_ok_and(|service| service > Service::Poor);
            }
            if !is_served || is_insured {
                self.move_alone(trace, id, rng, log)?;
            }
        }
        Ok(())
    }

    /// What the warm-up will find, if the members are about as many as they are now.
    pub(super) fn members_in_words(
        &mut self,
        look: &mut Look<'_>,
    ) -> Result<Vec<String>, EvalError> {
        let mut notes = Vec::new();
        if !self.plan.has_others() {
            return Ok(notes);
        }
        let above = self.plan.above_members.clone();
        for id in above.into_iter().chain(self.continuous()).take(EXPLAINED) {
            if let Ok(how) = self.reference.words_of_members(look.trace, id)? {
                let name = explain::named(look, &[id]);
                notes.push(format!(
                    "reference_mh for {name}, once the warm-up has seen its members change: {how}"
                ));
            }
        }
        Ok(notes)
    }
}
