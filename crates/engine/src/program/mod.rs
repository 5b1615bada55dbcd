//! The instructions of a density: straight-line code over registers, each written once.
//!
//! A program is built once and run over many lanes: the global part over one, the rows of a shape
//! over all rows of that shape, block by block. Leaves are the registers that nothing computes:
//! inputs, numbers of the trace, registers of the global part.

pub(crate) mod cells;
pub(crate) mod density;
mod lane_run;
pub(crate) mod lanes;
pub(crate) mod lower;
pub(crate) mod marked;
pub(crate) mod odds;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod template;
pub(crate) mod values;
pub(crate) mod wide;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smidgen_prob::smooth::{Aggregate, Elementary, Shape};
use smidgen_value::Vector;

use crate::id::NodeId;
use marked::Marked;
use odds::Odds;

pub(crate) type Register = u32;

/// A log density of single numbers, see [`smidgen_prob::Score`].
pub(crate) type ScalarScore = fn(f64, &[f64], &mut [f64]) -> f64;
pub(crate) type GeneralScore = fn(&[f64], &[&[f64]], &mut [f64], &mut [&mut [f64]]) -> f64;

/// Arguments of the longest scalar density.
pub(crate) const MOST_ARGS: usize = 6;

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
    /// The log density of a coin, given its log odds; the slope in them stands after it.
    Coin {
        x: Register,
        eta: Register,
    },
    /// The log density of a normal: outcome, mean, sd; their slopes stand after it.
    Normal([Register; 3]),
    /// A log density; its derivatives stand in the registers after it.
    Score {
        score: ScalarScore,
        x: Register,
        args: Box<[Register]>,
    },
    General(Box<GeneralOp>),
}

#[derive(Clone)]
pub(crate) struct AggregateOp {
    pub function: &'static Aggregate,
    pub args: Vec<Vec<Register>>,
    pub shapes: Vec<Shape>,
    pub len: u32,
}

#[derive(Clone)]
pub(crate) struct GeneralOp {
    pub score: GeneralScore,
    pub x: Vec<Register>,
    pub args: Vec<Vec<Register>>,
}

#[derive(Clone)]
pub(crate) struct Step {
    pub out: Register,
    /// Registers from there on that are its own.
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
    /// Numbers of a value outside D, from this one on, or its log odds ([`odds::LOG_ODDS`]): another move may
    /// change them.
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
    /// The log odds of registers that are probabilities, and, for a program of rows, those of the global part.
    pub odds: FxHashMap<Register, Odds>,
    pub global_odds: FxHashMap<Register, Odds>,
    /// Whether this is the global part.
    pub is_global: bool,
}

