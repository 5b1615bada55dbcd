//! Definition 8, generalised (theory 1.6 to 1.9): the local sections below a hub.
//!
//! A **hub** is a node whose change fans out: a border of the paper. Without the hub, what its change
//! reaches falls apart into connected components, the **local sections**: deterministic nodes
//! and the absorbing choices below them. A section's log weight is a function of the hub before
//! and after and of inputs that the change does not reach, so sections may be read one by one.
//!
//! Every hub keeps a **roster** ([`roster`]): which of its child edges lead to which section, by
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
//! Reading order: [`component`] (what a section is, and when it is none), [`roster`] (rosters),
//! [`evaluate`] (log weights, without writing), `program` and `kept` (many at a time).

pub mod component;
pub mod evaluate;
pub(crate) mod lanes;
mod leaf_cache;
pub mod roster;
mod writer;

pub use component::Refusal;
pub use evaluate::Evaluator;
pub use roster::{Kind, Sections};

/// What an edge is to the hub that it comes from: the place of a section in the hub's roster, or
/// one of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing(u32);

impl Standing {
    /// Not classified (or the parent is no hub).
    pub const UNKNOWN: Standing = Standing(u32::MAX);
    pub const FOLLOWER: Standing = Standing(u32::MAX - 1);
    pub const IDLE: Standing = Standing(u32::MAX - 2);
    pub const NESTED: Standing = Standing(u32::MAX - 3);
    pub const REFUSED: Standing = Standing(u32::MAX - 4);
    pub const PLATE: Standing = Standing(u32::MAX - 5);

    pub fn unit(place: usize) -> Standing {
        Standing(place as u32)
    }

    pub fn as_unit(self) -> Option<usize> {
        (self.0 < Standing::PLATE.0).then_some(self.0 as usize)
    }

    pub fn is_known(self) -> bool {
        self != Standing::UNKNOWN
    }
}
