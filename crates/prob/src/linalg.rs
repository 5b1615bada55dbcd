//! Small dense linear algebra for distributions and matrix procedures, over `nalgebra`.

use nalgebra::DMatrix;
use smidgen_value::Matrix;

pub fn to_nalgebra(m: &Matrix) -> DMatrix<f64> {
    DMatrix::from_row_slice(m.rows(), m.cols(), m.as_slice())
}

pub fn from_nalgebra(m: &DMatrix<f64>) -> Matrix {
    Matrix::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)])
}

/// The lower triangular L with L Lᵀ = m; None unless m is symmetric (to rounding) and positive
/// definite.
pub fn cholesky(m: &Matrix) -> Option<Matrix> {
    let n = m.rows();
    if !m.is_square() {
        return None;
    }
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let (a, b) = (m.get(i, j), m.get(j, i));
            if (a - b).abs() > 1e-8 * (a.abs() + b.abs()).max(1e-300) {
                return None;
            }
            let dot: f64 = (0..j).map(|k| lower[i * n + k] * lower[j * n + k]).sum();
            let rest = a - dot;
            lower[i * n + j] = if i == j {
                if rest <= 0.0 || !rest.is_finite() {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / lower[j * n + j]
            };
        }
    }
    Some(Matrix::new(n, n, lower))
}

/// Solves L y = b in place, for lower triangular L.
pub fn solve_lower(lower: &Matrix, b: &mut [f64]) {
    for i in 0..lower.rows() {
        let dot: f64 = (0..i).map(|k| lower.get(i, k) * b[k]).sum();
        b[i] = (b[i] - dot) / lower.get(i, i);
    }
}

/// log |L Lᵀ|
pub fn log_det_from_cholesky(lower: &Matrix) -> f64 {
    2.0 * (0..lower.rows()).map(|i| smidgen_value::math::ln(lower.get(i, i))).sum::<f64>()
}
