//! Calls of built-in procedures that must fail whenever they are made: a wrong number of arguments, or a constant that no
//! value of the other arguments can make right.

use smidgen_engine::EvalError;
use smidgen_engine::error::Mistake;
use smidgen_lang::Diagnostic;
use smidgen_lang::core::{Expr, ExprKind, ExprRef};
use smidgen_prob::{Args, Builtin, functions, lookup};
use smidgen_value::{ArgumentError, Matrix, Symbol, Value};

/// What is wrong with this call, if it is one of a built-in procedure that the program has not hidden.
pub fn look_at(expr: &Expr, is_hidden: &dyn Fn(Symbol) -> bool) -> Option<Diagnostic> {
    let ExprKind::Apply { operator, operands } = &expr.kind else { return None };
    let builtin = builtin(operator, is_hidden)?;
    let spec = builtin.spec();
    let (wanted, found) = (spec.arity, operands.len());
    if !wanted.admits(found) {
        let mistake = Mistake::WrongCount { procedure: spec.name.to_owned(), wanted, found };
        return Some(EvalError::new(mistake, expr.span).into_diagnostic().hint(shape(builtin)));
    }
    let known: Vec<Option<Value>> =
        operands.iter().map(|operand| constant(operand, is_hidden, DEPTH)).collect();
    let error = match builtin {
        Builtin::Distribution(law) => certain_error(&known, |args| law.support(args).map(|_| ())),
        Builtin::Maker(maker) => certain_error(&known, |args| maker.check(args)),
        Builtin::Function(function) => {
            let is_of_a_law = [functions::laws::TABLE, functions::covariance::TABLE]
                .iter()
                .any(|table| table.iter().any(|entry| entry.spec.name == spec.name));
            let all: Option<Vec<Value>> = known.iter().cloned().collect();
            let is_tried = is_of_a_law || all.is_some_and(|all| is_cheap(spec.name, &all));
            is_tried
                .then(|| certain_error(&known, |args| (function.apply)(args).map(|_| ())))
                .flatten()
        }
        Builtin::HigherOrder(_) => None,
    }?;
    let place = error.argument().map_or(expr.span, |i| operands[i].span);
    let mistake = Mistake::Argument { procedure: spec.name, error };
    Some(EvalError::new(mistake, place).into_diagnostic())
}

fn shape(builtin: Builtin) -> String {
    let spec = builtin.spec();
    format!("its shape is ({} {})", spec.name, spec.parameters)
}

fn builtin(operator: &ExprRef, is_hidden: &dyn Fn(Symbol) -> bool) -> Option<Builtin> {
    match operator.kind {
        ExprKind::Global(name) if !is_hidden(name) => lookup(name),
        _ => None,
    }
}

/// Constants are computed through so many calls.
const DEPTH: usize = 20;

/// The value of an expression that is the same in every run and cheap to have.
fn constant(expr: &ExprRef, is_hidden: &dyn Fn(Symbol) -> bool, depth: usize) -> Option<Value> {
    match &expr.kind {
        ExprKind::Constant(value) => Some(value.clone()),
        // A law as an argument of a law.
        ExprKind::Global(name) => match builtin(expr, is_hidden)? {
            Builtin::Distribution(_) => Some(Value::Symbol(*name)),
            _ => None,
        },
        ExprKind::Apply { operator, operands } if depth > 0 => {
            let Builtin::Function(function) = builtin(operator, is_hidden)? else { return None };
            if !function.spec.arity.admits(operands.len()) {
                return None;
            }
            let operands = operands.iter().map(|operand| constant(operand, is_hidden, depth - 1));
            let operands: Vec<Value> = operands.collect::<Option<_>>()?;
            if !is_cheap(function.spec.name, &operands) {
                return None;
            }
            (function.apply)(&operands.iter().collect::<Vec<_>>()).ok()
        }
        _ => None,
    }
}

/// Whether a call with these constants takes no more time than it took to write them.
fn is_cheap(name: &str, args: &[Value]) -> bool {
    const LARGEST: f64 = 100.0;
    match name {
        "vector" | "array" | "list" | "matrix" | "lookup" | "first" | "second" | "rest"
        | "size" | "dot" | "simplex" | "normalize" | "row" | "col" => true,
        "zeros" | "ones" | "fill" | "id_matrix" | "diag_matrix" => {
            args.iter().all(|arg| arg.as_number().is_none_or(|n| n <= LARGEST))
        }
        _ => functions::arithmetic::TABLE.iter().any(|entry| entry.spec.name == name),
    }
}

/// The error about one of the known arguments that comes whatever the others are: they are tried with numbers large and
/// small, whole and broken, with vectors and matrices, and an error about one of them says nothing.
fn certain_error(
    known: &[Option<Value>],
    check: impl Fn(Args<'_>) -> Result<(), ArgumentError>,
) -> Option<ArgumentError> {
    let numbers = [0.5, 1.0, 3.0, 40.0, 1e6, -7.5, -1e6].map(Value::Number);
    let others = [
        Value::vector(vec![0.5, 0.5]),
        Value::vector(vec![0.2, 0.3, 0.5]),
        Value::matrix(Matrix::new(2, 2, vec![1.0, 0.0, 0.0, 1.0])),
        Value::Bool(true),
    ];
    let mut certain = None;
    for stand_in in numbers.iter().chain(&others) {
        let args: Vec<&Value> =
            known.iter().map(|value| value.as_ref().unwrap_or(stand_in)).collect();
        match check(&args) {
            Ok(()) => return None,
            Err(error) => match error.argument() {
                Some(i) if known[i].is_some() => certain = Some(error),
                Some(_) => {}
                None if known.iter().all(Option::is_some) => certain = Some(error),
                None => return None,
            },
        }
    }
    certain
}
