//! The value of a program with its slopes: every log density leaves its derivatives beside it on the way there, and
//! they are added up on the way back, from the terms to the leaves.

use smidgen_prob::{Family, Score, SharedTerm};
use smidgen_value::Link;

use super::categorical::Weights;
use super::value::Registers;
use super::{Block, Linear, Room, SharedSoFar, Store, gather, split, split_mut};
use crate::program::density::MOST_ARGS;
use crate::program::wide::Wide;
use crate::program::{AggregateOp, DensityOp, Op, Program, Register, Step};

/// Adds the slopes of the weights of a leaf, given those of the products and the block of data.
pub(crate) type PullWeights<'a> = dyn FnMut(u32, &[f64], Block<'_>) + 'a;

impl DensityOp {
    /// The registers that have a slope. A coin or an index does not move.
    fn moving(&self) -> &[Register] {
        match self.family() {
            (Family::Coin, Some(_)) | (Family::Categorical, _) if self.outcome == 1 => self.args(),
            _ => &self.registers,
        }
    }
}

impl Store {
    /// The same as [`Store::value`], with all that [`Store::pull`] needs.
    pub(crate) fn value_for_slopes(
        &mut self,
        program: &Program,
        lanes: usize,
        linear: &Linear<'_>,
    ) -> f64 {
        let stride = self.stride;
        let mut first = 0;
        for step in &program.steps {
            let computed = match &step.op {
                Op::Density(op) => {
                    let end = first + op.moving().len() * stride;
                    if self.partials.len() < end {
                        self.partials.resize(end, 0.0);
                    }
                    let at = step.out as usize * stride;
                    let (below, above) = self.values.split_at_mut(at);
                    let mut registers = Registers { below, above, stride, lanes };
                    let partials = &mut self.partials[first..end];
                    first = end;
                    density(op, &mut registers, partials, self.wide, &mut self.room)
                }
                Op::Elementary(..)
                | Op::Compare(..)
                | Op::Choose { .. }
                | Op::Dot { .. }
                | Op::Linear { .. }
                | Op::Copy(_)
                | Op::Aggregate(_)
                | Op::ValueOnly(_) => self.step(step, lanes, linear),
            };
            if !computed {
                return f64::NEG_INFINITY;
            }
        }
        self.total(program, lanes)
    }

    /// No slopes yet.
    pub(crate) fn clear_slopes(&mut self) {
        self.slopes.clear();
        self.slopes.resize(self.values.len(), 0.0);
    }

    /// The same where slopes are asked for.
    pub(crate) fn clear_slopes_of(&mut self, program: &Program) {
        self.slopes.resize(self.values.len(), 0.0);
        if self.stride == 1 {
            self.slopes[..program.registers as usize].fill(0.0);
            return;
        }
        for (slopes, still) in self.slopes.chunks_exact_mut(self.stride).zip(&program.still) {
            if !still {
                slopes.fill(0.0);
            }
        }
    }

    /// Adds slopes down to the leaves. The slopes that come from outside the program stand in
    /// `slopes` already; those of its terms are 1.
    pub(crate) fn pull(
        &mut self,
        program: &Program,
        lanes: usize,
        linear: &Linear<'_>,
        pull_weights: &mut PullWeights<'_>,
    ) {
        let stride = self.stride;
        for term in program.terms.iter().filter(|term| !is_still(&program.still, **term)) {
            let at = *term as usize * stride;
            self.slopes[at..at + lanes].iter_mut().for_each(|slope| *slope += 1.0);
        }
        let steps = program.steps.iter();
        let densities = steps.filter_map(|step| match &step.op {
            Op::Density(op) => Some(op.moving().len() * stride),
            _ => None,
        });
        let mut end: usize = densities.sum();
        for step in program.steps.iter().rev() {
            match &step.op {
                Op::Density(op) => {
                    end = self.pull_density(op, step.out, lanes, end, &program.still)
                }
                _ => self.pull_step(step, lanes, (linear, pull_weights), &program.still),
            }
        }
    }

    /// The same of a log density, whose derivatives stand before a place; says where they begin.
    fn pull_density(
        &mut self,
        op: &DensityOp,
        out: Register,
        lanes: usize,
        end: usize,
        still: &[bool],
    ) -> usize {
        let (stride, wide, moving) = (self.stride, self.wide, op.moving());
        let (below, above) = self.slopes.split_at_mut(out as usize * stride);
        let first = end - moving.len() * stride;
        if stride == 1 {
            let slope = above[0];
            for (register, partial) in moving.iter().zip(&self.partials[first..end]) {
                if !is_still(still, *register) {
                    below[*register as usize] += slope * partial;
                }
            }
            return first;
        }
        let partials = self.partials[first..end].chunks(stride);
        for (register, partial) in moving.iter().zip(partials) {
            if is_still(still, *register) {
                continue;
            }
            let at = *register as usize * stride;
            wide.multiply_add(&above[..lanes], partial, &mut below[at..at + lanes]);
        }
        first
    }

