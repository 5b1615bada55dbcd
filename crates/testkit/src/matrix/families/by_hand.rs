//! Densities that people write themselves, and distribution functions in them.

use super::{Observed, numbers};
use crate::matrix::numbers as sizes;
use crate::matrix::writer::Writer;

/// A law of one number, its arguments, and a number that it may come to.
fn law(w: &mut Writer) -> (String, &'static str) {
    let (m, s) = (w.predictor(), w.positive());
    match w.rng.below(16) {
        0 => (format!("student_t X 4 {m} {s}"), "0.7"),
        1 => (format!("logistic_dist X {m} {s}"), "0.7"),
        2 => (format!("gumbel X {m} {s}"), "0.7"),
        3 => (format!("cauchy X {m} {s}"), "-0.4"),
        4 => (format!("laplace X {m} {s}"), "1.3"),
        5 => (format!("skew_normal X {m} {s} 2"), "1.3"),
        6 => (format!("expon X {s}"), "1.3"),
        7 => (format!("weibull X 1.5 {s}"), "1.3"),
        8 => (format!("lognormal X {m} {s}"), "1.3"),
        9 => (format!("gamma X {} {s}", w.positive()), "1.3"),
        10 => (format!("inverse_gaussian X {} {s}", w.positive()), "1.3"),
        11 => (format!("pareto X 0.5 {s}"), "1.3"),
        12 => (format!("beta X {} {s}", w.positive()), "0.3"),
        13 => (format!("poisson X {s}"), "3"),
        14 => (format!("binomial X 9 {}", w.probability()), "3"),
        _ => (format!("normal X {m} {s}"), "0.7"),
    }
}

/// A datum, or what hangs on a choice.
fn at(w: &mut Writer, number: &str) -> String {
    let b = w.real();
    let is_count = number == "3";
    match w.rng.below(3) {
        0 if !is_count => format!("(+ {number} (* 0.1 (logistic {b})))"),
        _ => number.to_owned(),
    }
}

pub fn factor(w: &mut Writer) -> Observed {
    let (eta, s) = (w.predictor(), w.positive());
    let weight = match w.rng.below(6) {
        0 => eta,
        1 => format!("(log_logistic {eta})"),
        2 => format!("(- (square {eta}))"),
        3 => format!("(if (< {eta} 300) 0 (log 0))"),
        4 => format!("(logsumexp {eta} (log {s}))"),
        _ => format!("(- (log {s}) {s})"),
    };
    numbers(format!("[factor {weight}]"), vec![1.0])
}

pub fn log_density(w: &mut Writer) -> Observed {
    let (law, number) = law(w);
    let x = at(w, number);
    numbers(format!("[factor (log_density {})]", law.replace('X', &x)), vec![1.0])
}

pub fn tail(w: &mut Writer) -> Observed {
    let (law, number) = law(w);
    let (side, x) = (w.one_of(&["log_cdf", "log_ccdf"]), at(w, number));
    numbers(format!("[factor ({side} {})]", law.replace('X', &x)), vec![1.0])
}

pub fn through_quantile(w: &mut Writer) -> Observed {
    let (p, s) = (w.unit(), w.positive());
    let (side, number) = (w.one_of(&["cdf", "ccdf"]), w.real());
    let mean = match w.rng.below(5) {
        0 => format!("(quantile gamma {p} 2 1.5)"),
        1 => format!("(quantile logistic_dist {p} 0 {s})"),
        2 => format!("(quantile normal {p} 0 1)"),
        3 => format!("({side} student_t {number} 4 0 1)"),
        _ => format!("({side} normal {number} 0 {s})"),
    };
    numbers(format!("(normal {mean} {s})"), sizes::reals(w.range))
}
