//! All paths of a chain of finite choices at once: forward filtering, backward sampling.
//!
//! Let every segment make one choice, and every density of segment t hang on the choices x_{t−1} and
//! x_t alone. With
//!
//! w_t(j, k) = p(x_t = k | x_{t−1} = j) Π p(absorbing choices of segment t | j, k)
//!
//! and α_t(k) = Σ_j α_{t−1}(j) w_t(j, k), the path x_T ~ α_T, then x_{t−1} | x_t = k ~ α_{t−1}(j) w_t(j, k),
//! is a draw from p(path | rest), whatever the path was. The values of a step are all that can follow
//! some value of the step before ([`super::transitions`]). What hangs on x_t alone is computed once per k, the rest
//! once per (j, k) ([`super::weigh`]): O(T K²).
//!
//! α is kept as shares of its largest number, and by its logarithms where one of them would become too small for that.
//!
//! A structure that selects among branches ([`super::select`]) is a deterministic node like any other, for each
//! of the values that it selects by; if it is an observed choice on either side, its density is one of w_t.
//!
//! Deterministic nodes further apart (a sum over the path that somebody predicts) are no part of any
//! density. They follow when the path is written; if one of them leaves its domain the path is
//! impossible, and the state stays as it is.

use smidgen_value::{Rng, Value, math};

use super::path_plan::{Follower, Hangs, PathPlan};
use super::transitions::Table;
use super::weigh::Columns;
use crate::enumerate::{draw_place, draw_share};
use crate::error::EvalError;
use crate::formula::Away;
use crate::id::NodeId;
use crate::program::values::LaneStore;
use crate::program::wide::Wide;
use crate::trace::Trace;

/// A share of the largest α below this one is kept by its logarithm.
const LEAST_SHARE: f64 = 1e-100;

/// Draws that go step by step after one that could not be done for all steps at once.
const STEP_BY_STEP: u32 = 15;

/// Weights of the values of a choice.
#[derive(Clone, Copy)]
pub enum Weights<'a> {
    Shares(&'a [f64]),
    /// Where some are too small for that.
    Logarithms(&'a [f64]),
}

impl Weights<'_> {
    /// The place that a number between 0 and 1 falls on.
    pub fn draw(self, u: f64) -> usize {
        match self {
            Weights::Shares(weights) => draw_share(weights, u),
            Weights::Logarithms(log_weights) => draw_place(log_weights, u),
        }
    }

    pub fn logarithms(self) -> Vec<f64> {
        match self {
            Weights::Shares(weights) => weights.iter().map(|weight| math::ln(*weight)).collect(),
            Weights::Logarithms(log_weights) => log_weights.to_vec(),
        }
    }
}

/// One step in the draw at hand.
#[derive(Clone, Copy, Default)]
pub(super) struct Step {
    /// Which table lists its values, and which columns hold what its nodes come to.
    pub table: usize,
    pub columns: usize,
    pub width: usize,
    /// Where its values begin among those of all steps, and its pairs of values, if something hangs on them.
    pub first: usize,
    pub first_pair: usize,
    /// Whether every value is possible.
    pub is_full: bool,
    /// Whether α is known by logarithms.
    pub is_log: bool,
}

impl Step {
    pub fn values(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.width
    }
}

/// Reused from draw to draw.
#[derive(Default)]
pub(super) struct Room {
    /// Whether a row that does not exist was asked for.
    pub misses_rows: bool,
    /// Draws that still go step by step.
    step_by_step: u32,
    pub steps: Vec<Step>,
    /// Those in use, and those of earlier draws behind them.
    pub tables: Vec<Table>,
    pub tables_in_use: usize,
    pub columns: Vec<Columns>,
    pub columns_in_use: usize,
    /// Over the values of all steps: whether each is possible, Σ log p of the densities that hang on it alone, the same
    /// as a share of the step's largest, and α.
    pub possible: Vec<bool>,
    pub log_weights: Vec<f64>,
    shares: Vec<f64>,
    forward: Vec<f64>,
    /// Σ log p of what hangs on pairs of values.
    pub log_pairs: Vec<f64>,
    pub store: LaneStore,
    pub alive: Vec<bool>,
    pub log_lanes: Vec<f64>,
    row: Vec<f64>,
    wide: Wide,
}

