//! The derivatives of the deterministic procedures, for inference by gradients.
//!
//! A smooth procedure is either [`Elementary`], a function of one or two numbers, or
//! [`Aggregate`], a function of vectors and matrices. Procedures that only arrange values (`list`,
//! `lookup`, `transpose`, ...) need no derivative: whoever follows values through them sees where
//! each number goes.

mod aggregate;
mod elementary;

pub use aggregate::{Aggregate, Shape};
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

/// By the name of the procedure (not an alias).
pub fn find(name: &str) -> Option<Smooth> {
    elementary::find(name)
        .map(Smooth::Elementary)
        .or_else(|| elementary::chain(name).map(Smooth::Chain))
        .or_else(|| aggregate::find(name).map(Smooth::Aggregate))
}
