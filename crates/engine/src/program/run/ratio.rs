//! The terms after a move minus those before it, lane by lane. Both sides stand in the same registers, those before in the
//! first lanes and those after behind them, so that most steps run over both at once. What does not hang on the global part is
//! the same on both sides: it is computed once, and stands in the first lanes alone. A density is asked for its ratio, in
//! which what cancels is never computed.

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

    /// Fills up what the lanes of a register leave over on a side.
    fn fill_up(self, side: &mut [f64]) {
        let first = side[0];
        side[self.lanes..].fill(first);
    }
}

impl Store {
    /// Fills up the lanes of a register that is the same on both sides.
    pub(crate) fn fill_up(&mut self, register: Register, sides: Sides) {
        sides.fill_up(self.lanes_mut(register, sides.side));
    }

    /// The lanes of a register before a move are also those after it.
    pub(crate) fn repeat(&mut self, register: Register, sides: Sides) {
        let register = self.lanes_mut(register, sides.both());
        register.copy_within(..sides.side, sides.side);
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
        let mut ratios = std::mem::take(&mut self.room.ratios);
        ratios.clear();
        ratios.resize(sides.side, 0.0);
        let computed = self.add_ratios(program, sides, linear, &mut ratios)
            && self.wide.copy_finite(&ratios[..sides.lanes], out);
        self.room.ratios = ratios;
        computed
    }

    /// Adds them to `out`. False if something cannot be computed.
    fn add_ratios(
        &mut self,
        program: &Program,
        sides: Sides,
        linear: [&Linear<'_>; 2],
        out: &mut [f64],
    ) -> bool {
        let Sides { lanes, side } = sides;
        let mut added: SmallVec<[Register; 4]> = SmallVec::new();
        for step in &program.steps {
            if program.is_still(step.out) {
                if !self.step(step, side, linear[0]) {
                    return false;
                }
                continue;
            }
            let (stride, wide) = (self.stride, self.wide);
            let (below, above) = self.values.split_at_mut(step.out as usize * stride);
            match &step.op {
                Op::Density(op)
                    if program.is_one_term(step.out)
                        && ratio(op, &on_sides(program, below, stride, side), wide, out) =>
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
                    above[..sides.both()].chunks_exact_mut(side).for_each(|s| sides.fill_up(s));
                }
                Op::Elementary(f, a, b) => {
                    let [a, b] = [*a, *b].map(on_sides(program, below, stride, side));
                    let (before, after) = above[..sides.both()].split_at_mut(side);
                    wide.elementary_on_both_sides(*f, a, b, [before, after]);
                }
                Op::ValueOnly(op) => {
                    self.repeat_still(program, &step.op, sides);
                    let (below, above) = self.values.split_at_mut(step.out as usize * stride);
                    let lanes = Lanes { stride, count: side, wide };
                    op.value(lanes, below, above, linear[0]);
                    op.value(lanes, &below[side..], &mut above[side..], linear[1]);
                }
                Op::Compare(..)
                | Op::Choose { .. }
                | Op::Dot { .. }
                | Op::Copy(_)
                | Op::Aggregate(_)
                | Op::Density(_) => {
                    self.repeat_still(program, &step.op, sides);
                    if !self.step(step, sides.both(), linear[0]) {
                        return false;
                    }
                }
            }
        }
        let moved = |term: &&Register| !added.contains(term) && !program.is_still(**term);
        for term in program.terms.iter().filter(moved) {
            let (before, after) = self.lanes(*term, sides.both()).split_at(side);
            for ((out, before), after) in out.iter_mut().zip(before).zip(after) {
                *out += after - before;
            }
        }
        true
    }

    /// Lets a step that reads both sides find there what is the same on both.
    fn repeat_still(&mut self, program: &Program, op: &Op, sides: Sides) {
        let mut reads = std::mem::take(&mut self.room.reads);
        reads.clear();
        op.reads(&mut reads);
        for register in reads.iter().filter(|register| program.is_still(**register)) {
            self.repeat(*register, sides);
        }
        self.room.reads = reads;
    }
}

/// The lanes of a register on both sides.
fn on_sides<'a>(
    program: &'a Program,
    below: &'a [f64],
    stride: usize,
    side: usize,
) -> impl Fn(Register) -> [&'a [f64]; 2] {
    move |register| {
        let at = register as usize * stride;
        let after = if program.is_still(register) { at } else { at + side };
        [at, after].map(|at| &below[at..at + side])
    }
}

/// Adds the ratio of a density in each lane of a side, if there is a loop for its kind. Whether there is.
fn ratio<'a>(
    op: &DensityOp,
    sides: &impl Fn(Register) -> [&'a [f64]; 2],
    wide: Wide,
    out: &mut [f64],
) -> bool {
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
