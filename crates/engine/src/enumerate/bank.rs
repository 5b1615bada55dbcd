//! The numbers by which the candidates of one shape are weighed, side by side.
//!
//! In a mixture of experts the weight of candidate k is
//!
//! log W_k = a_k − b_k log(1 + c_k |y_k|²) + log p(coin | w_k' x), with L_k y_k = x − m_k,
//!
//! a Student t predictive ([`Statistics::student`]) and a logistic regression, one of each at most. (The
//! current state has the predictive of its cluster without the row, from the same numbers.) The
//! numbers of all clusters stand in columns, field by field, so that one row of data is weighed
//! against several clusters at a time. They are copied when they have changed and only then:
//! statistics carry stamps, vectors are known by their address.
//!
//! A new cluster, whose statistics are those of no members and whose weights were just drawn, gets a
//! lane for the row at hand.
//!
//! The oracle is [`Terms`], which weighs one candidate after the other. It is asked for whatever does
//! not fit here, such as a cluster that D has a part in.
//!
//! [`Statistics::student`]: smidgen_prob::Statistics::student

use std::sync::Arc;

use smallvec::SmallVec;
use smidgen_value::{Value, Vector, math};

use super::kept::{MemoRootCache, Root, maker_of};
use super::plan::Plan;
use super::terms::{Aside, Lookup, Mixture, Terms};
use crate::id::NodeId;
use crate::node::Op;
use crate::operand::Operand;
use crate::program::wide::Wide;
use crate::trace::Trace;

/// The least of 1 - g |y|² that leaves enough digits.
const LEAST_LEFT: f64 = 1e-3;
/// Numbers of a size that [`Statistics::student`](smidgen_prob::Statistics::student) is meant for.
const LARGEST: f64 = 1e140;

#[derive(Default)]
pub(super) struct Bank {
    wide: Wide,
    /// What the numbers were last compared with.
    as_of: Option<AsOf>,
    members: Vec<Member>,
    /// Nodes that the members' values are read from.
    nodes: Vec<NodeId>,
    /// Whether no two members have one maker, and none that of the choice.
    distinct: bool,
    /// Dimensions of the predictive and of the weights; 0 if they are not known yet.
    dimension: usize,
    width: usize,
    /// Lanes of a field.
    stride: usize,
    students: Vec<f64>,
    weights: Vec<f64>,
    /// Statistics of a cluster without members, and their numbers.
    fresh: Option<Value>,
    fresh_numbers: Vec<f64>,
    // For one row.
    /// Members that are not there but got numbers.
    aside: SmallVec<[usize; 2]>,
    spare: Vec<f64>,
    features: Vec<f64>,
    outcomes: Vec<f64>,
    log_odds: Vec<f64>,
    slopes: Vec<f64>,
    log_coins: Vec<f64>,
    log_students: Vec<f64>,
}

/// As long as these are the same, so are the numbers of the members.
#[derive(PartialEq)]
struct AsOf {
    memo_edits: u64,
    stamps: u64,
    value_edits: u64,
    last_lazy: u64,
    own_maker: Option<NodeId>,
}

impl AsOf {
    fn now(trace: &Trace, own_maker: Option<NodeId>) -> AsOf {
        let Trace { memo_edits, stamps, value_edits, last_lazy, .. } = *trace;
        AsOf { memo_edits, stamps, value_edits, last_lazy, own_maker }
    }
}

/// A cluster, by the number of the candidate.
struct Member {
    key: f64,
    operator: Option<Root>,
    weights_root: Option<Root>,
    /// Whether none of the families is there.
    absent: bool,
    /// What its numbers were copied from.
    copied: Option<Copied>,
}

impl Member {
    fn maker(&self) -> Option<NodeId> {
        Some(self.copied.as_ref()?.maker?.0)
    }
}

#[derive(Clone)]
struct Copied {
    maker: Option<(NodeId, u64)>,
    weights: Option<Arc<Vector>>,
}

/// The row of data, if it has the form that a bank is for.
struct Datum<'t> {
    x: &'t [f64],
    features: &'t [f64],
    outcome: f64,
}

