//! Chains above a table that grows.
//!
//! Each chain has a thread and a trace of its own for the whole run; as many work at a time as there may be threads. When all have made their draws, the *epoch* is over: its
//! draws belong to one posterior, that of the rows so far, and are summarised by themselves. Then rows that have come since are
//! appended to every trace ([`crate::append`]): the state stays, and so does what the kernels have learnt. Settling draws
//! follow, a short warm-up in which kernels learn on; what hangs on the data (a reference law, its sums and bounds) is
//! made anew there. One epoch costs O(new rows) for the traces, and what its transitions cost; a kernel that prepares for
//! the data does so once an epoch, in O(rows).
//!
//! When the rows have doubled, the program runs anew with the choices as they are, on one table of all rows, and the chains
//! warm up as at the start: what was learnt of half the data is worth little, and loops that were added one by one become one again.
//! That is O(rows), and so O(1) for each row that ever comes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use smidgen_draws::KeepStates;
use smidgen_infer::run::Shared;
use smidgen_lang::Diagnostic;
use smidgen_lang::syntax::DirectiveKind;
use smidgen_value::{Symbol, Table};

use super::durable::Durable;
use super::journey::Journey;
use super::{Chain, Plan, Progress, SampleError, SampleRequest, Sampled, prepare, start};
use crate::append::{self, Growth};
use crate::catalog::Catalog;
use crate::compile::{Compiler, Step, StepKind};
use crate::contents::Contents;
use crate::execute::infers;
use crate::load::TopDirective;
use crate::population::{Context, makes_particles};
use crate::session::Session;

/// What is followed, and who is told.
pub struct Follow<'f> {
    pub table: &'f str,
    /// Gives rows that have come, once there are some; None ends the run.
    pub rows: &'f mut dyn FnMut() -> Result<Option<Table>, Diagnostic>,
    /// An epoch begins: the chains have been given its rows.
    pub opened: &'f mut dyn FnMut(&EpochMark) -> Result<(), Diagnostic>,
    /// It is over.
    pub done: &'f mut dyn FnMut(&EpochMark, Sampled) -> Result<(), Diagnostic>,
}

/// An epoch: the draws between two changes of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochMark {
    pub number: u32,
    /// Rows of the table, and how many of them are new.
    pub rows: usize,
    pub new: usize,
    /// Sums of the new rows by blocks.
    pub sums: Vec<u64>,
}

/// More rows, as all chains get them.
pub(super) struct Epoch {
    pub number: u32,
    /// The loops over the new rows.
    pub step: Option<Arc<Step>>,
    /// Or all directives, on one table of all rows.
    pub anew: Option<Vec<Arc<Step>>>,
    pub catalog: Catalog,
    pub shared: Arc<Shared>,
}

/// Settling draws: a tenth of the warm-up, and no fewer than these.
const LEAST_SETTLING: usize = 50;

pub(super) fn settling(warmup: usize) -> usize {
    (warmup / 10).max(LEAST_SETTLING)
}

