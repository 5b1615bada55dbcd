//! Functions of vectors. With g the slope of the result:
//!
//! | function        | slope of x_i                                          |
//! |-----------------|-------------------------------------------------------|
//! | sum, mean       | g, g / n                                              |
//! | prod            | g times the product of the others                     |
//! | dot             | g y_i                                                 |
//! | logsumexp       | g exp(x_i - out)                                      |
//! | linear_logistic | g out (1 - out) times 1 for the bias, x_i or w_i      |
//! | normalize       | (g_i - g . out) / sum of x                            |

use smidgen_value::math;

use super::{Aggregate, Shape, add, add_scaled};
use crate::functions::link::linear_predictor;
use crate::linalg::dot;

pub static ALL: &[Aggregate] = &[
    Aggregate {
        name: "sum",
        shape: of_vector,
        value: |args, _, out| one(out, sum(args[0])),
        pull: |_, _, _, g, slopes| slopes[0].iter_mut().for_each(|slope| *slope += g[0]),
    },
    Aggregate {
        name: "mean",
        shape: of_vector,
        value: |args, _, out| one(out, sum(args[0]) / args[0].len() as f64) && !args[0].is_empty(),
        pull: |args, _, _, g, slopes| {
            let each = g[0] / args[0].len() as f64;
            slopes[0].iter_mut().for_each(|slope| *slope += each);
        },
    },
    Aggregate {
        name: "prod",
        shape: of_vector,
        value: |args, _, out| one(out, args[0].iter().product()),
        pull: |args, _, _, g, slopes| pull_product(args[0], g[0], slopes[0]),
    },
    Aggregate {
        name: "dot",
        shape: |shapes| same_length(shapes).map(|_| Shape::Number),
        value: |args, _, out| one(out, dot(args[0], args[1])),
        pull: |args, _, _, g, slopes| {
            add_scaled(slopes[0], g[0], args[1]);
            add_scaled(slopes[1], g[0], args[0]);
        },
    },
    Aggregate {
        name: "logsumexp",
        shape: |shapes| {
            let numbers = shapes.iter().all(|shape| *shape == Shape::Number);
            if !shapes.is_empty() && numbers { Some(Shape::Number) } else { of_vector(shapes) }
        },
        value: |args, _, out| match args {
            [container] => one(out, math::logsumexp(container)),
            _ => one(out, math::logsumexp(&args.concat())),
        },
        pull: |args, _, out, g, slopes| {
            for (x, slope) in args.iter().zip(slopes) {
                for (x, slope) in x.iter().zip(slope.iter_mut()) {
                    // With all at -inf the value is -inf, and nothing near it.
                    let weight = if *x == out[0] { 1.0 } else { math::exp(x - out[0]) };
                    *slope += g[0] * weight;
                }
            }
        },
    },
    Aggregate {
        name: "linear_logistic",
        shape: |shapes| match shapes {
            [Shape::Vector(w), Shape::Vector(x)] if *w == x + 1 => Some(Shape::Number),
            _ => None,
        },
        value: |args, _, out| one(out, math::logistic(linear_predictor(args[0], args[1]))),
        pull: |args, _, out, g, slopes| {
            let predictor = g[0] * (out[0] * (1.0 - out[0]));
            if let [bias, others @ ..] = &mut *slopes[0] {
                *bias += predictor;
                add_scaled(others, predictor, args[1]);
            }
            add_scaled(slopes[1], predictor, &args[0][1..]);
        },
    },
    Aggregate {
        name: "scale_vector",
        shape: |shapes| match shapes {
            [Shape::Number, Shape::Vector(n)] | [Shape::Vector(n), Shape::Number] => {
                Some(Shape::Vector(*n))
            }
            _ => None,
        },
        value: scale,
        pull: pull_scale,
    },
    Aggregate {
        name: "scale_matrix",
        shape: |shapes| match shapes {
            [Shape::Number, Shape::Matrix(n, m)] | [Shape::Matrix(n, m), Shape::Number] => {
                Some(Shape::Matrix(*n, *m))
            }
            _ => None,
        },
        value: scale,
        pull: pull_scale,
    },
    Aggregate {
        name: "vector_add",
        shape: |shapes| same_length(shapes).map(Shape::Vector),
        value: add_entries,
        pull: pull_add_entries,
    },
    Aggregate {
        name: "matrix_add",
        shape: |shapes| match shapes {
            [a @ Shape::Matrix(..), b] if a == b => Some(*a),
            _ => None,
        },
        value: add_entries,
        pull: pull_add_entries,
    },
    Aggregate {
        name: "normalize",
        shape: |shapes| match shapes {
            [Shape::Vector(n)] => Some(Shape::Vector(*n)),
            _ => None,
        },
        value: |args, _, out| {
            let total = sum(args[0]);
            for (out, x) in out.iter_mut().zip(args[0]) {
                *out = x / total;
            }
            total != 0.0 && total.is_finite()
        },
        pull: |args, _, out, g, slopes| {
            let (total, common) = (sum(args[0]), dot(g, out));
            for (slope, g) in slopes[0].iter_mut().zip(g) {
                *slope += (g - common) / total;
            }
        },
    },
];

/// A number made of one vector.
fn of_vector(shapes: &[Shape]) -> Option<Shape> {
    matches!(shapes, [Shape::Vector(_)]).then_some(Shape::Number)
}

/// The common length of two vectors.
fn same_length(shapes: &[Shape]) -> Option<usize> {
    match shapes {
        [Shape::Vector(n), Shape::Vector(m)] if n == m => Some(*n),
        _ => None,
    }
}

fn one(out: &mut [f64], x: f64) -> bool {
    out[0] = x;
    true
}

/// From the left, starting at 0.
fn sum(xs: &[f64]) -> f64 {
    xs.iter().fold(0.0, |total, x| total + x)
}

/// The product of the others is that of the entries before times that of the entries after, which
/// needs no division and so no exception for zeros.
fn pull_product(x: &[f64], g: f64, slope: &mut [f64]) {
    let mut after = vec![1.0; x.len()];
    for i in (1..x.len()).rev() {
        after[i - 1] = after[i] * x[i];
    }
    let mut before = g;
    for ((slope, x), after) in slope.iter_mut().zip(x).zip(after) {
        *slope += before * after;
        before *= x;
    }
}

/// The place of the number beside a vector or a matrix.
fn factor(shapes: &[Shape]) -> usize {
    usize::from(shapes[0] != Shape::Number)
}

fn scale(args: &[&[f64]], shapes: &[Shape], out: &mut [f64]) -> bool {
    let place = factor(shapes);
    let c = args[place][0];
    for (out, x) in out.iter_mut().zip(args[1 - place]) {
        *out = c * x;
    }
    true
}

fn pull_scale(
    args: &[&[f64]],
    shapes: &[Shape],
    _out: &[f64],
    g: &[f64],
    slopes: &mut [&mut [f64]],
) {
    let place = factor(shapes);
    if let Some(slope) = slopes[place].first_mut() {
        *slope += dot(g, args[1 - place]);
    }
    add_scaled(slopes[1 - place], args[place][0], g);
}

fn add_entries(args: &[&[f64]], _shapes: &[Shape], out: &mut [f64]) -> bool {
    for (out, (x, y)) in out.iter_mut().zip(args[0].iter().zip(args[1])) {
        *out = x + y;
    }
    true
}

fn pull_add_entries(
    _args: &[&[f64]],
    _shapes: &[Shape],
    _out: &[f64],
    g: &[f64],
    slopes: &mut [&mut [f64]],
) {
    slopes.iter_mut().for_each(|slope| add(slope, g));
}
