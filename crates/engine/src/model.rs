//! Directives on one trace: each happens whole or not at all.

mod constrain;
mod distance;
mod explore;
mod labels;
pub mod later;
mod named;
mod pointwise;
mod retry;
mod rows;
mod start;
mod state;
mod ties;
mod wander;

use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smidgen_lang::Span;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::free_globals;
use smidgen_value::{Rng, Symbol, Value};

use crate::environment::Environment;
use crate::error::EvalError;
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::eval::Evaluation;
use crate::trace::journal::Savepoint;
use crate::trace::node::{Observed, Op};
use crate::trace::observe::Referent;
use rows::{FEWEST_ROWS, PlateRecord};

pub use explore::Exploration;
pub use named::NoScope;
pub use rows::{RowError, RowObservation};
pub use ties::Ties;

/// A program's trace and the directives that made it.
pub struct Model {
    trace: Trace,
    records: Vec<Record>,
    by_label: FxHashMap<String, u64>,
    /// Labels of observations in loops whose rows are plates.
    plate_labels: FxHashMap<String, Vec<u64>>,
    /// Loops from so many rows on are observed as plates.
    plates_from: usize,
    next_number: u64,
    /// The address of the next directive: one that makes nothing does not count.
    next_address: u64,
    /// Whether an observation may be impossible under the current values.
    suspect: bool,
    /// What `forget` removed in the open transaction, with its place.
    removed: Vec<(usize, Record)>,
    /// Log weight of the observations since it was last taken, see [`Model::take_log_weight`].
    log_weight: f64,
    /// Directives that have been prepared but not concluded.
    prepared: Option<Before>,
    /// Whether this is a particle, see `retry`, and whether it has come to its end.
    keeps_past: bool,
    broken: bool,
    /// What `freeze` was asked for: these values belong to a state.
    frozen: Vec<NodeId>,
}

/// What a transaction goes back to if it is undone.
#[derive(Clone, Copy)]
struct Before {
    savepoint: Savepoint,
    records: usize,
    suspect: bool,
    log_weight: f64,
}

/// A directive that left something in the trace.
#[derive(Clone)]
pub struct Record {
    number: u64,
    pub label: Option<String>,
    pub kind: RecordKind,
    root: Operand,
    family: FamilyId,
    expr: ExprRef,
    /// For an observation in a loop: all its rows.
    plates: Option<Arc<PlateRecord>>,
    /// For an assumed name that a kernel has asked for: its scope.
    scope: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RecordKind {
    Assume(Symbol),
    /// A name of one round of a loop.
    Let,
    Observe,
    Predict,
}

/// What a `predict` left.
pub struct Predicted {
    /// The number of its record, see [`Model::has_record`].
    pub number: u64,
    pub root: Operand,
    pub value: Value,
}

fn still_used(label: &str) -> EvalError {
    EvalError::other(None, format!("`{label}` cannot be forgotten: other directives use it"))
        .hint("forget those first")
}

fn is_observed(label: &str) -> EvalError {
    let message = format!("`{label}` is observed: forget the observation before you freeze it");
    EvalError::other(None, message)
}

/// Whether a procedure or an environment is in a value.
fn holds_procedure(value: &Value) -> bool {
    let mut work = vec![value.clone()];
    while let Some(value) = work.pop() {
        match &value {
            Value::Procedure(_) | Value::Environment(_) => return true,
            Value::Dict(dict) => {
                work.extend(dict.entries().iter().flat_map(|(k, v)| [k.clone(), v.clone()]));
            }
            Value::Pair(pair) => work.extend([pair.first.clone(), pair.rest.clone()]),
            Value::Array(items) => work.extend(items.iter().cloned()),
            _ => {}
        }
    }
    false
}

/// A program text ready to be evaluated: an expression and the frames of the loops around it.
#[derive(Clone, Copy)]
pub struct Code<'a> {
    pub expr: &'a ExprRef,
    pub environment: &'a Environment,
}

impl Deref for Model {
    type Target = Trace;
    fn deref(&self) -> &Trace {
        &self.trace
    }
}

