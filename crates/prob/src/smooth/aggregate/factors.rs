//! What a factorisation of a square matrix A gives. With g, or G, the slope of the result:
//!
//! | result          | slope of A                                                          |
//! |-----------------|---------------------------------------------------------------------|
//! | trace           | g on the diagonal                                                   |
//! | Y = A^-1        | -Y' G Y'                                                            |
//! | X = A^-1 B      | -S X', where S = A'^-1 G is the slope of B                          |
//! | log det A       | g A'^-1                                                             |
//! | L with L L' = A | L'^-1 (P + P') L^-1 / 2, where P is the lower triangle of L' G with |
//! |                 | its diagonal halved                                                 |
//!
//! The last from d L = L F(L^-1 dA L'^-1), where F takes the lower triangle and halves the
//! diagonal (Murray 2016, "Differentiation of the Cholesky decomposition").

use smidgen_value::Matrix;

use super::{Aggregate, Shape, add, add_scaled};
use crate::linalg::{self, Lu};

pub static ALL: &[Aggregate] = &[
    Aggregate {
        name: "matrix_trace",
        shape: |shapes| square(shapes).map(|_| Shape::Number),
        value: |args, shapes, out| {
            let diagonal = args[0].iter().step_by(size(shapes) + 1);
            out[0] = diagonal.fold(0.0, |total, x| total + x);
            true
        },
        pull: |_, shapes, _, g, slopes| {
            slopes[0].iter_mut().step_by(size(shapes) + 1).for_each(|slope| *slope += g[0]);
        },
    },
    Aggregate {
        name: "matrix_inverse",
        shape: |shapes| square(shapes).map(|n| Shape::Matrix(n, n)),
        value: |args, shapes, out| {
            let n = size(shapes);
            fill(out, factored(args, n).map(|lu| lu.solve_matrix(&linalg::identity(n))))
        },
        pull: |_, shapes, out, g, slopes| {
            let n = size(shapes);
            let transposed = linalg::transpose(&matrix(n, n, out));
            let inner = linalg::product(&transposed, &matrix(n, n, g));
            add_scaled(slopes[0], -1.0, linalg::product(&inner, &transposed).as_slice());
        },
    },
    Aggregate {
        name: "matrix_solve",
        shape: |shapes| match shapes {
            [Shape::Matrix(n, m), b] if n == m => match b {
                Shape::Vector(k) | Shape::Matrix(k, _) if k == n => Some(*b),
                _ => None,
            },
            _ => None,
        },
        value: |args, shapes, out| {
            let n = size(shapes);
            let b = matrix(n, right_hand_sides(shapes), args[1]);
            fill(out, factored(args, n).map(|lu| lu.solve_matrix(&b)))
        },
        pull: pull_solve,
    },
    Aggregate {
        name: "log_det",
        shape: |shapes| square(shapes).map(|_| Shape::Number),
        value: |args, shapes, out| {
            let n = size(shapes);
            let log_det = match linalg::cholesky(&matrix(n, n, args[0])) {
                Some(lower) => Some(linalg::log_det_from_cholesky(&lower)),
                None => factored(args, n).map(|lu| lu.log_abs_det()),
            };
            out[0] = log_det.unwrap_or(f64::NAN) + 0.0;
            log_det.is_some()
        },
        pull: |args, shapes, _, g, slopes| {
            let n = size(shapes);
            let inverse = match linalg::cholesky(&matrix(n, n, args[0])) {
                Some(lower) => Some(linalg::inverse_from_cholesky(&lower)),
                None => factored_transpose(args, n).map(|lu| lu.solve_matrix(&linalg::identity(n))),
            };
            if let Some(inverse) = inverse {
                add_scaled(slopes[0], g[0], inverse.as_slice());
            }
        },
    },
    Aggregate {
        name: "cholesky",
        shape: |shapes| square(shapes).map(|n| Shape::Matrix(n, n)),
        value: |args, shapes, out| {
            let n = size(shapes);
            fill(out, linalg::cholesky(&matrix(n, n, args[0])))
        },
        pull: |_, shapes, out, g, slopes| {
            let n = size(shapes);
            let slope = pull_cholesky(&matrix(n, n, out), &matrix(n, n, g));
            add(slopes[0], slope.as_slice());
        },
    },
];

/// The size of the one square matrix.
fn square(shapes: &[Shape]) -> Option<usize> {
    match shapes {
        [Shape::Matrix(n, m)] if n == m => Some(*n),
        _ => None,
    }
}

/// The number of rows of the first argument.
fn size(shapes: &[Shape]) -> usize {
    match shapes[0] {
        Shape::Matrix(n, _) => n,
        Shape::Number | Shape::Vector(_) | Shape::Law => 1,
    }
}

/// The number of columns of the second argument.
fn right_hand_sides(shapes: &[Shape]) -> usize {
    match shapes[1] {
        Shape::Matrix(_, m) => m,
        Shape::Number | Shape::Vector(_) | Shape::Law => 1,
    }
}

fn matrix(rows: usize, cols: usize, entries: &[f64]) -> Matrix {
    Matrix::new(rows, cols, entries.to_vec())
}

fn factored(args: &[&[f64]], n: usize) -> Option<Lu> {
    linalg::lu(&matrix(n, n, args[0]))
}

fn factored_transpose(args: &[&[f64]], n: usize) -> Option<Lu> {
    linalg::lu(&linalg::transpose(&matrix(n, n, args[0])))
}

/// Whether there is a result.
fn fill(out: &mut [f64], result: Option<Matrix>) -> bool {
    match result {
        Some(result) => {
            out.copy_from_slice(result.as_slice());
            true
        }
        None => false,
    }
}

fn pull_solve(
    args: &[&[f64]],
    shapes: &[Shape],
    out: &[f64],
    g: &[f64],
    slopes: &mut [&mut [f64]],
) {
    let (n, m) = (size(shapes), right_hand_sides(shapes));
    let Some(transposed) = factored_transpose(args, n) else {
        return;
    };
    let b_slope = transposed.solve_matrix(&matrix(n, m, g));
    add(slopes[1], b_slope.as_slice());
    if !slopes[0].is_empty() {
        let a_slope = linalg::product(&b_slope, &linalg::transpose(&matrix(n, m, out)));
        add_scaled(slopes[0], -1.0, a_slope.as_slice());
    }
}

fn pull_cholesky(lower: &Matrix, g: &Matrix) -> Matrix {
    let n = lower.rows();
    let (columns, g) = (linalg::transpose(lower), linalg::transpose(g));
    // (P + P') / 2 is half the lower triangle of L' G, mirrored. Its entry (i, j) sums over
    // k >= i >= j, as L has zeros above its diagonal.
    let middle = Matrix::from_fn(n, n, |i, j| {
        let (i, j) = (i.max(j), i.min(j));
        0.5 * linalg::dot(&columns.row(i)[i..], &g.row(j)[i..])
    });
    // L'^-1 M L^-1 for symmetric M, row by row of L'^-1.
    let inverse = linalg::inverse_transposed(lower);
    let left = Matrix::from_fn(n, n, |i, j| linalg::dot(&inverse.row(i)[i..], &middle.row(j)[i..]));
    Matrix::from_fn(n, n, |i, j| {
        let (i, j) = (i.max(j), i.min(j));
        linalg::dot(&left.row(j)[i..], &inverse.row(i)[i..])
    })
}
