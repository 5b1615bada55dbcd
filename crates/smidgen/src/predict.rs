//! Predictions: the program run forward, its observations drawn instead of constrained.
//!
//! From the posterior, with the states of draws: every choice that a state has takes its value from there, what
//! it lacks (the row's own choices, a group that was never seen) is drawn given the rest. From the prior, without
//! states. Predictions are named as the observations are: `y[17]`, by label or column, and row.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use smidgen_draws::{self as draws, Draws, States};
use smidgen_io::Progress;
use smidgen_lang::Diagnostic;
use smidgen_lang::core::ExprRef;
use smidgen_value::{Rng, State, Value};

use crate::compile::{Observations, OnlyRows};
use crate::load::TopDirective;
use crate::replay::{Replayed, diagnosed, each_chain, spread};
use crate::sampling::SampleError;
use crate::sampling::watch::Watch;
use crate::selection::{Selection, Steps, outermost_round};
use crate::session::Session;

#[derive(Clone, Debug)]
pub struct PredictRequest {
    pub seed: u64,
    /// At most so many draws, spread evenly over those that there are.
    pub draws: Option<usize>,
    /// Further expressions, evaluated in each draw.
    pub record: Vec<String>,
    pub threads: usize,
    /// Of these tables some rows only; of others all.
    pub rows: OnlyRows,
}

/// Predictions, and what they belong to.
#[derive(Clone, Debug, Default)]
pub struct Predicted {
    pub run: draws::Run,
    /// Which quantities stand for observations; the others are what is recorded.
    pub is_observed: Vec<bool>,
    /// The draws of each chain that they were made from.
    pub draws: Vec<Vec<usize>>,
}

/// Numbers of the streams that predictions are drawn from: beyond those of all chains.
const PREDICTING: u64 = 1 << 34;

/// Numbers that are predicted at most.
const MOST: usize = 100_000_000;

