//! Reading arguments: every distribution and function asks through these, so that the same
//! mistake gets the same words.

use std::borrow::Cow;

use smidgen_value::{ArgumentError, Matrix, Value};

use crate::procedure::Args;

#[inline]
pub fn number(args: Args<'_>, i: usize) -> Result<f64, ArgumentError> {
    args[i].as_number().ok_or_else(|| ArgumentError::wrong_type(i, "a number", args[i]))
}

/// A number for which `admits` holds; `expected` says which ("a positive sd").
#[inline]
pub fn number_where(
    args: Args<'_>,
    i: usize,
    expected: &'static str,
    admits: impl Fn(f64) -> bool,
) -> Result<f64, ArgumentError> {
    let x = number(args, i)?;
    if admits(x) { Ok(x) } else { Err(ArgumentError::domain(i, expected, args[i])) }
}

/// A finite number above zero. `expected` contains the word "positive".
#[inline]
pub fn positive(args: Args<'_>, i: usize, expected: &'static str) -> Result<f64, ArgumentError> {
    number_where(args, i, expected, is_positive)
}

#[inline]
pub fn is_positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}

#[inline]
pub fn finite(args: Args<'_>, i: usize, expected: &'static str) -> Result<f64, ArgumentError> {
    number_where(args, i, expected, f64::is_finite)
}

#[inline]
pub fn probability(args: Args<'_>, i: usize) -> Result<f64, ArgumentError> {
    number_where(args, i, "a probability (between 0 and 1)", is_probability)
}

#[inline]
pub fn is_probability(p: f64) -> bool {
    (0.0..=1.0).contains(&p)
}

/// A whole number from 0 on.
#[inline]
pub fn count(args: Args<'_>, i: usize, expected: &'static str) -> Result<usize, ArgumentError> {
    number_where(args, i, expected, is_count).map(|x| x as usize)
}

#[inline]
pub fn is_count(x: f64) -> bool {
    x >= 0.0 && x.fract() == 0.0 && x < 9.0e15
}

/// The numbers of a vector, array or list.
pub fn reals<'a>(args: Args<'a>, i: usize) -> Result<Cow<'a, [f64]>, ArgumentError> {
    match args[i] {
        Value::Vector(xs) => Ok(Cow::Borrowed(xs)),
        other => other
            .to_reals()
            .map(Cow::Owned)
            .ok_or_else(|| ArgumentError::wrong_type(i, "a vector of numbers", args[i])),
    }
}

/// The elements of a list, array or vector.
pub fn elements(args: Args<'_>, i: usize) -> Result<Vec<Value>, ArgumentError> {
    args[i].elements().ok_or_else(|| ArgumentError::wrong_type(i, "a list or array", args[i]))
}

pub fn matrix<'a>(args: Args<'a>, i: usize) -> Result<&'a Matrix, ArgumentError> {
    match args[i] {
        Value::Matrix(m) => Ok(m),
        other => Err(ArgumentError::wrong_type(i, "a matrix", other)),
    }
}
