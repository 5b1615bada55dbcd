//! The values of a program in lanes that may fail one by one: nothing but values is computed, and a lane where a
//! step has none holds a NaN from there on.

use smallvec::SmallVec;
use smidgen_prob::Family;
use smidgen_prob::distributions::normal;
use smidgen_value::{Rng, Value};

use super::density::MOST_ARGS;
use super::lanes::{PlainDraw, are_all};
use super::run::{NO_LINEAR, Store};
use super::{DensityOp, Op, Register, Step};

/// Lanes stand in rows of whole registers of the processor.
const WHOLE: usize = 8;

/// The registers of a lane program: register r of lane l stands at r·stride + l.
#[derive(Default)]
pub(crate) struct LaneStore {
    store: Store,
    boxed: Vec<Value>,
    lanes: usize,
    stride: usize,
}

impl LaneStore {
    /// Makes room for so many registers in so many lanes. What it held stays only if both are as they were.
    pub(crate) fn fit(&mut self, registers: u32, boxed: u32, lanes: usize) {
        self.lanes = lanes;
        self.stride = lanes.next_multiple_of(WHOLE);
        self.store.fit_registers(registers, self.stride);
        let boxed = boxed as usize * lanes;
        if self.boxed.len() < boxed {
            self.boxed.resize(boxed, Value::Nil);
        }
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    #[inline]
    pub(crate) fn number(&self, register: Register, lane: usize) -> f64 {
        self.store.values[register as usize * self.stride + lane]
    }

    #[inline]
    pub(crate) fn put(&mut self, register: Register, lane: usize, x: f64) {
        self.store.values[register as usize * self.stride + lane] = x;
    }

    /// A register in all lanes.
    #[inline]
    pub(crate) fn row(&self, register: Register) -> &[f64] {
        &self.store.values[register as usize * self.stride..][..self.lanes]
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, register: Register) -> &mut [f64] {
        &mut self.store.values[register as usize * self.stride..][..self.lanes]
    }

    #[inline]
    pub(crate) fn boxed(&self, register: u32, lane: usize) -> &Value {
        &self.boxed[register as usize * self.lanes + lane]
    }

    #[inline]
    pub(crate) fn boxed_mut(&mut self, register: u32, lane: usize) -> &mut Value {
        &mut self.boxed[register as usize * self.lanes + lane]
    }

    /// A boxed register in all lanes.
    pub(crate) fn boxed_row_mut(&mut self, register: u32) -> &mut [Value] {
        &mut self.boxed[register as usize * self.lanes..][..self.lanes]
    }

    pub(crate) fn boxed_row(&self, register: u32) -> &[Value] {
        &self.boxed[register as usize * self.lanes..][..self.lanes]
    }

    /// Draws a number in each of the first lanes that is alive. The lanes that have arguments out of their domain.
    pub(crate) fn draw(
        &mut self,
        draw: &PlainDraw,
        alive: &[bool],
        rng: &mut Rng,
    ) -> SmallVec<[usize; 2]> {
        let (stride, mut refused) = (self.stride, SmallVec::new());
        let (below, above) = self.store.values.split_at_mut(draw.out as usize * stride);
        let out = &mut above[..alive.len()];
        if let (Family::Normal, [mean, sd]) = (draw.family, &draw.args[..])
            && are_all(alive)
        {
            let row = |register: &Register| &below[*register as usize * stride..][..out.len()];
            let (mean, sd) = (row(mean), row(sd));
            if !normal::sample_all(mean, sd, out, rng) {
                let lanes = out.iter().enumerate().filter(|(_, x)| x.is_nan());
                refused.extend(lanes.map(|(lane, _)| lane));
            }
            return refused;
        }
        let mut args = [0.0; MOST_ARGS];
        let arguments = draw.args.len();
        for (lane, (out, alive)) in out.iter_mut().zip(alive).enumerate() {
            if !alive {
                continue;
            }
            for (arg, register) in args.iter_mut().zip(&draw.args) {
                *arg = below[*register as usize * stride + lane];
            }
            match (draw.scalar.sample)(&args[..arguments], rng) {
                Some(x) => *out = x,
                None => refused.push(lane),
            }
        }
        refused
    }

    /// Runs steps in all lanes: the value reading, in which a lane that has no value holds a NaN from there on. Where there
    /// are loops over whole registers, the lanes that fill the last one are computed too, and nobody reads them.
    pub(crate) fn run(&mut self, steps: &[Step]) {
        for step in steps {
            // With plain sds, and with counts, a lane that is nothing would send all of them the slow way.
            let is_even = |op: &DensityOp| {
                matches!(op.family(), (Family::Normal, None) | (Family::Poisson, _))
            };
            let is_wide = matches!(&step.op, Op::Density(op) if op.is_wide() && !is_even(op));
            let lanes = if is_wide { self.stride } else { self.lanes };
            self.store.step(step, lanes, &NO_LINEAR);
        }
    }
}
