//! The weights of a single choice's candidates, without writing: the fast road.
//!
//! Every value of D, and whatever the program would make for T_k, is computed aside, for one
//! candidate after the other; densities are read from distributions and statistics as they are.
//! The choice itself is taken out of its statistics meanwhile, and an observed application in T of
//! a made procedure is scored by the predictive of the others (leave-one-out). Only the candidate
//! that is drawn is made in the trace, and only if it is not the current one.
//!
//! Random streams are used as [`crate::proposal`] would, so the brush that was weighed is the brush
//! that is installed. Whatever a sketch cannot do (two applications of one made procedure, draws
//! that nobody observed from a live one, observations that move, an error) makes it give up, and
//! the candidates are weighed by whole proposals.
//!
//! Cost: candidates × (|D| + |A| + what is made), with O(1) for a memoised family that exists.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_value::Value;

use super::bank::Bank;
use super::kept::{Plans, Roots};
use super::plan::{As, Planned, Ready, Row, Source, Step};
use super::terms::{Aside, MOST_LOOKUPS, Terms, Weight};
use super::{Candidate, DrawnFrom};
use crate::enumerate::workshop::Workshop;
use crate::id::{FamilyId, NodeId};
use crate::node::{MemoEntry, MemoKey, NOWHERE, Op, Role};
use crate::operand::Operand;
use crate::proposal::Choice;
use crate::scaffold::Scaffold;
use crate::trace::Trace;

/// Values of a D up to this size are searched for, those of a larger one hashed.
const SMALL: usize = 12;

#[derive(Default)]
pub(super) struct Sketch {
    /// The values of D under the candidate at hand, in the order of D.
    values: Vec<Option<Value>>,
    busy: Vec<bool>,
    places: FxHashMap<NodeId, u32>,
    /// The values that the choice can take, and their log prior densities.
    candidates: Vec<Value>,
    log_priors: Vec<f64>,
    /// By the plan; none where it does not say it all.
    planned: Vec<Option<Planning>>,
    /// Those that were weighed side by side.
    by_bank: Vec<Option<f64>>,
    /// Candidates for which a family has to be made.
    missing: Vec<usize>,
    /// Surviving makers with an application in T.
    left: SmallVec<[NodeId; 4]>,
    /// The maker that the choice is drawn from.
    own_maker: Option<NodeId>,
    pub(super) workshop: Workshop,
    /// Whether the plan was there before and held.
    pub(super) recalled: bool,
}

/// What the current state or a candidate looks like.
#[derive(Clone, Copy)]
struct Planning {
    log_weight: f64,
    /// Unobserved choices in T.
    choices: usize,
    /// Whether something was made for it aside.
    made: bool,
}

impl Planning {
    fn of(log_weight: f64) -> Planning {
        Planning { log_weight, choices: 0, made: false }
    }
}

