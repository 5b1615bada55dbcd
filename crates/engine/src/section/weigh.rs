//! Log weights of the sections of a partition, after a proposal that changed the global part alone.

use smallvec::SmallVec;
use smidgen_value::{Rng, Value};

use super::Evaluator;
use super::partition::Partition;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::proposal::{Proposal, Proposer};
use crate::trace::scaffold::Scaffold;

/// From so many sections on they do not all stay in the processor's own memory.
const FAR_APART: usize = 1 << 13;

impl Partition {
    /// Looks at what the sections at these places begin with, and does nothing with it. The sections
    /// of a large population lie far apart in memory; looked at in a loop without dependencies
    /// they arrive several at a time, and are there when they are weighed.
    pub(crate) fn look_ahead(&self, trace: &Trace, places: &[u32]) {
        let [pool] = &self.pools[..] else { return };
        if pool.is_plate || self.units < FAR_APART {
            return;
        }
        let units = &trace.sections.hub(pool.of).units;
        let mut seen = 0;
        let mut nodes: SmallVec<[NodeId; 128]> = SmallVec::new();
        nodes.extend(places.iter().map(|place| units[*place as usize].edge.node));
        for node in &nodes {
            seen ^= trace.node(*node).children.len() ^ trace.node(*node).args.len();
        }
        for node in &nodes {
            let node = trace.node(*node);
            for arg in &node.args {
                if let Some(Value::Vector(row)) = arg.operand.constant() {
                    seen ^= row.first().map_or(0, |x| x.to_bits() as usize);
                }
            }
            for child in node.children.iter().take(1) {
                seen ^= trace.node(child.node).args.len() ^ trace.node(child.node).family.index();
            }
        }
        std::hint::black_box(seen);
    }

    /// The log weights of the sections at these places of the population, in this order.
    pub(crate) fn log_weights(
        &self,
        trace: &mut Trace,
        evaluator: &mut Evaluator,
        places: &[u32],
        weights: &mut Vec<f64>,
    ) -> Result<(), EvalError> {
        if let [pool] = &self.pools[..]
            && pool.is_plate
        {
            let first = weights.len();
            weights.resize(first + places.len(), 0.0);
            return evaluator.plate_log_weights(trace, pool.of, places, &mut weights[first..]);
        }
        self.look_ahead(trace, places);
        let first = weights.len();
        weights.resize(first + places.len(), 0.0);
        // Mostly all sections hang below one hub and compute the same.
        if let ([pool], 1) = (&self.pools[..], self.all_hubs.len())
            && let [stratum] = &trace.sections.hub(pool.of).strata[..]
        {
            let kind = (pool.of, stratum.kind);
            return evaluator.log_weights(trace, kind, places, &mut weights[first..]);
        }
        // Sections that are weighed together: the pool, the kind, and the number in this lot.
        let mut alike: SmallVec<[(u32, u32, u32); 128]> = SmallVec::new();
        for (k, place) in places.iter().enumerate() {
            let place = *place as usize;
            let number = self.pool_at(place);
            let pool = &self.pools[number];
            if pool.is_plate {
                alike.push((number as u32, 0, k as u32));
                continue;
            }
            let (roster, unit) = self.unit_at(trace, place);
            // A section may hang below several hubs, of Γ or nested.
            if self.all_hubs.len() > 1 {
                let edge = roster.units[unit].edge;
                weights[first + k] = evaluator.shared_log_weight(trace, edge, self)?;
            } else {
                alike.push((number as u32, roster.kind_of(unit), k as u32));
            }
        }
        alike.sort_unstable();
        let mut found: SmallVec<[f64; 128]> = SmallVec::new();
        for group in alike.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let pool = &self.pools[group[0].0 as usize];
            let place = |k: u32| places[k as usize] - pool.first as u32;
            let places: SmallVec<[u32; 128]> = group.iter().map(|(_, _, k)| place(*k)).collect();
            found.resize(group.len(), 0.0);
            if pool.is_plate {
                evaluator.plate_log_weights(trace, pool.of, &places, &mut found)?;
            } else {
                evaluator.log_weights(trace, (pool.of, group[0].1), &places, &mut found)?;
            }
            for ((_, _, k), weight) in group.iter().zip(&found) {
                weights[first + *k as usize] = *weight;
            }
        }
        Ok(())
    }
}

/// Moves of the global part alone.
impl<'t> Proposal<'t> {
    /// Proposes new values for a block and changes its global part alone: the log ratio is G of
    /// equation 5. The sections are read by [`Proposal::log_weight`].
    pub fn propose_global(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principals: &[NodeId],
        partition: &Partition,
        evaluator: &mut Evaluator,
        (proposer, rng): (&mut dyn Proposer, &mut Rng),
    ) -> Result<Proposal<'t>, EvalError> {
        scaffold.build_global(trace, principals, &partition.global);
        evaluator.begin(trace, &partition.global)?;
        let replay = scaffold.observation_moves.then(|| rng.seed());
        let proposal = Proposal::begin(trace, scaffold, replay, proposer, rng)?;
        evaluator.moved(proposal.trace);
        Ok(proposal)
    }

    /// log l_i of the sections at these places of the population, for a proposal of the global part;
    /// they are added to the list.
    pub fn log_weights(
        &mut self,
        partition: &Partition,
        evaluator: &mut Evaluator,
        places: &[u32],
        weights: &mut Vec<f64>,
    ) -> Result<(), EvalError> {
        partition.log_weights(self.trace, evaluator, places, weights)
    }
}
