//! Procedures of laws: their log density, their distribution functions and quantiles, as numbers. The law is the first
//! argument, its own arguments are the last ones.

use smallvec::SmallVec;
use smidgen_value::math::exp;
use smidgen_value::{ArgumentError, Value};

use super::Outcome;
use crate::arguments::{number, number_where};
use crate::cumulative::{self, Side};
use crate::law::{self, Inner, Numbers};
use crate::procedure::Args;

table! {
    log_density => "log_density", "D x args ...", at_least(2),
        "The log density, or log probability, of (D args ...) at x",
        "(log_density normal 1.5 0 2)";
    |args| probability(args, Side::Below).map(|log_p| Value::Number(exp(log_p))) => "cdf", "D x args ...", at_least(2),
        "The probability that a draw from (D args ...) is at most x",
        "(cdf normal 1.5 0 2)";
    |args| probability(args, Side::Above).map(|log_p| Value::Number(exp(log_p))) => "ccdf", "D x args ...", at_least(2),
        "The probability that a draw from (D args ...) is above x, without loss where that is small",
        "(ccdf normal 1.5 0 2)";
    |args| probability(args, Side::Below).map(Value::Number) => "log_cdf", "D x args ...", at_least(2),
        "The logarithm of the probability that a draw from (D args ...) is at most x",
        "(log_cdf normal -40 0 2)";
    |args| probability(args, Side::Above).map(Value::Number) => "log_ccdf", "D x args ...", at_least(2),
        "The logarithm of the probability that a draw from (D args ...) is above x",
        "(log_ccdf normal 40 0 2)";
    quantile => "quantile", "D p args ...", at_least(2),
        "The least x that a draw from (D args ...) does not exceed with probability at least p",
        "(quantile normal 0.975 0 1)";
}

fn log_density(args: Args<'_>) -> Outcome {
    let law = law::of(args[0]).ok_or_else(|| {
        ArgumentError::wrong_type(0, "a distribution (the name of a built-in one)", args[0])
    })?;
    let (spec, found) = (law.spec(), args.len() - 2);
    if !spec.arity.admits(found) {
        return Err(ArgumentError::other(format!(
            "{} takes {} arguments ({}), not {found}",
            spec.name, spec.arity, spec.parameters
        )));
    }
    let x = law.admit(args[1]).map_err(|wanted| ArgumentError::wrong_type(1, wanted, args[1]))?;
    law::with_plain(&args[2..], |args| law.log_density(&x, args))
        .map(Value::Number)
        .map_err(|error| error.after(2))
}

/// The law, and its arguments as numbers, checked.
fn inner(args: Args<'_>) -> Result<(Inner, Numbers), ArgumentError> {
    let inner = Inner::read(args, 0, args.len() - 2)?;
    inner.support(&args[2..]).map_err(|error| error.after(2))?;
    let numbers: Result<Numbers, _> = (2..args.len()).map(|i| number(args, i)).collect();
    Ok((inner, numbers?))
}

fn without(inner: Inner) -> ArgumentError {
    let name = inner.law.spec().name;
    ArgumentError::other(format!("{name} has no distribution function that can be computed here"))
}

fn probability(args: Args<'_>, side: Side) -> Result<f64, ArgumentError> {
    let x = number_where(args, 1, "a number", |x| !x.is_nan())?;
    let (inner, numbers) = inner(args)?;
    let found = cumulative::log_probability(inner, side, x, &numbers, false);
    found.map(|(log_p, _)| log_p).ok_or_else(|| without(inner))
}

fn quantile(args: Args<'_>) -> Outcome {
    let p = crate::arguments::probability(args, 1)?;
    let (inner, numbers) = inner(args)?;
    let found = cumulative::quantile(inner, p, &numbers);
    found.map(Value::Number).ok_or_else(|| without(inner))
}

/// The numbers of a score's arguments behind the law and x.
pub(crate) fn split(args: &[&[f64]]) -> Option<(Inner, f64, SmallVec<[f64; 8]>)> {
    let numbers = law::singles(args)?;
    let inner = Inner::numbered(*numbers.first()?, numbers.len().checked_sub(2)?)?;
    Some((inner, numbers[1], numbers[2..].into()))
}
