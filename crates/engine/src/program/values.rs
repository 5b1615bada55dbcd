//! The values of a program in lanes that may fail one by one: nothing but values is computed, and a lane where a
//! step has none holds a NaN from there on.

use smallvec::SmallVec;
use smidgen_value::{Rng, Value};

use super::wide::Wide;
use super::{MOST_ARGS, Op, Register, Step};

/// The registers of a lane program: register r of lane l stands at r·lanes + l.
#[derive(Default)]
pub(crate) struct LaneStore {
    numbers: Vec<f64>,
    boxed: Vec<Value>,
    lanes: usize,
    wide: Wide,
    inputs: Vec<f64>,
    outputs: Vec<f64>,
}

impl LaneStore {
    /// Makes room for so many registers in so many lanes. What it held is of no use then.
    pub(crate) fn fit(&mut self, registers: u32, boxed: u32, lanes: usize) {
        self.lanes = lanes;
        let (numbers, boxed) = (registers as usize * lanes, boxed as usize * lanes);
        if self.numbers.len() < numbers {
            self.numbers.resize(numbers, 0.0);
        }
        if self.boxed.len() < boxed {
            self.boxed.resize(boxed, Value::Nil);
        }
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    #[inline]
    pub(crate) fn number(&self, register: Register, lane: usize) -> f64 {
        self.numbers[register as usize * self.lanes + lane]
    }

    #[inline]
    pub(crate) fn put(&mut self, register: Register, lane: usize, x: f64) {
        self.numbers[register as usize * self.lanes + lane] = x;
    }

    /// A register in all lanes.
    #[inline]
    pub(crate) fn row(&self, register: Register) -> &[f64] {
        &self.numbers[register as usize * self.lanes..][..self.lanes]
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, register: Register) -> &mut [f64] {
        &mut self.numbers[register as usize * self.lanes..][..self.lanes]
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
        let (below, above) = self.numbers.split_at_mut(out as usize * lanes);
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

    /// Runs steps in all lanes.
    pub(crate) fn run(&mut self, steps: &[Step]) {
        let lanes = self.lanes;
        for step in steps {
            let (below, above) = self.numbers.split_at_mut(step.out as usize * lanes);
            let at = |register: Register| &below[register as usize * lanes..][..lanes];
            let out = &mut above[..lanes];
            match &step.op {
                Op::Elementary(f, a, b) => f.value(at(*a), at(*b), out),
                Op::Compare(comparison, a, b) => {
                    for ((out, a), b) in out.iter_mut().zip(at(*a)).zip(at(*b)) {
                        *out = f64::from(u8::from(comparison.holds(*a, *b)));
                    }
                }
                Op::Choose { index, options } => {
                    for (l, (out, index)) in out.iter_mut().zip(at(*index)).enumerate() {
                        // No rounding: an index that is no whole number names nothing.
                        let option = options.get(*index as usize);
                        *out = match option.filter(|_| *index >= 0.0 && index.fract() == 0.0) {
                            Some(option) => at(*option)[l],
                            None => f64::NAN,
                        };
                    }
                }
                Op::Dot { a, b, len } => {
                    out.fill(0.0);
                    for k in 0..*len {
                        for ((out, a), b) in out.iter_mut().zip(at(a + k)).zip(at(b + k)) {
                            *out += a * b;
                        }
                    }
                }
                Op::Copy(from) => {
                    for (row, register) in above.chunks_exact_mut(lanes).zip(from.iter()) {
                        row.copy_from_slice(at(*register));
                    }
                }
                Op::Coin { x, eta } => {
                    let (out, slope) = above.split_at_mut(lanes);
                    self.wide.coins(at(*x), at(*eta), out, &mut slope[..lanes]);
                }
                Op::Normal(registers) => {
                    let (out, slopes) = above.split_at_mut(lanes);
                    let (a, slopes) = slopes.split_at_mut(lanes);
                    let (b, c) = slopes.split_at_mut(lanes);
                    self.wide.normals(registers.map(at), out, [a, b, &mut c[..lanes]]);
                }
                Op::Score { score, x, args } => {
                    let (mut arguments, mut slopes) = ([0.0; MOST_ARGS], [0.0; MOST_ARGS + 1]);
                    for (l, out) in out.iter_mut().enumerate() {
                        for (argument, register) in arguments.iter_mut().zip(args.iter()) {
                            *argument = at(*register)[l];
                        }
                        let n = args.len();
                        *out = score(at(*x)[l], &arguments[..n], &mut slopes[..=n]);
                    }
                }
                Op::Aggregate(op) => {
                    for l in 0..lanes {
                        let registers = op.args.iter().flatten();
                        self.inputs.clear();
                        self.inputs.extend(registers.map(|register| at(*register)[l]));
                        let mut inputs = Vec::with_capacity(op.args.len());
                        let mut rest = &self.inputs[..];
                        for arg in &op.args {
                            let (part, after) = rest.split_at(arg.len());
                            inputs.push(part);
                            rest = after;
                        }
                        self.outputs.clear();
                        self.outputs.resize(op.len as usize, 0.0);
                        if !(op.function.value)(&inputs, &op.shapes, &mut self.outputs) {
                            self.outputs.fill(f64::NAN);
                        }
                        for (k, x) in self.outputs.iter().enumerate() {
                            above[k * lanes + l] = *x;
                        }
                    }
                }
                Op::Linear { .. } | Op::General(_) => {
                    unreachable!("lanes are not rows of a table, and laws of vectors are called")
                }
            }
        }
    }
}
