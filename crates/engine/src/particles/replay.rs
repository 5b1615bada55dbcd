//! Particles in the trace, for blocks that decide what exists.
//!
//! D and T are taken out of the trace once. Then a path is a stack of segments, each a stretch of
//! the journal: the last one is undone by rolling back, and made again from its script, the list
//! of values that it drew. To extend a particle, the trace goes back to where its path and the
//! path in place part, and forward along its own. Particles are visited in the order of their
//! genealogy, children of one ancestor together, so that a step walks once around the tree of the
//! paths' ends that have not yet met in a common ancestor: O(P log P) segments on average with
//! multinomial resampling, whatever T.
//!
//! Not done here: the look ahead of ancestor sampling. Observations that come to refer to a choice
//! outside T' are refused.

use rustc_hash::FxHashMap;
use smidgen_value::{Rng, Value};

use super::segment::Segment;
use super::{Particles, observation_moves};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::eval::{Evaluation, Phase, Regeneration};
use crate::trace::journal::Savepoint;
use crate::trace::proposal::FromPrior;
use crate::trace::scaffold::Scaffold;
use crate::trace::script::{Script, Source};

/// A segment that is in place.
struct Placed {
    particle: u32,
    savepoint: Savepoint,
    begun: Vec<NodeId>,
}

/// What a particle did in one step.
struct Past {
    ancestor: u32,
    drawn: Vec<Value>,
}

pub(super) struct Replay<'a> {
    trace: &'a mut Trace,
    scaffold: &'a Scaffold,
    segments: &'a [Segment],
    particles: usize,
    start: Savepoint,
    /// Values of the reference, by the addresses of its choices.
    reference: FxHashMap<u64, Value>,
    stack: Vec<Placed>,
    /// By step and particle.
    past: Vec<Vec<Past>>,
    /// The particles of the last step in the order of their genealogy.
    order: Vec<u32>,
    touched: u64,
    settled: bool,
}

impl<'a> Replay<'a> {
    pub fn begin(
        trace: &'a mut Trace,
        scaffold: &'a Scaffold,
        segments: &'a [Segment],
        particles: usize,
    ) -> Result<Replay<'a>, EvalError> {
        let made = scaffold.target.iter().copied().chain(scaffold.transient_nodes(trace));
        let choice = |id: &NodeId| trace.node(*id).is_random() && !trace.node(*id).constrained;
        let valued = |id: NodeId| (trace.node(id).address, trace.node(id).value.clone());
        let reference = made.filter(choice).map(valued).collect();
        let replay = Replay {
            start: trace.savepoint(),
            trace,
            scaffold,
            segments,
            particles,
            reference,
            stack: Vec::new(),
            past: Vec::new(),
            order: Vec::new(),
            touched: 0,
            settled: false,
        };
        replay.trace.detach(scaffold, None)?;
        Ok(replay)
    }

    /// Makes a segment on top of the path in place. Its log weight, −∞ if it left some domain (then
    /// the segment is not in place), and its script.
    fn run(
        &mut self,
        t: usize,
        particle: u32,
        script: &mut Script,
        rng: &mut Rng,
    ) -> Result<f64, EvalError> {
        let (savepoint, segment) = (self.trace.savepoint(), &self.segments[t]);
        self.touched += (segment.nodes.len() + segment.absorbing.len()) as u64;
        let mut from_prior = FromPrior;
        let regeneration =
            Regeneration { script: Some(script), ..Regeneration::new(&mut from_prior) };
        let mut cx = Evaluation::of_proposal(rng, regeneration);
        let result = self.trace.make_segment(segment, &mut cx);
        let log_observed = cx.log_observed;
        let Phase::Proposal(regeneration) = cx.phase else { unreachable!("a proposal stays one") };
        if let Some((choice, _)) = regeneration.redirected.first() {
            return Err(observation_moves(self.trace, *choice));
        }
        let log_weight = regeneration.log_new + log_observed;
        self.stack.push(Placed { particle, savepoint, begun: std::mem::take(&mut script.begun) });
        match result {
            Ok(log_absorbed) => Ok(log_weight + log_absorbed),
            Err(error) if error.rejects() => {
                self.take_back();
                Ok(f64::NEG_INFINITY)
            }
            Err(error) => Err(error),
        }
    }

    /// Undoes the last segment.
    fn take_back(&mut self) {
        let Some(last) = self.stack.pop() else { return };
        self.trace.rollback_to(last.savepoint);
        for id in last.begun {
            let node = self.trace.node_mut(id);
            (node.pending, node.in_progress) = (true, false);
        }
    }

    /// Puts the path of a particle of step `t` in place.
    fn switch_to(&mut self, t: usize, particle: u32, rng: &mut Rng) -> Result<(), EvalError> {
        let mut missing = Vec::new();
        let (mut step, mut at) = (t + 1, particle);
        while step > 0 && self.stack.get(step - 1).is_none_or(|placed| placed.particle != at) {
            missing.push(at);
            at = self.past[step - 1][at as usize].ancestor;
            step -= 1;
        }
        while self.stack.len() > step {
            self.take_back();
        }
        for particle in missing.into_iter().rev() {
            let t = self.stack.len();
            let drawn = std::mem::take(&mut self.past[t][particle as usize].drawn);
            let mut script = Script::new(Source::Noted, drawn);
            self.run(t, particle, &mut script, rng)?;
            self.past[t][particle as usize].drawn = script.drawn;
        }
        Ok(())
    }
}

