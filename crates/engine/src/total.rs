//! Whether a node has a value whatever its arguments may become: no index out of range, no negative standard deviation. A program that stops
//! with an error counts as impossible, so what may stop is something that is observed, in a way: [`crate::idle`].
//!
//! The answer hangs on procedures and edges, not on values; in doubt it is no. Which numbers a distribution admits is found
//! by asking it.

use smidgen_prob::smooth::{self, Smooth};
use smidgen_prob::{Distribution, Support};
use smidgen_value::Value;

use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::lower;
use crate::trace::Trace;
use crate::trace::node::Op;

/// Procedures that have a value for all arguments of the types that they were seen with.
const TOTAL: &[&str] = &[
    "+",
    "-",
    "*",
    "negate",
    "exp",
    "expm1",
    "logistic",
    "log_logistic",
    "linear_logistic",
    "abs",
    "signum",
    "floor",
    "ceil",
    "round",
    "min",
    "max",
    "square",
    "sin",
    "cos",
    "tan",
    "atan2",
    "hypot",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "!=",
    "not",
    "xor",
    "all_p",
    "any_p",
    "list",
    "pair",
    "array",
    "vector",
    "to_list",
    "to_array",
    "to_vector",
    "size",
    "is_empty",
    "sum",
    "mean",
    "dot",
    "scale_vector",
    "vector_add",
    "biplex",
    "real",
    "logsumexp",
    "append",
    "reverse",
    "contains",
    "matrix_times_vector",
    "matrix_add",
    "unique",
];

/// Expressions that are followed upwards at most.
const DEPTH: usize = 6;

/// Which numbers an argument may be.
#[derive(Clone, Copy, PartialEq)]
enum Range {
    Any,
    Positive,
    Unit,
    Unknown,
}

/// Whether a procedure has a value for all arguments of the types that it was seen with.
pub(crate) fn is_total_procedure(name: &str) -> bool {
    TOTAL.contains(&name)
}

/// The same where NaN is a value: numbers have a logarithm.
pub(crate) fn never_stops(name: &str) -> bool {
    let is_elementary =
        matches!(smooth::find(name), Some(Smooth::Elementary(_) | Smooth::Chain(_)));
    is_elementary || is_total_procedure(name)
}

impl Trace {
    /// See [`mod@self`].
    pub(crate) fn is_total(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let operand = |k: usize| &node.args[k].operand;
        match &node.op {
            Op::Function(function) => match function.spec.name {
                name if is_total_procedure(name) => true,
                "log" | "sqrt" | "log1p" => self.lies_in(operand(0), Range::Positive, DEPTH),
                "/" | "pow" => {
                    let k = if function.spec.name == "/" { node.args.len() - 1 } else { 0 };
                    self.lies_in(operand(k), Range::Positive, DEPTH)
                }
                "lookup" => self.is_index(operand(1), operand(0)),
                _ => false,
            },
            Op::Random(distribution) => self.admits_arguments(id, *distribution),
            _ => true,
        }
    }

    /// Whether a function may stop for some values of its arguments. Elementary ones do not: a logarithm of a negative
    /// number is NaN. Those that arrange what they are given do not where nothing random decides how.
    pub(crate) fn may_stop(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let Op::Function(function) = &node.op else { return false };
        let name = function.spec.name;
        let is_fixed = |k: &usize| node.args.get(*k).is_none_or(|arg| arg.operand.node().is_none());
        let arranges =
            || lower::arranges(name) && lower::deciding_arguments(name).iter().all(is_fixed);
        let finds =
            || name == "lookup" && self.is_index(&node.args[1].operand, &node.args[0].operand);
        !(never_stops(name) || arranges() || finds())
    }

    /// Whether a distribution has a meaning for all values that its arguments may have.
    fn admits_arguments(&self, id: NodeId, distribution: &dyn Distribution) -> bool {
        let args = &self.node(id).args;
        (0..args.len()).all(|k| match &args[k].operand {
            Operand::Constant(_) => true,
            operand if distribution.spec().name == "categorical" && k == 0 => {
                self.are_weights(operand)
            }
            _ if distribution.support_arguments().contains(&k) => false,
            operand => match self.range_of(id, distribution, k) {
                Range::Any => true,
                Range::Unknown => false,
                range => self.lies_in(operand, range, DEPTH),
            },
        })
    }

