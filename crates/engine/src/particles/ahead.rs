//! The look ahead of ancestor sampling: before step t, for every particle,
//!
//! log γ(path_i, ref_t..T) − log γ(path_i) = Σ log p(choices and absorbing nodes of segments t..T)
//!
//! with the reference's choices from t on. A density counts only if it hangs on a choice before t
//! through deterministic nodes; the others are the same for every particle. In a Markov model that
//! is one density. In general the number of densities over a pass is Σ (segment − earliest argument),
//! up to T²/2; nothing is left out.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::LookAhead;
use super::plan::{Compiler, Made, Read, Step, Weight};
use super::segment::Segment;
use crate::id::NodeId;

/// What is computed before a step.
#[derive(Default)]
pub(super) struct Ahead {
    /// Deterministic nodes that join the path and the future.
    pub steps: Vec<Step>,
    pub weights: Vec<Weight>,
}

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

    /// The look ahead before step t, in terms of the columns of the step before.
    pub fn ahead(&mut self, crossing: &[NodeId], t: usize) -> Ahead {
        let mut ahead = Ahead::default();
        let mut computed = FxHashMap::default();
        for id in crossing {
            let reads = self.ahead_reads(*id, t, &mut ahead, &mut computed);
            let x = self.fixed_node(*id);
            ahead.weights.push(Weight { node: *id, law: self.law(*id), x, reads });
        }
        ahead
    }

    fn ahead_reads(
        &mut self,
        id: NodeId,
        t: usize,
        ahead: &mut Ahead,
        computed: &mut FxHashMap<NodeId, u32>,
    ) -> Range<u32> {
        self.reads(id, &mut |this, parent, made| this.ahead_read(parent, made, t, ahead, computed))
    }

    fn ahead_read(
        &mut self,
        id: NodeId,
        made: Made,
        t: usize,
        ahead: &mut Ahead,
        computed: &mut FxHashMap<NodeId, u32>,
    ) -> Read {
        if (made.segment as usize) < t {
            return self.in_previous(id, t);
        }
        if made.earliest as usize >= t {
            return Read::Fixed(self.fixed_node(id));
        }
        if let Some(place) = computed.get(&id) {
            return Read::Ahead(*place);
        }
        let reads =
            stacker::maybe_grow(64 << 10, 1 << 20, || self.ahead_reads(id, t, ahead, computed));
        let place = ahead.steps.len() as u32;
        ahead.steps.push(Step { node: id, rule: self.rule(id), reads });
        computed.insert(id, place);
        Read::Ahead(place)
    }
}
