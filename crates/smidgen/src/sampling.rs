//! Several independent chains of a program.
//!
//! Every chain executes the directives on a trace of its own, with its own random stream, so the
//! draws do not depend on the number of threads. One draw is one application of the kernel.

mod assemble;
mod batches;
mod diary;
mod durable;
mod follow;
mod init;
mod journey;
pub mod legs;
mod live;
pub mod manifest;
pub mod sharded;
mod stand;
pub(crate) mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use smidgen_draws::states::StepMark;
use smidgen_draws::{self as draws, KeepStates, States};
use smidgen_engine::EvalError;
use smidgen_infer::run::Shared;
use smidgen_infer::{KernelRecord, Run};
use smidgen_io::folder::{Row, Trouble};
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{self, Scope};
use smidgen_lang::syntax::Syntax;
use smidgen_lang::{Diagnostic, SourceMap, parser};
use smidgen_value::{Rng, Value};

use crate::catalog::Catalog;
use crate::compile::{Compiler, Step, visit_syntax};
use crate::impute::{all_imputed, cell_by_name};
use crate::load::TopDirective;
use crate::outcome::{Inferred, OutcomeKind};
use crate::population::{Context, ParticlePopulation, makes_particles};
use crate::session::Session;
use crate::stopwatch::Stopwatch;
pub use batches::absorb;
use diary::Diary;
use durable::Saved;
pub use durable::{Durable, last_states};
use follow::Epoch;
pub use follow::{Arrived, EpochMark, Follow, follow};
pub use init::Init;
use init::Start;
use journey::Journey;
pub use live::{ChainPhase, ChainProgress, Live};
use stand::Stand;
use watch::Watch;

#[derive(Clone, Debug)]
pub struct SampleRequest {
    /// Instead of the program's own `infer` directives.
    pub kernel: Option<String>,
    pub draws: usize,
    pub warmup: usize,
    pub thin: usize,
    pub chains: usize,
    pub seed: u64,
    /// Expressions evaluated after each draw.
    pub record: Vec<String>,
    pub threads: usize,
    /// Make every decision exactly, whatever the kernels say.
    pub exact: bool,
    /// Whether the default kernel may read less than everything.
    pub approximate: bool,
    /// Keep what a comparison needs to know about every decision.
    pub detailed: bool,
    /// The share of approximate decisions that is audited, instead of what the kernels say.
    pub audit: Option<f64>,
    /// Note the time of every draw, and stop a chain after so many processor seconds, warm-up
    /// included. What a chain has by then is a complete run.
    pub budget: Option<f64>,
    /// Where the chains publish how far they are, and their draws, while they run.
    pub live: Option<Arc<Live>>,
    /// Keep [`draws::STATISTICS`] of every draw.
    pub stats: bool,
    /// With the log joint density among them, for which everything that moved is read; else it is not a number.
    pub stats_density: bool,
    /// Keep the draws of the warm-up.
    pub keep_warmup: bool,
    /// Keep states of the program, for predictions and log likelihoods.
    pub keep_states: KeepStates,
    /// Where the chains begin.
    pub init: Option<Arc<Init>>,
    /// Where the chains write their draws and checkpoints while they run.
    pub durable: Option<Durable>,
}

impl Default for SampleRequest {
    fn default() -> SampleRequest {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        SampleRequest {
            kernel: None,
            draws: 1000,
            warmup: 1000,
            thin: 1,
            chains: 4,
            seed: 0,
            record: Vec::new(),
            threads,
            exact: false,
            approximate: false,
            detailed: false,
            audit: None,
            budget: None,
            live: None,
            stats: false,
            stats_density: true,
            keep_warmup: false,
            keep_states: KeepStates::No,
            init: None,
            durable: None,
        }
    }
}

/// Numbers of the streams that `--record` draws from: beyond those of all chains.
const RECORDING: u64 = 1 << 32;
/// The same in the warm-up.
const WARMING_UP: u64 = 1 << 33;
/// For a program that is run anew with all its choices.
const REBUILDING: u64 = 1 << 34;

