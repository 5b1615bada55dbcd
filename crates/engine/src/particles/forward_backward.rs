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

use smallvec::SmallVec;
use smidgen_prob::Distribution;
use smidgen_value::{ArgumentError, Rng, Value, math};

use super::formula::Stop;
use super::plan::{Law, Part, Plan, Read, Rule};
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::node::Op;
use crate::trace::Trace;

/// A step with more values is left to others.
const MOST_VALUES: usize = 16;

/// What a node hangs on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hangs {
    /// The choice of its own segment, at most.
    Here,
    /// The one before as well.
    Before,
    Further,
}

/// What a plan has to be like, found once per structure.
#[derive(Default)]
pub(super) struct Shape {
    /// By segment and step.
    hangs: Vec<Vec<Hangs>>,
    /// The place of the choice among the steps of its segment.
    choices: Vec<usize>,
}

impl Shape {
    /// None if a segment makes several choices, or a density hangs on earlier ones.
    pub fn of(trace: &Trace, plan: &Plan) -> Option<Shape> {
        let mut shape = Shape::default();
        for (t, part) in plan.parts.iter().enumerate() {
            let is_choice =
                |(_, step): &(usize, &super::plan::Step)| matches!(step.rule, Rule::Choice(..));
            let mut choices = part.steps.iter().enumerate().filter(is_choice);
            let (place, choice) = choices.next()?;
            let is_plain = matches!(trace.node(choice.node).op, Op::Random(_));
            if !is_plain || choices.next().is_some() {
                return None;
            }
            let reads = |range: &std::ops::Range<u32>| {
                plan.reads[range.start as usize..range.end as usize].iter()
            };
            // The values of a step are listed before there is one of them.
            if reads(&choice.reads).any(|read| matches!(read, Read::Own(_))) {
                return None;
            }
            shape.choices.push(place);
            shape.hangs.push(Vec::with_capacity(part.steps.len()));
            for (k, step) in part.steps.iter().enumerate() {
                let hangs = reads(&step.reads).map(|read| shape.read(part, t, *read)).max();
                let hangs = hangs.unwrap_or(Hangs::Here);
                if k == place && hangs == Hangs::Further {
                    return None;
                }
                shape.hangs[t].push(if k == place { Hangs::Here } else { hangs });
            }
            for weight in &part.weights {
                let hangs = reads(&weight.reads).map(|read| shape.read(part, t, *read)).max();
                let is_plain = matches!(weight.law, Law::Density(..) | Law::Given);
                if !is_plain || hangs == Some(Hangs::Further) {
                    return None;
                }
            }
        }
        Some(shape)
    }

    fn read(&self, part: &Part, t: usize, read: Read) -> Hangs {
        match read {
            Read::Fixed(_) => Hangs::Here,
            Read::Own(k) => self.hangs[t][k as usize],
            Read::Carried(k) => match part.carried[k as usize] {
                Read::Own(k) if self.hangs[t - 1][k as usize] == Hangs::Here => Hangs::Before,
                _ => Hangs::Further,
            },
        }
    }
}

/// A column: one entry per value of the step, or per pair of values. None where some domain was left.
type Column = Vec<Option<Value>>;

/// One step, weighed.
#[derive(Default)]
struct Weighed {
    values: Vec<Value>,
    /// log w(j, k) at place j · K + k.
    log_weights: Vec<f64>,
    /// log α(k).
    log_forward: Vec<f64>,
}

/// The arguments of a node.
type Row<'a> = SmallVec<[&'a Value; 4]>;

/// What follows which arguments, as it was listed last: in most chains every step is alike.
#[derive(Default)]
struct Known {
    distribution: Option<&'static dyn Distribution>,
    rows: Vec<Option<Vec<Value>>>,
    values: Vec<Value>,
    log_weights: Vec<f64>,
}

impl Known {
    fn new(
        distribution: &'static dyn Distribution,
        rows: &[Option<Row<'_>>],
        weighed: &Weighed,
    ) -> Known {
        let owned = |row: &Row<'_>| row.iter().map(|value| (*value).clone()).collect();
        Known {
            distribution: Some(distribution),
            rows: rows.iter().map(|row| row.as_ref().map(owned)).collect(),
            values: weighed.values.clone(),
            log_weights: weighed.log_weights.clone(),
        }
    }

    fn is_for(&self, distribution: &'static dyn Distribution, rows: &[Option<Row<'_>>]) -> bool {
        let same_row = |a: &[Value], b: &Row<'_>| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_identical(b))
        };
        self.distribution.is_some_and(|known| known.spec().name == distribution.spec().name)
            && self.rows.len() == rows.len()
            && self.rows.iter().zip(rows).all(|(known, row)| match (known, row) {
                (Some(known), Some(row)) => same_row(known, row),
                (known, row) => known.is_none() && row.is_none(),
            })
    }
}

