//! Kernels and inference programs. Nothing here sees a node: only names of choices, scaffolds
//! and proposals, the engine's public face.
//!
//! Reading order: [`block`] (which choices a kernel moves), [`proposer`] (drift proposals and
//! their transforms), [`kernel`] (one file each), [`spec`] (the registry of kernels and the
//! reading of their arguments), [`program`] (cycle, mixture, repeat, do, collect), [`run`] (what
//! a run keeps: tallies, warnings, collected draws).

pub mod block;
pub mod kernel;
pub mod program;
pub mod proposer;
pub mod run;
pub mod spec;

pub use kernel::Kernel;
pub use program::Program;
pub use run::{Run, Tally};
