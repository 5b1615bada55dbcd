//! Particles: many ways to continue a block, group by group (theory 8.1).
//!
//! The principals of a block come in groups 1..T. One scaffold is built for all. What a group
//! makes is its **segment**: its principals, all of D that is then known, and the absorbing choices
//! all of whose arguments are then known, so that every node belongs to the *last* group that
//! affects it. With γ_t the density of everything in segments 1..t,
//!
//! log w_t = log γ_t − log γ_{t−1} − log q_t = Σ log p(absorbing choices of segment t) (+ observed choices in T'),
//!
//! because principals and T' are drawn from their priors. Children outside the block, such as the
//! state after a window of states, are absorbing choices like any other.
//!
//! Two roads with one face, [`Particles`]. If nothing in D decides what exists, segments are written once as programs whose
//! lanes are particles ([`pass_plan`], [`writer`]), which run beside the trace; that is written only at the end
//! ([`compiled`]). Otherwise ([`replay`]) the trace itself is moved from particle to particle: the reference that the other
//! road is held against. Both cost O(particles) segments for a segment, whatever T.
//!
//! A chain of finite choices needs no particles: a path is drawn as a whole ([`forward_backward`]), from programs whose
//! lanes are the values of a choice, or pairs of neighbouring values ([`path_plan`]), also where the choices
//! select among branches ([`crate::formula`], [`formula`]).

mod ahead;
mod bound;
mod calls;
mod compiled;
mod formula;
mod forward_backward;
mod host;
mod order;
mod pass_plan;
mod path_plan;
mod replay;
mod rewrite;
mod segment;
mod signature;
mod transitions;
mod unread;
mod weigh;
mod writer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;
use smidgen_value::{Rng, Value};

use crate::error::EvalError;
use crate::formula::Selects;
use crate::id::NodeId;
use crate::program::wide::Wide;
use crate::trace::Trace;
use crate::trace::node::Op;
use crate::trace::scaffold::Scaffold;

use compiled::{Buffers, CompiledPass};
pub use forward_backward::Weights;
use forward_backward::{ForwardBackward, Room};
use pass_plan::PassPlan;
use path_plan::PathPlan;
use replay::Replay;
pub use replay::{Recorded, WeighedAgain};
use rewrite::rewrite;
use segment::{Segment, segments};
use signature::Signature;

/// A population of particles. The last one is the reference: the current state.
pub trait Particles {
    /// Number of groups.
    fn steps(&self) -> usize;

    /// Makes step `t` of every particle: number i goes on from particle `ancestors[i]` of the step
    /// before (at the first step there is none). Gives the log incremental weights.
    fn advance(
        &mut self,
        t: usize,
        ancestors: &[u32],
        rng: &mut Rng,
        log_weights: &mut [f64],
    ) -> Result<(), EvalError>;

    /// Whether the reference's future can be weighed.
    fn looks_ahead(&self) -> bool;

    /// Before step `t`: log γ(path_i, ref_t..T) − log γ(path_i) for every particle i, up to a
    /// constant.
    fn look_ahead(&mut self, t: usize, log_future: &mut [f64]) -> Result<(), EvalError>;

    /// The values of the random choices that a particle made at step `t`.
    fn drawn(&self, t: usize, particle: usize) -> Vec<Value>;

    /// Nodes made and densities evaluated so far, over all particles.
    fn touched(&self) -> u64;

    /// Makes the path that ends in particle `k` the state of the trace. Whether it is another one.
    fn settle(self: Box<Self>, k: usize) -> Result<bool, EvalError>;
}

/// Whether the reference's future is weighed (ancestor sampling).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookAhead {
    #[default]
    Never,
    /// Where it costs no more than the rest.
    IfCheap,
    /// Wherever it can be done.
    Always,
}

/// Log weights become shares of the largest.
pub fn shares(largest: f64, log_weights: &mut [f64]) {
    Wide::default().shares(largest, log_weights);
}

/// Sequences that are kept beside a trace.
const MOST_KEPT: usize = 4;

/// A sequence that is kept beside the trace that it is of, and outlives the kernel that prepared it.
#[derive(Clone, Default)]
pub struct SharedSequence(Arc<Mutex<Sequence>>);

impl SharedSequence {
    pub fn get(&self) -> MutexGuard<'_, Sequence> {
        // A pass that ended in an error has left nothing that another relies on.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last ones that were prepared, the latest first.
#[derive(Default)]
struct KeptSequences(Vec<SharedSequence>);

/// A block in ordered groups, ready for passes of particles.
#[derive(Default)]
pub struct Sequence {
    scaffold: Scaffold,
    segments: Vec<Segment>,
    /// For a path: if nothing in D does more than select, and every density hangs on neighbouring groups alone, of
    /// one choice each.
    path: Option<PathPlan>,
    /// For particles, if nothing in D decides what exists.
    passes: Option<PassPlan>,
    look_ahead: LookAhead,
    /// What the path's plan was written from.
    signature: Signature,
    /// What in D selects.
    selects: Selects,
    /// The structure that the plan was made for.
    structure: u64,
    /// The groups that passes were prepared for, and as of how many edits of edges.
    groups: Vec<Vec<NodeId>>,
    edge_edits: u64,
    buffers: Buffers,
    room: Room,
    /// For writing a path that changes which branches run.
    rewriting: Scaffold,
}

impl Sequence {
    pub fn new() -> Sequence {
        Sequence::default()
    }

