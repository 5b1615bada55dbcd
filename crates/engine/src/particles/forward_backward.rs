//! All paths of a chain of finite choices at once: forward filtering, backward sampling.
//!
//! Let every segment make one choice, and every density of segment t hang on the choices x_{t−1} and
//! x_t alone. With
//!
//! w_t(j, k) = p(x_t = k | x_{t−1} = j) Π p(absorbing choices of segment t | j, k)
//!
//! and α_t(k) = Σ_j α_{t−1}(j) w_t(j, k), the path x_T ~ α_T, then x_{t−1} | x_t = k ~ α_{t−1}(j) w_t(j, k),
//! is a draw from p(path | rest), whatever the path was. The values of a step are all that can follow
//! some value of the step before. What hangs on x_t alone is computed once per k, the rest once per
//! (j, k): O(T K²).
//!
//! A structure that selects among branches ([`super::select`]) is a deterministic node like any other, for each
//! of the values that it selects by; if it is an observed choice on either side, its density is one of w_t.
//!
//! Deterministic nodes further apart (a sum over the path that somebody predicts) are no part of any
//! density. They follow when the path is written; if one of them leaves its domain the path is
//! impossible, and the state stays as it is.

use smidgen_value::{Rng, Value, math};

use super::bound::Bound;
use super::host::{OfTrace, Rows};
use super::path_plan::{BEFORE, Hangs, PathPlan};
use super::select::Away;
use super::transitions::Known;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::lanes::Outcome;
use crate::program::values::LaneStore;
use crate::trace::Trace;

/// One step, weighed.
#[derive(Default)]
pub(super) struct Weighed {
    pub values: Vec<Value>,
    /// log w(j, k) at place j · K + k.
    pub log_weights: Vec<f64>,
    /// log α(k).
    log_forward: Vec<f64>,
}

/// The columns of a segment, over the values of its choice.
#[derive(Default)]
pub(super) struct Columns {
    pub numbers: Vec<f64>,
    pub boxed: Vec<Value>,
    /// Values that are possible, and have left no domain.
    pub alive: Vec<bool>,
}

/// Reused from draw to draw.
#[derive(Default)]
pub(super) struct Room {
    /// Whether a row that does not exist was asked for.
    pub misses_rows: bool,
    pub steps: Vec<Weighed>,
    pub before: Columns,
    here: Columns,
    pub known: Known,
    log_row: Vec<f64>,
    store: LaneStore,
    alive: Vec<bool>,
    log_lanes: Vec<f64>,
}

pub(super) struct ForwardBackward<'a> {
    pub trace: &'a mut Trace,
    pub plan: &'a PathPlan,
    pub away: &'a Away,
    pub room: &'a mut Room,
}

/// A sum of log densities: −∞ if one is.
fn add(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY || b == f64::NEG_INFINITY { f64::NEG_INFINITY } else { a + b }
}

/// log Σ exp over what `add` gives for 0 .. n. +∞ if some are.
fn log_sum(n: usize, add: impl Fn(usize) -> f64) -> f64 {
    let largest = (0..n).map(&add).fold(f64::NEG_INFINITY, f64::max);
    match largest.is_finite() {
        true => largest + math::ln((0..n).map(|i| math::exp(add(i) - largest)).sum::<f64>()),
        false => largest,
    }
}

