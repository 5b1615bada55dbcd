//! The whole log density of a state that was moved about.

use smidgen_engine::check::again::Choices;
use smidgen_engine::check::paths::{RowReading, log_joint_by_rows};
use smidgen_engine::{EvalError, Evaluator, Model, Partition, Proposal, Scaffold};
use smidgen_value::Rng;

use super::Scene;
use crate::matrix::claim::{About, Claim};
use crate::matrix::moves::Toward;
use crate::matrix::reference::State;
use crate::matrix::subject::House;

/// Moves a choice and keeps the move if the state there is possible. None if it was not kept.
fn moved(scene: &Scene<'_>, rng: &mut Rng) -> Result<Option<Model>, EvalError> {
    let Some(target) = scene.target(rng) else { return Ok(None) };
    let mut model = scene.copy();
    let (mut scaffold, block) = (Scaffold::new(), [target.node]);
    let targets = [target];
    let proposal =
        Proposal::propose(model.trace_mut(), &mut scaffold, &block, &mut Toward(&targets), rng)?;
    if proposal.log_new() == f64::NEG_INFINITY {
        return Ok(None);
    }
    proposal.commit();
    Ok(Some(model))
}

fn joint_of(mut model: Model) -> Result<Claim, EvalError> {
    let says = model.log_joint()?;
    Ok(Claim { about: About::LogJoint(State::Moved(Box::new(model))), says })
}

/// The state as it is and the state after a move; where that is impossible, the values alone.
pub fn after_a_move(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let mut claims = vec![joint_of(scene.copy())?];
    if let Some(model) = moved(scene, rng)? {
        claims.push(joint_of(model)?);
    }
    if let Some(target) = scene.target(rng) {
        let state = scene.with(&[target]);
        // The same program in the path's own house, with these values.
        let house = if scene.has_plates() { House::Plates } else { House::Nodes };
        if let Some(choices) = state.choices()
            && let Ok(mut world) = scene.subject.world(house, Some(choices), 0)
            && let Ok(says) = world.model.log_joint()
        {
            claims.push(Claim { about: About::LogJoint(state), says });
        }
    }
    Ok(claims)
}

/// Everything below the choice is stale when it is read.
pub fn after_a_lazy_move(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let Some(target) = scene.target(rng) else { return Ok(vec![]) };
    let mut model = scene.copy();
    let (block, targets) = ([target.node], [target]);
    let (mut partition, mut evaluator) = (Partition::new(), Evaluator::new());
    if partition.find(model.trace_mut(), &block).is_err() {
        return Ok(vec![]);
    }
    let mut scaffold = Scaffold::new();
    let proposal = Proposal::propose_global(
        model.trace_mut(),
        &mut scaffold,
        &block,
        &partition,
        &mut evaluator,
        (&mut Toward(&targets), rng),
    )?;
    if proposal.log_new() == f64::NEG_INFINITY {
        return Ok(vec![]);
    }
    proposal.commit_lazily();
    match model.log_joint() {
        Ok(says) => Ok(vec![Claim { about: About::LogJoint(State::Moved(Box::new(model))), says }]),
        // Sections that were not asked may be impossible.
        Err(error) if error.rejects() => Ok(vec![]),
        Err(error) => Err(error),
    }
}

pub fn likelihood(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let Some(mut model) = moved(scene, rng)? else { return Ok(vec![]) };
    let says = model.log_likelihood()?;
    Ok(vec![Claim { about: About::LogLikelihood(State::Moved(Box::new(model))), says }])
}

pub fn weight_of_nodes(scene: &Scene<'_>, _: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    Ok(weight(scene, House::Nodes))
}

pub fn weight_of_plates(scene: &Scene<'_>, _: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    Ok(weight(scene, House::Plates))
}

/// What directives have weighed by and by, as for particles that are whole models.
fn weight(scene: &Scene<'_>, house: House) -> Vec<Claim> {
    if scene.has_makers() {
        return vec![];
    }
    let choices = Choices::of(scene.model);
    let world = choices.and_then(|choices| scene.subject.world(house, Some(choices), 0).ok());
    let claim = |world: crate::World| Claim {
        says: world.model.log_weight(),
        about: About::LogLikelihood(scene.here()),
    };
    world.map(claim).into_iter().collect()
}

pub fn rows_by_text(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    rows(scene, RowReading::Text, rng)
}

pub fn rows_in_lanes(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    rows(scene, RowReading::Lanes, rng)
}

fn rows(scene: &Scene<'_>, reading: RowReading, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let mut models = vec![scene.copy()];
    if let Some(target) = scene.target(rng) {
        let choices = scene.with(&[target]).choices();
        let world =
            choices.and_then(|given| scene.subject.world(House::Plates, Some(given), 0).ok());
        models.extend(world.map(|world| world.model.copy(super::COPY)));
    }
    let mut claims = Vec::new();
    for mut model in models {
        if let Some(says) = log_joint_by_rows(model.trace_mut(), reading)? {
            claims.push(Claim { about: About::LogJoint(State::Moved(Box::new(model))), says });
        }
    }
    Ok(claims)
}
