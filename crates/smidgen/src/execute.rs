//! Steps on one trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smidgen_engine::environment::Environment;
use smidgen_engine::model::later::Prediction;
use smidgen_engine::model::{Code, Predicted, RowError, RowObservation};
use smidgen_engine::operand::Operand;
use smidgen_engine::{EvalError, Model};
use smidgen_infer::{Program, Run};
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::Scope;
use smidgen_lang::syntax::Syntax;
use smidgen_lang::{Diagnostic, SourceMap, Span};
use smidgen_value::{Rng, Value};

use crate::catalog::Catalog;
use crate::compile::{Bounds, Step, StepKind};
use crate::impute::is_internal;
use crate::kernels::KernelReader;
use crate::missing;
use crate::noted::Noted;
use crate::outcome::{Inferred, Outcome, OutcomeKind};
use crate::simulated::Simulated;

/// What `infer`, `sample` and `report` do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Everything happens now and is shown.
    Run,
    /// `infer` is kept for later as the kernel of one draw; `sample` and `report` do nothing.
    Sample,
    /// Nothing happens: a program is looked at.
    Check,
}

pub struct Executor<'a> {
    pub model: &'a mut Model,
    pub desk: ExecutionContext<'a>,
}

/// Whether predictions of a program may wait until they are recorded: nothing else asks for the value of one.
pub fn may_wait<'s>(steps: impl IntoIterator<Item = &'s Step>) -> bool {
    !steps.into_iter().any(|step| matches!(step.kind, StepKind::Freeze { .. }))
}

/// Everything an execution needs besides the trace.
pub struct ExecutionContext<'a> {
    pub rng: &'a mut Rng,
    pub catalog: &'a Catalog,
    pub sources: &'a SourceMap,
    pub interrupt: Arc<AtomicBool>,
    pub mode: Mode,
    pub outcomes: Vec<Outcome>,
    /// Whether somebody else decides if a directive is kept, see [`Model::conclude`].
    pub tentative: bool,
    /// In [`Mode::Sample`]: what was predicted (name, number of the record, what it refers to),
    /// and the kernels.
    pub predicted: Vec<(String, u64, Operand)>,
    /// Whether predictions may wait until they are recorded, and those that do: by their numbers, in ascending order.
    pub may_wait: bool,
    pub waiting: Vec<(u64, ExprRef)>,
    pub programs: Vec<Program>,
    /// Whether all values are given from elsewhere: what would only move them does nothing.
    pub replays: bool,
    /// What is observed instead of what the program says.
    pub simulated: Option<Simulated>,
    /// Which observations there are, if somebody wants to know.
    pub noted: Option<Noted>,
}

impl<'a> ExecutionContext<'a> {
    pub fn new(
        rng: &'a mut Rng,
        catalog: &'a Catalog,
        sources: &'a SourceMap,
        interrupt: Arc<AtomicBool>,
        mode: Mode,
    ) -> ExecutionContext<'a> {
        ExecutionContext {
            rng,
            catalog,
            sources,
            interrupt,
            mode,
            outcomes: Vec::new(),
            tentative: false,
            predicted: Vec::new(),
            may_wait: false,
            waiting: Vec::new(),
            programs: Vec::new(),
            replays: false,
            simulated: None,
            noted: None,
        }
    }
}

