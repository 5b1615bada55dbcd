//! The deterministic procedures, one file per family.
//!
//! Each family is a table of [`Function`]s: the row says what a reader sees (name, parameters,
//! summary, example), the function beside it what happens. Numbers follow IEEE 754: a logarithm
//! of a negative number is NaN, not an error, and the density that meets it complains.
//!
//! * [`arithmetic`], [`link`], [`comparison`]: on single numbers, the hot ones;
//! * [`lists`], [`vectors`], [`matrix`], [`dict`]: on containers;
//! * [`covariance`]: matrices of Gaussian processes;
//! * [`types`]: tests and conversions;
//! * [`laws`]: densities, distribution functions and quantiles of laws.

use std::borrow::Cow;
use std::fmt;

use smidgen_value::{ArgumentError, Value};

use crate::arguments::{number, number_where, reals};
use crate::procedure::{Args, Function};

/// Rows of a family's `TABLE`:
/// `function => "name" | "alias", "parameters", arity, "summary", "example";`
macro_rules! table {
    ($(
        $apply:expr => $name:literal $(| $alias:literal)*,
            $parameters:literal, $arity:ident($($count:literal),*), $summary:literal, $example:literal;
    )*) => {
        pub static TABLE: &[$crate::procedure::Function] = &[$(
            $crate::procedure::Function {
                spec: $crate::procedure::Spec {
                    name: $name,
                    aliases: &[$($alias),*],
                    parameters: $parameters,
                    arity: $crate::procedure::Arity::$arity($($count),*),
                    summary: $summary,
                    example: $example,
                },
                apply: $apply,
            },
        )*];
    };
}

pub mod arithmetic;
pub mod comparison;
pub mod covariance;
pub mod dict;
pub mod laws;
pub mod link;
pub mod lists;
pub mod matrix;
pub mod types;
pub mod vectors;

#[cfg(test)]
mod tests;

/// Every function, by family, in the order of the documentation.
pub static ALL: &[&[Function]] = &[
    arithmetic::TABLE,
    link::TABLE,
    comparison::TABLE,
    lists::TABLE,
    vectors::TABLE,
    matrix::TABLE,
    covariance::TABLE,
    dict::TABLE,
    types::TABLE,
    laws::TABLE,
];

type Outcome = Result<Value, ArgumentError>;

/// Longer containers are refused rather than run out of memory.
const MOST_ELEMENTS: usize = 20_000_000;

/// A function of one number.
#[inline]
fn unary(args: Args<'_>, f: impl Fn(f64) -> f64) -> Outcome {
    number(args, 0).map(|x| Value::Number(f(x)))
}

/// A function of two numbers.
#[inline]
fn binary(args: Args<'_>, f: impl Fn(f64, f64) -> f64) -> Outcome {
    Ok(Value::Number(f(number(args, 0)?, number(args, 1)?)))
}

/// Numbers given one by one, or as one list, array or vector.
fn numbers<'a>(args: Args<'a>) -> Result<Cow<'a, [f64]>, ArgumentError> {
    match args {
        [container] if container.as_number().is_none() => reals(args, 0),
        _ => (0..args.len()).map(|i| number(args, i)).collect::<Result<_, _>>().map(Cow::Owned),
    }
}

/// The places of a number and of the other argument, which may come in either order.
fn number_and_other(args: Args<'_>) -> (usize, usize) {
    if args[1].as_number().is_some() { (1, 0) } else { (0, 1) }
}

/// The number of elements a container is to have.
fn length(args: Args<'_>, i: usize) -> Result<usize, ArgumentError> {
    let admits = |x: f64| x.fract() == 0.0 && (0.0..=MOST_ELEMENTS as f64).contains(&x);
    number_where(args, i, "a length (a whole number from 0 to 100000000)", admits)
        .map(|x| x as usize)
}

/// Sizes that do not fit together.
fn dimension_mismatch(sizes: fmt::Arguments<'_>) -> ArgumentError {
    ArgumentError::other(format!("dimension mismatch: {sizes}"))
}

fn same_length(a: &[f64], b: &[f64]) -> Result<(), ArgumentError> {
    if a.len() == b.len() {
        return Ok(());
    }
    Err(dimension_mismatch(format_args!("a vector of {} and a vector of {}", a.len(), b.len())))
}
