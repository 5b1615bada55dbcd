//! The weights of a single choice's candidates, without writing: the fast road.
//!
//! Every value of D, and whatever the program would make for T_k, is computed aside, for one
//! candidate after the other; densities are read from distributions and statistics as they are.
//! The choice itself is taken out of its statistics meanwhile, and an observed application in T of
//! a made procedure is scored by the predictive of the others (leave-one-out). Only the candidate
//! that is drawn is made in the trace, and only if it is not the current one.
//!
//! Random streams are used as [`crate::trace::proposal`] would, so the brush that was weighed is the brush
//! that is installed. Whatever a dry_run cannot do (two applications of one made procedure, draws
//! that nobody observed from a live one, observations that move, an error) makes it give up, and
//! the candidates are weighed by whole proposals.
//!
//! Cost: candidates × (|D| + |A| + what is made), with O(1) for a memoised family that exists.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_value::Value;

use super::DrawnFrom;
use super::kept::{MemoRootCache, PlanTable, Plans, ShapeLanes};
use super::lanes::Lineup;
use super::plan::{CandidateRole, Planned};
use super::shape::Lookup;
use super::written::NoLanes;
use crate::enumerate::brush::BrushEvaluator;
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::{MemoEntry, MemoKey, NOWHERE, Op};
use crate::trace::scaffold::Scaffold;

#[derive(Default)]
pub(super) struct DryRun {
    /// The values of D under the candidate at hand, in the order of D.
    pub(super) values: Vec<Option<Value>>,
    pub(super) busy: Vec<bool>,
    pub(super) places: FxHashMap<NodeId, u32>,
    /// The values that the choice can take, and their log prior densities.
    pub(super) candidates: Arc<Vec<Value>>,
    pub(super) log_priors: Vec<f64>,
    /// The current one, if it is among them.
    place: Option<usize>,
    /// Σ_A and the observed choices of T of each; NaN if that is not known yet.
    log_absorbed: Vec<f64>,
    /// Those for which something was made aside, and how many unobserved choices are in it.
    made: SmallVec<[(usize, usize); 4]>,
    /// Surviving makers with an application in T.
    pub(super) left: SmallVec<[NodeId; 4]>,
    /// The maker that the choice is drawn from.
    pub(super) own_maker: Option<NodeId>,
    pub(super) brush: BrushEvaluator,
    /// What the applications of the candidate that is computed on boxed values count for.
    pub(super) role: CandidateRole,
    /// Whether the plan was there before and held.
    pub(super) recalled: bool,
    /// Candidates that were weighed in lanes.
    pub(super) in_lanes: usize,
    /// Why there are no lanes.
    pub(super) no_lanes: Option<NoLanes>,
}

/// The choice that is enumerated.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub plan: Planned<'a>,
    pub principal: NodeId,
    pub seed: u64,
}

/// What the current state looks like.
#[derive(Clone, Copy)]
struct Current {
    /// Σ_A and the observed choices of T.
    log_absorbed: f64,
    /// Unobserved choices in T.
    choices: usize,
}

impl Current {
    /// Without unobserved choices in T. NaN and impossible states are for the slow road.
    fn whole(log_absorbed: f64) -> Option<Current> {
        log_absorbed.is_finite().then_some(Current { log_absorbed, choices: 0 })
    }
}

