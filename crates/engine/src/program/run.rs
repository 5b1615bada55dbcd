//! Running a program forward and backward, lane by lane.
//!
//! Register r of lane l stands at r·stride + l. Every step writes registers after those it reads,
//! so a split of the store is enough to hold both. The backward pass adds, for every step from the
//! last to the first, (∂out/∂in)·slope(out) to slope(in).

use smidgen_value::Reals;

use super::cells::Pick;
use super::value_only::Lanes;
use super::wide::Wide;
use super::{GeneralOp, MOST_ARGS, Op, Program, Register};

/// What the program computes on: values and slopes of all registers, and room to gather.
#[derive(Default)]
pub(crate) struct Store {
    pub values: Vec<f64>,
    pub slopes: Vec<f64>,
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
}

/// Data that [`Op::Linear`] reads in place.
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
    /// In the rows of a table.
    Rows(Reals<'a>, Pick<'a>),
}

/// Adds the slopes of the weights of a leaf, given those of the products and the block of data.
pub(crate) type PullWeights<'a> = dyn FnMut(u32, &[f64], Block<'_>) + 'a;

pub(crate) const NO_LINEAR: Linear<'static> =
    Linear { weights: &|_| &[], data: &|_| Block::Lanes(&[]) };

impl Store {
    pub(crate) fn new(program: &Program, stride: usize) -> Store {
        let size = program.registers as usize * stride;
        let (values, slopes) = (vec![0.0; size], vec![0.0; size]);
        Store { values, slopes, stride, wide: Wide::default(), room: Room::default() }
    }

