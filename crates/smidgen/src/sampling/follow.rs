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
//! That is O(rows), and so O(1) for each row that ever comes. The same happens, without the warm-up, when rows leave the window:
//! the model is that of the rows that stay, added up anew, and nothing is subtracted. Rows leave by blocks of a sixteenth to an
//! eighth of the window, so that this too is O(1) for each row.
//!
//! A run in a folder that was killed goes on: its epochs, with how far the table was read, stand in the folder before a chain
//! gets their rows. A checkpoint says in which epoch it was made, and what a chain stands on there is a function of the rows that had
//! come ([`Epoch::ground`]). So the table is read again up to each of these marks, and a chain goes on from its checkpoint through all
//! that came later.

pub(super) mod conductor;
mod crew;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use smidgen_draws::KeepStates;
use smidgen_infer::run::Shared;
use smidgen_io::Window;
use smidgen_lang::Diagnostic;
use smidgen_value::{Symbol, Table};

use super::durable::{self, Durable, Saved};
use super::stand::Ground;
use super::{Plan, Prepared, Progress, SampleError, SampleRequest, Sampled, prepare, start};
use crate::append;
use crate::catalog::Catalog;
use crate::compile::{Step, StepKind};
use crate::contents::Contents;
use crate::execute::infers;
use crate::load::TopDirective;
use crate::population::{Context, makes_particles};
use crate::session::Session;
use conductor::{Conductor, Hand};
use crew::Gate;

/// What is followed, and who is told.
pub struct Follow<'f> {
    pub table: &'f str,
    /// So many of the last rows count.
    pub window: Option<Window>,
    /// The epochs of a run that goes on.
    pub past: Vec<EpochMark>,
    /// Gives rows that have come, once there are some, or those up to a position; None ends the run.
    pub rows: &'f mut dyn FnMut(Option<u64>) -> Result<Option<Arrived>, Diagnostic>,
    /// An epoch begins: the chains are about to be given its rows.
    pub opened: &'f mut dyn FnMut(&EpochMark) -> Result<(), Diagnostic>,
    /// It is over.
    pub done: &'f mut dyn FnMut(&EpochMark, Sampled) -> Result<(), Diagnostic>,
}

/// Rows that have come, and how far the table is read with them.
pub struct Arrived {
    pub rows: Table,
    pub upto: u64,
}

/// An epoch: the draws between two changes of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochMark {
    pub number: u32,
    /// The number of the first row that counts, how many do, and how many are new.
    pub first: usize,
    pub rows: usize,
    pub new: usize,
    /// How far the table was read with them; nobody asks where the first epoch ended.
    pub upto: u64,
    /// Sums of the new rows by blocks.
    pub sums: Vec<u64>,
}

/// How chains come into an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Start,
    /// The new rows join.
    Join,
    /// The program runs anew on the rows that count.
    Anew {
        warms_up: bool,
        leaves: bool,
    },
}

/// More rows, as all chains get them.
pub(super) struct Epoch {
    pub number: u32,
    opening: Opening,
    /// The loops over the new rows.
    pub step: Option<Arc<Step>>,
    /// All directives, with the rows that there were when they were made, and the loops over rows that came later.
    steps: Arc<[Arc<Step>]>,
    parts: Vec<Arc<Step>>,
    pub catalog: Catalog,
    pub shared: Arc<Shared>,
}

impl Epoch {
    pub fn is_anew(&self) -> bool {
        self.opening != Opening::Join
    }

    pub fn warms_up(&self) -> bool {
        matches!(self.opening, Opening::Start | Opening::Anew { warms_up: true, .. })
    }

    /// Whether rows leave the window.
    pub fn leaves(&self) -> bool {
        matches!(self.opening, Opening::Anew { leaves: true, .. })
    }

    pub fn parts(&self) -> &[Arc<Step>] {
        &self.parts
    }

    /// What a chain stands on that is made anew in this epoch.
    pub fn ground(&self) -> Ground<'_> {
        Ground { steps: &self.steps, parts: &self.parts, catalog: &self.catalog }
    }
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
    let prepared = prepare_to_grow(session, program, request, name)?;
    let start = start(session, request)?;
    let durable = folder(session)?;
    let found = found(durable.as_ref(), request, &follow)?;
    let keep_states = KeepStates::No;
    let request = &SampleRequest { durable, keep_states, ..request.clone() };
    let Session { catalog, sources, interrupt, .. } = &*session;
    let context = Context { catalog, sources, interrupt };
    let plan = Plan { start, is_followed: true, ..prepared.plan(context, request, progress) };
    let gate = Gate::of(request.threads);
    std::thread::scope(|scope| {
        let (done, results) = mpsc::channel();
        let mut hands = Vec::new();
        for (k, saved) in found.into_iter().enumerate() {
            let (orders, inbox) = mpsc::channel();
            let begins = saved.as_ref().and_then(|saved| saved.epoch).map_or(0, |(of, _)| of);
            hands.push(Hand { orders, begins });
            let (plan, gate, done) = (&plan, &gate, done.clone());
            scope.spawn(move || plan.followed_chain(k, saved, gate, &inbox, &done));
        }
        let mut conductor = Conductor {
            plan: &plan,
            program,
            name,
            window: follow.window,
            catalog: catalog.clone(),
            steps: plan.steps.clone().into(),
            parts: Vec::new(),
            warmed: catalog.last_part(name).map_or(0, |table| table.rows()),
            results,
            hands,
            early: Vec::new(),
        };
        let result = conductor.run(follow);
        plan.failed.fetch_or(result.is_err(), Ordering::Relaxed);
        // Chains end when nobody gives them orders any more.
        drop(conductor);
        result
    })
}

/// Sums of rows by blocks.
pub(super) fn sums_of(name: Symbol, rows: &Table) -> Vec<u64> {
    Contents::of(name.as_str(), rows).blocks
}

/// What cannot go on with more rows is better known before anything is drawn.
pub(super) fn prepare_to_grow(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    name: Symbol,
) -> Result<Prepared, SampleError> {
    let prepared = prepare(session, program, request)?;
    append::check(&session.catalog, program, name).map_err(SampleError)?;
    refuse(&prepared.steps)?;
    for text in &request.record {
        let syntax = session.parse_option("--record", text)?;
        append::refuse_mention(&syntax, name).map_err(|problem| SampleError(vec![problem]))?;
    }
    Ok(prepared)
}

/// Where the chains of a folder stood.
fn found(
    durable: Option<&Durable>,
    request: &SampleRequest,
    follow: &Follow<'_>,
) -> Result<Vec<Option<Saved>>, SampleError> {
    let last = follow.past.last().map_or(0, |mark| mark.number);
    let of = |k: usize| -> Result<Option<Saved>, Diagnostic> {
        let Some(durable) = durable else { return Ok(None) };
        let saved = durable::found(durable, k);
        let saved = saved.map_err(|trouble| Diagnostic::error(None, trouble.0))?;
        match saved.as_ref().and_then(|saved| saved.epoch) {
            Some((epoch, _)) if epoch > last => {
                let shown = durable.folder.path.display();
                let message = format!(
                    "{shown}: chain {k} has a checkpoint in epoch {epoch}, but events.jsonl ends with epoch {last}"
                );
                Err(Diagnostic::error(None, message))
            }
            _ => Ok(saved),
        }
    };
    (0..request.chains).map(|k| of(k).map_err(SampleError::from)).collect()
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
