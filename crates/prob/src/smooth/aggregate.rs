//! Functions of vectors and matrices with their derivatives.

/// The form of an argument or a result. A matrix is stored row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Number,
    Vector(usize),
    Matrix(usize, usize),
}

impl Shape {
    pub fn len(self) -> usize {
        match self {
            Shape::Number => 1,
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
    /// Fills `out`. False outside the domain.
    pub value: fn(args: &[&[f64]], shapes: &[Shape], out: &mut [f64]) -> bool,
    /// Adds (d out / d arg)' out_slope to each of `slopes`.
    pub pull: fn(
        args: &[&[f64]],
        shapes: &[Shape],
        out: &[f64],
        out_slope: &[f64],
        slopes: &mut [&mut [f64]],
    ),
}

static ALL: &[Aggregate] = &[];

pub(super) fn find(name: &str) -> Option<&'static Aggregate> {
    ALL.iter().find(|aggregate| aggregate.name == name)
}
