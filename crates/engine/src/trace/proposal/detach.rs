//! The first half of a move: D and T leave the trace, the weights of the old trace are summed.

use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::node::{Op, Role};
use crate::trace::proposal::{Choice, Proposer};
use crate::trace::scaffold::Scaffold;

/// Where more absorb, their densities are not kept one by one.
const MOST_KEPT: usize = 8;

impl Trace {
    /// Takes D and T out of the trace. Returns the log weights of the old trace; 0 without a
    /// proposer, for weights that are known already.
    pub(crate) fn detach(
        &mut self,
        scaffold: &Scaffold,
        mut proposer: Option<&mut (dyn Proposer + '_)>,
    ) -> Result<f64, EvalError> {
        let weighs = proposer.is_some();
        let mut log_old = 0.0;
        self.refresh_scaffold(scaffold)?;
        if weighs {
            log_old += self.log_absorbed(scaffold)?;
        }
        for id in scaffold.target.iter().rev() {
            if self.node(*id).role == Role::Restructured {
                if self.node(*id).observed.is_some() {
                    self.leave_observed_path(*id);
                }
                log_old += self.release(self.node(*id).expansion)?;
            }
            if self.node(*id).is_random() {
                log_old += self.detach_choice(*id, scaffold, proposer.as_deref_mut())?;
            }
        }
        // All applications in D and T are out of the statistics by now.
        for id in scaffold.target.iter().chain(&scaffold.makers) {
            if weighs && matches!(self.node(*id).op, Op::Maker(_)) {
                log_old += self.log_marginal(*id)?;
            }
        }
        self.set_pending(scaffold);
        Ok(if weighs { log_old } else { 0.0 })
    }

    /// Everything that will be read or written is made fresh first, while nothing has changed: what is brought back when
    /// the move is undone counts as fresh if anybody has looked at it meanwhile.
    pub(super) fn refresh_scaffold(&mut self, scaffold: &Scaffold) -> Result<(), EvalError> {
        if self.last_lazy > 0 {
            for id in scaffold.absorbing.iter().chain(&scaffold.makers).chain(&scaffold.target) {
                self.refresh_arguments(*id)?;
            }
            for id in &scaffold.target {
                self.refresh(*id)?;
            }
        }
        Ok(())
    }

    /// Σ_A log p(x|Par) as things stand.
    pub(super) fn log_absorbed(&mut self, scaffold: &Scaffold) -> Result<f64, EvalError> {
        let few = scaffold.absorbing.len() <= MOST_KEPT;
        let keeps = few && self.journal.is_empty() && !self.is_lenient;
        let mut log_absorbed = 0.0;
        for id in &scaffold.absorbing {
            log_absorbed += match keeps {
                true => self.kept_log_density(*id)?,
                false => self.log_density(*id)?,
            };
        }
        Ok(log_absorbed)
    }

    /// D waits for its new values.
    pub(super) fn set_pending(&mut self, scaffold: &Scaffold) {
        for id in scaffold.target.iter().chain(&scaffold.makers) {
            self.node_mut(*id).pending = true;
        }
    }

    fn detach_choice(
        &mut self,
        id: NodeId,
        scaffold: &Scaffold,
        proposer: Option<&mut (dyn Proposer + '_)>,
    ) -> Result<f64, EvalError> {
        let mut log_old = 0.0;
        if let Op::Draw(maker) = self.node(id).op {
            self.refresh_arguments(maker)?;
            let value = self.node(id).value.clone();
            self.uncount(maker, &value);
        }
        let Some(proposer) = proposer else { return Ok(log_old) };
        // An observed choice in D is one that its observation leaves; one that an observation
        // comes to is not proposed by the proposer.
        let claimed = scaffold.claimed.iter().any(|(node, _)| *node == id);
        let choice = Choice { trace: self, node: id };
        let local = !self.node(id).constrained && !claimed && proposer.is_local(&choice)?;
        if local {
            proposer.prepare(&choice)?;
        }
        let scored = local || self.node(id).constrained;
        if scored {
            log_old += self.log_density(id)?;
        }
        Ok(log_old)
    }
}
