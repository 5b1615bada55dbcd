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

use super::kept::Plans;
use super::plan::{As, Ready};
use super::{Candidate, DrawnFrom};
use crate::enumerate::workshop::Workshop;
use crate::id::{FamilyId, NodeId};
use crate::node::{Arg, MemoEntry, MemoKey, NOWHERE, Observed, Op, Role};
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
    /// By the plan; none where it does not do.
    planned: Vec<Option<f64>>,
    /// Surviving makers with an application in T.
    left: SmallVec<[NodeId; 4]>,
    /// The maker that the choice is drawn from.
    own_maker: Option<NodeId>,
    pub(super) workshop: Workshop,
}

/// What the current state looks like.
struct Current {
    log_weight: f64,
    /// Unobserved choices in T.
    choices: usize,
}

impl Sketch {
    /// The candidates and their weights, the current state first; none if this is not the way.
    pub fn weigh(
        &mut self,
        trace: &mut Trace,
        scaffold: &mut Scaffold,
        block: (NodeId, DrawnFrom<'_>),
        seed: u64,
        weighed: (&mut Vec<f64>, &mut Vec<Candidate>),
    ) -> Option<()> {
        let mut plans = std::mem::take(&mut trace.plans);
        let done = self.weigh_with(trace, scaffold, &mut plans, block, seed, weighed);
        trace.plans = plans;
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
    ) -> Option<()> {
        self.own_maker = match trace.node(principal).op {
            Op::Draw(maker) => Some(maker),
            _ => None,
        };
        let (values, log_priors, log_prior) = priors(trace, principal)?;
        let holds = plans.hold(trace, principal);
        let known = match holds {
            true => self.current_by_plan(trace, scaffold, plans, principal, &values),
            false => None,
        };
        let current = match known {
            Some(current) => current,
            None => {
                self.build(trace, scaffold, principal)?;
                if !holds {
                    plans.make(trace, scaffold);
                }
                self.current(trace, scaffold, drawn_from)?
            }
        };
        let log_blocks = drawn_from.log_count(trace);
        let log_count = |trace: &Trace, come: usize| match drawn_from {
            DrawnFrom::Choices if come != current.choices => {
                drawn_from.log_count_after(trace, current.choices, come)
            }
            _ => log_blocks,
        };
        log_weights.push(log_prior + current.log_weight - log_blocks);
        self.plan(trace, plans, principal, &values);
        self.index(scaffold);
        let place = self.place(scaffold, principal).expect("the choice is in D");
        self.workshop.count_in(drawn_from);
        self.workshop.replays = scaffold.observation_moves;
        for (k, (value, log_p)) in values.into_iter().zip(log_priors).enumerate() {
            if value == trace.node(principal).value {
                continue;
            }
            let (log_made, come) = match self.planned[k] {
                Some(log_made) => (log_made, 0),
                None => {
                    self.workshop.begin((seed, k as u64));
                    self.values.fill(None);
                    self.values[place] = Some(value);
                    let log_absorbed = self.absorb(trace, scaffold)?;
                    (log_absorbed + self.workshop.log_observed, self.workshop.choices)
                }
            };
            log_weights.push(log_p + log_made - log_count(trace, come));
            candidates
                .push(Candidate { path: SmallVec::from_slice(&[k as u32]), stream: k as u64 });
        }
        Some(())
    }

    /// Builds the scaffold; none if it is not for a sketch.
    fn build(
        &mut self,
        trace: &mut Trace,
        scaffold: &mut Scaffold,
        principal: NodeId,
    ) -> Option<()> {
        scaffold.build(trace, &[principal]);
        let absorbs = |id: &NodeId| matches!(trace.node(*id).op, Op::Random(_));
        if !scaffold.makers.is_empty()
            || !scaffold.released.is_empty()
            || !scaffold.absorbing.iter().all(absorbs)
        {
            return None;
        }
        if trace.last_lazy > 0 {
            for id in scaffold.absorbing.iter().chain(&scaffold.target) {
                trace.refresh_arguments(*id).ok()?;
            }
        }
        Some(())
    }

    /// The current state by the plan that is kept, and the scaffold with it. None where the plan does
    /// not say it all.
    fn current_by_plan(
        &mut self,
        trace: &mut Trace,
        scaffold: &mut Scaffold,
        plans: &mut Plans,
        principal: NodeId,
        values: &[Value],
    ) -> Option<Current> {
        let ((plan, shape), roots) = plans.get(principal)?;
        if trace.last_lazy > 0 {
            for id in plan.operands.iter().filter_map(Operand::node) {
                trace.refresh(id).ok()?;
            }
        }
        plan.recall(trace, shape, scaffold, principal);
        let value = &trace.node(principal).value;
        let k = values.iter().position(|candidate| candidate == value)?;
        self.left.clear();
        let ready = Ready::new(trace, (plan, shape), self.own_maker);
        let log_weight = ready.weigh((k, value), As::Current, &mut self.left, roots)?;
        // NaN and impossible states are for the slow road.
        log_weight.is_finite().then_some(Current { log_weight, choices: 0 })
    }

    /// Weighs the candidates for which nothing has to be made.
    fn plan(&mut self, trace: &Trace, plans: &mut Plans, principal: NodeId, values: &[Value]) {
        self.planned.clear();
        let Some((plan, roots)) = plans.get(principal) else {
            self.planned.resize(values.len(), None);
            return;
        };
        let ready = Ready::new(trace, plan, self.own_maker);
        let current = &trace.node(principal).value;
        for (k, value) in values.iter().enumerate() {
            let log_weight = match value == current {
                true => None,
                false => ready.weigh((k, value), As::Other, &mut self.left, roots),
            };
            self.planned.push(log_weight);
        }
    }

    /// Σ_A and the observed choices of T as they are, the choice itself not counted.
    fn current(
        &mut self,
        trace: &mut Trace,
        scaffold: &Scaffold,
        drawn_from: DrawnFrom<'_>,
    ) -> Option<Current> {
        let mut current = Current { log_weight: 0.0, choices: 0 };
        self.left.clear();
        for id in &scaffold.absorbing {
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

    // ------------------------------------------------------------ D and A

    fn index(&mut self, scaffold: &Scaffold) {
        let size = scaffold.target.len();
        self.values.clear();
        self.values.resize(size, None);
        self.busy.clear();
        self.busy.resize(size, false);
        self.places.clear();
        if size > SMALL {
            let nodes = scaffold.target.iter().enumerate();
            self.places.extend(nodes.map(|(place, id)| (*id, place as u32)));
        }
    }

    fn place(&self, scaffold: &Scaffold, id: NodeId) -> Option<usize> {
        match scaffold.target.len() > SMALL {
            true => self.places.get(&id).map(|place| *place as usize),
            false => scaffold.target.iter().position(|node| *node == id),
        }
    }

    /// Computes D; gives Σ_A log p.
    fn absorb(&mut self, trace: &mut Trace, scaffold: &Scaffold) -> Option<f64> {
        for place in 0..scaffold.target.len() {
            self.compute(trace, scaffold, place)?;
        }
        let mut total = 0.0;
        for id in &scaffold.absorbing {
            let node = trace.node(*id);
            let Op::Random(distribution) = &node.op else { unreachable!("checked before") };
            let args = self.arguments(trace, scaffold, &node.args)?;
            let log_p = distribution.log_density(&node.value, &args).ok()?;
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
        scaffold: &Scaffold,
        operand: &'a Operand,
    ) -> Option<&'a Value> {
        match operand {
            Operand::Constant(value) => Some(value),
            Operand::Node(id) => match trace.role(*id) {
                Some(Role::Target | Role::Restructured) => {
                    self.values[self.place(scaffold, *id)?].as_ref()
                }
                Some(Role::Transient) => None,
                _ => Some(&trace.node(*id).value),
            },
        }
    }

    #[inline]
    fn arguments<'a>(
        &'a self,
        trace: &'a Trace,
        scaffold: &Scaffold,
        args: &'a [Arg],
    ) -> Option<SmallVec<[&'a Value; 4]>> {
        let mut values = SmallVec::new();
        for arg in args {
            values.push(self.read(trace, scaffold, &arg.operand)?);
        }
        Some(values)
    }

    /// Gives a node of D its value, and those of its arguments that are in D.
    fn compute(&mut self, trace: &mut Trace, scaffold: &Scaffold, place: usize) -> Option<()> {
        if self.values[place].is_some() {
            return Some(());
        }
        if std::mem::replace(&mut self.busy[place], true) {
            return None;
        }
        let value = self.value_of(trace, scaffold, scaffold.target[place]);
        self.busy[place] = false;
        self.values[place] = Some(value?);
        Some(())
    }

    fn value_of(&mut self, trace: &mut Trace, scaffold: &Scaffold, id: NodeId) -> Option<Value> {
        let restructured = trace.node(id).role == Role::Restructured;
        let read = trace.node(id).args.len() - usize::from(restructured);
        for slot in 0..read {
            if let Some(parent) = trace.node(id).args[slot].operand.node()
                && let Some(place) = self.place_if_moved(trace, scaffold, parent)
            {
                self.compute(trace, scaffold, place)?;
            }
        }
        let node = trace.node(id);
        let args = self.arguments(trace, scaffold, &node.args[..read])?;
        match &node.op {
            Op::Function(function) => return (function.apply)(&args).ok(),
            Op::Structure(_) if !restructured => return args.last().map(|root| (*root).clone()),
            Op::Structure(_) => drop(args),
            _ => return None,
        }
        self.expand(trace, scaffold, id)
    }

    /// An observed application of what a maker made, the first one for this candidate.
    pub(super) fn log_predictive(
        &mut self,
        trace: &Trace,
        maker: NodeId,
        observed: &Observed,
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

    /// What the program would make below a structure.
    fn expand(&mut self, trace: &mut Trace, scaffold: &Scaffold, id: NodeId) -> Option<Value> {
        let node = trace.node(id);
        let Op::Structure(structure) = &node.op else { unreachable!("only structures expand") };
        let (structure, observed) = (structure.clone(), node.observed.clone());
        let existential = &node.args[..node.args.len() - 1];
        let args = self.arguments(trace, scaffold, existential)?;
        let values: SmallVec<[Value; 4]> = args.into_iter().cloned().collect();
        let mut bench = Bench { sketch: self, scaffold };
        bench.expand(trace, id, &structure, &values, observed.as_deref())
    }

    fn place_if_moved(&self, trace: &Trace, scaffold: &Scaffold, id: NodeId) -> Option<usize> {
        match trace.role(id) {
            Some(Role::Target | Role::Restructured) => self.place(scaffold, id),
            _ => None,
        }
    }

    /// The value of an operand that a running program reads.
    pub(super) fn operand(
        &mut self,
        trace: &mut Trace,
        scaffold: &Scaffold,
        operand: &Operand,
    ) -> Option<Value> {
        let id = match operand {
            Operand::Constant(value) => return Some(value.clone()),
            Operand::Node(id) => *id,
        };
        match trace.role(id) {
            Some(Role::Target | Role::Restructured) => {
                let place = self.place(scaffold, id)?;
                self.compute(trace, scaffold, place)?;
                self.values[place].clone()
            }
            Some(Role::Transient) => None,
            _ => {
                trace.refresh(id).ok()?;
                Some(trace.node(id).value.clone())
            }
        }
    }
}

/// A sketch and the scaffold it is about, while a program runs.
pub(super) struct Bench<'a> {
    pub sketch: &'a mut Sketch,
    pub scaffold: &'a Scaffold,
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

/// The values that the choice can take, their log prior densities, and that of the current
/// value; read while it is not counted.
fn priors(trace: &mut Trace, id: NodeId) -> Option<(Vec<Value>, Vec<f64>, f64)> {
    let current = trace.node(id).value.clone();
    let maker = match trace.node(id).op {
        Op::Draw(maker) => {
            trace.refresh_arguments(maker).ok()?;
            if trace.statistics(maker).snapshot().is_some() {
                return None;
            }
            trace.statistics_mut(maker).remove(&current);
            Some(maker)
        }
        _ => None,
    };
    let read = || -> Option<(Vec<Value>, Vec<f64>, f64)> {
        let values = Choice { trace, node: id }.enumerate().ok()?;
        let log_density = |value: &Value| trace.log_density_at(id, value).ok();
        let mut log_priors = Vec::with_capacity(values.len());
        match maker {
            Some(maker) => trace
                .with_params(maker, |params| {
                    trace.statistics(maker).log_predictives(&values, params, &mut log_priors)
                })
                .ok()?,
            None => {
                for value in &values {
                    log_priors.push(log_density(value)?);
                }
            }
        }
        let log_prior = match values.iter().position(|value| *value == current) {
            Some(place) => log_priors[place],
            None => log_density(&current)?,
        };
        Some((values, log_priors, log_prior))
    };
    let priors = read();
    if let Some(maker) = maker {
        trace.statistics_mut(maker).add(&current);
    }
    priors
}
