//! Particles: the sum of a path's log weights is the log density of what absorbs.

use smidgen_engine::node::Op;
use smidgen_engine::particles::LookAhead;
use smidgen_engine::{EvalError, Model, NodeId, Particles, Sequence};
use smidgen_value::{Rng, math};

use super::Scene;
use crate::matrix::claim::{About, Claim};
use crate::matrix::moves::Target;
use crate::matrix::reference::State;

const PARTICLES: usize = 4;
const REFERENCE: usize = PARTICLES - 1;
/// Choices of a block.
const MOST_CHOICES: usize = 5;

/// Neighbouring choices that can be drawn, in the order of the program.
fn block(scene: &Scene<'_>, rng: &mut Rng) -> Vec<NodeId> {
    let choices = scene.model.choices_by_address();
    let mut model = scene.copy();
    let is_proper = |id: &NodeId| model.trace_mut().choice(*id).is_ok_and(|c| c.is_proper());
    let mut nodes: Vec<NodeId> = choices.into_iter().map(|(_, id)| id).filter(is_proper).collect();
    nodes.sort_by_key(|id| scene.model.node(*id).origin.start);
    let first = rng.below(nodes.len().max(1));
    nodes.into_iter().skip(first).take(1 + rng.below(MOST_CHOICES)).collect()
}

/// Runs all steps with ancestors drawn evenly among the living. The log weights of the paths.
fn run(system: &mut dyn Particles, rng: &mut Rng) -> Result<[f64; PARTICLES], EvalError> {
    let mut paths = [0.0; PARTICLES];
    for t in 0..system.steps() {
        advance(system, t, &mut paths, rng)?;
    }
    Ok(paths)
}

/// One step; who goes on from whom.
fn advance(
    system: &mut dyn Particles,
    t: usize,
    paths: &mut [f64; PARTICLES],
    rng: &mut Rng,
) -> Result<[u32; PARTICLES], EvalError> {
    let mut ancestors = [REFERENCE as u32; PARTICLES];
    if t > 0 {
        let alive = (0..PARTICLES).filter(|i| paths[*i] > f64::NEG_INFINITY);
        let alive: Vec<u32> = alive.map(|i| i as u32).collect();
        for ancestor in &mut ancestors[..REFERENCE] {
            *ancestor = alive[rng.below(alive.len())];
        }
    }
    let mut log_weights = [0.0; PARTICLES];
    system.advance(t, &ancestors, rng, &mut log_weights)?;
    let before = *paths;
    for (i, path) in paths.iter_mut().enumerate() {
        *path = before[ancestors[i] as usize] + log_weights[i];
    }
    Ok(ancestors)
}

fn sequence(
    model: &mut Model,
    block: &[NodeId],
    look_ahead: LookAhead,
) -> Option<Sequence> {
    let groups: Vec<Vec<NodeId>> = block.iter().map(|id| vec![*id]).collect();
    let mut sequence = Sequence::new();
    // Observations that move are refused.
    sequence.prepare(model.trace_mut(), &groups, look_ahead).ok()?;
    Some(sequence)
}

pub fn compiled(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    weigh(scene, false, rng)
}

pub fn replayed(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    weigh(scene, true, rng)
}

fn weigh(scene: &Scene<'_>, replays: bool, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let block = block(scene, rng);
    let mut model = scene.copy();
    if block.is_empty() {
        return Ok(vec![]);
    }
    let Some(mut sequence) = sequence(&mut model, &block, LookAhead::Never) else {
        return Ok(vec![]);
    };
    if replays {
        sequence.forgo_plan();
    } else if !sequence.is_compiled() {
        return Ok(vec![]);
    }
    let mut system = sequence.begin(model.trace_mut(), PARTICLES)?;
    let paths = run(&mut *system, rng)?;
    let k = rng.below(REFERENCE);
    let says = paths[k] - paths[REFERENCE];
    if paths[REFERENCE] == f64::NEG_INFINITY {
        return Ok(vec![]);
    }
    match system.settle(k) {
        Ok(_) => {}
        // An impossible path may have stopped half-way, and has no values then.
        Err(_) if paths[k] == f64::NEG_INFINITY => return Ok(vec![]),
        Err(error) => return Err(error),
    }
    drop(sequence);
    let drawn = block.iter().map(|id| scene.model.address(*id)).collect();
    let (before, after) = (scene.here(), State::Moved(Box::new(model)));
    Ok(vec![Claim { about: About::LogRatio { before, after, drawn }, says }])
}

