//! `sample --follow TABLE`: a run that goes on when its data grow.
//!
//! The file is looked at each second while the chains wait. Every epoch is shown by itself when it is over; with --out NAME.run its
//! draws have its number in the column `epoch`, and `events.jsonl` says what its rows were.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use smidgen::draws::Run;
use smidgen::io::{Follower, Reading, Window, folder};
use smidgen::lang::Diagnostic;
use smidgen::sampling::{self, Arrived, Durable, EpochMark, Follow, Progress, manifest};
use smidgen::{SampleError, SampleRequest, Sampled, Session, TopDirective};

use crate::args::{Format, SampleArgs};
use crate::durable::Place;
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::sample::{text, write_report};
use crate::{output, screen};

/// From one look at the file to the next, and how soon an interrupt is seen.
const LOOK: Duration = Duration::from_secs(1);
const BLINK: Duration = Duration::from_millis(50);

pub struct Followed<'a> {
    pub args: &'a SampleArgs,
    pub file: &'a Path,
    pub request: &'a SampleRequest,
    pub interrupt: &'a Interrupt,
}

/// What is known while the epochs go by.
#[derive(Default)]
struct Known {
    follower: Option<Arc<Mutex<Follower>>>,
    durable: Option<Durable>,
    refused: Option<Failure>,
    /// Epochs that are over, and the last of them.
    over: usize,
    last: Option<Sampled>,
}

