//! Writes the program of sections ([`super::lanes`]) from the nodes of one of them.

use smallvec::SmallVec;
use smidgen_prob::Function;
use smidgen_value::{Link, Value};

use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::{Program, Register, Source, lower, marked};
use crate::section::lanes::{Leaf, LeafPlace};
use crate::trace::Trace;
use crate::trace::node::Op;

/// Arguments of arguments are followed so far.
const DEEPEST: usize = 4;

pub(super) struct Writer<'t> {
    pub trace: &'t Trace,
    pub hub: NodeId,
    pub hub_value: Value,
    pub nodes: &'t [NodeId],
    pub values: Vec<Value>,
    pub program: Program,
    pub leaves: Vec<Leaf>,
    pub ones: Vec<Leaf>,
}

impl Writer<'_> {
    /// The marked value of a node; the log density of a choice is added.
    pub fn node(&mut self, k: usize) -> Option<Value> {
        let node = self.trace.node(self.nodes[k]);
        match &node.op {
            Op::Function(function) => {
                let mut args = self.arguments(k)?;
                let first = node.args.first().map(|arg| &arg.operand);
                self.know_one(function, first, &mut args, || LeafPlace::Argument {
                    node: k,
                    slot: 0,
                    way: SmallVec::new(),
                });
                lower::function(&mut self.program, function, &args).ok()
            }
            Op::Structure(_) => self.argument(k, node.args.len() - 1),
            Op::Random(distribution) => {
                let args = self.arguments(k)?;
                let x = self.leaf(&node.value, LeafPlace::Outcome(k))?;
                self.program.density(*distribution, &x, &args).ok()?;
                Some(Value::Nil)
            }
            _ => None,
        }
    }

    /// In 1 - p with p a probability, 1 is no number like others.
    fn know_one(
        &mut self,
        function: &Function,
        first: Option<&Operand>,
        args: &mut [Value],
        place: impl Fn() -> LeafPlace,
    ) {
        if let ("-", Some(Operand::Constant(Value::Number(1.0))), [one, p]) =
            (function.spec.name, first, args)
            && self.program.known_by(p, Link::LogOdds).is_some()
        {
            *one = Value::Number(1.0);
            self.ones.push(Leaf { place: place(), register: Register::MAX, len: 1 });
        }
    }

    fn arguments(&mut self, k: usize) -> Option<Vec<Value>> {
        let slots = 0..self.trace.node(self.nodes[k]).args.len();
        slots.map(|slot| self.argument(k, slot)).collect()
    }

    fn argument(&mut self, k: usize, slot: usize) -> Option<Value> {
        let operand = &self.trace.node(self.nodes[k]).args[slot].operand;
        if let Some(id) = operand.node() {
            if id == self.hub {
                return Some(self.hub_value.clone());
            }
            if let Some(inside) = self.nodes.iter().position(|node| *node == id) {
                return self.values.get(inside).cloned();
            }
        }
        self.outside(operand, (k, slot), SmallVec::new())
    }

    /// An argument that the move does not reach.
    fn outside(
        &mut self,
        operand: &Operand,
        (node, slot): (usize, usize),
        way: SmallVec<[(&'static Function, usize); 2]>,
    ) -> Option<Value> {
        let trace = self.trace;
        if let Some(id) = operand.node()
            && let Op::Function(function) = trace.node(id).op
            && way.len() < DEEPEST
            && trace.node(id).children.len() < trace.sections.fan_out()
        {
            let before = (self.program.clone(), self.leaves.len(), self.ones.len());
            let mut args = Some(Vec::new());
            for (next, arg) in trace.node(id).args.iter().enumerate() {
                let mut way = way.clone();
                way.push((function, next));
                let value = self.outside(&arg.operand, (node, slot), way);
                args = args.zip(value).map(|(mut args, value)| {
                    args.push(value);
                    args
                });
            }
            let first = trace.node(id).args.first().map(|arg| &arg.operand);
            let lowered = args.and_then(|mut args| {
                self.know_one(function, first, &mut args, || {
                    let mut way = way.clone();
                    way.push((function, 0));
                    LeafPlace::Argument { node, slot, way }
                });
                lower::function(&mut self.program, function, &args).ok()
            });
            if lowered.is_some() {
                return lowered;
            }
            self.program = before.0;
            self.leaves.truncate(before.1);
            self.ones.truncate(before.2);
        }
        self.leaf(trace.settled_value(operand), LeafPlace::Argument { node, slot, way })
    }

    fn leaf(&mut self, value: &Value, place: LeafPlace) -> Option<Value> {
        let len = lower::numbers(value).ok()?.len();
        let register = self.program.leaf(len as u32, Source::Cell(self.leaves.len() as u32));
        self.leaves.push(Leaf { place, register, len });
        Some(lower::renumber(value, &mut (register..).map(marked::local)))
    }
}
