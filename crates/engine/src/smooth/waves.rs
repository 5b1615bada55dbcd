//! The global part in waves: what computes the same at the same depth is one step over many numbers.
//!
//! The global part of a hierarchy or of a state-space model is as long as the block: a few functions for each choice.
//! A step that depends on leaves alone has depth 1, any other stands one below the deepest that it reads. Functions of
//! one kind and one depth are a **wave**. Its results stand side by side, ordered by its arguments, so that an
//! argument is mostly one register for all or a run of registers, read where it stands; only the rest is gathered. Equal
//! functions of equal arguments are computed once. Coordinates are put in the order of the depths at which they are
//! needed. A long chain has waves of a single number: sums and products of these are done on the spot, with the same
//! bits as over many.
//!
//! [`super::order`] makes waves of a program.

use smidgen_prob::smooth::Elementary;

use crate::program::run::{NO_LINEAR, Store};
use crate::program::wide::Wide;
use crate::program::{Leaf, Op, Program, Register, Source, Step};

/// Where the arguments of a wave stand.
pub(super) enum Argument {
    /// One for all.
    Uniform(Register),
    /// Side by side, from this one on.
    Run(Register),
    Gather(Box<[Register]>),
}

impl Argument {
    pub(super) fn new(registers: Vec<Register>) -> Argument {
        let first = registers[0];
        if registers.iter().zip(first..).all(|(register, next)| *register == next) {
            Argument::Run(first)
        } else if registers.iter().all(|register| *register == first) {
            Argument::Uniform(first)
        } else {
            Argument::Gather(registers.into())
        }
    }

    /// The register of its number k.
    fn at(&self, k: usize) -> Register {
        match self {
            Argument::Uniform(register) => *register,
            Argument::Run(first) => first + k as Register,
            Argument::Gather(registers) => registers[k],
        }
    }

    /// Its numbers, brought together in `room` unless they stand side by side.
    fn read<'a>(&self, values: &'a [f64], room: &'a mut [f64]) -> &'a [f64] {
        match self {
            Argument::Run(first) => &values[*first as usize..][..room.len()],
            Argument::Uniform(register) => {
                room.fill(values[*register as usize]);
                room
            }
            Argument::Gather(registers) => {
                for (x, register) in room.iter_mut().zip(registers) {
                    *x = values[*register as usize];
                }
                room
            }
        }
    }

    /// Adds slopes, which `add` writes into zeros or adds where they belong.
    fn pull(&self, slopes: &mut [f64], room: &mut [f64], wide: Wide, add: impl FnOnce(&mut [f64])) {
        match self {
            Argument::Run(first) => add(&mut slopes[*first as usize..][..room.len()]),
            Argument::Uniform(register) => {
                room.fill(0.0);
                add(room);
                slopes[*register as usize] += wide.sum(room);
            }
            Argument::Gather(registers) => {
                room.fill(0.0);
                add(room);
                for (slope, register) in room.iter().zip(registers) {
                    slopes[*register as usize] += slope;
                }
            }
        }
    }
}

/// out_k = f(a_k, b_k)
pub(super) struct Wave {
    pub f: Elementary,
    pub a: Argument,
    pub b: Argument,
    pub out: Register,
    pub width: usize,
}

impl Wave {
    /// The registers of its arguments, if it is a sum or a product of single numbers.
    #[inline]
    fn single(&self) -> Option<[usize; 2]> {
        use Elementary::{Add, Multiply, Subtract};
        match (&self.a, &self.b, self.f) {
            (Argument::Run(a), Argument::Run(b), Add | Subtract | Multiply) if self.width == 1 => {
                Some([*a as usize, *b as usize])
            }
            _ => None,
        }
    }
}

pub(super) enum Part {
    Wave(Wave),
    Step(Step),
}

/// The global part, ready to run.
pub(crate) struct Waves {
    parts: Vec<Part>,
    leaves: Vec<Leaf>,
    /// Registers of the log density, with how often each counts.
    pub terms: Vec<(Register, f64)>,
    /// So many functions it had before.
    pub steps: usize,
    store: Store,
    room: [Vec<f64>; 3],
}

impl Waves {
    /// Of parts in their order, over so many registers, and so many functions as they were written.
    pub(super) fn new(
        parts: Vec<Part>,
        leaves: Vec<Leaf>,
        terms: Vec<(Register, f64)>,
        registers: u32,
        steps: usize,
    ) -> Waves {
        let mut store = Store::default();
        store.fit_registers(registers, 1);
        let widths = parts.iter().map(|part| if let Part::Wave(w) = part { w.width } else { 0 });
        let widest = widths.max().unwrap_or(0);
        let room = [vec![0.0; widest], vec![0.0; widest], vec![0.0; widest]];
        Waves { parts, leaves, terms, steps, store, room }
    }

    /// Whether it reads numbers that other moves may change.
    pub(super) fn reads_outside(&self) -> bool {
        self.leaves.iter().any(|leaf| matches!(leaf.source, Source::Live(..)))
    }

