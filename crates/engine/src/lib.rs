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
//! | `program` | straight-line code over lanes, and procedures as its steps |
//! | [`plate`] | rows of a loop that never become nodes |
//! | [`node`] | a node, and the arguments and children that tie it into the graph |
//! | [`tag`] | scopes and blocks of random choices |
//! | [`journal`] | the edits of an open transaction, and their exact undoing |
//! | [`trace`] | the graph: storage, edges, the one read path |
//! | [`fault`] | mistakes of the past that tests put back |
//! | [`freshness`] | stale values, refreshed when read (section 3.5 of the paper) |
//! | [`density`] | log densities of nodes, log joint, log likelihood |
//! | [`family`] | what one evaluated body created: reference counts, removal |
//! | `script` | the choices that a particle makes, to be made again |
//! | [`eval`], [`apply`], [`higher_order`] | core expressions to nodes |
//! | [`scaffold`] | target, transient and absorbing sets of a block |
//! | [`bound`] | an upper bound of what absorbs |
//! | [`section`], [`partition`] | local sections of a hub; border, global part and population of a block |
//! | [`proposal`] | a tentative move that undoes itself when dropped |
//! | `total` | what has a value whatever its arguments become |
//! | [`idle`] | choices that no observation depends on, drawn forward |
//! | [`enumerate`] | all combinations of values of a block of finite choices, weighed |
//! | [`particles`] | many continuations of a block at a time, group by group |
//! | [`observe`] | constraints, and what they refer to |
//! | [`model`] | directives: whole or not at all |
//! | `copy` | another particle |
//! | [`check`], [`debug`] | invariants of the whole trace; pictures of it |

mod address;
pub mod apply;
pub mod bound;
pub mod check;
mod copy;
pub mod debug;
pub mod density;
pub mod enumerate;
pub mod environment;
pub mod error;
pub mod eval;
pub mod family;
pub mod fault;
pub mod freshness;
pub mod higher_order;
pub mod id;
pub mod idle;
pub mod journal;
pub mod model;
pub mod node;
pub mod observe;
pub mod operand;
pub mod particles;
pub mod partition;
pub mod plate;
pub mod procedure;
mod program;
pub mod proposal;
pub mod scaffold;
mod script;
pub mod section;
pub mod smooth;
pub mod tag;
mod total;
pub mod trace;

pub use enumerate::{DrawnFrom, Enumeration, NoLanes, draw_place};
pub use error::{EvalError, Mistake};
pub use fault::Fault;
pub use id::NodeId;
pub use model::Model;
pub use particles::{Particles, Sequence};
pub use partition::Partition;
pub use proposal::{Choice, Proposal, Proposed, Proposer};
pub use scaffold::Scaffold;
pub use section::{Evaluator, Refusal};
pub use trace::Trace;
