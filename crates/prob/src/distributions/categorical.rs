//! P(i) = w_i / sum of w: an index, counted from 0, or the object at that index. Equal objects
//! add up.

use std::borrow::Cow;

use smallvec::SmallVec;
use smidgen_value::math::{exp, ln, logsumexp};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Family, Linked, Score, Spec};
use crate::support::Support;

pub struct Categorical;

static SPEC: Spec = Spec {
    name: "categorical",
    aliases: &[],
    parameters: "weights [objects]",
    arity: Arity::between(1, 2),
    summary: "An index from 0 on, or the object at it, with probability proportional to its weight",
    example: "(categorical (array 0.2 0.3 0.5))",
};

/// Weights that have been checked, with their sum. A categorical choice is too frequent to
/// allocate: a few weights fit where they are.
///
/// If some are known by their logarithms, all are taken by these, and each stands for its share of the largest.
struct Weights<'a> {
    each: Each<'a>,
    total: f64,
    /// The logarithms of the weights over the largest one.
    logs: Option<SmallVec<[f64; 8]>>,
}

enum Each<'a> {
    Borrowed(&'a [f64]),
    Copied(SmallVec<[f64; 8]>),
}

impl<'a> Weights<'a> {
    #[inline]
    fn read(args: Args<'a>) -> Result<Weights<'a>, ArgumentError> {
        if let Some(logs) = logarithms(args[0]) {
            return Weights::by_logs(args, logs);
        }
        let each = match args[0] {
            Value::Vector(xs) => Some(Each::Borrowed(xs)),
            Value::Array(items) => {
                items.iter().map(Value::as_number).collect::<Option<_>>().map(Each::Copied)
            }
            list => list.to_reals().map(|weights| Each::Copied(SmallVec::from_vec(weights))),
        };
        let Some(each) = each else {
            return Err(ArgumentError::wrong_type(0, "a vector of numbers", args[0]));
        };
        let mut weights = Weights { each, total: 0.0, logs: None };
        let (total, least) = total_and_least(weights.as_slice());
        weights.total = total;
        if least < 0.0 || total.is_nan() {
            Err(ArgumentError::domain(0, "non-negative weights", args[0]))
        } else if total == 0.0 {
            Err(ArgumentError::domain(0, "weights of which some are positive", args[0]))
        } else if total == f64::INFINITY {
            Err(ArgumentError::domain(0, "weights with a finite sum", args[0]))
        } else {
            Ok(weights)
        }
    }

    #[cold]
    fn by_logs(args: Args<'a>, mut logs: SmallVec<[f64; 8]>) -> Result<Weights<'a>, ArgumentError> {
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if logs.iter().any(|log| log.is_nan()) {
            return Err(ArgumentError::domain(0, "non-negative weights", args[0]));
        } else if largest == f64::NEG_INFINITY {
            return Err(ArgumentError::domain(0, "weights of which some are positive", args[0]));
        } else if largest == f64::INFINITY {
            return Err(ArgumentError::domain(0, "weights with a finite sum", args[0]));
        }
        logs.iter_mut().for_each(|log| *log -= largest);
        let each: SmallVec<[f64; 8]> = logs.iter().map(|log| exp(*log)).collect();
        let total = each.iter().sum();
        Ok(Weights { each: Each::Copied(each), total, logs: Some(logs) })
    }

    fn is_possible(&self, i: usize) -> bool {
        match &self.logs {
            None => self.as_slice()[i] > 0.0,
            Some(logs) => logs[i] > f64::NEG_INFINITY,
        }
    }

    /// log of the share that these weights have together.
    #[inline]
    fn log_share(&self, places: impl Iterator<Item = usize> + Clone) -> f64 {
        match &self.logs {
            None => log_share(places.map(|i| self.as_slice()[i]).sum(), self.total),
            Some(logs) => {
                let chosen: SmallVec<[f64; 8]> = places.map(|i| logs[i]).collect();
                logsumexp(&chosen) - ln(self.total)
            }
        }
    }

    #[inline]
    fn as_slice(&self) -> &[f64] {
        match &self.each {
            Each::Borrowed(weights) => weights,
            Each::Copied(weights) => weights,
        }
    }
}

/// The sum of the weights, and the least of them if it is negative.
#[inline]
pub(crate) fn total_and_least(weights: &[f64]) -> (f64, f64) {
    weights
        .iter()
        .fold((0.0, 0.0_f64), |(total, least), weight| (total + weight, least.min(*weight)))
}

/// The logarithms of weights, if some are known by these.
#[inline]
fn logarithms(weights: &Value) -> Option<SmallVec<[f64; 8]>> {
    let by_log = |item: &Value| matches!(item, Value::Linked(Link::Log, _));
    let log = |item: &Value| match item {
        Value::Linked(Link::Log, log) => Some(*log),
        other => other.as_number().map(ln),
    };
    match weights {
        Value::Array(items) if items.iter().any(by_log) => items.iter().map(log).collect(),
        Value::Pair(_) => {
            let items = weights.elements()?;
            if items.iter().any(by_log) { items.iter().map(log).collect() } else { None }
        }
        _ => None,
    }
}

/// log(weight / total)
#[inline]
pub fn log_share(weight: f64, total: f64) -> f64 {
    let ratio = weight / total;
    if ratio.is_normal() { ln(ratio) } else { ln(weight) - ln(total) }
}

/// The objects, of which there are as many as weights; None if the outcomes are indices.
#[inline]
fn objects<'a>(args: Args<'a>, n: usize) -> Result<Option<Cow<'a, [Value]>>, ArgumentError> {
    let objects = match args.get(1) {
        None => return Ok(None),
        Some(Value::Array(items)) => Cow::Borrowed(items.as_slice()),
        Some(_) => Cow::Owned(arguments::elements(args, 1)?),
    };
    if objects.len() == n {
        Ok(Some(objects))
    } else {
        let message = format!("the dimensions differ: {n} weights for {} objects", objects.len());
        Err(ArgumentError::other(message))
    }
}

