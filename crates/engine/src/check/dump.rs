//! The whole of a trace as text, to the bit.

use std::fmt::{Display, Write};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smidgen_value::Value;

use super::{blocks, live_families};
use crate::id::{FamilyId, NodeId};
use crate::node::{NOWHERE, Op, StructureKind};
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::trace::Trace;

/// All that a move may change, to the bit. Left out is what carries no state: the marks of the
/// last scaffold, the stamps of freshness, and the room kept for further nodes. Procedures and
/// environments are numbered in the order in which they occur. Values are as they are stored:
/// reading may refresh a stale one.
pub fn dump(trace: &Trace) -> String {
    let mut dump = Dump { out: String::new(), numbers: FxHashMap::default() };
    for id in trace.live_nodes() {
        dump.node(trace, id);
    }
    dump.free("nodes", trace.nodes.len(), trace.free_nodes.iter().map(|id| id.index()));
    for id in live_families(trace) {
        dump.family(trace, id);
    }
    dump.free("families", trace.families.len(), trace.free_families.iter().map(|id| id.index()));
    dump.put(format_args!(
        "choices {:?}\n",
        trace.choices.iter().map(|id| id.0).collect::<Vec<_>>()
    ));
    match blocks(trace) {
        Ok(blocks) => {
            for block in blocks {
                dump.put("scope ");
                dump.value(&block.scope);
                dump.put(" block ");
                dump.value(&block.id);
                dump.put(format_args!(
                    " {:?}\n",
                    block.members.iter().map(|id| id.0).collect::<Vec<_>>()
                ));
            }
        }
        Err(wrong) => dump.put(format_args!("scopes: {wrong}\n")),
    }
    for (k, operand) in trace.globals.iter().enumerate() {
        if let Some(operand) = operand {
            dump.put(format_args!("name {k} "));
            dump.operand(operand);
            dump.put("\n");
        }
    }
    dump.put(format_args!("journal {}\n", trace.journal.len()));
    dump.out
}

struct Dump {
    out: String,
    /// Procedures and environments met so far, by where they are.
    numbers: FxHashMap<*const u8, usize>,
}

impl Dump {
    fn put(&mut self, text: impl Display) {
        write!(self.out, "{text}").expect("a string takes any text");
    }

    fn node(&mut self, trace: &Trace, id: NodeId) {
        let node = trace.node(id);
        self.put(format_args!("#{} {}", id.0, node.op_name()));
        self.op(trace, id);
        self.put(" args");
        for arg in &node.args {
            self.put(" ");
            self.operand(&arg.operand);
            if arg.operand.node().is_some() {
                self.put(format_args!("@{}", arg.position));
            }
        }
        self.put(" children");
        for child in &node.children {
            self.put(format_args!(" #{}:{}", child.node.0, child.slot));
        }
        self.put(" value ");
        self.value(&node.value);
        self.put(format_args!(" family {}", node.family.0));
        if !node.expansion.is_none() {
            self.put(format_args!(" body {}", node.expansion.0));
        }
        for (is, word) in [
            (node.constrained, "constrained"),
            (node.forced, "forced"),
            (node.pending, "pending"),
            (node.dead, "dead"),
        ] {
            if is {
                self.put(format_args!(" {word}"));
            }
        }
        if let Some(observed) = &node.observed {
            self.put(" observed ");
            self.value(observed);
        }
        if node.choice_place != NOWHERE {
            let places: Vec<u32> = node.memberships.iter().map(|m| m.place()).collect();
            self.put(format_args!(" choice {} places {places:?}", node.choice_place));
        }
        self.put("\n");
    }

    /// What an operation holds besides its name.
    fn op(&mut self, trace: &Trace, id: NodeId) {
        match &trace.node(id).op {
            Op::Draw(maker) => self.put(format_args!(" from #{}", maker.0)),
            Op::Maker(made) => {
                let log_marginal =
                    trace.with_params(id, |params| made.statistics.log_marginal(params));
                self.put(format_args!(" count {} log marginal ", made.statistics.count()));
                match log_marginal {
                    Ok(x) => self.value(&Value::Number(x)),
                    Err(error) => self.put(format_args!("error {error}")),
                }
            }
            Op::Memo(table) => {
                self.put(" of ");
                self.value(&table.target);
                let mut entries: Vec<_> = table.families.iter().collect();
                entries.sort_by(|a, b| a.0.cmp(b.0));
                for (key, entry) in entries {
                    self.put(" [");
                    self.values(key);
                    self.put(format_args!("]: {entry:?}"));
                }
            }
            Op::Structure(structure) => match &structure.kind {
                StructureKind::Call { operands } | StructureKind::HigherOrder { operands, .. } => {
                    self.put(" of");
                    for operand in operands {
                        self.put(" ");
                        self.operand(operand);
                    }
                }
                StructureKind::Request { memo } => self.put(format_args!(" of #{}", memo.0)),
                _ => {}
            },
            _ => {}
        }
    }

