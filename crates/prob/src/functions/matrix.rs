//! Matrices: making them, taking rows and columns, products, and what a factorisation gives.
//!
//! Matrices have their own procedures (`matrix_add`, not `+`). A vector beside a matrix may be
//! a list or an array of numbers.

use smidgen_value::{ArgumentError, Matrix, Value};

use super::{MOST_ELEMENTS, Outcome, dimension_mismatch, length, number_and_other};
use crate::arguments::{elements, matrix, number, reals};
use crate::linalg::{self, Lu, dot, transpose};
use crate::procedure::Args;

table! {
    from_rows => "matrix", "rows", exactly(1),
        "The matrix of a list of rows of equal length",
        "(matrix (list (list 1 2) (list 3 4)))";
    |args| shaped(args, 0, 0).map(|(n, _)| Value::matrix(linalg::identity(n))) =>
        "id_matrix", "n", exactly(1),
        "The n x n matrix with ones on the diagonal",
        "(id_matrix 2)";
    zero_matrix => "zero_matrix", "n [m]", between(1, 2),
        "The n x m matrix of zeros, square if m is left out",
        "(zero_matrix 2 3)";
    diag_matrix => "diag_matrix", "xs", exactly(1),
        "The square matrix with these numbers on the diagonal and zeros elsewhere",
        "(diag_matrix (vector 1 2))";
    |args| Ok(Value::vector(matrix(args, 0)?.as_slice())) => "ravel", "m", exactly(1),
        "The entries of a matrix as one vector, row by row",
        "(ravel (matrix (list (list 1 2) (list 3 4))))";
    row => "row", "m i", exactly(2),
        "Row i of a matrix as a vector, counted from 0",
        "(row (id_matrix 2) 0)";
    col => "col", "m j", exactly(2),
        "Column j of a matrix as a vector, counted from 0",
        "(col (id_matrix 2) 0)";
    |args| Ok(Value::matrix(transpose(matrix(args, 0)?))) => "transpose", "m", exactly(1),
        "The matrix with rows and columns exchanged",
        "(transpose (matrix (list (list 1 2) (list 3 4))))";
    matrix_add => "matrix_add", "a b", exactly(2),
        "The sum of two matrices of equal dimensions",
        "(matrix_add (id_matrix 2) (id_matrix 2))";
    matrix_mul => "matrix_mul", "a b", exactly(2),
        "The product of two matrices",
        "(matrix_mul (id_matrix 2) (id_matrix 2))";
    matrix_times_vector => "matrix_times_vector", "m xs", exactly(2),
        "The product of a matrix and a column vector",
        "(matrix_times_vector (id_matrix 2) (vector 1 2))";
    vector_times_matrix => "vector_times_matrix", "xs m", exactly(2),
        "The product of a row vector and a matrix",
        "(vector_times_matrix (vector 1 2) (id_matrix 2))";
    scale_matrix => "scale_matrix", "c m", exactly(2),
        "The matrix with every entry times c; the arguments may come in either order",
        "(scale_matrix 2 (id_matrix 2))";
    matrix_inverse => "matrix_inverse", "m", exactly(1),
        "The inverse of a square matrix",
        "(matrix_inverse (diag_matrix (vector 2 4)))";
    matrix_solve => "matrix_solve", "a b", exactly(2),
        "The x with a x = b, for a vector or a matrix b",
        "(matrix_solve (diag_matrix (vector 2 4)) (vector 1 1))";
    matrix_trace => "matrix_trace", "m", exactly(1),
        "The sum of the diagonal of a square matrix",
        "(matrix_trace (id_matrix 3))";
    cholesky => "cholesky", "m", exactly(1),
        "The lower triangular L with L times its transpose = m, for a symmetric positive definite m",
        "(cholesky (diag_matrix (vector 4 9)))";
    log_det => "log_det", "m", exactly(1),
        "The logarithm of the determinant, for a positive definite matrix by its Cholesky factor, else of the determinant's absolute value",
        "(log_det (diag_matrix (vector 2 4)))";
}

