//! log α of one and the same proposal, from the whole scaffold and from sections: the identity on
//! which everything subsampled rests.

use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{Evaluator, NodeId, Partition, Proposal, Proposer, Refusal, Scaffold, Trace};
use smidgen_infer::proposer::{Drift, Scale};
use smidgen_value::Rng;

#[derive(Clone, Copy, Debug)]
pub struct TwoWays {
    pub exact: f64,
    /// G + Σ l_i.
    pub by_sections: f64,
    pub population: usize,
}

impl TwoWays {
    pub fn agree(&self) -> bool {
        let (a, b) = (self.exact, self.by_sections);
        // The smaller of the two: -inf is close to nothing else.
        a == b || (a - b).abs() <= 1e-9 * (1.0 + a.abs().min(b.abs()))
    }
}

fn proposer(walks: bool) -> Box<dyn Proposer> {
    if walks { Box::new(Drift::new(Scale::Same(0.4))) } else { Box::new(FromPrior) }
}

/// Proposes for a block twice on the same stream, by a walk or from the prior; both are dropped. An
/// error says why there is no partition.
///
/// # Panics
/// If the move changes what exists although there is a partition, or cannot be made.
pub fn two_ways(
    trace: &mut Trace,
    block: &[NodeId],
    seed: u64,
    walks: bool,
) -> Result<TwoWays, Refusal> {
    let mut partition = Partition::new();
    partition.find(trace, block)?;
    let mut scaffold = Scaffold::new();
    let mut rng = Rng::for_chain(seed, 0);
    let whole = Proposal::propose(trace, &mut scaffold, block, &mut *proposer(walks), &mut rng);
    let whole = whole.expect("a proposal");
    let exact = whole.log_ratio();
    let structure = whole.scaffold().transient_nodes(whole.trace()).count();
    assert_eq!(structure, 0, "a partition was found although the move changes what exists");
    drop(whole);
    partition.find(trace, block)?;
    let (mut evaluator, mut rng) = (Evaluator::new(), Rng::for_chain(seed, 0));
    let mut global = Proposal::propose_global(
        trace,
        &mut scaffold,
        block,
        &partition,
        &mut evaluator,
        (&mut *proposer(walks), &mut rng),
    )
    .expect("a proposal");
    let mut by_sections = global.log_ratio();
    for place in (0..partition.places()).filter(|place| !partition.is_excluded(*place)) {
        let mut one = Vec::new();
        global
            .log_weights(&partition, &mut evaluator, &[place as u32], &mut one)
            .expect("a weight");
        let weight = one[0];
        // An impossible proposal stays impossible.
        if by_sections > f64::NEG_INFINITY {
            by_sections += weight;
        }
    }
    Ok(TwoWays { exact, by_sections, population: partition.population() })
}
