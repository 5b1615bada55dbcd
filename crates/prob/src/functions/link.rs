//! Between probabilities and the real line: logistic, logit and sums on the log scale, each
//! accurate in its tails and without overflow.

use smidgen_value::link::logit;
use smidgen_value::{Link, Value, math};

use super::{Outcome, dimension_mismatch, numbers, unary};
use crate::arguments::{number, reals};
use crate::linalg::dot;
use crate::procedure::Args;

table! {
    |args| number(args, 0).map(Value::probability) => "logistic", "x", exactly(1),
        "1 / (1 + exp(-x)); as the probability of a law accurate in both tails",
        "(logistic 0)";
    log_odds => "logit", "p", exactly(1),
        "log(p / (1 - p)), the inverse of logistic",
        "(logit 0.9)";
    |args| unary(args, math::log_logistic) => "log_logistic", "x", exactly(1),
        "The logarithm of logistic(x), accurate in both tails",
        "(log_logistic -1000)";
    |args| Ok(Value::Number(math::logsumexp(&numbers(args)?))) =>
        "logsumexp", "x ...", at_least(1),
        "log(exp(x0) + exp(x1) + ...) of the numbers, or of one container's, without overflow",
        "(logsumexp (vector -1000 -1001))";
    linear_logistic => "linear_logistic", "w x", exactly(2),
        "logistic(w[0] + w[1:] . x): w has one entry more than x, the first is the bias",
        "(linear_logistic (vector 0.5 1 -1) (vector 2 3))";
}

fn log_odds(args: Args<'_>) -> Outcome {
    match args[0] {
        Value::Linked(Link::LogOdds, log_odds) => Ok(Value::Number(*log_odds)),
        _ => unary(args, logit),
    }
}

/// w[0] + w[1:] . x, for w one entry longer than x.
#[inline]
pub fn linear_predictor(w: &[f64], x: &[f64]) -> f64 {
    w[0] + dot(&w[1..], x)
}

fn linear_logistic(args: Args<'_>) -> Outcome {
    let (w, x) = (reals(args, 0)?, reals(args, 1)?);
    if w.len() != x.len() + 1 {
        return Err(dimension_mismatch(format_args!(
            "the weights have {} entries and x has {}, but the weights need one more than x (the first is the bias)",
            w.len(),
            x.len()
        )));
    }
    Ok(Value::probability(linear_predictor(&w, &x)))
}
