//! Whole proposals (algorithm 1): log α without log q.

use smidgen_engine::node::Op;
use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{EvalError, NodeId, Proposal, Scaffold};
use smidgen_value::Rng;

use super::Scene;
use crate::matrix::claim::{About, Claim, Scored};
use crate::matrix::moves::{Target, Toward};
use crate::matrix::reference::State;

/// One choice, or two together.
fn targets(scene: &Scene<'_>, rng: &mut Rng) -> Vec<Target> {
    let mut targets: Vec<Target> = scene.target(rng).into_iter().collect();
    if rng.coin()
        && let Some(other) = scene.target(rng)
        && targets.iter().all(|target| target.node != other.node)
    {
        targets.push(other);
    }
    targets
}

pub fn whole(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let targets = targets(scene, rng);
    let block: Vec<_> = targets.iter().map(|target| target.node).collect();
    if block.is_empty() {
        return Ok(vec![]);
    }
    let (mut model, mut scaffold) = (scene.copy(), Scaffold::new());
    let mut toward = Toward(&targets);
    let proposal = Proposal::propose(model.trace_mut(), &mut scaffold, &block, &mut toward, rng)?;
    let says = proposal.log_ratio();
    // Where a proposal is impossible it may have stopped half-way.
    let is_possible = proposal.log_new() > f64::NEG_INFINITY;
    if is_possible {
        proposal.commit();
    } else {
        drop(proposal);
    }
    let after = if is_possible { State::Moved(Box::new(model)) } else { scene.with(&targets) };
    let before = scene.here();
    Ok(vec![Claim { about: About::LogRatio { before, after, scored: Scored::All }, says }])
}

pub fn from_prior(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let choices = scene.model.choices();
    // An improper prior draws nothing.
    let is_proper = |id: &&NodeId| match scene.model.node(**id).op {
        Op::Random(law) => law.is_proper(),
        _ => true,
    };
    let choices: Vec<NodeId> = choices.iter().filter(is_proper).copied().collect();
    if choices.is_empty() {
        return Ok(vec![]);
    }
    let block = [choices[rng.below(choices.len())]];
    let (mut model, mut scaffold) = (scene.copy(), Scaffold::new());
    let proposal =
        Proposal::propose(model.trace_mut(), &mut scaffold, &block, &mut FromPrior, rng)?;
    let (says, principal) = (proposal.log_ratio(), proposal.trace().node(block[0]).value.clone());
    let is_possible = proposal.log_new() > f64::NEG_INFINITY;
    if is_possible {
        proposal.commit();
    } else {
        drop(proposal);
    }
    let after = match is_possible {
        true => State::Moved(Box::new(model)),
        false => scene.with(&[Target { node: block[0], value: principal }]),
    };
    // The choice, and all that was made anew with it.
    let scored = Scored::OfChanged(vec![]);
    Ok(vec![Claim { about: About::LogRatio { before: scene.here(), after, scored }, says }])
}

/// One set of values after the other on one scaffold, as slices do.
pub fn reconsidered(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let Some(first) = scene.target(rng) else { return Ok(vec![]) };
    let node = first.node;
    let mut model = scene.copy();
    let mut scaffold = Scaffold::new();
    let mut open = Proposal::open(model.trace_mut(), &mut scaffold, &[node], &mut Toward(&[]))?;
    if open.scaffold().moves_observations() {
        return Ok(vec![]);
    }
    let mut claims = Vec::new();
    for _ in 0..3 {
        let Some(target) = scene.target_of(node, rng) else { break };
        let targets = [target];
        open.reconsider(&mut Toward(&targets), rng)?;
        let about = About::LogRatio {
            before: scene.here(),
            after: scene.with(&targets),
            scored: Scored::All,
        };
        claims.push(Claim { about, says: open.log_ratio() });
    }
    Ok(claims)
}
