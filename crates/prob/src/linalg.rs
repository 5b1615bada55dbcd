//! Small dense linear algebra for distributions and matrix procedures.
//!
//! Products and factorisations are plain loops with a fixed order of additions, so that a
//! result does not depend on the machine's instruction set; `nalgebra` serves where more than
//! that is needed.

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
    if n >= LARGE {
        return large_cholesky(m);
    }
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let (a, b) = (m.get(i, j), m.get(j, i));
            if !are_equal(a, b) {
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

/// From this size on factorisations go by rows that are added to rows: no entry is a long sum that waits for itself,
/// which is several times as fast.
const LARGE: usize = 32;

/// Whether two entries of a matrix are the same, to rounding.
fn are_equal(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-8 * (a.abs() + b.abs()).max(1e-300)
}

/// y -= c x
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Pairs of items are made by a call where this is compiled for size.
fn subtract(y: &mut [f64], c: f64, x: &[f64]) {
    let x = &x[..y.len()];
    for k in 0..y.len() {
        y[k] -= c * x[k];
    }
}

/// Row k of Lᵀ, once it is known, leaves all rows below it.
fn large_cholesky(m: &Matrix) -> Option<Matrix> {
    let n = m.rows();
    if !(0..n).all(|i| (0..i).all(|j| are_equal(m.get(i, j), m.get(j, i)))) {
        return None;
    }
    let mut upper = m.as_slice().to_vec();
    for k in 0..n {
        let (known, below) = upper.split_at_mut((k + 1) * n);
        let row = &mut known[k * n..];
        let pivot = row[k];
        if pivot <= 0.0 || !pivot.is_finite() {
            return None;
        }
        let root = pivot.sqrt();
        row[k..].iter_mut().for_each(|x| *x /= root);
        for (below, i) in below.chunks_exact_mut(n).zip(k + 1..) {
            subtract(&mut below[i..], row[i], &row[i..]);
        }
    }
    Some(Matrix::from_fn(n, n, |i, j| if j <= i { upper[j * n + i] } else { 0.0 }))
}

/// L⁻¹, row by row.
fn inverse_of_lower(lower: &Matrix) -> Vec<f64> {
    let n = lower.rows();
    let mut inverse = vec![0.0; n * n];
    for i in 0..n {
        let (known, rest) = inverse.split_at_mut(i * n);
        let (row, factors) = (&mut rest[..n], lower.row(i));
        row[i] = 1.0;
        for (k, known) in known.chunks_exact(n).enumerate() {
            subtract(&mut row[..=k], factors[k], &known[..=k]);
        }
        row[..=i].iter_mut().for_each(|x| *x /= factors[i]);
    }
    inverse
}

/// Solves L y = b in place, for lower triangular L.
pub fn solve_lower(lower: &Matrix, b: &mut [f64]) {
    for i in 0..lower.rows() {
        let row = lower.row(i);
        let (known, rest) = b.split_at_mut(i);
        let dot: f64 = row.iter().zip(&*known).map(|(l, y)| l * y).sum();
        rest[0] = (rest[0] - dot) / row[i];
    }
}

/// Solves Lᵀ y = b in place, for lower triangular L.
pub fn solve_lower_transposed(lower: &Matrix, b: &mut [f64]) {
    for i in (0..lower.rows()).rev() {
        b[i] /= lower.get(i, i);
        for k in 0..i {
            b[k] -= lower.get(i, k) * b[i];
        }
    }
}

/// The Y with Lᵀ Y = b.
pub fn solve_lower_transposed_matrix(lower: &Matrix, b: &Matrix) -> Matrix {
    by_columns(b, |column| solve_lower_transposed(lower, column))
}

/// The Y with L Lᵀ Y = b.
pub fn solve_cholesky_matrix(lower: &Matrix, b: &Matrix) -> Matrix {
    by_columns(b, |column| {
        solve_lower(lower, column);
        solve_lower_transposed(lower, column);
    })
}

fn by_columns(b: &Matrix, solve: impl Fn(&mut [f64])) -> Matrix {
    let mut columns = transpose(b).as_slice().to_vec();
    columns.chunks_exact_mut(b.rows().max(1)).for_each(solve);
    transpose(&Matrix::new(b.cols(), b.rows(), columns))
}

/// (Lᵀ)⁻¹, which is upper triangular: row j is column j of L⁻¹.
pub fn inverse_transposed(lower: &Matrix) -> Matrix {
    let n = lower.rows();
    transpose(&Matrix::new(n, n, inverse_of_lower(lower)))
}

/// (L Lᵀ)⁻¹, symmetric to the bit.
pub fn inverse_from_cholesky(lower: &Matrix) -> Matrix {
    let n = lower.rows();
    if n >= LARGE {
        return large_inverse(lower);
    }
    // Row j is column j of L⁻¹, which is zero before its entry j.
    let mut columns = identity(n).as_slice().to_vec();
    for column in columns.chunks_exact_mut(n.max(1)) {
        solve_lower(lower, column);
    }
    let columns = Matrix::new(n, n, columns);
    Matrix::from_fn(n, n, |i, j| {
        let first = i.max(j);
        dot(&columns.row(i)[first..], &columns.row(j)[first..])
    })
}

/// The sum of the products of every row of L⁻¹ with itself.
fn large_inverse(lower: &Matrix) -> Matrix {
    let n = lower.rows();
    let rows = inverse_of_lower(lower);
    let mut sum = vec![0.0; n * n];
    for (k, row) in rows.chunks_exact(n).enumerate() {
        for (i, sum) in sum.chunks_exact_mut(n).enumerate().take(k + 1) {
            subtract(&mut sum[i..=k], -row[i], &row[i..=k]);
        }
    }
    for i in 0..n {
        for j in 0..i {
            sum[i * n + j] = sum[j * n + i];
        }
    }
    Matrix::new(n, n, sum)
}

/// log |L Lᵀ|
pub fn log_det_from_cholesky(lower: &Matrix) -> f64 {
    2.0 * (0..lower.rows()).map(|i| smidgen_value::math::ln(lower.get(i, i))).sum::<f64>()
}

/// The scalar product of two slices of equal length.
///
/// Eight running sums, added in a fixed order at the end: independent of each other, hence
/// fast, and the same bits wherever this product is taken.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len(), "a scalar product is of vectors of equal length");
    const LANES: usize = 8;
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(x, y)| x * y);
    let tail = tail.fold(0.0, |total, product| total + product);
    let mut sums = [0.0; LANES];
    for (x, y) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    (((a + b) + (c + d)) + ((e + f) + (g + h))) + tail
}

