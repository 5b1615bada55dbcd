//! What can follow what in a chain, and with which probabilities.

use smallvec::SmallVec;
use smidgen_prob::Distribution;
use smidgen_value::{ArgumentError, Value};

use super::forward_backward::{Columns, ForwardBackward, Weighed};
use super::path_plan::Argument;
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;

/// A step with more values is left to others.
const MOST_VALUES: usize = 16;

/// The arguments of a choice.
type Row = SmallVec<[Value; 2]>;
type AllRows = SmallVec<[Option<Row>; 4]>;

/// What follows which arguments, as it was listed last: in most chains every step is alike.
#[derive(Default)]
pub(super) struct Known {
    distribution: Option<&'static dyn Distribution>,
    rows: AllRows,
    values: Vec<Value>,
    log_weights: Vec<f64>,
}

impl Known {
    fn is_for(&self, distribution: &'static dyn Distribution, rows: &[Option<Row>]) -> bool {
        let same_row = |a: &Row, b: &Row| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_identical(b))
        };
        self.distribution.is_some_and(|known| known.spec().name == distribution.spec().name)
            && self.rows.len() == rows.len()
            && self.rows.iter().zip(rows).all(|(known, row)| match (known, row) {
                (Some(known), Some(row)) => same_row(known, row),
                (known, row) => known.is_none() && row.is_none(),
            })
    }
}

impl ForwardBackward<'_> {
    /// −∞, or None, for what has left a domain; any other mistake is one of the program.
    fn forgiven<T>(
        &self,
        (node, name): (NodeId, &'static str),
        result: Result<T, ArgumentError>,
    ) -> Result<Option<T>, EvalError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                let span = self.trace.node(node).origin;
                let error = self.trace.argument_error(name, error, span);
                if error.rejects() { Ok(None) } else { Err(error) }
            }
        }
    }

    fn log_density(
        &self,
        node: NodeId,
        distribution: &'static dyn Distribution,
        x: &Value,
        args: &[&Value],
    ) -> Result<f64, EvalError> {
        let log_p =
            self.forgiven((node, distribution.spec().name), distribution.log_density(x, args))?;
        let log_p = log_p.unwrap_or(f64::NEG_INFINITY);
        if log_p.is_nan() {
            let procedure = distribution.spec().name.to_owned();
            let mistake = Mistake::NotANumber { procedure, value: x.clone() };
            return Err(EvalError::new(mistake, self.trace.node(node).origin));
        }
        Ok(log_p)
    }

    /// The arguments of the choice of step t after value j of the step before; None if that is impossible.
    fn arguments(&self, t: usize, j: usize) -> Option<Row> {
        let (plan, Columns { numbers, boxed, alive }) = (self.plan, &self.room.before);
        let lanes = alive.len();
        let argument = |argument: &Argument| match argument {
            Argument::Uniform(place) => Some(plan.inputs.value(*place).clone()),
            Argument::Before(node) => plan
                .library
                .of(&plan.parts[t - 1].here)
                .value(*node, &|column| numbers[column as usize * lanes + j], &|column| {
                    boxed[column as usize * lanes + j].clone()
                })
                .filter(|_| alive[j]),
        };
        plan.parts[t].arguments.iter().map(argument).collect()
    }

    /// The values of step t, and the probabilities with which they follow those before.
    pub fn values(&mut self, t: usize, rows: usize) -> Result<bool, EvalError> {
        let part = &self.plan.parts[t];
        let mut weighed = std::mem::take(&mut self.room.steps[t]);
        weighed.values.clear();
        weighed.log_weights.clear();
        let varies = part.arguments.iter().any(|arg| matches!(arg, Argument::Before(_)));
        let distinct = if varies { rows } else { 1 };
        let rows_of_args: AllRows = (0..distinct).map(|j| self.arguments(t, j)).collect();
        if self.room.known.is_for(part.distribution, &rows_of_args) {
            weighed.values.clone_from(&self.room.known.values);
            weighed.log_weights.clone_from(&self.room.known.log_weights);
        } else {
            if !self.list(part.choice, part.distribution, &rows_of_args, &mut weighed)? {
                return Ok(false);
            }
            self.room.known = Known {
                distribution: Some(part.distribution),
                rows: rows_of_args,
                values: weighed.values.clone(),
                log_weights: weighed.log_weights.clone(),
            };
        }
        for _ in distinct..rows {
            weighed.log_weights.extend_from_within(..weighed.values.len());
        }
        self.room.steps[t] = weighed;
        Ok(true)
    }

    /// All that can follow, and how probable it is after each row of arguments.
    fn list(
        &self,
        node: NodeId,
        distribution: &'static dyn Distribution,
        rows: &[Option<Row>],
        weighed: &mut Weighed,
    ) -> Result<bool, EvalError> {
        for args in rows.iter().flatten() {
            let args: SmallVec<[&Value; 4]> = args.iter().collect();
            let listed =
                self.forgiven((node, distribution.spec().name), distribution.enumerate(&args))?;
            let Some(values) = listed.unwrap_or_else(|| Some(Vec::new())) else { return Ok(false) };
            for value in values {
                if weighed.values.contains(&value) {
                    continue;
                }
                if weighed.values.len() == MOST_VALUES {
                    return Ok(false);
                }
                weighed.values.push(value);
            }
        }
        for args in rows {
            let args: Option<SmallVec<[&Value; 4]>> =
                args.as_ref().map(|args| args.iter().collect());
            for value in &weighed.values {
                let log_p = match &args {
                    Some(args) => self.log_density(node, distribution, value, args)?,
                    None => f64::NEG_INFINITY,
                };
                weighed.log_weights.push(log_p);
            }
        }
        Ok(true)
    }
}
