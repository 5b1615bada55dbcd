//! What stands in a lane for one look-up of one candidate, and when it was last compared with the trace.

use smidgen_value::Value;

use super::kept::Root;
use crate::id::NodeId;
use crate::trace::Trace;

/// What the numbers were last compared with.
#[derive(PartialEq)]
pub(super) struct AsOf {
    pub(super) memo_edits: u64,
    stamps: u64,
    value_edits: u64,
    last_lazy: u64,
    pub(super) own_maker: Option<NodeId>,
}

impl AsOf {
    pub(super) fn now(trace: &Trace, own_maker: Option<NodeId>) -> AsOf {
        let Trace { memo_edits, stamps, value_edits, last_lazy, .. } = *trace;
        AsOf { memo_edits, stamps, value_edits, last_lazy, own_maker }
    }
}

/// What a look-up has for a candidate.
#[derive(Default)]
pub(super) struct Cell {
    pub(super) root: Option<Root>,
    /// Of what a constant made: it stays as long as the root.
    pub(super) maker: Option<NodeId>,
    /// What the numbers in the lane are copied from.
    pub(super) copied: Copied,
    /// Whether these are the numbers of the family as it is, or of what was made aside.
    pub(super) fits: bool,
}

#[derive(Default)]
pub(super) enum Copied {
    #[default]
    Nothing,
    Value(Value),
    Statistics {
        maker: NodeId,
        stamp: u64,
    },
    /// Statistics that were made aside.
    Aside(Value),
}

impl Cell {
    /// The maker whose statistics stand in the lane.
    #[inline]
    pub(super) fn applied(&self) -> Option<NodeId> {
        match self.copied {
            Copied::Statistics { maker, .. } if self.fits => Some(maker),
            _ => None,
        }
    }
}
