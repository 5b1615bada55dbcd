//! The intermediate form: straight-line steps over registers, each written once.
//!
//! What a step means is said by the readings ([`super::run`]), each of which matches all steps: a step that is
//! added here has to be given to every reading before anything compiles.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smidgen_prob::smooth::{Aggregate, Elementary, Shape};
use smidgen_prob::{Distribution, Family, Linked, Score, SharedTerm, Spec};
use smidgen_value::{Link, Vector};

use super::links::Known;
use super::value_only::ValueOnly;
use crate::id::NodeId;

pub(crate) type Register = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    AtMost,
    Equal,
    Different,
}

impl Comparison {
    pub(crate) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Comparison::Less => a < b,
            Comparison::AtMost => a <= b,
            Comparison::Equal => a == b,
            Comparison::Different => a != b,
        }
    }
}

#[derive(Clone)]
pub(crate) enum Op {
    Elementary(Elementary, Register, Register),
    /// 0 or 1, with no derivative.
    Compare(Comparison, Register, Register),
    /// The option that the index names.
    Choose {
        index: Register,
        options: Box<[Register]>,
    },
    /// Σ a_k b_k over so many registers from these on.
    Dot {
        a: Register,
        b: Register,
        len: u32,
    },
    /// The same where a is one range of the global part for all lanes and b is data: two leaves.
    Linear {
        weights: u32,
        data: u32,
    },
    /// Puts registers side by side.
    Copy(Box<[Register]>),
    Aggregate(Box<AggregateOp>),
    /// The log density of a law.
    Density(Box<DensityOp>),
    /// What has a value and no slopes.
    ValueOnly(Box<ValueOnly>),
}

#[derive(Clone)]
pub(crate) struct AggregateOp {
    pub function: &'static Aggregate,
    pub args: Vec<Vec<Register>>,
    pub shapes: Vec<Shape>,
    pub len: u32,
}

/// A law in one of its forms, with its outcome and arguments.
#[derive(Clone)]
pub(crate) struct DensityOp {
    pub law: &'static dyn Distribution,
    /// The argument that is given through a link, if one is.
    pub linked: Option<Linked>,
    pub score: Score,
    /// What may be computed once for many lanes.
    pub shared: Option<SharedTerm>,
    /// Those of the outcome, then those of each argument.
    pub registers: Box<[Register]>,
    /// How many are the outcome's.
    pub outcome: usize,
    /// The forms of the arguments.
    pub shapes: Box<[Shape]>,
}

impl DensityOp {
    /// The law's family, and the link of an argument.
    pub(crate) fn family(&self) -> (Family, Option<Link>) {
        (self.law.family(), self.linked.map(|linked| linked.link))
    }

    /// Whether the readings have loops over wide registers for it.
    pub(crate) fn is_wide(&self) -> bool {
        match self.family() {
            (Family::Coin | Family::Poisson | Family::Student, link) => link.is_some(),
            (Family::Normal, _) => true,
            _ => false,
        }
    }

    /// Those of the outcome.
    pub(crate) fn x(&self) -> &[Register] {
        &self.registers[..self.outcome]
    }

    /// The registers of all arguments.
    pub(crate) fn args(&self) -> &[Register] {
        &self.registers[self.outcome..]
    }
}

#[derive(Clone)]
pub(crate) struct Step {
    pub out: Register,
    /// So many registers from there on are its own.
    pub width: u32,
    pub op: Op,
}

/// A number that the program reads.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Unconstrained coordinates of the block.
    Input(u32),
    /// Registers of the global part, from this one on.
    Global(Register),
    Number(f64),
    Vector(Arc<Vector>),
    /// Numbers of a value outside D, from this one on, or what it is known by
    /// ([`super::links::place`]): another move may change them.
    Live(NodeId, u32),
    /// The cell of a table in the row at hand, by its number in a list.
    Cell(u32),
}

#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub register: Register,
    pub len: u32,
    pub source: Source,
}

#[derive(Clone, Default)]
pub(crate) struct Program {
    pub steps: Vec<Step>,
    pub leaves: Vec<Leaf>,
    pub registers: u32,
    /// The log density is the sum of these.
    pub terms: Vec<Register>,
    /// Registers that jump: the results of comparisons and what follows from them.
    pub jumps: Vec<Register>,
    /// Those of the global part, for a program of rows.
    pub global_jumps: Vec<Register>,
    /// What registers are known by, and, for a program of rows, those of the global part.
    pub links: FxHashMap<(Register, Link), Known>,
    pub global_links: FxHashMap<(Register, Link), Known>,
    /// Whether this is the global part.
    pub is_global: bool,
    /// Registers that no slope is asked of: what hangs on data alone. None if it is not known.
    pub still: Vec<bool>,
}