impl DryRun {
    /// The weights of the candidates, the current state first, and the number of absorbing choices;
    /// none if this is not the way.
    pub fn weigh(
        &mut self,
        trace: &mut Trace,
        scaffold: &mut Scaffold,
        block: (NodeId, DrawnFrom<'_>),
        seed: u64,
        log_weights: &mut Vec<f64>,
    ) -> Option<usize> {
        let mut plans = trace.side.get_mut::<PlanTable>().0.take().unwrap_or_default();
        let done = self.weigh_with(trace, scaffold, &mut plans, block, seed, log_weights);
        trace.side.get_mut::<PlanTable>().0 = Some(plans);
        done
    }

    fn weigh_with(
        &mut self,
        trace: &mut Trace,
        scaffold: &mut Scaffold,
        plans: &mut Plans,
        (principal, drawn_from): (NodeId, DrawnFrom<'_>),
        seed: u64,
        log_weights: &mut Vec<f64>,
    ) -> Option<usize> {
        let holds = plans.hold(trace, principal);
        self.recalled = holds;
        if !holds {
            build(trace, scaffold, principal)?;
            plans.make(trace, scaffold)?;
        }
        let (plan, roots, lanes) = plans.get(principal).expect("it holds or was just made");
        self.own_maker = plan.plan.own_maker;
        let (place, log_prior) = self.read_priors(trace, principal)?;
        self.place = place;
        self.refresh(trace, plan, roots)?;
        self.brush.count_in(drawn_from);
        self.brush.replays = plan.shape.observation_moves;
        self.log_absorbed.clear();
        self.log_absorbed.resize(self.candidates.len(), f64::NAN);
        self.made.clear();
        (self.in_lanes, self.no_lanes) = (0, None);
        let task = Task { plan, principal, seed };
        let known = match (holds, place) {
            (true, Some(place)) => self.weigh_all(trace, task, roots, lanes, place),
            _ => None,
        };
        let current = match known {
            Some(current) => current,
            None => {
                if holds {
                    build(trace, scaffold, principal)?;
                }
                let current = self.current(trace, scaffold, drawn_from)?;
                self.weigh_in_lanes(trace, task, (roots, lanes), None, true);
                current
            }
        };
        // Mostly all have been weighed in lanes.
        let weighed = self.in_lanes == self.candidates.len();
        let others = if weighed { 0..0 } else { 0..self.candidates.len() };
        for k in others.filter(|k| Some(*k) != place) {
            if self.log_absorbed[k].is_nan() {
                let role = CandidateRole::Other;
                self.log_absorbed[k] = self.weigh_boxed(trace, plan, principal, (seed, k), role)?;
                if self.brush.makes {
                    self.made.push((k, self.brush.choices));
                }
            }
        }
        self.put_weights(trace, drawn_from, (log_prior, current), log_weights);
        Some(plan.plan.absorbing.len())
    }

    /// The weight of the current state and of all other candidates, in order, into an empty list.
    fn put_weights(
        &self,
        trace: &Trace,
        drawn_from: DrawnFrom<'_>,
        (log_prior, current): (f64, Current),
        log_weights: &mut Vec<f64>,
    ) {
        let log_blocks = drawn_from.log_count(trace);
        let log_count = |come| match drawn_from {
            DrawnFrom::Choices => drawn_from.log_count_after(trace, current.choices, come),
            _ => log_blocks,
        };
        let (all, usual) = (self.candidates.len(), log_count(0));
        let place = self.place.unwrap_or(all);
        let after = (place + 1).min(all);
        log_weights.resize(1 + place + (all - after), 0.0);
        let (first, others) = log_weights.split_at_mut(1);
        first[0] = log_prior + current.log_absorbed - log_blocks;
        let (before_it, after_it) = others.split_at_mut(place);
        for (out, lanes) in [(before_it, 0..place), (after_it, after..all)] {
            let both = self.log_priors[lanes.clone()].iter().zip(&self.log_absorbed[lanes]);
            for (out, (prior, absorbed)) in out.iter_mut().zip(both) {
                *out = prior + absorbed - usual;
            }
        }
        for (k, come) in self.made.iter().filter(|(_, come)| *come > 0) {
            let log_weight = self.log_priors[*k] + self.log_absorbed[*k] - log_count(*come);
            log_weights[k + usize::from(*k < place)] = log_weight;
        }
    }

    /// Brings what candidates read up to date, if a move has left something stale.
    fn refresh(
        &mut self,
        trace: &mut Trace,
        plan: Planned<'_>,
        roots: &mut MemoRootCache,
    ) -> Option<()> {
        if trace.last_lazy == 0 {
            return Some(());
        }
        for id in plan.plan.operands.iter().filter_map(Operand::node) {
            trace.refresh(id).ok()?;
        }
        // One that slips through is left to boxed values.
        let fresh_at = (trace.last_lazy, trace.memo_edits);
        if !plan.shape.lookups.is_empty() && roots.fresh_at != fresh_at {
            roots.fresh_at = fresh_at;
            for (k, value) in self.candidates.iter().enumerate() {
                plan.shape.refresh(trace, roots, (k, value))?;
            }
        }
        Some(())
    }

    /// Which of the values the choice can take has weight k, not 0.
    pub(super) fn number(&self, k: usize) -> usize {
        k - usize::from(self.place.is_none_or(|place| k <= place))
    }

    /// The value of this number, and whether something had to be made for it.
    pub(super) fn candidate(&self, k: usize) -> (&Value, bool) {
        (&self.candidates[k], self.made.iter().any(|(made, _)| *made == k))
    }

    /// The current state, which is the candidate of this number, and those others that have lanes. None where
    /// the plan does not say it all of the current state.
    fn weigh_all(
        &mut self,
        trace: &mut Trace,
        task: Task<'_>,
        roots: &mut MemoRootCache,
        lanes: &mut ShapeLanes,
        place: usize,
    ) -> Option<Current> {
        // Marks of earlier scaffolds mean nothing.
        trace.epoch += 1;
        self.left.clear();
        let shape = task.plan.shape;
        if !shape.whole {
            return None;
        }
        let key = &self.candidates[place];
        let stays = |lookup: &Lookup| {
            let at = (lookup.table as usize, place);
            roots.references(trace, at, lookup.memo, key) > lookup.requests
        };
        // Otherwise a family goes with the current state.
        if !shape.lookups.iter().all(stays) {
            return None;
        }
        if shape.looks_up {
            self.weigh_in_lanes(trace, task, (roots, lanes), Some(place), false);
            if let Some(current) = Current::whole(self.log_absorbed[place]) {
                return Some(current);
            }
            self.log_absorbed.fill(f64::NAN);
            self.made.clear();
        }
        let Task { plan, principal, seed } = task;
        let role = CandidateRole::Current;
        let log_current = self.weigh_boxed(trace, plan, principal, (seed, place), role)?;
        self.weigh_in_lanes(trace, task, (roots, lanes), None, false);
        Current::whole(log_current)
    }

    /// The weights of the candidates that have lanes; the current state among them, if it is one of them.
    fn weigh_in_lanes(
        &mut self,
        trace: &mut Trace,
        task: Task<'_>,
        (roots, lanes): (&mut MemoRootCache, &mut ShapeLanes),
        current: Option<usize>,
        is_marked: bool,
    ) {
        self.in_lanes = 0;
        let plan = task.plan;
        let choice = &trace.node(task.principal).value;
        let Some(columns) = lanes.of(trace, plan, choice) else {
            self.no_lanes = lanes.no_lanes;
            return;
        };
        if self.candidates.is_empty() || !columns.prepare(trace, plan, &self.candidates, roots) {
            return;
        }
        let (place, candidates) = (self.place, self.candidates.len());
        let others = |k: &usize| Some(*k) != place && *k < candidates;
        for at in 0..columns.absent.len() {
            let Some(k) = Some(columns.absent[at]).filter(others) else { continue };
            let absent = columns.absent_lookups(k);
            let choices = self.make_aside(trace, task, columns, (&absent, k));
            self.made.extend(choices.map(|choices| (k, choices)));
        }
        let DryRun { candidates, left, log_absorbed, .. } = self;
        let lineup = Lineup { candidates, current, left, is_marked };
        columns.weigh(trace, plan, &lineup, log_absorbed);
        self.in_lanes = log_absorbed.iter().filter(|log_absorbed| !log_absorbed.is_nan()).count();
        if let Some(current) = current {
            columns.makers(current).for_each(|maker| left.push(maker));
        }
    }

    /// Σ_A and the observed choices of T as they are, the choice itself not counted.
    fn current(
        &mut self,
        trace: &mut Trace,
        scaffold: &Scaffold,
        drawn_from: DrawnFrom<'_>,
    ) -> Option<Current> {
        let mut current = Current { log_absorbed: 0.0, choices: 0 };
        self.left.clear();
        for id in &scaffold.absorbing {
            trace.refresh_arguments(*id).ok()?;
            current.log_absorbed += trace.log_density(*id).ok()?;
        }
        for family in &scaffold.transient {
            for k in 0..trace.families[family.index()].nodes.len() {
                let id = trace.families[family.index()].nodes[k];
                if trace.node(id).choice_place != NOWHERE {
                    current.choices += 1;
                    if drawn_from.counts(&trace.node(id).tags) {
                        return None;
                    }
                }
                if let Op::Draw(maker) = trace.node(id).op {
                    let known = Some(maker) == self.own_maker || self.left.contains(&maker);
                    if known || !trace.node(id).constrained {
                        return None;
                    }
                    self.left.push(maker);
                    trace.refresh_arguments(maker).ok()?;
                    let value = &trace.node(id).value;
                    let log_p = trace.with_params(maker, |params| {
                        trace.statistics(maker).log_leave_one_out(value, params)
                    });
                    current.log_absorbed += log_p.ok()?;
                } else if trace.node(id).constrained {
                    trace.refresh_arguments(id).ok()?;
                    current.log_absorbed += trace.log_density(id).ok()?;
                }
            }
        }
        // As in [`Current::whole`].
        current.log_absorbed.is_finite().then_some(current)
    }
}

/// Builds the scaffold of a choice; none if it is not for a dry_run.
fn build(trace: &mut Trace, scaffold: &mut Scaffold, principal: NodeId) -> Option<()> {
    scaffold.build(trace, &[principal]);
    let absorbs = |id: &NodeId| matches!(trace.node(*id).op, Op::Random(_));
    let fits = scaffold.makers.is_empty()
        && scaffold.released.is_empty()
        && scaffold.absorbing.iter().all(absorbs);
    fits.then_some(())
}

/// A dry_run and the plan it follows, while a program runs.
pub(super) struct Bench<'a> {
    pub dry_run: &'a mut DryRun,
    pub plan: Planned<'a>,
}

/// The root of the family of a memo key, if there is one that stays.
pub(super) fn live_root(trace: &Trace, memo: NodeId, key: &MemoKey) -> Option<Operand> {
    match trace.memo(memo).families.get(key) {
        Some(MemoEntry::Family(family)) if !trace.is_transient(*family) => {
            trace.families[family.index()].root.clone()
        }
        _ => None,
    }
}

impl Trace {
    /// Whether a family goes with the D of the scaffold built last.
    pub(super) fn is_transient(&self, id: FamilyId) -> bool {
        let family = &self.families[id.index()];
        family.mark == self.epoch && family.disabled == family.references
    }
}
