//! Memoised bodies that are made again and again, as for a new cluster in every enumeration.
//!
//! A body that reads nothing but constants and draws nothing is the same every time: the statistics of
//! a new cluster are made once. Of one that is a single draw with such arguments, the arguments are
//! known. Both are learned when the body is run by [`super::brush`], and hold as long as the
//! memoised procedure is the same value.

use std::sync::Arc;

use smidgen_lang::core::{ExprKind, ExprRef};
use smidgen_prob::Distribution;
use smidgen_prob::registry::Builtin;
use smidgen_value::{Symbol, Value};

use super::brush::{BrushEvaluator, Values, refs};
use crate::id::NodeId;
use crate::procedure::Procedure;
use crate::trace::Trace;
use crate::trace::node::MemoKey;

/// Bodies, and expressions in them, that are kept.
const MOST: usize = 64;

#[derive(Default)]
pub(super) struct Templates {
    bodies: Vec<Template>,
    /// Applications met as operands, with their values if they are constant.
    expressions: Vec<(ExprRef, Option<Value>)>,
    /// Statistics made aside that bodies refer to.
    made: usize,
}

struct Template {
    target: Value,
    /// Length of a key, and which key it was made for, if the body may read it.
    params: usize,
    key: Option<MemoKey>,
    body: Body,
}

enum Body {
    Same(Value),
    Draw {
        /// The scope that it is included in.
        scope: Option<Value>,
        operator: Symbol,
        args: Values,
    },
}

impl Templates {
    /// How many statistics made aside have to stay.
    pub(super) fn made(&mut self) -> usize {
        if self.bodies.len() > MOST {
            self.bodies.clear();
            self.made = 0;
        }
        self.made
    }

    /// What is known of an application met as an operand: its value, if that is constant.
    pub(super) fn expression(&self, expr: &ExprRef) -> Option<Option<&Value>> {
        let kept = self.expressions.iter().find(|kept| Arc::ptr_eq(&kept.0, expr))?;
        Some(kept.1.as_ref())
    }

    /// Remembers an application that was met as an operand, and whether it read only constants.
    pub(super) fn keep_expression(&mut self, expr: &ExprRef, value: &Value, constant: bool) {
        let plain = matches!(value, Value::Number(_) | Value::Vector(_) | Value::Matrix(_));
        let constant = constant && plain && holds_no_variable(expr);
        if self.expressions.len() < MOST {
            self.expressions.push((expr.clone(), constant.then(|| value.clone())));
        }
    }
}

impl BrushEvaluator {
    /// The value of a memoised body that is known from before; the outer none if it is not, the inner one
    /// if it cannot be made aside.
    pub(super) fn make_again(
        &mut self,
        trace: &Trace,
        memo: NodeId,
        key: &[Value],
    ) -> Option<Option<Value>> {
        let target = &trace.memo(memo).target;
        let known = |template: &Template| {
            template.target.is_identical(target)
                && template.params == key.len()
                && template.key.as_ref().is_none_or(|known| known[..] == *key)
        };
        let at = self.templates.bodies.iter().position(known)?;
        let (scope, operator) = match &self.templates.bodies[at].body {
            Body::Same(value) => return Some(Some(value.clone())),
            Body::Draw { scope, operator, .. } => (scope, *operator),
        };
        let distribution = distribution(trace, operator)?;
        let counts = self.counts_in(trace, memo) || scope.is_some() && *scope == self.scope;
        if counts || !distribution.is_proper() {
            return Some(None);
        }
        let Some(portion) = self.family(trace, memo, key) else { return Some(None) };
        (self.constant, self.choices) = (false, self.choices + 1);
        let outside = self.enter(portion);
        self.rng();
        let BrushEvaluator { templates, open: Some(rng), .. } = self else { return Some(None) };
        let Body::Draw { args, .. } = &templates.bodies[at].body else { return Some(None) };
        let drawn = distribution.sample(&refs(args), rng).ok();
        self.leave(outside);
        Some(drawn)
    }

    /// Remembers a memoised body that was just run.
    pub(super) fn keep(&mut self, trace: &Trace, target: &Value, key: &[Value], value: &Value) {
        let (target, params) = (target.clone(), key.len());
        let body = lambda_body(&target);
        let template = if self.constant {
            let reads_key = !body.is_some_and(holds_no_variable);
            self.templates.made = self.made.len();
            let key = reads_key.then(|| key.iter().cloned().collect());
            Template { params, key, body: Body::Same(value.clone()), target }
        } else {
            let known = |template: &Template| template.target.is_identical(&target);
            let Some(body) = body else { return };
            if self.templates.bodies.len() >= MOST || self.templates.bodies.iter().any(known) {
                return;
            }
            let Some(body) = self.templates.draw(trace, body) else { return };
            Template { params, key: None, body, target }
        };
        self.templates.bodies.push(template);
    }
}

impl Templates {
    /// A body as a single draw whose arguments are known to be constant.
    fn draw(&self, trace: &Trace, body: &ExprRef) -> Option<Body> {
        let (scope, body) = match &body.kind {
            ExprKind::ScopeInclude { scope, block, body } => match (&scope.kind, &block.kind) {
                (ExprKind::Constant(scope), ExprKind::Local { .. } | ExprKind::Constant(_)) => {
                    (Some(scope.clone()), body)
                }
                _ => return None,
            },
            _ => (None, body),
        };
        let ExprKind::Apply { operator, operands } = &body.kind else { return None };
        let ExprKind::Global(operator) = operator.kind else { return None };
        distribution(trace, operator)?;
        let constant = |operand: &ExprRef| match &operand.kind {
            ExprKind::Constant(value) => Some(value.clone()),
            _ => self.expression(operand)?.cloned(),
        };
        let args = operands.iter().map(constant).collect::<Option<Values>>()?;
        Some(Body::Draw { scope, operator, args })
    }
}

fn lambda_body(target: &Value) -> Option<&ExprRef> {
    match Procedure::of(target)? {
        Procedure::Compound { lambda, .. } => Some(&lambda.body),
        _ => None,
    }
}

/// Whether an application reads only constants and names of the program.
fn holds_no_variable(expr: &ExprRef) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Global(_) => true,
        ExprKind::Apply { operator, operands } => {
            matches!(operator.kind, ExprKind::Global(_)) && operands.iter().all(holds_no_variable)
        }
        _ => false,
    }
}

/// The distribution that a name of the program stands for.
fn distribution(trace: &Trace, name: Symbol) -> Option<&'static dyn Distribution> {
    match trace.known_builtin(name)? {
        Builtin::Distribution(distribution) => Some(distribution),
        _ => None,
    }
}
