//! Steps of the search for a start: away from where a choice is, on any scale.
//!
//! A number takes a step ±10^u (1 + |x|), u uniform between −3 and 2, so that what lies far out in
//! the prior is come to as well as what lies near. In an interval the distance to a finite end is
//! multiplied by e^step instead. Whole numbers step likewise by at least one, and of finitely many
//! values any is as good as any other. What cannot walk, and every third step of what can, is drawn
//! from the prior.
//!
//! This is a search, not a kernel: nothing makes up for the way steps are drawn.

use smidgen_prob::Support;
use smidgen_value::{Rng, Value, math};

use crate::error::EvalError;
use crate::trace::proposal::{Choice, Proposed, Proposer};

const SMALLEST: f64 = -3.0;
const LARGEST: f64 = 2.0;

/// A proposer of one such step; a new one for every move.
pub(super) struct Wander {
    walks: bool,
}

impl Wander {
    pub fn new(rng: &mut Rng) -> Wander {
        Wander { walks: rng.below(3) > 0 }
    }
}

impl Proposer for Wander {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        if !self.walks {
            return Ok(false);
        }
        Ok(choice.support().is_ok_and(|support| {
            matches!(
                (support, choice.current()),
                (
                    Support::Reals | Support::Interval { .. } | Support::Integers { .. },
                    Value::Number(_)
                ) | (Support::Vectors { .. }, Value::Vector(_))
                    | (Support::Booleans, Value::Bool(_))
                    | (Support::Finite(_), _)
            )
        }))
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        if !self.walks {
            return Ok(Proposed::Prior);
        }
        let value = match (choice.support()?, choice.current()) {
            (Support::Reals, Value::Number(x)) => Value::Number(x + step(rng) * (1.0 + x.abs())),
            (Support::Interval { low, high }, Value::Number(x)) => {
                Value::Number(in_interval(*x, (low, high), rng))
            }
            (Support::Integers { low, high }, Value::Number(x)) => {
                let by = step(rng) * (1.0 + x.abs());
                let by = if by < 0.0 { by.floor() } else { by.ceil() };
                Value::Number((x + by).clamp(low, high))
            }
            (Support::Vectors { .. }, Value::Vector(xs)) if !xs.is_empty() => {
                let mut moved = xs.to_vec();
                let k = rng.below(moved.len());
                moved[k] += step(rng) * (1.0 + moved[k].abs());
                Value::vector(moved)
            }
            (Support::Booleans, Value::Bool(x)) => Value::Bool(!x),
            (Support::Finite(values), _) if !values.is_empty() => {
                values[rng.below(values.len())].clone()
            }
            _ => return Ok(Proposed::Prior),
        };
        Ok(Proposed::Local { value, log_q_ratio: 0.0 })
    }
}

/// ±10^u.
fn step(rng: &mut Rng) -> f64 {
    let size = math::exp((SMALLEST + (LARGEST - SMALLEST) * rng.uniform()) * math::ln(10.0));
    if rng.uniform() < 0.5 { -size } else { size }
}

fn in_interval(x: f64, (low, high): (f64, f64), rng: &mut Rng) -> f64 {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => low + (high - low) * rng.uniform(),
        (true, false) => low + (x - low) * math::exp(step(rng)),
        (false, true) => high - (high - x) * math::exp(step(rng)),
        (false, false) => x + step(rng) * (1.0 + x.abs()),
    }
}