    /// Gives it the size that a program needs. What it held is of no use then.
    pub(crate) fn fit(&mut self, program: &Program, stride: usize) {
        let size = program.registers as usize * stride;
        self.stride = stride;
        if self.values.len() < size {
            self.values.resize(size, 0.0);
            self.slopes.resize(size, 0.0);
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

    pub(crate) fn slope(&self, register: Register, lanes: usize) -> &[f64] {
        let at = register as usize * self.stride;
        &self.slopes[at..at + lanes]
    }

    /// Σ of the terms over the lanes; −∞ if something cannot be computed, which leaves the other lanes as they are.
    pub(crate) fn forward(&mut self, program: &Program, lanes: usize, linear: &Linear<'_>) -> f64 {
        let stride = self.stride;
        let mut possible = true;
        for step in &program.steps {
            let (below, above) = self.values.split_at_mut(step.out as usize * stride);
            let at = |register: Register| {
                let at = register as usize * stride;
                &below[at..at + lanes]
            };
            let out = &mut above[..lanes];
            match &step.op {
                Op::Elementary(f, a, b) => f.value(at(*a), at(*b), out),
                Op::Compare(comparison, a, b) => {
                    for ((out, a), b) in out.iter_mut().zip(at(*a)).zip(at(*b)) {
                        *out = f64::from(u8::from(comparison.holds(*a, *b)));
                    }
                }
                Op::Choose { index, options } => {
                    for (l, out) in out.iter_mut().enumerate() {
                        let index = below[*index as usize * stride + l];
                        match options.get(index as usize) {
                            Some(option) if index >= 0.0 => {
                                *out = below[*option as usize * stride + l]
                            }
                            _ => (*out, possible) = (f64::NAN, false),
                        }
                    }
                }
                Op::Dot { a, b, len } => {
                    out.fill(0.0);
                    for k in 0..*len {
                        let (a, b) = (at(a + k), at(b + k));
                        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                            *out += a * b;
                        }
                    }
                }
                Op::Linear { weights, data } => {
                    let weights = (linear.weights)(*weights);
                    match (linear.data)(*data) {
                        Block::Lanes(data) => self.wide.linear(weights, data, stride, out),
                        Block::Rows(rows, pick) => self.wide.linear_rows(weights, rows, pick, out),
                    }
                }
                Op::Coin { x, eta } => {
                    let (out, slope) = above.split_at_mut(stride);
                    self.wide.coins(at(*x), at(*eta), &mut out[..lanes], &mut slope[..lanes]);
                }
                Op::Normal(registers) => {
                    let (out, slopes) = above.split_at_mut(stride);
                    let (a, slopes) = slopes.split_at_mut(stride);
                    let (b, c) = slopes.split_at_mut(stride);
                    let slopes = [&mut a[..lanes], &mut b[..lanes], &mut c[..lanes]];
                    self.wide.normals(registers.map(at), &mut out[..lanes], slopes);
                }
                Op::Copy(from) => {
                    for (k, register) in from.iter().enumerate() {
                        above[k * stride..k * stride + lanes].copy_from_slice(at(*register));
                    }
                }
                Op::Aggregate(op) => {
                    let room = &mut self.room;
                    for l in 0..lanes {
                        gather(&op.args, below, stride, l, &mut room.inputs);
                        let inputs = split(&room.inputs, &op.args);
                        room.outputs.clear();
                        room.outputs.resize(op.len as usize, 0.0);
                        if !(op.function.value)(&inputs, &op.shapes, &mut room.outputs) {
                            room.outputs.fill(f64::NAN);
                            possible = false;
                        }
                        for (k, x) in room.outputs.iter().enumerate() {
                            above[k * stride + l] = *x;
                        }
                    }
                }
                Op::Score { score, x, args } => {
                    let mut arguments = [0.0; MOST_ARGS];
                    let mut slopes = [0.0; MOST_ARGS + 1];
                    let (arguments, slopes) =
                        (&mut arguments[..args.len()], &mut slopes[..=args.len()]);
                    for l in 0..lanes {
                        for (value, register) in arguments.iter_mut().zip(args.iter()) {
                            *value = below[*register as usize * stride + l];
                        }
                        let log_p = score(below[*x as usize * stride + l], arguments, slopes);
                        possible &= log_p != f64::NEG_INFINITY;
                        above[l] = log_p;
                        for (k, slope) in slopes.iter().enumerate() {
                            above[(k + 1) * stride + l] = *slope;
                        }
                    }
                }
                Op::General(op) => {
                    for l in 0..lanes {
                        let log_p = general(op, below, stride, l, &mut self.room);
                        possible &= log_p != f64::NEG_INFINITY;
                        above[l] = log_p;
                        for (k, slope) in self.room.slopes.iter().enumerate() {
                            above[(k + 1) * stride + l] = *slope;
                        }
                    }
                }
                Op::ValueOnly(op) => {
                    let lanes = Lanes { stride, count: lanes, wide: self.wide };
                    op.value(lanes, below, above, linear);
                }
            }
        }
        if !possible {
            return f64::NEG_INFINITY;
        }
        program.terms.iter().map(|term| self.wide.sum(self.lanes(*term, lanes))).sum()
    }

    /// Adds slopes down to the leaves. The slopes that come from outside the program stand in
    /// `slopes` already; those of its terms are 1.
    pub(crate) fn backward(
        &mut self,
        program: &Program,
        lanes: usize,
        linear: &Linear<'_>,
        pull_weights: &mut PullWeights<'_>,
    ) {
        let stride = self.stride;
        for term in &program.terms {
            let at = *term as usize * stride;
            self.slopes[at..at + lanes].iter_mut().for_each(|slope| *slope += 1.0);
        }
        for step in program.steps.iter().rev() {
            let at = step.out as usize * stride;
            let (below, above) = self.slopes.split_at_mut(at);
            let out_slope = &above[..lanes];
            let values = &self.values;
            let value = |register: Register| {
                let at = register as usize * stride;
                &values[at..at + lanes]
            };
            let range = |register: Register| {
                let at = register as usize * stride;
                at..at + lanes
            };
            match &step.op {
                Op::Elementary(f, a, b) => {
                    let (a_value, b_value, out) = (value(*a), value(*b), value(step.out));
                    f.pull_first(a_value, b_value, out, out_slope, &mut below[range(*a)]);
                    if f.arity() == 2 {
                        f.pull_second(a_value, b_value, out, out_slope, &mut below[range(*b)]);
                    }
                }
                Op::Compare(..) => {}
                Op::Choose { index, options } => {
                    for (l, slope) in out_slope.iter().enumerate() {
                        let index = values[*index as usize * stride + l] as usize;
                        below[options[index] as usize * stride + l] += slope;
                    }
                }
                Op::Dot { a, b, len } => {
                    for k in 0..*len {
                        let (a, b) = (a + k, b + k);
                        multiply_add(&mut below[range(a)], out_slope, value(b));
                        multiply_add(&mut below[range(b)], out_slope, value(a));
                    }
                }
                Op::Linear { weights, data } => {
                    pull_weights(*weights, out_slope, (linear.data)(*data));
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
                    let room = &mut self.room;
                    for l in 0..lanes {
                        gather(&op.args, values, stride, l, &mut room.inputs);
                        room.slopes.clear();
                        room.slopes.resize(room.inputs.len(), 0.0);
                        let pick = |from: &[f64], at: usize, out: &mut Vec<f64>| {
                            out.clear();
                            out.extend((0..op.len as usize).map(|k| from[at + k * stride + l]));
                        };
                        pick(values, at, &mut room.outputs);
                        pick(above, 0, &mut room.output_slopes);
                        let inputs = split(&room.inputs, &op.args);
                        let mut slopes = split_mut(&mut room.slopes, &op.args);
                        (op.function.pull)(
                            &inputs,
                            &op.shapes,
                            &room.outputs,
                            &room.output_slopes,
                            &mut slopes,
                        );
                        let registers = op.args.iter().flatten();
                        for (register, slope) in registers.zip(&room.slopes) {
                            below[*register as usize * stride + l] += slope;
                        }
                    }
                }
                Op::Coin { eta, .. } => {
                    multiply_add(&mut below[range(*eta)], out_slope, value(step.out + 1));
                }
                Op::Normal(registers) => {
                    for (k, register) in registers.iter().enumerate() {
                        let slope = value(step.out + 1 + k as u32);
                        multiply_add(&mut below[range(*register)], out_slope, slope);
                    }
                }
                Op::Score { x, args, .. } => {
                    for (k, register) in std::iter::once(x).chain(args.iter()).enumerate() {
                        let slope = value(step.out + 1 + k as u32);
                        multiply_add(&mut below[range(*register)], out_slope, slope);
                    }
                }
                Op::General(op) => {
                    let registers = op.x.iter().chain(op.args.iter().flatten());
                    for (k, register) in registers.enumerate() {
                        let slope = value(step.out + 1 + k as u32);
                        multiply_add(&mut below[range(*register)], out_slope, slope);
                    }
                }
                Op::ValueOnly(_) => debug_assert!(false, "no slopes are asked of such a program"),
            }
        }
    }
}

/// out_l += a_l b_l; a slope of 0 stays without effect even where b is infinite.
fn multiply_add(out: &mut [f64], a: &[f64], b: &[f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out += a * b;
    }
}

fn gather(args: &[Vec<Register>], from: &[f64], stride: usize, l: usize, out: &mut Vec<f64>) {
    out.clear();
    out.extend(args.iter().flatten().map(|register| from[*register as usize * stride + l]));
}

fn split<'a>(mut numbers: &'a [f64], args: &[Vec<Register>]) -> Vec<&'a [f64]> {
    let mut parts = Vec::with_capacity(args.len());
    for arg in args {
        let (part, rest) = numbers.split_at(arg.len());
        parts.push(part);
        numbers = rest;
    }
    parts
}

fn split_mut<'a>(mut numbers: &'a mut [f64], args: &[Vec<Register>]) -> Vec<&'a mut [f64]> {
    let mut parts = Vec::with_capacity(args.len());
    for arg in args {
        let (part, rest) = numbers.split_at_mut(arg.len());
        parts.push(part);
        numbers = rest;
    }
    parts
}

/// The log density of one lane; the derivatives are left in the room's slopes.
fn general(op: &GeneralOp, below: &[f64], stride: usize, l: usize, room: &mut Room) -> f64 {
    let n = op.x.len();
    let registers = op.x.iter().chain(op.args.iter().flatten());
    room.inputs.clear();
    room.inputs.extend(registers.map(|register| below[*register as usize * stride + l]));
    room.slopes.clear();
    room.slopes.resize(room.inputs.len(), 0.0);
    let (x, rest) = room.inputs.split_at(n);
    let args = split(rest, &op.args);
    let (x_slope, rest) = room.slopes.split_at_mut(n);
    let mut slopes = split_mut(rest, &op.args);
    (op.score)(x, &args, x_slope, &mut slopes)
}