impl Sketch {
    /// The candidates and their weights, the current state first, and the number of absorbing
    /// choices; none if this is not the way.
    pub fn weigh(
        &mut self,
        trace: &mut Trace,
        scaffold: &mut Scaffold,
        block: (NodeId, DrawnFrom<'_>),
        seed: u64,
        weighed: (&mut Vec<f64>, &mut Vec<Candidate>),
    ) -> Option<usize> {
        let mut plans = trace.plans.take().unwrap_or_default();
        let done = self.weigh_with(trace, scaffold, &mut plans, block, seed, weighed);
        trace.plans = Some(plans);
        done
    }

    fn weigh_with(
        &mut self,
        trace: &mut Trace,
        scaffold: &mut Scaffold,
        plans: &mut Plans,
        (principal, drawn_from): (NodeId, DrawnFrom<'_>),
        seed: u64,
        (log_weights, candidates): (&mut Vec<f64>, &mut Vec<Candidate>),
    ) -> Option<usize> {
        let holds = plans.hold(trace, principal);
        self.recalled = holds;
        if !holds {
            build(trace, scaffold, principal)?;
            plans.make(trace, scaffold)?;
        }
        self.own_maker = match trace.node(principal).op {
            Op::Draw(maker) => Some(maker),
            _ => None,
        };
        let (place, log_prior) = self.read_priors(trace, principal)?;
        let (plan, roots, bank) = plans.get(principal).expect("it holds or was just made");
        if trace.last_lazy > 0 {
            for id in plan.plan.operands.iter().filter_map(Operand::node) {
                trace.refresh(id).ok()?;
            }
            // One that slips through is left to the computing of D.
            let fresh_at = (trace.last_lazy, trace.memo_edits);
            if plan.shape.terms.is_some() && roots.fresh_at != fresh_at {
                roots.fresh_at = fresh_at;
                for (k, value) in self.candidates.iter().enumerate() {
                    plan.shape.refresh(trace, roots, (k, value))?;
                }
            }
        }
        self.workshop.count_in(drawn_from);
        self.workshop.replays = plan.shape.observation_moves;
        self.planned.clear();
        self.missing.clear();
        let known = match (holds, place) {
            (true, Some(place)) => self.weigh_all(trace, plan, roots, bank, place),
            _ => None,
        };
        let current = match known {
            Some(current) => current,
            None => {
                if holds {
                    build(trace, scaffold, principal)?;
                }
                let current = self.current(trace, scaffold, drawn_from)?;
                self.weigh_others(trace, plan, roots, place);
                current
            }
        };
        for at in 0..self.missing.len() {
            let k = self.missing[at];
            self.planned[k] = self.by_making(trace, plan, principal, roots, (seed, k));
        }
        let log_blocks = drawn_from.log_count(trace);
        let log_count = |trace: &Trace, come: usize| match drawn_from {
            DrawnFrom::Choices if come != current.choices => {
                drawn_from.log_count_after(trace, current.choices, come)
            }
            _ => log_blocks,
        };
        log_weights.push(log_prior + current.log_weight - log_blocks);
        for k in (0..self.candidates.len()).filter(|k| Some(*k) != place) {
            let planning = match self.planned[k] {
                Some(planning) => planning,
                None => self.by_computing(trace, plan, principal, (seed, k))?,
            };
            let log_weight = self.log_priors[k] + planning.log_weight;
            log_weights.push(log_weight - log_count(trace, planning.choices));
            candidates
                .push(Candidate { path: SmallVec::from_slice(&[k as u32]), stream: k as u64 });
        }
        Some(plan.plan.absorbing.len())
    }

    /// The value of the candidate of this number, and whether something had to be made for it.
    pub(super) fn candidate(&self, k: usize) -> (&Value, bool) {
        (&self.candidates[k], self.planned[k].is_none_or(|planning| planning.made))
    }

    /// The current state, which is the candidate of this number, by the plan; and what the plan says of the
    /// others. None where it does not say it all of the current state.
    fn weigh_all(
        &mut self,
        trace: &mut Trace,
        plan: Planned<'_>,
        roots: &mut Roots,
        bank: &mut Bank,
        place: usize,
    ) -> Option<Planning> {
        // Marks of earlier scaffolds mean nothing.
        trace.epoch += 1;
        self.left.clear();
        if !plan.shape.whole {
            return None;
        }
        let Sketch { candidates, left, by_bank, .. } = self;
        let current = (place, &candidates[place]);
        let ready = Ready::new(trace, plan, self.own_maker);
        // NaN and impossible states are for the slow road.
        let finite = |log_weight: f64| log_weight.is_finite().then(|| Planning::of(log_weight));
        let Some(terms) = &plan.shape.terms else {
            let current = finite(ready.weigh(current, As::Current, left, roots)?)?;
            self.weigh_others(trace, plan, roots, Some(place));
            return Some(current);
        };
        by_bank.clear();
        let banked = bank.weigh(terms, &ready.row, (candidates, place), left, roots, by_bank);
        let log_current = match banked {
            Some(log_current) => log_current,
            None => terms.weigh(&ready.row, current, As::Current, left, roots, None).known()?,
        };
        let current = finite(log_current)?;
        by_bank.resize(candidates.len(), None);
        for k in 0..self.candidates.len() {
            let weight = match self.by_bank[k] {
                _ if k == place => Weight::Unknown,
                Some(log_weight) => Weight::Known(log_weight),
                None => self.weigh_one(terms, &ready.row, roots, k),
            };
            self.plan_for(k, weight);
        }
        Some(current)
    }

    /// What the plan says of the candidates but the current one, which was weighed.
    fn weigh_others(
        &mut self,
        trace: &Trace,
        plan: Planned<'_>,
        roots: &mut Roots,
        current: Option<usize>,
    ) {
        let ready = Ready::new(trace, plan, self.own_maker);
        for k in 0..self.candidates.len() {
            let weight = match &plan.shape.terms {
                _ if Some(k) == current => Weight::Unknown,
                Some(terms) => self.weigh_one(terms, &ready.row, roots, k),
                None => {
                    let candidate = (k, &self.candidates[k]);
                    ready.weigh(candidate, As::Other, &mut self.left, roots).into()
                }
            };
            self.plan_for(k, weight);
        }
    }

    fn weigh_one(&mut self, terms: &Terms, row: &Row<'_>, roots: &mut Roots, k: usize) -> Weight {
        terms.weigh(row, (k, &self.candidates[k]), As::Other, &mut self.left, roots, None)
    }

    fn plan_for(&mut self, k: usize, weight: Weight) {
        if let Weight::Missing = weight {
            self.missing.push(k);
        }
        self.planned.push(weight.known().map(Planning::of));
    }

    /// A candidate whose weight is a list of terms and for which families have to be made.
    fn by_making(
        &mut self,
        trace: &mut Trace,
        plan: Planned<'_>,
        principal: NodeId,
        roots: &mut Roots,
        (seed, k): (u64, usize),
    ) -> Option<Planning> {
        let terms = plan.shape.terms.as_ref()?;
        self.begin(plan, principal, (seed, k));
        let value = self.candidates[k].clone();
        let mut values: [Option<Value>; MOST_LOOKUPS] = Default::default();
        for (made, lookup) in values.iter_mut().zip(&terms.lookups) {
            if !roots.is_absent(trace, (lookup.table as usize, k), lookup.memo, &value) {
                continue;
            }
            let asks = plan.plan.target[lookup.asks as usize];
            let key = std::slice::from_ref(&value);
            let mut bench = Bench { sketch: self, plan };
            *made = bench.expand(trace, asks, None, |bench, trace| {
                bench.make_family(trace, lookup.memo, key, None)
            });
        }
        let aside = Aside { values: &values, workshop: &self.workshop };
        let row = Row::new(trace, plan.plan, self.own_maker);
        let candidate = (k, &value);
        let weight = terms.weigh(&row, candidate, As::Other, &mut self.left, roots, Some(aside));
        let log_weight = weight.known()?;
        Some(Planning { log_weight, choices: self.workshop.choices, made: true })
    }

    /// Begins with a candidate for which something has to be made or computed.
    fn begin(&mut self, plan: Planned<'_>, principal: NodeId, (seed, k): (u64, usize)) {
        self.workshop.begin((seed, k as u64));
        self.index(plan);
        let place = self.place(plan, principal).expect("the choice is in D");
        self.values[place] = Some(self.candidates[k].clone());
    }

    /// A candidate for which the plan does not say it all: D is computed.
    fn by_computing(
        &mut self,
        trace: &mut Trace,
        plan: Planned<'_>,
        principal: NodeId,
        (seed, k): (u64, usize),
    ) -> Option<Planning> {
        self.begin(plan, principal, (seed, k));
        let log_absorbed = self.absorb(trace, plan)?;
        let log_weight = log_absorbed + self.workshop.log_observed;
        Some(Planning { log_weight, choices: self.workshop.choices, made: true })
    }

    /// Σ_A and the observed choices of T as they are, the choice itself not counted.
    fn current(
        &mut self,
        trace: &mut Trace,
        scaffold: &Scaffold,
        drawn_from: DrawnFrom<'_>,
    ) -> Option<Planning> {
        let mut current = Planning::of(0.0);
        self.left.clear();
        for id in &scaffold.absorbing {
            trace.refresh_arguments(*id).ok()?;
            current.log_weight += trace.log_density(*id).ok()?;
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
                    current.log_weight += log_p.ok()?;
                } else if trace.node(id).constrained {
                    trace.refresh_arguments(id).ok()?;
                    current.log_weight += trace.log_density(id).ok()?;
                }
            }
        }
        // NaN and impossible states are for the slow road.
        current.log_weight.is_finite().then_some(current)
    }

