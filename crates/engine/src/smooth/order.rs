//! From the steps of the global part to waves: which step stands in which wave, and what registers are called then.
//!
//! Registers get other names ([`Names`]). Those of one leaf or one step stay side by side; a run across several is
//! copied together first.

use rustc_hash::FxHashMap;
use smidgen_prob::smooth::Elementary;

use super::waves::{Argument, Part, Wave, Waves};
use crate::program::{Leaf, Op, Program, Register, Source, Step};

/// The new names of registers.
pub(super) struct Names(Vec<Register>);

impl Names {
    pub(super) fn of(&self, register: Register) -> Register {
        self.0[register as usize]
    }
}

/// The global part, the names of its registers, and where the runs begin that were asked for.
pub(super) struct Arranged {
    pub waves: Waves,
    pub names: Names,
    pub runs: Vec<Register>,
}

/// The global part in waves. `runs`: registers that are read side by side from outside, with their number.
pub(super) fn arrange(mut program: Program, runs: &[(Register, u32)]) -> Arranged {
    let steps = program.steps.len();
    let copies = copy_runs(&mut program, runs);
    let mut order = Order::new(&program);
    order.leaves(&program);
    let parts = order.parts(&program);
    let names = Names(std::mem::take(&mut order.names));
    let mut terms: Vec<(Register, f64)> = Vec::new();
    let mut registers: Vec<Register> = program.terms.iter().map(|r| names.of(*r)).collect();
    registers.sort_unstable();
    for register in registers {
        match terms.last_mut() {
            Some((last, count)) if *last == register => *count += 1.0,
            _ => terms.push((register, 1.0)),
        }
    }
    let mut leaves = program.leaves;
    leaves.retain(|leaf| leaf.len > 0 && order.same[leaf.register as usize] == leaf.register);
    for leaf in &mut leaves {
        leaf.register = names.of(leaf.register);
    }
    let runs = copies.iter().map(|first| names.of(*first)).collect();
    let waves = Waves::new(parts, leaves, terms, order.next, steps);
    Arranged { waves, names, runs }
}

/// Lets every run of registers be one that a single leaf or step writes; says where each of those asked for begins.
fn copy_runs(program: &mut Program, runs: &[(Register, u32)]) -> Vec<Register> {
    let mut ends = vec![0; program.registers as usize];
    let mut note =
        |first: Register, len: u32| ends[first as usize..][..len as usize].fill(first + len);
    program.leaves.iter().for_each(|leaf| note(leaf.register, leaf.len));
    program.steps.iter().for_each(|step| note(step.out, step.width));
    let is_one = |first: Register, len: u32| len < 2 || ends[first as usize] >= first + len;
    let mut steps = Vec::with_capacity(program.steps.len());
    let (mut copied, mut next) = (FxHashMap::default(), program.registers);
    let mut copy = |steps: &mut Vec<Step>, (first, len): (Register, u32)| -> Register {
        if is_one(first, len) {
            return first;
        }
        *copied.entry((first, len)).or_insert_with(|| {
            let out = next;
            next += len;
            steps.push(Step { out, width: len, op: Op::Copy((first..first + len).collect()) });
            out
        })
    };
    for mut step in std::mem::take(&mut program.steps) {
        if let Op::Dot { a, b, len } = &mut step.op {
            *a = copy(&mut steps, (*a, *len));
            *b = copy(&mut steps, (*b, *len));
        }
        steps.push(step);
    }
    let found = runs.iter().map(|run| copy(&mut steps, *run)).collect();
    program.steps = steps;
    program.registers = next;
    found
}

/// Shorter stretches are not worth a wave of their own.
const SHORT: usize = 8;

const NOT_YET: Register = Register::MAX;

/// What is known on the way from old names to new ones.
struct Order {
    names: Vec<Register>,
    next: Register,
    /// The register, by its old name, that stands for another of equal value.
    same: Vec<Register>,
    depths: Vec<u32>,
    /// The least depth at which something reads it, counted back from the deepest.
    needed: Vec<u32>,
}

impl Order {
    fn new(program: &Program) -> Order {
        let registers = program.registers as usize;
        let mut order = Order {
            names: vec![NOT_YET; registers],
            next: 0,
            same: (0..program.registers).collect(),
            depths: vec![0; registers],
            needed: Vec::new(),
        };
        order.find_equal(program);
        order.find_needed(program);
        order
    }

    /// Finds equal numbers and equal functions of equal arguments, and how deep all steps stand.
    fn find_equal(&mut self, program: &Program) {
        let mut numbers: FxHashMap<u64, Register> = FxHashMap::default();
        for leaf in &program.leaves {
            if let Source::Number(x) = leaf.source {
                let first = numbers.entry(x.to_bits()).or_insert(leaf.register);
                self.same[leaf.register as usize] = *first;
            }
        }
        let mut functions: FxHashMap<(Elementary, Register, Register), Register> =
            FxHashMap::default();
        let mut reads = Vec::new();
        for step in &program.steps {
            if let Op::Elementary(f, a, b) = step.op {
                let key = (f, self.same[a as usize], self.same[b as usize]);
                let first = *functions.entry(key).or_insert(step.out);
                self.same[step.out as usize] = first;
                if first != step.out {
                    continue;
                }
            }
            reads.clear();
            step.op.reads(&mut reads);
            let depth = |register: &Register| self.depths[self.same[*register as usize] as usize];
            let depth = 1 + reads.iter().map(depth).max().unwrap_or(0);
            self.depths[step.out as usize..][..step.width as usize].fill(depth);
        }
    }

