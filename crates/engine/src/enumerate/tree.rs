//! The tree of combinations, one leaf after the other: a proposer that follows a path.
//!
//! At depth i the choice that is regenerated i-th lists the values it can take then; the path says
//! which of them it gets. Past the end of the path the first one is taken, so a leaf is complete
//! whatever its depth, and the next leaf is found as on an odometer.

use smallvec::SmallVec;
use smidgen_value::Rng;

use super::hanging::unsettled;
use super::too_many;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::proposal::{Choice, Proposed, Proposer};

#[derive(Default)]
pub(super) struct Script {
    /// For each choice met: which value it gets, of how many.
    steps: Vec<(u32, u32)>,
    depth: usize,
    is_current: bool,
    /// Principals that are drawn from their prior.
    brush: Vec<NodeId>,
    /// Combinations that are weighed at most.
    pub most: u64,
}

impl Script {
    /// The first leaf comes next, of so many at most.
    pub fn restart(&mut self, most: u64) {
        self.most = most;
        self.steps.clear();
    }

    pub fn set_brush(&mut self, brush: &[NodeId]) {
        self.brush.clear();
        self.brush.extend_from_slice(brush);
    }

    pub fn brush(&self) -> usize {
        self.brush.len()
    }

    /// Before every proposal.
    pub fn begin(&mut self) {
        self.depth = 0;
        self.is_current = true;
    }

    /// Goes this way again.
    pub fn follow(&mut self, path: &[u32]) {
        self.steps.clear();
        self.steps.extend(path.iter().map(|at| (*at, 0)));
        self.most = u64::MAX;
        self.begin();
    }

    /// Whether every choice got the value it has.
    pub fn is_current(&self) -> bool {
        self.is_current
    }

    pub fn path(&self) -> SmallVec<[u32; 2]> {
        self.steps.iter().map(|step| step.0).collect()
    }

    /// The number of leaves, if all were as wide as this one.
    pub fn combinations(&self) -> u64 {
        self.steps.iter().fold(1, |product, step| product.saturating_mul(u64::from(step.1)))
    }

    /// Goes on to the next leaf; false after the last one.
    pub fn advance(&mut self) -> bool {
        self.steps.truncate(self.depth);
        while let Some((at, of)) = self.steps.last_mut() {
            *at += 1;
            if *at < *of {
                return true;
            }
            self.steps.pop();
        }
        false
    }
}

impl Proposer for Script {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(!self.brush.contains(&choice.node))
    }

    fn propose(&mut self, choice: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        if !self.is_local(choice)? {
            return Ok(Proposed::Prior);
        }
        choice.trace.stop_if_asked()?;
        if choice.most_values().is_some_and(|values| values as u64 > self.most) {
            return Err(too_many(self.most, 1, choice.trace.node(choice.node).origin));
        }
        let mut values = choice.enumerate()?;
        if self.depth == self.steps.len() {
            self.steps.push((0, 0));
        }
        let (at, of) = &mut self.steps[self.depth];
        *of = values.len() as u32;
        self.depth += 1;
        if *at >= *of {
            // Another brush gave it another list, which is what `Hanging` is there to find.
            return Err(unsettled(choice.trace.node(choice.node).origin));
        }
        let value = values.swap_remove(*at as usize);
        self.is_current &= value == *choice.current();
        Ok(Proposed::Local { value, log_q_ratio: 0.0 })
    }
}
