//! How far an impossible observation is from being possible, so that the search for a start can see that it comes nearer.
//!
//! `[observe (flip (if (and (< a b) (< b c)) 1 0)) true]` is a cliff: possible or not. But the condition says what is
//! missing. For a condition that should come out the other way, the distance is
//!
//! * |a − b| / (1 + |a − b|) of a comparison of numbers;
//! * for a branch (`and` and `or` are branches) that of what it takes to come to a side that gives the wanted value, and 1
//!   for all that then lies ahead and is not known;
//! * 1 for everything else.

use smidgen_lang::core::{Expr, ExprKind};

use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::{Op, StructureKind};

/// Nodes that are looked at on one way up from an observation.
const DEEPEST: usize = 100;

impl Trace {
    /// The distances of impossible observations, added up.
    pub(super) fn distance(&self, impossible: &[NodeId]) -> f64 {
        let live = impossible.iter().filter(|id| self.node(**id).is_live());
        live.map(|id| self.distance_of(*id)).sum()
    }

    /// The least distance of an argument: one that changes may be enough.
    fn distance_of(&self, id: NodeId) -> f64 {
        let args = self.node(id).args.iter().filter_map(|arg| arg.operand.node());
        let least = args.map(|arg| self.to_other(arg, DEEPEST)).fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 1.0 }
    }

    /// How far a node is from having another value.
    fn to_other(&self, id: NodeId, depth: usize) -> f64 {
        let node = self.node(id);
        let Some((condition, taken, other)) = self.branch(id).filter(|_| depth > 0) else {
            return 1.0;
        };
        let is_same = matches!(&other.kind, ExprKind::Constant(value) if *value == node.value);
        let by_condition = match is_same {
            true => f64::INFINITY,
            false => self.to_truth(condition, !taken, depth - 1) + branches(other) as f64,
        };
        let inside = match node.root() {
            Some(Operand::Node(root)) => self.to_other(*root, depth - 1),
            _ => f64::INFINITY,
        };
        by_condition.min(inside)
    }

    /// How far an operand is from a truth value.
    fn to_truth(&self, operand: &Operand, wanted: bool, depth: usize) -> f64 {
        if self.settled_value(operand).truth() == Some(wanted) {
            return 0.0;
        }
        let Operand::Node(id) = operand else { return f64::INFINITY };
        if depth == 0 {
            return 1.0;
        }
        if let Some((condition, taken, other)) = self.branch(*id) {
            let by_condition = self.to_truth(condition, !taken, depth - 1) + ahead(other, wanted);
            let root = self.node(*id).root();
            let inside = root.map(|root| self.to_truth(root, wanted, depth - 1));
            return by_condition.min(inside.unwrap_or(f64::INFINITY));
        }
        let node = self.node(*id);
        let Op::Function(function) = &node.op else { return 1.0 };
        match function.spec.name {
            name @ ("<" | "<=" | ">" | ">=" | "=") => {
                let numbers =
                    node.args.iter().map(|arg| self.settled_value(&arg.operand).as_number());
                numbers.collect::<Option<Vec<f64>>>().map_or(1.0, |xs| gap(name, &xs, wanted))
            }
            "not" => self.to_truth(&node.args[0].operand, !wanted, depth - 1),
            _ => 1.0,
        }
    }

    /// The condition of a branch, which way it goes, and the side that does not run.
    fn branch(&self, id: NodeId) -> Option<(&Operand, bool, &Expr)> {
        let node = self.node(id);
        let Op::Structure(structure) = &node.op else { return None };
        let StructureKind::Branch { then, otherwise } = &structure.kind else { return None };
        let condition = &node.args[0].operand;
        let taken = self.settled_value(condition).truth()?;
        Some((condition, taken, if taken { otherwise } else { then }))
    }
}

/// How far numbers are from comparing, or from not comparing, as a procedure asks: what is missing between neighbours.
fn gap(procedure: &str, numbers: &[f64], wanted: bool) -> f64 {
    let holds = |a: f64, b: f64| match procedure {
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        ">=" => a >= b,
        _ => a == b,
    };
    let relative = |a: f64, b: f64| match (a - b).abs() {
        gap if gap > 0.0 => gap / (1.0 + gap),
        _ => 1.0,
    };
    let pairs = numbers.windows(2).map(|pair| (pair[0], pair[1]));
    match wanted {
        true => pairs.filter(|(a, b)| !holds(*a, *b)).map(|(a, b)| relative(a, b)).sum(),
        false => pairs.map(|(a, b)| relative(a, b)).fold(1.0, f64::min),
    }
}

/// What lies ahead on a side that has not run, if it should come to a truth value.
fn ahead(expression: &Expr, wanted: bool) -> f64 {
    match &expression.kind {
        ExprKind::Constant(value) if value.truth() == Some(wanted) => 0.0,
        ExprKind::Constant(_) => f64::INFINITY,
        ExprKind::If(_, then, otherwise) => 1.0 + ahead(then, wanted).min(ahead(otherwise, wanted)),
        _ => 1.0,
    }
}

/// Branches on the longest way through an expression.
fn branches(expression: &Expr) -> usize {
    match &expression.kind {
        ExprKind::If(_, then, otherwise) => 1 + branches(then).max(branches(otherwise)),
        _ => 0,
    }
}
