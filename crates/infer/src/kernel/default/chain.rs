//! Choices of which each reads the one before, such as the states of a hidden Markov model or a
//! population from year to year: one by one they move slowly, for each is held by its neighbours.
//!
//! A chain is moved as a whole, in one of two ways:
//!
//! * Finite choices are drawn from their conditional law, by forward filtering and backward sampling
//!   ([`Sequence::draw_path`]), also where they select among branches, rows of a table or procedures; not if a row would
//!   have to be made for some path.
//! * Others, and finite ones with too many values or an infinite density, by particles: one pass of
//!   conditional sequential Monte Carlo ([`conditional_smc`]), with ancestor sampling where it costs little.
//!   Then each choice once by itself, at once, before anything else moves: so that every path can be
//!   reached even where particles rarely leave the one they have.
//!
//! Which way is taken depends on nothing in the chain: on the structure, of which a chain decides no more
//! than which of the branches run (else it is none), and on what the choices could be, not on what they are.
//! What was prepared for one structure is prepared anew for another.

use rustc_hash::FxHashSet;
use smidgen_engine::idle::{Forward, hanging_below};
use smidgen_engine::particles::{LookAhead, Weights};
use smidgen_engine::{EvalError, NodeId, Scaffold, Sequence, Trace};
use smidgen_value::Rng;

use super::plan::{self, Class};
use super::single::Singles;
use crate::kernel::pgibbs::{Multinomial, conditional_smc};
use crate::record::Tally;

/// Shorter ones are moved one by one.
const LEAST: usize = 3;

/// What is read by more of them than these is a parameter rather than a state.
const READERS: usize = 3;

/// Particles of a pass, the current path among them. With ancestor sampling the number that moves a
/// path does not grow with its length, only with how much an observation tells about a state.
pub(super) const PARTICLES: usize = 30;

/// Proposals of a choice by itself after a pass, if it is moved by `mh`: the pass is the main thing.
const TRIES: usize = 1;

/// Choices that are moved together, first to last.
pub struct Chain {
    pub choices: Vec<NodeId>,
    /// For draws from the conditional law, if they may be possible.
    path: Option<Sequence>,
    /// The idle choices that hang on it: such draws leave them out, and they are drawn anew.
    below: Option<Forward>,
    /// For particles, prepared when they are first needed.
    particles: Option<Sequence>,
    lots: Multinomial,
}

fn prepare(sequence: &mut Sequence, trace: &mut Trace, choices: &[NodeId]) -> bool {
    let groups: Vec<Vec<NodeId>> = choices.iter().map(|id| vec![*id]).collect();
    // An observation that moves cannot be followed, and what decides about others could change
    // what is a chain; one by one they can be moved.
    sequence.prepare(trace, &groups, LookAhead::IfCheap).is_ok() && sequence.is_compiled()
}

impl Chain {
    /// The chains among these choices that are drawn from their conditional law, with idle choices left out. `before`: those of
    /// another structure, whose room is used again.
    pub(super) fn paths(
        trace: &mut Trace,
        candidates: &[NodeId],
        left_out: &FxHashSet<NodeId>,
        before: Vec<Chain>,
    ) -> Vec<Chain> {
        if candidates.len() < LEAST {
            return Vec::new();
        }
        let mut spare = before.into_iter().filter_map(|chain| chain.path);
        let mut sort = |trace: &mut Trace, found: Vec<Vec<NodeId>>| {
            let prepared = found.into_iter().filter_map(|choices| {
                let sequence = spare.next().unwrap_or_default();
                let mut chain = Chain::new(choices, Some(sequence), None);
                matches!(chain.prepare_path(trace, left_out), Ok(true)).then_some(chain)
            });
            prepared.collect::<Vec<Chain>>()
        };
        let found = trace.selecting_chains(candidates, LEAST);
        let mut chains = sort(trace, found);
        // What decides more than which branch runs may have parts that do not.
        let taken: FxHashSet<NodeId> =
            chains.iter().flat_map(|chain| chain.choices.iter().copied()).collect();
        let left: Vec<NodeId> =
            candidates.iter().copied().filter(|id| !taken.contains(id)).collect();
        let found = trace.chains(&left, LEAST, 1);
        chains.extend(sort(trace, found));
        chains
    }