    /// Finds the values that the choice can take and their log prior densities, while it is not counted.
    /// Gives the place of the current value, if it is among them, and its log prior density.
    fn read_priors(&mut self, trace: &mut Trace, id: NodeId) -> Option<(Option<usize>, f64)> {
        let Sketch { candidates, log_priors, .. } = self;
        candidates.clear();
        log_priors.clear();
        let current = trace.node(id).value.clone();
        let place = |candidates: &[Value]| candidates.iter().position(|value| *value == current);
        let Op::Draw(maker) = trace.node(id).op else {
            *candidates = Choice { trace, node: id }.enumerate().ok()?;
            for value in &*candidates {
                log_priors.push(trace.log_density_at(id, value).ok()?);
            }
            return match place(candidates) {
                Some(place) => Some((Some(place), log_priors[place])),
                None => Some((None, trace.log_density_at(id, &current).ok()?)),
            };
        };
        trace.refresh_arguments(maker).ok()?;
        if !trace.statistics(maker).is_exact() {
            return None;
        }
        trace.statistics_mut(maker).remove(&current);
        let read = trace.with_params(maker, |params| {
            let statistics = trace.statistics(maker);
            let finite = statistics.enumerate_weighed(&current, params, candidates, log_priors);
            if !finite.ok()? {
                return None;
            }
            match place(candidates) {
                Some(place) => Some((Some(place), log_priors[place])),
                None => Some((None, statistics.log_predictive(&current, params).ok()?)),
            }
        });
        trace.statistics_mut(maker).add(&current);
        read
    }

