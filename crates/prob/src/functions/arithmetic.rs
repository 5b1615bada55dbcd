//! Arithmetic and elementary functions of numbers.
//!
//! `+ - * /` meet two plain numbers in almost every call, so that case is decided first and
//! allocates nothing. They also work elementwise on vectors of equal length, and between a
//! vector and a number.

use smidgen_value::{ArgumentError, Link, Value, math};

use super::{Outcome, binary, numbers, same_length, unary};
use crate::arguments::{number, number_where};
use crate::procedure::Args;

table! {
    add => "+" | "add", "x ...", at_least(0),
        "The sum; a vector is added to another of its length or to a number, elementwise",
        "(+ 1 2 3)";
    subtract => "-" | "sub", "x [y]", between(1, 2),
        "The difference, or the negative of a single argument; elementwise on vectors",
        "(- 5 2)";
    multiply => "*" | "mul", "x ...", at_least(0),
        "The product; elementwise on vectors",
        "(* 2 3 4)";
    divide => "/" | "div", "x [y]", between(1, 2),
        "The quotient, or the reciprocal of a single argument; elementwise on vectors",
        "(/ 1 4)";
    |args| extreme(args, |a, b| a < b) => "min", "x ...", at_least(1),
        "The smallest of the numbers, or of one container's numbers",
        "(min 3 1 2)";
    |args| extreme(args, |a, b| a > b) => "max", "x ...", at_least(1),
        "The largest of the numbers, or of one container's numbers",
        "(max 3 1 2)";
    |args| unary(args, f64::abs) => "abs", "x", exactly(1),
        "The absolute value",
        "(abs -3)";
    negate => "negate", "x", exactly(1),
        "The number with the other sign; elementwise on a vector",
        "(negate 3)";
    |args| unary(args, signum) => "signum", "x", exactly(1),
        "The sign as -1, 0 or 1",
        "(signum -3)";
    |args| unary(args, |x| x.floor() + 0.0) => "floor", "x", exactly(1),
        "The largest whole number that is not above x",
        "(floor 2.7)";
    |args| unary(args, |x| x.ceil() + 0.0) => "ceil", "x", exactly(1),
        "The smallest whole number that is not below x",
        "(ceil 2.1)";
    |args| unary(args, |x| x.round() + 0.0) => "round", "x", exactly(1),
        "The nearest whole number, halves away from zero",
        "(round 2.5)";
    |args| floored_division(args).map(|(quotient, _)| Value::Number(quotient)) =>
        "int_div", "x y", exactly(2),
        "The quotient rounded down to a whole number",
        "(int_div 7 2)";
    |args| floored_division(args).map(|(_, remainder)| Value::Number(remainder)) =>
        "int_mod", "x y", exactly(2),
        "The remainder of int_div, with the sign of y",
        "(int_mod -7 3)";
    |args| number(args, 0).map(|x| Value::linked(Link::Log, x)) => "exp", "x", exactly(1),
        "e to the power of x; as the scale or rate of a law accurate however small or large",
        "(exp 1)";
    |args| unary(args, math::expm1) => "expm1", "x", exactly(1),
        "exp(x) - 1 without loss of digits near 0",
        "(expm1 1e-10)";
    logarithm => "log", "x", exactly(1),
        "The natural logarithm",
        "(log 10)";
    |args| unary(args, math::ln_1p) => "log1p", "x", exactly(1),
        "log(1 + x) without loss of digits near 0",
        "(log1p 1e-10)";
    |args| binary(args, math::pow) => "pow", "x y", exactly(2),
        "x to the power of y",
        "(pow 2 10)";
    |args| unary(args, |x| x * x) => "square", "x", exactly(1),
        "x times x",
        "(square 3)";
    |args| unary(args, math::sqrt) => "sqrt", "x", exactly(1),
        "The square root",
        "(sqrt 2)";
    |args| unary(args, math::sin) => "sin", "x", exactly(1),
        "The sine of an angle in radians",
        "(sin 1)";
    |args| unary(args, math::cos) => "cos", "x", exactly(1),
        "The cosine of an angle in radians",
        "(cos 1)";
    |args| unary(args, math::tan) => "tan", "x", exactly(1),
        "The tangent of an angle in radians",
        "(tan 1)";
    |args| binary(args, math::atan2) => "atan2", "y x", exactly(2),
        "The angle of the point (x, y) in radians, between -pi and pi",
        "(atan2 1 1)";
    |args| binary(args, math::hypot) => "hypot", "x y", exactly(2),
        "The length of the hypotenuse, without overflow",
        "(hypot 3 4)";
}

#[inline]
fn add(args: Args<'_>) -> Outcome {
    match args {
        [Value::Number(a), Value::Number(b)] => Ok(Value::Number(a + b)),
        _ => fold(args, 0.0, |a, b| a + b),
    }
}