pub fn transpose(m: &Matrix) -> Matrix {
    Matrix::from_fn(m.cols(), m.rows(), |i, j| m.get(j, i))
}

/// a b, for a with as many columns as b has rows.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = transpose(b);
    Matrix::from_fn(a.rows(), b.cols(), |i, j| dot(a.row(i), columns.row(j)))
}

/// P m = L U of an invertible square matrix.
pub struct Lu {
    /// U on and above the diagonal, L (with its ones left out) below.
    factors: Vec<f64>,
    /// Which row of the matrix is row i of the factors.
    order: Vec<usize>,
}

/// LU decomposition with partial pivoting; None unless the matrix is square, finite and
/// invertible.
///
/// An entry that has cancelled down to the rounding error of the terms it was made of counts
/// as zero. So [[0.1, 0.2], [0.3, 0.6]] is singular although its computed determinant is not
/// 0, and diag(1, 1e-200) is invertible.
pub fn lu(m: &Matrix) -> Option<Lu> {
    let n = m.rows();
    if !m.is_square() {
        return None;
    }
    let mut a = m.as_slice().to_vec();
    // The sum of the magnitudes of all terms of an entry.
    let mut terms: Vec<f64> = a.iter().map(|x| x.abs()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    let rounding = 2.0 * n as f64 * f64::EPSILON;
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs()))?;
        if a[pivot * n + k] == 0.0 || !a[pivot * n + k].is_finite() {
            return None;
        }
        if pivot != k {
            order.swap(pivot, k);
            for j in 0..n {
                a.swap(pivot * n + j, k * n + j);
                terms.swap(pivot * n + j, k * n + j);
            }
        }
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            a[i * n + k] = factor;
            for j in k + 1..n {
                let (entry, term) = (i * n + j, factor * a[k * n + j]);
                a[entry] -= term;
                terms[entry] += term.abs();
                if a[entry].abs() <= rounding * terms[entry] {
                    a[entry] = 0.0;
                }
            }
        }
    }
    Some(Lu { factors: a, order })
}

impl Lu {
    /// The x with m x = b.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = self.order.len();
        let row = |i: usize| &self.factors[i * n..(i + 1) * n];
        let mut x: Vec<f64> = self.order.iter().map(|i| b[*i]).collect();
        for i in 0..n {
            x[i] -= dot(&row(i)[..i], &x[..i]);
        }
        for i in (0..n).rev() {
            x[i] = (x[i] - dot(&row(i)[i + 1..], &x[i + 1..])) / row(i)[i];
        }
        x
    }

    /// The X with m X = b, column by column.
    pub fn solve_matrix(&self, b: &Matrix) -> Matrix {
        let columns = transpose(b);
        let solved = (0..b.cols()).flat_map(|j| self.solve(columns.row(j))).collect();
        transpose(&Matrix::new(b.cols(), b.rows(), solved))
    }

    /// log |det m|
    pub fn log_abs_det(&self) -> f64 {
        let n = self.order.len();
        (0..n).fold(0.0, |total, i| total + smidgen_value::math::ln(self.factors[i * n + i].abs()))
    }
}

/// The n x n matrix with ones on the diagonal.
pub fn identity(n: usize) -> Matrix {
    Matrix::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ill_conditioned_matrix_is_still_invertible() {
        // Hilbert's matrix of order 8, condition 1.5e10; its entries as doubles, mpmath.
        let hilbert = Matrix::from_fn(8, 8, |i, j| 1.0 / (i + j + 1) as f64);
        let lu = lu(&hilbert).expect("invertible");
        assert!((lu.log_abs_det() - -74.9784273262507).abs() < 1e-5);
        let ones = [1.0; 8];
        let b: Vec<f64> = (0..8).map(|i| dot(hilbert.row(i), &ones)).collect();
        assert!(lu.solve(&b).iter().all(|x| (x - 1.0).abs() < 1e-5));
    }

    #[test]
    fn singularity_does_not_depend_on_scale() {
        for scale in [1e-150, 1.0, 1e150] {
            let rank_one =
                Matrix::from_fn(3, 3, |i, j| scale * (i + 1) as f64 * [0.1, 0.3, 0.7][j]);
            assert!(lu(&rank_one).is_none(), "{scale}");
            let regular =
                Matrix::from_fn(3, 3, |i, j| scale * [2.0, 3.0, 5.0f64][j].powi(i as i32));
            assert!(lu(&regular).is_some(), "{scale}");
        }
    }
}