pub(super) struct ForwardBackward<'a> {
    pub trace: &'a mut Trace,
    pub plan: &'a PathPlan,
    pub away: &'a Away,
    pub room: &'a mut Room,
}

/// log Σ exp over what `term` gives for 0 .. n. +∞ if some are.
fn log_sum(n: usize, term: impl Fn(usize) -> f64) -> f64 {
    let largest = (0..n).map(&term).fold(f64::NEG_INFINITY, f64::max);
    match largest.is_finite() {
        true => largest + math::ln((0..n).map(|i| math::exp(term(i) - largest)).sum::<f64>()),
        false => largest,
    }
}

fn largest_of(xs: &[f64]) -> f64 {
    xs.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

impl Room {
    fn begin(&mut self) {
        self.steps.clear();
        (self.tables_in_use, self.columns_in_use) = (0, 0);
        self.possible.clear();
        self.log_weights.clear();
        self.log_pairs.clear();
        self.forward.clear();
    }

    /// The plan was written anew.
    pub fn forget(&mut self) {
        self.step_by_step = 0;
    }

    pub fn table(&self, t: usize) -> &Table {
        &self.tables[self.steps[t].table]
    }

    /// log α of a step, by value.
    fn log_forward(&self, step: &Step) -> impl Fn(usize) -> f64 {
        let forward = &self.forward[step.first..];
        let is_log = step.is_log;
        move |k| if is_log { forward[k] } else { math::ln(forward[k]) }
    }

    /// log w(j, k) without what hangs on k alone.
    fn log_follows(&self, t: usize, has_pairs: bool) -> impl Fn(usize, usize) -> f64 {
        let (step, table) = (self.steps[t], self.table(t));
        move |j, k| {
            let log_p = table.log_p(j, k);
            match has_pairs && log_p > f64::NEG_INFINITY {
                true => log_p + self.log_pairs[step.first_pair + j * step.width + k],
                false => log_p,
            }
        }
    }

    /// Weights of the values of some steps as shares of the largest of each.
    fn share_out(&mut self, steps: std::ops::Range<usize>) {
        let Some(from) = self.steps.get(steps.start).map(|step| step.first) else { return };
        self.shares.truncate(from);
        for step in &self.steps[steps] {
            let log_weights = &self.log_weights[step.values()];
            let largest = largest_of(log_weights);
            self.shares.extend(log_weights.iter().map(|log_weight| log_weight - largest));
        }
        self.wide.shares(0.0, &mut self.shares[from..]);
    }

    /// α of step t. False if nothing is possible, or some density is infinite.
    fn recur(&mut self, t: usize, has_pairs: bool) -> bool {
        let from = self.forward.len();
        let is_log = match !has_pairs && self.recur_by_shares(t) {
            true => false,
            false => {
                self.forward.truncate(from);
                self.recur_by_logarithms(t, has_pairs);
                let forward = &mut self.forward[from..];
                let largest = largest_of(forward);
                if !largest.is_finite() {
                    return false;
                }
                forward.iter_mut().for_each(|log_p| *log_p -= largest);
                let least = math::ln(LEAST_SHARE);
                let is_small = |log_p: &f64| *log_p < least && *log_p > f64::NEG_INFINITY;
                let is_log = forward.iter().any(is_small);
                if !is_log {
                    self.wide.shares(0.0, forward);
                }
                is_log
            }
        };
        self.steps[t].is_log = is_log;
        true
    }

    /// α as shares; what was written is of no use if one of them is too small.
    fn recur_by_shares(&mut self, t: usize) -> bool {
        let (step, table) = (self.steps[t], self.table(t));
        let largest_weight = largest_of(&self.log_weights[step.values()]);
        if !table.is_plain || !largest_weight.is_finite() {
            return false;
        }
        let before = t.checked_sub(1).map(|before| self.steps[before]);
        if before.is_some_and(|before| before.is_log) {
            return false;
        }
        let Room { forward, shares, log_weights, tables, .. } = self;
        let table = &tables[step.table];
        let (mut largest, mut smallest) = (0.0_f64, f64::INFINITY);
        for k in 0..step.width {
            let followed = match &before {
                None => table.p(0, k),
                Some(before) => (0..before.width)
                    .map(|j| forward[before.first + j] * table.p(j, k))
                    .sum::<f64>(),
            };
            let share = followed * shares[step.first + k];
            let is_possible = followed > 0.0 && log_weights[step.first + k] > f64::NEG_INFINITY;
            forward.push(share);
            largest = largest.max(share);
            smallest = if is_possible { smallest.min(share) } else { smallest };
        }
        let per_largest = 1.0 / largest;
        forward[step.values()].iter_mut().for_each(|share| *share *= per_largest);
        // False also where nothing is possible.
        smallest * per_largest >= LEAST_SHARE && smallest < f64::INFINITY
    }

    fn recur_by_logarithms(&mut self, t: usize, has_pairs: bool) {
        let step = self.steps[t];
        let before = t.checked_sub(1).map(|before| self.steps[before]);
        for k in 0..step.width {
            let follows = self.log_follows(t, has_pairs);
            let followed = match &before {
                None => follows(0, k),
                Some(before) => {
                    let log_forward = self.log_forward(before);
                    log_sum(before.width, |j| log_forward(j) + follows(j, k))
                }
            };
            let log_weight = self.log_weights[step.first + k];
            // A sum of log densities: −∞ if one is.
            let impossible = followed == f64::NEG_INFINITY || log_weight == f64::NEG_INFINITY;
            drop(follows);
            let log_p = if impossible { f64::NEG_INFINITY } else { followed + log_weight };
            self.forward.push(log_p);
        }
    }
}

impl ForwardBackward<'_> {
    /// Draws a path, as the place of each choice's value; `draw` picks a place from weights. None if
    /// the path cannot be drawn so: too many values, infinite densities, values that do not exist yet,
    /// or all are impossible. Whether it can is a question of what is outside the path.
    pub fn draw(
        &mut self,
        draw: &mut dyn FnMut(Weights<'_>, &mut Rng) -> usize,
        rng: &mut Rng,
    ) -> Result<Option<Vec<usize>>, EvalError> {
        if !self.forward()? {
            return Ok(None);
        }
        let steps = self.plan.parts.len();
        let mut path = vec![0; steps];
        let mut row = std::mem::take(&mut self.room.row);
        for t in (0..steps).rev() {
            let weights = self.weights_before(t, path.get(t + 1).copied(), &mut row);
            path[t] = draw(weights, rng);
        }
        self.room.row = row;
        Ok(Some(path))
    }

    /// α_t(j) w_{t+1}(j, k) over j, up to a constant.
    fn weights_before<'r>(
        &self,
        t: usize,
        next: Option<usize>,
        row: &'r mut Vec<f64>,
    ) -> Weights<'r> {
        let room = &*self.room;
        let step = &room.steps[t];
        row.clear();
        let Some(k) = next else {
            row.extend_from_slice(&room.forward[step.values()]);
            return if step.is_log { Weights::Logarithms(row) } else { Weights::Shares(row) };
        };
        let (table, has_pairs) = (room.table(t + 1), self.plan.parts[t + 1].pairs.is_some());
        if !step.is_log && table.is_plain && !has_pairs {
            let forward = room.forward[step.values()].iter().enumerate();
            row.extend(forward.map(|(j, share)| share * table.p(j, k)));
            return Weights::Shares(row);
        }
        let (log_forward, follows) = (room.log_forward(step), room.log_follows(t + 1, has_pairs));
        row.extend((0..step.width).map(|j| log_forward(j) + follows(j, k)));
        Weights::Logarithms(row)
    }

    /// The choices of a path with their values.
    pub fn values_of(&self, path: &[usize]) -> impl Iterator<Item = (NodeId, Value)> {
        let values = |(t, k): (usize, &usize)| {
            (self.plan.parts[t].choice, self.room.table(t).values[*k].clone())
        };
        path.iter().enumerate().map(values)
    }

    /// The filter, all steps. False if it cannot be done, or no path is possible.
    ///
    /// What is weighed in a step hangs on what is possible in the steps before. Mostly that is everything that can follow,
    /// and then all steps can be weighed at once. Where it turns out otherwise, it is done step by step.
    pub fn forward(&mut self) -> Result<bool, EvalError> {
        match self.room.step_by_step.checked_sub(1) {
            Some(left) => self.room.step_by_step = left,
            None if self.weigh_all_at_once() => {
                let steps = self.plan.parts.len();
                self.room.share_out(0..steps);
                let has_pairs = |t: usize| self.plan.parts[t].pairs.is_some();
                return Ok((0..steps).all(|t| self.room.recur(t, has_pairs(t))));
            }
            None => self.room.step_by_step = STEP_BY_STEP,
        }
        self.room.begin();
        for t in 0..self.plan.parts.len() {
            if !self.filter(t)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Weighs all steps. False if that cannot be done before it is known what is possible: something fails, or turns out
    /// to be impossible.
    fn weigh_all_at_once(&mut self) -> bool {
        self.room.begin();
        for t in 0..self.plan.parts.len() {
            let is_listed = self.list(t).unwrap_or(false) && self.columns(t).unwrap_or(false);
            if !is_listed {
                return false;
            }
        }
        let plan = self.plan;
        let all_finite = |this: &mut Self| {
            let weighed = this.room.log_weights.iter().zip(&this.room.possible);
            weighed.into_iter().all(|(log_weight, possible)| !possible || log_weight.is_finite())
        };
        plan.by_values.iter().all(|together| self.weigh_values(&together.steps).unwrap_or(false))
            && all_finite(self)
            && plan
                .by_pairs
                .iter()
                .all(|together| self.weigh_pairs(&together.steps).unwrap_or(false))
            && self.pairs_are_finite()
    }

    /// Step t of the filter. False if it cannot be done, or nothing is possible.
    fn filter(&mut self, t: usize) -> Result<bool, EvalError> {
        let part = &self.plan.parts[t];
        if !self.list(t)? || !self.columns(t)? {
            return Ok(false);
        }
        if part.densities.is_some() && !self.weigh_values(&[t])? {
            return Ok(false);
        }
        if part.pairs.is_some() && !self.weigh_pairs(&[t])? {
            return Ok(false);
        }
        self.room.share_out(t..t + 1);
        if !self.room.recur(t, part.pairs.is_some()) {
            return Ok(false);
        }
        let Room { steps, possible, forward, .. } = &mut *self.room;
        let step = &mut steps[t];
        let nothing = if step.is_log { f64::NEG_INFINITY } else { 0.0 };
        for (possible, forward) in possible[step.values()].iter_mut().zip(&forward[step.values()]) {
            *possible &= *forward > nothing;
        }
        step.is_full = possible[step.values()].iter().all(|possible| *possible);
        Ok(true)
    }

    /// Writes a path that selects nothing, and what follows from it. The number of choices that changed.
    pub fn settle(self, path: &[usize]) -> Result<usize, EvalError> {
        let start = self.trace.savepoint();
        let mut changed = 0;
        // Whether the choice here has changed, and the one before.
        let mut here = false;
        for (t, part) in self.plan.parts.iter().enumerate() {
            let (choice, value) = (part.choice, &self.room.table(t).values[path[t]]);
            let before = here;
            here = !self.trace.node(choice).value.is_identical(value);
            if here {
                self.trace.set_value(choice, value.clone());
                changed += 1;
            }
            for Follower { node, hangs, place } in &part.followers {
                // The rest stays as it is, fresh or stale.
                let follows = match hangs {
                    Hangs::Here => here,
                    Hangs::Before => here || before,
                    Hangs::Further => changed > 0,
                };
                if !follows {
                    continue;
                }
                if let Some(place) = place {
                    // None if it stands still.
                    if let Some(value) = self.node_at(t, *place, path[t]) {
                        self.trace.set_value(*node, value);
                    }
                    continue;
                }
                match self.trace.follow_arguments(*node) {
                    Ok(value) => self.trace.set_value(*node, value),
                    Err(error) => {
                        self.trace.rollback_to(start);
                        return if error.rejects() { Ok(0) } else { Err(error) };
                    }
                }
            }
        }
        if self.trace.savepoint() != start {
            self.trace.commit();
        }
        Ok(changed)
    }
}