    /// Adds the slopes of what a step reads, unless it is a log density.
    pub(crate) fn pull_step(
        &mut self,
        step: &Step,
        lanes: usize,
        (linear, pull_weights): (&Linear<'_>, &mut PullWeights<'_>),
        still: &[bool],
    ) {
        if is_still(still, step.out) {
            return;
        }
        let (stride, wide) = (self.stride, self.wide);
        let at = step.out as usize * stride;
        let (below, above) = self.slopes.split_at_mut(at);
        let out_slope = &above[..lanes];
        let values = &self.values;
        let range = |register: Register| {
            let at = register as usize * stride;
            at..at + lanes
        };
        let value = |register: Register| &values[range(register)];
        match &step.op {
            Op::Elementary(f, a, b) => {
                let given = [value(*a), value(*b), value(step.out), out_slope];
                if !is_still(still, *a) {
                    wide.pull_first(*f, given, &mut below[range(*a)]);
                }
                if f.arity() == 2 && !is_still(still, *b) {
                    wide.pull_second(*f, given, &mut below[range(*b)]);
                }
            }
            Op::Compare(..) => {}
            Op::Choose { index, options } => {
                for (l, slope) in out_slope.iter().enumerate() {
                    let index = values[*index as usize * stride + l] as usize;
                    below[options[index] as usize * stride + l] += slope;
                }
            }
            Op::Dot { a, b, len } if stride == 1 => {
                for (to, from) in [(*a, *b), (*b, *a)] {
                    let slopes = &mut below[to as usize..][..*len as usize];
                    let others = &values[from as usize..][..*len as usize];
                    slopes.iter_mut().zip(others).for_each(|(slope, x)| *slope += above[0] * x);
                }
            }
            Op::Dot { a, b, len } => {
                for k in 0..*len {
                    let (a, b) = (a + k, b + k);
                    wide.multiply_add(out_slope, value(b), &mut below[range(a)]);
                    wide.multiply_add(out_slope, value(a), &mut below[range(b)]);
                }
            }
            Op::Linear { weights, data } => {
                pull_weights(*weights, out_slope, (linear.data)(*data));
            }
            Op::Copy(from) if stride == 1 => {
                for (register, slope) in from.iter().zip(above.iter()) {
                    below[*register as usize] += slope;
                }
            }
            Op::Copy(from) => {
                for (k, register) in from.iter().enumerate() {
                    let slope = &above[k * stride..k * stride + lanes];
                    for (below, slope) in below[range(*register)].iter_mut().zip(slope) {
                        *below += slope;
                    }
                }
            }
            Op::Aggregate(op) => {
                let slopes = Slopes { below, above, values, at, stride, lanes };
                pull_aggregate(op, slopes, &mut self.room);
            }
            Op::Density(_) => debug_assert!(false, "log densities have their derivatives beside"),
            Op::ValueOnly(_) => debug_assert!(false, "no slopes are asked of such a program"),
        }
    }
}

/// Whether no slope is asked of a register.
fn is_still(still: &[bool], register: Register) -> bool {
    still.get(register as usize).copied().unwrap_or(false)
}

/// Where a step's slopes come from and go to.
struct Slopes<'s> {
    below: &'s mut [f64],
    above: &'s [f64],
    values: &'s [f64],
    /// Where its values begin.
    at: usize,
    stride: usize,
    lanes: usize,
}

fn pull_aggregate(op: &AggregateOp, slopes: Slopes<'_>, room: &mut Room) {
    let Slopes { below, above, values, at, stride, lanes } = slopes;
    let lens = || op.args.iter().map(Vec::len);
    for l in 0..lanes {
        gather(op.args.iter().flatten(), values, stride, l, &mut room.inputs);
        room.slopes.clear();
        room.slopes.resize(room.inputs.len(), 0.0);
        let pick = |from: &[f64], at: usize, out: &mut Vec<f64>| {
            out.clear();
            out.extend((0..op.len as usize).map(|k| from[at + k * stride + l]));
        };
        pick(values, at, &mut room.outputs);
        pick(above, 0, &mut room.output_slopes);
        let inputs = split(&room.inputs, lens());
        let mut slopes = split_mut(&mut room.slopes, lens());
        let (outputs, output_slopes) = (&room.outputs, &room.output_slopes);
        (op.function.pull)(&inputs, &op.shapes, outputs, output_slopes, &mut slopes);
        drop(slopes);
        let registers = op.args.iter().flatten();
        for (register, slope) in registers.zip(&room.slopes) {
            below[*register as usize * stride + l] += slope;
        }
    }
}