/// Pasts of other particles with the reference's future: ancestor sampling.
pub fn looking_ahead(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let block = block(scene, rng);
    let mut model = scene.copy();
    if block.len() < 2 {
        return Ok(vec![]);
    }
    let Some(mut sequence) = sequence(&mut model, &block, LookAhead::Always) else {
        return Ok(vec![]);
    };
    if !sequence.looks_ahead() || sequence.steps() != block.len() {
        return Ok(vec![]);
    }
    let mut system = sequence.begin(model.trace_mut(), PARTICLES)?;
    let stop = 1 + rng.below(block.len() - 1);
    let (mut weights, mut pasts) = ([0.0; PARTICLES], vec![Vec::<Target>::new(); PARTICLES]);
    for t in 0..stop {
        let ancestors = advance(&mut *system, t, &mut weights, rng)?;
        let before = std::mem::take(&mut pasts);
        for (i, ancestor) in ancestors.iter().enumerate() {
            let mut past = before[*ancestor as usize].clone();
            let drawn = system.drawn(t, i);
            past.extend(drawn.into_iter().map(|value| Target { node: block[t], value }));
            pasts.push(past);
        }
    }
    let mut future = [0.0; PARTICLES];
    system.look_ahead(stop, &mut future)?;
    let k = rng.below(REFERENCE);
    let log_reference = weights[REFERENCE] + future[REFERENCE];
    if log_reference == f64::NEG_INFINITY || pasts[k].len() != stop {
        return Ok(vec![]);
    }
    let says = weights[k] + future[k] - log_reference;
    let drawn = block[..stop].iter().map(|id| scene.model.address(*id)).collect();
    let (before, after) = (scene.here(), scene.with(&pasts[k]));
    Ok(vec![Claim { about: About::LogRatio { before, after, drawn }, says }])
}

/// Two paths of a finite chain, with their probabilities as they were drawn.
pub fn forward_backward(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let mut model = scene.copy();
    let mut chain: Vec<NodeId> = model.choices().to_vec();
    chain.retain(|id| {
        let is_random = matches!(scene.model.node(*id).op, Op::Random(_));
        let choice = model.trace_mut().choice(*id);
        is_random && choice.is_ok_and(|choice| choice.enumerate().is_ok_and(|v| v.len() < 10))
    });
    chain.truncate(MOST_CHOICES);
    if chain.is_empty() {
        return Ok(vec![]);
    }
    let mut paths = Vec::new();
    for _ in 0..2 {
        let (mut model, mut sequence) = (scene.copy(), Sequence::new());
        if !sequence.prepare_path(model.trace_mut(), &chain, &Default::default())? {
            return Ok(vec![]);
        }
        let mut log_p = 0.0;
        let mut pick = |log_weights: &[f64], rng: &mut Rng| {
            let possible: Vec<usize> =
                (0..log_weights.len()).filter(|k| log_weights[*k] > f64::NEG_INFINITY).collect();
            let k = possible[rng.below(possible.len())];
            log_p += log_weights[k] - math::logsumexp(log_weights);
            k
        };
        if sequence.draw_path(model.trace_mut(), &mut pick, rng)?.is_none() {
            return Ok(vec![]);
        }
        paths.push((log_p, State::Moved(Box::new(model))));
    }
    let [(log_before, before), (log_after, after)] =
        <[_; 2]>::try_from(paths).unwrap_or_else(|_| unreachable!("two were drawn"));
    let about = About::LogRatio { before, after, drawn: vec![] };
    Ok(vec![Claim { about, says: log_after - log_before }])
}
