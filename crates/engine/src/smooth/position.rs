//! Where the choices of a block stand, in its coordinates.

use smidgen_prob::Support;
use smidgen_prob::support::TURN;
use smidgen_value::{Matrix, Rng, Value};

use super::{Density, standardise};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::marked::{self, Marked};
use crate::trace::Trace;
use crate::trace::proposal::{Choice, Proposal};

/// The coordinates of one choice.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    pub node: NodeId,
    /// Marked.
    pub value: Value,
    /// The first of them, and how many.
    pub first: usize,
    pub size: usize,
    pub standardised: bool,
    /// Where the first of them stood last.
    pub last: f64,
}

impl Coordinates {
    /// Whether its numbers are coordinates as they are, given how many there are of these.
    pub(super) fn is_plain(&self, dimension: usize) -> bool {
        let is_input = |x: &f64| match marked::read(*x) {
            Marked::Global(register) => (register as usize) < dimension,
            Marked::Local(_) => false,
            Marked::Number(_) => true,
        };
        match &self.value {
            Value::Vector(xs) => xs.iter().all(is_input),
            Value::Number(x) => is_input(x),
            _ => false,
        }
    }
}

impl Density {
    /// The coordinates of the current state; none if a choice lies on the edge of its support.
    pub fn position(&self, trace: &mut Trace) -> Result<Option<Vec<f64>>, EvalError> {
        let mut z = Vec::with_capacity(self.parts.dimension);
        for coordinates in &self.parts.coordinates {
            trace.refresh_arguments(coordinates.node)?;
            if coordinates.standardised {
                match standardise::position(trace, coordinates.node, &mut z) {
                    true => continue,
                    false => return Ok(None),
                }
            }
            let support = Choice { trace, node: coordinates.node }.support()?;
            let value = &trace.node(coordinates.node).value;
            let first = z.len();
            match (&support, value.as_number()) {
                (Support::Circle, Some(angle)) => z.push(lift(angle, coordinates.last)),
                _ => z.extend(support.coordinates(value)),
            }
            if z[first..].iter().any(|z| !z.is_finite()) {
                return Ok(None);
            }
            debug_assert_eq!(z.len() - first, coordinates.size, "refreshed before it is asked");
        }
        Ok(Some(z))
    }

    /// The same where a proposal leads to.
    pub fn position_after(
        &self,
        proposal: &mut Proposal<'_>,
    ) -> Result<Option<Vec<f64>>, EvalError> {
        self.position(proposal.trace)
    }

    /// Coordinates drawn evenly from −`reach` to `reach`; those of choices that were forced are as
    /// they are.
    pub fn scatter(
        &self,
        trace: &mut Trace,
        reach: f64,
        rng: &mut Rng,
    ) -> Result<Vec<f64>, EvalError> {
        let mut z: Vec<f64> =
            (0..self.parts.dimension).map(|_| reach * (2.0 * rng.uniform() - 1.0)).collect();
        let Some(here) = self.position(trace)? else { return Ok(z) };
        for Coordinates { node, first, size, .. } in &self.parts.coordinates {
            if trace.node(*node).forced {
                z[*first..first + size].copy_from_slice(&here[*first..first + size]);
            }
        }
        Ok(z)
    }
}

/// The coordinate of an angle: all its lifts are as good as each other for a trajectory, but one beside the
/// last keeps what is learnt about scales true where a posterior lies across the cut. Not far from 0,
/// so that turns do not add up to a scale of their own.
fn lift(angle: f64, last: f64) -> f64 {
    let lifted = angle + TURN * ((last - angle) / TURN).round();
    if lifted.abs() <= TURN { lifted } else { angle }
}

/// A value of the same form with other numbers.
pub(super) fn with_numbers(value: &Value, number: impl Fn(f64) -> f64) -> Value {
    match value {
        Value::Number(x) => Value::Number(number(*x)),
        Value::Vector(xs) => Value::vector(xs.iter().map(|x| number(*x)).collect::<Vec<_>>()),
        Value::Matrix(m) => {
            let entries = m.as_slice().iter().map(|x| number(*x)).collect();
            Value::matrix(Matrix::new(m.rows(), m.cols(), entries))
        }
        other => other.clone(),
    }
}

/// Whether two values differ in nothing but their numbers.
pub(super) fn is_alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Vector(a), Value::Vector(b)) => a.len() == b.len(),
        (Value::Matrix(a), Value::Matrix(b)) => (a.rows(), a.cols()) == (b.rows(), b.cols()),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_alike(a, b))
        }
        (Value::Pair(a), Value::Pair(b)) => {
            is_alike(&a.first, &b.first) && is_alike(&a.rest, &b.rest)
        }
        (Value::Nil, Value::Nil) => true,
        (a, b) => a.as_number().is_some() && b.as_number().is_some(),
    }
}
