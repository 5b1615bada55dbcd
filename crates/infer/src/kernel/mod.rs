//! Kernels: one file each, named as users call them.

pub mod default;
pub mod gibbs;
pub mod hmc;
pub mod map;
pub mod mh;
pub mod nuts;
pub mod pgibbs;
pub mod rejection;
pub mod scan;
pub mod slice;
pub mod subsampled_mh;

use smidgen_engine::{EvalError, Trace};
use smidgen_value::Rng;

use crate::explain::{Explanation, Look};
use crate::run::Log;

/// A Markov kernel on traces.
pub trait Kernel {
    /// One transition.
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError>;

    /// Whether a transition needs no state that is possible to begin with, because what it draws
    /// does not depend on the one that is left.
    fn starts_anywhere(&self) -> bool {
        false
    }

    /// What it would do to the trace as it is now, which is left as it is. Who moves the whole
    /// scaffolds of a target's blocks finds the words in [`crate::explain::blocks`].
    fn explain(&mut self, _look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        let notes = vec!["nothing more is known about this kernel".to_owned()];
        Ok(Explanation { notes, ..Explanation::default() })
    }
}