    // ------------------------------------------------------------ D and A

    fn index(&mut self, Planned { plan, .. }: Planned<'_>) {
        let size = plan.target.len();
        self.values.clear();
        self.values.resize(size, None);
        self.busy.clear();
        self.busy.resize(size, false);
        self.places.clear();
        if size > SMALL {
            let nodes = plan.target.iter().enumerate();
            self.places.extend(nodes.map(|(place, id)| (*id, place as u32)));
        }
    }

    /// Where in D a node is.
    fn place(&self, Planned { plan, .. }: Planned<'_>, id: NodeId) -> Option<usize> {
        match plan.target.len() > SMALL {
            true => self.places.get(&id).map(|place| *place as usize),
            false => plan.target.iter().position(|node| *node == id),
        }
    }

    /// Computes D; gives Σ_A log p.
    fn absorb(&mut self, trace: &mut Trace, plan: Planned<'_>) -> Option<f64> {
        for place in 0..plan.shape.steps.len() {
            self.compute(trace, plan, place)?;
        }
        let mut total = 0.0;
        for ((distribution, args), id) in plan.shape.absorbing.iter().zip(&plan.plan.absorbing) {
            let args = self.arguments(trace, plan, args)?;
            let log_p = distribution.log_density(&trace.node(*id).value, &args).ok()?;
            if log_p.is_nan() {
                return None;
            }
            total += log_p;
        }
        Some(total)
    }

