//! The semantics that paths are held against: the program run from its text, node by node, with the values
//! of its choices given. Nothing is moved, nothing is compiled, nothing is kept.

use std::collections::HashMap;

use smidgen_engine::Model;
use smidgen_engine::check::again::Choices;
use smidgen_engine::check::paths::{ChoiceDensity, choice_log_densities};
use smidgen_value::Value;

use super::subject::{House, Subject};

/// A state of a program.
pub enum State {
    /// That of a model.
    Moved(Box<Model>),
    /// That of a model but for some choices, by address. Nothing else exists or not because of them.
    Values(Box<Model>, Vec<(u64, Value)>),
}

impl State {
    /// None if two choices share an address, so that no run can be told which is which.
    pub fn choices(&self) -> Option<Choices> {
        match self {
            State::Moved(model) => Choices::of(model),
            State::Values(model, values) => {
                let mut choices = Choices::of(model)?;
                for (address, value) in values {
                    choices.put(*address, value.clone());
                }
                Some(choices)
            }
        }
    }
}

/// A state, measured.
#[derive(Debug)]
pub struct Measured {
    pub log_joint: f64,
    /// Unobserved choices by address; empty where the state is impossible.
    pub densities: HashMap<u64, ChoiceDensity>,
}

impl Measured {
    /// None if the state cannot be measured: a choice that would exist there has no value.
    pub fn of(subject: &Subject, state: &State) -> Option<Measured> {
        let impossible = Measured { log_joint: f64::NEG_INFINITY, densities: HashMap::new() };
        let mut world = match subject.world(House::Nodes, Some(state.choices()?), 0) {
            Ok(world) => world,
            Err(why) if why.contains("does not run alike") => return None,
            // A parameter out of its domain.
            Err(_) => return Some(impossible),
        };
        let Ok(log_joint) = world.model.log_joint() else { return Some(impossible) };
        let densities = choice_log_densities(world.model.trace_mut()).unwrap_or_default();
        let by_address = densities.into_iter().map(|density| (density.address, density));
        Some(Measured { log_joint, densities: by_address.collect() })
    }

    /// How large the numbers are that were added up.
    pub fn scale(&self) -> f64 {
        let sizes = self.densities.values().map(|density| density.log_p.abs());
        let terms: f64 = sizes.filter(|size| size.is_finite()).sum();
        if self.log_joint.is_finite() { self.log_joint.abs() + terms } else { terms }
    }
}

/// The log density of the data given the choices: what is left of the log joint density without them.
pub fn log_likelihood(subject: &Subject, state: &State) -> Option<f64> {
    let joint = Measured::of(subject, state)?.log_joint;
    if joint == f64::NEG_INFINITY {
        return Some(joint);
    }
    let prior = subject.world_without_data(state.choices()?).ok()?.model.log_joint().ok()?;
    Some(joint - prior)
}
