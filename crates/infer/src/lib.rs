//! Kernels and inference programs. Nothing here sees a node: only names of choices, scaffolds
//! and proposals, the engine's public face.
//!
//! Reading order: [`block`] (which choices a kernel moves), [`proposer`] (drift proposals,
//! their transforms, and how their scale is learnt by [`adaptation`]), [`acceptance`] (accept or not, given log weights), [`austerity`] (how far such
//! decisions can be trusted), [`sections`] (log weights from sections), [`trial`] and [`audit`] (decisions
//! that are also made exactly), [`kernel`] (one file each), [`spec`] (the registry of kernels and the
//! reading of their arguments), [`program`] (cycle, mixture, repeat, do, collect), [`run`] and
//! [`record`] (what a run keeps: tallies, audits, warnings, collected draws), [`explain`] (what a
//! kernel would do, and why not faster).

pub mod acceptance;
pub mod adaptation;
pub mod audit;
pub mod austerity;
pub mod block;
pub mod explain;
pub mod hamiltonian;
pub mod kernel;
pub mod program;
pub mod proposer;
pub mod record;
pub mod run;
pub mod sections;
pub mod spec;
pub mod trial;

pub use explain::Explanation;
pub use kernel::Kernel;
pub use program::Program;
pub use record::{KernelRecord, Tally};
pub use run::Run;
