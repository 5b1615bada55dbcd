//! What writes programs: registers and leaves, steps, and the removal of what nothing needs.

use std::sync::Arc;

use smidgen_prob::smooth::Elementary;
use smidgen_value::Vector;

use super::analysis::is_any;
use super::ir::{Leaf, Op, Program, Register, Source, Step};
use super::marked::{self, Marked};

/// From so many numbers on a vector is long.
const LONG: usize = 32;

impl Program {
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.leaves.clear();
        self.registers = 0;
        self.terms.clear();
        self.jumps.clear();
        self.links.clear();
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

    /// Adds a step that writes `len` registers.
    pub(crate) fn push(&mut self, op: Op, len: u32) -> Register {
        let out = self.allocate(len);
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
        self.steps.push(Step { out, width: len, op });
        out
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

    /// The same for long vectors, in which registers of the global part that stand side by side are one leaf of a row.
    pub(crate) fn registers_in_runs(&mut self, xs: &[f64]) -> Vec<Register> {
        if xs.len() < LONG || self.is_global {
            return self.registers(xs);
        }
        let mut registers = Vec::with_capacity(xs.len());
        while let Some(x) = xs.get(registers.len()) {
            let Marked::Global(first) = marked::read(*x) else {
                registers.push(self.register(*x));
                continue;
            };
            let follows =
                |(x, register): &(&f64, Register)| marked::read(**x) == Marked::Global(*register);
            let len = xs[registers.len()..].iter().zip(first..).take_while(follows).count() as u32;
            let own = self.leaf(len, Source::Global(first));
            registers.extend(own..own + len);
        }
        registers
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
                self.push(Op::Copy(from.into()), len)
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
        let out = self.push(Op::Elementary(f, first, second), 1);
        if let Some(link) = f.link() {
            self.note(out, link, first, true);
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
        let needed = self.needed(self.terms.iter().copied());
        let is_needed =
            |from: Register, len: u32| from != Register::MAX && is_any(&needed, from, len);
        self.steps.retain(|step| is_needed(step.out, step.width));
        // New names, in the old order.
        let leaves = self.leaves.iter().map(|leaf| (leaf.register, leaf.len, true));
        let steps = self.steps.iter().map(|step| (step.out, step.width, false));
        let mut ranges: Vec<(Register, u32, bool)> = leaves.chain(steps).collect();
        ranges.sort_unstable();
        let mut names = vec![Register::MAX; self.registers as usize];
        let mut next = 0;
        for (from, len, is_leaf) in ranges {
            if is_leaf && !is_needed(from, len) {
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
                leaf.register = names.get(leaf.register as usize).copied().unwrap_or(Register::MAX);
                leaf.register != Register::MAX
            })
            .collect()
    }
}
