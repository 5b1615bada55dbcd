//! What the nodes of a chain come to, and their densities: programs whose lanes are the values of a choice, or pairs of
//! neighbouring values, of one step or of several.

use std::ops::Range;

use smallvec::SmallVec;
use smidgen_value::Value;

use super::bound::{Bound, Lanes};
use super::forward_backward::{ForwardBackward, Room};
use super::host::{OfTrace, Rows};
use super::path_plan::BEFORE;
use crate::error::EvalError;
use crate::program::lanes::Outcome;

/// What the nodes of a segment come to, over the values of its choice.
#[derive(Default)]
pub(super) struct Columns {
    numbers: Vec<f64>,
    boxed: Vec<Value>,
    width: usize,
}

impl Columns {
    fn numbers(&self, column: u32) -> &[f64] {
        &self.numbers[column as usize * self.width..][..self.width]
    }

    fn boxed(&self, column: u32) -> &[Value] {
        &self.boxed[column as usize * self.width..][..self.width]
    }
}

/// The lanes of some steps, one after the other.
type Runs<'a> = SmallVec<[Lanes<'a>; 1]>;

impl ForwardBackward<'_> {
    /// The value of a node of segment t where its choice has value k.
    pub fn node_at(&self, t: usize, node: usize, k: usize) -> Option<Value> {
        let columns = &self.room.columns[self.room.steps[t].columns];
        self.plan.library.of(&self.plan.parts[t].nodes).value(
            node,
            &|column| columns.numbers(column)[k],
            &|column| columns.boxed(column)[k].clone(),
        )
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

    /// What the nodes of step t come to, for the values that were listed. False if something would have to be made.
    pub fn columns(&mut self, t: usize) -> Result<bool, EvalError> {
        let (plan, part) = (self.plan, &self.plan.parts[t]);
        let Room { steps, tables, columns, columns_in_use, possible, alive, store, .. } =
            &mut *self.room;
        let step = steps[t];
        if let Some(before) = t.checked_sub(1).map(|before| steps[before])
            && part.repeats.nodes
            && (before.table, before.is_full, step.is_full) == (step.table, true, true)
        {
            steps[t].columns = before.columns;
            return Ok(true);
        }
        steps[t].columns = *columns_in_use;
        *columns_in_use += 1;
        if columns.len() < *columns_in_use {
            columns.push(Columns::default());
        }
        alive.clear();
        alive.extend_from_slice(&possible[step.values()]);
        let values = &tables[step.table].values;
        let number = |_: usize, _: u32, row: &mut [f64]| {
            for (x, value) in row.iter_mut().zip(values) {
                *x = value.as_number().unwrap_or(f64::NAN);
            }
        };
        let boxed = |_: usize, _: u32, row: &mut [Value]| row.clone_from_slice(values);
        let lanes = [Lanes { bound: &part.nodes, lanes: 0..step.width }];
        plan.library.load(&lanes, None, &plan.inputs, store, number, boxed);
        if !self.run(&part.nodes)? {
            return Ok(false);
        }
        let Room { steps, store, columns, log_weights, log_lanes, .. } = &mut *self.room;
        log_weights[step.values()].copy_from_slice(log_lanes);
        let (shared, columns) = (plan.library.of(&part.nodes), &mut columns[steps[t].columns]);
        columns.width = step.width;
        columns.numbers.clear();
        shared.numbers.iter().for_each(|r| columns.numbers.extend_from_slice(store.row(*r)));
        columns.boxed.clear();
        shared.boxed.iter().for_each(|r| columns.boxed.extend_from_slice(store.boxed_row(*r)));
        Ok(true)
    }

    /// The densities that hang on the values of these steps alone, in a lane each. False if something would have to be made.
    pub fn weigh_values(&mut self, steps: &[usize]) -> Result<bool, EvalError> {
        let plan = self.plan;
        let runs =
            self.runs(steps, &|t| self.room.steps[t].width, &|t| plan.parts[t].densities.as_ref());
        let Room { steps: all, store, columns, alive, possible, log_weights, .. } = &mut *self.room;
        alive.clear();
        for t in steps {
            let values = all[*t].values();
            let weighed = possible[values.clone()].iter().zip(&log_weights[values]);
            alive.extend(weighed.map(|(possible, log_p)| *possible && *log_p > f64::NEG_INFINITY));
        }
        let of = |run: usize| &columns[all[steps[run]].columns];
        plan.library.load(
            &runs,
            None,
            &plan.inputs,
            store,
            |run, column, row| row.copy_from_slice(of(run).numbers(column)),
            |run, column, row| row.clone_from_slice(of(run).boxed(column)),
        );
        if !self.run(runs[0].bound)? {
            return Ok(false);
        }
        let Room { steps: all, log_weights, log_lanes, .. } = &mut *self.room;
        for (t, Lanes { lanes, .. }) in steps.iter().zip(&runs) {
            let values = all[*t].values();
            for (log_weight, log_p) in log_weights[values].iter_mut().zip(&log_lanes[lanes.clone()])
            {
                *log_weight = add(*log_weight, *log_p);
            }
        }
        Ok(true)
    }

    /// What hangs on the values of these steps and of those before, a lane for each pair.
    pub fn weigh_pairs(&mut self, steps: &[usize]) -> Result<bool, EvalError> {
        let plan = self.plan;
        let pairs = |t: usize| self.rows(t) * self.room.steps[t].width;
        let runs = self.runs(steps, &pairs, &|t| plan.parts[t].pairs.as_ref());
        let mut alive = std::mem::take(&mut self.room.alive);
        alive.clear();
        steps.iter().for_each(|t| alive.extend(self.possible_pairs(*t)));
        self.room.alive = alive;
        let Room { steps: all, store, columns, .. } = &mut *self.room;
        let of = |run: usize, column: u32| match column.checked_sub(BEFORE) {
            Some(column) => (&columns[all[steps[run] - 1].columns], column, true),
            None => (&columns[all[steps[run]].columns], column, false),
        };
        let width = |run: usize| all[steps[run]].width;
        plan.library.load(
            &runs,
            None,
            &plan.inputs,
            store,
            |run, column, row| {
                let (columns, column, is_before) = of(run, column);
                spread(columns.numbers(column), (row, width(run)), is_before);
            },
            |run, column, row| {
                let (columns, column, is_before) = of(run, column);
                spread(columns.boxed(column), (row, width(run)), is_before);
            },
        );
        if !self.run(runs[0].bound)? {
            return Ok(false);
        }
        let Room { steps: all, log_pairs, log_lanes, .. } = &mut *self.room;
        for (t, Lanes { lanes, .. }) in steps.iter().zip(&runs) {
            let lanes = &log_lanes[lanes.clone()];
            log_pairs[all[*t].first_pair..][..lanes.len()].copy_from_slice(lanes);
        }
        Ok(true)
    }

    /// Number of values before step t.
    fn rows(&self, t: usize) -> usize {
        t.checked_sub(1).map_or(1, |before| self.room.steps[before].width)
    }

    /// Whether each pair of values of step t and the one before is possible, as far as is known.
    fn possible_pairs(&self, t: usize) -> impl Iterator<Item = bool> {
        let Room { steps, possible, log_weights, .. } = &*self.room;
        let (step, table) = (steps[t], self.room.table(t));
        let before = t.checked_sub(1).map(|before| steps[before].first);
        let is_possible = move |lane: usize| {
            let (j, k) = (lane / step.width, lane % step.width);
            table.log_p(j, k) > f64::NEG_INFINITY
                && log_weights[step.first + k] > f64::NEG_INFINITY
                && before.is_none_or(|first| possible[first + j])
        };
        (0..self.rows(t) * step.width).map(is_possible)
    }

    /// Whether no pair of values that may be possible is impossible after all.
    pub fn pairs_are_finite(&self) -> bool {
        let together = self.plan.by_pairs.iter().flat_map(|together| &together.steps);
        together.into_iter().all(|t| {
            let log_pairs = &self.room.log_pairs[self.room.steps[*t].first_pair..];
            let mut pairs = self.possible_pairs(*t).zip(log_pairs);
            pairs.all(|(is_possible, log_p)| !is_possible || log_p.is_finite())
        })
    }

    fn runs<'p>(
        &self,
        steps: &[usize],
        width: &dyn Fn(usize) -> usize,
        of: &dyn Fn(usize) -> Option<&'p Bound>,
    ) -> Runs<'p> {
        let mut first = 0;
        let run = |t: &usize| {
            let lanes: Range<usize> = first..first + width(*t);
            first = lanes.end;
            Lanes { bound: of(*t).expect("it has densities"), lanes }
        };
        steps.iter().map(run).collect()
    }
}

/// A column over pairs of values: that of the step before changes with j, the other with k.
fn spread<T: Clone>(from: &[T], (row, width): (&mut [T], usize), is_before: bool) {
    for (j, row) in row.chunks_exact_mut(width).enumerate() {
        match is_before {
            true => row.fill(from[j].clone()),
            false => row.clone_from_slice(from),
        }
    }
}

/// A sum of log densities: −∞ if one is.
fn add(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY || b == f64::NEG_INFINITY { f64::NEG_INFINITY } else { a + b }
}
