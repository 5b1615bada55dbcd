//! Where the leaves of sections stand, kept from one time to the next.
//!
//! To find the leaves of a section its nodes are gathered and the arguments of arguments followed, which
//! costs more than weighing it. What was found holds as long as the edges of all nodes on the way
//! are as they were: every node knows when they last changed (`Trace::edges_at`), so nothing has
//! to be told to what is kept here. Values are read when they are needed.

use crate::id::NodeId;
use crate::trace::Trace;

/// Where a leaf of one section stands.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// The same for ever.
    Number(f64),
    /// A constant of another form: an argument of this node.
    Constant(NodeId, u32),
    /// The value of a choice.
    Choice(NodeId),
    /// A value that follows from others, and may be stale.
    Derived(NodeId),
}

/// Nothing is kept.
const NONE: u32 = u32::MAX;

/// What is kept about the sections of one program, in the order in which they were first asked for.
#[derive(Default)]
pub(super) struct Kept {
    /// By the node that a section begins with.
    places: Vec<u32>,
    /// As of this many edits of edges.
    edge_edits: Vec<u64>,
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
    /// The leaves of a section, if they are still where they were.
    #[inline]
    pub(super) fn get(&mut self, trace: &Trace, entry: NodeId) -> Option<&[Origin]> {
        let place = *self.places.get(entry.index()).filter(|place| **place != NONE)? as usize;
        let (nodes, origins) = self.each;
        if self.edge_edits[place] != trace.edge_edits {
            let on_the_way = &self.nodes[place * nodes..(place + 1) * nodes];
            let last = on_the_way.iter().fold(0, |last, id| trace.edges_at(*id).max(last));
            if last > self.edge_edits[place] {
                return None;
            }
            self.edge_edits[place] = trace.edge_edits;
        }
        Some(&self.origins[place * origins..(place + 1) * origins])
    }

    /// Keeps what was just found. All sections of a program have as many nodes and leaves.
    pub(super) fn keep(&mut self, trace: &Trace, entry: NodeId, draft: &Draft) {
        if self.places.len() <= entry.index() {
            self.places.resize(entry.index() + 1, NONE);
        }
        match self.places[entry.index()] {
            NONE => {
                self.each = (draft.nodes.len(), draft.origins.len());
                self.places[entry.index()] = self.edge_edits.len() as u32;
                self.edge_edits.push(trace.edge_edits);
                self.nodes.extend_from_slice(&draft.nodes);
                self.origins.extend_from_slice(&draft.origins);
            }
            place => {
                let (place, (nodes, origins)) = (place as usize, self.each);
                self.edge_edits[place] = trace.edge_edits;
                self.nodes[place * nodes..(place + 1) * nodes].copy_from_slice(&draft.nodes);
                self.origins[place * origins..(place + 1) * origins]
                    .copy_from_slice(&draft.origins);
            }
        }
    }
}
