//! One section node by node: the values of its deterministic nodes on both sides of a move, and what absorbs.

use smallvec::SmallVec;
use smidgen_value::{ArgumentError, Value};

use super::Evaluator;
use super::component::is_deterministic;
use super::evaluate::BeforeAfter;
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::{Node, Op};

/// The two sides of a move.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    Before,
    After,
}

impl Evaluator {
    /// Computes the deterministic nodes of the section. False if one cannot be computed after
    /// the move.
    pub(super) fn compute_local(&mut self, trace: &Trace) -> Result<bool, EvalError> {
        for k in 0..self.component.nodes.len() {
            let id = self.component.nodes[k];
            if is_deterministic(trace.node(id)) {
                let moved = self.compute(trace, id)?;
                if moved.after.is_none() {
                    return Ok(false);
                }
                self.local.push(moved);
            }
        }
        Ok(true)
    }

    pub(super) fn compute(&self, trace: &Trace, id: NodeId) -> Result<BeforeAfter, EvalError> {
        let node = trace.node(id);
        let before = self.follow(trace, id, Side::Before)?.ok_or_else(|| {
            let message = "a value of the current state cannot be computed";
            EvalError::other(node.origin, message)
        })?;
        let after = match self.follow(trace, id, Side::After) {
            Ok(after) => after,
            Err(error) if error.rejects() => None,
            Err(error) => return Err(error),
        };
        Ok(BeforeAfter { node: id, before, after })
    }

    /// The value of a deterministic node on one side; none if an argument has none.
    pub(super) fn follow(
        &self,
        trace: &Trace,
        id: NodeId,
        side: Side,
    ) -> Result<Option<Value>, EvalError> {
        let node = trace.node(id);
        match self.arguments(trace, node, side) {
            Some(args) => trace.follow(id, &args).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn arguments<'a>(
        &'a self,
        trace: &'a Trace,
        node: &'a Node,
        side: Side,
    ) -> Option<SmallVec<[&'a Value; 4]>> {
        node.args.iter().map(|arg| self.seen(trace, &arg.operand, side)).collect()
    }

    #[inline]
    fn seen<'a>(&'a self, trace: &'a Trace, operand: &'a Operand, side: Side) -> Option<&'a Value> {
        let id = match operand {
            Operand::Constant(value) => return Some(value),
            Operand::Node(id) => *id,
        };
        match (self.find(id), side) {
            (None, _) => Some(&trace.node(id).value),
            (Some(moved), Side::Before) => Some(&moved.before),
            (Some(moved), Side::After) => moved.after.as_ref(),
        }
    }

    /// Σ log p(x | after) − log p(x | before). −∞ if the move makes a value impossible, +∞ if
    /// only the current state does.
    pub(super) fn absorb(&self, trace: &Trace) -> Result<f64, EvalError> {
        let (mut log_after, mut log_before) = (0.0, 0.0);
        for id in &self.absorbing {
            let log_p = match self.log_density(trace, *id, Side::After) {
                Err(error) if error.rejects() => f64::NEG_INFINITY,
                log_p => log_p?,
            };
            if log_p == f64::NEG_INFINITY {
                return Ok(f64::NEG_INFINITY);
            }
            log_after += log_p;
            log_before += self.log_density(trace, *id, Side::Before)?;
        }
        if log_before == f64::NEG_INFINITY {
            return Ok(f64::INFINITY);
        }
        Ok(log_after - log_before)
    }

    fn log_density(&self, trace: &Trace, id: NodeId, side: Side) -> Result<f64, EvalError> {
        let node = trace.node(id);
        let Some(args) = self.arguments(trace, node, side) else { return Ok(f64::NEG_INFINITY) };
        let x = &node.value;
        let (name, result): (&'static str, Result<f64, ArgumentError>) = match &node.op {
            Op::Random(distribution) => {
                (distribution.spec().name, distribution.log_density(x, &args))
            }
            Op::Maker(made) => {
                let result = match made.maker.latent() {
                    Some(latent) => latent.log_density(x, &args),
                    None => {
                        made.maker.check(&args).and_then(|()| made.statistics.log_marginal(&args))
                    }
                };
                (made.maker.spec().name, result)
            }
            _ => unreachable!("only random choices and makers absorb"),
        };
        match result {
            Ok(log_p) if log_p.is_nan() => Err(EvalError::new(
                Mistake::NotANumber { procedure: name.to_owned(), value: x.clone() },
                node.origin,
            )),
            Ok(log_p) => Ok(log_p),
            Err(error) => Err(trace.argument_error(name, error, node.origin)),
        }
    }
}
