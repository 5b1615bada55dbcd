//! Numbers that programs are made of: ordinary ones, and those where formulas that are right on paper lose everything.

use smidgen_value::Rng;

/// Linear predictors, in the region where e^η overflows, underflows, or 1 − p rounds to 0 or 1.
const PREDICTORS: [f64; 14] = [
    300.0, -300.0, 800.0, -800.0, 745.5, -745.5, 710.0, -709.0, 40.0, -36.8, 12.5, -100.0, 0.0,
    1e-9,
];

/// How wild the numbers of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    Ordinary,
    Extreme,
}

pub fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len())]
}

/// A covariate.
pub fn covariate(rng: &mut Rng, range: Range) -> f64 {
    match range == Range::Extreme && rng.below(3) == 0 {
        true => pick(rng, &PREDICTORS),
        // Ties are common.
        false => (8.0 * rng.uniform()).round() / 2.0 - 2.0,
    }
}

/// A scale that is written in a program.
pub fn scale(rng: &mut Rng, range: Range) -> f64 {
    match range == Range::Extreme && rng.coin() {
        true => pick(rng, &[1e-150, 1e150, 1e-12, 1e8]),
        false => pick(rng, &[0.5, 1.0, 2.5]),
    }
}

/// A number of trials.
pub fn trials(rng: &mut Rng, range: Range) -> f64 {
    match range == Range::Extreme && rng.coin() {
        true => 1e9,
        false => pick(rng, &[1.0, 7.0]),
    }
}

/// Observed counts.
pub fn counts(range: Range) -> Vec<f64> {
    match range {
        Range::Ordinary => vec![0.0, 1.0, 3.0, 8.0],
        Range::Extreme => vec![0.0, 1.0, 3.0, 1e9, 1e5],
    }
}

/// Observed real numbers.
pub fn reals(range: Range) -> Vec<f64> {
    match range {
        Range::Ordinary => vec![-1.0, 0.0, 0.5, 2.0],
        Range::Extreme => vec![0.0, 1e-150, -1e150, 300.0, 2.0, -1e8],
    }
}

/// Observed positive numbers; `end` says whether 0 is among them.
pub fn positives(range: Range, end: bool) -> Vec<f64> {
    let mut found = match range {
        Range::Ordinary => vec![0.3, 1.0, 2.5],
        Range::Extreme => vec![1e-150, 1e150, 1e-9, 1.0, 400.0],
    };
    if end && range == Range::Extreme {
        found.push(0.0);
    }
    found
}

/// Observed numbers between 0 and 1.
pub fn units(range: Range) -> Vec<f64> {
    match range {
        Range::Ordinary => vec![0.2, 0.5, 0.9],
        Range::Extreme => vec![1e-300, 1e-12, 0.5, 1.0 - 1e-12],
    }
}