/// Reused from draw to draw.
#[derive(Default)]
pub(super) struct Room {
    /// Whether a row that does not exist was asked for.
    pub misses_rows: bool,
    steps: Vec<Weighed>,
    /// Columns of the segment before and of this one.
    before: Vec<Column>,
    here: Vec<Column>,
    /// Which columns of this segment are those of the one before.
    repeated: Vec<bool>,
    known: Known,
    log_row: Vec<f64>,
}

pub(super) struct ForwardBackward<'a> {
    pub trace: &'a mut Trace,
    pub plan: &'a Plan,
    pub shape: &'a Shape,
    pub room: &'a mut Room,
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
        let parts = self.plan.parts.iter().zip(&self.shape.choices);
        let steps = parts.zip(self.room.steps.iter().zip(path));
        steps.map(|((part, place), (step, k))| (part.steps[*place].node, step.values[*k].clone()))
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

    /// The arguments of a node at row j · K + k; None if one has left its domain.
    #[inline]
    fn row<'r>(
        &'r self,
        reads: &std::ops::Range<u32>,
        t: usize,
        (j, k): (usize, usize),
    ) -> Option<Row<'r>> {
        let Room { steps, before, here, .. } = &*self.room;
        let width = steps[t].values.len();
        let mut row = SmallVec::new();
        for read in &self.plan.reads[reads.start as usize..reads.end as usize] {
            row.push(match *read {
                Read::Fixed(place) => &self.plan.fixed[place as usize],
                Read::Own(place) => match self.shape.hangs[t][place as usize] {
                    Hangs::Here => here[place as usize][k].as_ref()?,
                    _ => here[place as usize][j * width + k].as_ref()?,
                },
                Read::Carried(place) => match self.plan.parts[t].carried[place as usize] {
                    Read::Own(place) => before[place as usize][j].as_ref()?,
                    _ => unreachable!("nothing hangs on more than the step before"),
                },
            });
        }
        Some(row)
    }

    /// −∞, or None, for what has left a domain; any other mistake is one of the program.
    fn forgiven<T>(
        &self,
        node: NodeId,
        result: Result<T, ArgumentError>,
    ) -> Result<Option<T>, EvalError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                let node = self.trace.node(node);
                let name = match &node.op {
                    Op::Random(distribution) => distribution.spec().name,
                    Op::Function(function) => function.spec.name,
                    _ => "",
                };
                let error = self.trace.argument_error(name, error, node.origin);
                if error.rejects() { Ok(None) } else { Err(error) }
            }
        }
    }

    fn log_density(
        &self,
        node: NodeId,
        distribution: &dyn Distribution,
        x: &Value,
        args: &[&Value],
    ) -> Result<f64, EvalError> {
        let log_p = self.forgiven(node, distribution.log_density(x, args))?;
        let log_p = log_p.unwrap_or(f64::NEG_INFINITY);
        if log_p.is_nan() {
            let procedure = distribution.spec().name.to_owned();
            let mistake = Mistake::NotANumber { procedure, value: x.clone() };
            return Err(EvalError::new(mistake, self.trace.node(node).origin));
        }
        Ok(log_p)
    }

    /// Step t of the filter. False if it cannot be done, or nothing is possible.
    fn filter(&mut self, t: usize) -> Result<bool, EvalError> {
        std::mem::swap(&mut self.room.before, &mut self.room.here);
        let rows = t.checked_sub(1).map_or(1, |before| self.room.steps[before].values.len());
        if !self.values(t, rows)? {
            return Ok(false);
        }
        if !self.columns(t, rows)? {
            return Ok(false);
        }
        self.weigh(t, rows)?;
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

    /// The values of step t, and the probabilities with which they follow those before.
    fn values(&mut self, t: usize, rows: usize) -> Result<bool, EvalError> {
        let (plan, place) = (self.plan, self.shape.choices[t]);
        let step = &plan.parts[t].steps[place];
        let Rule::Choice(distribution, _) = step.rule else { unreachable!("a choice") };
        let mut weighed = std::mem::take(&mut self.room.steps[t]);
        weighed.values.clear();
        weighed.log_weights.clear();
        let reads = &plan.reads[step.reads.start as usize..step.reads.end as usize];
        let varies = reads.iter().any(|read| matches!(read, Read::Carried(_)));
        let distinct = if varies { rows } else { 1 };
        let rows_of_args: SmallVec<[_; 4]> =
            (0..distinct).map(|j| self.row(&step.reads, t, (j, 0))).collect();
        if self.room.known.is_for(distribution, &rows_of_args) {
            drop(rows_of_args);
            weighed.values.clone_from(&self.room.known.values);
            weighed.log_weights.clone_from(&self.room.known.log_weights);
        } else {
            if !self.list(step.node, distribution, &rows_of_args, &mut weighed)? {
                return Ok(false);
            }
            let known = Known::new(distribution, &rows_of_args, &weighed);
            drop(rows_of_args);
            self.room.known = known;
        }
        for _ in distinct..rows {
            weighed.log_weights.extend_from_within(..weighed.values.len());
        }
        self.room.steps[t] = weighed;
        Ok(true)
    }

    /// All that can follow, and how probable it is after each row of arguments.
    fn list(
        &self,
        node: NodeId,
        distribution: &dyn Distribution,
        rows: &[Option<Row<'_>>],
        weighed: &mut Weighed,
    ) -> Result<bool, EvalError> {
        for args in rows.iter().flatten() {
            let listed = self.forgiven(node, distribution.enumerate(args))?;
            let Some(values) = listed.unwrap_or_else(|| Some(Vec::new())) else { return Ok(false) };
            for value in values {
                if weighed.values.contains(&value) {
                    continue;
                }
                if weighed.values.len() == MOST_VALUES {
                    return Ok(false);
                }
                weighed.values.push(value);
            }
        }
        for args in rows {
            for value in &weighed.values {
                let log_p = match args {
                    Some(args) => self.log_density(node, distribution, value, args)?,
                    None => f64::NEG_INFINITY,
                };
                weighed.log_weights.push(log_p);
            }
        }
        Ok(true)
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

    /// The deterministic nodes of segment t. False if something would have to be made.
    fn columns(&mut self, t: usize, rows: usize) -> Result<bool, EvalError> {
        let part = &self.plan.parts[t];
        let width = self.room.steps[t].values.len();
        self.room.here.resize_with(part.steps.len().max(self.room.here.len()), Column::new);
        self.room.repeated.clear();
        for (place, step) in part.steps.iter().enumerate() {
            let repeated = self.is_repeated(t, place);
            self.room.repeated.push(repeated);
            if repeated {
                let Room { before, here, .. } = &mut *self.room;
                here[place].clone_from(&before[place]);
                continue;
            }
            let mut column = std::mem::take(&mut self.room.here[place]);
            column.clear();
            if place == self.shape.choices[t] {
                column.extend(self.room.steps[t].values.iter().cloned().map(Some));
                self.room.here[place] = column;
                continue;
            }
            let pairs = match self.shape.hangs[t][place] {
                Hangs::Here => 1,
                Hangs::Before => rows,
                Hangs::Further => 0,
            };
            for j in 0..pairs {
                for k in 0..width {
                    let range = if pairs == 1 { 0..rows } else { j..j + 1 };
                    let args = self.row(&step.reads, t, (j, k));
                    let Some(args) = args.filter(|_| self.is_possible(t, range, k)) else {
                        column.push(None);
                        continue;
                    };
                    let value = match step.rule {
                        Rule::Select(formula) => {
                            let args: SmallVec<[Value; 4]> = args.into_iter().cloned().collect();
                            let formula = &self.plan.formulas[formula as usize];
                            match formula.value(self.trace, &self.plan.away, &args) {
                                Ok(value) => Ok(value),
                                Err(Stop::Missing) => {
                                    self.room.misses_rows = true;
                                    return Ok(false);
                                }
                                Err(Stop::Error(error)) => Err(error),
                            }
                        }
                        _ => self.trace.follow(step.node, &args),
                    };
                    column.push(match value {
                        Ok(value) => Some(value),
                        Err(error) if error.rejects() => None,
                        Err(error) => return Err(error),
                    });
                }
            }
            // Whoever leaves a domain is impossible, read or not.
            for (at, value) in column.iter().enumerate() {
                if value.is_none() {
                    let log_weights = &mut self.room.steps[t].log_weights;
                    let all = at..log_weights.len();
                    let step = if pairs == 1 { width } else { log_weights.len() };
                    all.step_by(step).for_each(|at| log_weights[at] = f64::NEG_INFINITY);
                }
            }
            self.room.here[place] = column;
        }
        Ok(true)
    }

    /// Whether a column is that of the segment before: the same function of the same values. For the
    /// choice itself: whether it has the same values.
    fn is_repeated(&self, t: usize, place: usize) -> bool {
        let Some(before) = t.checked_sub(1) else { return false };
        let parts = [&self.plan.parts[before], &self.plan.parts[t]];
        let Some(was) = parts[0].steps.get(place) else { return false };
        let Room { steps, repeated, before: columns, .. } = &*self.room;
        if place == self.shape.choices[t] {
            let same = |(a, b): (&Value, &Value)| a.is_identical(b);
            let (a, b) = (&steps[before].values, &steps[t].values);
            return place == self.shape.choices[before]
                && a.len() == b.len()
                && a.iter().zip(b).all(same);
        }
        let step = &parts[1].steps[place];
        let (Some(function), Some(other)) = (step.rule.function(), was.rule.function()) else {
            return false;
        };
        let reads = |range: &std::ops::Range<u32>| {
            &self.plan.reads[range.start as usize..range.end as usize]
        };
        let (a, b) = (reads(&was.reads), reads(&step.reads));
        let fixed = |place: u32| &self.plan.fixed[place as usize];
        std::ptr::eq(function, other)
            && a.len() == b.len()
            && a.iter().zip(b).all(|pair| match pair {
                (Read::Fixed(a), Read::Fixed(b)) => fixed(*a).is_identical(fixed(*b)),
                (Read::Own(a), Read::Own(b)) => a == b && repeated.get(*a as usize) == Some(&true),
                _ => false,
            })
            // What was impossible there may be possible here.
            && columns[place].iter().all(Option::is_some)
    }

    /// The absorbing choices of segment t.
    fn weigh(&mut self, t: usize, rows: usize) -> Result<(), EvalError> {
        let part = &self.plan.parts[t];
        let width = self.room.steps[t].values.len();
        for weight in &part.weights {
            let x = &self.plan.fixed[weight.x as usize];
            let reads = &self.plan.reads[weight.reads.start as usize..weight.reads.end as usize];
            let hangs = reads.iter().map(|read| self.shape.read(part, t, *read)).max();
            let pairs = if hangs == Some(Hangs::Before) { rows } else { 1 };
            for j in 0..pairs {
                for k in 0..width {
                    let range = if pairs == 1 { 0..rows } else { j..j + 1 };
                    if !self.is_possible(t, range.clone(), k) {
                        continue;
                    }
                    let log_p = match (weight.law, self.row(&weight.reads, t, (j, k))) {
                        (_, None) => f64::NEG_INFINITY,
                        (Law::Density(distribution, _), Some(args)) => {
                            self.log_density(weight.node, distribution, x, &args)?
                        }
                        (Law::Given, Some(args)) => {
                            args[0].as_number().expect("a log density is a number")
                        }
                        (Law::Marginal, _) => unreachable!("checked before"),
                    };
                    for j in range {
                        self.room.steps[t].log_weights[j * width + k] += log_p;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes a path that selects nothing, and what follows from it. The number of choices that changed.
    pub fn settle(self, path: &[usize]) -> Result<usize, EvalError> {
        let ForwardBackward { trace, plan, shape, room } = self;
        let start = trace.savepoint();
        let mut changed = 0;
        // Whether the choice here has changed, and the one before.
        let mut here = false;
        for (t, part) in plan.parts.iter().enumerate() {
            let (choice, value) =
                (part.steps[shape.choices[t]].node, &room.steps[t].values[path[t]]);
            let before = here;
            here = !trace.node(choice).value.is_identical(value);
            if here {
                trace.set_value(choice, value.clone());
                changed += 1;
            }
            for (place, step) in part.steps.iter().enumerate() {
                // The rest stays as it is, fresh or stale.
                let follows = match shape.hangs[t][place] {
                    Hangs::Here => here,
                    Hangs::Before => here || before,
                    Hangs::Further => changed > 0,
                };
                if !follows || place == shape.choices[t] {
                    continue;
                }
                match trace.follow_arguments(step.node) {
                    Ok(value) => trace.set_value(step.node, value),
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