/// Runs the chains of a program, and goes on with every change of a table.
pub fn follow(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    progress: &Progress,
    folder: impl FnOnce(&Session) -> Result<Option<Durable>, SampleError>,
    follow: Follow<'_>,
) -> Result<(), SampleError> {
    let name = Symbol::new(follow.table);
    let prepared = prepare(session, program, request)?;
    // What cannot go on is better known before the chains run.
    append::check(&session.catalog, program, name).map_err(SampleError)?;
    refuse(&prepared.steps)?;
    for text in &request.record {
        let syntax = session.parse_option("--record", text)?;
        append::refuse_mention(&syntax, name).map_err(|problem| SampleError(vec![problem]))?;
    }
    let start = start(session, request)?;
    let durable = folder(session)?;
    let keep_states = KeepStates::No;
    let request = &SampleRequest { durable, keep_states, ..request.clone() };
    let total = request.chains.saturating_mul(request.warmup.saturating_add(request.draws));
    progress.total.store(total as u64, Ordering::Relaxed);
    let Session { catalog, sources, interrupt, .. } = &*session;
    let context = Context { catalog, sources, interrupt };
    let plan = Plan { start, is_followed: true, ..prepared.plan(context, request, progress) };
    let gate = Gate::of(request.threads);
    std::thread::scope(|scope| {
        let (done, results) = mpsc::channel();
        let mut orders = Vec::new();
        for k in 0..request.chains {
            let (order, inbox) = mpsc::channel();
            orders.push(order);
            let (plan, gate, done) = (&plan, &gate, done.clone());
            scope.spawn(move || plan.followed_chain(k, gate, &inbox, &done));
        }
        let (plan, catalog) = (&plan, catalog.clone());
        let warmed = catalog.last_part(name).map_or(0, |table| table.rows());
        let mut conductor = Conductor { plan, program, name, catalog, warmed, results, orders };
        let result = conductor.run(follow);
        plan.failed.fetch_or(result.is_err(), Ordering::Relaxed);
        // Chains end when nobody gives them orders any more.
        drop(conductor);
        result
    })
}

/// Whoever waits for the chains, and for rows.
struct Conductor<'c, 'p> {
    plan: &'c Plan<'p>,
    program: &'c [TopDirective],
    name: Symbol,
    catalog: Catalog,
    /// Rows at the last warm-up.
    warmed: usize,
    results: Receiver<Result<Chain, Diagnostic>>,
    orders: Vec<Sender<Arc<Epoch>>>,
}

impl Conductor<'_, '_> {
    fn run(&mut self, follow: Follow<'_>) -> Result<(), SampleError> {
        let rows = self.warmed;
        let sums = self.catalog.last_part(self.name).map(|table| self.sums(table));
        let sums = sums.unwrap_or_default();
        let mut mark = EpochMark { number: 0, rows, new: rows, sums };
        loop {
            (follow.opened)(&mark)?;
            let chains = self.collect()?;
            if !chains.is_empty() {
                let sampled = self.plan.assemble(chains, self.program)?;
                (follow.done)(&mark, sampled)?;
            }
            if self.plan.is_stopped() {
                return Ok(());
            }
            let Some(new) = (follow.rows)()? else { return Ok(()) };
            mark = self.begin(&new, &mark)?;
        }
    }

    fn sums(&self, rows: &Table) -> Vec<u64> {
        Contents::of(self.name.as_str(), rows).blocks
    }

    /// What all chains have made of an epoch, in their order.
    fn collect(&mut self) -> Result<Vec<Chain>, SampleError> {
        let mut chains = Vec::new();
        for _ in 0..self.orders.len() {
            match self.results.recv() {
                Ok(Ok(chain)) => chains.push(chain),
                // A chain that was stopped before its first draw has nothing to keep.
                Ok(Err(_)) if self.plan.interrupt.load(Ordering::Relaxed) => {}
                Ok(Err(problem)) => return Err(problem.into()),
                Err(_) => break,
            }
        }
        chains.sort_by_key(|chain| chain.number);
        Ok(chains)
    }

    /// Opens an epoch with these rows.
    fn begin(&mut self, new: &Table, before: &EpochMark) -> Result<EpochMark, SampleError> {
        let growth = append::plan(&self.catalog, self.plan.sources, self.program, self.name, new);
        let Growth { part, step, catalog, .. } = growth.map_err(SampleError)?;
        let mark = EpochMark {
            number: before.number + 1,
            rows: part.first_row() + part.rows(),
            new: part.rows(),
            sums: self.sums(&part),
        };
        self.catalog.grow(self.name, part, catalog);
        let mut anew = None;
        if mark.rows >= 2 * self.warmed {
            self.warmed = mark.rows;
            anew = Some(self.all_anew()?);
        }
        let epoch = Arc::new(Epoch {
            number: mark.number,
            step: step.map(Arc::new),
            anew,
            catalog: self.catalog.clone(),
            shared: Arc::default(),
        });
        let request = self.plan.request;
        let warmup = match epoch.anew {
            Some(_) => request.warmup,
            None => settling(request.warmup),
        };
        let more = request.chains * (warmup + request.draws);
        self.plan.progress.total.fetch_add(more as u64, Ordering::Relaxed);
        // A chain that is gone has said why.
        self.orders.iter().for_each(|order| drop(order.send(epoch.clone())));
        Ok(mark)
    }
}

