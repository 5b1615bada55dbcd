//! Comparison and logic. Equality is equality of values (`1`, `1.0` and `true` are equal);
//! orderings are of numbers with numbers and of strings with strings.

use std::cmp::Ordering;

use smidgen_value::{ArgumentError, Value};

use super::Outcome;
use crate::arguments::elements;
use crate::procedure::Args;

table! {
    equal => "=" | "eq", "x y ...", at_least(2),
        "Whether all arguments are equal",
        "(= 1 1.0)";
    |args| Ok(Value::Bool(!are_equal(args[0], args[1]))) => "!=" | "neq", "x y", exactly(2),
        "Whether the arguments differ",
        "(!= 1 2)";
    |args| ordered(args, Ordering::is_lt) => "<" | "lt", "x y ...", at_least(2),
        "Whether each argument is below the next",
        "(< 1 2)";
    |args| ordered(args, Ordering::is_le) => "<=" | "lte", "x y ...", at_least(2),
        "Whether no argument is above the next",
        "(<= 1 1)";
    |args| ordered(args, Ordering::is_gt) => ">" | "gt", "x y ...", at_least(2),
        "Whether each argument is above the next",
        "(> 2 1)";
    |args| ordered(args, Ordering::is_ge) => ">=" | "gte", "x y ...", at_least(2),
        "Whether no argument is below the next",
        "(>= 2 2)";
    |args| Ok(Value::Bool(!truth(args, 0)?)) => "not", "x", exactly(1),
        "true if x is false (0 counts as false), else false",
        "(not true)";
    |args| Ok(Value::Bool(truth(args, 0)? != truth(args, 1)?)) => "xor", "x y", exactly(2),
        "Whether exactly one of the two is true",
        "(xor true false)";
    |args| Ok(Value::Bool(truths(args)?.into_iter().all(|t| t))) =>
        "all_p", "x ...", at_least(1),
        "Whether all arguments, or all elements of one container, are true",
        "(all_p (list true true))";
    |args| Ok(Value::Bool(truths(args)?.into_iter().any(|t| t))) =>
        "any_p", "x ...", at_least(1),
        "Whether some argument, or some element of one container, is true",
        "(any_p (list true false))";
    |args| Ok(args[if truth(args, 0)? { 1 } else { 2 }].clone()) => "biplex", "c x y", exactly(3),
        "x if c is true, else y; both have been evaluated",
        "(biplex true 1 2)";
}

#[inline]
fn equal(args: Args<'_>) -> Outcome {
    if let [a, b] = args {
        return Ok(Value::Bool(are_equal(a, b)));
    }
    Ok(Value::Bool(args.windows(2).all(|two| are_equal(two[0], two[1]))))
}

#[inline]
fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.is_nan() && b.is_nan()),
        _ => a == b,
    }
}

/// Whether every two neighbours are in an order that `holds`. NaN is in no order with anything.
#[inline]
fn ordered(args: Args<'_>, holds: impl Fn(Ordering) -> bool) -> Outcome {
    if let [Value::Number(a), Value::Number(b)] = args {
        return Ok(Value::Bool(a.partial_cmp(b).is_some_and(holds)));
    }
    ordered_chain(args, holds)
}

/// All types are checked, also after the answer is known.
#[inline(never)]
fn ordered_chain(args: Args<'_>, holds: impl Fn(Ordering) -> bool) -> Outcome {
    let mut all_hold = true;
    for i in 1..args.len() {
        all_hold &= order(args, i)?.is_some_and(&holds);
    }
    Ok(Value::Bool(all_hold))
}

/// How argument `i - 1` compares to argument `i`.
fn order(args: Args<'_>, i: usize) -> Result<Option<Ordering>, ArgumentError> {
    let (a, b) = (args[i - 1], args[i]);
    if let (Value::Text(a), Value::Text(b)) = (a, b) {
        return Ok(Some(a.cmp(b)));
    }
    match (a.as_number(), b.as_number()) {
        (Some(a), Some(b)) => Ok(a.partial_cmp(&b)),
        (Some(_), None) => Err(ArgumentError::wrong_type(i, "a number", b)),
        (None, _) if matches!(a, Value::Text(_)) => {
            Err(ArgumentError::wrong_type(i, "a string", b))
        }
        (None, _) => Err(ArgumentError::wrong_type(i - 1, "a number or a string", a)),
    }
}

#[inline]
fn truth(args: Args<'_>, i: usize) -> Result<bool, ArgumentError> {
    args[i].truth().ok_or_else(|| ArgumentError::wrong_type(i, "a boolean", args[i]))
}

/// Truths given one by one, or as one list, array or vector.
fn truths(args: Args<'_>) -> Result<Vec<bool>, ArgumentError> {
    if let [container] = args
        && container.truth().is_none()
    {
        let truths: Option<Vec<bool>> = elements(args, 0)?.iter().map(Value::truth).collect();
        return truths.ok_or_else(|| ArgumentError::wrong_type(0, "a list of booleans", container));
    }
    (0..args.len()).map(|i| truth(args, i)).collect()
}
