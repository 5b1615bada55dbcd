//! Predictions: the program run forward, its observations drawn instead of constrained.
//!
//! From the posterior, with the states of draws: every choice that a state has takes its value from there, what
//! it lacks (the row's own choices, a group that was never seen) is drawn given the rest. From the prior, without
//! states. Predictions are named as the observations are: `y[17]`, by label or column, and row.

use std::sync::atomic::Ordering;

use smidgen_draws::{self as draws, Draws, States};
use smidgen_io::Progress;
use smidgen_lang::Diagnostic;
use smidgen_lang::core::ExprRef;
use smidgen_value::{Rng, State, Value};

use crate::compile::Observations;
use crate::load::TopDirective;
use crate::replay::{Replay, Replayed, compile, diagnosed, each_chain, spread};
use crate::sampling::SampleError;
use crate::sampling::watch::Watch;
use crate::session::Session;

#[derive(Clone, Debug)]
pub struct PredictRequest {
    pub seed: u64,
    /// At most so many draws, spread evenly over those that there are.
    pub draws: Option<usize>,
    /// Further expressions, evaluated in each draw.
    pub record: Vec<String>,
    pub threads: usize,
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
) -> Result<draws::Run, SampleError> {
    let wanted = spread(states, request.draws);
    let total: usize = wanted.iter().map(Vec::len).sum();
    progress.total.store(total as u64, Ordering::Relaxed);
    let stage = Stage::new(session, program, request)?;
    let chains = each_chain(wanted.len(), request.threads, |k| {
        let mut rng = Rng::for_chain(request.seed, PREDICTING + k as u64);
        let mut draws: Option<Draws> = None;
        for (_, state) in &wanted[k] {
            stage.check_interrupt()?;
            let mut replayed = stage.replay.run(state, Some(&states.steps), &mut rng)?;
            let watch = stage.watch(&replayed, false);
            stage.record(&mut draws, &watch, &mut replayed, (total, &mut rng))?;
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(draws.unwrap_or_default())
    })?;
    Ok(stage.finish(chains, request, program))
}

/// Draws from the prior, observations included. Without `predict` and `record` of its own the program's assumed
/// numbers are recorded as well.
pub fn prior(
    session: &mut Session,
    program: &[TopDirective],
    (chains, draws_each): (usize, usize),
    request: &PredictRequest,
    progress: &Progress,
) -> Result<draws::Run, SampleError> {
    let total = chains * draws_each;
    progress.total.store(total as u64, Ordering::Relaxed);
    let stage = Stage::new(session, program, request)?;
    let chains = each_chain(chains, request.threads, |k| {
        let mut rng = Rng::for_chain(request.seed, PREDICTING + k as u64);
        let mut draws: Option<Draws> = None;
        for _ in 0..draws_each {
            stage.check_interrupt()?;
            let mut replayed = stage.replay.run(&State::default(), None, &mut rng)?;
            if let Some((name, span)) = replayed.model.improper_choice() {
                let message = format!("{name} is improper: there is no prior to draw from");
                return Err(Diagnostic::error(span, message).hint("give it a proper prior"));
            }
            let watch = stage.watch(&replayed, true);
            stage.record(&mut draws, &watch, &mut replayed, (total, &mut rng))?;
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(draws.unwrap_or_default())
    })?;
    Ok(stage.finish(chains, request, program))
}

/// What all chains share.
struct Stage<'a> {
    replay: Replay<'a>,
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
        let steps = compile(session, program, Observations::Predict, &[])?;
        let mut record = Vec::new();
        for text in &request.record {
            record.push((text.clone(), session.lower_option("--record", text)?));
        }
        let predicts = program.iter().any(|top| crate::compile::predicts(&top.directive));
        let (catalog, sources) = (&session.catalog, &session.sources);
        let replay = Replay { steps, catalog, sources, interrupt: session.interrupt.clone() };
        Ok(Stage { replay, record, predicts })
    }

    fn check_interrupt(&self) -> Result<(), Diagnostic> {
        match self.replay.is_interrupted() {
            true => Err(Diagnostic::error(None, "interrupted")),
            false => Ok(()),
        }
    }

    fn watch(&self, replayed: &Replayed, with_assumed: bool) -> Vec<Watch> {
        let Replayed { model, predicted, .. } = replayed;
        let mut watch = Vec::new();
        if with_assumed && !self.predicts && self.record.is_empty() {
            let assumed = model.assumed_changeable().into_iter();
            watch.extend(assumed.map(|(name, root)| Watch::Operand(name.to_string(), root)));
        }
        let predicted = predicted.iter().filter(|(_, number, _)| model.has_record(*number));
        watch.extend(predicted.map(|(name, _, root)| Watch::Operand(name.clone(), root.clone())));
        let record = self.record.iter().cloned();
        watch.extend(record.map(|(name, expr)| Watch::Expression(name, expr)));
        watch
    }

    fn record(
        &self,
        draws: &mut Option<Draws>,
        watch: &[Watch],
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
        let mut values = Vec::new();
        Watch::values(watch, &mut replayed.model, rng, &mut values).map_err(diagnosed)?;
        let names = watch.iter().map(|watched| watched.name().to_owned());
        let draws = draws.get_or_insert_with(|| Draws::new(names, 1));
        if draws.quantities().len() != values.len() {
            let message = "what is recorded is not the same in every draw";
            return Err(Diagnostic::error(None, message).hint("say what to record with --record"));
        }
        draws.push(0, values.iter().map(plain));
        Ok(())
    }

    fn finish(
        &self,
        mut chains: Vec<Draws>,
        request: &PredictRequest,
        program: &[TopDirective],
    ) -> draws::Run {
        chains.retain(|draws| !draws.quantities().is_empty());
        // A procedure is nothing that a draw could hold.
        let is_kept = |value: &Value| value.as_procedure().is_none();
        let kept = |draws: &Draws| {
            let mut kept = Draws::default();
            let quantities = draws.quantities().iter();
            quantities.filter(|q| q.values().all(is_kept)).for_each(|q| kept.add(q.clone()));
            kept
        };
        let chains: Vec<Draws> = chains.iter().map(kept).collect();
        let text = program.first().map_or_else(String::new, |top| {
            self.replay.sources.get(top.directive.span.source).text.to_string()
        });
        draws::Run {
            seed: request.seed,
            chains: chains.len(),
            draws: Draws::join(chains),
            program: text,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..draws::Run::default()
        }
    }
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Linked(..) => value.as_number().map_or_else(|| value.clone(), Value::Number),
        other => other.clone(),
    }
}