impl<'t> Datum<'t> {
    fn of(mixture: &Mixture, trace: &'t Trace, plan: &'t Plan) -> Option<Datum<'t>> {
        let vector = |operand: u32| match trace.settled_value(&plan.operands[operand as usize]) {
            Value::Vector(x) => Some(x.as_slice()),
            _ => None,
        };
        let mut datum = Datum { x: &[], features: &[], outcome: 0.0 };
        if let Some(predict) = &mixture.predict {
            datum.x = vector(predict.typed)?;
        }
        if let Some(logistic) = &mixture.logistic {
            datum.features = vector(logistic.x)?;
            datum.outcome = trace.numbers[plan.absorbing[logistic.absorbing as usize].index()];
        }
        let largest = |xs: &[f64]| xs.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let is_small = |xs: &[f64]| largest(xs) <= LARGEST && !xs.iter().any(|x| x.is_nan());
        (is_small(datum.x) && is_small(datum.features) && !datum.outcome.is_nan()).then_some(datum)
    }
}

impl Bank {
    /// Brings the numbers of the clusters up to date; gives the candidates whose families are not there.
    /// None if the shape is not for this.
    pub(super) fn prepare(
        &mut self,
        terms: &Terms,
        trace: &Trace,
        (candidates, own_maker): (&[Value], Option<NodeId>),
        roots: &mut MemoRootCache,
    ) -> Option<SmallVec<[usize; 2]>> {
        let mixture = terms.mixture.as_ref()?;
        self.aside.clear();
        let now = AsOf::now(trace, own_maker);
        let is_key = |(member, value): (&Member, &Value)| value.as_number() == Some(member.key);
        let same = candidates.len() <= self.members.len()
            && self.members.iter().zip(candidates).all(is_key)
            && self.as_of.as_ref() == Some(&now);
        if !same {
            self.bring_up_to_date(terms, mixture, trace, candidates, roots);
            self.distinct = self.has_distinct_makers(own_maker);
            self.as_of = Some(now);
        }
        if !self.distinct {
            return None;
        }
        let absent = |k: &usize| self.members[*k].absent;
        Some((0..candidates.len()).filter(absent).collect())
    }

    /// Takes the numbers of a cluster that was made aside, by look-up, for the row at hand.
    pub(super) fn put_aside(
        &mut self,
        mixture: &Mixture,
        k: usize,
        Aside { values, brush }: Aside<'_>,
    ) -> Option<()> {
        if let Some(predict) = &mixture.predict {
            let operator = values[predict.operator as usize].as_ref()?;
            let is_known = self.fresh.as_ref().is_some_and(|fresh| fresh.is_identical(operator));
            if !is_known {
                self.fresh = None;
                self.fresh_numbers.clear();
                let numbers = &mut self.fresh_numbers;
                let dimension = brush.student(maker_of(operator)?, predict.maker, numbers)?;
                (dimension == self.dimension).then_some(())?;
                self.fresh = Some(operator.clone());
            }
            put(&self.fresh_numbers, &mut self.students, self.stride, k);
        }
        if let Some(logistic) = &mixture.logistic {
            let Some(Value::Vector(w)) = &values[logistic.w as usize] else { return None };
            (w.len() == self.width).then_some(())?;
            put(w, &mut self.weights, self.stride, k);
        }
        self.aside.push(k);
        Some(())
    }

    /// Weighs the candidates as [`Terms::weigh`] does, where no node is marked: the current state, and the
    /// others, where those that do not fit stay NaN. None if the current state does not fit. The
    /// maker that it applies is put into `left`. The bank was prepared.
    pub(super) fn weigh(
        &mut self,
        terms: &Terms,
        (trace, plan): (&Trace, &Plan),
        (candidates, current): (&[Value], usize),
        left: &mut SmallVec<[NodeId; 4]>,
        roots: &mut MemoRootCache,
        log_absorbed: &mut [f64],
    ) -> Option<f64> {
        let mixture = terms.mixture.as_ref()?;
        let datum = Datum::of(mixture, trace, plan)?;
        let fits = mixture.predict.is_none() || datum.x.len() == self.dimension;
        if !fits || mixture.logistic.is_some() && datum.features.len() + 1 != self.width {
            return None;
        }
        if plan.target.iter().any(|id| is_among(*id, &self.nodes)) {
            return None;
        }
        let stays = |lookup: &Lookup| {
            let at = (lookup.table as usize, current);
            let key = &candidates[current];
            roots.references(trace, at, lookup.memo, key) > lookup.requests
        };
        if self.members[current].copied.is_none() || !terms.lookups.iter().all(stays) {
            return None;
        }
        self.evaluate(mixture, &datum, candidates.len());
        let log_current = self.without_the_row(mixture, current)?;
        left.extend(self.members[current].maker());
        let log_terms = self.log_coins.iter().zip(&self.log_students);
        for (log_absorbed, (log_coin, log_student)) in log_absorbed.iter_mut().zip(log_terms) {
            *log_absorbed = log_coin + log_student;
        }
        // What stands in lanes without numbers means nothing.
        for (k, member) in self.members[..candidates.len()].iter().enumerate() {
            if member.copied.is_none() && !self.aside.contains(&k) {
                log_absorbed[k] = f64::NAN;
            }
        }
        Some(log_current)
    }

