//! Definition 8, generalised (theory 1.6 to 1.9): the local sections below a hub.
//!
//! A **hub** is a node whose change fans out: a border of the paper. Without the hub, what its change
//! reaches falls apart into connected components, the **local sections**: deterministic nodes
//! and the absorbing choices below them. A section's log weight is a function of the hub before
//! and after and of inputs that the change does not reach, so sections may be read one by one.
//!
//! Every hub keeps a **roster** ([`crate::trace::roster`]): which of its child edges lead to which section, by
//! kind. It is made once, in the order of the number of children, and kept up to date by the
//! edges that come and go: O(1) each, nothing is ever searched or marked.
//!
//! | edge of a hub | standing |
//! |---|---|
//! | into a section that no other edge stands for yet | the section's *unit* |
//! | a second way into the same section | follower: the section counts once |
//! | to deterministic nodes that no choice depends on | idle: weight 0 |
//! | to a node that fans out in its turn | nested: that node is a hub with a roster of its own |
//! | to a plate | plate: each of its rows is a section |
//! | to structure, or anything else that cannot be a section | refused, with the reason |
//!
//! Reading order: [`component`] (what a section is, and when it is none), `classify` (what the edges of a hub are),
//! [`evaluate`] (log weights, without writing), [`partition`] and `weigh` (all sections below a block), `lanes` and `leaf_cache` (many at a time).

mod classify;
pub mod component;
pub mod evaluate;
pub(crate) mod lanes;
mod leaf_cache;
mod node_by_node;
pub mod partition;
pub(crate) mod programs;
mod rows;
mod weigh;
mod writer;

pub use crate::trace::roster::{Kind, Refusal};
pub use evaluate::Evaluator;
