//! Both sides of a branch whose condition depends on the block, from the program's text: the side
//! that does not run now has no nodes. Enough for indicators such as `(and (< 0 a) (< a b))`; what
//! goes beyond functions of values that exist is refused.

use smidgen_lang::core::{Expr, ExprKind};
use smidgen_prob::registry::Builtin;
use smidgen_value::Value;

use super::compile::{Compiler, Failure};
use crate::environment::Environment;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::program::lower;
use crate::total;
use crate::trace::Trace;
use crate::trace::node::{Op, StructureKind};

/// Why a block is refused that decides whether this is evaluated.
pub(super) fn refusal(what: &str) -> String {
    format!("{what} in a branch that depends on it: what exists could change")
}

/// Whether an expression is a function of values that exist, whatever they are: evaluating it makes no choice and
/// no family. If not, what is in the way.
pub(super) fn check(
    trace: &mut Trace,
    expression: &Expr,
    environment: &Environment,
) -> Result<(), &'static str> {
    match &expression.kind {
        ExprKind::Constant(_) | ExprKind::Cell { .. } => Ok(()),
        ExprKind::Local { depth, slot, .. } => {
            environment.get(*depth, *slot).map(drop).ok_or("a name")
        }
        ExprKind::Global(name) => trace.global(*name).map(drop).ok_or("a name"),
        ExprKind::If(condition, then, otherwise) => {
            [condition, then, otherwise].iter().try_for_each(|e| check(trace, e, environment))
        }
        ExprKind::Apply { operator, operands } => {
            let function = match &operator.kind {
                ExprKind::Constant(value) => is_function(value),
                ExprKind::Local { depth, slot, .. } => {
                    let operand = environment.get(*depth, *slot);
                    operand.and_then(Operand::constant).is_some_and(is_function)
                }
                ExprKind::Global(name) => {
                    let operand = trace.global(*name);
                    operand.as_ref().and_then(Operand::constant).is_some_and(is_function)
                }
                _ => false,
            };
            if !function {
                return Err("a call");
            }
            operands.iter().try_for_each(|operand| check(trace, operand, environment))
        }
        _ => Err("an expression"),
    }
}

/// Whether a structure is a branch whose both sides are functions of values that exist, with a value whatever these are.
pub(crate) fn is_plain(trace: &mut Trace, id: NodeId) -> bool {
    let Op::Structure(structure) = &trace.node(id).op else { return false };
    let StructureKind::Branch { then, otherwise } = &structure.kind else { return false };
    let (sides, environment) = ([then.clone(), otherwise.clone()], structure.environment.clone());
    sides.iter().all(|side| check(trace, side, &environment).is_ok() && has_value(trace, side))
}

/// Whether an expression that is such a function has a value whatever its names stand for.
fn has_value(trace: &mut Trace, expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::If(condition, then, otherwise) => {
            [condition, then, otherwise].iter().all(|part| has_value(trace, part))
        }
        ExprKind::Apply { operator, operands } => {
            let is_total = |value: &Value| {
                matches!(
                    Procedure::of(value),
                    Some(Procedure::Builtin(Builtin::Function(function)))
                        if total::is_total_procedure(function.spec.name)
                )
            };
            let is_total = match &operator.kind {
                ExprKind::Constant(value) => is_total(value),
                ExprKind::Global(name) => {
                    trace.global(*name).as_ref().and_then(Operand::constant).is_some_and(is_total)
                }
                _ => false,
            };
            is_total && operands.iter().all(|operand| has_value(trace, operand))
        }
        _ => true,
    }
}

/// The nodes that both sides of a branch refer to by name, whichever is taken.
pub(crate) fn visit_operands(trace: &mut Trace, id: NodeId, visit: &mut dyn FnMut(NodeId)) {
    let Op::Structure(structure) = &trace.node(id).op else { return };
    let StructureKind::Branch { then, otherwise } = &structure.kind else { return };
    let (sides, environment) = ([then.clone(), otherwise.clone()], structure.environment.clone());
    for side in &sides {
        visit_names(trace, side, &environment, visit);
    }
}

fn visit_names(
    trace: &mut Trace,
    expression: &Expr,
    environment: &Environment,
    visit: &mut dyn FnMut(NodeId),
) {
    match &expression.kind {
        ExprKind::Local { depth, slot, .. } => {
            environment.get(*depth, *slot).and_then(Operand::node).into_iter().for_each(visit);
        }
        ExprKind::Global(name) => {
            trace.global(*name).and_then(|operand| operand.node()).into_iter().for_each(visit);
        }
        ExprKind::If(condition, then, otherwise) => {
            for part in [condition, then, otherwise] {
                visit_names(trace, part, environment, visit);
            }
        }
        ExprKind::Apply { operator, operands } => {
            visit_names(trace, operator, environment, visit);
            for operand in operands {
                visit_names(trace, operand, environment, visit);
            }
        }
        // Nothing else is part of a branch that a joint move may take.
        _ => {}
    }
}

fn is_function(value: &Value) -> bool {
    matches!(Procedure::of(value), Some(Procedure::Builtin(Builtin::Function(_))))
}

/// The marked value of an expression. `at` is the branch, for the refusal.
pub(super) fn value(
    compiler: &mut Compiler<'_>,
    expression: &Expr,
    environment: &Environment,
    global: bool,
    at: NodeId,
) -> Result<Value, Failure> {
    let refuse = |what: &str| Err(Failure::Decides(at, refusal(what)));
    match &expression.kind {
        ExprKind::Constant(value) => Ok(value.clone()),
        ExprKind::Local { depth, slot, .. } => match environment.get(*depth, *slot) {
            Some(operand) => {
                let operand = operand.clone();
                compiler.argument(&operand, global)
            }
            None => refuse("a name"),
        },
        ExprKind::Global(name) => match compiler.trace.global(*name) {
            Some(operand) => compiler.argument(&operand, global),
            None => refuse("a name"),
        },
        ExprKind::Cell { column, depth, slot, .. } => {
            let row = environment.get(*depth, *slot).and_then(Operand::constant);
            match row.and_then(Value::as_integer) {
                Some(row) => Ok(column.cell(row as usize)),
                None => refuse("a cell"),
            }
        }
        ExprKind::If(condition, then, otherwise) => {
            let condition = value(compiler, condition, environment, global, at)?;
            let then = value(compiler, then, environment, global, at)?;
            let otherwise = value(compiler, otherwise, environment, global, at)?;
            compiler.lowered(at, global, |program| {
                lower::either(program, &condition, &otherwise, &then)
            })
        }
        ExprKind::Apply { operator, operands } => {
            let operator = value(compiler, operator, environment, global, at)?;
            let Some(Procedure::Builtin(Builtin::Function(function))) = Procedure::of(&operator)
            else {
                return refuse("a call");
            };
            let function = *function;
            if !function.spec.arity.admits(operands.len()) {
                return refuse("a call");
            }
            let mut args = Vec::with_capacity(operands.len());
            for operand in operands {
                args.push(value(compiler, operand, environment, global, at)?);
            }
            compiler.lowered(at, global, |program| lower::function(program, function, &args))
        }
        _ => refuse("an expression"),
    }
}