impl Executor<'_> {
    /// A directive: whole or not at all. (A loop with `infer` in it is whole step by step, an
    /// `infer` keeps the transitions it has made.)
    pub fn execute(&mut self, step: &Step) -> Result<(), Diagnostic> {
        self.at_top(step, &Environment::default(), "")
    }

    pub(crate) fn at_top(
        &mut self,
        step: &Step,
        env: &Environment,
        suffix: &str,
    ) -> Result<(), Diagnostic> {
        if self.desk.leaves_out(self.model, step, env)? {
            return Ok(());
        }
        match &step.kind {
            StepKind::Infer { kernel, scope } => {
                self.infer(step, kernel, scope, env, suffix).map_err(|d| in_directive(d, step.span))
            }
            StepKind::For { bounds, body, .. } if infers(step) => {
                self.each(bounds, step, env, suffix, |this, env, suffix| {
                    let mut env = env.clone();
                    for inner in body {
                        match &inner.kind {
                            StepKind::Let { .. } => env = env.push([this.name(inner, &env)?]),
                            _ => this.at_top(inner, &env, suffix)?,
                        }
                    }
                    Ok(())
                })
            }
            StepKind::Clear => {
                self.model.clear();
                self.desk.predicted.clear();
                self.desk.waiting.clear();
                self.desk.programs.clear();
                Ok(())
            }
            _ => {
                let desk = &mut self.desk;
                let (shown, predicted) = (desk.outcomes.len(), desk.predicted.len());
                let waiting = desk.waiting.len();
                let result = self.model.prepare(|model| desk.inside(model, step, env, suffix));
                if result.is_err() {
                    desk.outcomes.truncate(shown);
                    desk.predicted.truncate(predicted);
                    desk.waiting.truncate(waiting);
                }
                if !desk.tentative {
                    self.model.conclude(true);
                }
                result
            }
        }
    }

    /// What a round of a loop has a name for.
    pub(crate) fn name(&mut self, step: &Step, env: &Environment) -> Result<Operand, Diagnostic> {
        let desk = &mut self.desk;
        let named = self.model.prepare(|model| desk.name(model, step, env));
        if !desk.tentative {
            self.model.conclude(true);
        }
        named
    }

    fn each(
        &mut self,
        bounds: &Bounds,
        step: &Step,
        env: &Environment,
        suffix: &str,
        mut body: impl FnMut(&mut Self, &Environment, &str) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        for i in range_of(self.model, bounds, step.span, env, self.desk.rng)? {
            let inner = env.push([Operand::Constant(Value::Number(i as f64))]);
            body(self, &inner, &format!("{suffix}[{}]", called(bounds, i)))?;
        }
        Ok(())
    }

    pub(crate) fn infer(
        &mut self,
        step: &Step,
        kernel: &Syntax,
        scope: &Scope,
        env: &Environment,
        suffix: &str,
    ) -> Result<(), Diagnostic> {
        if self.desk.replays {
            return Ok(());
        }
        let mut program = self.read_program(kernel, scope, env)?;
        if self.desk.mode == Mode::Sample {
            self.desk.programs.push(program);
            return Ok(());
        }
        let mut run = Run { interrupt: self.desk.interrupt.clone(), ..Run::default() };
        match program.execute(self.model, self.desk.rng, &mut run) {
            Err(error) if !error.is_interruption() => return Err(error.into_diagnostic()),
            _ => {}
        }
        let mut kernels = Vec::new();
        for (number, text) in program.kernels.iter().enumerate() {
            let record = run.kernel(number);
            kernels.push(record.report(text));
            let warnings = record.warnings(text, &|span| self.desk.sources.place(span));
            // Whether the draws are sound is not known here.
            let divergence = record.divergence(text, true, None);
            for warning in warnings.into_iter().chain(divergence) {
                run.warn(warning);
            }
        }
        self.desk.catalog.troubles().into_iter().for_each(|trouble| run.warn(trouble));
        let inferred = Inferred {
            kernels,
            draws: std::mem::take(&mut run.collected),
            warnings: std::mem::take(&mut run.warnings),
            interrupted: run.is_interrupted(),
            log_marginal_likelihood: None,
        };
        let label = step.label.as_ref().map(|label| format!("{label}{suffix}"));
        let kind = OutcomeKind::Infer(inferred);
        self.desk.outcomes.push(Outcome { directive: step.number, label, kind });
        Ok(())
    }

    /// The number of particles of a `resample`.
    pub(crate) fn read_resample(
        &mut self,
        syntax: &Syntax,
        scope: &Scope,
        environment: &Environment,
    ) -> Result<usize, Diagnostic> {
        smidgen_infer::spec::read_resample(syntax, &mut self.reader(scope, environment))
    }

    /// Reads an inference program for this trace.
    pub fn read_program(
        &mut self,
        kernel: &Syntax,
        scope: &Scope,
        environment: &Environment,
    ) -> Result<Program, Diagnostic> {
        Program::read(kernel, &mut self.reader(scope, environment), environment)
    }

    fn reader<'r>(
        &'r mut self,
        scope: &'r Scope,
        environment: &'r Environment,
    ) -> KernelReader<'r> {
        KernelReader {
            catalog: self.desk.catalog,
            sources: self.desk.sources,
            scope,
            environment,
            model: self.model,
            rng: self.desk.rng,
            mode: self.desk.mode,
        }
    }
}