/// "2 x 3"
fn shape(m: &Matrix) -> String {
    format!("{} x {}", m.rows(), m.cols())
}

fn from_rows(args: Args<'_>) -> Outcome {
    if let Value::Matrix(_) = args[0] {
        return Ok(args[0].clone());
    }
    let unfit = || {
        ArgumentError::wrong_type(0, "a rectangular matrix (a list of rows of numbers)", args[0])
    };
    let rows = elements(args, 0)?;
    let mut entries = Vec::new();
    let mut width = None;
    for (i, row) in rows.iter().enumerate() {
        let row = row.to_reals().ok_or_else(unfit)?;
        let width = *width.get_or_insert(row.len());
        if row.len() != width {
            return Err(ArgumentError::other(format!(
                "expected a rectangular matrix, but row 0 has {width} entries and row {i} has {}",
                row.len()
            )));
        }
        entries.extend(row);
    }
    Ok(Value::matrix(Matrix::new(rows.len(), width.unwrap_or(0), entries)))
}

/// The numbers of rows and columns that arguments `i` and `j` ask for.
fn shaped(args: Args<'_>, i: usize, j: usize) -> Result<(usize, usize), ArgumentError> {
    let (n, m) = (length(args, i)?, length(args, j)?);
    if n.saturating_mul(m) > MOST_ELEMENTS {
        return Err(ArgumentError::other(format!("a matrix of {n} x {m} is too large")));
    }
    Ok((n, m))
}

fn zero_matrix(args: Args<'_>) -> Outcome {
    let (n, m) = shaped(args, 0, args.len() - 1)?;
    Ok(Value::matrix(Matrix::new(n, m, vec![0.0; n * m])))
}

fn diag_matrix(args: Args<'_>) -> Outcome {
    let xs = reals(args, 0)?;
    let n = xs.len();
    if n.saturating_mul(n) > MOST_ELEMENTS {
        return Err(ArgumentError::other(format!("a matrix of {n} x {n} is too large")));
    }
    Ok(Value::matrix(Matrix::from_fn(n, n, |i, j| if i == j { xs[i] } else { 0.0 })))
}

/// The index of a row or column, of `size` ones.
fn index(args: Args<'_>, size: usize) -> Result<usize, ArgumentError> {
    let index = number(args, 1)?;
    let i = index as usize;
    if i as f64 == index && i < size { Ok(i) } else { Err(ArgumentError::Index { index, size }) }
}

fn row(args: Args<'_>) -> Outcome {
    let m = matrix(args, 0)?;
    Ok(Value::vector(m.row(index(args, m.rows())?)))
}

fn col(args: Args<'_>) -> Outcome {
    let m = matrix(args, 0)?;
    let j = index(args, m.cols())?;
    Ok(Value::vector((0..m.rows()).map(|i| m.get(i, j)).collect::<Vec<_>>()))
}

fn matrix_add(args: Args<'_>) -> Outcome {
    let (a, b) = (matrix(args, 0)?, matrix(args, 1)?);
    if (a.rows(), a.cols()) != (b.rows(), b.cols()) {
        return Err(mismatch_of_matrices(a, b));
    }
    let entries = a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| x + y).collect();
    Ok(Value::matrix(Matrix::new(a.rows(), a.cols(), entries)))
}

fn matrix_mul(args: Args<'_>) -> Outcome {
    let (a, b) = (matrix(args, 0)?, matrix(args, 1)?);
    if a.cols() != b.rows() {
        return Err(mismatch_of_matrices(a, b));
    }
    within_reach(a.rows(), a.cols(), b.cols())?;
    Ok(Value::matrix(linalg::product(a, b)))
}

/// Products and factorisations run to their end once begun, so those that would take more than
/// some seconds, or more memory than there is, are refused.
fn within_reach(n: usize, inner: usize, m: usize) -> Result<(), ArgumentError> {
    const MOST_STEPS: usize = 8_000_000_000;
    let entries = n.saturating_mul(m);
    if entries > MOST_ELEMENTS || entries.saturating_mul(inner) > MOST_STEPS {
        let message = format!("matrices of {n} x {inner} and {inner} x {m} are too large for this");
        return Err(ArgumentError::other(message));
    }
    Ok(())
}

