//! Terms that are alike: one law with the same arguments, and outcomes that differ. The members of a cluster are, and coins
//! of one bias. Their rows differ in the source of one leaf, so only the first of them is written; a density that is compiled
//! anew whenever a row has changed its cluster is compiled in a fraction of the time.

use smallvec::SmallVec;
use smidgen_prob::Distribution;
use smidgen_value::Value;

use super::compile::Compiler;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::{Leaf, Op, Source};
use crate::trace::node::{Op as NodeOp, Role};

/// Patterns that are compared with.
const MOST: usize = 8;

/// What a term is, but for its outcome.
pub(super) struct Alike {
    law: &'static dyn Distribution,
    args: SmallVec<[Operand; 3]>,
    outcome: Source,
}

pub(super) struct Pattern {
    law: &'static dyn Distribution,
    args: SmallVec<[Operand; 3]>,
    is_live: bool,
    /// Which rows it belongs to, with the leaves of a row, one of which is the outcome.
    rows: usize,
    leaves: Vec<Leaf>,
    outcome: usize,
}

fn is_same(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Node(a), Operand::Node(b)) => a == b,
        (Operand::Constant(Value::Number(a)), Operand::Constant(Value::Number(b))) => {
            a.to_bits() == b.to_bits()
        }
        _ => false,
    }
}

impl Compiler<'_> {
    /// What an absorbing choice is, but for its outcome, if that is a number and nothing is computed in its row.
    pub(super) fn alike(&self, id: NodeId, members: &[(u32, u32)]) -> Option<Alike> {
        let hands_on = |(_, place): &(u32, u32)| self.root(self.scaffold.target[*place as usize]);
        if members.iter().any(|member| hands_on(member).is_none()) {
            return None;
        }
        let node = self.trace.node(id);
        let NodeOp::Random(law) = node.op else { return None };
        if law.objects().is_some() {
            return None;
        }
        let x = match node.value {
            Value::Number(x) => x,
            Value::Bool(b) => f64::from(u8::from(b)),
            _ => return None,
        };
        let outcome = if node.constrained { Source::Number(x) } else { Source::Live(id, 0) };
        let args = node.args.iter().map(|arg| self.followed(&arg.operand).clone()).collect();
        Some(Alike { law, args, outcome })
    }

    /// What a structure of D that keeps its root hands on.
    fn root(&self, id: NodeId) -> Option<&Operand> {
        let node = self.trace.node(id);
        let is_structure = matches!(node.op, NodeOp::Structure(_));
        let keeps_root = is_structure && self.trace.role(id) == Some(Role::Target);
        node.args.last().filter(|_| keeps_root).map(|arg| &arg.operand)
    }

    fn followed<'o>(&'o self, operand: &'o Operand) -> &'o Operand {
        let mut operand = operand;
        while let Some(root) = operand.node().and_then(|id| self.root(id)) {
            operand = root;
        }
        operand
    }

    /// Adds the row of a term that is like one before. False if none is.
    pub(super) fn add_alike(&mut self, alike: &Alike) -> bool {
        let is_live = matches!(alike.outcome, Source::Live(..));
        let is_it = |known: &&mut Pattern| {
            std::ptr::eq(known.law.spec(), alike.law.spec())
                && known.is_live == is_live
                && known.args.len() == alike.args.len()
                && known.args.iter().zip(&alike.args).all(|(a, b)| is_same(a, b))
        };
        let Some(known) = self.patterns.iter_mut().find(is_it) else { return false };
        known.leaves[known.outcome].source = alike.outcome.clone();
        self.rows[known.rows].add(&known.leaves);
        true
    }

    /// The row at hand is one of these rows.
    pub(super) fn keep_alike(&mut self, alike: Alike, rows: usize) {
        let [.., last] = &self.row.steps[..] else { return };
        let Op::Density(density) = &last.op else { return };
        let ([x], leaves) = (density.x(), &self.row.leaves) else { return };
        let Some(outcome) = leaves.iter().position(|leaf| leaf.register == *x) else { return };
        let is_read_once = density.args().iter().all(|register| register != x);
        let is_it = match (&leaves[outcome].source, &alike.outcome) {
            (Source::Number(a), Source::Number(b)) => a.to_bits() == b.to_bits(),
            (Source::Live(a, 0), Source::Live(b, 0)) => a == b,
            _ => false,
        };
        if !is_it || !is_read_once || self.patterns.len() >= MOST {
            return;
        }
        let is_live = matches!(alike.outcome, Source::Live(..));
        let (law, args, leaves) = (alike.law, alike.args, leaves.clone());
        self.patterns.push(Pattern { law, args, is_live, rows, leaves, outcome });
    }
}
