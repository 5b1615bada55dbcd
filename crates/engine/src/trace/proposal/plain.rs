//! A move of one choice that changes values and nothing else: D is the choice and what follows from it, no structure of it
//! gets another body. Then D is written in its order, in place, and undone from the journal; nothing is detached,
//! and nothing is asked for on demand.
//!
//! Cost: |D| + |A|.

use smidgen_value::Rng;

use super::{Choice, Preset, Proposal, Proposed, Proposer};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::scaffold::Scaffold;

impl Scaffold {
    /// Whether a move of its one principal, a plain choice, changes values alone.
    pub(super) fn is_plain(&self) -> bool {
        !self.restructures && self.makers.is_empty()
    }
}

impl Proposal<'_> {
    /// Proposes the value that was drawn, or else what the proposer gives.
    pub(super) fn propose_values(
        &mut self,
        drawn: Option<Preset>,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        self.in_place = true;
        self.trace.take_impossible();
        self.trace.refresh_scaffold(self.scaffold)?;
        self.log_old = self.trace.log_absorbed(self.scaffold)?;
        let id = self.scaffold.target[0];
        let proposed = match drawn {
            Some(Preset(value)) => Proposed::Drawn(value),
            None => {
                let choice = Choice { trace: self.trace, node: id };
                proposer.prepare(&choice)?;
                self.log_old += self.trace.log_density(id)?;
                proposer.propose(&choice, rng)?
            }
        };
        self.impossible.0 = self.trace.take_impossible();
        let written = self.write_values(proposed, rng);
        self.impossible.1 = self.trace.take_impossible();
        self.log_new = match written {
            Ok(log_new) => log_new,
            Err(error) if self.is_rejected(&error) => {
                self.stopped = Some(error);
                f64::NEG_INFINITY
            }
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// Writes D; gives its log weight and that of A.
    fn write_values(&mut self, proposed: Proposed, rng: &mut Rng) -> Result<f64, EvalError> {
        let (trace, scaffold) = (&mut *self.trace, &*self.scaffold);
        let (principal, followers) = scaffold.target.split_first().expect("the choice is in D");
        let (value, log_weight) = match proposed {
            Proposed::Drawn(value) => (value, 0.0),
            Proposed::Prior => (trace.draw_from_prior(*principal, rng)?, 0.0),
            Proposed::Local { value, log_q_ratio } => {
                let log_p = trace.log_density_at(*principal, &value)?;
                (value, log_p + log_q_ratio)
            }
        };
        trace.set_value(*principal, value);
        let mut failed = None;
        for id in followers {
            match trace.write_follower(*id) {
                Ok(()) => {}
                Err(error) if error.rejects() || error.is_interruption() => return Err(error),
                // The others are needed to see whether the move is impossible in any case.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(log_weight + trace.log_absorbed_unless_impossible(scaffold)?)
    }
}

impl Trace {
    /// Gives a node of D that follows from its arguments, which have theirs, its new value.
    #[inline]
    pub(super) fn write_follower(&mut self, id: NodeId) -> Result<(), EvalError> {
        let value = self.follow_arguments(id)?;
        self.write_changed(id, value);
        Ok(())
    }
}
