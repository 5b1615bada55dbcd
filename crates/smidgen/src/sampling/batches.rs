//! Particles that take the rows of a table as they come (iterated batch importance sampling, Chopin 2002).
//!
//! N models are drawn from the prior. A batch of rows multiplies their weights by its likelihood; where the effective sample
//! size ESS = (Σ w)² / Σ w² of the weights would fall below N/2, the particles are first drawn anew by their weights and moved by the
//! kernel, which leaves the posterior of the rows so far as it is. A batch that is too much even then is taken in halves. So from
//! one epoch to the next nothing is warmed up, a batch costs what its rows cost N times, and
//!
//! log p(y_1, ..., y_n) ≈ Σ_s log( (1/N) Σ_i w_s^i )
//!
//! over the times s at which particles were drawn anew, and now. If a single row takes the ESS below N/10, the particles say so:
//! then chains are the better answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smidgen_draws::KeepStates;
use smidgen_engine::{EvalError, Model};
use smidgen_infer::run::{Phase, Shared};
use smidgen_infer::{Program, Run};
use smidgen_lang::Diagnostic;
use smidgen_value::bytes::Input;
use smidgen_value::{Rng, Symbol, Table, math};

use super::diary::Diary;
use super::follow::conductor::anew;
use super::follow::{prepare_to_grow, sums_of};
use super::{
    Chain, EpochMark, Follow, Plan, Progress, RECORDING, SampleError, SampleRequest, Sampled,
};
use crate::append::{self, Growth};
use crate::catalog::Catalog;
use crate::execute::{ExecutionContext, Executor, Mode, infers};
use crate::load::TopDirective;
use crate::population::{Context, ParticlePopulation};
use crate::session::Session;
use crate::stopwatch::Stopwatch;

/// Applications of the kernel to every particle that was drawn anew, for each `thin`.
const MOVES: usize = 5;
/// Transitions in which the kernels learn what they use for all particles.
const LEARNING: usize = 200;
/// Particles are drawn anew before the ESS of their weights is less than this share of them, and are not enough below the second.
const ENOUGH: f64 = 0.5;
const TOO_FEW: f64 = 0.1;

/// Runs particles through the rows of a table, and goes on with every change of it. `ready` looks at the session once the table is read.
pub fn absorb(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    particles: usize,
    ready: impl FnOnce(&Session),
    follow: Follow<'_>,
) -> Result<(), SampleError> {
    let name = Symbol::new(follow.table);
    let prepared = prepare_to_grow(session, program, request, name)?;
    let request = &SampleRequest {
        chains: 1,
        draws: particles,
        warmup: 0,
        keep_states: KeepStates::No,
        ..request.clone()
    };
    ready(session);
    let progress = &Progress::default();
    let Session { catalog, sources, interrupt, .. } = &*session;
    let context = Context { catalog, sources, interrupt };
    let plan = Plan { is_followed: true, ..prepared.plan(context, request, progress) };
    let mut crowd = Crowd {
        stage: ParticlePopulation::new(Rng::for_chain(request.seed, 0), interrupt),
        aside: Rng::for_chain(request.seed, RECORDING),
        plan: &plan,
        program,
        name,
        catalog: catalog.clone(),
        size: particles,
        renewed: 0,
        least: 1.0,
    };
    crowd.run(follow)
}

struct Crowd<'c, 'p> {
    stage: ParticlePopulation,
    /// For what is recorded, and for what kernels learn.
    aside: Rng,
    plan: &'c Plan<'p>,
    program: &'c [TopDirective],
    name: Symbol,
    catalog: Catalog,
    size: usize,
    /// How often particles were drawn anew in this epoch, and the least share of them that their weights were worth.
    renewed: usize,
    least: f64,
}

/// The share of particles that weights are worth.
fn share(log_weights: &[f64]) -> f64 {
    let sum = math::logsumexp(log_weights);
    if sum == f64::NEG_INFINITY {
        return 0.0;
    }
    let squares: f64 = log_weights.iter().map(|weight| math::exp(2.0 * (weight - sum))).sum();
    1.0 / (squares * log_weights.len() as f64)
}

