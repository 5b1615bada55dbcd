//! Kernels: one file each, named as users call them.

pub mod default;
pub mod mh;
pub mod subsampled_mh;

use smidgen_engine::{EvalError, Trace};
use smidgen_value::Rng;

use crate::run::Log;

/// A Markov kernel on traces.
pub trait Kernel: Send {
    /// One transition.
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError>;
}
