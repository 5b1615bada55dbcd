//! Kernels: one file each, named as users call them.

pub mod default;
pub mod mh;

use smidgen_engine::{EvalError, Trace};
use smidgen_value::Rng;

use crate::run::Tally;

/// A Markov kernel on traces.
pub trait Kernel: Send {
    /// One transition. What could not be done, though it is no error, is said through `warn`.
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        tally: &mut Tally,
        warn: &mut dyn FnMut(String),
    ) -> Result<(), EvalError>;
}
