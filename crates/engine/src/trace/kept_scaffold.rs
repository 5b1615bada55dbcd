//! Scaffolds of single choices, kept from one move to the next. Where a move changes values alone, D and A are the same as
//! long as no edge of D has changed ([`Trace::edges_at`]). Where it would change what exists and can be rehearsed, T is the
//! same as long as nothing that exists has changed at all ([`Trace::structure`]): until the next such move is accepted.
//!
//! Only small ones are kept: what a large one costs is not its scaffold.

use smallvec::SmallVec;

use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::{Op, Role};
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
    body: Option<KeptBodies>,
}

/// What is known of a scaffold with structures that get another body.
#[derive(Clone, Copy)]
struct KeptBodies {
    /// The number of the last change of what exists when it was built.
    structure: u64,
    /// Which nodes of D they are, as bits.
    restructured: u32,
    transient_choices: usize,
}

impl Scaffold {
    /// Finds the scaffold of a choice that was built before, if it still holds. Only nodes of D are marked, and only if the
    /// move changes what exists; its T is not listed.
    pub(crate) fn recall(&mut self, trace: &mut Trace, principal: NodeId) -> bool {
        let Some(Some(kept)) = trace.scaffolds.0.get(principal.index()) else { return false };
        let exists = kept.body.is_none_or(|body| body.structure == trace.structure);
        let edges = kept.target.iter().all(|id| trace.edges_at(*id) <= kept.edge_edits);
        if !(exists && edges || trace.has_fault(Fault::KeptScaffold)) {
            return false;
        }
        self.clear(&[principal]);
        self.target.extend_from_slice(&kept.target);
        self.absorbing.extend_from_slice(&kept.absorbing);
        if let Some(body) = kept.body {
            self.recall_bodies(trace, body);
        }
        true
    }

    fn recall_bodies(&mut self, trace: &mut Trace, body: KeptBodies) {
        (self.restructures, self.transient_is_plain) = (true, true);
        self.transient_choices = body.transient_choices;
        trace.epoch += 1;
        for (place, id) in self.target.iter().enumerate() {
            let restructured = body.restructured >> place & 1 == 1;
            trace.mark(*id, if restructured { Role::Restructured } else { Role::Target });
        }
    }

    /// Keeps the scaffold of a single choice that changes values alone, or whose moves can be rehearsed.
    pub(crate) fn keep(&self, trace: &mut Trace) {
        let [principal] = self.principals[..] else { return };
        let few = self.target.len() + self.absorbing.len() <= MOST_NODES;
        // Rows may join a plate, which is no new edge.
        let is_one = |id: &NodeId| matches!(trace.node(*id).op, Op::Random(_));
        if !few || !self.absorbing.iter().all(is_one) {
            return;
        }
        let restructured = |bits: u32, (place, id): (usize, &NodeId)| {
            bits | u32::from(trace.node(*id).role == Role::Restructured) << place
        };
        let body = self.restructures.then(|| KeptBodies {
            structure: trace.structure,
            restructured: self.target.iter().enumerate().fold(0, restructured),
            transient_choices: self.transient_choices,
        });
        let (nodes, edge_edits) = (trace.nodes.len(), trace.edge_edits);
        let KeptScaffolds(kept) = &mut trace.scaffolds;
        if kept.len() <= principal.index() {
            kept.resize_with(nodes, || None);
        }
        let scaffold = KeptScaffold {
            edge_edits,
            target: SmallVec::from_slice(&self.target),
            absorbing: SmallVec::from_slice(&self.absorbing),
            body,
        };
        match &mut kept[principal.index()] {
            Some(kept) => **kept = scaffold,
            empty => *empty = Some(Box::new(scaffold)),
        }
    }
}