/// An open transaction: rolls back when dropped, also by a panic, unless it is done.
struct Transaction<'m> {
    model: &'m mut Model,
    before: Before,
    done: bool,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.model.undo(self.before);
        }
    }
}

impl Default for Model {
    fn default() -> Model {
        Model {
            trace: Trace::new(),
            records: Vec::new(),
            by_label: FxHashMap::default(),
            plate_labels: FxHashMap::default(),
            plates_from: FEWEST_ROWS,
            next_number: 0,
            next_address: 0,
            suspect: false,
            removed: Vec::new(),
            log_weight: 0.0,
            prepared: None,
            keeps_past: false,
            broken: false,
            frozen: Vec::new(),
        }
    }
}

impl Model {
    pub fn new() -> Model {
        Model::default()
    }

    pub fn trace_mut(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Procedures made here are ordered after those of models with lower numbers, whose values may meet them.
    pub fn number_creations_from(&mut self, first: u64) {
        self.trace.creations = first;
    }

    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Runs directives as one: if any fails, the model is as it was before the first.
    pub fn whole<T, E>(&mut self, body: impl FnOnce(&mut Model) -> Result<T, E>) -> Result<T, E> {
        let value = self.prepare(body)?;
        self.conclude(true);
        Ok(value)
    }

    /// The first half of [`Model::whole`]: what was done can still be undone, and nothing else may
    /// happen before [`Model::conclude`] has decided.
    pub fn prepare<T, E>(&mut self, body: impl FnOnce(&mut Model) -> Result<T, E>) -> Result<T, E> {
        let before = Before {
            savepoint: self.trace.savepoint(),
            records: self.records.len(),
            suspect: self.suspect,
            log_weight: self.log_weight,
        };
        let mut transaction = Transaction { before, model: self, done: false };
        let value = body(transaction.model)?;
        transaction.done = true;
        transaction.model.prepared = Some(before);
        Ok(value)
    }

    /// Keeps or undoes what was prepared.
    pub fn conclude(&mut self, keep: bool) {
        match self.prepared.take() {
            Some(before) if !keep => self.undo(before),
            None => {}
            Some(_) => {
                self.trace.commit();
                self.removed.clear();
                self.trace.sweep = self.trace.choices().len();
            }
        }
    }

    fn undo(&mut self, before: Before) {
        self.trace.rollback_to(before.savepoint);
        for (place, record) in std::mem::take(&mut self.removed).into_iter().rev() {
            if let Some(label) = &record.label {
                self.by_label.insert(label.clone(), record.number);
            }
            if let Some(label) = record.plates.as_ref().and_then(|plates| plates.label()) {
                let numbers = self.plate_labels.entry(label.clone()).or_default();
                let place = numbers.partition_point(|known| *known < record.number);
                numbers.insert(place, record.number);
            }
            self.records.insert(place, record);
        }
        for record in self.records.split_off(before.records.min(self.records.len())) {
            if let Some(label) = &record.label {
                self.by_label.remove(label);
            }
            if let Some(label) = record.plates.as_ref().and_then(|plates| plates.label().cloned()) {
                self.unlabel(&label, record.number);
            }
        }
        (self.suspect, self.log_weight) = (before.suspect, before.log_weight);
    }

    pub(crate) fn copy_with(&self, trace: Trace) -> Model {
        Model {
            trace,
            records: self.records.clone(),
            by_label: self.by_label.clone(),
            plate_labels: self.plate_labels.clone(),
            plates_from: self.plates_from,
            next_number: self.next_number,
            next_address: self.next_address,
            suspect: self.suspect,
            removed: Vec::new(),
            log_weight: self.log_weight,
            prepared: None,
            keeps_past: self.keeps_past,
            broken: self.broken,
            frozen: self.frozen.clone(),
        }
    }

    /// Σ log p(observed value | what it depends on) over the observations since the last time this
    /// was asked. An observation of a choice that was there already also counts the change of what
    /// depends on it: log p(v|Par) + Σ_A [log p(x|v) − log p(x|old)].
    pub fn take_log_weight(&mut self) -> f64 {
        std::mem::take(&mut self.log_weight)
    }

    /// The weight as it stands.
    pub fn log_weight(&self) -> f64 {
        self.log_weight
    }

    /// Whether a label is that of an observation.
    pub fn is_observation(&self, label: &str) -> bool {
        self.plate_row(label).is_some()
            || self.place(label).is_ok_and(|place| self.records[place].kind == RecordKind::Observe)
    }

    fn record(
        &mut self,
        label: Option<String>,
        kind: RecordKind,
        root: Operand,
        family: FamilyId,
        expr: &ExprRef,
    ) {
        let number = self.next_number;
        self.next_number += 1;
        self.next_address += u64::from(!family.is_none());
        if let Some(label) = &label {
            self.by_label.insert(label.clone(), number);
        }
        let expr = expr.clone();
        let record = Record { number, label, kind, root, family, expr, plates: None, scope: None };
        self.records.push(record);
    }

    fn check_label(&self, label: Option<&str>, span: Span) -> Result<(), EvalError> {
        match label {
            Some(label) if self.by_label.contains_key(label) || self.plate_row(label).is_some() => {
                Err(EvalError::other(span, format!("the label `{label}` is already in use")))
            }
            _ => Ok(()),
        }
    }

    /// Evaluates in a new family; the family is None if nothing was made.
    fn evaluate(
        &mut self,
        code: Code<'_>,
        rng: &mut Rng,
        improper: bool,
        want: Option<&Observed>,
    ) -> Result<(FamilyId, Operand, Option<NodeId>, f64), EvalError> {
        let mut cx = Evaluation::of_directive(rng, FamilyId::NONE, improper);
        let (family, root) = self.trace.in_new_family(
            &mut cx,
            (Default::default(), self.next_address),
            |trace, cx| {
                let root = trace.eval(code.expr, code.environment, cx, want)?;
                trace.settle_operand(&root, cx)?;
                Ok(root)
            },
        )?;
        Ok((family, root, cx.observed_at, cx.log_observed))
    }

    // ------------------------------------------------------------ directives
    // Each must run inside `whole`.

    pub fn assume(
        &mut self,
        name: Symbol,
        code: Code<'_>,
        label: Option<String>,
        rng: &mut Rng,
    ) -> Result<Value, EvalError> {
        self.check_label(label.as_deref(), code.expr.span)?;
        if self.trace.is_bound(name) {
            return Err(EvalError::other(code.expr.span, format!("`{name}` is already assumed"))
                .hint("choose another name, or forget the first one"));
        }
        let (family, root, ..) =
            self.persist(rng, |model, rng| model.evaluate(code, rng, true, None))?;
        self.trace.bind_global(name, Some(root.clone()));
        let value = self.trace.settled_value(&root).clone();
        self.record(label, RecordKind::Assume(name), root, family, code.expr);
        Ok(value)
    }

    /// Evaluates what a round of a loop has a name for; what comes of it stays in the trace.
    pub fn name(&mut self, code: Code<'_>, rng: &mut Rng) -> Result<Operand, EvalError> {
        let (family, root, ..) =
            self.persist(rng, |model, rng| model.evaluate(code, rng, true, None))?;
        self.record(None, RecordKind::Let, root.clone(), family, code.expr);
        Ok(root)
    }

    pub fn predict(
        &mut self,
        code: Code<'_>,
        label: Option<String>,
        rng: &mut Rng,
    ) -> Result<Predicted, EvalError> {
        self.check_label(label.as_deref(), code.expr.span)?;
        let (family, root, ..) =
            self.persist(rng, |model, rng| model.evaluate(code, rng, false, None))?;
        let value = self.trace.settled_value(&root).clone();
        let number = self.next_number;
        self.record(label, RecordKind::Predict, root.clone(), family, code.expr);
        Ok(Predicted { number, root, value })
    }

    /// Evaluates, gives the value, and leaves no trace.
    pub fn sample(&mut self, code: Code<'_>, rng: &mut Rng) -> Result<Value, EvalError> {
        Ok(self.sample_together([code], rng)?.remove(0))
    }

    /// The same for several expressions, which share the rows of memoised procedures that they ask
    /// for: what is recorded together belongs to one state of the program.
    pub fn sample_together<'c>(
        &mut self,
        codes: impl IntoIterator<Item = Code<'c>>,
        rng: &mut Rng,
    ) -> Result<Vec<Value>, EvalError> {
        self.aside(|model, _| {
            let mut value = |code| {
                let (_, root, ..) = model.evaluate(code, rng, false, None)?;
                Ok(model.trace.settled_value(&root).clone())
            };
            codes.into_iter().map(&mut value).collect()
        })
    }

