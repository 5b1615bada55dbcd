//! The value of a program: no derivative is computed.

use smidgen_prob::{Family, Score};
use smidgen_value::Link;

use super::categorical::Weights;
use super::{Block, Linear, Parts, Room, SharedSoFar, Store, gather, split};
use crate::program::density::MOST_ARGS;
use crate::program::value_only::Lanes;
use crate::program::wide::Wide;
use crate::program::{AggregateOp, DensityOp, Op, Program, Register, Step};

/// Where a step reads and writes.
pub(super) struct Registers<'s> {
    /// Everything before its own registers.
    pub below: &'s [f64],
    /// From its own registers on.
    pub above: &'s mut [f64],
    pub stride: usize,
    pub lanes: usize,
}

impl Store {
    /// Σ of the terms over the lanes; −∞ if something cannot be computed, which leaves the other lanes as they are.
    pub(crate) fn value(&mut self, program: &Program, lanes: usize, linear: &Linear<'_>) -> f64 {
        match self.run(program, lanes, linear) {
            true => self.total(program, lanes),
            false => f64::NEG_INFINITY,
        }
    }

    /// Computes all steps. False if one is impossible in some lane, see [`Store::step`].
    pub(crate) fn run(&mut self, program: &Program, lanes: usize, linear: &Linear<'_>) -> bool {
        let mut is_possible = true;
        for step in &program.steps {
            is_possible &= self.step(step, lanes, linear);
        }
        is_possible
    }

    /// Computes a step. False if it is impossible in some lane, or cannot be computed there, which leaves a NaN.
    #[inline]
    pub(crate) fn step(&mut self, step: &Step, lanes: usize, linear: &Linear<'_>) -> bool {
        let stride = self.stride;
        let (below, above) = self.values.split_at_mut(step.out as usize * stride);
        let at = |register: Register| {
            let at = register as usize * stride;
            &below[at..at + lanes]
        };
        let out = &mut above[..lanes];
        let mut is_possible = true;
        match &step.op {
            Op::Elementary(f, a, b) => self.wide.elementary(*f, at(*a), at(*b), out),
            Op::Compare(comparison, a, b) => {
                for ((out, a), b) in out.iter_mut().zip(at(*a)).zip(at(*b)) {
                    *out = f64::from(u8::from(comparison.holds(*a, *b)));
                }
            }
            Op::Choose { index, options } => {
                for (l, (out, index)) in out.iter_mut().zip(at(*index)).enumerate() {
                    match options.get(*index as usize) {
                        // What is no whole number names nothing.
                        Some(option) if *index >= 0.0 && index.fract() == 0.0 => {
                            *out = below[*option as usize * stride + l]
                        }
                        _ => (*out, is_possible) = (f64::NAN, false),
                    }
                }
            }
            Op::Dot { a, b, len } if stride == 1 => {
                let range = |first: Register| &below[first as usize..][..*len as usize];
                out[0] = self.wide.dot(range(*a), range(*b));
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
                    Block::Together(data) => self.wide.linear_together(weights, data, out),
                    Block::Rows(rows, pick) => self.wide.linear_rows(weights, rows, pick, out),
                }
            }
            Op::Copy(from) if stride == 1 => {
                for (above, register) in above.iter_mut().zip(from) {
                    *above = below[*register as usize];
                }
            }
            Op::Copy(from) => {
                for (k, register) in from.iter().enumerate() {
                    above[k * stride..k * stride + lanes].copy_from_slice(at(*register));
                }
            }
            Op::Aggregate(op) => {
                let mut registers = Registers { below, above, stride, lanes };
                return aggregate(op, &mut registers, &mut self.room);
            }
            Op::Density(op) => {
                let mut registers = Registers { below, above, stride, lanes };
                return density(op, &mut registers, self.wide, &mut self.room);
            }
            Op::ValueOnly(op) => {
                let lanes = Lanes { stride, count: lanes, wide: self.wide };
                op.value(lanes, below, above, linear);
            }
        }
        is_possible
    }
}

