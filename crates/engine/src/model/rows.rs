//! Observations of a whole loop at once: its rows become plates where they can ([`crate::plate`]).

mod sort;
mod write;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smidgen_lang::core::ExprRef;
use smidgen_value::{Rng, Value};

use super::{Code, Model, Record, RecordKind};
use crate::environment::Environment;
use crate::error::EvalError;
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::plate::{Members, Plate, Text};
use crate::tag::Tags;
use crate::trace::eval::Evaluation;
use crate::trace::node::Op;
use crate::trace::row::walk::Stop;
use sort::Sorter;
use write::{Written, write};

/// Loops of fewer rows are observed row by row.
pub(super) const FEWEST_ROWS: usize = 128;
/// Rows may fall apart into so many kinds, and into one kind for so many rows.
const MOST_KINDS: usize = 64;
const ROWS_PER_KIND: usize = 16;

/// `[observe expr outcome]` in the body of a loop.
pub struct RowObservation<'a> {
    pub expr: &'a ExprRef,
    pub outcome: &'a ExprRef,
    /// The label of the directive; row i is called `label[i]`.
    pub label: Option<String>,
    /// The rows in which it is made, in order; None for all.
    pub rows: Option<Vec<u32>>,
    /// What row 0 is called: not 0 if other rows came before.
    pub first: u32,
}

/// A mistake, and the row that it was made in.
pub struct RowError {
    pub row: i64,
    pub error: EvalError,
}

/// The plates of one observation in a loop.
#[derive(Clone)]
pub(super) struct PlateRecord {
    label: Option<String>,
    /// What row 0 is called.
    first: u32,
    plates: Vec<(NodeId, FamilyId)>,
    text: Text,
}

/// One observation while its rows are being sorted.
struct Sorting {
    text: Text,
    sorter: Sorter,
    written: Vec<(Written, FamilyId)>,
}

impl Model {
    /// Loops from so many rows on are observed as plates.
    pub fn set_plates_from(&mut self, rows: usize) {
        self.plates_from = rows;
    }

