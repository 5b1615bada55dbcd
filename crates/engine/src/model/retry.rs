//! A directive that meets a parameter outside its domain is tried again with other values.
//!
//! `[assume s (normal 0 1)] [assume y (normal 0 s)]` has no value of y where s is negative. As a
//! proposal that leaves a domain is rejected, such values of s are outside the program's prior, and
//! the directive is made again with other draws of the choices so far. What hangs on no random
//! choice is a mistake at once, and a particle, whose past is given, has come to its end.

use std::sync::atomic::Ordering;

use smidgen_value::Rng;

use super::Model;
use super::wander::Wander;
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::trace::proposal::{Choice, FromPrior, Proposal};
use crate::trace::scaffold::Scaffold;

/// Draws from the prior, and then steps of single choices, with which a directive is tried again.
const DRAWS: usize = 500;
const STEPS: usize = 500;
/// Nodes that may be looked at meanwhile, about.
const WORK: usize = 20_000_000;
const LEAST: usize = 50;

impl Model {
    /// Whether a directive has failed because of a parameter outside its domain that another draw
    /// might have avoided, and was not tried again because this model is a particle.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// The directive that failed did so in all particles: it has not happened.
    pub fn mend(&mut self) {
        self.broken = false;
    }

    /// From now on this is a particle: its past is given.
    pub fn keep_past(&mut self) {
        self.keeps_past = true;
    }

    /// Choices that a search for other values may change: forced and improper ones stay.
    pub(super) fn free_choices(&self) -> Vec<NodeId> {
        let free = |id: &NodeId| {
            let choice = Choice { trace: &self.trace, node: *id };
            choice.is_proper() && !self.trace.node(*id).forced
        };
        self.trace.choices().iter().copied().filter(free).collect()
    }

    /// As many tries as were asked for, fewer if each costs much.
    pub(super) fn affordable(&self, tries: usize) -> usize {
        tries.min((WORK / self.trace.size().max(1)).max(LEAST))
    }

    pub(super) fn check_interrupt(&self) -> Result<(), EvalError> {
        match self.trace.interrupt.load(Ordering::Relaxed) {
            true => Err(EvalError::new(Mistake::Interrupted, None)),
            false => Ok(()),
        }
    }

    /// Tries until no parameter is out of its domain. Must run inside [`Model::whole`].
    pub(super) fn persist<T>(
        &mut self,
        rng: &mut Rng,
        mut attempt: impl FnMut(&mut Model, &mut Rng) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let savepoint = self.trace.savepoint();
        let before = (self.suspect, self.log_weight);
        let error = match attempt(self, rng) {
            Err(error) if error.may_pass() => error,
            result => return result,
        };
        if self.keeps_past {
            self.broken = true;
            return Err(error);
        }
        let (draws, steps) = (self.affordable(DRAWS), self.affordable(STEPS));
        for k in 0..draws + steps {
            self.trace.rollback_to(savepoint);
            (self.suspect, self.log_weight) = before;
            self.check_interrupt()?;
            if !self.redraw(k < draws, rng)? {
                continue;
            }
            match attempt(self, rng) {
                Err(error) if error.rejects() => {}
                result => {
                    self.suspect = true;
                    return result;
                }
            }
        }
        self.trace.rollback_to(savepoint);
        (self.suspect, self.log_weight) = before;
        let example = self.example_of_force(&self.free_choices());
        Err(error.advise(format!(
            "{draws} other draws of the random choices and {steps} steps of single ones did not help: give a starting value with {example} before this directive"
        )))
    }

    /// Gives all free choices, or one of them, another value. False if that cannot be.
    fn redraw(&mut self, all: bool, rng: &mut Rng) -> Result<bool, EvalError> {
        let mut principals = self.free_choices();
        if principals.is_empty() {
            return Ok(true);
        }
        let mut scaffold = Scaffold::new();
        let proposal = if all {
            Proposal::propose(&mut self.trace, &mut scaffold, &principals, &mut FromPrior, rng)?
        } else {
            principals = vec![principals[rng.below(principals.len())]];
            let mut wander = Wander::new(rng);
            Proposal::propose(&mut self.trace, &mut scaffold, &principals, &mut wander, rng)?
        };
        Ok(proposal.keep().is_ok())
    }
}