    fn family(&mut self, trace: &Trace, id: FamilyId) {
        let family = &trace.families[id.index()];
        self.put(format_args!("family {} references {}", id.0, family.references));
        self.put(format_args!(
            " nodes {:?}",
            family.nodes.iter().map(|id| id.0).collect::<Vec<_>>()
        ));
        self.put(format_args!(
            " requests {:?}",
            family.requests.iter().map(|(after, id)| (*after, id.0)).collect::<Vec<_>>()
        ));
        if let Some(root) = &family.root {
            self.put(" root ");
            self.operand(root);
        }
        if let Some(entry) = &family.memo {
            self.put(format_args!(" memo #{} [", entry.0.0));
            self.values(&entry.1);
            self.put("]");
        }
        self.put("\n");
    }

    /// Free slots, last to be used first. Slots at the end that would be used in the order in
    /// which new ones would be made are as good as not there.
    fn free(&mut self, what: &str, slots: usize, free: impl Iterator<Item = usize>) {
        let mut slots = slots;
        let mut free = free.peekable();
        while slots > 0 && free.next_if_eq(&(slots - 1)).is_some() {
            slots -= 1;
        }
        self.put(format_args!("{what} {slots} free {:?}\n", free.collect::<Vec<_>>()));
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Node(id) => self.put(format_args!("#{}", id.0)),
            Operand::Constant(value) => self.value(value),
        }
    }

    fn values(&mut self, values: &[Value]) {
        for value in values {
            self.value(value);
            self.put(" ");
        }
    }

    fn reals(&mut self, xs: &[f64]) {
        for x in xs {
            self.value(&Value::Number(*x));
            self.put(" ");
        }
    }

    fn value(&mut self, value: &Value) {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.any_value(value));
    }

    fn any_value(&mut self, value: &Value) {
        match value {
            Value::Number(x) => self.put(format_args!("{x}~{:x}", x.to_bits())),
            Value::Symbol(name) => self.put(format_args!("'{name}")),
            Value::Nil | Value::Bool(_) | Value::Text(_) => self.put(value),
            Value::Pair(_) => {
                self.put("(");
                let mut link = value;
                while let Value::Pair(pair) = link {
                    self.value(&pair.first);
                    self.put(" ");
                    link = &pair.rest;
                }
                self.put(". ");
                self.value(link);
                self.put(")");
            }
            Value::Array(items) => {
                self.put("array(");
                self.values(items);
                self.put(")");
            }
            Value::Vector(xs) => {
                self.put("vector(");
                self.reals(xs);
                self.put(")");
            }
            Value::Matrix(m) => {
                self.put(format_args!("matrix({}x{} ", m.rows(), m.cols()));
                self.reals(m.as_slice());
                self.put(")");
            }
            Value::Dict(dict) => {
                self.put("dict(");
                for (key, value) in dict.entries() {
                    self.value(key);
                    self.put(": ");
                    self.value(value);
                    self.put(" ");
                }
                self.put(")");
            }
            Value::Procedure(opaque) | Value::Environment(opaque) => {
                let next = self.numbers.len();
                let number = *self.numbers.entry(Arc::as_ptr(opaque).cast::<u8>()).or_insert(next);
                self.put(format_args!("{}${number}", opaque.shown_as));
                match Procedure::of(value) {
                    Some(Procedure::Memoised(id) | Procedure::Made(id)) => {
                        self.put(format_args!(" of #{}", id.0));
                    }
                    Some(Procedure::Compound { lambda, .. }) => {
                        self.put(format_args!(
                            " at {}..{}",
                            lambda.body.span.start, lambda.body.span.end
                        ));
                    }
                    Some(Procedure::Builtin(_)) | None => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_more_nodes_is_no_difference_but_the_order_of_reuse_is() {
        let text = |slots, free: &[usize]| {
            let mut dump = Dump { out: String::new(), numbers: FxHashMap::default() };
            dump.free("nodes", slots, free.iter().copied());
            dump.out
        };
        assert_eq!(text(3, &[1]), text(5, &[4, 3, 1]));
        assert_ne!(text(3, &[]), text(5, &[3, 4]));
    }
}
