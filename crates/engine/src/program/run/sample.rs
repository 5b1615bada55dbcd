//! Draws from a program: the outcome of every density is drawn anew from its law, given what was computed and drawn before.

use smidgen_prob::law;
use smidgen_prob::smooth::Shape;
use smidgen_value::{Matrix, Rng, Value};

use super::{Linear, Store, gather, split};
use crate::program::{DensityOp, Op, Program, marked};

/// Something that could not be drawn: an argument out of its domain, or an outcome of another form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Undrawn;

impl Store {
    /// Computes the steps in order; a density writes what its law draws over its outcome, lane by lane.
    pub(crate) fn sample(
        &mut self,
        program: &Program,
        lanes: usize,
        linear: &Linear<'_>,
        rng: &mut Rng,
    ) -> Result<(), Undrawn> {
        for step in &program.steps {
            match &step.op {
                Op::Density(op) => self.draw(op, lanes, rng)?,
                Op::Elementary(..)
                | Op::Compare(..)
                | Op::Choose { .. }
                | Op::Dot { .. }
                | Op::Linear { .. }
                | Op::Copy(_)
                | Op::Aggregate(_)
                | Op::ValueOnly(_) => {
                    if !self.step(step, lanes, linear) {
                        return Err(Undrawn);
                    }
                }
            }
        }
        Ok(())
    }

    fn draw(&mut self, op: &DensityOp, lanes: usize, rng: &mut Rng) -> Result<(), Undrawn> {
        let mut numbers = Vec::new();
        for l in 0..lanes {
            gather(op.args().iter(), &self.values, self.stride, l, &mut numbers);
            let args = arguments(op, &numbers);
            let args: Vec<&Value> = args.iter().collect();
            let drawn = op.law.sample(&args, rng).map_err(|_| Undrawn)?;
            numbers.clear();
            if !marked::plain_numbers(&drawn, &mut numbers) || numbers.len() != op.outcome {
                return Err(Undrawn);
            }
            for (register, x) in op.x().iter().zip(&numbers) {
                self.put(*register, l, *x);
            }
        }
        Ok(())
    }
}

/// The arguments as values of the language.
fn arguments(op: &DensityOp, numbers: &[f64]) -> Vec<Value> {
    let parts = split(numbers, op.lens());
    let value = |(k, (part, shape)): (usize, (&&[f64], &Shape))| match op.linked {
        Some(linked) if linked.place == k => {
            let mut items = part.iter().map(|eta| Value::Linked(linked.link, *eta));
            match shape {
                Shape::Number => items.next().unwrap_or_default(),
                _ => Value::array(items.collect()),
            }
        }
        _ => match shape {
            Shape::Number => Value::Number(part[0]),
            Shape::Vector(_) => Value::vector(part.to_vec()),
            Shape::Matrix(rows, cols) => Value::matrix(Matrix::new(*rows, *cols, part.to_vec())),
            Shape::Law => {
                law::numbered(part[0]).map_or(Value::Nil, |law| Value::symbol(law.spec().name))
            }
        },
    };
    parts.iter().zip(&op.shapes).enumerate().map(value).collect()
}
