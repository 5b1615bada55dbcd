//! Scaffolds of single choices whose moves change values alone, kept from one move to the next: D and A of such a move are the
//! same as long as no edge of D has changed ([`Trace::edges_at`]).
//!
//! Only small ones are kept: what a large one costs is not its scaffold.

use smallvec::SmallVec;

use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::scaffold::Scaffold;

/// Nodes of D and A of the largest that is kept.
const MOST_NODES: usize = 16;

/// By principal.
#[derive(Default)]
pub(crate) struct KeptScaffolds(Vec<Option<Box<KeptScaffold>>>);

struct KeptScaffold {
    /// The number of the last change of any edges when it was built.
    edge_edits: u64,
    target: SmallVec<[NodeId; 8]>,
    absorbing: SmallVec<[NodeId; 4]>,
    more_rows: usize,
}

impl Scaffold {
    /// Finds the scaffold of a choice that was built before, without marks on its nodes. Whether there is one
    /// that still holds.
    pub(crate) fn recall(&mut self, trace: &Trace, principal: NodeId) -> bool {
        let Some(Some(kept)) = trace.scaffolds.0.get(principal.index()) else { return false };
        if kept.target.iter().any(|id| trace.edges_at(*id) > kept.edge_edits) {
            return false;
        }
        self.clear(&[principal]);
        self.target.extend_from_slice(&kept.target);
        self.absorbing.extend_from_slice(&kept.absorbing);
        self.more_rows = kept.more_rows;
        true
    }

    /// Keeps the scaffold of a single choice that changes values alone.
    pub(crate) fn keep(&self, trace: &mut Trace) {
        let [principal] = self.principals[..] else { return };
        if self.target.len() + self.absorbing.len() > MOST_NODES {
            return;
        }
        let (nodes, edge_edits) = (trace.nodes.len(), trace.edge_edits);
        let KeptScaffolds(kept) = &mut trace.scaffolds;
        if kept.len() <= principal.index() {
            kept.resize_with(nodes, || None);
        }
        let scaffold = KeptScaffold {
            edge_edits,
            target: SmallVec::from_slice(&self.target),
            absorbing: SmallVec::from_slice(&self.absorbing),
            more_rows: self.more_rows,
        };
        match &mut kept[principal.index()] {
            Some(kept) => **kept = scaffold,
            empty => *empty = Some(Box::new(scaffold)),
        }
    }
}