impl Followed<'_> {
    pub fn go(&self, session: &mut Session, program: &[TopDirective]) -> Result<(), Failure> {
        let table = self.args.follow.as_deref().unwrap_or_default();
        let window = self.window()?;
        let then = self.args.resume.as_deref().map(folder::manifest).transpose()?;
        let upto = then.as_ref().and_then(|then| then["upto"].as_u64());
        session.follow_table(table, window, upto);
        let past = self.past()?;
        let known = Mutex::new(Known::default());
        let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
        let Followed { args, file, request, interrupt } = *self;
        let place = Place { args, file, request, interrupt: interrupt.flag.clone() };
        let folder = |session: &Session| {
            lock().follower = session.follower();
            place.folder(session).inspect(|found| lock().durable = found.clone()).map_err(
                |failure| {
                    lock().refused = Some(failure);
                    SampleError(Vec::new())
                },
            )
        };
        let mut rows = |upto: Option<u64>| {
            let known = lock();
            let (follower, over) = (known.follower.clone(), known.over);
            drop(known);
            match upto.is_none() && args.epochs.is_some_and(|most| over >= most) {
                true => Ok(None),
                false => follower.map_or(Ok(None), |follower| self.wait(&follower, upto)),
            }
        };
        let mut opened = |mark: &EpochMark| {
            let durable = lock().durable.clone();
            durable.map_or(Ok(()), |durable| note(&durable, mark))
        };
        let mut done = |mark: &EpochMark, sampled: Sampled| {
            let shown = self.show(table, mark, &sampled);
            let mut known = lock();
            known.over = mark.number as usize + usize::from(!sampled.interrupted);
            known.last = Some(sampled);
            shown.map_err(|failure| {
                known.refused = Some(failure);
                Diagnostic::error(None, "the draws cannot be shown")
            })
        };
        let progress = Progress::default();
        let (rows, opened, done) = (&mut rows, &mut opened, &mut done);
        let follow = Follow { table, window, past, rows, opened, done };
        let result = match args.particles {
            Some(n) => {
                let ready = |session: &Session| lock().follower = session.follower();
                sampling::absorb(session, program, request, n, ready, follow)
            }
            None => sampling::follow(session, program, request, &progress, folder, follow),
        };
        let Known { durable, refused, last, over, .. } =
            known.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(refused) = refused {
            return Err(refused);
        }
        match result {
            Err(_) if interrupt.is_set() => return Err(Failure::Interrupted),
            result => result.map_err(|error| Failure::sample(session, error))?,
        }
        if let (Some(durable), Some(last)) = (&durable, last.filter(|last| !last.interrupted)) {
            manifest::finish(durable, &last.run)?;
        }
        if args.epochs.is_some_and(|most| over >= most) || !interrupt.is_set() {
            return Ok(());
        }
        if let Some(durable) = &durable {
            say(&format!("`smidgen sample --resume {}` goes on", durable.folder.path.display()));
        }
        Err(Failure::Interrupted)
    }

    fn window(&self) -> Result<Option<Window>, Failure> {
        match (&self.args.window, self.args.follow.as_deref()) {
            (Some((name, _)), Some(table)) if name != table => {
                let message =
                    format!("--window {name}=...: the table that is followed is `{table}`");
                Err(Failure::Usage(message))
            }
            (window, _) => Ok(window.as_ref().map(|(_, rows)| Window { rows: *rows })),
        }
    }

    /// The epochs of the run that goes on.
    fn past(&self) -> Result<Vec<EpochMark>, Failure> {
        let Some(path) = &self.args.resume else { return Ok(Vec::new()) };
        let marks = folder::events(path).iter().map(mark_of).collect::<Option<Vec<_>>>();
        let in_order = |marks: &Vec<EpochMark>| {
            marks.iter().enumerate().all(|(k, mark)| mark.number as usize == k)
        };
        let damaged = || format!("{}: events.jsonl is not as smidgen writes it", path.display());
        marks.filter(in_order).ok_or_else(|| Failure::message(damaged()))
    }

    /// Looks each second until there are rows, or those up to a position; None if somebody has interrupted.
    fn wait(
        &self,
        follower: &Mutex<Follower>,
        upto: Option<u64>,
    ) -> Result<Option<Arrived>, Diagnostic> {
        let stop = &self.interrupt.flag;
        let progress = Progress::default();
        loop {
            let mut follower = follower.lock().unwrap_or_else(PoisonError::into_inner);
            let found = follower.next(upto, Reading { progress: &progress, stop });
            let upto = follower.position();
            drop(follower);
            match found {
                _ if stop.load(Ordering::Relaxed) => return Ok(None),
                Ok(None) => {}
                Ok(Some(rows)) => return Ok(Some(Arrived { rows, upto })),
                Err(problem) => {
                    let table = self.args.follow.as_deref().unwrap_or_default();
                    return Err(Diagnostic::error(None, format!("the table `{table}`: {problem}")));
                }
            }
            for _ in 0..LOOK.as_millis() / BLINK.as_millis() {
                std::thread::sleep(BLINK);
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
            }
        }
    }

    fn show(&self, table: &str, mark: &EpochMark, sampled: &Sampled) -> Result<(), Failure> {
        let EpochMark { number, first, rows, new, .. } = mark;
        let run: &Run = &sampled.run;
        match self.args.format {
            Format::Json => {
                let mut object = smidgen::io::run_to_json(run);
                object["epoch"] = json!(number);
                object["rows"] = json!(rows);
                object["first_row"] = json!(first);
                if let Some(log_evidence) = sampled.log_evidence {
                    object["log_evidence"] = json!(log_evidence);
                }
                output::line(&object.to_string())?;
            }
            Format::Text => {
                let rest = match self.args.window {
                    Some(_) => format!(" from row {first} on, {new} have come"),
                    None => format!(", {new} of them new"),
                };
                let head = format!("epoch {number}: {rows} rows of `{table}`{rest}\n");
                screen::show(&format!("{head}{}\n", text(run, &sampled.notes)))?;
            }
        }
        let is_last = self.args.epochs == Some(*number as usize + 1);
        if !is_last && !sampled.interrupted {
            say(&format!("waiting for rows of `{table}`; Ctrl-C ends the run"));
        }
        self.args.html.as_ref().map_or(Ok(()), |path| write_report(path, self.args, run))
    }
}

/// Writes into the folder what an epoch is.
fn note(durable: &Durable, mark: &EpochMark) -> Result<(), Diagnostic> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let sums: Vec<String> = mark.sums.iter().map(|sum| format!("{sum:016x}")).collect();
    let EpochMark { number, first, rows, new, upto, .. } = mark;
    let event = json!({
        "epoch": number, "first": first, "rows": rows, "new": new, "upto": upto, "sums": sums, "time": time
    });
    durable.folder.note(&event).map_err(|trouble| Diagnostic::error(None, trouble.0))
}

/// The epoch that a line of the folder tells of.
fn mark_of(event: &Json) -> Option<EpochMark> {
    let count = |key: &str| usize::try_from(event[key].as_u64()?).ok();
    let sum = |sum: &Json| u64::from_str_radix(sum.as_str()?, 16).ok();
    Some(EpochMark {
        number: u32::try_from(event["epoch"].as_u64()?).ok()?,
        first: count("first")?,
        rows: count("rows")?,
        new: count("new")?,
        upto: event["upto"].as_u64()?,
        sums: event["sums"].as_array()?.iter().map(sum).collect::<Option<_>>()?,
    })
}
