//! Particles: the sum of a path's log weights is the log density of what absorbs.

use smidgen_engine::node::Op;
use smidgen_engine::particles::{LookAhead, Weights};
use smidgen_engine::{EvalError, Model, NodeId, Particles, Sequence};
use smidgen_value::{Rng, Value, math};

use super::Scene;
use crate::matrix::claim::{About, Claim, Scored};
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

/// A pass: log weights of paths, and what they have drawn.
struct Pass<'a> {
    block: &'a [NodeId],
    log_weights: [f64; PARTICLES],
    drawn: Vec<Vec<Target>>,
}

impl<'a> Pass<'a> {
    fn new(block: &'a [NodeId]) -> Pass<'a> {
        Pass { block, log_weights: [0.0; PARTICLES], drawn: vec![Vec::new(); PARTICLES] }
    }

    /// One step, with ancestors drawn evenly among the living.
    fn advance(
        &mut self,
        system: &mut dyn Particles,
        t: usize,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        let mut ancestors = [REFERENCE as u32; PARTICLES];
        if t > 0 {
            let alive = (0..PARTICLES).filter(|i| self.log_weights[*i] > f64::NEG_INFINITY);
            let alive: Vec<u32> = alive.map(|i| i as u32).collect();
            for ancestor in &mut ancestors[..REFERENCE] {
                *ancestor = alive[rng.below(alive.len())];
            }
        }
        let mut log_weights = [0.0; PARTICLES];
        system.advance(t, &ancestors, rng, &mut log_weights)?;
        let (weights, drawn) = (self.log_weights, std::mem::take(&mut self.drawn));
        for (i, ancestor) in ancestors.iter().enumerate() {
            let ancestor = *ancestor as usize;
            self.log_weights[i] = weights[ancestor] + log_weights[i];
            let mut path = drawn[ancestor].clone();
            let node = self.block[t.min(self.block.len() - 1)];
            path.extend(system.drawn(t, i).into_iter().map(|value| Target { node, value }));
            self.drawn.push(path);
        }
        Ok(())
    }

    /// What a path drew, if each step drew one value.
    fn path(&self, k: usize, steps: usize) -> Option<&[Target]> {
        let path = &self.drawn[k][..];
        let is_known = |target: &Target| !matches!(target.value, Value::Nil);
        (path.len() == steps && path.iter().all(is_known)).then_some(path)
    }
}

fn sequence(model: &mut Model, block: &[NodeId], look_ahead: LookAhead) -> Option<Sequence> {
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
    let steps = sequence.steps();
    let mut system = sequence.begin(model.trace_mut(), PARTICLES)?;
    let mut pass = Pass::new(&block);
    for t in 0..steps {
        pass.advance(&mut *system, t, rng)?;
    }
    let k = rng.below(REFERENCE);
    if pass.log_weights[REFERENCE] == f64::NEG_INFINITY {
        return Ok(vec![]);
    }
    let says = pass.log_weights[k] - pass.log_weights[REFERENCE];
    let after = if says > f64::NEG_INFINITY {
        system.settle(k)?;
        drop(sequence);
        State::Moved(Box::new(model))
    } else {
        // An impossible path is no state of the trace. Which choice drew what is known where no maker draws too.
        let is_known = steps == block.len() && !scene.has_makers();
        let path = if is_known { pass.path(k, steps) } else { None };
        let Some(path) = path else { return Ok(vec![]) };
        scene.with(path)
    };
    let scored = Scored::AllBut(block.iter().map(|id| scene.model.address(*id)).collect());
    Ok(vec![Claim { about: About::LogRatio { before: scene.here(), after, scored }, says }])
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
    let mut pass = Pass::new(&block);
    for t in 0..stop {
        pass.advance(&mut *system, t, rng)?;
    }
    let mut future = [0.0; PARTICLES];
    system.look_ahead(stop, &mut future)?;
    let k = rng.below(REFERENCE);
    let log_reference = pass.log_weights[REFERENCE] + future[REFERENCE];
    let Some(past) = pass.path(k, stop).filter(|_| log_reference > f64::NEG_INFINITY) else {
        return Ok(vec![]);
    };
    let says = pass.log_weights[k] + future[k] - log_reference;
    let drawn = block[..stop].iter().map(|id| scene.model.address(*id)).collect();
    let (before, after) = (scene.here(), scene.with(past));
    let about = About::LogRatio { before, after, scored: Scored::AllBut(drawn) };
    Ok(vec![Claim { about, says }])
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
        let mut pick = |weights: Weights<'_>, rng: &mut Rng| {
            let log_weights = weights.logarithms();
            let possible: Vec<usize> =
                (0..log_weights.len()).filter(|k| log_weights[*k] > f64::NEG_INFINITY).collect();
            let k = possible[rng.below(possible.len())];
            log_p += log_weights[k] - math::logsumexp(&log_weights);
            k
        };
        if sequence.draw_path(model.trace_mut(), &mut pick, rng)?.is_none() {
            return Ok(vec![]);
        }
        paths.push((log_p, State::Moved(Box::new(model))));
    }
    let [(log_before, before), (log_after, after)] =
        <[_; 2]>::try_from(paths).unwrap_or_else(|_| unreachable!("two were drawn"));
    let about = About::LogRatio { before, after, scored: Scored::All };
    Ok(vec![Claim { about, says: log_after - log_before }])
}