impl Op {
    /// Whether it stops where it has no value; a logarithm of a negative number is NaN.
    pub(crate) fn may_stop(&self) -> bool {
        matches!(self, Op::ValueOnly(_) | Op::Aggregate(_) | Op::Choose { .. })
    }

    /// The index of a choice, and among how many it chooses.
    pub(crate) fn choice(&self) -> Option<(Register, usize)> {
        match self {
            Op::Choose { index, options } => Some((*index, options.len())),
            _ => None,
        }
    }
}

impl Program {
    /// Whether a register is a term, and only once.
    pub(crate) fn is_one_term(&self, register: Register) -> bool {
        self.terms.iter().filter(|term| **term == register).count() == 1
    }

    /// What makes two rows the same: everything but where their leaves come from.
    pub(crate) fn shape(&self, key: &mut Vec<u64>) {
        key.clear();
        for leaf in &self.leaves {
            let kind = match leaf.source {
                Source::Input(_) => 0,
                Source::Global(_) => 1,
                Source::Number(_) | Source::Vector(_) | Source::Live(..) => 2,
                Source::Cell(_) => 3,
            };
            key.push(kind << 60 | u64::from(leaf.register) << 30 | u64::from(leaf.len));
        }
        for step in &self.steps {
            step.op.shape(key);
            key.push(u64::from(step.out));
        }
        key.extend(self.terms.iter().map(|term| u64::from(*term)));
    }
}

impl Op {
    /// The registers that it reads.
    pub(crate) fn reads(&self, out: &mut Vec<Register>) {
        match self {
            Op::Elementary(_, a, b) | Op::Compare(_, a, b) => out.extend([*a, *b]),
            Op::Choose { index, options } => {
                out.push(*index);
                out.extend_from_slice(options);
            }
            Op::Dot { a, b, len } => {
                out.extend(*a..a + len);
                out.extend(*b..b + len);
            }
            Op::Linear { .. } => {}
            Op::Copy(from) => out.extend_from_slice(from),
            Op::Aggregate(op) => op.args.iter().for_each(|arg| out.extend_from_slice(arg)),
            Op::Density(op) => out.extend_from_slice(&op.registers),
            Op::ValueOnly(op) => op.reads(out),
        }
    }

    pub(crate) fn rename(&mut self, name: &dyn Fn(Register) -> Register) {
        let all = |registers: &mut [Register]| registers.iter_mut().for_each(|r| *r = name(*r));
        match self {
            Op::Elementary(_, a, b) | Op::Compare(_, a, b) => (*a, *b) = (name(*a), name(*b)),
            Op::Choose { index, options } => {
                *index = name(*index);
                all(options);
            }
            Op::Dot { a, b, .. } => (*a, *b) = (name(*a), name(*b)),
            Op::Linear { .. } => {}
            Op::Copy(from) => all(from),
            Op::Aggregate(op) => op.args.iter_mut().for_each(|arg| all(arg)),
            Op::Density(op) => all(&mut op.registers),
            Op::ValueOnly(op) => op.rename(name),
        }
    }

    fn shape(&self, key: &mut Vec<u64>) {
        let code = match self {
            Op::Elementary(f, ..) => *f as u64,
            Op::Compare(comparison, ..) => *comparison as u64 | 1 << 32,
            Op::Choose { .. } => 2 << 32,
            Op::Dot { .. } => 3 << 32,
            Op::Linear { .. } => 4 << 32,
            Op::Copy(_) => 5 << 32,
            Op::Aggregate(op) => {
                key.extend(op.shapes.iter().map(shape_key));
                op.function as *const Aggregate as u64
            }
            Op::Density(op) => {
                key.push(op.outcome as u64);
                key.extend(op.shapes.iter().map(shape_key));
                key.push(op.law.spec() as *const Spec as u64);
                op.linked.map_or(6 << 32, |linked| linked.link as u64 | 7 << 32)
            }
            Op::ValueOnly(op) => op.shape(key),
        };
        key.push(code);
        let mut reads = Vec::new();
        self.reads(&mut reads);
        key.push(reads.len() as u64);
        key.extend(reads.iter().map(|register| u64::from(*register)));
    }
}

fn shape_key(shape: &Shape) -> u64 {
    match shape {
        Shape::Number => 0,
        Shape::Vector(n) => *n as u64,
        Shape::Matrix(rows, cols) => (*rows as u64) << 32 | *cols as u64,
        Shape::Law => u64::MAX,
    }
}