impl Conductor<'_, '_> {
    /// All directives, with the loops over the table made for all its rows as one.
    fn all_anew(&mut self) -> Result<Vec<Arc<Step>>, SampleError> {
        self.catalog.unite(self.name);
        let mut loops =
            append::check(&self.catalog, self.program, self.name).map_err(SampleError)?.loops;
        let mut steps = self.plan.steps.clone();
        let makes_step = |top: &&TopDirective| {
            !matches!(
                top.directive.kind,
                DirectiveKind::Define { .. } | DirectiveKind::Table { .. }
            )
        };
        for (step, top) in steps.iter_mut().zip(self.program.iter().filter(makes_step)) {
            if !loops.first().is_some_and(|over| std::ptr::eq(*over, top)) {
                continue;
            }
            loops.remove(0);
            let mut compiler = Compiler::new(&mut self.catalog, self.plan.sources);
            let made = compiler.top_level(&top.directive, top.number, &top.folder);
            made.map_err(SampleError)?.into_iter().for_each(|made| *step = Arc::new(made));
        }
        Ok(steps)
    }
}

/// So many chains may work at a time.
struct Gate {
    free: Mutex<usize>,
    bell: Condvar,
}

impl Gate {
    fn of(threads: usize) -> Gate {
        Gate { free: Mutex::new(threads.max(1)), bell: Condvar::new() }
    }

    /// Works when it is its turn.
    fn pass<T>(&self, work: impl FnOnce() -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.bell.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        drop(free);
        let result = work();
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.bell.notify_one();
        result
    }
}

impl Plan<'_> {
    /// A chain with all its epochs.
    fn followed_chain(
        &self,
        k: usize,
        gate: &Gate,
        orders: &Receiver<Arc<Epoch>>,
        done: &Sender<Result<Chain, Diagnostic>>,
    ) {
        let mut journey = match gate.pass(|| guarded(|| self.journey(k))) {
            Ok(journey) => journey,
            Err(problem) => return drop(done.send(Err(problem))),
        };
        let mut warmup = self.request.warmup;
        loop {
            let work = || guarded(|| journey.stretch(warmup).map_err(|e| e.into_diagnostic()));
            let chain = gate.pass(work);
            let is_over = chain.is_err();
            if done.send(chain).is_err() || is_over {
                return;
            }
            let Ok(epoch) = orders.recv() else {
                return journey.close();
            };
            match gate.pass(|| guarded(|| self.begin(&mut journey, &epoch))) {
                Ok(steps) => warmup = steps,
                Err(problem) => return drop(done.send(Err(problem))),
            }
        }
    }

    /// The new rows of an epoch, and how long the chain is to settle: as long as at the start if it has forgotten what it had learnt.
    fn begin(&self, journey: &mut Journey<'_, '_>, epoch: &Epoch) -> Result<usize, Diagnostic> {
        let warmup = self.request.warmup;
        let more = settling(warmup);
        Ok(if journey.take_rows(epoch)? { more } else { warmup.max(more) })
    }
}

/// A broken invariant of ours is a message, and no end of the process.
fn guarded<T>(work: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(super::broken()))
}

/// What a followed program must not have.
fn refuse(steps: &[Arc<Step>]) -> Result<(), SampleError> {
    let wrong = |step: &Step, message: &str| Err(Diagnostic::error(step.span, message).into());
    for step in steps {
        if makes_particles(step) {
            return wrong(step, "a program that resamples cannot follow a table");
        }
        if infers(step) && !matches!(step.kind, StepKind::Infer { .. }) {
            return wrong(step, "a program that infers in a loop cannot follow a table");
        }
    }
    Ok(())
}
