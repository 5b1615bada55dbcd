//! Enumeration: log W_k − log W_0 for every candidate.

use smidgen_engine::{DrawnFrom, Enumeration, EvalError, NodeId};
use smidgen_value::Rng;

use super::Scene;
use crate::matrix::claim::{About, Claim, Scored};
use crate::matrix::moves::Target;
use crate::matrix::reference::State;

/// Candidates of one choice that are looked at.
const MOST_CANDIDATES: usize = 4;

/// A choice with a few values; none if there is none.
fn finite_choice(scene: &Scene<'_>, rng: &mut Rng) -> Option<NodeId> {
    let mut model = scene.copy();
    let trace = model.trace_mut();
    let choices = trace.choices().to_vec();
    let is_finite = |id: &NodeId| {
        let choice = trace.choice(*id);
        choice.is_ok_and(|choice| choice.enumerate().is_ok_and(|values| values.len() < 50))
    };
    let finite: Vec<NodeId> = choices.into_iter().filter(is_finite).collect();
    if finite.is_empty() { None } else { Some(finite[rng.below(finite.len())]) }
}

/// What an enumeration that has weighed says about its candidates.
fn claims(
    scene: &Scene<'_>,
    choice: NodeId,
    enumeration: &mut Enumeration,
    rng: &mut Rng,
) -> Result<Vec<Claim>, EvalError> {
    let log_weights = enumeration.log_weights().to_vec();
    if enumeration.is_pairwise() || log_weights[0] == f64::NEG_INFINITY {
        return Ok(vec![]);
    }
    let mut found = Vec::new();
    for _ in 0..MOST_CANDIDATES.min(log_weights.len() - 1) {
        let k = 1 + rng.below(log_weights.len() - 1);
        let mut model = scene.copy();
        let candidate = enumeration.candidate(model.trace_mut(), k)?;
        let value = candidate.trace().node(choice).value.clone();
        let is_possible = candidate.log_new() > f64::NEG_INFINITY;
        if is_possible {
            candidate.commit();
        } else {
            drop(candidate);
        }
        let after = match is_possible {
            true => State::Moved(Box::new(model)),
            false => scene.with(&[Target { node: choice, value }]),
        };
        let scored = Scored::OfChanged(vec![scene.model.address(choice)]);
        let about = About::LogRatio { before: scene.here(), after, scored };
        found.push(Claim { about, says: log_weights[k] - log_weights[0] });
    }
    Ok(found)
}

fn weigh(
    scene: &Scene<'_>,
    mut enumeration: Enumeration,
    times: usize,
    wanted: fn(&Enumeration) -> bool,
    rng: &mut Rng,
) -> Result<Vec<Claim>, EvalError> {
    let Some(choice) = finite_choice(scene, rng) else { return Ok(vec![]) };
    let mut model = scene.copy();
    for _ in 0..times {
        enumeration.weigh(model.trace_mut(), &[choice], DrawnFrom::Nothing, rng)?;
    }
    if !wanted(&enumeration) {
        return Ok(vec![]);
    }
    claims(scene, choice, &mut enumeration, rng)
}

pub fn by_proposals(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    weigh(scene, Enumeration::of_proposals(), 1, |_| true, rng)
}

pub fn dry(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    weigh(scene, Enumeration::new(), 1, Enumeration::is_dry, rng)
}

/// By a plan that was kept from the time before.
pub fn recalled(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    weigh(scene, Enumeration::new(), 3, Enumeration::is_recalled, rng)
}

/// The log joint density after a candidate was installed, in place where that can be.
pub fn installed(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let Some(choice) = finite_choice(scene, rng) else { return Ok(vec![]) };
    let (mut model, mut enumeration) = (scene.copy(), Enumeration::new());
    for _ in 0..2 {
        enumeration.weigh(model.trace_mut(), &[choice], DrawnFrom::Nothing, rng)?;
    }
    let log_weights = enumeration.log_weights();
    let possible: Vec<usize> =
        (1..log_weights.len()).filter(|k| log_weights[*k] > f64::NEG_INFINITY).collect();
    if possible.is_empty() || !enumeration.is_dry() {
        return Ok(vec![]);
    }
    enumeration.install(model.trace_mut(), possible[rng.below(possible.len())])?;
    let says = model.log_joint()?;
    Ok(vec![Claim { about: About::LogJoint(State::Moved(Box::new(model))), says }])
}