/// How far the chains are, in applications of the kernel, warm-up included, over all chains.
pub use smidgen_io::Progress;

pub struct Sampled {
    pub run: draws::Run,
    /// It has one of so many draws: all are in the folder they were written to.
    pub every: usize,
    /// What is known about each kernel, over all chains.
    pub records: Vec<KernelRecord>,
    /// Processor seconds spent on draws, warm-up excluded, added over chains.
    pub seconds: f64,
    /// With a budget: for each chain the processor seconds from the start of its warm-up to each
    /// draw.
    pub times: Vec<Vec<f64>>,
    /// Whether it was stopped before all draws were made.
    pub interrupted: bool,
    /// What there is to be said about the data.
    pub notes: Vec<String>,
    /// States of the draws, if they were asked for, or why there are none.
    pub states: Option<Result<States, String>>,
    /// The log density of all that was observed, where particles estimate it.
    pub log_evidence: Option<f64>,
}

#[derive(Debug)]
pub struct SampleError(pub Vec<Diagnostic>);

impl From<Diagnostic> for SampleError {
    fn from(diagnostic: Diagnostic) -> SampleError {
        SampleError(vec![diagnostic])
    }
}

/// What all chains share.
struct Plan<'a> {
    steps: Vec<Arc<Step>>,
    kernel: Option<Syntax>,
    record: Vec<(String, ExprRef)>,
    catalog: &'a Catalog,
    sources: &'a SourceMap,
    request: &'a SampleRequest,
    progress: &'a Progress,
    interrupt: std::sync::Arc<AtomicBool>,
    /// Set when a chain fails: the others need not go on.
    failed: AtomicBool,
    /// What all chains would prepare alike.
    shared: Arc<Shared>,
    start: Start,
    /// What is observed instead of what the program says.
    data: Option<Arc<[Value]>>,
    /// Whether its data will grow: then the chains go on in their traces.
    is_followed: bool,
}

struct Chain {
    number: usize,
    /// Draws that it has made.
    made: usize,
    diary: Diary,
    /// Where its directives stood, see [`StepMark`].
    marks: Vec<StepMark>,
    kernels: Vec<String>,
    records: Vec<KernelRecord>,
    warnings: Vec<String>,
    seconds: f64,
    times: Vec<f64>,
    complete: bool,
    /// Whether each number of each quantity hangs on choices (the first counts for those not listed), and whether these moved.
    ties: Vec<(Vec<bool>, bool)>,
    /// Draws in which a trajectory diverged.
    diverged: Vec<usize>,
}

/// Runs the chains of a program.
pub fn sample(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    progress: &Progress,
) -> Result<Sampled, SampleError> {
    sample_into(session, program, request, progress, |_| Ok(None))
}

/// The same; `folder` looks at the session once its tables are read, and says where the chains are made durable.
pub fn sample_into(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    progress: &Progress,
    folder: impl FnOnce(&Session) -> Result<Option<Durable>, SampleError>,
) -> Result<Sampled, SampleError> {
    let prepared = prepare(session, program, request)?;
    let start = start(session, request)?;
    let durable = folder(session)?.or_else(|| request.durable.clone());
    let request = &SampleRequest { durable, ..request.clone() };
    let total = request.chains.saturating_mul(request.warmup.saturating_add(request.draws));
    progress.total.store(total as u64, Ordering::Relaxed);
    if let Some(live) = &request.live {
        live.begin(request.chains);
    }
    let Session { catalog, sources, interrupt, .. } = &*session;
    let context = Context { catalog, sources, interrupt };
    let plan = Plan { start, ..prepared.plan(context, request, progress) };
    let chains = plan.run_chains()?;
    plan.assemble(chains, program)
}

/// A program that is ready to be sampled.
pub(crate) struct Prepared {
    steps: Vec<Arc<Step>>,
    kernel: Option<Syntax>,
    record: Vec<(String, ExprRef)>,
}

