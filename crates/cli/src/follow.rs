//! `sample --follow TABLE`: a run that goes on when its data grow.
//!
//! The file is looked at each second while the chains wait. Every epoch is shown by itself when it is over; with --out NAME.run its
//! draws have its number in the column `epoch`, and `events.jsonl` says what its rows were.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use smidgen::draws::Run;
use smidgen::io::{Follower, Reading};
use smidgen::lang::Diagnostic;
use smidgen::sampling::{self, Durable, EpochMark, Follow, Progress, manifest};
use smidgen::value::Table;
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
        session.follow_table(table);
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
        let mut rows = || {
            let known = lock();
            let (follower, over) = (known.follower.clone(), known.over);
            drop(known);
            match args.epochs.is_some_and(|most| over >= most) {
                true => Ok(None),
                false => follower.map_or(Ok(None), |follower| self.wait(&follower)),
            }
        };
        let mut opened = |mark: &EpochMark| {
            let durable = lock().durable.clone();
            durable.map_or(Ok(()), |durable| note(&durable, mark))
        };
        let mut done = |mark: &EpochMark, sampled: Sampled| {
            let shown = self.show(table, mark, &sampled);
            let mut known = lock();
            known.over += usize::from(!sampled.interrupted);
            known.last = Some(sampled);
            shown.map_err(|failure| {
                known.refused = Some(failure);
                Diagnostic::error(None, "the draws cannot be shown")
            })
        };
        let progress = Progress::default();
        let follow = Follow { table, rows: &mut rows, opened: &mut opened, done: &mut done };
        let result = sampling::follow(session, program, request, &progress, folder, follow);
        let Known { durable, refused, last, .. } =
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
        if interrupt.is_set() { Err(Failure::Interrupted) } else { Ok(()) }
    }

    /// Looks each second until there are rows; None if somebody has interrupted.
    fn wait(&self, follower: &Mutex<Follower>) -> Result<Option<Table>, Diagnostic> {
        let stop = &self.interrupt.flag;
        let progress = Progress::default();
        loop {
            let mut follower = follower.lock().unwrap_or_else(PoisonError::into_inner);
            let found = follower.next(Reading { progress: &progress, stop });
            drop(follower);
            match found {
                _ if stop.load(Ordering::Relaxed) => return Ok(None),
                Ok(None) => {}
                Ok(table) => return Ok(table),
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
        let EpochMark { number, rows, new, .. } = mark;
        let run: &Run = &sampled.run;
        match self.args.format {
            Format::Json => {
                let mut object = smidgen::io::run_to_json(run);
                object["epoch"] = json!(number);
                object["rows"] = json!(rows);
                output::line(&object.to_string())?;
            }
            Format::Text => {
                let head = format!("epoch {number}: {rows} rows of `{table}`, {new} of them new\n");
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
    let EpochMark { number, rows, new, .. } = mark;
    let event = json!({"epoch": number, "rows": rows, "new": new, "sums": sums, "time": time});
    durable.folder.note(&event).map_err(|trouble| Diagnostic::error(None, trouble.0))
}
