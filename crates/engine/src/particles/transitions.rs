//! What can follow what in a chain, and with which probabilities.

use smallvec::SmallVec;
use smidgen_prob::Distribution;
use smidgen_value::{ArgumentError, Value, math};

use super::forward_backward::{ForwardBackward, Step};
use super::path_plan::{Argument, PathPart};
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;

/// A step with more values is left to others.
const MOST_VALUES: usize = 16;

/// The arguments of a choice.
type Row = SmallVec<[Value; 2]>;
type AllRows = SmallVec<[Option<Row>; 4]>;

/// A log probability below this one is not kept as a probability.
const LEAST_LOG: f64 = -300.0;

/// What follows which arguments, and how probably.
#[derive(Default)]
pub(super) struct Table {
    distribution: Option<&'static dyn Distribution>,
    /// After each value of the step before; one for all if they do not matter.
    rows: AllRows,
    pub values: Vec<Value>,
    /// Row by row.
    log_p: Vec<f64>,
    p: Vec<f64>,
    /// Whether every value can follow every row.
    pub is_full: bool,
    /// Whether the probabilities say as much as their logarithms.
    pub is_plain: bool,
}

impl Table {
    fn is_for(&self, distribution: &'static dyn Distribution, rows: &[Option<Row>]) -> bool {
        let same_row = |a: &Row, b: &Row| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_identical(b))
        };
        self.distribution.is_some_and(|known| known.spec().name == distribution.spec().name)
            && self.rows.len() == rows.len()
            && self.rows.iter().zip(rows).all(|(known, row)| match (known, row) {
                (Some(known), Some(row)) => same_row(known, row),
                (known, row) => known.is_none() && row.is_none(),
            })
    }

    fn at(&self, j: usize, k: usize) -> usize {
        let row = if self.rows.len() == 1 { 0 } else { j };
        row * self.values.len() + k
    }

    /// log p(k | j)
    #[inline]
    pub fn log_p(&self, j: usize, k: usize) -> f64 {
        self.log_p[self.at(j, k)]
    }

    #[inline]
    pub fn p(&self, j: usize, k: usize) -> f64 {
        self.p[self.at(j, k)]
    }

    fn finish(&mut self) {
        self.p.clear();
        self.p.extend(self.log_p.iter().map(|log_p| math::exp(*log_p)));
        self.is_full = self.log_p.iter().all(|log_p| *log_p > f64::NEG_INFINITY);
        let is_plain = |log_p: &f64| {
            *log_p == f64::NEG_INFINITY || *log_p > LEAST_LOG && *log_p < f64::INFINITY
        };
        self.is_plain = self.log_p.iter().all(is_plain);
    }
}

