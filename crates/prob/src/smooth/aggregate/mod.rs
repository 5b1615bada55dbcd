//! Functions of vectors and matrices with their derivatives, in reverse: from the slope of a sum
//! of results, g = d f / d out, to the slopes d f / d argument = (d out / d argument)' g.
//!
//! * [`vectors`]: sums, products and what is made of them;
//! * [`products`]: products with matrices;
//! * [`factors`]: what a factorisation of a matrix gives;
//! * [`covariances`]: matrices of Gaussian processes;
//! * [`laws`]: log densities, distribution functions and quantiles.

mod covariances;
mod factors;
mod laws;
mod products;
mod vectors;

/// The form of an argument or a result. A matrix is stored row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Number,
    Vector(usize),
    Matrix(usize, usize),
    /// A law, by its number ([`crate::law::number`]): it does not move.
    Law,
}

impl Shape {
    pub fn len(self) -> usize {
        match self {
            Shape::Number | Shape::Law => 1,
            Shape::Vector(n) => n,
            Shape::Matrix(rows, cols) => rows * cols,
        }
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

pub struct Aggregate {
    pub name: &'static str,
    /// The form of the result; none if the arguments do not fit.
    pub shape: fn(&[Shape]) -> Option<Shape>,
    pub value: ValueOf,
    pub pull: Pull,
}

/// Fills `out`. False outside the domain.
pub type ValueOf = fn(args: &[&[f64]], shapes: &[Shape], out: &mut [f64]) -> bool;

/// Adds (d out / d arg)' out_slope to each of `slopes`. An empty slope is not wanted.
pub type Pull = fn(
    args: &[&[f64]],
    shapes: &[Shape],
    out: &[f64],
    out_slope: &[f64],
    slopes: &mut [&mut [f64]],
);

static FAMILIES: &[&[Aggregate]] =
    &[vectors::ALL, products::ALL, factors::ALL, covariances::ALL, laws::ALL];

pub(super) fn find(name: &str) -> Option<&'static Aggregate> {
    FAMILIES.iter().copied().flatten().find(|aggregate| aggregate.name == name)
}

/// slope += c x
fn add_scaled(slope: &mut [f64], c: f64, x: &[f64]) {
    for (slope, x) in slope.iter_mut().zip(x) {
        *slope += c * x;
    }
}

fn add(slope: &mut [f64], x: &[f64]) {
    for (slope, x) in slope.iter_mut().zip(x) {
        *slope += x;
    }
}

/// The rows of a matrix with this many columns; nothing if it has none.
fn rows(entries: &[f64], cols: usize) -> std::slice::ChunksExact<'_, f64> {
    entries.chunks_exact(cols.max(1))
}

fn rows_mut(entries: &mut [f64], cols: usize) -> std::slice::ChunksExactMut<'_, f64> {
    entries.chunks_exact_mut(cols.max(1))
}
