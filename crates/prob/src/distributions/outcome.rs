//! Outcomes: the values that distributions draw, and the observed values they take for them.

use smidgen_value::{Matrix, Value};

/// The largest double below one.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// The number that an outcome is; NaN, which lies in no support, if it is none.
#[inline]
pub fn number(x: &Value) -> f64 {
    x.as_number().unwrap_or(f64::NAN)
}

pub fn reals(x: &Value) -> Option<&[f64]> {
    match x {
        Value::Vector(xs) => Some(xs),
        _ => None,
    }
}

#[inline]
pub fn is_count(x: f64) -> bool {
    x >= 0.0 && x.fract() == 0.0 && x.is_finite()
}

/// A draw that rounding has pushed out of the positive doubles, brought back.
#[inline]
pub fn positive(x: f64) -> f64 {
    x.clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// A draw that rounding has pushed onto an end of (0, 1), brought back.
#[inline]
pub fn inside_unit(x: f64) -> f64 {
    x.clamp(f64::MIN_POSITIVE, BELOW_ONE)
}

/// A draw that has overflowed, brought back.
#[inline]
pub fn finite(x: f64) -> f64 {
    x.clamp(-f64::MAX, f64::MAX)
}

#[inline]
pub fn admit_number(x: &Value) -> Result<Value, &'static str> {
    match x {
        Value::Number(_) => Ok(x.clone()),
        Value::Linked(..) => Ok(x.plain()),
        _ => Err("a number"),
    }
}

/// A number, or `true` for 1 and `false` for 0.
pub fn admit_coin(x: &Value) -> Result<Value, &'static str> {
    x.as_number().map(Value::Number).ok_or("a number")
}

pub fn admit_vector(x: &Value) -> Result<Value, &'static str> {
    match x {
        Value::Vector(_) => Ok(x.clone()),
        _ => x.to_reals().map(Value::vector).ok_or("a vector of numbers"),
    }
}

/// A matrix, or a list of its rows.
pub fn admit_matrix(x: &Value) -> Result<Value, &'static str> {
    if let Value::Matrix(_) = x {
        return Ok(x.clone());
    }
    let rows =
        x.elements().and_then(|rows| rows.iter().map(Value::to_reals).collect::<Option<Vec<_>>>());
    match rows {
        Some(rows) if !rows.is_empty() && rows.iter().all(|row| row.len() == rows[0].len()) => {
            Ok(Value::matrix(Matrix::new(rows.len(), rows[0].len(), rows.concat())))
        }
        _ => Err("a matrix"),
    }
}