impl ForwardBackward<'_> {
    /// Draws a path, as the place of each choice's value; `draw` picks a place from log weights. None if
    /// the path cannot be drawn so: too many values, infinite densities, values that do not exist yet,
    /// or all are impossible. Whether it can is a question of what is outside the path.
    pub fn draw(
        &mut self,
        draw: &mut dyn FnMut(&[f64], &mut Rng) -> usize,
        rng: &mut Rng,
    ) -> Result<Option<Vec<usize>>, EvalError> {
        if !self.forward()? {
            return Ok(None);
        }
        let steps = self.plan.parts.len();
        let mut path = vec![0; steps];
        let Room { steps: weighed, log_row, .. } = &mut *self.room;
        for t in (0..steps).rev() {
            log_row.clone_from(&weighed[t].log_forward);
            if let Some(next) = weighed.get(t + 1) {
                let (k, width) = (path[t + 1], next.values.len());
                for (j, log_p) in log_row.iter_mut().enumerate() {
                    *log_p += next.log_weights[j * width + k];
                }
            }
            path[t] = draw(log_row, rng);
        }
        Ok(Some(path))
    }

    /// The choices of a path with their values.
    pub fn values_of(&self, path: &[usize]) -> impl Iterator<Item = (NodeId, Value)> {
        let steps = self.plan.parts.iter().zip(&self.room.steps).zip(path);
        steps.map(|((part, step), k)| (part.choice, step.values[*k].clone()))
    }

    /// The filter, all steps. False if it cannot be done, or no path is possible.
    pub fn forward(&mut self) -> Result<bool, EvalError> {
        let steps = self.plan.parts.len();
        self.room.steps.resize_with(steps, Weighed::default);
        for t in 0..steps {
            if !self.filter(t)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Step t of the filter. False if it cannot be done, or nothing is possible.
    fn filter(&mut self, t: usize) -> Result<bool, EvalError> {
        std::mem::swap(&mut self.room.before, &mut self.room.here);
        let rows = t.checked_sub(1).map_or(1, |before| self.room.steps[before].values.len());
        if !self.values(t, rows)? {
            return Ok(false);
        }
        if !self.weigh_values(t, rows)? || !self.weigh_pairs(t, rows)? {
            return Ok(false);
        }
        let (earlier, now) = self.room.steps.split_at_mut(t);
        let Weighed { values, log_weights, log_forward } = &mut now[0];
        let width = values.len();
        log_forward.clear();
        log_forward.extend((0..width).map(|k| match earlier.last() {
            None => log_weights[k],
            Some(before) => log_sum(rows, |j| before.log_forward[j] + log_weights[j * width + k]),
        }));
        let largest = log_forward.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok(largest.is_finite())
    }

    /// Whether a pair of values, or a value after any, is still possible.
    fn is_possible(&self, t: usize, rows: std::ops::Range<usize>, k: usize) -> bool {
        let Weighed { values, log_weights, .. } = &self.room.steps[t];
        let before = t.checked_sub(1).map(|before| &self.room.steps[before].log_forward);
        rows.into_iter().any(|j| {
            log_weights[j * values.len() + k] > f64::NEG_INFINITY
                && before.is_none_or(|log_forward| log_forward[j] > f64::NEG_INFINITY)
        })
    }

    /// Runs a program whose leaves are loaded, in the lanes that are possible, for their log weights. False if a
    /// row is missing.
    fn run(&mut self, bound: &Bound) -> Result<bool, EvalError> {
        let Room { store, alive, log_lanes, misses_rows, .. } = &mut *self.room;
        log_lanes.clear();
        log_lanes.resize(alive.len(), 0.0);
        let rows = Some(Rows { away: self.away, is_missing: false });
        let mut host = OfTrace { trace: self.trace, places: &bound.places, rng: None, rows };
        let lane_program = &self.plan.library.of(bound).lane_program;
        let mut outcome = Outcome { alive, log_weights: log_lanes };
        let uniforms = self.plan.inputs.uniforms(bound);
        let run = lane_program.run(uniforms, store, &mut outcome, &mut host);
        if host.misses_rows() {
            *misses_rows = true;
            return Ok(false);
        }
        run?;
        // Whoever leaves a domain is impossible, read or not.
        for (log_weight, alive) in log_lanes.iter_mut().zip(alive.iter()) {
            if !alive {
                *log_weight = f64::NEG_INFINITY;
            }
        }
        Ok(true)
    }

    /// What hangs on the values of step t alone, in a lane each. False if something would have to be made.
    fn weigh_values(&mut self, t: usize, rows: usize) -> Result<bool, EvalError> {
        let (plan, part) = (self.plan, &self.plan.parts[t]);
        let width = self.room.steps[t].values.len();
        let mut alive = std::mem::take(&mut self.room.alive);
        alive.clear();
        alive.extend((0..width).map(|k| self.is_possible(t, 0..rows, k)));
        self.room.alive = alive;
        let Room { steps, store, .. } = &mut *self.room;
        let values = &steps[t].values;
        let number = |_: u32, row: &mut [f64]| {
            for (x, value) in row.iter_mut().zip(values) {
                *x = value.as_number().unwrap_or(f64::NAN);
            }
        };
        let boxed = |_: u32, row: &mut [Value]| row.clone_from_slice(values);
        plan.library.load(&part.here, &plan.inputs, (store, width), number, boxed);
        if !self.run(&part.here)? {
            return Ok(false);
        }
        let Room { steps, store, here, alive, log_lanes, .. } = &mut *self.room;
        let shared = plan.library.of(&part.here);
        here.numbers.clear();
        shared.numbers.iter().for_each(|r| here.numbers.extend_from_slice(store.row(*r)));
        here.boxed.clear();
        shared.boxed.iter().for_each(|r| here.boxed.extend_from_slice(store.boxed_row(*r)));
        here.alive.clone_from(alive);
        for row in steps[t].log_weights.chunks_exact_mut(width.max(1)) {
            for (log_weight, log_p) in row.iter_mut().zip(log_lanes.iter()) {
                *log_weight = add(*log_weight, *log_p);
            }
        }
        Ok(true)
    }

    /// What hangs on the values of step t and of the one before, a lane for each pair.
    fn weigh_pairs(&mut self, t: usize, rows: usize) -> Result<bool, EvalError> {
        let plan = self.plan;
        let Some(pairs) = &plan.parts[t].pairs else { return Ok(true) };
        let width = self.room.steps[t].values.len();
        let possible =
            |lane: usize| self.is_possible(t, lane / width..lane / width + 1, lane % width);
        let alive: Vec<bool> = (0..rows * width).map(possible).collect();
        self.room.alive = alive;
        let Room { store, before, here, .. } = &mut *self.room;
        let number = |column: u32, row: &mut [f64]| match column.checked_sub(BEFORE) {
            Some(column) => {
                let from = &before.numbers[column as usize * rows..][..rows];
                row.iter_mut().enumerate().for_each(|(lane, x)| *x = from[lane / width]);
            }
            None => {
                let from = &here.numbers[column as usize * width..][..width];
                row.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(from));
            }
        };
        let boxed = |column: u32, row: &mut [Value]| match column.checked_sub(BEFORE) {
            Some(column) => {
                let from = &before.boxed[column as usize * rows..][..rows];
                row.iter_mut().enumerate().for_each(|(lane, x)| *x = from[lane / width].clone());
            }
            None => {
                let from = &here.boxed[column as usize * width..][..width];
                row.chunks_exact_mut(width).for_each(|row| row.clone_from_slice(from));
            }
        };
        plan.library.load(pairs, &plan.inputs, (store, rows * width), number, boxed);
        if !self.run(pairs)? {
            return Ok(false);
        }
        let Room { steps, log_lanes, .. } = &mut *self.room;
        for (log_weight, log_p) in steps[t].log_weights.iter_mut().zip(log_lanes.iter()) {
            *log_weight = add(*log_weight, *log_p);
        }
        Ok(true)
    }

    /// Writes a path that selects nothing, and what follows from it. The number of choices that changed.
    pub fn settle(self, path: &[usize]) -> Result<usize, EvalError> {
        let ForwardBackward { trace, plan, room, .. } = self;
        let start = trace.savepoint();
        let mut changed = 0;
        // Whether the choice here has changed, and the one before.
        let mut here = false;
        for (t, part) in plan.parts.iter().enumerate() {
            let (choice, value) = (part.choice, &room.steps[t].values[path[t]]);
            let before = here;
            here = !trace.node(choice).value.is_identical(value);
            if here {
                trace.set_value(choice, value.clone());
                changed += 1;
            }
            for (node, hangs) in &part.nodes {
                // The rest stays as it is, fresh or stale.
                let follows = match hangs {
                    Hangs::Here => here,
                    Hangs::Before => here || before,
                    Hangs::Further => changed > 0,
                };
                if !follows {
                    continue;
                }
                match trace.follow_arguments(*node) {
                    Ok(value) => trace.set_value(*node, value),
                    Err(error) => {
                        trace.rollback_to(start);
                        return if error.rejects() { Ok(0) } else { Err(error) };
                    }
                }
            }
        }
        if trace.savepoint() != start {
            trace.commit();
        }
        Ok(changed)
    }
}
