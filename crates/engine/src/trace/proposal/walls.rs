//! Walls: observations and other choices that a proposal makes impossible, or much less probable than they were. Choices
//! that read the same wall hold each other: none of them can pass it alone.

use super::Proposal;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;

impl Proposal<'_> {
    /// The log densities, under the proposed values, of what absorbs them. None if the program stopped half-way.
    pub fn absorbed(&self) -> Vec<(NodeId, f64)> {
        if self.stopped.is_some() {
            return Vec::new();
        }
        let log_density = |id: NodeId| {
            let value = &self.trace.node(id).value;
            self.trace.log_density_at(id, value).ok().map(|log_density| (id, log_density))
        };
        self.scaffold.absorbing.iter().filter_map(|id| log_density(*id)).collect()
    }
}

impl Trace {
    /// The log density of a choice or of an observation as things stand.
    pub fn log_density_of(&mut self, id: NodeId) -> Result<f64, EvalError> {
        self.refresh_arguments(id)?;
        self.log_density(id)
    }

    /// The unconstrained choices that a node reads, through functions and structure alone, and itself if it is one.
    pub fn choices_read_by(&self, id: NodeId) -> Vec<NodeId> {
        let mut seen = rustc_hash::FxHashSet::default();
        let (mut work, mut found) = (vec![id], Vec::new());
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            let is_choice = self.is_choice(next);
            if is_choice {
                found.push(next);
            }
            if next == id || !(is_choice || self.node(next).is_random()) {
                work.extend(self.arguments_of(next));
            }
        }
        found
    }
}
