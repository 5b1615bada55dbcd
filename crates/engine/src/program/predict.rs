//! The log predictive of a made procedure as a step, where its statistics offer it as numbers.
//!
//! [`Statistics::student`] gives, for the statistics in each lane, the numbers of
//!
//! log p(x) = a − b log(1 + c |y|²), with L y = x − m,
//!
//! and those of the predictive without one application of value x, log p(x) = e + f log(1 − g |y|²). The
//! outcome x is the same for all lanes.
//!
//! [`Statistics::student`]: smidgen_prob::Statistics::student

use smidgen_value::math;

use super::Register;
use super::run::Store;
use super::value_only::Lanes;

/// The least of 1 − g |y|² that leaves enough digits.
const LEAST_LEFT: f64 = 1e-3;
/// Numbers of a size that the formula is meant for.
const LARGEST: f64 = 1e140;

#[derive(Clone, Copy)]
pub(crate) struct Student {
    /// The first of the numbers.
    pub numbers: Register,
    pub dimension: u32,
    /// The leaf of the outcome.
    pub x: u32,
}

impl Student {
    /// How many numbers there are.
    pub(crate) fn fields(dimension: u32) -> u32 {
        6 + dimension + dimension * (dimension + 1) / 2
    }

    pub(super) fn registers(&self) -> std::ops::Range<Register> {
        self.numbers..self.numbers + Student::fields(self.dimension)
    }

    /// The registers that it needs after its result.
    pub(crate) fn spare(dimension: u32) -> u32 {
        dimension
    }

    /// Whether an outcome is one that the formula is meant for.
    pub(crate) fn admits(x: &[f64]) -> bool {
        x.iter().all(|x| x.abs() <= LARGEST)
    }

    /// |y|² is left in the register after the result.
    pub(super) fn value(&self, lanes: Lanes, x: &[f64], below: &[f64], above: &mut [f64]) {
        let Lanes { stride, count, wide } = lanes;
        let numbers = &below[self.numbers as usize * stride..];
        let (out, spare) = above.split_at_mut(stride);
        let out = &mut out[..count];
        out.fill(0.0);
        wide.predictives(x, numbers, stride, spare, out);
    }

    /// The log predictive without one application of the outcome, in a lane that was just computed into `out`;
    /// none if too few digits are left.
    pub(crate) fn without_one(&self, store: &Store, out: Register, lane: usize) -> Option<f64> {
        let number = |field: Register| store.at(self.numbers + field, lane);
        let taken = number(5) * store.at(out + 1, lane);
        // Not so for NaN either.
        (taken <= 1.0 - LEAST_LEFT).then(|| number(3) + number(4) * math::ln_1p(-taken))
    }
}
