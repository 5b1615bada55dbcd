//! Finite choices of which each reads the one before, such as the states of a hidden Markov model: one
//! by one they move slowly, for each is held by its neighbours.
//!
//! A chain is drawn as a whole from its conditional law, by forward filtering and backward sampling
//! ([`Sequence::draw_path`]). Where that cannot be done (too many values, an infinite density) its
//! choices are drawn one by one at once, before anything else moves: whether it can be done depends
//! on nothing in the chain.

use smidgen_engine::particles::LookAhead;
use smidgen_engine::{Enumeration, EvalError, NodeId, Sequence, Trace, draw_place};
use smidgen_value::Rng;

use crate::kernel::gibbs::gibbs_move;
use crate::record::Tally;

/// Shorter ones are moved one by one.
const LEAST: usize = 3;

/// Choices that are drawn together, first to last.
pub struct Chain {
    pub choices: Vec<NodeId>,
    sequence: Sequence,
}

impl Chain {
    /// The chains among these choices that can be drawn so. `before`: those of another structure,
    /// whose room is used again.
    pub(super) fn all(trace: &mut Trace, candidates: &[NodeId], before: Vec<Chain>) -> Vec<Chain> {
        let mut chains = Vec::new();
        let mut spare = before.into_iter().map(|chain| chain.sequence);
        for choices in trace.chains(candidates, LEAST) {
            let groups: Vec<Vec<NodeId>> = choices.iter().map(|id| vec![*id]).collect();
            let mut sequence = spare.next().unwrap_or_default();
            // An observation that moves cannot be followed; one by one it can.
            let prepared = sequence.prepare(trace, &groups, LookAhead::Never);
            if prepared.is_ok() && sequence.is_chain() {
                chains.push(Chain { choices, sequence });
            }
        }
        chains
    }

    pub(super) fn transition(
        &mut self,
        trace: &mut Trace,
        enumeration: &mut Enumeration,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<(), EvalError> {
        let pick = &mut |log_weights: &[f64]| draw_place(log_weights, rng.uniform());
        match self.sequence.draw_path(trace, pick)? {
            Some(changed) => tally.draw(self.sequence.absorbing() as u64, changed > 0),
            None => {
                for id in &self.choices {
                    gibbs_move(trace, enumeration, &[*id], None, rng, tally)?;
                }
            }
        }
        Ok(())
    }
}