    /// An argument of a node of D or A; computed before, if it is in D.
    fn read<'a>(
        &'a self,
        trace: &'a Trace,
        plan: Planned<'a>,
        source: Source,
    ) -> Option<&'a Value> {
        match source {
            Source::Fixed(place) => Some(trace.settled_value(&plan.plan.operands[place as usize])),
            Source::Slot(place) => self.values[place as usize].as_ref(),
        }
    }

    #[inline]
    fn arguments<'a>(
        &'a self,
        trace: &'a Trace,
        plan: Planned<'a>,
        sources: &[Source],
    ) -> Option<SmallVec<[&'a Value; 4]>> {
        sources.iter().map(|source| self.read(trace, plan, *source)).collect()
    }

    /// Gives a node of D its value, and those of its arguments that are in D.
    fn compute(&mut self, trace: &mut Trace, plan: Planned<'_>, place: usize) -> Option<()> {
        if self.values[place].is_some() {
            return Some(());
        }
        if std::mem::replace(&mut self.busy[place], true) {
            return None;
        }
        let value = self.value_of(trace, plan, place);
        self.busy[place] = false;
        self.values[place] = Some(value?);
        Some(())
    }

    fn value_of(&mut self, trace: &mut Trace, plan: Planned<'_>, place: usize) -> Option<Value> {
        let step = &plan.shape.steps[place];
        for slot in step.slots() {
            self.compute(trace, plan, slot)?;
        }
        let id = plan.plan.target[place];
        match step {
            Step::Given => None,
            Step::Apply(function, args) => {
                (function.apply)(&self.arguments(trace, plan, args)?).ok()
            }
            Step::Follow(root) => self.read(trace, plan, *root).cloned(),
            Step::Request { memo, key, .. } => {
                let key = self.read(trace, plan, *key)?.clone();
                let mut bench = Bench { sketch: self, plan };
                bench.expand(trace, id, None, |bench, trace| {
                    bench.request(trace, *memo, &[key], None)
                })
            }
            Step::Predict { operator, observed, .. } => {
                let operator = self.read(trace, plan, *operator)?.clone();
                let observed = plan.plan.operands[*observed as usize].constant();
                let mut bench = Bench { sketch: self, plan };
                bench.expand(trace, id, observed, |bench, trace| {
                    bench.apply(trace, &operator, &[], observed)
                })
            }
            Step::Expand(args) => {
                let values: SmallVec<[Value; 4]> =
                    self.arguments(trace, plan, args)?.into_iter().cloned().collect();
                let node = trace.node(id);
                let Op::Structure(structure) = &node.op else { return None };
                let (structure, observed) = (structure.clone(), node.observed.clone());
                let observed = observed.as_deref().map(|observed| &observed.value);
                let mut bench = Bench { sketch: self, plan };
                bench.expand(trace, id, observed, |bench, trace| {
                    bench.body(trace, &structure, &values, observed)
                })
            }
        }
    }

    /// An observed application of what a maker made, the first one for this candidate.
    pub(super) fn log_predictive(
        &mut self,
        trace: &Trace,
        maker: NodeId,
        observed: &Value,
    ) -> Option<Value> {
        let aside = Workshop::is_aside(maker);
        let may_draw = aside
            || trace.role(maker).is_none()
                && Some(maker) != self.own_maker
                && !self.left.contains(&maker);
        if !may_draw {
            return None;
        }
        let (value, log_p) = match aside {
            true => self.workshop.read(maker, observed)?,
            false => {
                let statistics = trace.statistics(maker);
                let value = statistics.admit(observed).ok()?;
                let log_p =
                    trace.with_params(maker, |params| statistics.log_predictive(&value, params));
                (value, log_p.ok()?)
            }
        };
        self.workshop.take(maker, log_p)?;
        Some(value)
    }

    /// The value of an operand that a running program reads.
    pub(super) fn operand(
        &mut self,
        trace: &mut Trace,
        plan: Planned<'_>,
        operand: &Operand,
    ) -> Option<Value> {
        let id = match operand {
            Operand::Constant(value) => return Some(value.clone()),
            Operand::Node(id) => *id,
        };
        if let Some(place) = self.place(plan, id) {
            self.compute(trace, plan, place)?;
            return self.values[place].clone();
        }
        if trace.role(id) == Some(Role::Transient) {
            return None;
        }
        trace.refresh(id).ok()?;
        Some(trace.node(id).value.clone())
    }
}

/// Builds the scaffold of a choice; none if it is not for a sketch.
fn build(trace: &mut Trace, scaffold: &mut Scaffold, principal: NodeId) -> Option<()> {
    scaffold.build(trace, &[principal]);
    let absorbs = |id: &NodeId| matches!(trace.node(*id).op, Op::Random(_));
    let fits = scaffold.makers.is_empty()
        && scaffold.released.is_empty()
        && scaffold.absorbing.iter().all(absorbs);
    fits.then_some(())
}

/// A sketch and the plan it follows, while a program runs.
pub(super) struct Bench<'a> {
    pub sketch: &'a mut Sketch,
    pub plan: Planned<'a>,
}

/// The root of the family of a memo key, if there is one that stays.
pub(super) fn live_root(trace: &Trace, memo: NodeId, key: &MemoKey) -> Option<Operand> {
    match trace.memo(memo).families.get(key) {
        Some(MemoEntry::Family(family)) if !is_transient(trace, *family) => {
            trace.families[family.index()].root.clone()
        }
        _ => None,
    }
}

fn is_transient(trace: &Trace, id: FamilyId) -> bool {
    let family = &trace.families[id.index()];
    family.mark == trace.epoch && family.disabled == family.references
}
