//! Probabilistic execution traces (definition 1 of the paper), scaffolds (definitions 2 to 5)
//! and proposals (algorithm 1, equation 3).
//!
//! The engine never prints, reads files or the clock, and holds no random stream of its own.
//! Inside it a module may use only those above it in this list, which is also the reading
//! order:
//!
//! | module | what it is |
//! |---|---|
//! | [`id`], [`operand`] | names of nodes and families; a constant or a node |
//! | [`environment`] | frames of operands |
//! | [`procedure`] | what a procedure value holds |
//! | [`error`] | what went wrong while a program ran |
//! | [`tag`] | scopes and blocks of random choices |
//! | `program` | straight-line steps over lanes: one form for everything that is evaluated fast, and its readings |
//! | [`plate`] | rows of a loop that never become nodes |
//! | [`trace`] | nodes, families, journal, freshness; evaluation, scaffolds, proposals: the semantics |
//! | `total` | what has a value whatever its arguments become |
//! | [`section`] | local sections of a hub; border, global part and population of a block |
//! | [`smooth`] | the density of a block in unconstrained coordinates, and its gradient |
//! | [`taylor`] | the rows of a density as functions with derivatives up to the third order, and bounds of them |
//! | [`idle`] | choices that no observation depends on, drawn forward |
//! | `formula` | what structures that only select come to, whichever way they go |
//! | [`enumerate`] | all combinations of values of a block of finite choices, weighed |
//! | [`particles`] | many continuations of a block at a time, group by group |
//! | [`model`] | directives: whole or not at all |
//! | `copy` | another particle |
//! | [`check`], [`debug`] | invariants of the whole trace; pictures of it |

pub mod check;
mod copy;
pub mod debug;
pub mod enumerate;
pub mod environment;
pub mod error;
mod formula;
pub mod id;
pub mod idle;
pub mod model;
pub mod operand;
pub mod particles;
pub mod plate;
pub mod procedure;
mod program;
pub mod section;
pub mod smooth;
pub mod tag;
pub mod taylor;
mod total;
pub mod trace;

pub use trace::{bound, fault, node, proposal};

pub use enumerate::{DrawnFrom, Enumeration, NoLanes, draw_place};
pub use error::{EvalError, Mistake};
pub use fault::Fault;
pub use id::NodeId;
pub use model::Model;
pub use particles::{Particles, Sequence};
pub use proposal::{Choice, Proposal, Proposed, Proposer};
pub use section::partition::{self, Partition};
pub use section::{Evaluator, Refusal};
pub use trace::Trace;
pub use trace::scaffold::Scaffold;
