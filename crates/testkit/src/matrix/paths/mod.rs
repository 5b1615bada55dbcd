//! The paths that can evaluate densities: a table. A new path is a line in it, and a function that makes its claims.

mod gibbs;
mod joint;
mod particles;
mod proposals;
mod sections;
mod smooth;

use smidgen_engine::node::Op;
use smidgen_engine::{EvalError, Model, NodeId};
use smidgen_value::Rng;

use super::claim::Claim;
use super::moves::{Target, other_value};
use super::reference::State;
use super::subject::{House, Subject};

/// A program in a possible state.
pub struct Scene<'a> {
    pub subject: &'a Subject,
    pub model: &'a Model,
}

/// Which states a path makes claims about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meets {
    Anything,
    /// It never comes to impossible ones.
    Possible,
}

pub struct Path {
    pub name: &'static str,
    /// When it applies.
    pub applies: &'static str,
    /// What it is tried on.
    pub house: House,
    pub meets: Meets,
    pub has_slopes: bool,
    /// What it says about the state and about moves from it; nothing where it does not apply.
    pub weigh: Weigh,
}

type Weigh = fn(&Scene<'_>, &mut Rng) -> Result<Vec<Claim>, EvalError>;

const fn path(name: &'static str, house: House, applies: &'static str, weigh: Weigh) -> Path {
    Path { name, applies, house, meets: Meets::Anything, has_slopes: false, weigh }
}

const fn possible(name: &'static str, house: House, applies: &'static str, weigh: Weigh) -> Path {
    Path { meets: Meets::Possible, ..path(name, house, applies, weigh) }
}

const fn sloped(name: &'static str, house: House, applies: &'static str, weigh: Weigh) -> Path {
    Path { has_slopes: true, ..path(name, house, applies, weigh) }
}

use House::{Nodes, Plates};

pub static PATHS: &[Path] = &[
    path("log joint", Nodes, "always", joint::after_a_move),
    path("log joint, plates", Plates, "a loop", joint::after_a_move),
    path("log joint, lazily", Nodes, "a partition", joint::after_a_lazy_move),
    possible("log likelihood", Nodes, "data", joint::likelihood),
    possible("log likelihood, plates", Plates, "a loop", joint::likelihood),
    possible("directives' weight", Nodes, "no maker", joint::weight_of_nodes),
    possible("directives' weight, plates", Plates, "a loop, no maker", joint::weight_of_plates),
    path("rows by text", Plates, "a loop", joint::rows_by_text),
    path("rows in lanes", Plates, "a loop", joint::rows_in_lanes),
    path("proposal", Nodes, "a choice", proposals::whole),
    path("proposal, plates", Plates, "a loop", proposals::whole),
    path("proposal from the prior", Nodes, "a choice", proposals::from_prior),
    path("slice", Nodes, "a choice", proposals::reconsidered),
    path("slice, plates", Plates, "a loop", proposals::reconsidered),
    path("sections in lanes", Nodes, "a program of sections", sections::in_lanes),
    path("sections one by one", Nodes, "a partition", sections::one_by_one),
    path("sections of plates", Plates, "a loop", sections::of_plates),
    path("sections of a block", Nodes, "several choices", sections::of_a_block),
    sloped("smooth", Nodes, "a gradient", smooth::plain),
    sloped("smooth, plates", Plates, "a gradient, a loop", smooth::plain),
    sloped("smooth, standardised", Nodes, "a hierarchy", smooth::standardised),
    sloped("smooth, standardised plates", Plates, "a hierarchy, a loop", smooth::standardised),
    path("gibbs by proposals", Nodes, "a finite choice", gibbs::by_proposals),
    path("gibbs by proposals, plates", Plates, "a finite choice, a loop", gibbs::by_proposals),
    path("gibbs dry", Nodes, "a finite choice", gibbs::dry),
    path("gibbs dry, plates", Plates, "a finite choice, a loop", gibbs::dry),
    path("gibbs recalled", Nodes, "a plan that was kept", gibbs::recalled),
    possible("gibbs in place", Nodes, "a finite choice", gibbs::installed),
    path("particles", Nodes, "nothing is decided", particles::compiled),
    path("particles look ahead", Nodes, "two choices and more", particles::looking_ahead),
    path("particles in the trace", Nodes, "a choice", particles::replayed),
    path("particles in the trace, plates", Plates, "a loop", particles::replayed),
    possible("forward-backward", Nodes, "a finite chain", particles::forward_backward),
];

// ------------------------------------------------------------ what they share

/// The number of a copy.
const COPY: u32 = 1;

impl Scene<'_> {
    fn copy(&self) -> Model {
        self.model.copy(COPY)
    }

    /// The state as it is.
    fn here(&self) -> State {
        State::Moved(Box::new(self.copy()))
    }

    /// The state with other values of some choices.
    fn with(&self, targets: &[Target]) -> State {
        let values = targets.iter().map(|target| {
            let address = self.model.address(target.node);
            (address, target.value.clone())
        });
        State::Values(Box::new(self.copy()), values.collect())
    }

    pub fn has_plates(&self) -> bool {
        let model = self.model;
        model.live_nodes().any(|id| matches!(model.node(id).op, Op::Plate(_)))
    }

    fn has_makers(&self) -> bool {
        let model = self.model;
        model.live_nodes().any(|id| matches!(model.node(id).op, Op::Maker(_)))
    }

    /// Another value for one choice.
    fn target(&self, rng: &mut Rng) -> Option<Target> {
        let choices = self.model.choices();
        if choices.is_empty() {
            return None;
        }
        self.target_of(choices[rng.below(choices.len())], rng)
    }

    fn target_of(&self, node: NodeId, rng: &mut Rng) -> Option<Target> {
        let value = other_value(self.copy().trace_mut(), node, rng)?;
        Some(Target { node, value })
    }
}