impl ExecutionContext<'_> {
    /// A loop that somebody wants to stop is undone like any directive that fails.
    fn check_interrupt(&self, span: Span) -> Result<(), Diagnostic> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(Diagnostic::error(span, "interrupted"));
        }
        Ok(())
    }

    /// Whether a cell that the step needs is missing here.
    fn leaves_out(
        &mut self,
        model: &mut Model,
        step: &Step,
        env: &Environment,
    ) -> Result<bool, Diagnostic> {
        missing::is_left_out(step, model, env, self.rng)
            .map_err(|error| in_directive(error.into_diagnostic(), step.span))
    }

    /// A step that is part of a transaction.
    fn inside(
        &mut self,
        model: &mut Model,
        step: &Step,
        env: &Environment,
        suffix: &str,
    ) -> Result<(), Diagnostic> {
        if self.leaves_out(model, step, env)? {
            return Ok(());
        }
        if let StepKind::Together(steps) = &step.kind {
            return steps.iter().try_for_each(|inner| self.inside(model, inner, env, suffix));
        }
        if let StepKind::For { bounds, body, rows: texts, only } = &step.kind {
            let rows = range_of(model, bounds, step.span, env, self.rng)?;
            if let Some(texts) = texts
                && self.observe_rows(model, step, (bounds, texts), rows.clone(), env, suffix)?
            {
                return Ok(());
            }
            let mut round = |i: i64| {
                self.check_interrupt(step.span)?;
                let inner = env.push([Operand::Constant(Value::Number(i as f64))]);
                self.round(model, body, inner, &format!("{suffix}[{}]", called(bounds, i)))
                    .map_err(|diagnostic| in_round(diagnostic, bounds, i, step.span))
            };
            return match only {
                Some(only) => only.iter().copied().try_for_each(round),
                None => rows.into_iter().try_for_each(&mut round),
            };
        }
        let label = step.label.as_ref().map(|label| format!("{label}{suffix}"));
        let shown = self
            .on_model(model, step, env, (label.clone(), suffix))
            .map_err(|error| in_directive(error.into_diagnostic(), step.span))?;
        if let Some(kind) = shown {
            self.outcomes.push(Outcome { directive: step.number, label, kind });
        }
        Ok(())
    }

    /// One round of a loop.
    fn round(
        &mut self,
        model: &mut Model,
        body: &[Arc<Step>],
        mut env: Environment,
        suffix: &str,
    ) -> Result<(), Diagnostic> {
        for step in body {
            match &step.kind {
                StepKind::Let { .. } => env = env.push([self.name(model, step, &env)?]),
                _ => self.inside(model, step, &env, suffix)?,
            }
        }
        Ok(())
    }

    fn name(
        &mut self,
        model: &mut Model,
        step: &Step,
        environment: &Environment,
    ) -> Result<Operand, Diagnostic> {
        let StepKind::Let { expr } = &step.kind else { unreachable!("only a let is a name") };
        // In a row that is left out nothing asks for the name.
        if self.leaves_out(model, step, environment)? {
            return Ok(Operand::Constant(Value::Nil));
        }
        model
            .name(Code { expr, environment }, self.rng)
            .map_err(|error| in_directive(error.into_diagnostic(), step.span))
    }

    /// A loop of observations alone, all rows at once. False if they have to be made one by one.
    fn observe_rows(
        &mut self,
        model: &mut Model,
        step: &Step,
        (bounds, texts): (&Bounds, &[Step]),
        rows: std::ops::Range<i64>,
        env: &Environment,
        suffix: &str,
    ) -> Result<bool, Diagnostic> {
        let lacks = texts.iter().any(|inner| !inner.absences.is_empty());
        let simulated = match &self.simulated {
            // Which rows are seen is known one by one.
            Some(_) if lacks => return Ok(false),
            Some(simulated) => match simulated.columns(texts.len(), &rows, step.span) {
                Some(outcomes) => Some(outcomes),
                None => return Ok(false),
            },
            None => None,
        };
        let mut observations = Vec::with_capacity(texts.len());
        let mut apart = Vec::new();
        for inner in texts {
            let StepKind::Observe { expr, value, .. } = &inner.kind else { return Ok(false) };
            let label = inner.label.as_ref().map(|label| format!("{label}{suffix}"));
            let outcome = match simulated.as_ref() {
                Some(outcomes) => &outcomes[observations.len()],
                None => value,
            };
            let found = missing::rows_of(inner, model, env, rows.clone(), self.rng)
                .map_err(|error| in_directive(error.into_diagnostic(), inner.span))?;
            apart.extend(found.apart.into_iter().map(|row| (row, inner)));
            let (rows, first) = (found.together, called(bounds, 0) as u32);
            observations.push(RowObservation { expr, outcome, label, rows, first });
        }
        let (first, all) = (model.next_number(), rows.clone());
        let taken = texts.len() * (rows.end - rows.start).max(0) as usize;
        let in_round = |diagnostic, row| in_round(diagnostic, bounds, row, step.span);
        let done = model.observe_rows(&observations, env, rows, self.rng).map_err(
            |RowError { row, error }| {
                let place = texts.first().map_or(step.span, |inner| inner.span);
                in_round(in_directive(error.into_diagnostic(), place), row)
            },
        )?;
        if !done {
            return Ok(false);
        }
        if let Some(simulated) = &mut self.simulated {
            simulated.skip(taken);
        }
        if let Some(noted) = &mut self.noted {
            for (inner, number) in texts.iter().zip(first..) {
                if let StepKind::Observe { name, .. } = &inner.kind {
                    noted.observation(inner.number, number, (&inner.label, name), suffix);
                }
            }
            let rows: Vec<_> = observations.iter().map(|o| o.rows.clone()).collect();
            note_data(noted, model, (texts, &rows), (bounds, &all), (env, suffix), self.rng)?;
        }
        apart.sort_by_key(|(row, _)| *row);
        for (row, inner) in apart {
            self.check_interrupt(step.span)?;
            let env = env.push([Operand::Constant(Value::Number(row as f64))]);
            self.inside(model, inner, &env, &format!("{suffix}[{}]", called(bounds, row)))
                .map_err(|diagnostic| in_round(diagnostic, row))?;
        }
        Ok(true)
    }

    fn on_model(
        &mut self,
        model: &mut Model,
        step: &Step,
        environment: &Environment,
        (label, suffix): (Option<String>, &str),
    ) -> Result<Option<OutcomeKind>, EvalError> {
        let code = |expr| Code { expr, environment };
        let rng = &mut *self.rng;
        Ok(match &step.kind {
            StepKind::Assume { name, expr } => {
                let value = model.assume(*name, code(expr), label, rng)?;
                let shown = OutcomeKind::Assume { name: name.to_string(), value };
                (!is_internal(*name)).then_some(shown)
            }
            StepKind::Observe { expr, value, name } => {
                let value = match &mut self.simulated {
                    Some(simulated) => simulated.next(),
                    None => model.constant(code(value), rng)?,
                };
                let number = model.next_number();
                if let Some(noted) = self.noted.as_mut().filter(|noted| noted.wants_data()) {
                    noted.datum((&step.label, name), suffix, value.clone());
                }
                model.observe(code(expr), value, label.clone(), rng)?;
                if let Some(noted) = &mut self.noted {
                    noted.observation(step.number, number, (&step.label, name), suffix);
                }
                None
            }
            StepKind::Predict { expr, text, is_observed: false }
                if self.may_wait && suffix.is_empty() =>
            {
                let name = label.clone().unwrap_or_else(|| text.clone());
                let (number, root, value) = match model.predict_later(code(expr), label, rng)? {
                    Prediction::Kept(Predicted { number, root, value }) => (number, root, value),
                    Prediction::Waits { number, value } => {
                        self.waiting.push((number, expr.clone()));
                        (number, Operand::Constant(Value::Nil), value)
                    }
                };
                self.predicted.push((name, number, root));
                Some(OutcomeKind::Predict(value))
            }
            StepKind::Predict { expr, text, is_observed } => {
                let name = label.clone().unwrap_or_else(|| format!("{text}{suffix}"));
                let predicted = model.predict(code(expr), label, rng)?;
                if let Some(noted) = self.noted.as_mut().filter(|_| *is_observed) {
                    noted.observation(
                        step.number,
                        predicted.number,
                        (&None, &Some(name.clone())),
                        "",
                    );
                    noted.values.push(predicted.value.clone());
                }
                self.predicted.push((name, predicted.number, predicted.root));
                Some(OutcomeKind::Predict(predicted.value))
            }
            StepKind::Sample { .. } | StepKind::Report { .. } if self.mode == Mode::Sample => None,
            StepKind::Force { .. } | StepKind::LogJoint | StepKind::LogLikelihood
                if self.replays =>
            {
                None
            }
            StepKind::Sample { expr } => Some(OutcomeKind::Sample(model.sample(code(expr), rng)?)),
            StepKind::Force { expr, value } => {
                let value = model.constant(code(value), rng)?;
                Some(OutcomeKind::Force(model.force(code(expr), &value, rng)?))
            }
            StepKind::Report { label } => Some(OutcomeKind::Report(model.report(label)?)),
            StepKind::Forget { label } => {
                model.forget(label)?;
                None
            }
            StepKind::Freeze { label } => {
                model.freeze(label)?;
                None
            }
            StepKind::LogJoint => Some(OutcomeKind::LogJoint(model.log_joint()?)),
            StepKind::LogLikelihood => Some(OutcomeKind::LogLikelihood(model.log_likelihood()?)),
            StepKind::Let { .. }
            | StepKind::Infer { .. }
            | StepKind::For { .. }
            | StepKind::Together(_)
            | StepKind::Clear => {
                unreachable!("handled before")
            }
        })
    }
}

