//! Covariance matrices of Gaussian processes; the formulas are in [`crate::covariance`].

use super::{Aggregate, Shape};
use crate::covariance::{Kernel, Parameters, Points, Slopes};

pub static ALL: &[Aggregate] = &[
    Aggregate {
        name: "cov_exp_quad",
        shape: |shapes| shape(Kernel::ExpQuad, shapes),
        value: |args, shapes, out| value(Kernel::ExpQuad, args, shapes, out),
        pull: |args, shapes, out, g, slopes| {
            pull(Kernel::ExpQuad, args, shapes, (out, g), slopes);
        },
    },
    Aggregate {
        name: "cov_matern32",
        shape: |shapes| shape(Kernel::Matern32, shapes),
        value: |args, shapes, out| value(Kernel::Matern32, args, shapes, out),
        pull: |args, shapes, out, g, slopes| {
            pull(Kernel::Matern32, args, shapes, (out, g), slopes);
        },
    },
    Aggregate {
        name: "cov_matern52",
        shape: |shapes| shape(Kernel::Matern52, shapes),
        value: |args, shapes, out| value(Kernel::Matern52, args, shapes, out),
        pull: |args, shapes, out, g, slopes| {
            pull(Kernel::Matern52, args, shapes, (out, g), slopes);
        },
    },
    Aggregate {
        name: "cov_periodic",
        shape: |shapes| shape(Kernel::Periodic, shapes),
        value: |args, shapes, out| value(Kernel::Periodic, args, shapes, out),
        pull: |args, shapes, out, g, slopes| {
            pull(Kernel::Periodic, args, shapes, (out, g), slopes);
        },
    },
];

/// How many points, of how many numbers each.
fn points_of(shape: Shape) -> Option<(usize, usize)> {
    match shape {
        Shape::Vector(n) if n > 0 => Some((n, 1)),
        Shape::Matrix(n, m) if n > 0 && m > 0 => Some((n, m)),
        _ => None,
    }
}

fn shape(kernel: Kernel, shapes: &[Shape]) -> Option<Shape> {
    let first = shapes.len().checked_sub(kernel.parameters())?;
    if !shapes[first..].iter().all(|shape| *shape == Shape::Number) {
        return None;
    }
    match &shapes[..first] {
        [x] => points_of(*x).map(|(n, _)| Shape::Matrix(n, n)),
        [x, y] => {
            let ((n, width), (m, other)) = (points_of(*x)?, points_of(*y)?);
            (width == other).then_some(Shape::Matrix(n, m))
        }
        _ => None,
    }
}

/// The points and the parameters.
fn read<'a>(
    kernel: Kernel,
    args: &[&'a [f64]],
    shapes: &[Shape],
) -> (Points<'a>, Option<Points<'a>>, Vec<f64>) {
    let first = args.len() - kernel.parameters();
    let points = |i: usize| {
        let width = points_of(shapes[i]).map_or(1, |(_, width)| width);
        Points { entries: args[i], width }
    };
    let parameters = args[first..].iter().map(|arg| arg[0]).collect();
    (points(0), (first == 2).then(|| points(1)), parameters)
}

fn value(kernel: Kernel, args: &[&[f64]], shapes: &[Shape], out: &mut [f64]) -> bool {
    let (x, y, parameters) = read(kernel, args, shapes);
    let parameters = Parameters(&parameters);
    let finite = |points: &Points| points.entries.iter().all(|x| x.is_finite());
    if !parameters.are_positive() || !finite(&x) || !y.is_none_or(|y| finite(&y)) {
        return false;
    }
    kernel.fill(x, y, parameters, out);
    true
}

fn pull(
    kernel: Kernel,
    args: &[&[f64]],
    shapes: &[Shape],
    (out, g): (&[f64], &[f64]),
    slopes: &mut [&mut [f64]],
) {
    let (x, y, parameters) = read(kernel, args, shapes);
    let (points, scales) = slopes.split_at_mut(args.len() - kernel.parameters());
    let mut found = match points {
        [x] => Slopes { x, y: None, parameters: vec![0.0; parameters.len()] },
        [x, y] => Slopes { x, y: Some(y), parameters: vec![0.0; parameters.len()] },
        _ => unreachable!("one set of points or two"),
    };
    kernel.pull((x, y), Parameters(&parameters), (out, g), &mut found);
    for (slope, found) in scales.iter_mut().zip(found.parameters) {
        slope.iter_mut().for_each(|slope| *slope += found);
    }
}