impl Prepared {
    fn plan<'a>(
        &self,
        context: Context<'a>,
        request: &'a SampleRequest,
        progress: &'a Progress,
    ) -> Plan<'a> {
        Plan {
            steps: self.steps.clone(),
            kernel: self.kernel.clone(),
            record: self.record.clone(),
            catalog: context.catalog,
            sources: context.sources,
            request,
            progress,
            interrupt: context.interrupt.clone(),
            failed: AtomicBool::new(false),
            shared: Arc::default(),
            start: Start::Anywhere,
            data: None,
            is_followed: false,
        }
    }

    /// What was asked to be recorded.
    pub(crate) fn watched(&self) -> impl Iterator<Item = Watch> {
        let record = self.record.iter().cloned();
        record.map(|(name, expr)| Watch::Expression(name, expr))
    }

    /// The draws of one chain, with other data if some are given.
    pub(crate) fn chain(
        &self,
        context: Context<'_>,
        request: &SampleRequest,
        data: Option<Arc<[Value]>>,
    ) -> Result<draws::Draws, Diagnostic> {
        let progress = Progress::default();
        let plan = Plan { data, ..self.plan(context, request, &progress) };
        let chain = plan.guarded_chain(0)?;
        match chain.complete {
            true => Ok(chain.diary.draws),
            false => Err(Diagnostic::error(None, "interrupted")),
        }
    }
}

pub(crate) fn prepare(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
) -> Result<Prepared, SampleError> {
    let kernel = match &request.kernel {
        Some(text) => Some(session.parse_option("--kernel", text)?),
        None => None,
    };
    let mut record = Vec::new();
    for text in &request.record {
        let cell = cell_by_name(text);
        let syntax = session.parse_option("--record", cell.as_ref().unwrap_or(text))?;
        record.push((text.clone(), syntax));
    }
    check_parameters(session, program, kernel.iter().chain(record.iter().map(|(_, s)| s)))?;
    let mut compiler = Compiler::new(&mut session.catalog, &session.sources);
    let mut steps = Vec::new();
    for top in program {
        let step = compiler.top_level(&top.directive, top.number, &top.folder);
        steps.extend(step.map_err(SampleError)?.map(Arc::new));
    }
    let mut lowered = Vec::new();
    let record = record.into_iter().flat_map(|(name, syntax)| {
        let cells = all_imputed(&session.catalog, &Scope::global(), &syntax);
        cells.unwrap_or_else(|| vec![(name, syntax)])
    });
    for (name, syntax) in record.collect::<Vec<_>>() {
        let expr =
            lower::lower(&syntax, &Scope::global(), &session.catalog).map_err(SampleError)?;
        session.catalog.note(&expr);
        lowered.push((name, expr));
    }
    Ok(Prepared { steps, kernel, record: lowered })
}

/// Where the chains begin, with all names lowered.
fn start(session: &mut Session, request: &SampleRequest) -> Result<Start, SampleError> {
    let (chains, is_strict) = match request.init.as_deref() {
        None => return Ok(Start::Anywhere),
        Some(Init::States(states)) => return Ok(Start::States(states.clone())),
        Some(Init::Values(chains)) => (chains, true),
        Some(Init::Recorded(chains)) => (chains, false),
    };
    let mut lowered: Vec<Vec<(ExprRef, Value)>> = Vec::new();
    for values in chains {
        let mut chain = Vec::new();
        for (name, value) in values {
            let expr = session.lower_option("--init", name);
            match expr {
                Ok(expr) => chain.push((expr, value.clone())),
                // Names of a former run need not be expressions: labels are not.
                Err(_) if !is_strict => {}
                Err(error) => return Err(error),
            }
        }
        lowered.push(chain);
    }
    Ok(Start::Values { chains: lowered, is_strict })
}

pub(crate) fn check_parameters<'a>(
    session: &Session,
    program: &[TopDirective],
    options: impl Iterator<Item = &'a Syntax>,
) -> Result<(), SampleError> {
    let mut also = Vec::new();
    for syntax in options {
        visit_syntax(syntax, &mut |name| also.push(name.to_string()));
    }
    let unused = session.unused_parameters(program, &also);
    match unused.first() {
        None => Ok(()),
        Some(_) => Err(unused_parameters(&unused).into()),
    }
}