impl ForwardBackward<'_> {
    /// −∞, or None, for what has left a domain; any other mistake is one of the program.
    fn forgiven<T>(
        &self,
        (node, name): (NodeId, &'static str),
        result: Result<T, ArgumentError>,
    ) -> Result<Option<T>, EvalError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                let span = self.trace.node(node).origin;
                let error = self.trace.argument_error(name, error, span);
                if error.rejects() { Ok(None) } else { Err(error) }
            }
        }
    }

    fn log_density(
        &self,
        node: NodeId,
        distribution: &'static dyn Distribution,
        x: &Value,
        args: &[&Value],
    ) -> Result<f64, EvalError> {
        let log_p =
            self.forgiven((node, distribution.spec().name), distribution.log_density(x, args))?;
        let log_p = log_p.unwrap_or(f64::NEG_INFINITY);
        if log_p.is_nan() {
            let procedure = distribution.spec().name.to_owned();
            let mistake = Mistake::NotANumber { procedure, value: x.clone() };
            return Err(EvalError::new(mistake, self.trace.node(node).origin));
        }
        Ok(log_p)
    }

    /// The arguments of the choice of step t after value j of the step before; None if that is impossible.
    fn arguments(&self, t: usize, j: usize) -> Option<Row> {
        let argument = |argument: &Argument| match argument {
            Argument::Uniform(place) => Some(self.plan.inputs.value(*place).clone()),
            Argument::Before(node) => {
                let at = self.room.steps[t - 1].first + j;
                let lives = self.room.possible[at] && self.room.log_weights[at] > f64::NEG_INFINITY;
                lives.then(|| self.node_at(t - 1, *node, j)).flatten()
            }
        };
        self.plan.parts[t].arguments.iter().map(argument).collect()
    }

    /// Whether what follows at step t is what followed at the step before, of the same.
    fn follows_again(&self, t: usize) -> bool {
        let part = &self.plan.parts[t];
        let steps = &self.room.steps;
        let Some(before) = steps.last().filter(|_| part.repeats.law) else { return false };
        let is_uniform = |argument: &Argument| matches!(argument, Argument::Uniform(_));
        if part.arguments.iter().all(is_uniform) {
            return true;
        }
        let earlier = t.checked_sub(2).map(|earlier| &steps[earlier]);
        earlier.is_some_and(|earlier| {
            earlier.columns == before.columns && earlier.is_full && before.is_full
        })
    }

    /// Finds the values of step t and the probabilities with which they follow those before, and which are possible.
    /// False if they cannot be listed.
    pub fn list(&mut self, t: usize) -> Result<bool, EvalError> {
        let part = &self.plan.parts[t];
        let before = self.room.steps.last().copied();
        let table = match &before {
            Some(before) if self.follows_again(t) => before.table,
            _ => {
                let is_uniform = |arg: &Argument| matches!(arg, Argument::Uniform(_));
                let all_uniform = part.arguments.iter().all(is_uniform);
                let rows = before.filter(|_| !all_uniform).map_or(1, |before| before.width);
                let rows: AllRows = (0..rows).map(|j| self.arguments(t, j)).collect();
                let of_before = before.map(|before| before.table);
                let is_for =
                    |table: &usize| self.room.tables[*table].is_for(part.distribution, &rows);
                match of_before.filter(is_for) {
                    Some(table) => table,
                    None => match self.new_table(part, rows)? {
                        Some(table) => table,
                        None => return Ok(false),
                    },
                }
            }
        };
        let room = &mut *self.room;
        let table_of = &room.tables[table];
        let (first, width) = (room.log_weights.len(), table_of.values.len());
        room.log_weights.resize(first + width, 0.0);
        let is_full = table_of.is_full && before.is_none_or(|before| before.is_full);
        room.possible.resize(first + width, true);
        if !is_full {
            for k in 0..width {
                let can_follow = |j: usize| table_of.log_p(j, k) > f64::NEG_INFINITY;
                room.possible[first + k] = match &before {
                    None => can_follow(0),
                    Some(before) => {
                        (0..before.width).any(|j| room.possible[before.first + j] && can_follow(j))
                    }
                };
            }
        }
        let first_pair = room.log_pairs.len();
        if part.pairs.is_some() {
            let rows = before.map_or(1, |before| before.width);
            room.log_pairs.resize(first_pair + rows * width, 0.0);
        }
        let step = Step { table, width, first, first_pair, is_full, ..Step::default() };
        room.steps.push(step);
        Ok(true)
    }

    /// A table for these arguments: as in the draw before, if they are the same. None if not all values can be listed.
    fn new_table(&mut self, part: &PathPart, rows: AllRows) -> Result<Option<usize>, EvalError> {
        let number = self.room.tables_in_use;
        if self.room.tables.len() == number {
            self.room.tables.push(Table::default());
        }
        let mut table = std::mem::take(&mut self.room.tables[number]);
        let mut is_listed = table.is_for(part.distribution, &rows);
        if !is_listed {
            table.values.clear();
            table.log_p.clear();
            table.distribution = None;
            is_listed = self.fill(part, &rows, &mut table)?;
            table.finish();
            (table.distribution, table.rows) = (is_listed.then_some(part.distribution), rows);
        }
        self.room.tables[number] = table;
        self.room.tables_in_use += 1;
        Ok(is_listed.then_some(number))
    }

    /// All that can follow, and how probable it is after each row of arguments.
    fn fill(
        &self,
        part: &PathPart,
        rows: &[Option<Row>],
        table: &mut Table,
    ) -> Result<bool, EvalError> {
        let (node, distribution) = (part.choice, part.distribution);
        for args in rows.iter().flatten() {
            let args: SmallVec<[&Value; 4]> = args.iter().collect();
            let listed =
                self.forgiven((node, distribution.spec().name), distribution.enumerate(&args))?;
            let Some(values) = listed.unwrap_or_else(|| Some(Vec::new())) else { return Ok(false) };
            for value in values {
                if table.values.contains(&value) {
                    continue;
                }
                if table.values.len() == MOST_VALUES {
                    return Ok(false);
                }
                table.values.push(value);
            }
        }
        for args in rows {
            let args: Option<SmallVec<[&Value; 4]>> =
                args.as_ref().map(|args| args.iter().collect());
            for value in &table.values {
                let log_p = match &args {
                    Some(args) => self.log_density(node, distribution, value, args)?,
                    None => f64::NEG_INFINITY,
                };
                table.log_p.push(log_p);
            }
        }
        Ok(true)
    }
}
