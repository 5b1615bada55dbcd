//! Counts and categories by the parameters that people fit.

use super::{Observed, numbers};
use crate::matrix::numbers::{self as sizes, pick};
use crate::matrix::writer::Writer;

pub fn bernoulli_logit(w: &mut Writer) -> Observed {
    let eta = w.predictor();
    numbers(format!("(bernoulli_logit {eta})"), vec![0.0, 1.0])
}

pub fn poisson_log(w: &mut Writer) -> Observed {
    let eta = w.predictor();
    numbers(format!("(poisson_log {eta})"), sizes::counts(w.range))
}

pub fn categorical_logit(w: &mut Writer) -> Observed {
    let (a, b) = (w.predictor(), w.predictor());
    let logits = match w.rng.below(3) {
        0 => w.vector(3),
        1 => format!("(vector {a} {b} 0)"),
        _ => format!("(vector 0 {a} (- {a}))"),
    };
    numbers(format!("(categorical_logit {logits})"), vec![0.0, 1.0, 2.0])
}

pub fn ordered_category(w: &mut Writer) -> Observed {
    let name = w.one_of(&["ordered_logistic", "ordered_probit"]);
    let (eta, cuts) = (w.predictor(), w.cut_points());
    numbers(format!("({name} {eta} {cuts})"), vec![0.0, 1.0, 2.0])
}

pub fn beta_binomial(w: &mut Writer) -> Observed {
    let n = sizes::trials(&mut w.rng, w.range);
    let (a, b) = (w.positive(), w.positive());
    numbers(format!("(beta_binomial {n} {a} {b})"), vec![0.0, n, (n / 2.0).floor(), 1.0])
}

/// The ends of the support move with a finite choice.
pub fn hypergeometric(w: &mut Writer) -> Observed {
    let (n, z) = (pick(&mut w.rng, &[1, 3, 5]), w.finite());
    let expr = match w.rng.below(3) {
        0 => format!("(hypergeometric {n} (+ 2 {z}) 4)"),
        1 => format!("(hypergeometric {n} 6 (+ 3 {z}))"),
        _ => format!("(hypergeometric (+ 1 {z}) 100000 {n})"),
    };
    numbers(expr, vec![0.0, 1.0, 1.0, 2.0])
}

pub fn negative_binomial_mean(w: &mut Writer) -> Observed {
    let (mean, phi) = (w.positive(), w.positive());
    numbers(format!("(negative_binomial_mean {mean} {phi})"), sizes::counts(w.range))
}

pub fn uniform_discrete(w: &mut Writer) -> Observed {
    let z = w.finite();
    numbers(format!("(uniform_discrete 0 (+ 2 {z}))"), vec![0.0, 1.0, 2.0])
}
