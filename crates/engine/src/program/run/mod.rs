//! The readings of a program: what can be asked of the same steps, one file each.
//!
//! * [`value`]: the log density, without any derivative;
//! * [`total`]: its sum over many blocks of lanes;
//! * [`ratio`]: the log density after a move minus that before it;
//! * [`gradient`]: the same with its slopes, then their way back to the leaves;
//! * [`sample`]: outcomes drawn in place of those that the densities read.
//!
//! Register r holds its lanes at r·stride. A reading goes through the steps in order, and matches all of
//! them.
//!
//! The rows of a density as curved steps ([`super::curved`]) have readings of their own:
//!
//! * [`second_order`]: the value with its first and second derivatives;
//! * [`bounds`]: bounds of the third derivative over a ball;
//! * [`remainder`]: what the second-order Taylor polynomial leaves out;
//! * [`series`]: derivatives of high order along one number, and intervals that hold them.

pub(crate) mod bounds;
mod categorical;
mod gradient;
mod ratio;
pub(crate) mod remainder;
mod sample;
pub(crate) mod second_order;
pub(crate) mod series;
#[cfg(test)]
pub(crate) mod tests;
mod total;
mod value;

use smallvec::SmallVec;
use smidgen_prob::SharedTerm;
use smidgen_value::Reals;

use super::cells::Pick;
use super::wide::{SideBySide, Summed, Wide};
use super::{DensityOp, Program, Register};

pub(crate) use ratio::Sides;
pub(crate) use sample::Undrawn;

/// The registers of a run, and room to gather.
#[derive(Default)]
pub(crate) struct Store {
    pub values: Vec<f64>,
    /// Those of the registers; empty until a gradient is asked for.
    pub slopes: Vec<f64>,
    /// The derivatives of each log density in what it reads, one step after the other.
    partials: Vec<f64>,
    stride: usize,
    pub wide: Wide,
    room: Room,
}

#[derive(Default)]
struct Room {
    inputs: Vec<f64>,
    slopes: Vec<f64>,
    outputs: Vec<f64>,
    output_slopes: Vec<f64>,
    ratios: Vec<f64>,
    reads: Vec<Register>,
}

/// Data that [`Op::Linear`](super::Op::Linear) reads in place.
pub(crate) struct Linear<'a> {
    /// The weights of a leaf.
    pub weights: &'a dyn Fn(u32) -> &'a [f64],
    /// The data of a leaf for the rows at hand.
    pub data: &'a dyn Fn(u32) -> Block<'a>,
}

/// Where the data of the rows at hand stand.
#[derive(Clone, Copy)]
pub(crate) enum Block<'a> {
    /// Entry k of lane l at k·stride + l.
    Lanes(&'a [f64]),
    /// In a copy of a table's column. Nothing that needs slopes reads it.
    Together(&'a [SideBySide]),
    /// In the rows of a table.
    Rows(Reals<'a>, Pick<'a>),
}

pub(crate) const NO_LINEAR: Linear<'static> =
    Linear { weights: &|_| &[], data: &|_| Block::Lanes(&[]) };

impl Store {
    pub(crate) fn new(program: &Program, stride: usize) -> Store {
        let mut store = Store::default();
        store.fit(program, stride);
        store
    }

    /// Gives it the size that a program needs. What it held is of no use then.
    pub(crate) fn fit(&mut self, program: &Program, stride: usize) {
        self.fit_registers(program.registers, stride);
    }

    /// The same for so many registers.
    pub(crate) fn fit_registers(&mut self, registers: u32, stride: usize) {
        let size = registers as usize * stride;
        self.stride = stride;
        if self.values.len() < size {
            self.values.resize(size, 0.0);
        }
    }

    pub(crate) fn lanes(&self, register: Register, lanes: usize) -> &[f64] {
        let at = register as usize * self.stride;
        &self.values[at..at + lanes]
    }

    pub(crate) fn lanes_mut(&mut self, register: Register, lanes: usize) -> &mut [f64] {
        let at = register as usize * self.stride;
        &mut self.values[at..at + lanes]
    }

    #[inline]
    pub(crate) fn put(&mut self, register: Register, lane: usize, x: f64) {
        self.values[register as usize * self.stride + lane] = x;
    }

    #[inline]
    pub(crate) fn at(&self, register: Register, lane: usize) -> f64 {
        self.values[register as usize * self.stride + lane]
    }

    /// Registers side by side, of which there is one lane.
    pub(crate) fn one_lane_mut(&mut self, first: Register, len: u32) -> &mut [f64] {
        debug_assert_eq!(self.stride, 1, "registers of one lane stand side by side");
        &mut self.values[first as usize..][..len as usize]
    }

    /// The slopes of the same.
    pub(crate) fn slopes_of_one_lane(&self, first: Register, len: u32) -> &[f64] {
        debug_assert_eq!(self.stride, 1, "registers of one lane stand side by side");
        &self.slopes[first as usize..][..len as usize]
    }

    pub(crate) fn slope(&self, register: Register, lanes: usize) -> &[f64] {
        let at = register as usize * self.stride;
        &self.slopes[at..at + lanes]
    }

    /// Σ of the terms in each lane: NaN where that, or a register that is checked, is not finite, or where a misfit is NaN:
    /// rows as long as those of the registers.
    pub(crate) fn sum_checked(
        &self,
        [terms, checked]: [&[Register]; 2],
        misfits: &[f64],
        out: &mut [f64],
    ) {
        let (values, stride) = (&self.values[..], self.stride);
        self.wide.sum_checked(Summed { values, stride, terms, checked, misfits }, out);
    }

    /// Σ of the terms over the lanes.
    fn total(&self, program: &Program, lanes: usize) -> f64 {
        program.terms.iter().map(|term| self.wide.sum(self.lanes(*term, lanes))).sum()
    }
}

/// The numbers of registers in one lane.
fn gather<'r>(
    registers: impl Iterator<Item = &'r Register>,
    from: &[f64],
    stride: usize,
    lane: usize,
    out: &mut Vec<f64>,
) {
    out.clear();
    out.extend(registers.map(|register| from[*register as usize * stride + lane]));
}

/// One for each argument; few have more than these.
type Parts<T> = SmallVec<[T; 4]>;

/// Numbers cut into parts of these lengths.
fn split(mut numbers: &[f64], lens: impl Iterator<Item = usize>) -> Parts<&[f64]> {
    let part = |len: usize| {
        let (part, rest) = numbers.split_at(len);
        numbers = rest;
        part
    };
    lens.map(part).collect()
}

fn split_mut(mut numbers: &mut [f64], lens: impl Iterator<Item = usize>) -> Parts<&mut [f64]> {
    let part = |len: usize| {
        let (part, rest) = std::mem::take(&mut numbers).split_at_mut(len);
        numbers = rest;
        part
    };
    lens.map(part).collect()
}

/// The shared term of a log density, lane by lane: computed where its argument is another than in the lane before.
#[derive(Default)]
struct SharedSoFar {
    argument: f64,
    term: Option<[f64; 2]>,
}

impl SharedSoFar {
    #[inline]
    fn at(&mut self, shared: &SharedTerm, argument: f64) -> [f64; 2] {
        match self.term {
            Some(term) if self.argument.to_bits() == argument.to_bits() => term,
            _ => {
                self.argument = argument;
                *self.term.insert((shared.of)(argument))
            }
        }
    }
}

impl DensityOp {
    /// The lengths of the arguments.
    fn lens(&self) -> impl Iterator<Item = usize> {
        self.shapes.iter().map(|shape| shape.len())
    }
}
