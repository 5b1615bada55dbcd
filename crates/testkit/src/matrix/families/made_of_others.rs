//! Laws that are made of other laws.

use super::{Observed, numbers};
use crate::matrix::numbers as sizes;
use crate::matrix::writer::Writer;

/// A probability that 1 less it has digits: laws of laws read plain numbers, and differences of what was rounded show nothing.
fn probability(w: &mut Writer) -> String {
    format!("(+ 1e-5 (* 0.99998 {}))", w.probability())
}

/// A law of counts and its arguments. Of rates beyond these log densities are differences of numbers of that size, which rounds away what is
/// compared.
fn of_counts(w: &mut Writer) -> (&'static str, String) {
    match w.rng.below(6) {
        0 => ("poisson", format!("(min 1e4 {})", w.positive())),
        1 => ("poisson_log", format!("(min 9 {})", w.predictor())),
        2 => ("negative_binomial", format!("{} {}", w.positive(), probability(w))),
        3 => ("negative_binomial_mean", format!("{} {}", w.positive(), w.positive())),
        4 => ("geometric", probability(w)),
        _ => ("binomial", format!("9 {}", probability(w))),
    }
}

/// A law of real numbers and its arguments.
fn of_reals(w: &mut Writer) -> (&'static str, String) {
    let (m, s) = (w.predictor(), w.positive());
    match w.rng.below(6) {
        0 => ("student_t", format!("4 {m} {s}")),
        1 => ("logistic_dist", format!("{m} {s}")),
        2 => ("gumbel", format!("{m} {s}")),
        3 => ("cauchy", format!("{m} {s}")),
        _ => ("normal", format!("{m} {s}")),
    }
}

/// A law of positive numbers and its arguments.
fn of_positives(w: &mut Writer) -> (&'static str, String) {
    let (a, s) = (w.positive(), w.positive());
    match w.rng.below(6) {
        0 => ("expon", s),
        1 => ("weibull", format!("1.5 {s}")),
        2 => ("lognormal", format!("{} {s}", w.predictor())),
        3 => ("inverse_gaussian", format!("{a} {s}")),
        4 => ("half_normal", s),
        _ => ("gamma", format!("{a} {s}")),
    }
}

pub fn zero_inflated(w: &mut Writer) -> Observed {
    let (p, (law, arguments)) = (probability(w), of_counts(w));
    numbers(format!("(zero_inflated {law} {p} {arguments})"), sizes::counts(w.range))
}

pub fn hurdle(w: &mut Writer) -> Observed {
    let (p, (law, arguments)) = (probability(w), of_counts(w));
    numbers(format!("(hurdle {law} {p} {arguments})"), sizes::counts(w.range))
}

/// Weights of two parts.
fn weights(w: &mut Writer) -> String {
    let (p, a, b) = (probability(w), w.positive(), w.positive());
    match w.rng.below(4) {
        0 => format!("(vector {a} {b})"),
        1 => "(vector 0.3 0.7)".to_owned(),
        _ => format!("(vector {p} (- 1 {p}))"),
    }
}

pub fn mixture(w: &mut Writer) -> Observed {
    let (weights, one, other) = (weights(w), of_reals(w), of_reals(w));
    let parts = format!("{} (list {}) {} (list {})", one.0, one.1, other.0, other.1);
    numbers(format!("(mixture {weights} {parts})"), sizes::reals(w.range))
}

pub fn mixture_of_counts(w: &mut Writer) -> Observed {
    let (weights, one, other) = (weights(w), of_counts(w), of_counts(w));
    let parts = format!("{} (list {}) {} (list {})", one.0, one.1, other.0, other.1);
    numbers(format!("(mixture {weights} {parts})"), sizes::counts(w.range))
}

/// Both ends, one of them, or one that moves.
fn ends(w: &mut Writer) -> String {
    let b = w.real();
    match w.rng.below(5) {
        0 => "-inf 2".to_owned(),
        1 => "-1 inf".to_owned(),
        2 => format!("{b} inf"),
        3 => format!("{b} (+ {b} 3)"),
        _ => "-1 2".to_owned(),
    }
}

fn positive_ends(w: &mut Writer) -> &'static str {
    w.one_of(&["0 2.5", "0.3 inf", "0.2 3"])
}

/// The same numbers as ends and between them.
const REALS: [f64; 5] = [-1.0, 0.0, 0.7, 2.0, 1.5];
const POSITIVES: [f64; 4] = [0.3, 1.0, 2.5, 2.0];
const COUNTS: [f64; 4] = [1.0, 2.0, 3.0, 5.0];

pub fn truncate(w: &mut Writer) -> Observed {
    if w.coin() {
        let ((law, arguments), ends) = (of_reals(w), ends(w));
        return numbers(format!("(truncate {law} {ends} {arguments})"), REALS.to_vec());
    }
    let ((law, arguments), ends) = (of_positives(w), positive_ends(w));
    numbers(format!("(truncate {law} {ends} {arguments})"), POSITIVES.to_vec())
}

pub fn truncate_counts(w: &mut Writer) -> Observed {
    let ((law, arguments), ends) = (of_counts(w), w.one_of(&["1 inf", "1 5", "-inf 6"]));
    numbers(format!("(truncate {law} {ends} {arguments})"), COUNTS.to_vec())
}

pub fn censor(w: &mut Writer) -> Observed {
    if w.coin() {
        let ((law, arguments), ends) = (of_reals(w), ends(w));
        return numbers(format!("(censor {law} {ends} {arguments})"), REALS.to_vec());
    }
    let ((law, arguments), ends) = (of_positives(w), positive_ends(w));
    numbers(format!("(censor {law} {ends} {arguments})"), POSITIVES.to_vec())
}

pub fn censor_counts(w: &mut Writer) -> Observed {
    let ((law, arguments), ends) = (of_counts(w), w.one_of(&["1 inf", "1 5", "-inf 5"]));
    numbers(format!("(censor {law} {ends} {arguments})"), COUNTS.to_vec())
}