/// The data of a loop that was observed at once.
fn note_data(
    noted: &mut Noted,
    model: &mut Model,
    (texts, rows): (&[Step], &[Option<Vec<u32>>]),
    (bounds, all): (&Bounds, &std::ops::Range<i64>),
    (env, suffix): (&Environment, &str),
    rng: &mut Rng,
) -> Result<(), Diagnostic> {
    for (inner, rows) in texts.iter().zip(rows) {
        let StepKind::Observe { value, name, .. } = &inner.kind else { continue };
        let rows: Box<dyn Iterator<Item = i64>> = match rows {
            Some(rows) => Box::new(rows.iter().map(|row| i64::from(*row))),
            None => Box::new(all.clone()),
        };
        for row in rows {
            if !noted.wants_data() {
                break;
            }
            let environment = &env.push([Operand::Constant(Value::Number(row as f64))]);
            let datum = model.constant(Code { expr: value, environment }, rng);
            let datum = datum.map_err(|error| in_directive(error.into_diagnostic(), inner.span))?;
            let suffix = format!("{suffix}[{}]", called(bounds, row));
            noted.datum((&inner.label, name), &suffix, datum);
        }
    }
    Ok(())
}

pub(crate) fn infers(step: &Step) -> bool {
    match &step.kind {
        StepKind::Infer { .. } => true,
        StepKind::For { body, .. } => body.iter().any(|inner| infers(inner)),
        _ => false,
    }
}

