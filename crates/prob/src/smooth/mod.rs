//! The derivatives of the deterministic procedures, for inference by gradients.
//!
//! A smooth procedure is either [`Elementary`], a function of one or two numbers, or
//! [`Aggregate`], a function of vectors and matrices. Procedures that only arrange values (`list`,
//! `lookup`, `transpose`, ...) need no derivative: whoever follows values through them sees where
//! each number goes. The same holds for those that only check their argument ([`is_identity`]).
//!
//! A symmetric matrix has one slope per entry like any other: the two entries of a pair share the
//! slope of moving both equally.
//!
//! Functions of one number are also [`Curve`]s, with derivatives of high order and bounds of them.

mod aggregate;
mod curve;
mod elementary;

pub use aggregate::{Aggregate, Shape};
pub(crate) use curve::log_scaled_bessel;
pub use curve::{Curve, CurveFamily, Interval, MOST_ORDER};
pub use elementary::Elementary;

/// How a procedure of the language is differentiated.
#[derive(Clone, Copy)]
pub enum Smooth {
    /// One number, or two.
    Elementary(Elementary),
    /// Any number of numbers, as a chain: (f a b c) is (f (f a b) c).
    Chain(Elementary),
    Aggregate(&'static Aggregate),
}

/// By the name of the procedure (not an alias). `-` and `/` are given as functions of two
/// numbers; of one number they are [`Elementary::Negate`] and [`Elementary::Reciprocal`].
pub fn find(name: &str) -> Option<Smooth> {
    elementary::find(name)
        .map(Smooth::Elementary)
        .or_else(|| elementary::chain(name).map(Smooth::Chain))
        .or_else(|| aggregate::find(name).map(Smooth::Aggregate))
}

/// Whether the procedure checks its numbers and returns them as they are. `simplex` takes one
/// container or its entries one by one, and returns them as a vector; the others take and return
/// one number. (`integer` is not among them: what has to be whole does not move.)
pub fn is_identity(name: &str) -> bool {
    matches!(name, "real" | "probability" | "simplex")
}
