//! The whole of a trace as text, to the bit.

use std::fmt::{Display, Write};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smidgen_value::Value;

use super::choices::blocks;
use super::live_families;
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::trace::Trace;
use crate::trace::node::{MemoEntry, NOWHERE, Op, StructureKind};

/// All that a move may change, to the bit. Left out is what carries no state: the marks of the
/// last scaffold, the stamps of freshness, and the room kept for further nodes. Procedures and
/// environments are numbered in the order in which they occur. Values are as they are stored:
/// reading may refresh a stale one.
pub fn dump(trace: &Trace) -> String {
    let mut dump = Dump::new(None);
    dump.trace(trace);
    dump.free("nodes", trace.nodes.len(), trace.free_nodes.iter().map(|id| id.index()));
    dump.free("families", trace.families.len(), trace.free_families.iter().map(|id| id.index()));
    dump.out
}

/// The same in terms of addresses instead of the names of nodes and families, line by line in order of
/// the alphabet, and without what is free: two ways to one state may use other names.
pub fn dump_by_address(trace: &Trace) -> Vec<String> {
    let mut dump = Dump::new(Some(trace));
    dump.trace(trace);
    let mut lines: Vec<String> = dump.out.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// What a run of the program from its text would bring about, whatever the way to it was: the same by
/// addresses, without the order of history (children, places of choices, blocks) and without statistics, whose
/// last digits hang on that order.
pub(super) fn dump_without_history(trace: &Trace) -> Vec<String> {
    let mut dump = Dump { history: false, ..Dump::new(Some(trace)) };
    dump.nodes_and_families(trace);
    dump.globals(trace);
    let mut lines: Vec<String> = dump.out.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

struct Dump<'t> {
    out: String,
    /// Whether the order in which things came about counts.
    history: bool,
    /// Procedures and environments met so far, by where they are.
    numbers: FxHashMap<*const u8, usize>,
    /// Where the addresses are, if they are to be used as names.
    addressed: Option<&'t Trace>,
}

impl<'t> Dump<'t> {
    fn new(addressed: Option<&'t Trace>) -> Dump<'t> {
        Dump { out: String::new(), history: true, numbers: FxHashMap::default(), addressed }
    }

    fn trace(&mut self, trace: &Trace) {
        self.nodes_and_families(trace);
        let choices = self.names(&trace.choices);
        self.put(format_args!("choices {choices:?}\n"));
        match blocks(trace) {
            Ok(blocks) => {
                for block in blocks {
                    self.put("scope ");
                    self.value(&block.scope);
                    self.put(" block ");
                    self.value(&block.id);
                    let members = self.names(block.members);
                    self.put(format_args!(" {members:?}\n"));
                }
            }
            Err(wrong) => self.put(format_args!("scopes: {wrong}\n")),
        }
        self.globals(trace);
        self.put(format_args!("journal {}\n", trace.journal.len()));
    }

    fn nodes_and_families(&mut self, trace: &Trace) {
        for id in trace.live_nodes() {
            self.node(trace, id);
        }
        for id in live_families(trace) {
            self.family(trace, id);
        }
    }

    fn globals(&mut self, trace: &Trace) {
        for (k, operand) in trace.globals.iter().enumerate() {
            if let Some(operand) = operand {
                self.put(format_args!("name {k} "));
                self.operand(operand);
                self.put("\n");
            }
        }
    }

    fn name(&self, id: NodeId) -> String {
        match self.addressed {
            Some(trace) => format!("#{:x}", trace.node(id).address),
            None => format!("#{}", id.0),
        }
    }

    fn names(&self, ids: &[NodeId]) -> Vec<String> {
        ids.iter().map(|id| self.name(*id)).collect()
    }

    fn family_name(&self, id: FamilyId) -> String {
        match self.addressed {
            Some(trace) => format!("{:x}", trace.families[id.index()].address),
            None => id.0.to_string(),
        }
    }

    fn put(&mut self, text: impl Display) {
        write!(self.out, "{text}").expect("a string takes any text");
    }

    fn node(&mut self, trace: &Trace, id: NodeId) {
        let node = trace.node(id);
        self.put(format_args!("{} {}", self.name(id), node.op_name()));
        self.op(trace, id);
        self.put(" args");
        for arg in &node.args {
            self.put(" ");
            self.operand(&arg.operand);
            if self.history && arg.operand.node().is_some() {
                self.put(format_args!("@{}", arg.position));
            }
        }
        if self.history {
            self.put(" children");
            for child in &node.children {
                self.put(format_args!(" {}:{}", self.name(child.node), child.slot));
            }
        }
        self.put(" value ");
        self.value(&node.value);
        self.put(format_args!(" family {}", self.family_name(node.family)));
        if !node.expansion.is_none() {
            self.put(format_args!(" body {}", self.family_name(node.expansion)));
        }
        for (is, word) in [
            (node.constrained, "constrained"),
            (node.forced && self.history, "forced"),
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
        if self.history && node.choice_place != NOWHERE {
            let places: Vec<u32> = node.memberships.iter().map(|m| m.place()).collect();
            self.put(format_args!(" choice {} places {places:?}", node.choice_place));
        }
        self.put("\n");
    }

    /// What an operation holds besides its name.
    fn op(&mut self, trace: &Trace, id: NodeId) {
        match &trace.node(id).op {
            Op::Draw(maker) => self.put(format_args!(" from {}", self.name(*maker))),
            Op::Maker(made) if self.history => {
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
                    match entry {
                        MemoEntry::Family(id) => {
                            self.put(format_args!("]: family {}", self.family_name(*id)));
                        }
                        other => self.put(format_args!("]: {other:?}")),
                    }
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
                StructureKind::Request { memo } => {
                    self.put(format_args!(" of {}", self.name(*memo)))
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn family(&mut self, trace: &Trace, id: FamilyId) {
        let family = &trace.families[id.index()];
        let name = self.family_name(id);
        self.put(format_args!("family {name} references {}", family.references));
        self.put(format_args!(" nodes {:?}", self.names(&family.nodes)));
        let request = |(after, id): &(u32, FamilyId)| (*after, self.family_name(*id));
        let requests: Vec<_> = family.requests.iter().map(request).collect();
        self.put(format_args!(" requests {requests:?}"));
        if let Some(root) = &family.root {
            self.put(" root ");
            self.operand(root);
        }
        if let Some(entry) = &family.memo {
            self.put(format_args!(" memo {} [", self.name(entry.0)));
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
            Operand::Node(id) => self.put(self.name(*id)),
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
            Value::Linked(link, x) => self.put(format_args!("{link:?} {x}~{:x}", x.to_bits())),
            Value::Symbol(name) => self.put(format_args!("'{name}")),
            // Equal as memo keys: which of them was first is history.
            Value::Bool(truth) if !self.history => {
                self.value(&Value::Number(f64::from(u8::from(*truth))));
            }
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
                self.put(&opaque.shown_as);
                if self.history {
                    let next = self.numbers.len();
                    let place = Arc::as_ptr(opaque).cast::<u8>();
                    let number = *self.numbers.entry(place).or_insert(next);
                    self.put(format_args!("${number}"));
                }
                match Procedure::of(value) {
                    Some(Procedure::Memoised(id) | Procedure::Made(id)) => {
                        self.put(format_args!(" of {}", self.name(*id)));
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
            let mut dump = Dump::new(None);
            dump.free("nodes", slots, free.iter().copied());
            dump.out
        };
        assert_eq!(text(3, &[1]), text(5, &[4, 3, 1]));
        assert_ne!(text(3, &[]), text(5, &[3, 4]));
    }
}