/// Predictions with the states of draws: for the rows that were observed, or for others in their tables.
pub fn predict(
    session: &mut Session,
    program: &[TopDirective],
    states: &States,
    request: &PredictRequest,
    progress: &Progress,
) -> Result<Predicted, SampleError> {
    let wanted = spread(states, request.draws);
    let total: usize = wanted.iter().map(Vec::len).sum();
    progress.total.store(total as u64, Ordering::Relaxed);
    let stage = Stage::new(session, program, request)?;
    let chains = each_chain(wanted.len(), request.threads, |k| {
        let mut rng = Rng::for_chain(request.seed, PREDICTING + k as u64);
        let (mut drawn, mut all) = (None, false);
        for (_, state) in &wanted[k] {
            stage.check_interrupt()?;
            let mut replayed = stage.selection.run(state, Some(states), &mut all, &mut rng)?;
            let watch = stage.watch(&replayed, false);
            stage.record(&mut drawn, watch, &mut replayed, (total, &mut rng))?;
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(drawn.unwrap_or_default())
    })?;
    let draws = wanted.iter().map(|chain| chain.iter().map(|(draw, _)| *draw).collect()).collect();
    Ok(Predicted { draws, ..stage.finish(chains, request, program) })
}

/// Draws from the prior, observations included. Without `predict` and `record` of its own the program's assumed
/// numbers are recorded as well.
pub fn prior(
    session: &mut Session,
    program: &[TopDirective],
    (chains, draws_each): (usize, usize),
    request: &PredictRequest,
    progress: &Progress,
) -> Result<Predicted, SampleError> {
    let total = chains * draws_each;
    progress.total.store(total as u64, Ordering::Relaxed);
    let stage = Stage::new(session, program, request)?;
    let drawn = each_chain(chains, request.threads, |k| {
        let mut rng = Rng::for_chain(request.seed, PREDICTING + k as u64);
        let mut drawn = None;
        for _ in 0..draws_each {
            stage.check_interrupt()?;
            let state = State::default();
            let mut replayed = stage.selection.run(&state, None, &mut false, &mut rng)?;
            if let Some((name, span)) = replayed.model.improper_choice() {
                let message = format!("{name} is improper: there is no prior to draw from");
                return Err(Diagnostic::error(span, message).hint("give it a proper prior"));
            }
            let watch = stage.watch(&replayed, true);
            stage.record(&mut drawn, watch, &mut replayed, (total, &mut rng))?;
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(drawn.unwrap_or_default())
    })?;
    let draws = vec![(0..draws_each).collect(); chains];
    Ok(Predicted { draws, ..stage.finish(drawn, request, program) })
}

/// What a chain has predicted, and which of it stands for observations.
type Drawn = (Draws, Vec<bool>);

/// What all chains share.
struct Stage<'a> {
    selection: Selection<'a>,
    record: Vec<(String, ExprRef)>,
    /// Whether the program says what to record.
    predicts: bool,
}

impl<'a> Stage<'a> {
    fn new(
        session: &'a mut Session,
        program: &[TopDirective],
        request: &PredictRequest,
    ) -> Result<Stage<'a>, SampleError> {
        let steps = Steps::new(session, program, Observations::Predict, &request.rows)?;
        let mut record = Vec::new();
        for text in &request.record {
            record.push((text.clone(), session.lower_option("--record", text)?));
        }
        let predicts = program.iter().any(|top| crate::compile::predicts(&top.directive));
        Ok(Stage { selection: Selection::new(session, steps), record, predicts })
    }

    fn check_interrupt(&self) -> Result<(), Diagnostic> {
        match self.selection.replay().is_interrupted() {
            true => Err(Diagnostic::error(None, "interrupted")),
            false => Ok(()),
        }
    }

    /// What is recorded of a run, and whether it stands for an observation.
    fn watch(&self, replayed: &Replayed, with_assumed: bool) -> Vec<(Watch, bool)> {
        let Replayed { model, predicted, noted, .. } = replayed;
        let mut watch = Vec::new();
        if with_assumed && !self.predicts && self.record.is_empty() {
            let assumed = model.assumed_changeable().into_iter();
            watch.extend(assumed.map(|(name, root)| Watch::Operand(name.to_string(), root)));
        }
        let mut watch: Vec<(Watch, bool)> = watch.into_iter().map(|w| (w, false)).collect();
        let observed: HashMap<u64, usize> =
            noted.observations.iter().map(|o| (o.number, o.directive)).collect();
        for (name, number, root) in predicted.iter().filter(|(_, n, _)| model.has_record(*n)) {
            let directive = observed.get(number);
            let round = || outermost_round(name);
            if directive.is_none_or(|directive| self.selection.wants(*directive, round())) {
                watch.push((Watch::Operand(name.clone(), root.clone()), directive.is_some()));
            }
        }
        let record = self.record.iter().cloned();
        watch.extend(record.map(|(name, expr)| (Watch::Expression(name, expr), false)));
        watch
    }

    fn record(
        &self,
        drawn: &mut Option<Drawn>,
        watch: Vec<(Watch, bool)>,
        replayed: &mut Replayed,
        (total, rng): (usize, &mut Rng),
    ) -> Result<(), Diagnostic> {
        if watch.len().saturating_mul(total) > MOST {
            let (n, each) = (watch.len(), MOST / watch.len().max(1));
            let message =
                format!("{n} predictions in each of {total} draws are more than {MOST} numbers");
            let hint = format!("take fewer draws (--draws {each}) or fewer rows");
            return Err(Diagnostic::error(None, message).hint(hint));
        }
        let (watch, is_observed): (Vec<Watch>, Vec<bool>) = watch.into_iter().unzip();
        let mut values = Vec::new();
        Watch::values(&watch, &mut replayed.model, rng, &mut values).map_err(diagnosed)?;
        let names = watch.iter().map(|watched| watched.name().to_owned());
        let (draws, known) =
            drawn.get_or_insert_with(|| (Draws::new(names, 1), is_observed.clone()));
        if *known != is_observed {
            let message = "what is recorded is not the same in every draw";
            return Err(Diagnostic::error(None, message).hint("say what to record with --record"));
        }
        draws.push(0, values.iter().map(plain));
        Ok(())
    }

    fn finish(
        &self,
        mut chains: Vec<Drawn>,
        request: &PredictRequest,
        program: &[TopDirective],
    ) -> Predicted {
        chains.retain(|(draws, _)| !draws.quantities().is_empty());
        let is_observed =
            chains.first().map_or_else(Vec::new, |(_, is_observed)| is_observed.clone());
        // A procedure is nothing that a draw could hold.
        let joined = Draws::join(chains.into_iter().map(|(draws, _)| draws));
        let is_kept = |value: &Value| value.as_procedure().is_none();
        let (mut kept, mut known) = (Draws::default(), Vec::new());
        for (quantity, is_observed) in joined.quantities().iter().zip(is_observed) {
            if quantity.values().all(is_kept) {
                kept.add(quantity.clone());
                known.push(is_observed);
            }
        }
        let sources = self.selection.replay().sources;
        let text = program.first().map_or_else(String::new, |top| {
            sources.get(top.directive.span.source).text.to_string()
        });
        let run = draws::Run {
            seed: request.seed,
            chains: kept.quantities().first().map_or(0, |quantity| quantity.chains.len()),
            draws: kept,
            program: text,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..draws::Run::default()
        };
        Predicted { run, is_observed: known, draws: Vec::new() }
    }
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Linked(..) => value.as_number().map_or_else(|| value.clone(), Value::Number),
        other => other.clone(),
    }
}
