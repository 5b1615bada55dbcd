//! The values of a program in lanes that may fail one by one: nothing but values is computed, and a lane where a
//! step has none holds a NaN from there on.

use smallvec::SmallVec;
use smidgen_value::{Rng, Value};

use super::density::MOST_ARGS;
use super::run::{NO_LINEAR, Store};
use super::{Register, Step};

/// The registers of a lane program: register r of lane l stands at r·lanes + l.
#[derive(Default)]
pub(crate) struct LaneStore {
    store: Store,
    boxed: Vec<Value>,
    lanes: usize,
}

impl LaneStore {
    /// Makes room for so many registers in so many lanes. What it held is of no use then.
    pub(crate) fn fit(&mut self, registers: u32, boxed: u32, lanes: usize) {
        self.lanes = lanes;
        self.store.fit_registers(registers, lanes);
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
        self.store.values[register as usize * self.lanes + lane]
    }

    #[inline]
    pub(crate) fn put(&mut self, register: Register, lane: usize, x: f64) {
        self.store.values[register as usize * self.lanes + lane] = x;
    }

    /// A register in all lanes.
    #[inline]
    pub(crate) fn row(&self, register: Register) -> &[f64] {
        &self.store.values[register as usize * self.lanes..][..self.lanes]
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, register: Register) -> &mut [f64] {
        &mut self.store.values[register as usize * self.lanes..][..self.lanes]
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

    /// Draws a number in each of the first lanes that is alive, given numbers in registers. The lanes that have
    /// arguments out of their domain.
    pub(crate) fn draw(
        &mut self,
        sample: fn(&[f64], &mut Rng) -> Option<f64>,
        registers: &[Register],
        (out, alive): (Register, &[bool]),
        rng: &mut Rng,
    ) -> SmallVec<[usize; 2]> {
        let (lanes, mut refused) = (self.lanes, SmallVec::new());
        let (below, above) = self.store.values.split_at_mut(out as usize * lanes);
        let mut args = [0.0; MOST_ARGS];
        let arguments = registers.len();
        for (lane, (out, alive)) in above.iter_mut().zip(alive).enumerate() {
            if !alive {
                continue;
            }
            for (arg, register) in args.iter_mut().zip(registers) {
                *arg = below[*register as usize * lanes + lane];
            }
            match sample(&args[..arguments], rng) {
                Some(x) => *out = x,
                None => refused.push(lane),
            }
        }
        refused
    }

    /// Runs steps in all lanes: the value reading, in which a lane that has no value holds a NaN from there on.
    pub(crate) fn run(&mut self, steps: &[Step]) {
        for step in steps {
            self.store.step(step, self.lanes, &NO_LINEAR);
        }
    }
}
