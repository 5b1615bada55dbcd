//! The look ahead of ancestor sampling: before step t, for every particle,
//!
//! log γ(path_i, ref_t..T) − log γ(path_i) = Σ log p(choices and absorbing nodes of segments t..T)
//!
//! with the reference's choices from t on. A density counts only if it hangs on a choice before t
//! through deterministic nodes; the others are the same for every particle. In a Markov model that
//! is one density. In general the number of densities over a pass is Σ (segment − earliest argument),
//! up to T²/2; nothing is left out.

use super::LookAhead;
use super::pass_plan::Compiler;
use super::segment::Segment;
use crate::id::NodeId;

/// A look ahead is cheap if it takes at most so many densities per node of a pass.
const CHEAP: usize = 2;

impl Compiler<'_> {
    /// Nodes that are scored, with their segments: choices in D and absorbing nodes.
    fn scored<'s>(
        &self,
        segments: &'s [Segment],
    ) -> impl Iterator<Item = (u32, NodeId)> + use<'s, '_> {
        segments.iter().zip(0..).flat_map(move |(segment, t)| {
            let choices = segment.nodes.iter().filter(|id| self.trace.node(**id).is_random());
            let all = choices.chain(&segment.absorbing).chain(&segment.makers);
            all.map(move |id| (t, *id))
        })
    }

    pub fn looks_ahead(&self, segments: &[Segment], look_ahead: LookAhead) -> bool {
        match look_ahead {
            LookAhead::Never => false,
            LookAhead::Always => true,
            LookAhead::IfCheap => {
                let nodes: usize = segments.iter().map(|s| s.nodes.len() + s.absorbing.len()).sum();
                let spans = self
                    .scored(segments)
                    .filter_map(|(t, id)| Some(t - self.earliest_argument(id)?))
                    .map(|span| span as usize);
                spans.sum::<usize>() <= CHEAP * nodes
            }
        }
    }

    /// Which densities are weighed ahead of which steps.
    pub fn crossing(&self, segments: &[Segment]) -> Vec<Vec<NodeId>> {
        let mut crossing: Vec<Vec<NodeId>> = segments.iter().map(|_| Vec::new()).collect();
        for (t, id) in self.scored(segments) {
            if let Some(earliest) = self.earliest_argument(id) {
                for step in earliest + 1..=t {
                    crossing[step as usize].push(id);
                }
            }
        }
        crossing
    }
}