    /// Whether what was prepared last still holds.
    pub fn is_current(&self, trace: &Trace) -> bool {
        let is_compiled = self.path.is_some() || self.passes.is_some();
        is_compiled && self.structure == trace.structure_revision()
    }

    /// Prepares draws of whole paths of a chain, first choice to last, with some idle choices ([`crate::idle`]) summed out:
    /// whoever draws a path has to draw them anew. False if these are no chain.
    pub fn prepare_path(
        &mut self,
        trace: &mut Trace,
        choices: &[NodeId],
        left_out: &FxHashSet<NodeId>,
    ) -> Result<bool, EvalError> {
        let before = self.path.take();
        (self.passes, self.selects) = (None, Selects::default());
        self.scaffold.build(trace, choices);
        self.scaffold.absorbing.retain(|id| !left_out.contains(id));
        if !self.scaffold.released.is_empty() || self.has_other_nodes(trace) {
            return Ok(false);
        }
        let (selects, deciding) = Selects::find(trace, &self.scaffold);
        if !deciding.is_empty() {
            return Ok(false);
        }
        let groups: Vec<Vec<NodeId>> = choices.iter().map(|id| vec![*id]).collect();
        self.segments = segments(trace, &self.scaffold, &groups, &selects);
        let signature = Signature::of(trace, &self.segments, &selects);
        self.path = match before.filter(|_| self.signature == signature) {
            Some(plan) => Some(plan),
            None => {
                self.room.forget();
                PathPlan::compile(trace, &self.segments, &selects)?
            }
        };
        (self.selects, self.signature) = (selects, signature);
        self.structure = trace.structure_revision();
        Ok(self.path.is_some())
    }

    /// Whether D and A hold what is not compiled, whatever decides what.
    fn has_other_nodes(&self, trace: &Trace) -> bool {
        let is_draw = |id: &NodeId| matches!(trace.node(*id).op, Op::Draw(_));
        let is_plate = |id: &NodeId| matches!(trace.node(*id).op, Op::Plate(_));
        self.scaffold.target.iter().any(is_draw) || self.scaffold.absorbing.iter().any(is_plate)
    }

    /// The sequence of a block in these groups: the one that somebody prepared before, if it still holds.
    pub fn shared(
        trace: &mut Trace,
        groups: &[Vec<NodeId>],
        look_ahead: LookAhead,
    ) -> Result<SharedSequence, EvalError> {
        let KeptSequences(mut kept) = trace.side.take();
        let holds = |shared: &SharedSequence| {
            let mut sequence = shared.get();
            let holds = sequence.look_ahead == look_ahead && sequence.holds(trace, groups);
            if holds {
                sequence.structure = trace.structure_revision();
            }
            holds
        };
        let known = kept.iter().position(holds).map(|place| kept.remove(place));
        let shared = match known {
            Some(shared) => shared,
            None => {
                let mut sequence = Sequence::new();
                sequence.prepare(trace, groups, look_ahead)?;
                SharedSequence(Arc::new(Mutex::new(sequence)))
            }
        };
        kept.truncate(MOST_KEPT - 1);
        kept.insert(0, shared.clone());
        trace.side.put(KeptSequences(kept));
        Ok(shared)
    }

    /// Whether passes were prepared for these groups, and nothing that they run through has other arguments or children
    /// since.
    fn holds(&self, trace: &Trace, groups: &[Vec<NodeId>]) -> bool {
        let nodes = self.scaffold.target.iter().chain(&self.scaffold.absorbing);
        self.passes.is_some()
            && self.groups == groups
            && nodes.fold(0, |last, id| trace.edges_at(*id).max(last)) <= self.edge_edits
    }

    /// Prepares a block in these groups.
    pub fn prepare(
        &mut self,
        trace: &mut Trace,
        groups: &[Vec<NodeId>],
        look_ahead: LookAhead,
    ) -> Result<(), EvalError> {
        let principals: Vec<NodeId> = groups.iter().flatten().copied().collect();
        self.scaffold.build(trace, &principals);
        if let Some(released) = self.scaffold.released.first() {
            return Err(observation_moves(trace, *released));
        }
        let none = Selects::default();
        self.segments = segments(trace, &self.scaffold, groups, &none);
        let decides = self.scaffold.restructured(trace).is_some();
        self.passes = match decides || self.has_other_nodes(trace) {
            true => None,
            false => Some(PassPlan::compile(trace, &self.segments, look_ahead)?),
        };
        self.look_ahead = look_ahead;
        (self.path, self.selects) = (None, none);
        self.structure = trace.structure_revision();
        (self.groups, self.edge_edits) = (groups.to_vec(), trace.edge_edits);
        Ok(())
    }

