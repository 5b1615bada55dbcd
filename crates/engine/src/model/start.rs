//! A start that fits the observations.

use smidgen_value::Rng;

use super::Model;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::node::Op;
use crate::proposal::{Choice, FromPrior, Proposal};
use crate::scaffold::Scaffold;

/// Draws from the prior that a search for a feasible start may take.
const FEASIBLE_TRIES: usize = 2000;

impl Model {
    /// Before the first transition: if an observation is impossible under the current values,
    /// redraws the unconstrained choices from their priors until all are possible. Forced and
    /// improper choices stay as they are.
    pub fn find_feasible_start(&mut self, rng: &mut Rng) -> Result<(), EvalError> {
        if !self.suspect {
            return Ok(());
        }
        if self.impossible_observation()?.is_some() {
            let mut scaffold = Scaffold::new();
            for _ in 0..FEASIBLE_TRIES {
                let free = |id: &NodeId| {
                    let choice = Choice { trace: &self.trace, node: *id };
                    choice.is_proper() && !self.trace.node(*id).forced
                };
                let principals: Vec<NodeId> =
                    self.trace.choices().iter().copied().filter(free).collect();
                if principals.is_empty() {
                    break;
                }
                let proposal = Proposal::propose(
                    &mut self.trace,
                    &mut scaffold,
                    &principals,
                    &mut FromPrior,
                    rng,
                )?;
                if proposal.log_new() > f64::NEG_INFINITY {
                    proposal.commit();
                    break;
                }
            }
            if let Some(id) = self.impossible_observation()? {
                let message = format!(
                    "this observation is impossible under the starting values, and {FEASIBLE_TRIES} draws from the prior found none that fit"
                );
                return Err(EvalError::other(self.trace.node(id).origin, message)
                    .hint("give starting values with [force expr value]"));
            }
        }
        self.suspect = false;
        Ok(())
    }

    fn impossible_observation(&mut self) -> Result<Option<NodeId>, EvalError> {
        for id in self.trace.live_nodes().collect::<Vec<_>>() {
            let node = self.trace.node(id);
            if node.constrained && matches!(node.op, Op::Random(_) | Op::Plate(_)) {
                self.trace.refresh_arguments(id)?;
                if self.trace.log_density(id)? == f64::NEG_INFINITY {
                    return Ok(Some(id));
                }
            }
        }
        Ok(None)
    }
}
