//! Who is to blame where a block has no gradient: the choices without which the rest may have one. The blame for what is
//! decided falls on the choices above the *condition*, that for a jump on those above the *comparison*, whichever side
//! is taken: so that what is left does not depend on the values of the block.

use rustc_hash::FxHashSet;

use super::compile::Compiler;
use crate::id::NodeId;
use crate::program::lower;
use crate::trace::node::{Op as NodeOp, Role};

impl Compiler<'_> {
    /// The block's choices that nodes of D, A or T hang on, those among them included.
    pub(super) fn choices_above(&self, nodes: &[NodeId]) -> Vec<NodeId> {
        let mut found = Vec::new();
        self.visit_above(nodes, &mut |id, is_choice| {
            if is_choice {
                found.push(id);
            }
        });
        found.sort_unstable();
        found
    }

    /// The block's choices that decide what body a structure has: those above its existential arguments. What hangs
    /// on its root alone is not to blame.
    pub(super) fn choices_deciding(&self, structure: NodeId) -> Vec<NodeId> {
        let args = &self.trace.node(structure).args;
        let deciding = &args[..args.len() - 1];
        let deciding: Vec<NodeId> = deciding.iter().filter_map(|a| a.operand.node()).collect();
        self.choices_above(&deciding)
    }

    /// The block's choices above the comparisons that a term hangs on.
    pub(super) fn choices_compared(&self, term: NodeId) -> Vec<NodeId> {
        let mut compared = self.compared_in_plate(term);
        self.visit_above(&[term], &mut |id, _| {
            let node = self.trace.node(id);
            match &node.op {
                NodeOp::Function(function) if lower::compares(function.spec.name) => {
                    compared.push(id);
                }
                NodeOp::Structure(_) if node.role == Role::Restructured => {
                    compared.extend(node.args[0].operand.node());
                }
                _ => {}
            }
        });
        match self.choices_above(&compared) {
            found if found.is_empty() => self.choices_above(&[term]),
            found => found,
        }
    }

    /// The arguments of a plate that its rows compare with something.
    fn compared_in_plate(&self, term: NodeId) -> Vec<NodeId> {
        let node = self.trace.node(term);
        let NodeOp::Plate(plate) = &node.op else { return Vec::new() };
        let compared = plate.program.compared.iter();
        compared.filter_map(|k| node.args[*k].operand.node()).collect()
    }

    /// Visits nodes of D, A and T and what they hang on in D and T, up to the block's choices.
    fn visit_above(&self, nodes: &[NodeId], visit: &mut dyn FnMut(NodeId, bool)) {
        let inside = |id: &NodeId| {
            self.places.contains_key(id) || self.trace.role(*id) == Some(Role::Transient)
        };
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        let mut work: Vec<NodeId> = nodes.to_vec();
        while let Some(id) = work.pop() {
            if !seen.insert(id) {
                continue;
            }
            let is_choice = self.places.contains_key(&id) && self.trace.node(id).is_random();
            visit(id, is_choice);
            // The arguments of a choice are not to blame, unless it was asked for.
            if !is_choice || nodes.contains(&id) {
                let args = self.trace.node(id).args.iter();
                work.extend(args.filter_map(|arg| arg.operand.node()).filter(inside));
            }
        }
    }
}
