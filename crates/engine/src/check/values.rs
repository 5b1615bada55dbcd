//! Values: what is taken for fresh is what follows from the choices.

use smidgen_value::Value;

use super::{Check, ensure, named};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::section::component::is_deterministic;
use crate::trace::Trace;

/// Deterministic nodes that no lazy change has left unverified have the values that follow from
/// the choices, computed here without the stamps.
pub(super) fn check_values(trace: &Trace) -> Check {
    let mut truth: Vec<Option<Value>> = vec![None; trace.nodes.len()];
    for id in trace.live_nodes() {
        settle(trace, id, &mut truth).map_err(|error| {
            format!("values follow from arguments: {} gives an error: {error}", named(trace, id))
        })?;
        let node = trace.node(id);
        let number = trace.numbers[id.index()];
        let same = match node.value {
            Value::Number(x) => x.to_bits() == number.to_bits(),
            _ => number.is_nan(),
        };
        ensure(same, || {
            let value = node.value.brief();
            format!("numbers stand beside the nodes: {} is {value}, not {number}", named(trace, id))
        })?;
        if !is_deterministic(node) || trace.is_stale(id) {
            continue;
        }
        let value = truth[id.index()].as_ref().expect("settled above");
        ensure(node.value == *value, || {
            format!(
                "values follow from arguments: {} is {}, computed again {}",
                named(trace, id),
                node.value.brief(),
                value.brief()
            )
        })?;
    }
    Ok(())
}

/// Computes a node and what it needs, arguments first.
fn settle(trace: &Trace, id: NodeId, truth: &mut [Option<Value>]) -> Result<(), EvalError> {
    let mut stack = vec![id];
    while let Some(&id) = stack.last() {
        let node = trace.node(id);
        if truth[id.index()].is_some() {
            stack.pop();
            continue;
        }
        if !is_deterministic(node) {
            truth[id.index()] = Some(node.value.clone());
            continue;
        }
        let before = stack.len();
        let parents = node.args.iter().filter_map(|arg| arg.operand.node());
        stack.extend(parents.filter(|parent| truth[parent.index()].is_none()));
        if stack.len() > before {
            continue;
        }
        let value = {
            let of = |operand| match operand {
                &Operand::Node(parent) => truth[parent.index()].as_ref().expect("settled before"),
                Operand::Constant(value) => value,
            };
            let args: Vec<&Value> = node.args.iter().map(|arg| of(&arg.operand)).collect();
            trace.follow(id, &args)?
        };
        truth[id.index()] = Some(value);
    }
    Ok(())
}