/// The log density in all lanes, and its derivatives in what moves. False if it is impossible in some lane.
fn density(
    op: &DensityOp,
    r: &mut Registers<'_>,
    partials: &mut [f64],
    wide: Wide,
    room: &mut Room,
) -> bool {
    let (below, stride, lanes) = (r.below, r.stride, r.lanes);
    let at = |register: Register| {
        let at = register as usize * stride;
        &below[at..at + lanes]
    };
    let out = &mut r.above[..lanes];
    match (op.family(), &op.registers[..]) {
        ((Family::Coin, Some(Link::LogOdds)), [x, eta]) => {
            wide.coins(at(*x), at(*eta), out, &mut partials[..lanes]);
        }
        ((Family::Normal, None), [x, mean, sd]) => {
            wide.normals([*x, *mean, *sd].map(at), out, columns(partials, stride, lanes));
        }
        ((Family::Normal, Some(Link::Log)), [x, mean, log_sd]) => {
            let arguments = [*x, *mean, *log_sd].map(at);
            wide.normals_by_log(arguments, out, columns(partials, stride, lanes));
        }
        ((Family::Student, Some(Link::Log)), [x, df, location, log_scale]) => {
            let arguments = [*df, *location, *log_scale].map(at);
            wide.students(at(*x), arguments, out, columns(partials, stride, lanes));
            let mut so_far = SharedSoFar::default();
            let shared = op.shared.as_ref().expect("what hangs on the degrees of freedom alone");
            for ((out, df), df_slope) in out.iter_mut().zip(at(*df)).zip(&mut partials[stride..]) {
                if out.is_finite() {
                    let [term, slope] = so_far.at(shared, *df);
                    *out += term;
                    *df_slope += slope;
                }
            }
        }
        ((Family::Categorical, link), [x, registers @ ..]) if op.outcome == 1 => {
            let weights = Weights { below, stride, lanes, registers, link };
            weights.log_shares(at(*x), out, &mut room.outputs);
            weights.slopes(at(*x), &room.outputs, partials);
        }
        _ => return one_by_one(op, r, partials, room),
    }
    true
}

/// The lanes of so many derivatives.
fn columns<const N: usize>(partials: &mut [f64], stride: usize, lanes: usize) -> [&mut [f64]; N] {
    let mut columns = partials.chunks_mut(stride).map(|column| &mut column[..lanes]);
    std::array::from_fn(|_| columns.next().expect("room for all derivatives"))
}

/// The same in one lane after the other.
fn one_by_one(
    op: &DensityOp,
    r: &mut Registers<'_>,
    partials: &mut [f64],
    room: &mut Room,
) -> bool {
    let mut numbers = [0.0; MOST_ARGS + 1];
    let mut slopes = [0.0; MOST_ARGS + 1];
    let mut so_far = SharedSoFar::default();
    for l in 0..r.lanes {
        let (log_p, slopes): (f64, &[f64]) = match op.score {
            Score::Scalar(score) => {
                let len = op.registers.len();
                for (number, register) in numbers.iter_mut().zip(&op.registers) {
                    *number = r.below[*register as usize * r.stride + l];
                }
                let (x, args, slopes) = (numbers[0], &numbers[1..len], &mut slopes[..len]);
                let log_p = match &op.shared {
                    None => score(x, args, slopes),
                    Some(shared) => with_shared(shared, &mut so_far, x, args, slopes),
                };
                (log_p, slopes)
            }
            Score::General(_) => {
                gather(op.registers.iter(), r.below, r.stride, l, &mut room.inputs);
                (general(op, room), &room.slopes)
            }
        };
        if log_p == f64::NEG_INFINITY {
            return false;
        }
        r.above[l] = log_p;
        let skipped = op.registers.len() - op.moving().len();
        for (k, slope) in slopes[skipped..].iter().enumerate() {
            partials[k * r.stride + l] = *slope;
        }
    }
    true
}

/// The log density and its derivatives as a shared term and the rest.
fn with_shared(
    shared: &SharedTerm,
    so_far: &mut SharedSoFar,
    x: f64,
    args: &[f64],
    slopes: &mut [f64],
) -> f64 {
    let rest = (shared.rest)(x, args, slopes);
    if rest == f64::NEG_INFINITY {
        return rest;
    }
    let [term, slope] = so_far.at(shared, args[shared.place]);
    slopes[1 + shared.place] += slope;
    term + rest
}

/// The log density at the room's inputs; the derivatives are left in its slopes.
fn general(op: &DensityOp, room: &mut Room) -> f64 {
    let Score::General(score) = op.score else { unreachable!("asked for vectors") };
    room.slopes.clear();
    room.slopes.resize(room.inputs.len(), 0.0);
    let (x, rest) = room.inputs.split_at(op.outcome);
    let args = split(rest, op.lens());
    let (x_slope, rest) = room.slopes.split_at_mut(op.outcome);
    let mut slopes = split_mut(rest, op.lens());
    score(x, &args, x_slope, &mut slopes)
}