    /// Undoes what is done. Rosters do not hear of edges that come and go again: else the sections
    /// that were looked at would change their places there.
    fn aside<T>(&mut self, done: impl FnOnce(&mut Model, Savepoint) -> T) -> T {
        let savepoint = self.trace.savepoint();
        self.trace.sections.ignores_edits = true;
        let result = done(self, savepoint);
        self.trace.rollback_to(savepoint);
        self.trace.sections.ignores_edits = false;
        result
    }

    /// The value of an expression without random choices.
    pub fn constant(&mut self, code: Code<'_>, rng: &mut Rng) -> Result<Value, EvalError> {
        self.aside(|model, savepoint| match model.evaluate(code, rng, false, None)?.1 {
            // What `mem` and the makers give lives in the trace and goes with it.
            Operand::Constant(value)
                if model.trace.has_added_nodes(savepoint) && holds_procedure(&value) =>
            {
                let message = "a procedure that keeps something in the trace is no constant";
                Err(EvalError::other(code.expr.span, message).hint("assume it instead"))
            }
            Operand::Constant(value) => Ok(value),
            Operand::Node(_) => Err(EvalError::other(
                code.expr.span,
                "this value must be a constant, but it depends on random choices",
            )),
        })
    }

    pub fn observe(
        &mut self,
        code: Code<'_>,
        value: Value,
        label: Option<String>,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        let span = code.expr.span;
        self.check_label(label.as_deref(), span)?;
        let observed = Observed { value, number: self.next_number };
        let (family, root) =
            self.persist(rng, |model, rng| model.constrain(code, &observed, rng))?;
        self.record(label, RecordKind::Observe, root, family, code.expr);
        Ok(())
    }