impl Crowd<'_, '_> {
    fn run(&mut self, follow: Follow<'_>) -> Result<(), SampleError> {
        let rows = self.catalog.last_part(self.name).cloned().unwrap_or_default();
        let sums = sums_of(self.name, &rows);
        let (first, n) = (rows.first_row(), rows.rows());
        let mut mark = EpochMark { number: 0, first, rows: n, new: n, upto: 0, sums };
        self.begin(&rows)?;
        let mut new = rows.span(1..rows.rows());
        loop {
            (follow.opened)(&mark)?;
            let begun = Stopwatch::start();
            (self.renewed, self.least) = (0, 1.0);
            self.take(&new)?;
            if self.plan.is_stopped() {
                // Some of the rows are in no particle yet.
                return Ok(());
            }
            let sampled = self.draws(&begun, &mark)?;
            (follow.done)(&mark, sampled)?;
            if self.plan.is_stopped() {
                return Ok(());
            }
            let Some(arrived) = (follow.rows)(None)? else { return Ok(()) };
            new = arrived.rows;
            mark = EpochMark {
                number: mark.number + 1,
                rows: mark.rows + new.rows(),
                new: new.rows(),
                upto: arrived.upto,
                sums: sums_of(self.name, &new),
                ..mark
            };
        }
    }

    /// The program with the first row alone.
    fn begin(&mut self, rows: &Table) -> Result<(), SampleError> {
        self.catalog.replace(self.name, rows.span(0..1));
        let steps = anew(self.plan, &mut self.catalog, self.program, self.name)?;
        let Crowd { stage, plan, catalog, .. } = self;
        let context = context(plan, catalog);
        for step in steps.iter().filter(|step| !infers(step)) {
            stage.execute(step, &context)?;
        }
        Ok(stage.populate(self.size, &context)?)
    }

    /// Rows, in batches as large as the weights allow.
    fn take(&mut self, rows: &Table) -> Result<(), SampleError> {
        let (mut at, mut batch) = (0, rows.rows());
        while at < rows.rows() && !self.plan.is_stopped() {
            let most = batch.min(rows.rows() - at);
            let is_fresh = self.is_fresh();
            // One row is taken whatever it does to particles that are as good as they can be.
            let these = counted_anew(&rows.span(at..at + most));
            let is_kept = self.observe(&these, most == 1 && is_fresh)?;
            match is_kept {
                true => {
                    at += most;
                    batch = most.saturating_mul(2);
                }
                false if is_fresh => batch = most.div_ceil(2),
                false => self.renew()?,
            }
        }
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        let log_weights = self.stage.log_weights();
        log_weights.iter().all(|weight| *weight == log_weights[0])
    }

    /// A batch of rows in every particle, if enough of them are left or it must be.
    fn observe(&mut self, rows: &Table, must: bool) -> Result<bool, SampleError> {
        let Crowd { stage, plan, catalog, program, name, least, .. } = self;
        let growth = append::plan(catalog, plan.sources, program, *name, rows);
        let Growth { part, step, catalog: grown, .. } = growth.map_err(SampleError)?;
        let Some(step) = step else { return Ok(true) };
        let mut worth = 0.0;
        let keeps = |log_weights: &[f64]| {
            worth = share(log_weights);
            worth >= ENOUGH || must
        };
        let is_kept = stage.observe_if(&step, &context(plan, &grown), keeps)?;
        if is_kept {
            *least = least.min(worth);
            catalog.grow(*name, part, grown);
        }
        if is_kept && worth == 0.0 {
            let message =
                "all particles have weight 0: none of them could have produced the rows so far";
            return Err(Diagnostic::error(step.span, message)
                .hint("use more particles, or chains")
                .into());
        }
        Ok(is_kept)
    }

    /// The particles drawn anew, and moved.
    fn renew(&mut self) -> Result<(), SampleError> {
        let Crowd { stage, plan, catalog, renewed, aside, .. } = self;
        stage.renew();
        *renewed += 1;
        let shared: Arc<Shared> = Arc::default();
        let learnt = learn(plan, catalog, &mut stage.copy_of_one(), aside, &shared)?;
        for (model, rng, _) in stage.each() {
            let mut program = read(plan, catalog, model, rng)?;
            let from = &mut Input::new(&learnt);
            let is_learnt = program.load(from).is_some() && from.is_empty();
            if !is_learnt {
                program = read(plan, catalog, model, rng)?;
            }
            let mut run = Run { phase: Phase::Draws, ..plan.run(shared.clone()) };
            for _ in 0..MOVES * plan.request.thin {
                let moved = program.execute(model, rng, &mut run);
                moved.map_err(EvalError::into_diagnostic)?;
            }
        }
        Ok(())
    }