impl Program {
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.leaves.clear();
        self.registers = 0;
        self.terms.clear();
        self.jumps.clear();
        self.odds.clear();
    }

    fn allocate(&mut self, len: u32) -> Register {
        let first = self.registers;
        self.registers += len;
        first
    }

    pub(crate) fn leaf(&mut self, len: u32, source: Source) -> Register {
        let register = self.allocate(len);
        if let Source::Global(first) = source
            && self.global_jumps.iter().any(|jump| (first..first + len).contains(jump))
        {
            self.jumps.extend(register..register + len);
        }
        self.leaves.push(Leaf { register, len, source });
        register
    }

    /// Adds a step that writes `len` registers (and uses `spare` after them).
    pub(crate) fn push(&mut self, op: Op, len: u32, spare: u32) -> Register {
        let out = self.allocate(len + spare);
        if !self.jumps.is_empty() && !matches!(op, Op::Compare(..)) {
            let mut reads = Vec::new();
            op.reads(&mut reads);
            if reads.iter().any(|register| self.jumps(*register)) {
                self.jumps.extend(out..out + len);
            }
        }
        if let Op::Compare(_, a, b) = op
            && (self.is_global || !self.is_of_row(a) || !self.is_of_row(b))
        {
            self.jumps.push(out);
        }
        self.steps.push(Step { out, width: len + spare, op });
        out
    }

    /// Whether a register depends on the row alone, not on the global part.
    pub(crate) fn is_of_row(&self, register: Register) -> bool {
        let mut work = vec![register];
        while let Some(register) = work.pop() {
            let written = |(from, len): (Register, u32)| (from..from + len).contains(&register);
            if let Some(leaf) = self.leaves.iter().find(|leaf| written((leaf.register, leaf.len))) {
                if matches!(leaf.source, Source::Global(_) | Source::Input(_)) {
                    return false;
                }
            } else if let Some(step) = self.steps.iter().find(|s| written((s.out, s.width))) {
                step.op.reads(&mut work);
            }
        }
        true
    }

    pub(crate) fn jumps(&self, register: Register) -> bool {
        self.jumps.binary_search(&register).is_ok()
    }

    /// Whether a register is 0 or 1 whatever the inputs: a comparison, or what is made of
    /// comparisons and the numbers 0 and 1. `global` says so of the registers of the global part.
    pub(crate) fn is_indicator(
        &self,
        register: Register,
        global: &dyn Fn(Register) -> bool,
    ) -> bool {
        if let Some(leaf) = self.leaves.iter().find(|leaf| leaf.register == register) {
            return match leaf.source {
                Source::Number(x) => x == 0.0 || x == 1.0,
                Source::Global(first) => leaf.len == 1 && global(first),
                _ => false,
            };
        }
        let Some(step) = self.steps.iter().find(|step| step.out == register) else { return false };
        match &step.op {
            Op::Compare(..) => true,
            Op::Choose { options, .. } => options.iter().all(|o| self.is_indicator(*o, global)),
            Op::Elementary(Elementary::Multiply | Elementary::Min | Elementary::Max, a, b) => {
                self.is_indicator(*a, global) && self.is_indicator(*b, global)
            }
            _ => false,
        }
    }

    /// Whether a term is the log density of a coin whose probability is 0 or 1: a hard wall.
    pub(crate) fn is_wall(&self, term: Register, global: &dyn Fn(Register) -> bool) -> bool {
        let step = self.steps.iter().find(|step| step.out == term);
        match step.map(|step| &step.op) {
            Some(Op::Score { args, .. }) => args.iter().all(|p| self.is_indicator(*p, global)),
            _ => false,
        }
    }

    /// The registers of the leaves that comparisons hang on.
    pub(crate) fn compared_leaves(&self) -> Vec<&Leaf> {
        let mut work = Vec::new();
        for step in &self.steps {
            if matches!(step.op, Op::Compare(..)) {
                step.op.reads(&mut work);
            }
        }
        self.leaves_above(work)
    }

    /// The leaves that registers hang on.
    pub(crate) fn leaves_above(&self, mut work: Vec<Register>) -> Vec<&Leaf> {
        let mut needed = vec![false; self.registers as usize];
        while let Some(register) = work.pop() {
            if std::mem::replace(&mut needed[register as usize], true) {
                continue;
            }
            let writes = |step: &&Step| (step.out..step.out + step.width).contains(&register);
            if let Some(step) = self.steps.iter().find(writes) {
                step.op.reads(&mut work);
            }
        }
        let is_needed = |leaf: &&Leaf| {
            (leaf.register..leaf.register + leaf.len).any(|register| needed[register as usize])
        };
        self.leaves.iter().filter(is_needed).collect()
    }

    /// The mark of a register of this program.
    pub(crate) fn mark(&self, register: Register) -> f64 {
        if self.is_global { marked::global(register) } else { marked::local(register) }
    }

    /// The register of a number.
    pub(crate) fn register(&mut self, x: f64) -> Register {
        match marked::read(x) {
            Marked::Local(register) => register,
            Marked::Global(register) if self.is_global => register,
            Marked::Global(register) => self.leaf(1, Source::Global(register)),
            Marked::Number(x) => self.leaf(1, Source::Number(x)),
        }
    }

    pub(crate) fn registers(&mut self, xs: &[f64]) -> Vec<Register> {
        xs.iter().map(|x| self.register(*x)).collect()
    }

    /// Registers of these numbers side by side.
    pub(crate) fn range(&mut self, xs: &[f64]) -> Register {
        let len = xs.len() as u32;
        let follows = |first: Register, k: usize| first.wrapping_add(k as u32);
        match xs.first().map(|x| marked::read(*x)) {
            Some(Marked::Global(first))
                if xs
                    .iter()
                    .enumerate()
                    .all(|(k, x)| marked::read(*x) == Marked::Global(follows(first, k))) =>
            {
                if self.is_global { first } else { self.leaf(len, Source::Global(first)) }
            }
            Some(Marked::Local(first))
                if xs
                    .iter()
                    .enumerate()
                    .all(|(k, x)| marked::read(*x) == Marked::Local(follows(first, k))) =>
            {
                first
            }
            _ if !xs.iter().any(|x| marked::is_marked(*x)) => {
                let vector = Vector::new(xs.to_vec());
                self.leaf(len, Source::Vector(Arc::new(vector)))
            }
            _ => {
                let from = self.registers(xs);
                self.push(Op::Copy(from.into()), len, 0)
            }
        }
    }

    /// f(a, b) as a mark, or as a number if both are.
    pub(crate) fn elementary(&mut self, f: Elementary, a: f64, b: f64) -> f64 {
        if !marked::is_marked(a) && !marked::is_marked(b) {
            let mut out = [0.0];
            f.value(&[a], &[b], &mut out);
            return out[0];
        }
        let first = self.register(a);
        let second = if f.arity() == 2 { self.register(b) } else { first };
        let out = self.push(Op::Elementary(f, first, second), 1, 0);
        if f == Elementary::Logistic {
            self.note_odds(out, first, true);
        }
        self.mark(out)
    }

    /// Adds a number to the log density. What does not depend on the block does not matter.
    pub(crate) fn term(&mut self, x: f64) {
        if marked::is_marked(x) {
            let register = self.register(x);
            self.terms.push(register);
        }
    }

    /// Drops steps that nothing needs, and registers that nothing writes or reads. Leaves that are
    /// not read have no registers any more; says which are.
    pub(crate) fn tidy(&mut self) -> Vec<bool> {
        let mut needed = vec![false; self.registers as usize];
        self.terms.iter().for_each(|term| needed[*term as usize] = true);
        let mut reads = Vec::new();
        let is_needed = |needed: &[bool], from: Register, len: u32| {
            needed[from as usize..(from + len) as usize].iter().any(|n| *n)
        };
        let mut kept = Vec::with_capacity(self.steps.len());
        for step in self.steps.drain(..).rev() {
            if is_needed(&needed, step.out, step.width) {
                reads.clear();
                step.op.reads(&mut reads);
                reads.iter().for_each(|register| needed[*register as usize] = true);
                kept.push(step);
            }
        }
        kept.reverse();
        self.steps = kept;
        // New names, in the old order.
        let leaves = self.leaves.iter().map(|leaf| (leaf.register, leaf.len, true));
        let steps = self.steps.iter().map(|step| (step.out, step.width, false));
        let mut ranges: Vec<(Register, u32, bool)> = leaves.chain(steps).collect();
        ranges.sort_unstable();
        let mut names = vec![Register::MAX; self.registers as usize];
        let mut next = 0;
        for (from, len, is_leaf) in ranges {
            if is_leaf && !is_needed(&needed, from, len) {
                continue;
            }
            for k in 0..len {
                names[(from + k) as usize] = next + k;
            }
            next += len;
        }
        self.registers = next;
        for step in &mut self.steps {
            step.out = names[step.out as usize];
            step.op.rename(&|register| names[register as usize]);
        }
        self.terms.iter_mut().for_each(|term| *term = names[*term as usize]);
        self.leaves
            .iter_mut()
            .map(|leaf| {
                leaf.register = names[leaf.register as usize];
                leaf.register != Register::MAX
            })
            .collect()
    }

    /// Numbers outside the block that the global part reads.
    pub(crate) fn live_leaves(&self) -> impl Iterator<Item = (u32, u32, NodeId, u32)> + '_ {
        self.leaves.iter().filter_map(|leaf| match leaf.source {
            Source::Live(node, first) => Some((leaf.register, leaf.len, node, first)),
            _ => None,
        })
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
            Op::Coin { x, eta } => out.extend([*x, *eta]),
            Op::Normal(registers) => out.extend_from_slice(registers),
            Op::Copy(from) => out.extend_from_slice(from),
            Op::Aggregate(op) => op.args.iter().for_each(|arg| out.extend_from_slice(arg)),
            Op::Score { x, args, .. } => {
                out.push(*x);
                out.extend_from_slice(args);
            }
            Op::General(op) => {
                out.extend_from_slice(&op.x);
                op.args.iter().for_each(|arg| out.extend_from_slice(arg));
            }
        }
    }

    fn rename(&mut self, name: &dyn Fn(Register) -> Register) {
        let all = |registers: &mut [Register]| registers.iter_mut().for_each(|r| *r = name(*r));
        match self {
            Op::Elementary(_, a, b) | Op::Compare(_, a, b) => (*a, *b) = (name(*a), name(*b)),
            Op::Choose { index, options } => {
                *index = name(*index);
                all(options);
            }
            Op::Dot { a, b, .. } => (*a, *b) = (name(*a), name(*b)),
            Op::Linear { .. } => {}
            Op::Coin { x, eta } => (*x, *eta) = (name(*x), name(*eta)),
            Op::Normal(registers) => all(registers),
            Op::Copy(from) => all(from),
            Op::Aggregate(op) => op.args.iter_mut().for_each(|arg| all(arg)),
            Op::Score { x, args, .. } => {
                *x = name(*x);
                all(args);
            }
            Op::General(op) => {
                all(&mut op.x);
                op.args.iter_mut().for_each(|arg| all(arg));
            }
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
            Op::Coin { .. } => 6 << 32,
            Op::Normal(_) => 7 << 32,
            Op::Aggregate(op) => {
                key.extend(op.shapes.iter().map(|shape| match shape {
                    Shape::Number => 0,
                    Shape::Vector(n) => *n as u64,
                    Shape::Matrix(rows, cols) => (*rows as u64) << 32 | *cols as u64,
                }));
                op.function as *const Aggregate as u64
            }
            Op::Score { score, .. } => *score as usize as u64,
            Op::General(op) => {
                key.extend(op.args.iter().map(|arg| arg.len() as u64));
                op.score as usize as u64
            }
        };
        key.push(code);
        let mut reads = Vec::new();
        self.reads(&mut reads);
        key.push(reads.len() as u64);
        key.extend(reads.iter().map(|register| u64::from(*register)));
    }
}
