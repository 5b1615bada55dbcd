//! A chain in legs, each of which may be walked by another process: what goes from one to the next is a checkpoint.
//!
//! A leg ends at a re-base, and re-bases do not hang on where legs end. So the draws are those of the same run in a folder
//! of one machine, to the bit, however long the legs are and whoever walks them; and a leg that was lost is walked again with
//! the same result. A chain that cannot be re-based is one leg.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value as Json;
use smidgen_infer::KernelRecord;
use smidgen_io::folder::{self, Checkpoint, Folder, Memory, Patience, checkpoint};
use smidgen_lang::Diagnostic;
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::bytes_of_fields;

use super::diary::Diary;
use super::{Chain, Context, Durable, Plan, Progress, SampleError, SampleRequest, Sampled};
use super::{durable, manifest, prepare, start};
use crate::load::TopDirective;
use crate::session::Session;

/// What somebody is to walk.
#[derive(Clone, Debug, Default)]
pub struct Leg {
    pub chain: usize,
    /// The checkpoint that the leg before it ended with.
    pub from: Option<Vec<u8>>,
    /// It ends at the first re-base after so many draws of the chain.
    pub until: usize,
    /// Draws from one re-base to the next, instead of by what they cost.
    pub every: Option<u64>,
    /// Sums that the tables have to have, see [`manifest::tables`].
    pub tables: Option<Json>,
}

/// What came of a leg.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// Draws of the chain so far.
    pub made: usize,
    /// The draws of this leg, as Arrow streams.
    pub streams: Vec<Vec<u8>>,
    /// Where the next leg begins.
    pub checkpoint: Option<Vec<u8>>,
    /// What there is to say about the chain, if this was the last leg.
    pub end: Option<Vec<u8>>,
}

/// What a chain leaves beside its draws.
struct End {
    made: usize,
    kernels: Vec<String>,
    records: Vec<KernelRecord>,
    warnings: Vec<String>,
    seconds: f64,
    ties: Vec<(Vec<bool>, bool)>,
    diverged: Vec<usize>,
}

bytes_of_fields!(End { made, kernels, records, warnings, seconds, ties, diverged });

fn plain(message: impl Into<String>) -> SampleError {
    Diagnostic::error(None, message).into()
}

/// A folder in memory in which a chain stands at a checkpoint. What this says about draws is of no interest: they are elsewhere.
fn desk(leg: &Leg, interrupt: &Arc<AtomicBool>) -> Result<Folder, SampleError> {
    let patience = Patience { interrupt: interrupt.clone(), ..Patience::default() };
    let disk = Arc::new(Memory::default());
    if let Some(bytes) = &leg.from {
        let damaged = || plain(format!("the checkpoint of chain {} is damaged", leg.chain));
        let mut from = Checkpoint::decode(bytes).ok_or_else(damaged)?;
        from.sections.retain(|(tag, _)| tag != folder::OUT);
        let written = checkpoint::write(&*disk, leg.chain, &from.encode());
        written.map_err(|error| plain(error.to_string()))?;
    }
    Ok(Folder::in_memory(disk, patience))
}

/// Walks a leg of a chain.
pub fn walk(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    leg: &Leg,
    progress: &Progress,
) -> Result<Walked, SampleError> {
    let prepared = prepare(session, program, request)?;
    if let Some(then) = &leg.tables
        && let Some(what) = manifest::tables_differ(then, &manifest::tables(session))
    {
        return Err(plain(what));
    }
    let start = start(session, request)?;
    let folder = Arc::new(desk(leg, &session.interrupt)?);
    let durable = Durable {
        folder: folder.clone(),
        every: leg.every,
        from_seed: false,
        until: Some(leg.until),
    };
    let request = &SampleRequest { durable: Some(durable), live: None, ..request.clone() };
    let Session { catalog, sources, interrupt, .. } = &*session;
    let context = Context { catalog, sources, interrupt };
    let plan = Plan { start, ..prepared.plan(context, request, progress) };
    let Chain { made, kernels, records, warnings, seconds, ties, diverged, complete, .. } =
        plan.guarded_chain(leg.chain)?;
    if interrupt.load(Ordering::Relaxed) {
        return Err(plain("interrupted"));
    }
    let streams = folder::streams(&*folder.disk, leg.chain).map_err(|trouble| plain(trouble.0))?;
    if complete {
        let mut end = Vec::new();
        End { made, kernels, records, warnings, seconds, ties, diverged }.put(&mut end);
        return Ok(Walked { made, streams, checkpoint: None, end: Some(end) });
    }
    let checkpoint = folder.disk.read(&checkpoint::name(leg.chain));
    let checkpoint = checkpoint.map_err(|error| plain(error.to_string()))?;
    Ok(Walked { made, streams, checkpoint, end: None })
}

/// The run of chains whose last legs have ended: the streams of all legs of each, and its end. Of a run that is kept in a folder
/// ([`SampleRequest::durable`]) the draws are read from there.
pub fn gather(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    chains: Vec<(Vec<Vec<u8>>, Vec<u8>)>,
) -> Result<Sampled, SampleError> {
    let prepared = prepare(session, program, request)?;
    let progress = Progress::default();
    let Session { catalog, sources, interrupt, .. } = &*session;
    let plan = prepared.plan(Context { catalog, sources, interrupt }, request, &progress);
    let mut all = Vec::new();
    for (number, (streams, end)) in chains.into_iter().enumerate() {
        let wrong = || plain(format!("what came back of chain {number} is damaged"));
        let read = folder::read_streams(number, streams).map_err(plain)?;
        let End { made, kernels, records, warnings, seconds, ties, diverged } =
            End::take(&mut Input::new(&end)).ok_or_else(wrong)?;
        let mut diary = Diary::new(&[], request);
        (diary.draws, diary.stats) = (read.draws, read.stats);
        (diary.warmup, diary.warmup_stats) = (read.warmup, read.warmup_stats);
        let (marks, times, complete) = (Vec::new(), Vec::new(), true);
        all.push(Chain {
            number,
            made,
            diary,
            marks,
            kernels,
            records,
            warnings,
            seconds,
            times,
            complete,
            ties,
            diverged,
        });
    }
    plan.assemble(all, program)
}

/// Sums of the tables of a program, for [`Leg::tables`].
pub fn tables(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
) -> Result<Json, SampleError> {
    prepare(session, program, request)?;
    Ok(manifest::tables(session))
}

/// What has to be equal wherever legs of one run are walked: the layout of checkpoints, the arithmetic of programs, and a sum of
/// computed numbers.
pub fn versions() -> (u32, u32, u64) {
    (checkpoint::IMAGE, checkpoint::ARITHMETIC, durable::canary())
}