#[inline]
fn multiply(args: Args<'_>) -> Outcome {
    match args {
        [Value::Number(a), Value::Number(b)] => Ok(Value::Number(a * b)),
        _ => fold(args, 1.0, |a, b| a * b),
    }
}

fn logarithm(args: Args<'_>) -> Outcome {
    match args[0] {
        Value::Linked(Link::Log, log) => Ok(Value::Number(*log)),
        _ => unary(args, math::ln),
    }
}

#[inline]
fn subtract(args: Args<'_>) -> Outcome {
    match args {
        [Value::Number(a), Value::Number(b)] => Ok(Value::Number(a - b)),
        [_] => negate(args),
        // The other side of a coin.
        [one, Value::Linked(Link::LogOdds, log_odds)] if one.as_number() == Some(1.0) => {
            Ok(Value::probability(-log_odds))
        }
        _ => elementwise(args[0], args[1], 1, |a, b| a - b),
    }
}

#[inline]
fn divide(args: Args<'_>) -> Outcome {
    match args {
        [Value::Number(a), Value::Number(b)] => Ok(Value::Number(a / b)),
        [x] => elementwise(&Value::Number(1.0), x, 0, |a, b| a / b),
        _ => elementwise(args[0], args[1], 1, |a, b| a / b),
    }
}

#[inline]
fn negate(args: Args<'_>) -> Outcome {
    match args[0] {
        Value::Number(x) => Ok(Value::Number(-x)),
        other => elementwise(&Value::Number(-1.0), other, 0, |a, b| a * b),
    }
}

// Out of line, so that the functions above stay small.

/// From the left; `nothing` is the value of no argument at all.
#[inline(never)]
fn fold(args: Args<'_>, nothing: f64, f: impl Fn(f64, f64) -> f64 + Copy) -> Outcome {
    let (first, others) = match args {
        [] => return Ok(Value::Number(nothing)),
        [first, others @ ..] => (*first, others),
    };
    let mut total = match first {
        Value::Vector(_) => first.clone(),
        _ => Value::Number(scalar(first, 0)?),
    };
    for (i, next) in others.iter().enumerate() {
        total = elementwise(&total, next, i + 1, f)?;
    }
    Ok(total)
}

/// `f` of two numbers, of two vectors in step, or of a vector's entries and a number. `b` is
/// argument `place`, `a` the one before it.
#[inline(never)]
fn elementwise(a: &Value, b: &Value, place: usize, f: impl Fn(f64, f64) -> f64) -> Outcome {
    let entries: Vec<f64> = match (a, b) {
        (Value::Vector(xs), Value::Vector(ys)) => {
            same_length(xs, ys)?;
            xs.iter().zip(ys.iter()).map(|(x, y)| f(*x, *y)).collect()
        }
        (Value::Vector(xs), y) => {
            let y = scalar(y, place)?;
            xs.iter().map(|x| f(*x, y)).collect()
        }
        (x, Value::Vector(ys)) => {
            let x = scalar(x, place.saturating_sub(1))?;
            ys.iter().map(|y| f(x, *y)).collect()
        }
        (x, y) => {
            let (x, y) = (scalar(x, place.saturating_sub(1))?, scalar(y, place)?);
            return Ok(Value::Number(f(x, y)));
        }
    };
    Ok(Value::vector(entries))
}

fn scalar(x: &Value, place: usize) -> Result<f64, ArgumentError> {
    x.as_number().ok_or_else(|| ArgumentError::wrong_type(place, "a number or a vector", x))
}

/// The number that is `beyond` all others; NaN if one of them is.
#[inline]
fn extreme(args: Args<'_>, beyond: impl Fn(f64, f64) -> bool) -> Outcome {
    let pick = |a: f64, b: f64| if a.is_nan() || beyond(a, b) { a } else { b };
    if let [Value::Number(a), Value::Number(b)] = args {
        return Ok(Value::Number(pick(*a, *b)));
    }
    let extreme = numbers(args)?.iter().copied().reduce(pick);
    extreme
        .map(Value::Number)
        .ok_or_else(|| ArgumentError::domain(0, "at least one number", args[0]))
}

fn signum(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// Quotient and remainder with x = quotient * y + remainder, the quotient rounded down. The
/// remainder is exact, the quotient the whole number that belongs to it.
fn floored_division(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    let x = number(args, 0)?;
    let y = number_where(args, 1, "a divisor other than 0", |y| y != 0.0)?;
    let mut remainder = x % y;
    let mut quotient = (x - remainder) / y;
    if remainder != 0.0 && (remainder < 0.0) != (y < 0.0) {
        remainder += y;
        quotient -= 1.0;
    }
    Ok((quotient.round() + 0.0, remainder + 0.0))
}
