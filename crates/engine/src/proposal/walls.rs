//! Walls: observations and other choices that a proposal makes impossible, though they were possible before. Choices
//! that read the same wall hold each other: none of them can pass it alone.

use super::Proposal;
use crate::id::NodeId;
use crate::trace::Trace;

impl Proposal<'_> {
    /// What absorbs the proposed values and is impossible under them. None if the program stopped half-way.
    pub fn walls(&self) -> Vec<NodeId> {
        if self.stopped.is_some() || self.log_new > f64::NEG_INFINITY {
            return Vec::new();
        }
        let is_wall = |id: &NodeId| {
            let value = &self.trace.node(*id).value;
            let log_density = self.trace.log_density_at(*id, value);
            log_density.is_ok_and(|log_density| log_density == f64::NEG_INFINITY)
        };
        self.scaffold.absorbing.iter().copied().filter(is_wall).collect()
    }
}

impl Trace {
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
