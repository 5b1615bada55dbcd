//! Kernels and inference programs. Nothing here sees a node: only names of choices, scaffolds
//! and proposals, the engine's public face.
//!
//! A module uses only those above it in this list, which is also the reading order.
//!
//! | module | what it is |
//! |---|---|
//! | [`adaptation`] | scales learnt from acceptance probabilities |
//! | [`austerity`] | how far a decision from some of the sections can be trusted: theory, numbers only |
//! | [`acceptance`] | accept or not, given log weights |
//! | [`audit`] | decisions that were also made exactly |
//! | [`record`], [`run`] | what a run keeps: tallies, audits, warnings, collected draws |
//! | [`block`] | which choices a kernel moves |
//! | [`sections`] | log weights from the sections of a proposal |
//! | [`explain`] | what a kernel would do, and why not faster |
//! | [`spec`] | what a kernel is, and the reading of its arguments |
//! | [`proposer`] | proposals by a walk, their transforms, and how their scale is learnt |
//! | [`hamiltonian`] | trajectories along the gradient |
//! | [`reference`] | exact transitions that read almost nothing: theory and chain, numbers only |
//! | [`patches`] | the same for groups with effects: sweeps that read almost nothing, numbers only |
//! | [`crossed`] | the same where rows read several effects: slopes by group, crossed groups |
//! | [`trial`] | how much is read, chosen by trial |
//! | [`kernel`] | the kernels, one file each, and their registry |
//! | [`program`] | cycle, mixture, repeat, do, collect |

pub mod acceptance;
pub mod adaptation;
pub mod audit;
pub mod austerity;
pub mod block;
pub mod crossed;
pub mod explain;
pub mod hamiltonian;
pub mod kernel;
pub mod patches;
pub mod program;
pub mod proposer;
pub mod record;
pub mod reference;
pub mod run;
pub mod sections;
pub mod spec;
pub mod trial;

pub use explain::Explanation;
pub use kernel::Kernel;
pub use program::Program;
pub use record::{KernelRecord, Tally};
pub use run::Run;