    /// Observes every row of a loop. False, and nothing done, if they have to be observed one by one.
    /// Must run inside [`Model::whole`].
    pub fn observe_rows(
        &mut self,
        observations: &[RowObservation<'_>],
        environment: &Environment,
        rows: Range<i64>,
        rng: &mut Rng,
    ) -> Result<bool, RowError> {
        let n = usize::try_from(rows.end.saturating_sub(rows.start)).unwrap_or(0);
        let made = |o: &RowObservation| o.rows.as_ref().map_or(n, Vec::len);
        let fewest = observations.iter().map(made).min().unwrap_or(n);
        let fits = rows.start >= 0 && rows.end < i64::from(u32::MAX) && fewest >= self.plates_from;
        let called = |o: &RowObservation| o.first..o.first.saturating_add(rows.end as u32);
        if !fits || observations.iter().any(|o| self.clashes(o.label.as_deref(), called(o))) {
            return Ok(false);
        }
        let (savepoint, stream) = (self.trace.savepoint(), rng.place());
        let found = match self.sort_rows(observations, environment, rows.clone(), rng) {
            Ok(sorted) => self.place_plates(observations, sorted, &rows),
            Err(Stop::NoPlate | Stop::Error(_)) => Err(None),
        };
        let (records, log_p, doubtful) = match found {
            Ok(found) => found,
            // A row that cannot be: observed as such, it says why.
            Err(culprit) => {
                self.trace.rollback_to(savepoint);
                rng.go_back(stream);
                return match culprit {
                    Some(row) => self.blame(observations, environment, row, rng),
                    None => Ok(false),
                };
            }
        };
        for row in doubtful {
            self.blame(observations, environment, row, rng)?;
        }
        self.suspect |= log_p == f64::NEG_INFINITY;
        self.log_weight += log_p;
        for (k, (record, observation)) in records.into_iter().zip(observations).enumerate() {
            let number = self.next_number + k as u64;
            if let Some(label) = &record.label {
                self.plate_labels.entry(label.clone()).or_default().push(number);
            }
            self.records.push(Record {
                number,
                label: None,
                kind: RecordKind::Observe,
                root: Operand::Constant(Value::Nil),
                family: FamilyId::NONE,
                expr: observation.expr.clone(),
                plates: Some(Arc::new(record)),
                scope: None,
            });
        }
        // As many numbers as rows observed one by one would have.
        self.next_number += (n * observations.len()) as u64;
        self.next_address += (n * observations.len()) as u64;
        Ok(true)
    }

    /// Whether one of these rows of a directive has its label already.
    fn clashes(&self, label: Option<&str>, called: Range<u32>) -> bool {
        let Some(label) = label else { return false };
        let of_plates = self.places_of(label).into_iter().any(|place| {
            let Some(record) = self.records[place].plates.as_ref() else { return false };
            let spans = record.plates.iter().filter_map(|(id, _)| match &self.trace.node(*id).op {
                Op::Plate(plate) => Some(plate.members.span()),
                _ => None,
            });
            let (first, mut spans) = (record.first, spans);
            spans.any(|span| first + span.start < called.end && called.start < first + span.end)
        });
        // Whichever are fewer are looked through.
        let rows = format!("{label}[");
        let is_among = |known: &String| {
            let behind = known.strip_prefix(&rows).and_then(|row| row.strip_suffix(']'));
            behind.and_then(|row| row.parse().ok()).is_some_and(|row: u32| called.contains(&row))
        };
        let is_known = |row: u32| self.by_label.contains_key(&format!("{rows}{row}]"));
        of_plates
            || match self.by_label.len() < called.len() {
                true => self.by_label.keys().any(is_among),
                false => called.clone().any(is_known),
            }
    }

    /// Where the records are that have a label for all their rows.
    pub(super) fn places_of(&self, label: &str) -> Vec<usize> {
        let place =
            |number: &u64| self.records.binary_search_by_key(number, |record| record.number).ok();
        self.plate_labels
            .get(label)
            .map_or_else(Vec::new, |all| all.iter().filter_map(place).collect())
    }

    /// A label no longer stands for the rows of this record.
    pub(super) fn unlabel(&mut self, label: &str, number: u64) {
        if let Some(numbers) = self.plate_labels.get_mut(label) {
            numbers.retain(|known| *known != number);
            if numbers.is_empty() {
                self.plate_labels.remove(label);
            }
        }
    }

    /// Writes the programs of all kinds of rows.
    fn sort_rows(
        &mut self,
        observations: &[RowObservation<'_>],
        environment: &Environment,
        rows: Range<i64>,
        rng: &mut Rng,
    ) -> Result<Vec<Sorting>, Stop> {
        let mut all: Vec<Sorting> = Vec::with_capacity(observations.len());
        for observation in observations {
            let (expr, outcome) = (observation.expr.clone(), observation.outcome.clone());
            let text = Text { expr, outcome, environment: environment.clone() };
            all.push(Sorting { text, sorter: Sorter::default(), written: Vec::new() });
        }
        let (start, end) = (rows.start as usize, rows.end as usize);
        let most = MOST_KINDS + (end - start) / ROWS_PER_KIND;
        let each = all.len();
        let mut left_out: Vec<_> = observations.iter().map(LeftOut::new).collect();
        for row in start..end {
            if row % 4096 == 0 && self.trace.interrupt.load(Ordering::Relaxed) {
                return Err(Stop::NoPlate);
            }
            for (k, sorting) in all.iter_mut().enumerate() {
                if left_out[k].is_left_out(row) {
                    continue;
                }
                let number = match sorting.sorter.find(row) {
                    Some(number) => number,
                    None => {
                        if sorting.written.len() == most {
                            return Err(Stop::NoPlate);
                        }
                        let address = self.next_address + ((row - start) * each + k) as u64;
                        let mut cx = Evaluation::of_directive(rng, FamilyId::NONE, true);
                        cx.family = self.trace.add_family(address);
                        let family = cx.family;
                        let mut written =
                            write(&mut self.trace, &mut cx, &sorting.text, (row, end))?;
                        let number = sorting.sorter.enter(&mut written);
                        sorting.written.push((written, family));
                        number
                    }
                };
                if !sorting.sorter.is_uniform() {
                    sorting.sorter.members[number as usize].push(row as u32);
                }
            }
            if all.iter().all(|sorting| sorting.sorter.is_uniform()) {
                break;
            }
        }
        Ok(all)
    }

    /// Puts the plates into the trace, with the log density of their rows, and the rows with a
    /// parameter out of its domain, where other values of the random choices may mend that. An
    /// error names a row that cannot be, if one is to blame.
    fn place_plates(
        &mut self,
        observations: &[RowObservation<'_>],
        all: Vec<Sorting>,
        rows: &Range<i64>,
    ) -> Result<(Vec<PlateRecord>, f64, Vec<u32>), Option<u32>> {
        let mut records = Vec::with_capacity(all.len());
        let (mut log_p, mut doubtful) = (0.0, Vec::new());
        for (Sorting { text, mut sorter, written }, observation) in
            all.into_iter().zip(observations)
        {
            let mut plates = Vec::with_capacity(written.len());
            for (number, (written, family)) in written.into_iter().enumerate() {
                let members = match (sorter.is_uniform(), &observation.rows) {
                    (true, None) => Members::Range(rows.start as u32..rows.end as u32),
                    (true, Some(some)) => Members::List(Arc::new(some.clone())),
                    (false, _) => {
                        Members::List(Arc::new(std::mem::take(&mut sorter.members[number])))
                    }
                };
                let Written { program, nodes, .. } = written;
                let place = (family, Tags::default(), program.span);
                let plate = Plate::new(Arc::new(program), members);
                let operands = nodes.into_iter().map(Operand::Node);
                let id =
                    self.trace.add_node(Op::Plate(Box::new(plate)), operands, Value::Nil, place);
                self.trace.node_mut(id).constrained = true;
                plates.push((id, family));
            }
            for (id, _) in &plates {
                log_p += self.weigh_plate(*id, &mut doubtful)?;
            }
            let (label, first) = (observation.label.clone(), observation.first);
            records.push(PlateRecord { label, first, plates, text });
        }
        Ok((records, log_p, doubtful))
    }

    /// The log density of a new plate; rows with a parameter out of its domain are added to
    /// `doubtful`, and an error names the first row that cannot be.
    fn weigh_plate(&mut self, id: NodeId, doubtful: &mut Vec<u32>) -> Result<f64, Option<u32>> {
        self.trace.refresh_arguments(id).map_err(|_| None)?;
        let Op::Plate(plate) = &self.trace.node(id).op else { unreachable!("just made") };
        let nodes = self.trace.parents(id);
        let trace = &self.trace;
        trace.with_args(id, |values| match plate.first_outside(trace, &nodes, values) {
            Some(row) => Err(Some(row)),
            None => trace.plate_log_density(plate, &nodes, values).or_else(|_| {
                for row in (0..plate.rows()).map(|place| plate.members.row(place)) {
                    match plate.interpret(trace, &nodes, values, row as usize) {
                        Err(error) if error.rejects() => doubtful.push(row),
                        Err(_) => return Err(Some(row)),
                        Ok(_) => {}
                    }
                }
                Ok(f64::NEG_INFINITY)
            }),
        })
    }

    /// Observes one row as it would be observed alone, for its message.
    fn blame(
        &mut self,
        observations: &[RowObservation<'_>],
        environment: &Environment,
        row: u32,
        rng: &mut Rng,
    ) -> Result<bool, RowError> {
        let (savepoint, place) = (self.trace.savepoint(), rng.place());
        let (records, suspect, log_weight) = (self.records.len(), self.suspect, self.log_weight);
        let environment = environment.push([Operand::Constant(Value::Number(f64::from(row)))]);
        let mut result = Ok(false);
        for observation in observations {
            let code = |expr| Code { expr, environment: &environment };
            let observed = self
                .constant(code(observation.outcome), rng)
                .and_then(|value| self.observe(code(observation.expr), value, None, rng));
            if let Err(error) = observed {
                result = Err(RowError { row: i64::from(row), error });
                break;
            }
        }
        self.records.truncate(records);
        (self.suspect, self.log_weight) = (suspect, log_weight);
        self.trace.rollback_to(savepoint);
        rng.go_back(place);
        result
    }

    // ------------------------------------------------------------ single rows

    /// The record and the row that a label like `y[17]` names.
    pub(super) fn plate_row(&self, label: &str) -> Option<(usize, u32)> {
        let (name, row) = label.strip_suffix(']')?.rsplit_once('[')?;
        let called: u32 = row.parse().ok()?;
        self.places_of(name).into_iter().find_map(|place| {
            let record = self.records[place].plates.as_ref()?;
            let row = called.checked_sub(record.first)?;
            self.plate_of(place, row).map(|_| (place, row))
        })
    }

    fn plate_of(&self, place: usize, row: u32) -> Option<(NodeId, FamilyId)> {
        let record = self.records[place].plates.as_ref()?;
        record.plates.iter().copied().find(|(id, _)| match &self.trace.node(*id).op {
            Op::Plate(plate) => plate.members.contains(row),
            _ => false,
        })
    }

    /// What the rows of an observation in a loop are called that are still there.
    pub(super) fn rows_of_plates(&self, place: usize) -> Vec<i64> {
        let Some(record) = self.records[place].plates.as_ref() else { return Vec::new() };
        let plates = record.plates.iter().filter_map(|(id, _)| match &self.trace.node(*id).op {
            Op::Plate(plate) if self.trace.node(*id).is_live() => Some(plate),
            _ => None,
        });
        let rows = plates.flat_map(|plate| (0..plate.rows()).map(|k| plate.members.row(k)));
        rows.map(|row| i64::from(record.first) + i64::from(row)).collect()
    }

    /// What was observed in a row.
    pub(super) fn observed_in_row(&mut self, place: usize, row: u32) -> Result<Value, EvalError> {
        let record = self.records[place].plates.clone().expect("a record of plates");
        let index = Operand::Constant(Value::Number(f64::from(row)));
        let environment = record.text.environment.push([index]);
        let code = Code { expr: &record.text.outcome, environment: &environment };
        let mut rng = Rng::unused();
        let value = self.constant(code, &mut rng);
        debug_assert!(!rng.was_used(), "what was observed is a constant");
        value
    }

    /// Takes a row out of its plate; the plate goes with its last row.
    pub(super) fn forget_row(&mut self, place: usize, row: u32) -> Result<(), EvalError> {
        let (id, family) = self.plate_of(place, row).expect("the row was found");
        let Op::Plate(plate) = &self.trace.node(id).op else { unreachable!("it has members") };
        if plate.rows() > 1 {
            let left = Plate::new(plate.program.clone(), plate.members.without(row));
            self.trace.set_plate(id, Box::new(left));
            return Ok(());
        }
        let last = self.records[place].plates.as_ref().is_some_and(|record| {
            record
                .plates
                .iter()
                .all(|(other, _)| *other == id || !self.trace.node(*other).is_live())
        });
        self.trace.release(family)?;
        if last {
            self.remove_plates(place);
        }
        Ok(())
    }

    /// Takes all rows out.
    pub(super) fn forget_plates(&mut self, place: usize) -> Result<(), EvalError> {
        let record = self.records[place].plates.clone().expect("a record of plates");
        for (id, family) in &record.plates {
            if self.trace.node(*id).is_live() {
                self.trace.release(*family)?;
            }
        }
        self.remove_plates(place);
        Ok(())
    }

    /// Takes the record of plates away that are gone.
    fn remove_plates(&mut self, place: usize) {
        let record = self.records.remove(place);
        if let Some(label) = record.plates.as_ref().and_then(|plates| plates.label.clone()) {
            self.unlabel(&label, record.number);
        }
        self.removed.push((place, record));
    }
}

/// Which rows an observation leaves out, asked in order.
struct LeftOut<'a> {
    made: Option<std::iter::Peekable<std::slice::Iter<'a, u32>>>,
}

impl<'a> LeftOut<'a> {
    fn new(observation: &'a RowObservation<'_>) -> LeftOut<'a> {
        LeftOut { made: observation.rows.as_ref().map(|rows| rows.iter().peekable()) }
    }

    fn is_left_out(&mut self, row: usize) -> bool {
        let Some(made) = &mut self.made else { return false };
        made.next_if(|next| **next as usize == row).is_none()
    }
}

impl PlateRecord {
    pub(super) fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.plates.iter().map(|(id, _)| *id)
    }
}