/// A square matrix that is not too large to be factored.
fn factorable(args: Args<'_>) -> Result<&Matrix, ArgumentError> {
    let m = square(args)?;
    within_reach(m.rows(), m.rows(), m.rows())?;
    Ok(m)
}

fn mismatch_of_matrices(a: &Matrix, b: &Matrix) -> ArgumentError {
    dimension_mismatch(format_args!("a matrix of {} and a matrix of {}", shape(a), shape(b)))
}

fn mismatch_with_vector(m: &Matrix, xs: &[f64]) -> ArgumentError {
    dimension_mismatch(format_args!("a matrix of {} and a vector of {}", shape(m), xs.len()))
}

fn matrix_times_vector(args: Args<'_>) -> Outcome {
    let (m, xs) = (matrix(args, 0)?, reals(args, 1)?);
    if m.cols() != xs.len() {
        return Err(mismatch_with_vector(m, &xs));
    }
    Ok(Value::vector((0..m.rows()).map(|i| dot(m.row(i), &xs)).collect::<Vec<_>>()))
}

fn vector_times_matrix(args: Args<'_>) -> Outcome {
    let (xs, m) = (reals(args, 0)?, matrix(args, 1)?);
    if m.rows() != xs.len() {
        return Err(mismatch_with_vector(m, &xs));
    }
    let columns = transpose(m);
    Ok(Value::vector((0..m.cols()).map(|j| dot(&xs, columns.row(j))).collect::<Vec<_>>()))
}

fn scale_matrix(args: Args<'_>) -> Outcome {
    let (factor, entries) = number_and_other(args);
    let (c, m) = (number(args, factor)?, matrix(args, entries)?);
    let scaled = m.as_slice().iter().map(|x| c * x).collect();
    Ok(Value::matrix(Matrix::new(m.rows(), m.cols(), scaled)))
}

fn square(args: Args<'_>) -> Result<&Matrix, ArgumentError> {
    let m = matrix(args, 0)?;
    if m.is_square() {
        return Ok(m);
    }
    let message = format!("expected a square matrix, found one of the dimensions {}", shape(m));
    Err(ArgumentError::other(message))
}

fn factored(args: Args<'_>) -> Result<Lu, ArgumentError> {
    linalg::lu(factorable(args)?)
        .ok_or_else(|| ArgumentError::domain(0, "an invertible matrix", args[0]))
}

fn matrix_inverse(args: Args<'_>) -> Outcome {
    let n = square(args)?.rows();
    Ok(Value::matrix(factored(args)?.solve_matrix(&linalg::identity(n))))
}

fn matrix_solve(args: Args<'_>) -> Outcome {
    let a = square(args)?;
    if let Value::Matrix(b) = args[1] {
        if a.rows() != b.rows() {
            return Err(mismatch_of_matrices(a, b));
        }
        within_reach(a.rows(), a.rows(), b.cols())?;
        return Ok(Value::matrix(factored(args)?.solve_matrix(b)));
    }
    let b = reals(args, 1)?;
    if a.rows() != b.len() {
        return Err(mismatch_with_vector(a, &b));
    }
    Ok(Value::vector(factored(args)?.solve(&b)))
}

fn matrix_trace(args: Args<'_>) -> Outcome {
    let m = square(args)?;
    Ok(Value::Number((0..m.rows()).fold(0.0, |total, i| total + m.get(i, i))))
}

fn cholesky(args: Args<'_>) -> Outcome {
    linalg::cholesky(factorable(args)?)
        .map(Value::matrix)
        .ok_or_else(|| ArgumentError::domain(0, "a symmetric positive definite matrix", args[0]))
}

fn log_det(args: Args<'_>) -> Outcome {
    let log_det = match linalg::cholesky(factorable(args)?) {
        Some(lower) => linalg::log_det_from_cholesky(&lower),
        None => factored(args)?.log_abs_det(),
    };
    // The empty product is 1, and the logarithm of 1 is 0 without a sign.
    Ok(Value::Number(log_det + 0.0))
}
