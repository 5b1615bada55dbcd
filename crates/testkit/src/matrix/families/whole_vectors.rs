//! Vectors and matrices as one choice.

use super::{Observed, Outcomes, vectors};
use crate::matrix::numbers::{self as sizes, Range, pick};
use crate::matrix::writer::Writer;

fn of_reals(range: Range, len: usize) -> Vec<Vec<f64>> {
    let reals = sizes::reals(range);
    let turned = |k: usize| (0..len).map(|i| reals[(k + i) % reals.len()]).collect();
    (0..reals.len()).map(turned).collect()
}

/// A scale that does not make a matrix singular.
fn scale(w: &mut Writer) -> String {
    match w.range {
        Range::Ordinary => w.positive_choice(),
        Range::Extreme => w.positive(),
    }
}

/// A lower triangular matrix of size 2.
fn factor(w: &mut Writer) -> String {
    let (s, a) = (scale(w), w.real());
    match w.rng.below(3) {
        0 => {
            let l = w.assume("L", "(lkj_cholesky 2 1.5)".to_owned());
            format!("(matrix_mul (diag_matrix (vector {s} 1)) {l})")
        }
        1 => w.assume("L", "(lkj_cholesky 2 2)".to_owned()),
        _ => format!("(matrix (list (list {s} 0) (list {a} 1)))"),
    }
}

pub fn cholesky(w: &mut Writer) -> Observed {
    let (mean, factor) = (w.vector(2), factor(w));
    vectors(format!("(multivariate_normal_cholesky {mean} {factor})"), of_reals(Range::Ordinary, 2))
}

pub fn student_t(w: &mut Writer) -> Observed {
    let (df, mean, s) = (scale(w), w.vector(2), scale(w));
    let matrix = match w.coin() {
        true => format!("(scale_matrix {s} (id_matrix 2))"),
        false => w.assume("R", "(lkj 2 1.5)".to_owned()),
    };
    let expr = format!("(multivariate_student_t {df} {mean} {matrix})");
    vectors(expr, of_reals(Range::Ordinary, 2))
}

pub fn gaussian_process(w: &mut Writer) -> Observed {
    // Of moderate size: a matrix that is nearly singular rounds away what is compared.
    let [a, l] = [0; 2].map(|_| format!("(+ 0.3 (logistic {}))", w.real()));
    let points = "(vector 0 0.7 2)";
    let covariance = match w.rng.below(4) {
        0 => format!("(cov_exp_quad {points} {a} {l})"),
        1 => format!("(cov_matern32 {points} {a} {l})"),
        2 => format!("(cov_matern52 {points} {a} {l})"),
        _ => format!("(cov_periodic {points} {a} {l} 3)"),
    };
    let mean = w.vector(3);
    let expr = format!("(multivariate_normal {mean} (matrix_add (id_matrix 3) {covariance}))");
    vectors(expr, of_reals(Range::Ordinary, 3))
}

pub fn random_walk(w: &mut Writer) -> Observed {
    let (len, s, start) = (pick(&mut w.rng, &[1, 3]), w.positive(), w.predictor());
    let expr = match w.coin() {
        true => format!("(random_walk {len} {s})"),
        false => format!("(random_walk {len} {s} {start})"),
    };
    vectors(expr, of_reals(w.range, len))
}

pub fn ar(w: &mut Writer) -> Observed {
    let (a, b, s, mean) = (w.real(), w.real(), w.positive(), w.predictor());
    let coefficients = match w.rng.below(3) {
        0 => format!("(vector {a})"),
        1 => w.vector(2),
        _ => format!("(vector {a} (* 0.5 {b}))"),
    };
    let mean = if w.coin() { format!(" {mean}") } else { String::new() };
    vectors(format!("(ar 3 {coefficients} {s}{mean})"), of_reals(w.range, 3))
}

pub fn counts_of_outcomes(w: &mut Writer) -> Observed {
    let (a, b) = (w.positive(), w.positive());
    let expr = match w.rng.below(3) {
        0 => format!("(multinomial 6 {})", w.simplex()),
        1 => format!("(multinomial 6 (normalize (vector {a} 1 {b})))"),
        _ => format!("(dirichlet_multinomial 6 (vector {a} {b} 1))"),
    };
    vectors(expr, vec![vec![1.0, 2.0, 3.0], vec![6.0, 0.0, 0.0], vec![0.0, 5.0, 1.0]])
}

/// A matrix that is a choice, and what hangs on one of its entries.
pub fn matrices(w: &mut Writer) -> Observed {
    let (law, s) = (w.rng.below(5), w.positive_choice());
    let m = match law {
        0 => w.assume("M", format!("(lkj 3 (+ 0.5 {s}))")),
        1 => w.assume("M", format!("(lkj_cholesky 3 (+ 0.5 {s}))")),
        2 => w.assume("M", format!("(wishart (scale_matrix (+ 0.1 {s}) (id_matrix 2)) 4)")),
        3 => w.assume("M", "(inv_wishart (id_matrix 2) 5)".to_owned()),
        _ => w.assume("M", "(symmetric_dirichlet 1.5 3)".to_owned()),
    };
    let entry = match law {
        4 => format!("(lookup {m} 1)"),
        _ => format!("(lookup (lookup {m} 1) 0)"),
    };
    let s = w.positive();
    let outcomes = Outcomes::Numbers(sizes::reals(w.range));
    Observed { expr: format!("(normal {entry} {s})"), outcomes }
}