    /// The chains among these choices that are moved by particles.
    pub(super) fn by_particles(trace: &mut Trace, candidates: &[NodeId]) -> Vec<Chain> {
        if candidates.len() < LEAST {
            return Vec::new();
        }
        let found = trace.chains(candidates, LEAST, READERS);
        let chain = |choices: Vec<NodeId>| {
            let mut sequence = Sequence::new();
            prepare(&mut sequence, trace, &choices)
                .then(|| Chain::new(choices, None, Some(sequence)))
        };
        found.into_iter().filter_map(chain).collect()
    }

    fn new(choices: Vec<NodeId>, path: Option<Sequence>, particles: Option<Sequence>) -> Chain {
        Chain { choices, path, below: None, particles, lots: Multinomial::default() }
    }

    /// Whether its choices select among branches.
    pub(super) fn selects(&self) -> bool {
        self.path.as_ref().is_some_and(Sequence::selects)
    }

    /// Whether some path would ask for a row that does not exist.
    pub(super) fn misses_rows(&mut self, trace: &mut Trace) -> Result<bool, EvalError> {
        match &mut self.path {
            Some(path) if path.selects() => path.misses_rows(trace),
            _ => Ok(false),
        }
    }

    /// How its choices are moved, as things stand.
    pub(super) fn class(&mut self, trace: &mut Trace) -> Result<Class, EvalError> {
        let Some(path) = &mut self.path else { return Ok(Class::Particles) };
        Ok(match path.has_paths(trace)? {
            true => Class::Chain,
            false if path.selects() => Class::Finite,
            false => Class::Particles,
        })
    }

    /// Whether particles move it without ancestor sampling.
    pub(super) fn is_short_sighted(&self) -> bool {
        self.particles.as_ref().is_some_and(|sequence| !sequence.looks_ahead())
    }

    /// Prepares draws of whole paths. False if that cannot be.
    fn prepare_path(
        &mut self,
        trace: &mut Trace,
        left_out: &FxHashSet<NodeId>,
    ) -> Result<bool, EvalError> {
        let Some(path) = &mut self.path else { return Ok(false) };
        // All or none: what stays may depend on what would go.
        let mut below = Vec::new();
        if !self.choices.iter().any(|id| left_out.contains(id)) {
            let is_left_out = |_: &Trace, id: NodeId| left_out.contains(&id);
            below = hanging_below(trace, &mut Scaffold::new(), &self.choices, &is_left_out);
        }
        self.below = (!below.is_empty()).then(|| Forward::new(trace, below.clone()));
        path.prepare_path(trace, &self.choices, &below.into_iter().collect())
    }

    /// `left_out`: choices that are idle, and the stream from which these are drawn.
    pub(super) fn transition(
        &mut self,
        trace: &mut Trace,
        (left_out, idle): (&FxHashSet<NodeId>, &mut Rng),
        singles: &mut Singles,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<(), EvalError> {
        // Another move may have changed what exists since the plan was made.
        if !self.choices.iter().all(|id| trace.is_choice(*id)) {
            return Ok(());
        }
        if self.path.as_ref().is_some_and(|path| !path.is_current(trace)) {
            self.prepare_path(trace, left_out)?;
        }
        if let Some(sequence) = &mut self.path {
            let pick = &mut |weights: Weights<'_>, rng: &mut Rng| weights.draw(rng.uniform());
            if let Some(changed) = sequence.draw_path(trace, pick, rng)? {
                tally.draw(sequence.absorbing() as u64, changed > 0);
                return self.below.iter().try_for_each(|below| below.draw(trace, idle).map(drop));
            }
        }
        if !self.selects() {
            self.pass(trace, rng, tally)?;
        }
        for id in &self.choices {
            // Now, for its class may hang on others of the chain. To enumerate more values than
            // there are particles would cost more than the pass, and so would slices.
            let class = match plan::single(trace, *id, PARTICLES)? {
                Class::Integer => Class::Other,
                class => class,
            };
            singles.step(trace, (*id, class), TRIES, rng, tally)?;
        }
        Ok(())
    }

    /// One pass of particles.
    fn pass(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<(), EvalError> {
        let Chain { choices, particles, lots, .. } = self;
        let sequence = particles.get_or_insert_with(Sequence::new);
        if !sequence.is_current(trace) && !prepare(sequence, trace, choices) {
            return Ok(());
        }
        let sections = sequence.absorbing() as u64;
        let mut system = sequence.begin(trace, PARTICLES)?;
        let moved = match conditional_smc(&mut *system, PARTICLES, lots, rng)? {
            Some(k) => system.settle(k)?,
            None => false,
        };
        tally.draw(sections, moved);
        Ok(())
    }
}
