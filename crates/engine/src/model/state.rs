//! States of a model: the values of its free choices by address, taken and restored.
//!
//! [`Model::state`] takes one. There are two ways back:
//!
//! * a model that was [given](Model::give) the state runs the directives: every choice that is made takes its value
//!   from there, and what the state lacks (the rows of new data, a group that was never seen) is drawn from its prior
//!   given the rest;
//! * a model that has run them is [rewritten](Model::rewrite): one proposal of these values for all choices, so that
//!   structure follows by the one way in which it ever changes. Plates and what was compiled for them stay.
//!
//! Both give the trace that the state was taken of, which [`Model::is_in`] checks: what hangs on an address that is
//! not unique cannot be restored, and is refused where the state is taken.

use smidgen_lang::Span;
use smidgen_value::{Rng, State};

use super::{Code, Model, holds_procedure};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::node::Op;
use crate::trace::observe::Referent;
use crate::trace::proposal::{Choice, Proposal, Proposed, Proposer};
use crate::trace::scaffold::Scaffold;
use crate::trace::script::Given;

/// Why a model has no state.
const SHARED: &str =
    "two random choices of the program cannot be told apart by where they stand in it";
const PROCEDURE: &str = "a random choice of the program has a procedure as its value";

impl Model {
    /// The values of all free choices, and of those that were frozen; or why a state cannot be restored. `like` is a
    /// state taken before, with which it shares what it can.
    pub fn state(&self, like: Option<&State>) -> Result<State, &'static str> {
        let frozen = self.frozen.iter().copied();
        let frozen = frozen.filter(|id| matches!(self.trace.node(*id).op, Op::Frozen));
        let ids = self.trace.choices().iter().copied().chain(frozen);
        let node = |id| (self.trace.node(id).address, self.trace.node(id).value.clone());
        let choices: Vec<_> = ids.map(node).collect();
        if choices.iter().any(|(_, value)| holds_procedure(value)) {
            return Err(PROCEDURE);
        }
        let state = State::new(choices).ok_or(SHARED)?;
        Ok(match like {
            Some(like) => state.like(like),
            None => state,
        })
    }

    /// What the directives from now on make takes its values from a state, until [`Model::give_no_more`].
    pub fn give(&mut self, state: &State) {
        let state = state.clone();
        self.trace.given = Some(Box::new(Given { state, is_whole: false }));
    }

    pub fn give_no_more(&mut self) {
        self.trace.given = None;
    }

    /// Brings all choices to a state. What it lacks is drawn from its prior. If that fails, nothing has changed.
    pub fn rewrite(&mut self, state: &State, rng: &mut Rng) -> Result<(), EvalError> {
        let principals = self.trace.choices().to_vec();
        self.give(state);
        let done = self.whole(|model| {
            let mut scaffold = Scaffold::new();
            let mut values = FromState(state);
            Proposal::propose(&mut model.trace, &mut scaffold, &principals, &mut values, rng)?
                .keep()
        });
        self.give_no_more();
        done
    }

    /// Whether every choice of a state is there with its value. There may be others.
    pub fn covers(&self, state: &State) -> bool {
        let found = self.trace.choices().iter().filter(|id| {
            let node = self.trace.node(**id);
            state.get(node.address).is_some_and(|value| value.is_identical(&node.value))
        });
        let frozen = self.frozen.iter().filter(|id| matches!(self.trace.node(**id).op, Op::Frozen));
        found.count() + frozen.count() >= state.len()
    }

    /// Whether the free choices are those of a state, to the bit.
    pub fn is_in(&self, state: &State) -> bool {
        self.state(Some(state)).is_ok_and(|now| now.is_identical(state))
    }

    /// The address of the free choice that an expression refers to, if there is one already. Leaves no trace and uses
    /// nothing of the stream.
    pub fn address_of(&mut self, code: Code<'_>, rng: &mut Rng) -> Option<u64> {
        let place = rng.place();
        let found: Result<Option<u64>, EvalError> = self.aside(|model, _| {
            let (_, root, ..) = model.evaluate(code, rng, false, None)?;
            Ok(model.choice_address(&root))
        });
        rng.go_back(place);
        found.ok().flatten()
    }

    /// The address of the free choice that an operand refers to, if it was there before the last directive began.
    pub fn choice_address(&self, operand: &Operand) -> Option<u64> {
        let Referent::Choice(id) = self.trace.referent(operand) else { return None };
        let node = self.trace.node(id);
        let is_old = node.changed_at <= self.trace.revision;
        (is_old && !node.constrained).then_some(node.address)
    }

    /// What stands at an address: the name of its procedure and its place in the program.
    pub fn origin_of(&self, address: u64) -> Option<(&str, Span)> {
        let at = |id: &&NodeId| self.trace.node(**id).address == address;
        self.trace.choices().iter().find(at).map(|id| self.trace.origin(*id))
    }

    /// A choice that cannot be drawn from its prior.
    pub fn improper_choice(&self) -> Option<(&str, Span)> {
        let is_improper = |id: &&NodeId| !Choice { trace: &self.trace, node: **id }.is_proper();
        self.trace.choices().iter().find(is_improper).map(|id| self.trace.origin(*id))
    }

    /// The address of the next directive. Each that makes something takes one, each row of a loop as well.
    pub fn next_address(&self) -> u64 {
        self.next_address
    }

    /// Gives the next directive the address that it had when a state was taken.
    pub fn set_next_address(&mut self, address: u64) {
        self.next_address = address;
    }
}

struct FromState<'a>(&'a State);

impl Proposer for FromState<'_> {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(false)
    }

    fn propose(&mut self, choice: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        let value = self.0.get(choice.address());
        Ok(value.map_or(Proposed::Prior, |value| Proposed::Drawn(value.clone())))
    }
}
