//! Laws of numbers that are less common.

use super::{Observed, numbers};
use crate::matrix::numbers as sizes;
use crate::matrix::writer::Writer;

pub fn skew_normal(w: &mut Writer) -> Observed {
    let (m, s, shape) = (w.predictor(), w.positive(), w.predictor());
    numbers(format!("(skew_normal {m} {s} {shape})"), sizes::reals(w.range))
}

pub fn gumbel(w: &mut Writer) -> Observed {
    let (m, s) = (w.predictor(), w.positive());
    numbers(format!("(gumbel {m} {s})"), sizes::reals(w.range))
}

/// The end of the support may move.
pub fn pareto(w: &mut Writer) -> Observed {
    let (low, shape) = (w.positive(), w.positive());
    let low = if w.coin() { "0.2".to_owned() } else { low };
    numbers(format!("(pareto {low} {shape})"), sizes::positives(w.range, false))
}

pub fn inverse_gaussian(w: &mut Writer) -> Observed {
    let (mean, shape) = (w.positive(), w.positive());
    numbers(format!("(inverse_gaussian {mean} {shape})"), sizes::positives(w.range, false))
}

pub fn beta_mean(w: &mut Writer) -> Observed {
    let (mean, kappa) = (w.probability(), w.positive());
    numbers(format!("(beta_mean {mean} {kappa})"), sizes::units(w.range))
}

pub fn chi_squared(w: &mut Writer) -> Observed {
    let df = w.positive();
    numbers(format!("(chi_squared {df})"), sizes::positives(w.range, false))
}

pub fn student_t(w: &mut Writer) -> Observed {
    let (df, m, s) = (w.positive(), w.predictor(), w.positive());
    numbers(format!("(student_t {df} {m} {s})"), sizes::reals(w.range))
}
