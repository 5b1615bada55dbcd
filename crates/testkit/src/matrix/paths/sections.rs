//! Local sections: G + Σ l_i of one proposal (equation 5).

use smidgen_engine::check::paths::weigh_sections_one_by_one;
use smidgen_engine::{EvalError, Evaluator, Partition, Proposal, Scaffold};
use smidgen_value::Rng;

use super::Scene;
use crate::matrix::claim::{About, Claim, Scored};
use crate::matrix::moves::{Target, Toward};

/// How sections are weighed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Lane by lane, where every kind has a program.
    Lanes,
    OneByOne,
    /// As they come.
    Any,
}

pub fn in_lanes(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let target = scene.target(rng);
    weigh(scene, target.into_iter().collect(), Reading::Lanes, rng)
}

pub fn one_by_one(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let target = scene.target(rng);
    weigh(scene, target.into_iter().collect(), Reading::OneByOne, rng)
}

pub fn of_plates(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let target = scene.target(rng);
    weigh(scene, target.into_iter().collect(), Reading::Any, rng)
}

pub fn of_a_block(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let (first, second) = (scene.target(rng), scene.target(rng));
    match (first, second) {
        (Some(first), Some(second)) if first.node != second.node => {
            weigh(scene, vec![first, second], Reading::Any, rng)
        }
        _ => Ok(vec![]),
    }
}

fn weigh(
    scene: &Scene<'_>,
    targets: Vec<Target>,
    reading: Reading,
    rng: &mut Rng,
) -> Result<Vec<Claim>, EvalError> {
    let mut model = scene.copy();
    let block: Vec<_> = targets.iter().map(|target| target.node).collect();
    let (mut partition, mut evaluator) = (Partition::new(), Evaluator::new());
    if block.is_empty() || partition.find(model.trace_mut(), &block).is_err() {
        return Ok(vec![]);
    }
    if reading == Reading::OneByOne {
        weigh_sections_one_by_one(model.trace_mut());
    }
    let included = (0..partition.places()).filter(|place| !partition.is_excluded(*place));
    let places: Vec<u32> = included.map(|place| place as u32).collect();
    let mut scaffold = Scaffold::new();
    let mut global = Proposal::propose_global(
        model.trace_mut(),
        &mut scaffold,
        &block,
        &partition,
        &mut evaluator,
        (&mut Toward(&targets), rng),
    )?;
    let mut says = global.log_ratio();
    let mut weights = Vec::new();
    // An impossible global part decides: nobody looks at sections.
    if says > f64::NEG_INFINITY && !global.is_identity() {
        global.log_weights(&partition, &mut evaluator, &places, &mut weights)?;
        says += weights.iter().sum::<f64>();
    }
    let by_lanes = partition.is_compiled(global.trace());
    drop(global);
    if weights.is_empty() || (reading == Reading::Lanes && !by_lanes) {
        return Ok(vec![]);
    }
    let (before, after) = (scene.here(), scene.with(&targets));
    Ok(vec![Claim { about: About::LogRatio { before, after, scored: Scored::All }, says }])
}
