//! What a path's plan was written from: the nodes of its segments with what they read, and the formulas of structures that
//! select. A path that changes which branches run changes the structure, but hardly ever this; then the plan holds as
//! it is, for it reads values outside the chain anew before each draw.

use smidgen_prob::Distribution;
use smidgen_value::Value;

use super::segment::Segment;
use crate::formula::{Formula, Selects, Term};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::Op;

#[derive(Default)]
pub(super) struct Signature {
    words: Vec<u64>,
    constants: Vec<Value>,
}

impl PartialEq for Signature {
    fn eq(&self, other: &Signature) -> bool {
        let same = |(a, b): (&Value, &Value)| a.is_identical(b);
        self.words == other.words
            && self.constants.len() == other.constants.len()
            && self.constants.iter().zip(&other.constants).all(same)
    }
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of) as u64
}

impl Signature {
    pub fn of(trace: &Trace, segments: &[Segment], selects: &Selects) -> Signature {
        let mut signature = Signature::default();
        for Segment { nodes, absorbing, makers } in segments {
            let sizes = [nodes.len(), absorbing.len(), makers.len()];
            signature.words.extend(sizes.map(|size| size as u64));
            for id in nodes.iter().chain(absorbing).chain(makers) {
                signature.node(trace, *id, selects);
            }
        }
        signature
    }

    fn node(&mut self, trace: &Trace, id: NodeId, selects: &Selects) {
        self.words.push(id.index() as u64);
        if let Some(select) = selects.of.get(&id) {
            self.words.extend([select.reads.len() as u64, u64::from(select.is_density)]);
            self.words.extend(select.reads.iter().map(|read| read.index() as u64));
            self.formula(&select.formula);
            return;
        }
        let node = trace.node(id);
        self.words.push(match &node.op {
            Op::Function(function) => address(*function),
            Op::Random(distribution) => law(*distribution),
            // Nothing else is compiled.
            _ => 0,
        });
        self.words.push(node.args.len() as u64);
        for arg in &node.args {
            match &arg.operand {
                Operand::Node(id) => self.words.push(1 + id.index() as u64),
                Operand::Constant(value) => self.constant(value),
            }
        }
    }

    fn constant(&mut self, value: &Value) {
        self.words.push(0);
        self.constants.push(value.clone());
    }

    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Constant(value) => {
                self.words.push(0);
                self.constant(value);
            }
            Formula::Read(place) => self.words.extend([1, u64::from(*place)]),
            Formula::Apply(function, args, _) => {
                self.words.extend([2, address(*function)]);
                self.formulas(args);
            }
            Formula::If(parts, _) => {
                self.words.push(3);
                self.formulas(&parts[..]);
            }
            Formula::Request(memo, keys, _) => {
                self.words.extend([4, memo.index() as u64]);
                self.formulas(keys);
            }
            Formula::Call(operator, cases, _) => {
                self.words.extend([5, cases.len() as u64]);
                self.formula(operator);
                for (procedure, case) in cases {
                    self.constant(procedure);
                    self.formula(case);
                }
            }
            Formula::Density(density) => {
                self.words.extend([6, law(density.distribution)]);
                self.constant(&density.observed);
                self.formulas(&density.args);
            }
        }
    }

    fn formulas(&mut self, terms: &[Term]) {
        self.words.push(terms.len() as u64);
        terms.iter().for_each(|term| self.formula(term));
    }
}

fn law(distribution: &'static dyn Distribution) -> u64 {
    address(distribution.spec())
}