    /// What the particles say of an epoch, each with the same weight.
    fn draws(&mut self, begun: &Stopwatch, mark: &EpochMark) -> Result<Sampled, SampleError> {
        let log_evidence = self.stage.log_evidence();
        if !self.is_fresh() && !self.plan.is_stopped() {
            self.renew()?;
        }
        let Crowd { stage, aside, plan, renewed, least, size, .. } = self;
        let mut diary: Option<Diary> = None;
        for (model, _, predicted) in stage.each() {
            let watch =
                plan.watch(model, predicted.clone(), &[]).map_err(EvalError::into_diagnostic)?;
            let diary = diary.get_or_insert_with(|| Diary::new(&watch, plan.request));
            let drawn = diary.draw(model, &watch, &mut Run::default(), aside);
            drawn.map_err(EvalError::into_diagnostic)?;
        }
        let mut warnings = Vec::new();
        if *least < TOO_FEW {
            let (worth, epoch) = (*least * *size as f64, mark.number);
            warnings.push(format!(
                "in epoch {epoch} the weights of {size} particles were worth {worth:.1}, after a single row: do not trust what they say, use more of them, or chains (without --particles)"
            ));
        }
        plan.progress.done.fetch_add(1, Ordering::Relaxed);
        let chain = Chain {
            number: 0,
            made: *size,
            diary: diary.unwrap_or_else(|| Diary::new(&[], plan.request)),
            marks: Vec::new(),
            kernels: Vec::new(),
            records: Vec::new(),
            warnings,
            seconds: begun.seconds(),
            times: Vec::new(),
            complete: !plan.is_stopped(),
            ties: Vec::new(),
            diverged: Vec::new(),
        };
        let mut sampled = plan.assemble(vec![chain], self.program)?;
        sampled.notes.push(format!(
            "log evidence {log_evidence:.4}, by {size} particles; drawn anew {renewed} times in this epoch, worth at least {:.0} of them in between",
            *least * *size as f64
        ));
        sampled.log_evidence = Some(log_evidence);
        Ok(sampled)
    }
}

/// Rows as those that come next, whatever their numbers were.
fn counted_anew(rows: &Table) -> Table {
    let column = |name: &Symbol| Some((*name, rows.column(*name)?.clone()));
    let columns = rows.names().iter().filter_map(column).collect();
    rows.with_columns(columns).with_missing(rows.with_holes().to_vec())
}

/// What moves a particle.
fn read(
    plan: &Plan<'_>,
    catalog: &Catalog,
    model: &mut Model,
    rng: &mut Rng,
) -> Result<Program, Diagnostic> {
    let interrupt = plan.interrupt.clone();
    let desk = ExecutionContext::new(rng, catalog, plan.sources, interrupt, Mode::Sample);
    plan.read_again(&mut Executor { model, desk })
}

/// What kernels learn on a copy of one particle, for all of them. Were each to learn where it stands, its first moves would hang on that, and
/// would not leave the posterior as it is. Nothing if it cannot be written: then kernels move as they are.
fn learn(
    plan: &Plan<'_>,
    catalog: &Catalog,
    model: &mut Model,
    rng: &mut Rng,
    shared: &Arc<Shared>,
) -> Result<Vec<u8>, Diagnostic> {
    let mut program = read(plan, catalog, model, rng)?;
    let mut run = Run { phase: Phase::Warmup, ..plan.run(shared.clone()) };
    let planned = |n: Option<u64>| n.map(|n| n.saturating_mul(LEARNING as u64));
    run.planned = program.transitions().into_iter().map(planned).collect();
    for _ in 0..LEARNING {
        program.execute(model, rng, &mut run).map_err(EvalError::into_diagnostic)?;
    }
    run.begin_draws();
    let mut learnt = Vec::new();
    match program.save(&mut learnt) {
        Ok(()) => Ok(learnt),
        Err(_) => Ok(Vec::new()),
    }
}

fn context<'a>(plan: &'a Plan<'_>, catalog: &'a Catalog) -> Context<'a> {
    Context { catalog, sources: plan.sources, interrupt: &plan.interrupt }
}