fn aggregate(op: &AggregateOp, registers: &mut Registers<'_>, room: &mut Room) -> bool {
    let stride = registers.stride;
    let mut is_possible = true;
    for l in 0..registers.lanes {
        gather(op.args.iter().flatten(), registers.below, stride, l, &mut room.inputs);
        let inputs = split(&room.inputs, op.args.iter().map(Vec::len));
        room.outputs.clear();
        room.outputs.resize(op.len as usize, 0.0);
        if !(op.function.value)(&inputs, &op.shapes, &mut room.outputs) {
            room.outputs.fill(f64::NAN);
            is_possible = false;
        }
        for (k, x) in room.outputs.iter().enumerate() {
            registers.above[k * stride + l] = *x;
        }
    }
    is_possible
}

fn density(op: &DensityOp, r: &mut Registers<'_>, wide: Wide, room: &mut Room) -> bool {
    let (below, stride, lanes) = (r.below, r.stride, r.lanes);
    let at = |register: Register| {
        let at = register as usize * stride;
        &below[at..at + lanes]
    };
    let out = &mut r.above[..lanes];
    match (op.family(), &op.registers[..]) {
        ((Family::Coin, Some(Link::LogOdds)), [x, eta]) => wide.log_coins(at(*x), at(*eta), out),
        ((Family::Normal, None), [x, mean, sd]) => {
            wide.log_normals([*x, *mean, *sd].map(at), out);
        }
        ((Family::Normal, Some(Link::Log)), [x, mean, log_sd]) => {
            wide.log_normals_by_log([*x, *mean, *log_sd].map(at), out);
        }
        ((Family::Student, Some(Link::Log)), [x, df, location, log_scale]) => {
            wide.log_students(at(*x), [*df, *location, *log_scale].map(at), out);
            let mut so_far = SharedSoFar::default();
            let shared = op.shared.as_ref().expect("what hangs on the degrees of freedom alone");
            for (out, df) in out.iter_mut().zip(at(*df)).filter(|(out, _)| out.is_finite()) {
                *out += so_far.at(shared, *df)[0];
            }
        }
        ((Family::Poisson, Some(Link::Log)), [x, log_rate]) => {
            wide.log_poissons_by_log([*x, *log_rate].map(at), out);
        }
        ((Family::Categorical, link), [x, registers @ ..]) if op.outcome == 1 => {
            let weights = Weights { below, stride, lanes, registers, link };
            weights.log_shares(at(*x), out, &mut room.outputs);
        }
        _ => return one_by_one(op, r, room),
    }
    true
}

/// The log density in one lane after the other.
fn one_by_one(op: &DensityOp, r: &mut Registers<'_>, room: &mut Room) -> bool {
    let mut is_possible = true;
    match op.score {
        Score::Scalar(score) => {
            let mut numbers = [0.0; MOST_ARGS + 1];
            let numbers = &mut numbers[..op.registers.len()];
            let mut so_far = SharedSoFar::default();
            for l in 0..r.lanes {
                for (number, register) in numbers.iter_mut().zip(&op.registers) {
                    *number = r.below[*register as usize * r.stride + l];
                }
                let (x, args) = (numbers[0], &numbers[1..]);
                r.above[l] = match &op.shared {
                    None => score(x, args, &mut []),
                    Some(shared) => match (shared.rest)(x, args, &mut []) {
                        f64::NEG_INFINITY => f64::NEG_INFINITY,
                        rest => so_far.at(shared, args[shared.place])[0] + rest,
                    },
                };
                is_possible &= r.above[l] != f64::NEG_INFINITY;
            }
        }
        Score::General(score) => {
            for l in 0..r.lanes {
                gather(op.registers.iter(), r.below, r.stride, l, &mut room.inputs);
                let (x, rest) = room.inputs.split_at(op.outcome);
                let args = split(rest, op.lens());
                let mut nothing: Parts<&mut [f64]> = args.iter().map(|_| &mut [][..]).collect();
                r.above[l] = score(x, &args, &mut [], &mut nothing);
                is_possible &= r.above[l] != f64::NEG_INFINITY;
            }
        }
    }
    is_possible
}
