//! The look ahead of ancestor sampling: before step t, for every particle,
//!
//! log γ(path_i, ref_t..T) − log γ(path_i) = Σ log p(choices and absorbing nodes of segments t..T)
//!
//! with the reference's choices from t on. A density counts only if it hangs on a choice before t
//! through deterministic nodes; the others are the same for every particle. In a Markov model that
//! is one density. In general the number of densities over a pass is Σ (segment − earliest argument),
//! up to T²/2; nothing is left out.

use super::LookAhead;
use super::bound::Bound;
use super::pass_plan::{Compiler, OWN, deterministic};
use super::segment::Segment;
use super::writer::{Read, Writer};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;

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

    /// The look ahead before step t, in terms of the columns of the step before: the densities that cross from
    /// there to the future.
    pub fn ahead(&mut self, crossing: &[NodeId], t: usize) -> Result<Bound, EvalError> {
        let mut writer = Writer::default();
        for id in crossing {
            let reads = self.ahead_reads(&mut writer, *id, t as u32)?;
            self.weigh(&mut writer, *id, reads)?;
        }
        Ok(self.plan.library.add(writer, &[], &mut self.plan.inputs).0)
    }

    fn ahead_reads(
        &mut self,
        writer: &mut Writer,
        id: NodeId,
        t: u32,
    ) -> Result<Vec<Read>, EvalError> {
        let operands: Vec<Operand> =
            self.trace.node(id).args.iter().map(|arg| arg.operand.clone()).collect();
        let mut reads = Vec::with_capacity(operands.len());
        for operand in operands {
            reads.push(match operand {
                Operand::Constant(value) => Read::Constant(value),
                Operand::Node(id) => match writer.known(id) {
                    Some(read) => read,
                    None => {
                        let read = stacker::maybe_grow(64 << 10, 1 << 20, || {
                            self.ahead_read(writer, id, t)
                        })?;
                        writer.know(id, read.clone());
                        read
                    }
                },
            });
        }
        Ok(reads)
    }

    fn ahead_read(&mut self, writer: &mut Writer, id: NodeId, t: u32) -> Result<Read, EvalError> {
        let made = self.made.get(&id).copied();
        // The rest of the reference, and what is outside the block.
        let Some(made) = made.filter(|made| made.segment < t || made.earliest < t) else {
            return self.outside(writer, id);
        };
        if let Some(standing) = self.standing.get(&id) {
            return Ok(standing.clone());
        }
        if made.segment < t {
            let held = match self.own.held.get(&id) {
                Some(held) => writer.bring(held, &self.own.kinds, &|column| OWN + column),
                None => {
                    let held = &self.carried.held[&id];
                    writer.bring(held, &self.carried.kinds, &|column| column)
                }
            };
            return Ok(Read::Held(held));
        }
        let reads = self.ahead_reads(writer, id, t)?;
        Ok(deterministic(self.trace, writer, id, &reads))
    }
}
