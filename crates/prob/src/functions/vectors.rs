//! Vectors of numbers: making them, summing them, and probability vectors. Wherever a vector
//! is read, a list or an array of numbers will do.

use smidgen_value::{ArgumentError, Value};

use super::{MOST_ELEMENTS, Outcome, length, number_and_other, numbers, same_length};
use crate::arguments::{finite, number, number_where, reals};
use crate::linalg;
use crate::procedure::Args;

table! {
    vector => "vector", "x ...", at_least(0),
        "The vector of the numbers",
        "(vector 1 2 3)";
    fill => "fill", "n x", exactly(2),
        "n times x: a vector if x is a number, else an array",
        "(fill 3 0.5)";
    |args| Ok(Value::vector(vec![0.0; length(args, 0)?])) => "zeros", "n", exactly(1),
        "The vector of n zeros",
        "(zeros 3)";
    |args| Ok(Value::vector(vec![1.0; length(args, 0)?])) => "ones", "n", exactly(1),
        "The vector of n ones",
        "(ones 3)";
    linspace => "linspace", "from to n", exactly(3),
        "The vector of n equally spaced numbers, both ends included",
        "(linspace 0 1 5)";
    arange => "arange", "[from] to [step]", between(1, 3),
        "The vector from (or 0), from + step (or 1), ... up to but excluding to",
        "(arange 0 1 0.25)";
    |args| Ok(Value::Number(sum(&reals(args, 0)?))) => "sum", "xs", exactly(1),
        "The sum of the numbers in a container",
        "(sum (list 1 2 3))";
    |args| Ok(Value::Number(reals(args, 0)?.iter().product())) => "prod", "xs", exactly(1),
        "The product of the numbers in a container",
        "(prod (list 2 3 4))";
    mean => "mean", "xs", exactly(1),
        "The arithmetic mean of the numbers in a container",
        "(mean (list 1 2 6))";
    dot => "dot", "xs ys", exactly(2),
        "The scalar product of two vectors of equal length",
        "(dot (vector 1 2) (vector 3 4))";
    scale_vector => "scale_vector", "c xs", exactly(2),
        "The vector with every entry times c; the arguments may come in either order",
        "(scale_vector 2 (vector 1 2))";
    vector_add => "vector_add", "xs ys", exactly(2),
        "The sum of two vectors of equal length, entry by entry",
        "(vector_add (vector 1 2) (vector 3 4))";
    simplex => "simplex", "p ...", at_least(1),
        "The vector of these probabilities, which have to sum to 1",
        "(simplex 0.2 0.3 0.5)";
    normalize => "normalize", "xs", exactly(1),
        "The vector of the numbers divided by their sum",
        "(normalize (vector 1 1 2))";
}

fn vector(args: Args<'_>) -> Outcome {
    let entries: Result<Vec<f64>, _> = (0..args.len()).map(|i| number(args, i)).collect();
    Ok(Value::vector(entries?))
}

fn fill(args: Args<'_>) -> Outcome {
    let n = length(args, 0)?;
    Ok(match args[1] {
        Value::Number(_) | Value::Linked(..) => Value::vector(vec![number(args, 1)?; n]),
        other => Value::array(vec![other.clone(); n]),
    })
}

fn linspace(args: Args<'_>) -> Outcome {
    let (from, to) = (number(args, 0)?, number(args, 1)?);
    let n = length(args, 2)?;
    let steps = n.saturating_sub(1).max(1) as f64;
    let mut points: Vec<f64> = (0..n).map(|i| from + (to - from) * (i as f64 / steps)).collect();
    if n > 1 {
        points[n - 1] = to;
    }
    Ok(Value::vector(points))
}

fn arange(args: Args<'_>) -> Outcome {
    let finite = |i| finite(args, i, "a finite number");
    let (from, to) = match args.len() {
        1 => (0.0, finite(0)?),
        _ => (finite(0)?, finite(1)?),
    };
    let step = match args.len() {
        3 => number_where(args, 2, "a step other than 0", |s| s != 0.0 && s.is_finite())?,
        _ => 1.0,
    };
    let size = ((to - from) / step).ceil().max(0.0);
    if size > MOST_ELEMENTS as f64 {
        return Err(ArgumentError::other(format!("a range of {size} elements is too long")));
    }
    let points: Vec<f64> = (0..size as usize).map(|i| from + i as f64 * step).collect();
    Ok(Value::vector(points))
}

/// From the left, starting at 0.
fn sum(xs: &[f64]) -> f64 {
    xs.iter().fold(0.0, |total, x| total + x)
}

fn mean(args: Args<'_>) -> Outcome {
    let xs = reals(args, 0)?;
    if xs.is_empty() {
        return Err(ArgumentError::domain(0, "at least one number", args[0]));
    }
    Ok(Value::Number(sum(&xs) / xs.len() as f64))
}

fn dot(args: Args<'_>) -> Outcome {
    let (xs, ys) = (reals(args, 0)?, reals(args, 1)?);
    same_length(&xs, &ys)?;
    Ok(Value::Number(linalg::dot(&xs, &ys)))
}

fn scale_vector(args: Args<'_>) -> Outcome {
    let (factor, entries) = number_and_other(args);
    let c = number(args, factor)?;
    Ok(Value::vector(reals(args, entries)?.iter().map(|x| c * x).collect::<Vec<_>>()))
}

fn vector_add(args: Args<'_>) -> Outcome {
    let (xs, ys) = (reals(args, 0)?, reals(args, 1)?);
    same_length(&xs, &ys)?;
    Ok(Value::vector(xs.iter().zip(ys.iter()).map(|(x, y)| x + y).collect::<Vec<_>>()))
}

fn simplex(args: Args<'_>) -> Outcome {
    let weights = numbers(args)?;
    let total = sum(&weights);
    let is_simplex = weights.iter().all(|p| *p >= 0.0) && (total - 1.0).abs() <= 1e-8;
    let weights = Value::vector(weights);
    if is_simplex {
        return Ok(weights);
    }
    Err(ArgumentError::domain(0, "probabilities that sum to 1 (a simplex)", &weights))
}

fn normalize(args: Args<'_>) -> Outcome {
    let xs = reals(args, 0)?;
    let total = sum(&xs);
    if total == 0.0 || total.is_infinite() {
        let expected = "numbers whose sum is finite and not 0";
        return Err(ArgumentError::domain(0, expected, args[0]));
    }
    Ok(Value::vector(xs.iter().map(|x| x / total).collect::<Vec<_>>()))
}