/// The outcome is an index, or several: those of all equal objects.
fn score(x: &[f64], args: &[&[f64]], _x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let (total, least) = total_and_least(args[0]);
    if least < 0.0 || !arguments::is_positive(total) {
        return f64::NEG_INFINITY;
    }
    let index = |i: f64| (outcome::is_count(i) && i < args[0].len() as f64).then_some(i as usize);
    let Some(weight) = x.iter().map(|i| index(*i).map(|i| args[0][i])).sum::<Option<f64>>() else {
        return f64::NEG_INFINITY;
    };
    if weight > 0.0 && !slopes[0].is_empty() {
        slopes[0].iter_mut().for_each(|slope| *slope -= 1.0 / total);
        x.iter().filter_map(|i| index(*i)).for_each(|i| slopes[0][i] += 1.0 / weight);
    }
    log_share(weight, total)
}

/// The same with the logarithms of the weights: log p = η_x - log of the sum of e^η.
pub(crate) fn score_by_log(
    x: &[f64],
    args: &[&[f64]],
    _x_slope: &mut [f64],
    slopes: &mut [&mut [f64]],
) -> f64 {
    let logs = args[0];
    let index = |i: f64| (outcome::is_count(i) && i < logs.len() as f64).then_some(i as usize);
    let total = logsumexp(logs);
    let chosen: Option<SmallVec<[f64; 8]>> = x.iter().map(|i| index(*i).map(|i| logs[i])).collect();
    let Some(chosen) = chosen.filter(|_| total.is_finite()) else { return f64::NEG_INFINITY };
    let log_weight = logsumexp(&chosen);
    if log_weight > f64::NEG_INFINITY && !slopes[0].is_empty() {
        slopes[0].iter_mut().zip(logs).for_each(|(slope, log)| *slope -= exp(log - total));
        for i in x.iter().filter_map(|i| index(*i)) {
            slopes[0][i] += exp(logs[i] - log_weight);
        }
    }
    log_weight - total
}

impl Distribution for Categorical {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let weights = Weights::read(args)?;
        let each = weights.as_slice();
        let objects = objects(args, each.len())?;
        let mut rest = rng.uniform() * weights.total;
        let mut index = 0;
        while index < each.len() && rest >= each[index] {
            rest -= each[index];
            index += 1;
        }
        if index == each.len() {
            // Rounding has left a rest after the last weight: the last possible index it is.
            index = each.iter().rposition(|weight| *weight > 0.0).expect("one is positive");
        }
        Ok(match objects {
            None => Value::Number(index as f64),
            Some(objects) => objects[index].plain(),
        })
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let weights = Weights::read(args)?;
        let each = weights.as_slice();
        Ok(match objects(args, each.len())? {
            None => {
                let index = outcome::number(x);
                if !outcome::is_count(index) || index >= each.len() as f64 {
                    return Ok(f64::NEG_INFINITY);
                }
                weights.log_share(std::iter::once(index as usize))
            }
            Some(objects) => weights.log_share((0..each.len()).filter(|i| objects[*i] == *x)),
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn family(&self) -> Family {
        Family::Categorical
    }

    fn objects(&self) -> Option<usize> {
        Some(1)
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 0, link: Link::Log, score: Score::General(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::Finite(self.enumerate(args)?.unwrap_or_default()))
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0, 1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        Ok(x.clone())
    }

    fn most_values(&self, args: Args<'_>) -> Option<usize> {
        match args.first()? {
            Value::Vector(weights) => Some(weights.len()),
            Value::Array(weights) => Some(weights.len()),
            _ => None,
        }
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let weights = Weights::read(args)?;
        let each = weights.as_slice();
        let objects = objects(args, each.len())?;
        let possible = (0..each.len()).filter(|i| weights.is_possible(*i));
        let Some(objects) = objects else {
            return Ok(Some(possible.map(|i| Value::Number(i as f64)).collect()));
        };
        let mut seen = rustc_hash::FxHashSet::default();
        let each_once = possible.map(|i| &objects[i]).filter(|object| seen.insert(*object));
        Ok(Some(each_once.map(Value::plain).collect()))
    }
}
