//! One candidate at a time on boxed values: what no lane can say.
//!
//! D is computed step by step, with what the program would make for T_k made aside by [`super::brush`].
//! This is the way of a candidate for which the choice decides more than what is looked up, of values
//! that are not numbers, and of a lane in which something is not finite: what it says then is what the
//! trace would say.

use smallvec::SmallVec;
use smidgen_value::Value;

use super::brush::BrushEvaluator;
use super::dry_run::{Bench, DryRun};
use super::kept::maker_of;
use super::plan::{CandidateRole, Planned, score};
use super::shape::{Source, Step};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::{MemoEntry, MemoKey, Op, Role};

/// Values of a D up to this size are searched for, those of a larger one hashed.
const SMALL: usize = 12;

impl DryRun {
    /// Σ_A and the observed choices of T_k of the candidate of this number. None where a whole proposal has
    /// to tell, for the current state also if T holds more than what the plan predicts.
    pub(super) fn weigh_boxed(
        &mut self,
        trace: &mut Trace,
        plan: Planned<'_>,
        principal: NodeId,
        (seed, k): (u64, usize),
        role: CandidateRole,
    ) -> Option<f64> {
        self.begin(plan, principal, (seed, k));
        self.role = role;
        let log_absorbed = self.absorb(trace, plan)? + self.brush.log_observed;
        (!log_absorbed.is_nan()).then_some(log_absorbed)
    }

    /// Begins with a candidate for which something has to be made or computed.
    pub(super) fn begin(&mut self, plan: Planned<'_>, principal: NodeId, (seed, k): (u64, usize)) {
        self.brush.begin((seed, k as u64));
        self.index(plan);
        let place = self.place(plan, principal).expect("the choice is in D");
        self.values[place] = Some(self.candidates[k].clone());
        self.role = CandidateRole::Other;
    }

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
    pub(super) fn read<'a>(
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
                if self.role == CandidateRole::Current {
                    stays(trace, *memo, &key, plan.shape.requests_of(*memo))?;
                }
                let mut bench = Bench { dry_run: self, plan };
                bench.expand(trace, id, None, |bench, trace| {
                    bench.request(trace, *memo, &[key], None)
                })
            }
            Step::Predict { operator, typed, maker, .. } if self.role == CandidateRole::Current => {
                let made = maker_of(self.read(trace, plan, *operator)?)?;
                let typed = trace.settled_value(&plan.plan.operands[*typed as usize]);
                let log_p = score(trace, made, typed, *maker, CandidateRole::Current)?;
                if Some(made) == self.own_maker || trace.role(made).is_some() {
                    return None;
                }
                self.brush.take(made, log_p)?;
                self.left.push(made);
                Some(typed.clone())
            }
            Step::Predict { operator, observed, .. } => {
                let operator = self.read(trace, plan, *operator)?.clone();
                let observed = plan.plan.operands[*observed as usize].constant();
                let mut bench = Bench { dry_run: self, plan };
                bench.expand(trace, id, observed, |bench, trace| {
                    bench.apply(trace, &operator, &[], observed)
                })
            }
            Step::Select(selected) => self.select(trace, plan, selected),
            Step::Weigh(selected) => {
                let log_p = self.select(trace, plan, selected)?.as_number()?;
                self.brush.observe(log_p)?;
                // Nobody reads it.
                Some(Value::Nil)
            }
            Step::Expand(_) if self.role == CandidateRole::Current => None,
            Step::Expand(args) => {
                self.brush.makes = true;
                let values: SmallVec<[Value; 4]> =
                    self.arguments(trace, plan, args)?.into_iter().cloned().collect();
                let node = trace.node(id);
                let Op::Structure(structure) = &node.op else { return None };
                let (structure, observed) = (structure.clone(), node.observed.clone());
                let observed = observed.as_deref().map(|observed| &observed.value);
                let mut bench = Bench { dry_run: self, plan };
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
        let aside = BrushEvaluator::is_aside(maker);
        let may_draw = aside
            || trace.role(maker).is_none()
                && Some(maker) != self.own_maker
                && !self.left.contains(&maker);
        if !may_draw {
            return None;
        }
        let (value, log_p) = match aside {
            true => self.brush.read(maker, observed)?,
            false => {
                let statistics = trace.statistics(maker);
                let value = statistics.admit(observed).ok()?;
                let log_p =
                    trace.with_params(maker, |params| statistics.log_predictive(&value, params));
                (value, log_p.ok()?)
            }
        };
        self.brush.take(maker, log_p)?;
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

/// Nothing unless the family of a key is there and stays when so many requests go.
fn stays(trace: &Trace, memo: NodeId, key: &Value, requests: u32) -> Option<()> {
    let key = MemoKey::from_iter([key.plain()]);
    let MemoEntry::Family(family) = trace.memo(memo).families.get(&key)? else { return None };
    (trace.families[family.index()].references > requests).then_some(())
}
