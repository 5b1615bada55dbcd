//! Covariance matrices of Gaussian processes ([`crate::covariance`]).
//!
//! Points are the numbers of a vector, or the rows of a matrix. Two sets of points give the covariances of each of the
//! first with each of the second.

use std::borrow::Cow;

use smidgen_value::{ArgumentError, Matrix, Value};

use super::{MOST_ELEMENTS, Outcome, dimension_mismatch};
use crate::arguments::{positive, reals};
use crate::covariance::{Kernel, Parameters, Points};
use crate::procedure::Args;

table! {
    |args| covariance(Kernel::ExpQuad, args) => "cov_exp_quad", "points [others] amplitude length", between(3, 4),
        "The covariance matrix amplitude^2 exp(-r^2 / (2 length^2)) of points at distances r: a smooth Gaussian process",
        "(cov_exp_quad (vector 0 1 2) 1 0.5)";
    |args| covariance(Kernel::Matern32, args) => "cov_matern32", "points [others] amplitude length", between(3, 4),
        "The covariance matrix amplitude^2 (1 + a) exp(-a) with a = sqrt(3) r / length, of points at distances r",
        "(cov_matern32 (vector 0 1 2) 1 0.5)";
    |args| covariance(Kernel::Matern52, args) => "cov_matern52", "points [others] amplitude length", between(3, 4),
        "The covariance matrix amplitude^2 (1 + a + a^2 / 3) exp(-a) with a = sqrt(5) r / length, of points at distances r",
        "(cov_matern52 (vector 0 1 2) 1 0.5)";
    |args| covariance(Kernel::Periodic, args) => "cov_periodic", "points [others] amplitude length period", between(4, 5),
        "The covariance matrix amplitude^2 exp(-2 sin^2(pi r / period) / length^2) of points at distances r",
        "(cov_periodic (vector 0 1 2) 1 0.5 3)";
}

const POINTS: &str = "points: a vector of numbers, or a matrix with a row for each, such as (matrix (column t x)) of a column of vectors";

/// The coordinates of points, and how many each has.
fn points<'a>(args: Args<'a>, i: usize) -> Result<(Cow<'a, [f64]>, usize), ArgumentError> {
    let (entries, width) = match args[i] {
        Value::Matrix(m) => (Cow::Borrowed(m.as_slice()), m.cols()),
        _ => {
            let numbers = reals(args, i);
            let numbers = numbers.map_err(|_| ArgumentError::wrong_type(i, POINTS, args[i]))?;
            (numbers, 1)
        }
    };
    if entries.is_empty() {
        return Err(ArgumentError::domain(i, "at least one point", args[i]));
    }
    if !entries.iter().all(|x| x.is_finite()) {
        return Err(ArgumentError::domain(i, "points with finite coordinates", args[i]));
    }
    Ok((entries, width))
}

fn covariance(kernel: Kernel, args: Args<'_>) -> Outcome {
    let first = args.len() - kernel.parameters();
    let (x, width) = points(args, 0)?;
    let others = if first == 2 { Some(points(args, 1)?) } else { None };
    if let Some((_, other)) = &others
        && *other != width
    {
        return Err(dimension_mismatch(format_args!("points of {width} and of {other} numbers")));
    }
    let mut parameters = vec![positive(args, first, "a positive amplitude")?];
    parameters.push(positive(args, first + 1, "a positive length")?);
    if kernel == Kernel::Periodic {
        parameters.push(positive(args, first + 2, "a positive period")?);
    }
    let x = Points { entries: &x, width };
    let y = others.as_ref().map(|(entries, width)| Points { entries, width: *width });
    let (n, m) = (x.len(), y.map_or(x.len(), |y| y.len()));
    if n.saturating_mul(m) > MOST_ELEMENTS {
        return Err(ArgumentError::other(format!("a matrix of {n} x {m} is too large")));
    }
    let mut entries = vec![0.0; n * m];
    kernel.fill(x, y, Parameters(&parameters), &mut entries);
    Ok(Value::matrix(Matrix::new(n, m, entries)))
}
