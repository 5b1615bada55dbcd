//! An observed expression of one row, followed from the program's text.
//!
//! What a name, a cell or a procedure comes to is the business of a [`Host`]: one writes a program
//! for all rows ([`super::write`]), the other computes one row ([`super::interpret`]). Both see the
//! same text in the same order, and know only values that exist: an expression that makes random
//! choices on the way, or whose shape depends on them, is no row of a plate.

use smidgen_lang::Span;
use smidgen_lang::core::{Expr, ExprKind};
use smidgen_prob::registry::Builtin;
use smidgen_prob::{Distribution, Function};
use smidgen_value::{Column, Symbol, Value};

use crate::environment::Environment;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::{Operand, Operands};
use crate::procedure::{ASIDE, Procedure};
use crate::trace::node::MemoKey;

/// Calls within calls that are followed.
const DEEPEST: usize = 200;

/// Why the walk ended.
pub(crate) enum Stop {
    /// The rows have to become nodes.
    NoPlate,
    Error(EvalError),
}

impl From<EvalError> for Stop {
    fn from(error: EvalError) -> Stop {
        Stop::Error(error)
    }
}

pub(crate) type Walked<T> = Result<T, Stop>;

/// What the walk stands on.
pub(crate) trait Host {
    fn global(&mut self, name: Symbol) -> Walked<Operand>;
    /// The value of an operand, as functions take it.
    fn read(&mut self, operand: &Operand) -> Walked<Value>;
    fn cell(&mut self, column: &Column, row: &Operand) -> Walked<Value>;
    /// A value that decides what is evaluated.
    fn decide(&mut self, value: Operand) -> Walked<Value>;
    /// The same for a condition.
    fn truth(&mut self, value: Operand, span: Span) -> Walked<bool>;
    fn request(&mut self, memo: NodeId, key: MemoKey, span: Span) -> Walked<Operand>;
    fn call(&mut self, function: &'static Function, args: &[Operand], span: Span) -> Walked<Value>;
}

/// The random application that an expression refers to.
pub(crate) struct Application {
    pub distribution: &'static dyn Distribution,
    pub operands: Operands,
    pub span: Span,
}

enum WalkEnd {
    Operand(Operand),
    Application(Application),
}

/// Follows an expression to the choice that it makes last.
pub(crate) fn application(
    host: &mut dyn Host,
    expr: &Expr,
    environment: &Environment,
) -> Walked<Application> {
    match walk(host, expr, environment, true, 0)? {
        WalkEnd::Application(application) => Ok(application),
        WalkEnd::Operand(_) => Err(Stop::NoPlate),
    }
}

/// Follows an expression to its value.
pub(crate) fn operand(
    host: &mut dyn Host,
    expr: &Expr,
    environment: &Environment,
) -> Walked<Operand> {
    inner(host, expr, environment, 0)
}

fn inner(
    host: &mut dyn Host,
    expr: &Expr,
    environment: &Environment,
    depth: usize,
) -> Walked<Operand> {
    match walk(host, expr, environment, false, depth)? {
        WalkEnd::Operand(operand) => Ok(operand),
        WalkEnd::Application(_) => unreachable!("only the last application is left open"),
    }
}

fn walk(
    host: &mut dyn Host,
    expr: &Expr,
    environment: &Environment,
    last: bool,
    depth: usize,
) -> Walked<WalkEnd> {
    let known = |operand: Operand| Ok(WalkEnd::Operand(operand));
    match &expr.kind {
        ExprKind::Constant(value) => known(Operand::Constant(value.clone())),
        ExprKind::Local { depth, slot, .. } => match environment.get(*depth, *slot) {
            Some(operand) => known(operand.clone()),
            None => Err(Stop::NoPlate),
        },
        ExprKind::Global(name) => known(host.global(*name)?),
        ExprKind::Lambda(lambda) => {
            let (lambda, environment) = (lambda.clone(), environment.clone());
            let procedure = Procedure::Compound { lambda, environment };
            known(Operand::Constant(procedure.into_value(ASIDE)))
        }
        ExprKind::Cell { column, depth, slot, .. } => {
            let row = environment.get(*depth, *slot).cloned().ok_or(Stop::NoPlate)?;
            known(Operand::Constant(host.cell(column, &row)?))
        }
        ExprKind::If(condition, then, otherwise) => {
            let condition = inner(host, condition, environment, depth)?;
            let taken = if host.truth(condition, expr.span)? { then } else { otherwise };
            walk(host, taken, environment, last, depth)
        }
        ExprKind::Let { value, body, .. } => {
            let value = inner(host, value, environment, depth)?;
            walk(host, body, &environment.push([value]), last, depth)
        }
        ExprKind::LetRec { values, body, .. } => {
            let frame = environment.push_empty();
            let filled: Walked<Operands> =
                values.iter().map(|value| inner(host, value, &frame, depth)).collect();
            frame.fill(filled?);
            walk(host, body, &frame, last, depth)
        }
        ExprKind::Begin(parts) => {
            let (tail, before) = parts.split_last().expect("begin is never empty");
            for part in before {
                inner(host, part, environment, depth)?;
            }
            walk(host, tail, environment, last, depth)
        }
        ExprKind::Apply { operator, operands } => {
            let operator = inner(host, operator, environment, depth)?;
            let operands: Walked<Operands> =
                operands.iter().map(|operand| inner(host, operand, environment, depth)).collect();
            apply(host, &operator, operands?, (last, depth, expr.span))
        }
        // An observed choice is in no block; what is assumed elsewhere is not made here.
        ExprKind::ScopeInclude { .. }
        | ExprKind::ScopeExclude { .. }
        | ExprKind::CurrentEnvironment(_) => Err(Stop::NoPlate),
    }
}

fn apply(
    host: &mut dyn Host,
    operator: &Operand,
    operands: Operands,
    (last, depth, span): (bool, usize, Span),
) -> Walked<WalkEnd> {
    let procedure = operator.constant().and_then(Procedure::of).ok_or(Stop::NoPlate)?;
    match procedure {
        Procedure::Builtin(Builtin::Function(function))
            if function.spec.arity.admits(operands.len()) =>
        {
            let value = host.call(function, &operands, span)?;
            Ok(WalkEnd::Operand(Operand::Constant(value)))
        }
        Procedure::Builtin(Builtin::Distribution(distribution))
            if last && distribution.spec().arity.admits(operands.len()) =>
        {
            let distribution = *distribution;
            Ok(WalkEnd::Application(Application { distribution, operands, span }))
        }
        Procedure::Compound { lambda, environment }
            if lambda.params.len() == operands.len() && depth < DEEPEST =>
        {
            stacker::maybe_grow(128 << 10, 2 << 20, || {
                walk(host, &lambda.body, &environment.push(operands), last, depth + 1)
            })
        }
        Procedure::Memoised(memo) if !last => {
            let key: Walked<MemoKey> =
                operands.into_iter().map(|key| host.decide(key).map(|key| key.plain())).collect();
            Ok(WalkEnd::Operand(host.request(*memo, key?, span)?))
        }
        _ => Err(Stop::NoPlate),
    }
}
