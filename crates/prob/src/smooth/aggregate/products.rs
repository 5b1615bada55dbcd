//! Products with matrices. For C = A B and G the slope of C, the slope of A is G B' and that of B
//! is A' G; a vector is a matrix of one column or one row.

use super::{Aggregate, Shape, add_scaled, rows, rows_mut};
use crate::linalg::dot;

pub static ALL: &[Aggregate] = &[
    Aggregate {
        name: "matrix_mul",
        shape: |shapes| match shapes {
            [Shape::Matrix(n, k), Shape::Matrix(l, m)] if k == l => Some(Shape::Matrix(*n, *m)),
            _ => None,
        },
        value: |args, shapes, out| {
            let (k, m) = (cols(shapes[0]), cols(shapes[1]));
            out.fill(0.0);
            let columns = transposed(args[1], m);
            for (out, a) in rows_mut(out, m).zip(rows(args[0], k)) {
                for (out, b) in out.iter_mut().zip(rows(&columns, k)) {
                    *out = dot(a, b);
                }
            }
            true
        },
        pull: |args, shapes, _, g, slopes| {
            let (k, m) = (cols(shapes[0]), cols(shapes[1]));
            for (slope, g) in rows_mut(slopes[0], k).zip(rows(g, m)) {
                for (slope, b) in slope.iter_mut().zip(rows(args[1], m)) {
                    *slope += dot(g, b);
                }
            }
            for (a, g) in rows(args[0], k).zip(rows(g, m)) {
                for (slope, a) in rows_mut(slopes[1], m).zip(a) {
                    add_scaled(slope, *a, g);
                }
            }
        },
    },
    Aggregate {
        name: "matrix_times_vector",
        shape: |shapes| match shapes {
            [Shape::Matrix(n, m), Shape::Vector(k)] if m == k => Some(Shape::Vector(*n)),
            _ => None,
        },
        value: |args, shapes, out| {
            out.fill(0.0);
            for (out, row) in out.iter_mut().zip(rows(args[0], cols(shapes[0]))) {
                *out = dot(row, args[1]);
            }
            true
        },
        pull: |args, shapes, _, g, slopes| {
            let m = cols(shapes[0]);
            for (slope, g) in rows_mut(slopes[0], m).zip(g) {
                add_scaled(slope, *g, args[1]);
            }
            for (row, g) in rows(args[0], m).zip(g) {
                add_scaled(slopes[1], *g, row);
            }
        },
    },
    Aggregate {
        name: "vector_times_matrix",
        shape: |shapes| match shapes {
            [Shape::Vector(k), Shape::Matrix(n, m)] if n == k => Some(Shape::Vector(*m)),
            _ => None,
        },
        value: |args, shapes, out| {
            out.fill(0.0);
            let columns = transposed(args[1], cols(shapes[1]));
            for (out, column) in out.iter_mut().zip(rows(&columns, args[0].len())) {
                *out = dot(args[0], column);
            }
            true
        },
        pull: |args, shapes, _, g, slopes| {
            let m = cols(shapes[1]);
            for (slope, row) in slopes[0].iter_mut().zip(rows(args[1], m)) {
                *slope += dot(g, row);
            }
            for (slope, x) in rows_mut(slopes[1], m).zip(args[0]) {
                add_scaled(slope, *x, g);
            }
        },
    },
];

fn cols(shape: Shape) -> usize {
    match shape {
        Shape::Matrix(_, cols) => cols,
        Shape::Number | Shape::Vector(_) | Shape::Law => 1,
    }
}

/// The entries column by column, of a matrix with this many columns.
fn transposed(entries: &[f64], cols: usize) -> Vec<f64> {
    (0..cols).flat_map(|j| entries.iter().skip(j).step_by(cols)).copied().collect()
}
