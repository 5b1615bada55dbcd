//! Kernels with one mistake each. An instrument that does not notice them is no instrument.

use smidgen_engine::{Choice, EvalError, NodeId, Proposal, Proposed, Proposer, Scaffold};
use smidgen_infer::Tally;
use smidgen_infer::block::Scope;
use smidgen_infer::kernel::mh::mh_move;
use smidgen_infer::proposer::{Scale, walk};
use smidgen_value::Rng;

use crate::world::World;

/// A random walk whose log q ratio is falsified.
pub struct LyingDrift {
    pub scale: f64,
    /// From the true log q ratio, the old and the new value (if numbers) to what is claimed.
    pub lie: fn(f64, f64, f64) -> f64,
}

/// Forgets the Jacobian of the transform.
pub fn no_jacobian(_: f64, _: f64, _: f64) -> f64 {
    0.0
}

/// Pretends that steps upwards are easier to take than they are.
pub fn prefers_up(log_q_ratio: f64, old: f64, new: f64) -> f64 {
    log_q_ratio + (new - old)
}

impl Proposer for LyingDrift {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(choice.support()?.is_continuous())
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        if !self.is_local(choice)? {
            return Ok(Proposed::Prior);
        }
        let support = choice.support()?;
        let scale = Scale::Same(self.scale);
        let proposed = walk(choice.current(), &support, &support, &scale, rng)?;
        let Proposed::Local { value, log_q_ratio } = proposed else { return Ok(proposed) };
        let first = |value: &smidgen_value::Value| {
            value.as_number().or_else(|| value.to_reals().map(|xs| xs[0])).unwrap_or(0.0)
        };
        let claimed = (self.lie)(log_q_ratio, first(choice.current()), first(&value));
        Ok(Proposed::Local { value, log_q_ratio: claimed })
    }
}

/// One single-site move by a proposer, as `(mh default one 1)` makes it.
pub fn single_site(world: &mut World, proposer: &mut dyn Proposer, count_blocks: bool) {
    let World { model, rng, .. } = world;
    let trace = model.trace_mut();
    let blocks = trace.choices().len();
    let principal = trace.choices()[rng.below(blocks)];
    let (mut scaffold, mut tally) = (Scaffold::new(), Tally::default());
    let selection = count_blocks.then_some((&Scope::Default, blocks));
    mh_move(trace, &mut scaffold, &[principal], proposer, selection, rng, &mut tally)
        .expect("a move");
}

/// Accepts every possible proposal for one choice.
pub fn accept_always(world: &mut World, proposer: &mut dyn Proposer) {
    let World { model, rng, .. } = world;
    let trace = model.trace_mut();
    let principals: Vec<NodeId> = vec![trace.choices()[rng.below(trace.choices().len())]];
    let mut scaffold = Scaffold::new();
    let proposal =
        Proposal::propose(trace, &mut scaffold, &principals, proposer, rng).expect("a proposal");
    if proposal.log_ratio() > f64::NEG_INFINITY {
        proposal.commit();
    }
}