    /// The weight of the cluster that the row is in.
    fn without_the_row(&self, mixture: &Mixture, k: usize) -> Option<f64> {
        let log_student = match mixture.predict {
            Some(_) => {
                let number = |field: usize| self.students[field * self.stride + k];
                let taken = number(5) * self.spare[k];
                if taken.is_nan() || taken > 1.0 - LEAST_LEFT {
                    return None;
                }
                number(3) + number(4) * math::ln_1p(-taken)
            }
            None => 0.0,
        };
        let log_p = self.log_coins[k] + log_student;
        log_p.is_finite().then_some(log_p)
    }

    // ------------------------------------------------------------ copying

    fn bring_up_to_date(
        &mut self,
        terms: &Terms,
        mixture: &Mixture,
        trace: &Trace,
        candidates: &[Value],
        roots: &mut MemoRootCache,
    ) {
        if self.as_of.as_ref().is_none_or(|as_of| as_of.memo_edits != trace.memo_edits) {
            self.members.clear();
        }
        if self.stride < candidates.len() {
            // Other places for all numbers.
            self.stride = candidates.len().next_multiple_of(8);
            (self.dimension, self.width) = (0, 0);
            self.members.clear();
        }
        for (k, value) in candidates.iter().enumerate() {
            let key = value.as_number().unwrap_or(f64::NAN);
            if self.members.get(k).is_none_or(|member| member.key != key) {
                self.members.truncate(k);
                self.members.push(Member::of(terms, mixture, trace, (k, value), roots));
            }
            if !self.members[k].absent {
                self.refresh(mixture, trace, k);
            }
        }
        // Members that are there for none of these candidates may be out of date.
        self.members.truncate(candidates.len());
        let roots = self.members.iter().flat_map(|member| [member.operator, member.weights_root]);
        let node = |root| if let Some(Root::Node(_, id)) = root { Some(id) } else { None };
        self.nodes.clear();
        self.nodes.extend(roots.filter_map(node));
    }

    fn has_distinct_makers(&self, own_maker: Option<NodeId>) -> bool {
        let mut makers: SmallVec<[NodeId; 16]> = own_maker.into_iter().collect();
        self.members.iter().filter_map(Member::maker).all(|maker| {
            let new = !is_among(maker, &makers);
            makers.push(maker);
            new
        })
    }