    pub fn force(
        &mut self,
        code: Code<'_>,
        value: &Value,
        rng: &mut Rng,
    ) -> Result<Value, EvalError> {
        let span = code.expr.span;
        let (family, root, ..) = self.evaluate(code, rng, true, None)?;
        let id = self.observable(&root, span, "force")?;
        if self.trace.node(id).changed_at > self.trace.revision {
            return Err(EvalError::other(
                span,
                "this expression makes a new random choice: there is nothing to force",
            )
            .hint("force a choice that the program has made, by its name or by the same call"));
        }
        self.trace.release(family)?;
        self.impose(id, value, span, rng)?;
        self.trace.set_forced(id, true);
        self.suspect = true;
        Ok(self.trace.node(id).value.clone())
    }

    /// Assumed names whose values can change, with what they refer to now.
    pub fn assumed_changeable(&self) -> Vec<(Symbol, Operand)> {
        let changeable = self.records.iter().filter_map(|record| match record.kind {
            RecordKind::Assume(name) => Some((name, record.root.clone())),
            _ => None,
        });
        changeable.filter(|(_, root)| root.node().is_some()).collect()
    }

    /// The current value of an operand.
    pub fn operand_value(&mut self, operand: &Operand) -> Result<Value, EvalError> {
        self.trace.operand_value(operand).cloned()
    }

    pub fn records(&self) -> &[Record] {
        &self.records
    }

    pub fn log_joint(&mut self) -> Result<f64, EvalError> {
        self.trace.log_joint()
    }

    pub fn log_likelihood(&mut self) -> Result<f64, EvalError> {
        self.trace.log_likelihood()
    }
}