/// One step of particles as another road made it: where each came from, and what it drew.
pub struct Recorded {
    pub ancestors: Vec<u32>,
    pub drawn: Vec<Vec<Value>>,
}

/// A step of one particle, weighed in the trace.
#[derive(Clone, Copy, Debug)]
pub struct WeighedAgain {
    pub log_weight: f64,
    /// log p of what it drew, given its past.
    pub log_prior: f64,
}

impl Replay<'_> {
    /// Makes a step again that was recorded: what every road has to agree with.
    pub fn again(&mut self, t: usize, step: &Recorded) -> Result<Vec<WeighedAgain>, EvalError> {
        let past = |ancestor: &u32| Past { ancestor: *ancestor, drawn: Vec::new() };
        self.past.push(step.ancestors.iter().map(past).collect());
        let (mut rng, mut weighed) = (Rng::unused(), Vec::new());
        for (particle, ancestor) in step.ancestors.iter().enumerate() {
            match t {
                0 => self.take_back(),
                _ => self.switch_to(t - 1, *ancestor, &mut rng)?,
            }
            let mut script = Script::new(Source::Noted, step.drawn[particle].clone());
            let log_weight = self.run(t, particle as u32, &mut script, &mut rng)?;
            let log_prior = match self.stack.len() > t {
                true => self.log_prior(t)?,
                false => f64::NEG_INFINITY,
            };
            self.past[t][particle].drawn = script.drawn;
            weighed.push(WeighedAgain { log_weight, log_prior });
        }
        Ok(weighed)
    }

    /// log p of the choices of a segment that is in place.
    fn log_prior(&self, t: usize) -> Result<f64, EvalError> {
        let mut log_prior = 0.0;
        let is_choice = |id: &&NodeId| self.trace.node(**id).is_random();
        for id in self.segments[t].nodes.iter().filter(is_choice) {
            log_prior += match self.trace.log_density(*id) {
                Err(error) if error.rejects() => f64::NEG_INFINITY,
                result => result?,
            };
        }
        Ok(log_prior)
    }
}

impl Trace {
    /// Makes what is pending of a segment. The log density of its absorbing choices.
    fn make_segment(
        &mut self,
        segment: &Segment,
        cx: &mut Evaluation<'_>,
    ) -> Result<f64, EvalError> {
        for id in segment.nodes.iter().chain(&segment.makers) {
            if self.node(*id).pending {
                self.regenerate_node(*id, cx)?;
            }
        }
        let mut log_absorbed = 0.0;
        for id in &segment.absorbing {
            log_absorbed += self.log_density(*id)?;
        }
        Ok(log_absorbed)
    }
}

/// Particles from one look at whether to stop to the next.
const LOOK_UP: usize = 64;

impl Particles for Replay<'_> {
    fn steps(&self) -> usize {
        self.segments.len()
    }

    fn advance(
        &mut self,
        t: usize,
        ancestors: &[u32],
        rng: &mut Rng,
        log_weights: &mut [f64],
    ) -> Result<(), EvalError> {
        let mut rank = vec![0; self.particles];
        for (place, particle) in self.order.iter().enumerate() {
            rank[*particle as usize] = place;
        }
        let mut order: Vec<u32> = (0..self.particles as u32).collect();
        order.sort_by_key(|i| rank[ancestors[*i as usize] as usize]);
        let past = |ancestor: &u32| Past { ancestor: *ancestor, drawn: Vec::new() };
        self.past.push(ancestors.iter().map(past).collect());
        for (made, particle) in order.iter().enumerate() {
            if made % LOOK_UP == 0 {
                self.trace.stop_if_asked()?;
            }
            let ancestor = ancestors[*particle as usize];
            match t {
                0 => self.take_back(),
                _ => self.switch_to(t - 1, ancestor, rng)?,
            }
            let is_reference = *particle as usize + 1 == self.particles;
            let source = match is_reference {
                true => Source::Reference(std::mem::take(&mut self.reference)),
                false => Source::Fresh,
            };
            let mut script = Script::new(source, Vec::new());
            log_weights[*particle as usize] = self.run(t, *particle, &mut script, rng)?;
            self.past[t][*particle as usize].drawn = script.drawn;
            if let Source::Reference(reference) = script.source {
                self.reference = reference;
            }
        }
        self.order = order;
        Ok(())
    }

    fn looks_ahead(&self) -> bool {
        false
    }

    fn look_ahead(&mut self, _: usize, _: &mut [f64]) -> Result<(), EvalError> {
        unreachable!("it says that it does not look ahead")
    }

    fn drawn(&self, t: usize, particle: usize) -> Vec<Value> {
        self.past[t][particle].drawn.clone()
    }

    fn touched(&self) -> u64 {
        self.touched
    }

    fn settle(mut self: Box<Self>, k: usize) -> Result<bool, EvalError> {
        let mut at = k;
        let mut moved = false;
        for step in self.past.iter().rev() {
            moved |= at + 1 != self.particles;
            at = step[at].ancestor as usize;
        }
        if moved {
            let mut rng = Rng::unused();
            self.switch_to(self.segments.len() - 1, k as u32, &mut rng)?;
            debug_assert!(!rng.was_used(), "what was drawn is made again");
            self.trace.commit();
            self.settled = true;
        }
        Ok(moved)
    }
}

impl Drop for Replay<'_> {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        self.trace.rollback_to(self.start);
        for id in self.scaffold.target.iter().chain(&self.scaffold.makers) {
            let node = self.trace.node_mut(*id);
            (node.pending, node.in_progress) = (false, false);
        }
    }
}