/// The error about parameters that nothing mentions.
pub fn unused_parameters(names: &[String]) -> Diagnostic {
    let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Diagnostic::error(None, format!("--param {} is not used by the program", list.join(", ")))
        .hint("a parameter stands in the program as {name}")
}

impl Session {
    /// An expression given as an option.
    pub fn parse_option(&mut self, name: &str, text: &str) -> Result<Syntax, SampleError> {
        let source = self.sources.add(name, text);
        parser::parse_expression(source, text).map_err(SampleError)
    }

    /// The same, ready to be evaluated.
    pub(crate) fn lower_option(&mut self, name: &str, text: &str) -> Result<ExprRef, SampleError> {
        let syntax = self.parse_option(name, text)?;
        let expr = lower::lower(&syntax, &Scope::global(), &self.catalog).map_err(SampleError)?;
        self.catalog.note(&expr);
        Ok(expr)
    }
}

/// A broken invariant of ours.
fn broken() -> Diagnostic {
    Diagnostic::error(None, "internal error in a chain: this is a bug of smidgen")
        .hint("please report it with the program and the seed")
}

impl Plan<'_> {
    fn run_chains(&self) -> Result<Vec<Chain>, SampleError> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Result<Chain, Diagnostic>>>> =
            Mutex::new((0..self.request.chains).map(|_| None).collect());
        let work = || {
            loop {
                let k = next.fetch_add(1, Ordering::Relaxed);
                if k >= self.request.chains || self.is_stopped() {
                    return;
                }
                let result = self.guarded_chain(k);
                self.failed.fetch_or(result.is_err(), Ordering::Relaxed);
                results.lock().expect("no thread panics while it holds the results")[k] =
                    Some(result);
            }
        };
        let threads = self.request.threads.clamp(1, self.request.chains.max(1));
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let results = results.into_inner().expect("no thread panics while it holds the results");
        let mut chains = Vec::new();
        for result in results.into_iter().flatten() {
            match result {
                // A chain that was stopped before its first draw has nothing to keep.
                Err(_) if self.interrupt.load(Ordering::Relaxed) => {}
                result => chains.push(result?),
            }
        }
        Ok(chains)
    }

    /// A broken invariant of ours must not take the other chains, or the user's terminal, down.
    fn guarded_chain(&self, k: usize) -> Result<Chain, Diagnostic> {
        catch_unwind(AssertUnwindSafe(|| self.chain(k))).unwrap_or_else(|_| Err(broken()))
    }

    fn chain(&self, k: usize) -> Result<Chain, Diagnostic> {
        if self.kernel.is_none() && self.steps.iter().any(|step| makes_particles(step)) {
            return self.particle_chain(k);
        }
        self.journey(k)?.go().map_err(EvalError::into_diagnostic)
    }

    /// A chain before its first transition, or where its last checkpoint is.
    fn journey(&self, k: usize) -> Result<Journey<'_, '_>, Diagnostic> {
        let durable = self.request.durable.as_ref();
        let saved = durable.map(|durable| durable::found(durable, k)).transpose();
        let saved = saved.map_err(|trouble| Diagnostic::error(None, trouble.0))?.flatten();
        self.journey_from(k, saved, None)
    }

    /// The same from a checkpoint, or from the beginning, in an epoch of data that grow.
    fn journey_from(
        &self,
        k: usize,
        saved: Option<Saved>,
        epoch: Option<Arc<Epoch>>,
    ) -> Result<Journey<'_, '_>, Diagnostic> {
        // What is recorded must not change the chain: it draws from a stream of its own.
        let stream = |of: u64| Rng::for_chain(self.request.seed, of + k as u64);
        let mut streams = [stream(0), stream(RECORDING), stream(WARMING_UP)];
        let ground = epoch.as_ref().map_or(self.ground(), |epoch| epoch.ground());
        let stand = match &saved {
            Some(saved) => self.restand(ground, k, &saved.state, &saved.marks())?,
            None => {
                let former = match &self.start {
                    Start::States(states) if !states.last.is_empty() => {
                        Some((&states.last[k % states.last.len()], states.steps.as_slice()))
                    }
                    _ => None,
                };
                self.stand(ground, k, former, &mut streams[0])?
            }
        };
        let mut journey = Journey::new(self, k, stand, streams, epoch);
        if let Some(durable) = &self.request.durable {
            journey.record(durable, saved)?;
        }
        Ok(journey)
    }

    /// A program that resamples: one draw is a run of its own with new particles, of which one is
    /// drawn by weight. There is nothing to warm up.
    fn particle_chain(&self, k: usize) -> Result<Chain, Diagnostic> {
        let mut rng = Rng::for_chain(self.request.seed, k as u64);
        let mut aside = Rng::for_chain(self.request.seed, RECORDING + k as u64);
        let begun = Stopwatch::start();
        let mut done: Option<Inferred> = None;
        let mut diary: Option<Diary> = None;
        let mut pulse = self.request.live.as_ref().map(|live| live.chain(k));
        // Every draw is a run of its own: what was interrupted is drawn again from the seed.
        let failed = |trouble: Trouble| Diagnostic::error(None, trouble.0);
        let mut writer = None;
        let mut made = 0;
        let warmup = self.request.warmup as u64;
        self.progress.done.fetch_add(warmup, Ordering::Relaxed);
        while made < self.request.draws && !self.is_stopped() {
            let mut stage = ParticlePopulation::new(Rng::from_seed(rng.seed()), &self.interrupt);
            let (catalog, sources) = (self.catalog, self.sources);
            let context = Context { catalog, sources, interrupt: &self.interrupt };
            for step in &self.steps {
                for outcome in stage.execute(step, &context)? {
                    if let OutcomeKind::Infer(inferred) = outcome.kind {
                        done.get_or_insert_default().add(inferred);
                    }
                }
            }
            let (model, predicted) = stage.one();
            let predicted = predicted.clone();
            let watch = self.watch(model, predicted).map_err(EvalError::into_diagnostic)?;
            let diary = diary.get_or_insert_with(|| Diary::new(&watch, self.request));
            if let (Some(durable), None) = (&self.request.durable, &writer) {
                writer = Some(durable.folder.writer(k, diary.columns(), None).map_err(failed)?);
                diary.tap(self.request.live.as_ref().is_some_and(|live| live.keeps_draws()));
            }
            diary
                .draw(model, &watch, &mut Run::default(), &mut aside)
                .map_err(EvalError::into_diagnostic)?;
            diary.stateless = Some("the program resamples particles");
            pulse.iter_mut().for_each(|pulse| pulse.beat(&Run::default(), &diary.draws));
            self.progress.done.fetch_add(1, Ordering::Relaxed);
            if let (Some(writer), Some(values)) = (&mut writer, diary.tapped()) {
                let row = Row { draw: made as u64, epoch: 0, is_warmup: false, values };
                writer.push(row).map_err(failed)?;
            }
            made += 1;
        }
        if let Some(writer) = &mut writer {
            match made == self.request.draws {
                true => writer.finish().map_err(failed)?,
                false => writer.flush().map_err(failed)?,
            }
        }
        let diary = diary.unwrap_or_else(|| Diary::new(&[], self.request));
        pulse.iter_mut().for_each(|pulse| pulse.end(&Run::default(), &diary.draws));
        let Inferred { kernels, warnings, .. } = done.unwrap_or_default();
        let records = kernels.iter().map(|report| {
            let mut record = KernelRecord::default();
            (record.tally.transitions, record.tally.accepted) =
                (report.transitions, report.accepted);
            (record.tally.drawn, record.tally.changed) = (report.drawn, report.changed);
            (record.tally.sections_used, record.tally.population) =
                (report.sections_used, report.population);
            record
        });
        Ok(Chain {
            number: k,
            made,
            records: records.collect(),
            kernels: kernels.into_iter().map(|report| report.kernel).collect(),
            diary,
            marks: Vec::new(),
            warnings,
            seconds: begun.seconds(),
            times: Vec::new(),
            complete: made == self.request.draws,
            ties: Vec::new(),
            diverged: Vec::new(),
        })
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}