    /// The same as steps one after the other, without terms. Registers have the names that they have here.
    pub(crate) fn program(&self) -> Program {
        let mut steps = Vec::with_capacity(self.steps);
        for part in &self.parts {
            match part {
                Part::Step(step) => steps.push(step.clone()),
                Part::Wave(wave) => steps.extend((0..wave.width).map(|k| Step {
                    out: wave.out + k as Register,
                    width: 1,
                    op: Op::Elementary(wave.f, wave.a.at(k), wave.b.at(k)),
                })),
            }
        }
        let registers = self.store.values.len() as Register;
        let mut leaves = self.leaves.clone();
        for leaf in &mut leaves {
            // The coordinates have found their order since the leaf was made: they are the first registers.
            if let Source::Input(first) = &mut leaf.source {
                *first = leaf.register;
            }
        }
        Program { steps, leaves, registers, is_global: true, ..Program::default() }
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.store.values
    }

    pub(super) fn leaves_and_values(&mut self) -> (&[Leaf], &mut [f64]) {
        (&self.leaves, &mut self.store.values)
    }

    pub(super) fn write_constants(&mut self) {
        for leaf in &self.leaves {
            let known = &mut self.store.values[leaf.register as usize..][..leaf.len as usize];
            match &leaf.source {
                Source::Number(x) => known[0] = *x,
                Source::Vector(xs) => known.copy_from_slice(xs),
                _ => {}
            }
        }
    }

    /// The inputs are the first registers, in their order.
    pub(super) fn write_inputs(&mut self, z: &[f64]) {
        self.store.values[..z.len()].copy_from_slice(z);
    }

    pub(super) fn slopes_of_inputs(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.store.slopes[..out.len()]);
    }

    /// The values, and the slopes that are added to.
    pub(super) fn values_and_slopes(&mut self) -> (&[f64], &mut [f64]) {
        (&self.store.values, &mut self.store.slopes)
    }

    /// Computes all registers from the leaves. False if one cannot be computed.
    pub(super) fn run(&mut self) -> bool {
        let Waves { parts, store, room: [first, second, _], .. } = self;
        for part in parts {
            match part {
                Part::Wave(wave) if let Some([a, b]) = wave.single() => {
                    let (a, b) = (store.values[a], store.values[b]);
                    store.values[wave.out as usize] = match wave.f {
                        Elementary::Add => a + b,
                        Elementary::Subtract => a - b,
                        _ => a * b,
                    };
                }
                Part::Wave(wave) => {
                    let (below, above) = store.values.split_at_mut(wave.out as usize);
                    let a = wave.a.read(below, &mut first[..wave.width]);
                    let b = match wave.f.arity() {
                        2 => wave.b.read(below, &mut second[..wave.width]),
                        _ => a,
                    };
                    store.wide.elementary(wave.f, a, b, &mut above[..wave.width]);
                }
                Part::Step(step) => {
                    if !store.step(step, 1, &NO_LINEAR) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Σ of the terms.
    pub(crate) fn total(&self) -> f64 {
        self.terms.iter().map(|(term, count)| count * self.store.values[*term as usize]).sum()
    }

    pub(super) fn clear_slopes(&mut self) {
        self.store.clear_slopes();
    }

    /// Adds slopes down to the leaves: those of the terms, and those that stand there already.
    pub(super) fn pull(&mut self) {
        let Waves { parts, store, terms, room: [first, second, third], .. } = self;
        for (term, count) in terms {
            store.slopes[*term as usize] += *count;
        }
        for part in parts.iter().rev() {
            let wave = match part {
                Part::Wave(wave) => wave,
                Part::Step(step) => {
                    store.pull_step(step, 1, (&NO_LINEAR, &mut |_, _, _| {}), &[]);
                    continue;
                }
            };
            if let Some([a, b]) = wave.single() {
                let slope = store.slopes[wave.out as usize];
                let (by_first, by_second) = match wave.f {
                    Elementary::Add => (slope, slope),
                    Elementary::Subtract => (slope, -slope),
                    _ => (slope * store.values[b], slope * store.values[a]),
                };
                store.slopes[a] += by_first;
                store.slopes[b] += by_second;
                continue;
            }
            let wide = store.wide;
            let (f, n, at) = (wave.f, wave.width, wave.out as usize);
            let (values, out) = (&store.values[..at], &store.values[at..at + n]);
            let (below, above) = store.slopes.split_at_mut(at);
            let out_slope = &above[..n];
            let a = wave.a.read(values, &mut first[..n]);
            let room = &mut third[..n];
            if f.arity() == 1 {
                wave.a.pull(below, room, wide, |slope| {
                    wide.pull_first(f, [a, a, out, out_slope], slope);
                });
                continue;
            }
            let b = wave.b.read(values, &mut second[..n]);
            wave.a.pull(below, room, wide, |slope| {
                wide.pull_first(f, [a, b, out, out_slope], slope);
            });
            wave.b.pull(below, room, wide, |slope| {
                wide.pull_second(f, [a, b, out, out_slope], slope);
            });
        }
    }
}