    /// As late as possible: a step that only deep ones read is not needed before.
    fn find_needed(&mut self, program: &Program) {
        let deepest = self.depths.iter().max().map_or(0, |depth| depth + 1);
        self.needed = vec![deepest; self.depths.len()];
        let mut reads = Vec::new();
        for step in program.steps.iter().rev() {
            let own = self.needed[step.out as usize..][..step.width as usize].iter().min();
            let before = own.map_or(0, |needed| needed.saturating_sub(1));
            reads.clear();
            step.op.reads(&mut reads);
            for register in &reads {
                let needed = &mut self.needed[self.same[*register as usize] as usize];
                *needed = before.min(*needed);
            }
        }
    }

    fn allocate(&mut self, first: Register, len: u32) {
        for k in 0..len {
            self.names[(first + k) as usize] = self.next + k;
        }
        self.next += len;
    }

    fn new_name(&self, register: Register) -> Register {
        let name = self.names[self.same[register as usize] as usize];
        debug_assert!(name != NOT_YET, "a step reads what stands above it");
        name
    }

    /// The leaves come first, the coordinates before all others.
    fn leaves(&mut self, program: &Program) {
        let mut leaves: Vec<&Leaf> = program.leaves.iter().filter(|leaf| leaf.len > 0).collect();
        leaves.sort_by_key(|leaf| match leaf.source {
            Source::Input(first) => (self.needed[leaf.register as usize], first),
            _ => (u32::MAX, 0),
        });
        for leaf in &leaves {
            if self.same[leaf.register as usize] == leaf.register {
                self.allocate(leaf.register, leaf.len);
            }
        }
        for leaf in leaves {
            self.names[leaf.register as usize] = self.new_name(leaf.register);
        }
    }

    /// Goes from depth to depth.
    fn parts(&mut self, program: &Program) -> Vec<Part> {
        let mut by_depth: Vec<Vec<&Step>> = Vec::new();
        for step in &program.steps {
            if self.same[step.out as usize] != step.out {
                continue;
            }
            let depth = self.depths[step.out as usize] as usize;
            if by_depth.len() <= depth {
                by_depth.resize_with(depth + 1, Vec::new);
            }
            by_depth[depth].push(step);
        }
        let mut parts = Vec::new();
        for steps in by_depth {
            let mut kinds: Vec<(Elementary, Vec<[Register; 3]>)> = Vec::new();
            for step in steps {
                let Op::Elementary(f, a, b) = step.op else {
                    parts.push(Part::Step(self.single(step)));
                    continue;
                };
                let member = [self.new_name(a), self.new_name(b), step.out];
                match kinds.iter_mut().find(|(kind, _)| *kind == f) {
                    Some((_, members)) => members.push(member),
                    None => kinds.push((f, vec![member])),
                }
            }
            for (f, mut members) in kinds {
                members.sort_unstable();
                parts.extend(cut(members).into_iter().map(|w| Part::Wave(self.wave(f, &w))));
            }
        }
        for step in &program.steps {
            self.names[step.out as usize] = match self.same[step.out as usize] {
                first if first == step.out => self.names[step.out as usize],
                first => self.names[first as usize],
            };
        }
        parts
    }

    fn single(&mut self, step: &Step) -> Step {
        let mut op = step.op.clone();
        op.rename(&|register| self.new_name(register));
        self.allocate(step.out, step.width);
        Step { out: self.names[step.out as usize], width: step.width, op }
    }

    /// A wave of these first and second arguments, and old names of the results.
    fn wave(&mut self, f: Elementary, members: &[[Register; 3]]) -> Wave {
        let out = self.next;
        members.iter().for_each(|[_, _, old]| self.allocate(*old, 1));
        let argument = |k: usize| Argument::new(members.iter().map(|member| member[k]).collect());
        Wave { f, a: argument(0), b: argument(1), out, width: members.len() }
    }
}

/// Functions of one kind and depth in stretches whose arguments need not be gathered. What belongs to no longer one
/// is gathered together.
fn cut(members: Vec<[Register; 3]>) -> Vec<Vec<[Register; 3]>> {
    let mut waves: Vec<Vec<[Register; 3]>> = Vec::new();
    let mut rest: Vec<[Register; 3]> = Vec::new();
    let mut left = &members[..];
    while let [first, ..] = left {
        let step = |k: usize| left.get(1).map_or(0, |next| next[k].wrapping_sub(first[k]));
        let steps = [step(0), step(1)];
        let follows = |pair: &&[[Register; 3]]| {
            (0..2).all(|k| pair[1][k].wrapping_sub(pair[0][k]) == steps[k])
        };
        let len = match steps.iter().all(|step| *step < 2) {
            true => 1 + left.windows(2).take_while(|pair| follows(pair)).count(),
            false => 1,
        };
        let (stretch, others) = left.split_at(len);
        match len < SHORT && len < members.len() {
            true => rest.extend(stretch),
            false => waves.push(stretch.to_vec()),
        }
        left = others;
    }
    if !rest.is_empty() {
        waves.push(rest);
    }
    waves
}
