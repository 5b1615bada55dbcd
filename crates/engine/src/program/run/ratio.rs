//! The terms after a move minus those before it, lane by lane. Both sides stand in the same registers, those before in the
//! first lanes and those after behind them, so that most steps run over both at once; a density is asked for
//! its ratio, in which what is the same on both sides is never computed.

use smallvec::SmallVec;
use smidgen_prob::Family;
use smidgen_value::Link;

use super::{Block, Linear, Store};
use crate::program::value_only::Lanes;
use crate::program::wide::{SUMS, Wide};
use crate::program::{DensityOp, Op, Program, Register};

/// Where the lanes of both sides stand: a lane before the move at l, after it at `side` + l. Those between are
/// filled with what stands in the first lane, so that all loops run over whole registers.
#[derive(Clone, Copy)]
pub(crate) struct Sides {
    pub lanes: usize,
    pub side: usize,
}

impl Sides {
    pub(crate) fn of(lanes: usize) -> Sides {
        Sides { lanes, side: lanes.next_multiple_of(SUMS) }
    }

    /// Lanes of both.
    fn both(self) -> usize {
        2 * self.side
    }

    /// Fills up what the lanes of a register leave over on each side.
    fn fill_up(self, register: &mut [f64]) {
        for side in register[..self.both()].chunks_exact_mut(self.side) {
            let first = side[0];
            side[self.lanes..].fill(first);
        }
    }
}

impl Store {
    /// The lanes of a register before a move are also those after it.
    pub(crate) fn repeat(&mut self, register: Register, sides: Sides) {
        let register = self.lanes_mut(register, sides.both());
        register.copy_within(..sides.lanes, sides.side);
        sides.fill_up(register);
    }

    /// A register that is the same in all lanes of a side.
    pub(crate) fn fill_sides(&mut self, register: Register, sides: Sides, [x, y]: [f64; 2]) {
        let (before, after) = self.lanes_mut(register, sides.both()).split_at_mut(sides.side);
        before.fill(x);
        after.fill(y);
    }

    /// Σ of the terms after a move minus that before it, in each lane. False if one of them is no finite number.
    pub(crate) fn log_ratios(
        &mut self,
        program: &Program,
        sides: Sides,
        linear: [&Linear<'_>; 2],
        out: &mut [f64],
    ) -> bool {
        let Sides { lanes, side } = sides;
        let out = &mut out[..side];
        out.fill(0.0);
        let mut added: SmallVec<[Register; 4]> = SmallVec::new();
        for step in &program.steps {
            let (stride, wide) = (self.stride, self.wide);
            let (below, above) = self.values.split_at_mut(step.out as usize * stride);
            match &step.op {
                Op::Density(op)
                    if program.is_one_term(step.out)
                        && ratio(op, (below, stride), side, wide, out) =>
                {
                    added.push(step.out);
                }
                Op::Linear { weights, data } => {
                    let weights = linear.map(|side| (side.weights)(*weights));
                    let (before, after) = above[..sides.both()].split_at_mut(side);
                    match (linear[0].data)(*data) {
                        Block::Rows(rows, pick) => wide.linear_rows_on_both_sides(
                            weights,
                            rows,
                            pick,
                            [&mut before[..lanes], &mut after[..lanes]],
                        ),
                        Block::Lanes(data) => {
                            wide.linear(weights[0], data, stride, &mut before[..lanes]);
                            wide.linear(weights[1], data, stride, &mut after[..lanes]);
                        }
                        Block::Together(data) => {
                            wide.linear_together(weights[0], data, &mut before[..lanes]);
                            wide.linear_together(weights[1], data, &mut after[..lanes]);
                        }
                    }
                    sides.fill_up(above);
                }
                Op::ValueOnly(op) => {
                    let lanes = Lanes { stride, count: side, wide };
                    op.value(lanes, below, above, linear[0]);
                    op.value(lanes, &below[side..], &mut above[side..], linear[1]);
                }
                Op::Elementary(..)
                | Op::Compare(..)
                | Op::Choose { .. }
                | Op::Dot { .. }
                | Op::Copy(_)
                | Op::Aggregate(_)
                | Op::Density(_) => {
                    if !self.step(step, sides.both(), linear[0]) {
                        return false;
                    }
                }
            }
        }
        for term in program.terms.iter().filter(|term| !added.contains(term)) {
            let (before, after) = self.lanes(*term, sides.both()).split_at(side);
            for ((out, before), after) in out.iter_mut().zip(before).zip(after) {
                *out += after - before;
            }
        }
        out[..lanes].iter().fold(true, |finite, x| finite & x.is_finite())
    }
}

/// Adds the ratio of a density in each lane of a side, if there is a loop for its kind. Whether there is.
fn ratio(
    op: &DensityOp,
    (below, stride): (&[f64], usize),
    side: usize,
    wide: Wide,
    out: &mut [f64],
) -> bool {
    let sides = |register: Register| {
        let at = register as usize * stride;
        [&below[at..at + side], &below[at + side..at + 2 * side]]
    };
    match (op.family(), &op.registers[..]) {
        ((Family::Coin, Some(Link::LogOdds)), [x, eta]) => {
            wide.coin_ratios(sides(*x), sides(*eta), out);
            true
        }
        ((Family::Normal, None), [x, mean, sd]) => {
            wide.normal_ratios([*x, *mean, *sd].map(sides), out)
        }
        ((Family::Normal, Some(Link::Log)), [x, mean, log_sd]) => {
            wide.normal_ratios_by_log([*x, *mean, *log_sd].map(sides), out)
        }
        _ => false,
    }
}