    /// Which numbers a distribution admits as its argument k.
    fn range_of(&self, id: NodeId, distribution: &dyn Distribution, k: usize) -> Range {
        if self.settled_value(&self.node(id).args[k].operand).as_number().is_none() {
            return Range::Unknown;
        }
        let x = &self.node(id).value;
        let admits = |number: f64| {
            let number = Value::Number(number);
            self.with_args(id, |args| {
                let mut args = args.to_vec();
                args[k] = &number;
                distribution.log_density(x, &args).is_ok()
            })
        };
        match (admits(0.5), admits(1e6), admits(-1e6)) {
            (true, true, true) => Range::Any,
            (true, true, false) if admits(1e-6) => Range::Positive,
            (true, false, false) if admits(1e-6) => Range::Unit,
            _ => Range::Unknown,
        }
    }

    /// Whether an operand lies in a range whatever it hangs on.
    fn lies_in(&self, operand: &Operand, range: Range, depth: usize) -> bool {
        let id = match operand {
            Operand::Constant(value) => {
                return value.as_number().is_some_and(|x| match range {
                    Range::Unit => (0.0..=1.0).contains(&x),
                    _ => x > 0.0,
                });
            }
            Operand::Node(id) => *id,
        };
        if depth == 0 {
            return false;
        }
        let args = &self.node(id).args;
        let all = || args.iter().all(|arg| self.lies_in(&arg.operand, range, depth - 1));
        let positive = range == Range::Positive;
        match &self.node(id).op {
            Op::Random(distribution) if distribution.support_arguments().is_empty() => {
                match self.with_args(id, |args| distribution.support(args)) {
                    Ok(Support::Interval { low, high }) => low >= 0.0 && (positive || high <= 1.0),
                    Ok(Support::Booleans) => !positive,
                    _ => false,
                }
            }
            Op::Function(function) => match function.spec.name {
                "logistic" | "linear_logistic" => true,
                "exp" | "abs" | "square" => positive,
                "sqrt" | "*" => all(),
                "+" | "/" | "max" | "hypot" => positive && all(),
                "<" | "<=" | ">" | ">=" | "=" | "!=" | "not" => !positive,
                "-" => {
                    let from_one = args.len() == 2
                        && args[0].operand.constant().and_then(Value::as_number) == Some(1.0);
                    !positive && from_one && self.lies_in(&args[1].operand, range, depth - 1)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an operand holds weights: a point of a simplex, or numbers that are not negative.
    fn are_weights(&self, operand: &Operand) -> bool {
        let Operand::Node(id) = operand else { return true };
        let node = self.node(*id);
        let weighs = |operand: &Operand| {
            [Range::Positive, Range::Unit].iter().any(|range| self.lies_in(operand, *range, DEPTH))
        };
        match &node.op {
            Op::Random(distribution) => {
                let support = self.with_args(*id, |args| distribution.support(args));
                matches!(support, Ok(Support::Simplex { .. }))
            }
            Op::Function(function) => {
                matches!(function.spec.name, "array" | "vector" | "list")
                    && node.args.iter().all(|arg| weighs(&arg.operand))
            }
            _ => false,
        }
    }

    /// Whether an operand is always a place in a container.
    fn is_index(&self, index: &Operand, container: &Operand) -> bool {
        let Operand::Node(id) = index else { return true };
        let Op::Random(distribution) = &self.node(*id).op else { return false };
        let Some(items) = self.settled_value(container).elements() else { return false };
        let is_place = |value: &Value| {
            value
                .as_number()
                .is_some_and(|x| x >= 0.0 && x < items.len() as f64 && x.fract() == 0.0)
        };
        match self.with_args(*id, |args| distribution.support(args)) {
            Ok(Support::Booleans) => items.len() > 1,
            Ok(Support::Finite(values)) => values.iter().all(is_place),
            Ok(Support::Integers { low, high }) => low >= 0.0 && high < items.len() as f64,
            _ => false,
        }
    }
}
