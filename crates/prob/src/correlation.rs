//! Correlation matrices R = L L' by their Cholesky factors L, and these by canonical partial correlations.
//!
//! Row i of L has length one. With w_ij = sqrt(1 - L_i0^2 - ... - L_i(j-1)^2), what is left of it from place j on, L_ij = w_ij p_ij
//! for j < i and L_ii = w_ii; the partial correlations p_ij lie anywhere between -1 and 1, and y_ij = artanh p_ij
//! anywhere at all. Since dL_ij / dy_ij = w_ij (1 - p_ij^2) and w_i(j+1) = w_ij sqrt(1 - p_ij^2),
//!
//! log|dL/dy| = sum over i > j of log w_ij + 2 log(w_i(j+1) / w_ij),    log|dR/dL| = sum of (n - 1 - i) log L_ii,
//!
//! i from 0, over the entries below the diagonal (Lewandowski, Kurowicka and Joe 2009). Cost: O(n^2), O(n^3) for R.

use smidgen_value::math::{exp, ln, ln_1p_exp, log_logistic, logistic, sqrt};
use smidgen_value::{Matrix, Value};

use crate::linalg;

/// How far from one the length of a row, or a diagonal entry, may be.
const NEAR_ONE: f64 = 1e-8;

/// Which of the two a matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Matrix,
    Factor,
}

/// The number of coordinates.
pub fn dimension(size: usize) -> usize {
    size * size.saturating_sub(1) / 2
}

/// Whether it is the Cholesky factor of a correlation matrix.
pub fn is_factor(l: &Matrix) -> bool {
    let n = l.rows();
    let row = |i: usize| {
        let square: f64 = l.row(i).iter().map(|x| x * x).sum();
        let is_lower = l.row(i)[i + 1..].iter().all(|x| *x == 0.0);
        l.get(i, i) > 0.0 && is_lower && (square - 1.0).abs() <= NEAR_ONE
    };
    n > 0 && n == l.cols() && (0..n).all(row)
}

/// The Cholesky factor of a correlation matrix, if it is one.
pub fn factor_of(r: &Matrix) -> Option<Matrix> {
    let n = r.rows();
    let is_unit = n > 0 && n == r.cols() && (0..n).all(|i| (r.get(i, i) - 1.0).abs() <= NEAR_ONE);
    if is_unit { linalg::cholesky(r) } else { None }
}

/// The coordinates y, row by row. Not finite on the very edge.
pub fn coordinates(l: &Matrix) -> Vec<f64> {
    let n = l.rows();
    let mut y = Vec::with_capacity(dimension(n));
    for i in 1..n {
        let first = y.len();
        // w_i(j+1)^2 from the diagonal on: no difference.
        let mut left = l.get(i, i) * l.get(i, i);
        for j in (0..i).rev() {
            let t = l.get(i, j) / sqrt(left);
            // artanh p = arsinh of p / sqrt(1 - p^2)
            y.push(ln(t.abs() + sqrt(t * t + 1.0)).copysign(t));
            left += l.get(i, j) * l.get(i, j);
        }
        y[first..].reverse();
    }
    y
}

/// The value at coordinates y, and log|dx/dy|.
pub fn at(y: &[f64], size: usize, form: Form) -> (Value, f64) {
    let mut l = vec![0.0; size * size];
    let mut log_jacobian = 0.0;
    let mut y = y.iter();
    for i in 0..size {
        let mut log_w = 0.0;
        for j in 0..i {
            let y = *y.next().expect("a coordinate for each entry");
            // log sqrt(1 - tanh^2 y)
            let log_rest =
                std::f64::consts::LN_2 + 0.5 * (log_logistic(2.0 * y) - ln_1p_exp(2.0 * y));
            l[i * size + j] = exp(log_w) * (2.0 * logistic(2.0 * y) - 1.0);
            log_jacobian += log_w + 2.0 * log_rest;
            log_w += log_rest;
        }
        l[i * size + i] = exp(log_w);
        if form == Form::Matrix {
            log_jacobian += (size - 1 - i) as f64 * log_w;
        }
    }
    let l = Matrix::new(size, size, l);
    let value = if form == Form::Matrix { product(&l) } else { l };
    (Value::matrix(value), log_jacobian)
}

/// L L', with ones on its diagonal.
pub fn product(l: &Matrix) -> Matrix {
    let entry = |i: usize, j: usize| linalg::dot(l.row(i), l.row(j)).clamp(-1.0, 1.0);
    Matrix::from_fn(l.rows(), l.rows(), |i, j| if i == j { 1.0 } else { entry(i, j) })
}
