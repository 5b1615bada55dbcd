//! A positive parameter as laws read it: a number s, or its logarithm η with s = e^η.
//!
//! A scale of e^-800 or a rate of e^800 is no double, but z = x e^-η and log s = η are, and they are all that a
//! density is made of.

use smidgen_value::math::exp;
use smidgen_value::{ArgumentError, Link, Value};

use crate::arguments;
use crate::procedure::Args;

#[derive(Clone, Copy)]
pub enum Positive {
    Plain(f64),
    Log(f64),
}

impl Positive {
    /// Argument `i`; `expected` contains the word "positive".
    #[inline]
    pub fn read(
        args: Args<'_>,
        i: usize,
        expected: &'static str,
    ) -> Result<Positive, ArgumentError> {
        match args[i] {
            Value::Linked(Link::Log, log) => Ok(Positive::Log(*log)),
            _ => arguments::positive(args, i, expected).map(Positive::Plain),
        }
    }

    /// s x
    #[inline]
    pub fn times(self, x: f64) -> f64 {
        match self {
            Positive::Plain(s) => s * x,
            Positive::Log(log) => times_exp(x, log),
        }
    }
}

/// x e^η: 0 for no x, and right where e^η alone would leave the doubles.
#[inline]
pub fn times_exp(x: f64, eta: f64) -> f64 {
    let factor = exp(eta);
    if factor.is_normal() {
        x * factor
    } else if x == 0.0 {
        0.0
    } else {
        let root = exp(0.5 * eta);
        x * root * root
    }
}
