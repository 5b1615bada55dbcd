//! Questions about a program: what a register hangs on, where it jumps.

use smidgen_prob::Family;
use smidgen_prob::smooth::Elementary;

use super::ir::{Leaf, Op, Program, Register, Source, Step};

impl Program {
    /// By register: whether one of these hangs on it, or is it.
    pub(crate) fn needed(&self, sought: impl IntoIterator<Item = Register>) -> Vec<bool> {
        let mut needed = vec![false; self.registers as usize];
        sought.into_iter().for_each(|register| needed[register as usize] = true);
        let mut reads = Vec::new();
        for step in self.steps.iter().rev() {
            if is_any(&needed, step.out, step.width) {
                reads.clear();
                step.op.reads(&mut reads);
                reads.iter().for_each(|register| needed[*register as usize] = true);
            }
        }
        needed
    }

    /// Whether none of these hangs on some step that stops where it has no value, as a look-up does.
    pub(crate) fn may_stop_unread(&self, sought: impl IntoIterator<Item = Register>) -> bool {
        let mut fallible = self.steps.iter().filter(|step| self.may_stop(&step.op)).peekable();
        if fallible.peek().is_none() {
            return false;
        }
        let needed = self.needed(sought);
        let is_needed = |step: &&Step| is_any(&needed, step.out, step.width);
        // The numbers of a vector are chosen one by one: one that is read stands for all.
        let chosen: Vec<(Register, usize)> =
            self.steps.iter().filter(is_needed).filter_map(|step| step.op.choice()).collect();
        let is_seen = |(index, options): (Register, usize)| {
            chosen.iter().any(|known| known.0 == index && known.1 <= options)
        };
        fallible.any(|step| !is_needed(&step) && !step.op.choice().is_some_and(is_seen))
    }

    /// Whether a step stops for some values of what it reads: a choice among two by a comparison does not.
    fn may_stop(&self, op: &Op) -> bool {
        let is_comparison = |register: Register| {
            let written = self.steps.iter().find(|step| step.out == register);
            written.is_some_and(|step| matches!(step.op, Op::Compare(..)))
        };
        let is_sure = |(index, options)| options >= 2 && is_comparison(index);
        op.may_stop() && !op.choice().is_some_and(is_sure)
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

    /// Finds what does not hang on the global part, and so has no slope that anybody reads.
    pub(crate) fn find_still(&mut self) {
        self.still = vec![true; self.registers as usize];
        for leaf in &self.leaves {
            let is_read = leaf.register != Register::MAX;
            if is_read && matches!(leaf.source, Source::Global(_) | Source::Input(_)) {
                let at = leaf.register as usize;
                self.still[at..at + leaf.len as usize].fill(false);
            }
        }
        let mut reads = Vec::new();
        for step in &self.steps {
            reads.clear();
            step.op.reads(&mut reads);
            // Both may read what is the same for all lanes where it stands.
            let moves = matches!(step.op, Op::Linear { .. } | Op::ValueOnly(_));
            if moves || reads.iter().any(|register| !self.still[*register as usize]) {
                self.still[step.out as usize..][..step.width as usize].fill(false);
            }
        }
    }

    /// Whether a register is known not to hang on the global part.
    #[inline]
    pub(crate) fn is_still(&self, register: Register) -> bool {
        self.still.get(register as usize).copied().unwrap_or(false)
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
            Some(Op::Density(op)) if op.family() == (Family::Coin, None) => {
                op.args().iter().all(|p| self.is_indicator(*p, global))
            }
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
}

/// Whether it holds for any of so many registers.
pub(super) fn is_any(holds: &[bool], from: Register, len: u32) -> bool {
    holds[from as usize..(from + len) as usize].iter().any(|holds| *holds)
}
