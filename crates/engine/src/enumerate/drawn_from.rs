//! What a block was drawn from: the number of blocks is part of a candidate's weight, where candidates differ in it.

use smidgen_value::{Value, math};

use crate::tag::Tags;
use crate::trace::Trace;

/// What the block was drawn from, if it was drawn.
#[derive(Clone, Copy, Debug)]
pub enum DrawnFrom<'a> {
    Nothing,
    /// All unconstrained choices.
    Choices,
    /// The blocks of a scope.
    Scope(&'a Value),
}

impl DrawnFrom<'_> {
    /// log of the number of blocks.
    pub(super) fn log_count(&self, trace: &Trace) -> f64 {
        let count = match self {
            DrawnFrom::Nothing => return 0.0,
            DrawnFrom::Choices => trace.choices().len(),
            DrawnFrom::Scope(scope) => trace.scopes().number_of_blocks(scope),
        };
        math::ln_count(count)
    }

    /// The same after so many unobserved choices have gone and come, none of them in the scope.
    pub(super) fn log_count_after(&self, trace: &Trace, gone: usize, come: usize) -> f64 {
        match self {
            DrawnFrom::Choices => math::ln_count(trace.choices().len() - gone + come),
            _ => self.log_count(trace),
        }
    }

    /// Whether a choice with these tags counts in the scope.
    pub(super) fn counts(&self, tags: &Tags) -> bool {
        matches!(self, DrawnFrom::Scope(scope) if tags.hold(scope))
    }
}
