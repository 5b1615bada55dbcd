//! Where the leaves of sections stand, kept from one time to the next.
//!
//! To find the leaves of a section its nodes are gathered and the arguments of arguments followed, which
//! costs more than weighing it. What was found holds as long as the edges of all nodes on the way
//! are as they were: every node knows when they last changed (`Trace::edges_at`), so nothing has
//! to be told to what is kept here. Values are read when they are needed.
//!
//! The room is bounded, and what comes later takes the place of what was there: an edit of the model costs the
//! same whatever its size. Of a population that is larger nothing is kept; its sections are
//! seldom read twice.

use crate::id::NodeId;
use crate::trace::Trace;

/// Where a leaf of one section stands. All share one form, because a branch for each of them would
/// seldom be foreseen.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    /// The node whose value it is, or of which it is an argument; [`NodeId::NONE`] for a number.
    pub node: NodeId,
    pub reading: Reading,
    pub number: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A number, which is the same for ever, or the value of a choice.
    Plain,
    /// A value that follows from others, and may be stale.
    Derived,
    /// A constant of another form: an argument of the node.
    Constant(u32),
}

impl Origin {
    pub(super) fn number(number: f64) -> Origin {
        Origin { node: NodeId::NONE, reading: Reading::Plain, number }
    }

    pub(super) fn at(node: NodeId, reading: Reading) -> Origin {
        Origin { node, reading, number: f64::NAN }
    }
}

/// Sections that are kept at first and at most, as powers of two.
const FEWEST: u32 = 6;
const MOST: u32 = 14;

/// Populations up to this are kept.
pub(super) const LARGEST: usize = 1 << MOST;

/// What is kept about the sections of one program.
#[derive(Default)]
pub(super) struct Kept {
    /// The size as a power of two.
    bits: u32,
    filled: usize,
    /// By place: the node that the section begins with ([`NodeId::NONE`] where there is none), and the number
    /// of edits of edges up to which what is kept is known to hold.
    entries: Vec<(NodeId, u64)>,
    nodes: Vec<NodeId>,
    origins: Vec<Origin>,
    /// Nodes and leaves of each.
    each: (usize, usize),
}

/// A section in the making: all nodes on the way to its leaves, and the leaves.
#[derive(Default)]
pub(super) struct Draft {
    pub nodes: Vec<NodeId>,
    pub origins: Vec<Origin>,
}

impl Draft {
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.origins.clear();
    }
}

impl Kept {
    fn with_room(bits: u32, each: (usize, usize)) -> Kept {
        let size = 1 << bits;
        Kept {
            bits,
            filled: 0,
            entries: vec![(NodeId::NONE, 0); size],
            nodes: vec![NodeId(0); size * each.0],
            origins: vec![Origin::number(0.0); size * each.1],
            each,
        }
    }

    /// The place of a section: the high bits of a product with 2^64 over the golden ratio.
    #[inline]
    fn place(&self, entry: NodeId) -> usize {
        let spread = (entry.index() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (spread >> (64 - self.bits)) as usize
    }

    /// The place of what is kept about a section, if its leaves are still where they were.
    #[inline]
    pub(super) fn find(&mut self, trace: &Trace, entry: NodeId) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let place = self.place(entry);
        let (known, edge_edits) = &mut self.entries[place];
        if *known != entry {
            return None;
        }
        if *edge_edits != trace.edge_edits {
            let nodes = self.each.0;
            let on_the_way = &self.nodes[place * nodes..(place + 1) * nodes];
            let last = on_the_way.iter().fold(0, |last, id| trace.edges_at(*id).max(last));
            if last > *edge_edits {
                return None;
            }
            *edge_edits = trace.edge_edits;
        }
        Some(place)
    }

    /// Where a leaf of the section at a place stands.
    #[inline]
    pub(super) fn origin(&self, place: usize, leaf: usize) -> &Origin {
        &self.origins[place * self.each.1 + leaf]
    }

    /// Keeps what was just found. All sections of a program have as many nodes and leaves.
    pub(super) fn keep(&mut self, trace: &Trace, entry: NodeId, draft: &Draft) {
        if self.entries.is_empty() {
            *self = Kept::with_room(FEWEST, (draft.nodes.len(), draft.origins.len()));
        } else if 2 * self.filled > self.entries.len() && self.bits < MOST {
            let smaller = std::mem::take(self);
            *self = Kept::with_room(smaller.bits + 2, smaller.each);
            for (place, entry) in smaller.entries.iter().enumerate() {
                let (nodes, origins) = smaller.each;
                if entry.0 != NodeId::NONE {
                    let nodes = &smaller.nodes[place * nodes..(place + 1) * nodes];
                    let origins = &smaller.origins[place * origins..(place + 1) * origins];
                    self.put(*entry, nodes, origins);
                }
            }
        }
        self.put((entry, trace.edge_edits), &draft.nodes, &draft.origins);
    }

    fn put(&mut self, entry: (NodeId, u64), nodes: &[NodeId], origins: &[Origin]) {
        let place = self.place(entry.0);
        let before = std::mem::replace(&mut self.entries[place], entry);
        self.filled += usize::from(before.0 == NodeId::NONE);
        self.nodes[place * nodes.len()..(place + 1) * nodes.len()].copy_from_slice(nodes);
        self.origins[place * origins.len()..(place + 1) * origins.len()].copy_from_slice(origins);
    }
}
