//! To whom the deterministic nodes of D belong: to the row of a term, or to the global part.

use rustc_hash::{FxHashMap, FxHashSet};

use super::compile::Compiler;
use super::standardise::By;
use super::{Form, branch};
use crate::id::NodeId;
use crate::trace::node::{Op as NodeOp, Role};

/// To whom a deterministic node of D belongs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Owner {
    /// Nothing that has a density reads it.
    Nobody,
    Term(u32),
    Global,
}

impl Owner {
    fn and(self, other: Owner) -> Owner {
        match (self, other) {
            (Owner::Nobody, owner) | (owner, Owner::Nobody) => owner,
            (a, b) if a == b => a,
            _ => Owner::Global,
        }
    }
}

impl Compiler<'_> {
    pub(super) fn find_owners(&mut self, terms: &[NodeId]) {
        let numbers: FxHashMap<NodeId, u32> =
            terms.iter().enumerate().map(|(k, id)| (*id, k as u32)).collect();
        // What the sides of branches that are read name, taken or not: both are computed.
        let mut named = FxHashSet::default();
        loop {
            self.find_owners_with(&numbers, &named);
            let before = named.len();
            for (place, id) in self.scaffold.target.iter().enumerate() {
                let follows = self.trace.node(*id).role == Role::Restructured;
                if follows && self.owners[place] != Owner::Nobody {
                    branch::visit_operands(self.trace, *id, &mut |node| {
                        named.insert(node);
                    });
                }
            }
            if named.len() == before {
                return;
            }
        }
    }

    fn find_owners_with(&mut self, numbers: &FxHashMap<NodeId, u32>, named: &FxHashSet<NodeId>) {
        self.owners = vec![Owner::Nobody; self.scaffold.target.len()];
        for place in (0..self.scaffold.target.len()).rev() {
            let id = self.scaffold.target[place];
            if self.trace.node(id).is_random() || named.contains(&id) {
                self.owners[place] = Owner::Global;
                continue;
            }
            let mut owner = Owner::Nobody;
            for child in &self.trace.node(id).children {
                let reader = match numbers.get(&child.node) {
                    Some(number) if !self.needs_arguments(child.node) => Owner::Term(*number),
                    Some(_) => Owner::Global,
                    None => match self.places.get(&child.node) {
                        // Both branches are followed, whatever runs now.
                        Some(place) if self.trace.node(child.node).role != Role::Restructured => {
                            self.owners[*place as usize]
                        }
                        Some(place) if self.owners[*place as usize] != Owner::Nobody => {
                            Owner::Global
                        }
                        // Rows absorb, but are no terms.
                        None if self.is_plate(child.node) => Owner::Global,
                        // A branch that nobody reads; summed out; or in T, a branch that runs only now: if that is read,
                        // so is what its sides name.
                        _ => Owner::Nobody,
                    },
                };
                owner = owner.and(reader);
                if owner == Owner::Global {
                    break;
                }
            }
            self.owners[place] = owner;
        }
    }

    fn is_plate(&self, id: NodeId) -> bool {
        matches!(self.trace.node(id).op, NodeOp::Plate(_))
    }

    /// Whether the coordinates of a choice of the block depend on its arguments.
    fn needs_arguments(&self, id: NodeId) -> bool {
        let node = self.trace.node(id);
        let NodeOp::Random(distribution) = &node.op else { return false };
        let standardised = self.form == Form::Standardised
            && By::of(distribution.spec().name, node.args.len()).is_some();
        self.places.contains_key(&id)
            && (standardised || !distribution.support_arguments().is_empty())
    }
}
