//! A part of a table with the densities above its blocks, for a chain that runs elsewhere; and that chain.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;
use smidgen::contents::{BLOCK, Contents};
use smidgen::draws::{self, Draws};
use smidgen::engine::taylor::Sums;
use smidgen::infer::KernelRecord;
use smidgen::sampling::sharded::{self, Desk, Exact, Place, Shards};
use smidgen::sampling::{Durable, Progress, SampleError, manifest};
use smidgen::value::{Column, Table};
use smidgen::{SampleRequest, Session};

use crate::error::{Problem, failure};
use crate::order::Bounded;
use crate::program::{Labels, Parts};
use crate::result::{About, Outcome};
use crate::value::to_python;

type Found<T> = Result<T, Vec<Problem>>;

/// The block at which a chain runs.
pub type Front = Desk;

/// A file of rows, in blocks.
#[pyclass(frozen, module = "smidgen._core")]
pub struct Shard {
    held: Mutex<Held>,
}

struct Held {
    desks: Vec<Desk>,
    table: Table,
    /// Sums of its rows, as in run folders.
    contents: String,
}

/// (name, kind, cells, width), as [`crate::data::Table::from_arrays`] takes columns.
type Cells<'py> = Vec<(&'static str, &'static str, Bound<'py, PyList>, usize)>;

/// Value, gradient, Hessian.
type Summed = (f64, Vec<f64>, Vec<f64>);

/// A ball: centre, lower factor, radius.
type Ball = (Vec<f64>, Vec<f64>, f64);

fn differs(block: usize) -> Vec<Problem> {
    let rows = (block * BLOCK, (block + 1) * BLOCK - 1);
    let message = format!(
        "the bounds of rows {} to {} do not add up to what they did when they were made",
        rows.0, rows.1
    );
    vec![Problem::plain(message)]
}

impl Shard {
    /// The rows of a program's table, which it reads or was given.
    pub fn open(parts: &Parts, request: &SampleRequest, name: &str) -> Found<Shard> {
        let stop = Arc::new(AtomicBool::new(false));
        let problems =
            |error: SampleError, session: &Session| Problem::all(&error.0, session.sources());
        let (mut session, program) = parts.read(request.seed, stop.clone())?;
        let table = sharded::table_of(&mut session, &program, request, name);
        let table = table.map_err(|error| problems(error, &session))?;
        let mut desks = Vec::new();
        for block in sharded::blocks(&table) {
            let mut own = parts.clone();
            own.data.remove(name);
            own.tables.retain(|(known, _)| known != name);
            own.tables.push((name.to_owned(), block));
            let (mut session, program) = own.read(request.seed, stop.clone())?;
            let desk = Desk::open(&mut session, &program, request, name);
            desks.push(desk.map_err(|error| problems(error, &session))?);
        }
        let contents = [Contents::of(name, &table)];
        let contents = contents.iter().map(manifest::table_to_json).collect::<serde_json::Value>();
        let held = Held { desks, table, contents: contents.to_string() };
        Ok(Shard { held: Mutex::new(held) })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its only block, for whoever runs the chain.
    pub fn only_desk(&self) -> Option<Desk> {
        let mut held = self.held();
        match held.desks.len() {
            1 => held.desks.pop(),
            _ => None,
        }
    }
}

#[pymethods]
impl Shard {
    /// (rows of each block, coordinates, addresses of these, sums of the rows)
    fn about(&self) -> (Vec<usize>, usize, Vec<u64>, String) {
        let held = self.held();
        let rows = held.desks.iter().map(Desk::rows).collect();
        let (dimension, addresses) =
            held.desks.first().map_or_else(Default::default, |d| (d.dimension(), d.addresses()));
        (rows, dimension, addresses, held.contents.clone())
    }

    /// Value, gradient and Hessian of each block; None where a row has none.
    fn sums(&self, py: Python<'_>, theta: Vec<f64>, stride: usize) -> Vec<Option<Summed>> {
        py.detach(|| {
            let mut held = self.held();
            let parts = |sums: Sums| (sums.value, sums.gradient, sums.hessian);
            held.desks.iter_mut().map(|desk| desk.sums(&theta, stride).map(parts)).collect()
        })
    }