    /// Whether the choices of a path select among branches.
    pub fn selects(&self) -> bool {
        !self.selects.is_empty()
    }

    /// The path's plan, with what is outside the chain as it is now.
    fn refresh_path(&mut self, trace: &mut Trace) -> Result<bool, EvalError> {
        let Some(plan) = &mut self.path else { return Ok(false) };
        if !plan.inputs.refresh(trace)? {
            // Something outside has become a value of another form.
            let compiled = PathPlan::compile(trace, &self.segments, &self.selects)?;
            *plan = compiled.expect("what hangs on what is a matter of structure");
            plan.inputs.refresh(trace)?;
        }
        Ok(true)
    }

    /// Whether a whole path could be drawn now: a function of what is outside the chain.
    pub fn has_paths(&mut self, trace: &mut Trace) -> Result<bool, EvalError> {
        if !self.refresh_path(trace)? {
            return Ok(false);
        }
        let Some(plan) = &self.path else { return Ok(false) };
        let (away, room) = (&self.selects.away, &mut self.room);
        ForwardBackward { trace, plan, away, room }.forward()
    }

    /// Whether some path would ask for a row of a memoised procedure that does not exist.
    pub fn misses_rows(&mut self, trace: &mut Trace) -> Result<bool, EvalError> {
        self.room.misses_rows = false;
        Ok(!self.has_paths(trace)? && self.room.misses_rows)
    }

    /// Draws a whole path of a chain from its conditional law (see [`forward_backward`]); `draw` picks a place
    /// from weights. The number of choices that changed; none if it cannot be done.
    pub fn draw_path(
        &mut self,
        trace: &mut Trace,
        draw: &mut dyn FnMut(Weights<'_>, &mut Rng) -> usize,
        rng: &mut Rng,
    ) -> Result<Option<usize>, EvalError> {
        if !self.refresh_path(trace)? {
            return Ok(None);
        }
        let Some(plan) = &self.path else { return Ok(None) };
        let (away, room) = (&self.selects.away, &mut self.room);
        let mut forward_backward = ForwardBackward { trace: &mut *trace, plan, away, room };
        let Some(path) = forward_backward.draw(draw, rng)? else { return Ok(None) };
        let changed = match !self.selects.is_empty() {
            false => forward_backward.settle(&path)?,
            true => {
                let values: Vec<(NodeId, Value)> = forward_backward.values_of(&path).collect();
                rewrite(trace, &mut self.rewriting, values, rng)?
            }
        };
        Ok(Some(changed))
    }

    /// Number of groups that have something to make.
    pub fn steps(&self) -> usize {
        self.segments.len()
    }

    /// Number of absorbing choices that one particle weighs.
    pub fn absorbing(&self) -> usize {
        self.scaffold.sections() + self.scaffold.makers.len()
    }

    /// Whether particles run beside the trace.
    pub fn is_compiled(&self) -> bool {
        self.passes.is_some()
    }

    /// From now on particles run in the trace, also where that is not needed.
    pub fn forgo_plan(&mut self) {
        self.passes = None;
    }

    /// Whether the reference's future will be weighed.
    pub fn looks_ahead(&self) -> bool {
        self.passes.as_ref().is_some_and(|plan| plan.looks_ahead)
    }

    /// Begins a pass with this many particles, the reference included.
    pub fn begin<'a>(
        &'a mut self,
        trace: &'a mut Trace,
        particles: usize,
    ) -> Result<Box<dyn Particles + 'a>, EvalError> {
        let Some(plan) = &mut self.passes else {
            let replay = Replay::begin(trace, &self.scaffold, &self.segments, particles)?;
            return Ok(Box::new(replay));
        };
        if !plan.inputs.refresh(trace)? {
            // Something outside has become a value of another form.
            *plan = PassPlan::compile(trace, &self.segments, self.look_ahead)?;
            plan.inputs.refresh(trace)?;
        }
        Ok(Box::new(CompiledPass::begin(trace, plan, &mut self.buffers, particles)?))
    }
}

impl Sequence {
    /// Weighs recorded steps in the trace itself, whichever road particles take; the state stays as it is. For
    /// tests: it says what every road has to come to.
    pub fn weigh_again(
        &mut self,
        trace: &mut Trace,
        steps: &[Recorded],
    ) -> Result<Vec<Vec<WeighedAgain>>, EvalError> {
        let particles = steps.first().map_or(0, |step| step.ancestors.len());
        let mut replay = Replay::begin(trace, &self.scaffold, &self.segments, particles)?;
        steps.iter().enumerate().map(|(t, step)| replay.again(t, step)).collect()
    }
}

fn observation_moves(trace: &Trace, choice: NodeId) -> EvalError {
    let message = "which random choice an observation refers to hangs on the block: particles cannot follow it";
    EvalError::other(trace.node(choice).origin, message).hint("use mh for these choices")
}