    /// Copies the numbers of one cluster, if they have changed.
    #[inline]
    fn refresh(&mut self, mixture: &Mixture, trace: &Trace, k: usize) {
        let member = &self.members[k];
        let maker = match (&mixture.predict, &member.operator) {
            (None, _) => None,
            (Some(_), Some(root)) => {
                // That of a constant stays as long as the table.
                let known = match (root, &member.copied) {
                    (Root::Constant(_), Some(copied)) => copied.maker.map(|(maker, _)| maker),
                    _ => root.maker(trace),
                };
                match known.map(|maker| (maker, &trace.node(maker).op)) {
                    Some((maker, Op::Maker(made))) => Some((maker, made.stamp)),
                    _ => return self.members[k].copied = None,
                }
            }
            (Some(_), None) => return self.members[k].copied = None,
        };
        let weights = match (&mixture.logistic, &member.weights_root) {
            (None, _) => None,
            (Some(_), Some(root)) => match root.value(trace) {
                Some(Value::Vector(w)) => Some(w),
                _ => return self.members[k].copied = None,
            },
            (Some(_), None) => return self.members[k].copied = None,
        };
        let is_same = member.copied.as_ref().is_some_and(|copied| {
            let same_weights = match (&copied.weights, weights) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (a, b) => a.is_none() && b.is_none(),
            };
            copied.maker == maker && same_weights
        });
        if !is_same {
            let copied = Copied { maker, weights: weights.cloned() };
            self.members[k].copied = self.copy(mixture, trace, k, &copied).map(|()| copied);
        }
    }

    #[cold]
    fn copy(
        &mut self,
        mixture: &Mixture,
        trace: &Trace,
        k: usize,
        Copied { maker, weights }: &Copied,
    ) -> Option<()> {
        if let (Some((maker, _)), Some(predict)) = (maker, &mixture.predict) {
            let node = trace.node(*maker);
            let Op::Maker(made) = &node.op else { return None };
            let fixed = node.args.iter().all(|arg| matches!(arg.operand, Operand::Constant(_)));
            if !fixed || made.maker.latent().is_some() {
                return None;
            }
            if !std::ptr::addr_eq(made.maker, predict.maker) {
                return None;
            }
            self.spare.clear();
            let spare = &mut self.spare;
            let read = |params: &[&Value]| made.statistics.student(params, spare);
            let dimension = trace.with_params(*maker, read)?;
            if self.dimension == 0 {
                self.dimension = dimension;
                self.students.clear();
                self.students.resize(self.spare.len() * self.stride, 0.0);
                self.fresh = None;
            }
            if self.dimension != dimension {
                return None;
            }
            put(&self.spare, &mut self.students, self.stride, k);
        }
        if let Some(w) = weights {
            if self.width == 0 {
                self.width = w.len();
                self.weights.clear();
                self.weights.resize(w.len() * self.stride, 0.0);
            }
            if self.width != w.len() {
                return None;
            }
            put(w, &mut self.weights, self.stride, k);
        }
        Some(())
    }

    // ------------------------------------------------------------ evaluating

    /// log W_k of the first clusters; what stands for one that has no numbers means nothing.
    fn evaluate(&mut self, mixture: &Mixture, datum: &Datum<'_>, clusters: usize) {
        let lanes = clusters.next_multiple_of(8).min(self.stride);
        self.log_coins.clear();
        self.log_coins.resize(lanes, 0.0);
        self.log_students.clear();
        self.log_students.resize(lanes, 0.0);
        if mixture.logistic.is_some() {
            self.features.clear();
            self.features.push(1.0);
            self.features.extend_from_slice(datum.features);
            self.log_odds.resize(lanes, 0.0);
            self.slopes.resize(lanes, 0.0);
            self.outcomes.clear();
            self.outcomes.resize(lanes, datum.outcome);
            let log_odds = &mut self.log_odds[..lanes];
            self.wide.linear(&self.features, &self.weights, self.stride, log_odds);
            self.wide.coins(&self.outcomes, log_odds, &mut self.log_coins, &mut self.slopes);
        }
        if mixture.predict.is_some() {
            self.spare.resize(self.dimension * lanes, 0.0);
            let spare = &mut self.spare;
            self.wide.students(datum.x, &self.students, self.stride, spare, &mut self.log_students);
        }
    }
}

impl Member {
    fn of(
        terms: &Terms,
        mixture: &Mixture,
        trace: &Trace,
        (k, value): (usize, &Value),
        roots: &mut MemoRootCache,
    ) -> Member {
        let mut root = |place: u32| {
            let lookup = &terms.lookups[place as usize];
            roots.root(trace, (lookup.table as usize, k), lookup.memo, value)
        };
        let operator = mixture.predict.as_ref().and_then(|term| root(term.operator));
        let weights_root = mixture.logistic.as_ref().and_then(|term| root(term.w));
        let is_absent = |root: &Option<Root>| matches!(root, Some(Root::Absent));
        let absent = (mixture.predict.is_none() || is_absent(&operator))
            && (mixture.logistic.is_none() || is_absent(&weights_root));
        let key = value.as_number().unwrap_or(f64::NAN);
        Member { key, operator, weights_root, absent, copied: None }
    }
}

/// Looks at all of them, several at a time.
fn is_among(id: NodeId, ids: &[NodeId]) -> bool {
    ids.iter().fold(false, |found, other| found | (*other == id))
}

/// Number j of a cluster into lane k of field j.
fn put(numbers: &[f64], fields: &mut [f64], stride: usize, k: usize) {
    for (number, field) in numbers.iter().zip(fields.chunks_exact_mut(stride)) {
        field[k] = *number;
    }
}