    /// The log densities of each block at several points.
    fn sections(&self, py: Python<'_>, thetas: Vec<f64>) -> Vec<Vec<f64>> {
        py.detach(|| {
            let mut held = self.held();
            held.desks.iter_mut().map(|desk| desk.log_sections_of_many(&thetas)).collect()
        })
    }

    /// The sum of the bounds of each block.
    fn bounds(&self, py: Python<'_>, ball: Ball) -> Vec<f64> {
        py.detach(|| {
            let mut held = self.held();
            let (centre, lower, radius) = ball;
            held.desks.iter_mut().map(|desk| desk.bound(&centre, &lower, radius)).collect()
        })
    }

    /// The rows at these places (block, place in its bounds, their sum as it was when they were made), with their bounds.
    fn rows_at<'py>(
        &self,
        py: Python<'py>,
        ball: Ball,
        places: Vec<Place>,
    ) -> PyResult<(Vec<f64>, Cells<'py>)> {
        let found = py.detach(|| {
            let mut held = self.held();
            let (centre, lower, radius) = &ball;
            let row = |(block, place, sum): Place| {
                let desk = held.desks.get_mut(block).ok_or_else(|| differs(block))?;
                if desk.bound(centre, lower, *radius) != sum {
                    return Err(differs(block));
                }
                let (row, bound) = desk.rows_at((centre, lower, *radius), &[place])[0];
                Ok((block * BLOCK + row, f64::from(bound)))
            };
            places.into_iter().map(row).collect::<Found<(Vec<usize>, Vec<f64>)>>()
        });
        let (rows, bounds) = found.map_err(|problems| failure(py, &problems))?;
        Ok((bounds, self.cells(py, rows)?))
    }

    /// The columns of some rows.
    fn cells<'py>(&self, py: Python<'py>, rows: Vec<usize>) -> PyResult<Cells<'py>> {
        let table = self.held().table.take(&rows);
        let mut cells = Vec::new();
        for name in table.names() {
            let column = table.column(*name).expect("a name has its column");
            let (kind, width) = match column {
                Column::Reals(_) => ("reals", 1),
                Column::Booleans(_) => ("booleans", 1),
                Column::Texts(_) => ("texts", 1),
                Column::Vectors { width, .. } => ("vectors", *width),
            };
            let list = match column.reals() {
                Some(reals) => PyList::new(py, reals.data)?,
                None => {
                    let list = PyList::empty(py);
                    for i in 0..column.len() {
                        list.append(to_python(py, &column.cell(i))?)?;
                    }
                    list
                }
            };
            cells.push((name.as_str(), kind, list, width));
        }
        Ok(cells)
    }
}

/// How tables differ from what they were; None if they do not.
#[pyfunction]
pub fn tables_differ(then: &str, now: &str) -> Option<String> {
    let read = |text: &str| serde_json::from_str(text).unwrap_or_default();
    manifest::tables_differ(&read(then), &read(now))
}

/// A reel as it comes: from a thread that waits for those who bring it.
type Coming = JoinHandle<Option<(Desk, Vec<f32>)>>;

/// Those who have the rows, asked through a function of Python's: `ask(what, ...)` gives None where that failed.
pub struct Asked {
    ask: Arc<Py<PyAny>>,
    rows: usize,
    coming: Option<Coming>,
}

fn get<T>(
    ask: &Py<PyAny>,
    args: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>,
    take: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
) -> Option<T> {
    Python::attach(|py| {
        let answer = ask.call1(py, (args(py).ok()?,)).ok()?.into_bound(py);
        // What failed is known where it was asked.
        if answer.is_none() { None } else { take(&answer).ok() }
    })
}

impl Asked {
    pub fn new(ask: Py<PyAny>, rows: usize) -> Asked {
        Asked { ask: Arc::new(ask), rows, coming: None }
    }

    fn get<T>(
        &self,
        args: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>,
        take: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        get(&self.ask, args, take)
    }
}

fn words<'py, T: IntoPyObjectExt<'py>>(py: Python<'py>, words: T) -> PyResult<Py<PyAny>> {
    words.into_py_any(py)
}

impl Shards for Asked {
    fn rows(&self) -> usize {
        self.rows
    }

    fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Vec<Option<Sums>>> {
        let found: Vec<Option<Summed>> =
            self.get(|py| words(py, ("sums", theta, stride)), |a| a.extract())?;
        let sums = |(value, gradient, hessian)| Sums { value, gradient, hessian };
        Some(found.into_iter().map(|parts| parts.map(sums)).collect())
    }

    fn log_sections_of_many(&mut self, thetas: &[f64]) -> Option<Vec<Vec<f64>>> {
        self.get(|py| words(py, ("sections", thetas)), |a| a.extract())
    }

    fn bounds(&mut self, centre: &[f64], lower: &[f64], radius: f64) -> Option<Vec<f64>> {
        self.get(|py| words(py, ("bounds", (centre, lower, radius))), |a| a.extract())
    }

    fn stand_in(&mut self, centre: &[f64], lower: &[f64], radius: f64) {
        let ball = |py: Python<'_>| words(py, ("ball", (centre, lower, radius)));
        self.get(ball, |_| Ok(()));
    }

    fn ask_for_reel(&mut self, places: Vec<Place>) {
        let ask = self.ask.clone();
        let take = |answer: &Bound<'_, PyAny>| {
            let (shard, bounds): (Bound<'_, Shard>, Vec<f64>) = answer.extract()?;
            Ok((shard.get().only_desk(), bounds))
        };
        let bring = move || {
            let (desk, bounds) = get(&ask, |py| words(py, ("reel", places)), take)?;
            // They came from singles.
            Some((desk?, bounds.into_iter().map(|c| c as f32).collect()))
        };
        let thread = std::thread::Builder::new().name("smidgen reel".to_owned());
        self.coming = thread.spawn(bring).ok();
    }

    fn reel(&mut self) -> Option<(Desk, Vec<f32>)> {
        self.coming.take()?.join().ok()?
    }
}

/// The run folder of a sharded run, if it has one, and what its manifest says about the rows (JSON).
pub type Shelf = Option<(Bounded, String)>;

/// A folder for the chains.
fn durable(
    parts: &Parts,
    request: &SampleRequest,
    shelf: &Shelf,
    stop: &Arc<AtomicBool>,
) -> Found<Option<Durable>> {
    let Some((place, rows)) = shelf else { return Ok(None) };
    let (session, _) = parts.read(request.seed, stop.clone())?;
    let rows = serde_json::from_str(rows).unwrap_or_default();
    let made = place.folder_of(&session, request, stop.clone(), Some(rows));
    made.map_err(|error| Problem::all(&error.0, session.sources()))
}

/// Runs the chain.
pub fn run(
    (front, asked): (Desk, &mut Asked),
    parts: &Parts,
    (request, reel): (&SampleRequest, usize),
    (about, shelf): (About, Shelf),
    (progress, interrupt): (&Progress, Arc<AtomicBool>),
) -> Found<(Outcome, u64, f64)> {
    let begun = std::time::Instant::now();
    let durable = durable(parts, request, &shelf, &interrupt)?;
    let SampleRequest { chains, draws, warmup: tune, thin, seed, .. } = *request;
    let exact = Exact { chains, draws, tune, thin, seed, reel, durable };
    let drawn = sharded::run(front, asked, &exact, progress, &interrupt);
    let drawn = drawn.map_err(|error| Problem::all(&error.0, &Default::default()))?;
    let record = KernelRecord { tally: drawn.tally, ..KernelRecord::default() };
    let so_far =
        draws::Run { draws: Draws::join(drawn.chains), long: drawn.long, ..draws::Run::default() };
    let run = draws::Run {
        seed,
        chains,
        kernels: vec![record.report("(reference_mh default all 1)")],
        warnings: draws::advice(&draws::summarise_run(&so_far)),
        program: parts.text.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..so_far
    };
    if let Some(durable) = &exact.durable {
        let finished = manifest::finish(durable, &run);
        finished.map_err(|trouble| vec![Problem::plain(trouble.0)])?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok((Outcome::finished(run, about, seconds), drawn.reels, drawn.total))
}

/// Names of what is recorded.
pub fn about(labels: Labels, parts: &Parts) -> About {
    About { labels, text: parts.text.clone() }
}