pub(crate) fn in_directive(mut diagnostic: Diagnostic, span: Span) -> Diagnostic {
    match diagnostic.span {
        None => diagnostic.span = Some(span),
        Some(_) => diagnostic.path.insert(0, ("in this directive".to_owned(), span)),
    }
    diagnostic
}

/// What a round of a loop is called: rows that come after others are counted on.
fn called(bounds: &Bounds, i: i64) -> i64 {
    match bounds {
        Bounds::Rows(table) => table.first_row() as i64 + i,
        Bounds::Range { .. } => i,
    }
}

/// Which round of a loop a mistake is in.
fn in_round(mut diagnostic: Diagnostic, bounds: &Bounds, i: i64, span: Span) -> Diagnostic {
    let row = called(bounds, i);
    let round = match bounds {
        Bounds::Rows(_) => format!("in row {row} of the table, counted from 0"),
        Bounds::Range { .. } => format!("in the round for {row}"),
    };
    diagnostic.path.insert(0, (round, span));
    diagnostic
}

/// A loop of more rounds than this is taken for a slip.
const MOST_ROUNDS: i64 = 100_000_000;

pub(crate) fn range_of(
    model: &mut Model,
    bounds: &Bounds,
    span: Span,
    environment: &Environment,
    rng: &mut Rng,
) -> Result<std::ops::Range<i64>, Diagnostic> {
    let mut end = |expr: &ExprRef| {
        let value = model
            .constant(Code { expr, environment }, rng)
            .map_err(|error| in_directive(error.into_diagnostic(), span))?;
        value.as_integer().ok_or_else(|| {
            let message =
                format!("expected a whole number, found {} {}", value.type_name(), value.brief());
            Diagnostic::error(expr.span, message)
        })
    };
    match bounds {
        Bounds::Rows(table) => Ok(0..table.rows() as i64),
        Bounds::Range { low, high } => {
            let range = end(low)?..end(high)?;
            if range.end.saturating_sub(range.start) > MOST_ROUNDS {
                let message = format!("a for of more than {MOST_ROUNDS} rounds is too long");
                return Err(Diagnostic::error(high.span, message));
            }
            Ok(range)
        }
    }
}
