//! Values that paths move choices to: ordinary ones and those at the ends of doubles.

use smidgen_engine::node::Op;
use smidgen_engine::{Choice, EvalError, NodeId, Proposed, Proposer, Trace};
use smidgen_prob::{Support, correlation};
use smidgen_value::{Rng, Value, math};

/// Scales and rates far from 1, and numbers far from 0.
const POSITIVE: [f64; 6] = [1e-150, 1e150, 1e-12, 1e12, 1e-300, 1e5];
const REAL: [f64; 8] = [1e-150, -1e150, 1e5, -40.0, 300.0, -800.0, 0.0, 1e9];
const UNIT: [f64; 5] = [1e-300, 1e-12, 0.5, 1.0 - 1e-12, 1.0 - 1e-16];

/// A choice and the value that it is to take.
#[derive(Clone, Debug)]
pub struct Target {
    pub node: NodeId,
    pub value: Value,
}

/// A step with a standard deviation of about 1.
pub fn step(rng: &mut Rng) -> f64 {
    2.5 * (rng.uniform() + rng.uniform() - 1.0)
}

/// How often a value is an extreme one: one time in so many.
const EXTREME: usize = 4;

/// Another value for a choice; none if it has to be drawn from its prior: a draw from a made procedure, or a choice without an
/// easy support.
pub fn other_value(trace: &mut Trace, node: NodeId, rng: &mut Rng) -> Option<Value> {
    if !matches!(trace.node(node).op, Op::Random(_)) {
        return None;
    }
    let choice = trace.choice(node).ok()?;
    let (support, current) = (choice.support().ok()?, choice.current().clone());
    let is_extreme = rng.below(EXTREME) == 0;
    let x = current.as_number();
    let number = match (&support, x) {
        (Support::Reals, Some(_)) if is_extreme => REAL[rng.below(REAL.len())],
        (Support::Reals, Some(x)) => x + step(rng),
        (Support::Interval { low: 0.0, high }, Some(_)) if is_extreme && !high.is_finite() => {
            POSITIVE[rng.below(POSITIVE.len())]
        }
        (Support::Interval { low, high }, Some(_)) if is_extreme && (*low, *high) == (0.0, 1.0) => {
            UNIT[rng.below(UNIT.len())]
        }
        (Support::Interval { low, high }, Some(x)) => match (low.is_finite(), high.is_finite()) {
            (true, true) => low + (high - low) * rng.uniform(),
            (true, false) => low + (x - low) * math::exp(step(rng)),
            _ => return None,
        },
        (Support::Circle, Some(_)) => 3.0 * (2.0 * rng.uniform() - 1.0),
        (Support::Vectors { .. }, None) => {
            let moved = current.to_reals()?.iter().map(|x| x + step(rng)).collect::<Vec<_>>();
            return Some(Value::vector(moved));
        }
        (Support::Simplex { .. }, None) => {
            let weights = current.to_reals()?;
            let weights: Vec<f64> =
                weights.iter().map(|w| w * math::exp(step(rng)) + 1e-3).collect();
            let total: f64 = weights.iter().sum();
            return Some(Value::vector(weights.iter().map(|w| w / total).collect::<Vec<_>>()));
        }
        (Support::Ordered { .. }, None) => {
            let shift = step(rng);
            let stretch = math::exp(step(rng));
            let moved = current.to_reals()?.iter().map(|x| shift + stretch * x).collect::<Vec<_>>();
            return Some(Value::vector(moved));
        }
        (Support::Correlation { size }, None) => {
            let y: Vec<f64> = (0..correlation::dimension(*size)).map(|_| step(rng)).collect();
            return Some(correlation::at(&y, *size, correlation::Form::Matrix).0);
        }
        (Support::CorrelationFactor { size }, None) => {
            let y: Vec<f64> = (0..correlation::dimension(*size)).map(|_| step(rng)).collect();
            return Some(correlation::at(&y, *size, correlation::Form::Factor).0);
        }
        (Support::Integers { .. } | Support::Booleans | Support::Finite(_), _) => {
            let values = choice.enumerate().ok()?;
            return Some(values[rng.below(values.len())].clone());
        }
        _ => return None,
    };
    Some(Value::Number(number))
}

/// Gives every choice its target, as if by a symmetric walk.
pub struct Toward<'a>(pub &'a [Target]);

impl Proposer for Toward<'_> {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(true)
    }

    fn propose(&mut self, choice: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        let found = self.0.iter().find(|target| target.node == choice.node);
        let value = found.map_or_else(|| choice.current().clone(), |target| target.value.clone());
        Ok(Proposed::Local { value, log_q_ratio: 0.0 })
    }
}
