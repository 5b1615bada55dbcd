//! Steps that have a value and no slopes: those of programs that nobody differentiates, such as the weights
//! of candidates. Some of them read leaves that are the same for all lanes where they stand, as
//! [`super::Op::Linear`] does.

use super::call::Call;
use super::predict::Student;
use super::run::Linear;
use super::wide::Wide;
use super::{Op, Program, Register, Source};

#[derive(Clone)]
pub(crate) enum ValueOnly {
    /// Σ_k u_k a_k over so many registers from `a` on, with u a leaf that is the same for all lanes.
    Project {
        uniform: u32,
        a: Register,
        len: u32,
    },
    /// The number that the index names in a leaf that is the same for all lanes; NaN if it names none.
    Pick {
        index: Register,
        uniform: u32,
    },
    Predict(Student),
    Call(Call),
}

/// The lanes at hand: register r of lane l stands at r·stride + l.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub stride: usize,
    pub count: usize,
    pub wide: Wide,
}

impl ValueOnly {
    /// Writes the registers that `above` begins with from those that are `below`.
    pub(super) fn value(
        &self,
        lanes: Lanes,
        below: &[f64],
        above: &mut [f64],
        linear: &Linear<'_>,
    ) {
        let Lanes { stride, count, wide } = lanes;
        let at = |register: Register| register as usize * stride;
        match self {
            ValueOnly::Project { uniform, a, len } => {
                let weights = (linear.weights)(*uniform);
                let data = &below[at(*a)..at(a + len)];
                wide.linear(weights, data, stride, &mut above[..count]);
            }
            ValueOnly::Pick { index, uniform } => {
                let numbers = (linear.weights)(*uniform);
                let indices = &below[at(*index)..at(*index) + count];
                for (out, index) in above.iter_mut().zip(indices) {
                    let is_place = *index >= 0.0 && index.fract() == 0.0;
                    let found = if is_place { numbers.get(*index as usize) } else { None };
                    *out = found.copied().unwrap_or(f64::NAN);
                }
            }
            ValueOnly::Predict(student) => {
                student.value(lanes, (linear.weights)(student.x), below, above);
            }
            ValueOnly::Call(call) => call.value(lanes, below, above),
        }
    }

    pub(super) fn reads(&self, out: &mut Vec<Register>) {
        match self {
            ValueOnly::Project { a, len, .. } => out.extend(*a..a + len),
            ValueOnly::Pick { index, .. } => out.push(*index),
            ValueOnly::Predict(student) => out.extend(student.registers()),
            ValueOnly::Call(call) => call.reads(out),
        }
    }

    pub(super) fn rename(&mut self, name: &dyn Fn(Register) -> Register) {
        match self {
            ValueOnly::Project { a, .. } => *a = name(*a),
            ValueOnly::Pick { index, .. } => *index = name(*index),
            ValueOnly::Predict(student) => student.numbers = name(student.numbers),
            ValueOnly::Call(call) => call.rename(name),
        }
    }

    /// A number for the kind of step; what else tells it from others is added to the key.
    pub(super) fn shape(&self, key: &mut Vec<u64>) -> u64 {
        match self {
            ValueOnly::Project { uniform, .. } => 8 << 32 | u64::from(*uniform),
            ValueOnly::Pick { uniform, .. } => 9 << 32 | u64::from(*uniform),
            ValueOnly::Predict(student) => 10 << 32 | u64::from(student.x),
            ValueOnly::Call(call) => call.shape(key),
        }
    }
}

impl Program {
    pub(crate) fn push_value_only(&mut self, op: ValueOnly, len: u32, spare: u32) -> Register {
        self.push(Op::ValueOnly(Box::new(op)), len + spare)
    }

    /// Lets products with what is the same for all lanes read it where it stands.
    pub(crate) fn project_uniform(&mut self) {
        let uniform = |leaves: &[super::Leaf], register: Register, len: u32| {
            let is_it = |leaf: &super::Leaf| {
                leaf.register == register
                    && leaf.len == len
                    && matches!(leaf.source, Source::Global(_))
            };
            leaves.iter().position(is_it).map(|k| k as u32)
        };
        for step in &mut self.steps {
            let Op::Dot { a, b, len } = step.op else { continue };
            let found = match uniform(&self.leaves, b, len) {
                Some(leaf) => Some((leaf, a)),
                None => uniform(&self.leaves, a, len).map(|leaf| (leaf, b)),
            };
            if let Some((uniform, a)) = found {
                step.op = Op::ValueOnly(Box::new(ValueOnly::Project { uniform, a, len }));
            }
        }
    }
}
