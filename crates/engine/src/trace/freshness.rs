//! Section 3.5 of the paper: values left stale by a lazy change are refreshed when read.
//!
//! A lazy change (an accepted move of a global part) writes a few nodes and leaves their descendants as they are. Every
//! node knows the revision at which its value last changed (`changed_at`) and the last at which
//! it was known to be fresh (`verified_at`). A node is fresh if it was verified after the last
//! lazy change of the trace; otherwise its arguments are refreshed first, and it is recomputed
//! only if one of them changed after it was verified. `changed_at` moves only if the value did.
//!
//! Cost: one comparison on a fresh node; a stale one costs what lies between it and the change.
//! Nothing is ever marked. Structure never hangs on a stale value, because lazy changes are made
//! only where no structure lies downstream.

use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::Values;
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::Op;
use smallvec::SmallVec;
use smidgen_value::Value;

/// Nodes that a debug assertion looks at.
const MOST_SEARCHED: usize = 64;

impl Trace {
    /// The value of a node, refreshed if it is stale. No proposal may be open.
    pub fn value(&mut self, id: NodeId) -> Result<&Value, EvalError> {
        self.refresh(id)?;
        Ok(&self.node(id).value)
    }

    /// The value of an operand, refreshed if it is stale.
    pub fn operand_value<'a>(&'a mut self, operand: &'a Operand) -> Result<&'a Value, EvalError> {
        match operand {
            Operand::Constant(value) => Ok(value),
            Operand::Node(id) => self.value(*id),
        }
    }

    #[inline]
    pub(crate) fn is_stale(&self, id: NodeId) -> bool {
        self.node(id).verified_at < self.last_lazy
    }

    #[inline]
    pub(crate) fn refresh(&mut self, id: NodeId) -> Result<(), EvalError> {
        if self.is_stale(id) { self.refresh_stale(id) } else { Ok(()) }
    }

    #[cold]
    fn refresh_stale(&mut self, id: NodeId) -> Result<(), EvalError> {
        let follows_arguments = matches!(self.node(id).op, Op::Function(_) | Op::Structure(_))
            && !self.node(id).pending;
        if follows_arguments {
            let verified_at = self.node(id).verified_at;
            let mut changed = false;
            for slot in 0..self.node(id).args.len() {
                if let Operand::Node(parent) = self.node(id).args[slot].operand {
                    stacker::maybe_grow(64 << 10, 1 << 20, || self.refresh(parent))?;
                    changed |= self.node(parent).changed_at > verified_at;
                }
            }
            if changed {
                let value = self.follow_arguments(id)?;
                if !self.node(id).value.is_identical(&value) {
                    self.replace_value(id, value);
                    self.node_mut(id).changed_at = self.revision;
                }
            }
        }
        let revision = self.revision;
        self.node_mut(id).verified_at = revision;
        Ok(())
    }

    /// The value that follows from settled arguments: for a function its result, for a structure
    /// the value of its root.
    #[inline]
    pub(crate) fn follow_arguments(&self, id: NodeId) -> Result<Value, EvalError> {
        if let Some(root) = self.node(id).root() {
            return Ok(self.settled_value(root).clone());
        }
        self.with_args(id, |args| self.follow(id, args))
    }

    /// The same for given values of the arguments.
    #[inline]
    pub(crate) fn follow(&self, id: NodeId, args: &[&Value]) -> Result<Value, EvalError> {
        let node = self.node(id);
        match &node.op {
            Op::Function(function) => (function.apply)(args)
                .map_err(|error| self.argument_error(function.spec.name, error, node.origin)),
            Op::Structure(_) => Ok((*args.last().expect("a structure has a root")).clone()),
            _ => unreachable!("only functions and structures follow their arguments"),
        }
    }

    /// Makes the edits of the open transaction lasting, though what depends on them has not been
    /// rewritten: it becomes stale, at no cost. Only where no structure lies downstream, or none
    /// that would get another body.
    pub(crate) fn commit_lazily(&mut self) {
        self.commit();
        self.last_lazy = self.revision;
    }

    /// Whether nothing below these nodes is decided by them, as far as a bounded search tells. For
    /// debug assertions.
    pub(crate) fn decide_nothing(&self, nodes: &[NodeId]) -> bool {
        let mut seen: SmallVec<[NodeId; MOST_SEARCHED]> = SmallVec::from_slice(nodes);
        let mut next = 0;
        while next < seen.len() && seen.len() < MOST_SEARCHED {
            for child in self.node(seen[next]).children.iter().take(MOST_SEARCHED) {
                let node = self.node(child.node);
                if node.is_existential(child.slot) {
                    return false;
                }
                let follows = matches!(node.op, Op::Function(_) | Op::Structure(_));
                if follows && seen.len() < MOST_SEARCHED && !seen.contains(&child.node) {
                    seen.push(child.node);
                }
            }
            next += 1;
        }
        true
    }

    /// Whether the arguments of a node can be read as they are. For debug assertions, which let a mistake that was
    /// put back pass: tests have to notice it by themselves.
    pub(crate) fn has_fresh_arguments(&self, id: NodeId) -> bool {
        if self.has_fault(Fault::StaleArguments) {
            return true;
        }
        self.node(id).args.iter().filter_map(|arg| arg.operand.node()).all(|p| !self.is_stale(p))
    }
}

impl Values for Trace {
    fn value(&mut self, id: NodeId) -> Result<&Value, EvalError> {
        Trace::value(self, id)
    }
}
