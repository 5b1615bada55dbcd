//! A program: its text, and what it takes from outside. Nothing has run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyList};
use smidgen::compile::OnlyRows;
use smidgen::lang::Diagnostic;
use smidgen::likelihood::LikelihoodRequest;
use smidgen::noted::split_rounds;
use smidgen::predict::PredictRequest;
use smidgen::value::{self, Value};
use smidgen::{CompareRequest, SampleRequest, Session, Settings, TopDirective};

use crate::data::Table;
use crate::error::{Problem, failure, to_python};
use crate::job::Job;
use crate::logbook::Logbook;
use crate::order::{CalibrationOrder, Order, Place, Stretch};
use crate::result::Outcome;
use crate::run::Run;
use crate::shard::{Asked, Shard};
use crate::value::{from_python, to_python as to_python_value};

/// What a run needs, on whatever thread it is.
#[derive(Clone)]
pub struct Parts {
    /// As messages know the text.
    pub name: String,
    pub text: String,
    /// Where relative paths in it start.
    pub folder: PathBuf,
    pub params: BTreeMap<String, Value>,
    pub tables: Vec<(String, Arc<value::Table>)>,
    pub data: BTreeMap<String, PathBuf>,
}

#[pyclass(frozen, module = "smidgen._core")]
pub struct Program {
    pub parts: Parts,
}

impl Parts {
    /// A session with the inputs, and the directives of the text.
    pub fn open(
        &self,
        seed: u64,
        interrupt: Arc<AtomicBool>,
    ) -> (Session, Result<Vec<TopDirective>, Vec<Diagnostic>>) {
        let (params, data) = (self.params.clone(), self.data.clone());
        let mut session = Session::new(Settings { seed, params, data, interrupt, watcher: None });
        for (name, table) in &self.tables {
            session.give_table(name, table.clone());
        }
        let program = session.parse_text_in(&self.name, &self.text, &self.folder);
        (session, program)
    }
}

impl Parts {
    /// The same, or what is wrong with the text.
    pub fn read(
        &self,
        seed: u64,
        interrupt: Arc<AtomicBool>,
    ) -> Result<(Session, Vec<TopDirective>), Vec<Problem>> {
        let (session, program) = self.open(seed, interrupt);
        let program = program.map_err(|found| Problem::all(&found, session.sources()))?;
        Ok((session, program))
    }
}

/// (name, text) of expressions.
pub type Labels = Vec<(String, String)>;

/// Of a simulation, by quantity: draws below the truth, and equal to it.
type Ranked = Vec<(String, (usize, usize))>;

/// Rows of tables that are wanted: a byte for each row.
type Rows = Vec<(String, PyBackedBytes)>;

fn only(rows: Rows) -> OnlyRows {
    let wanted = |bytes: &[u8]| bytes.iter().map(|byte| *byte != 0).collect();
    rows.into_iter().map(|(name, bytes)| (name, wanted(&bytes))).collect()
}

pub fn threads(cores: Option<usize>) -> usize {
    cores.unwrap_or(SampleRequest::default().threads)
}

#[pymethods]
impl Program {
    #[new]
    #[pyo3(signature = (name, text, folder, params, tables, data))]
    fn new(
        name: String,
        text: String,
        folder: PathBuf,
        params: &Bound<'_, PyDict>,
        tables: &Bound<'_, PyDict>,
        data: BTreeMap<String, PathBuf>,
    ) -> PyResult<Program> {
        let mut values = BTreeMap::new();
        for (name, value) in params {
            values.insert(name.extract()?, from_python(&value)?);
        }
        let mut given = Vec::new();
        for (name, table) in tables {
            given.push((name.extract()?, table.cast::<Table>()?.get().table.clone()));
        }
        Ok(Program { parts: Parts { name, text, folder, params: values, tables: given, data } })
    }

    #[getter]
    fn text(&self) -> &str {
        &self.parts.text
    }

    /// All mistakes and remarks, without running anything.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let problems = py.detach(|| {
            let (mut session, program) = self.parts.open(0, Arc::default());
            let found = match program {
                Ok(program) => smidgen::check::check(&mut session, &program),
                Err(found) => found,
            };
            Problem::all(&found, session.sources())
        });
        to_python(py, &problems)
    }

    /// What the kernels would do, in words.
    #[pyo3(signature = (kernel, seed))]
    fn explain(&self, py: Python<'_>, kernel: Option<&str>, seed: u64) -> PyResult<String> {
        let text = py.detach(|| {
            let (mut session, program) = self.parts.open(seed, Arc::default());
            let program = program.map_err(|found| Problem::all(&found, session.sources()))?;
            let explained = smidgen::explain::explain(&mut session, &program, kernel, seed);
            explained
                .map(|explained| {
                    smidgen_cli::explain_page(&explained, &self.parts.name, session.sources())
                })
                .map_err(|error| Problem::all(&error.0, session.sources()))
        });
        text.map_err(|problems: Vec<Problem>| failure(py, &problems))
    }

    /// What a text of this program mentions as `{name}`, and the tables that it expects.
    fn wants(&self, py: Python<'_>) -> PyResult<(Vec<String>, Vec<String>)> {
        use smidgen::lang::syntax::DirectiveKind;
        let (session, program) = self.parts.open(0, Arc::default());
        let program =
            program.map_err(|found| failure(py, &Problem::all(&found, session.sources())))?;
        let directives = program.iter().map(|top| &top.directive);
        let names = smidgen::compile::mentioned_parameters(directives);
        let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
        names.sort();
        names.dedup();
        let table = |top: &TopDirective| match &top.directive.kind {
            DirectiveKind::Table { name, .. } => Some(name.name.to_string()),
            _ => None,
        };
        Ok((names, program.iter().filter_map(table).collect()))
    }

    /// Begins a run and comes back at once; in a folder, if there is one.
    fn start(&self, order: Order<'_>, place: Option<Place>) -> PyResult<Run> {
        let (request, record) = order.request()?;
        let place = place.map(|place| place.bound(&self.parts, &record));
        Ok(Run::start(self.parts.clone(), request, record, place))
    }

    /// A leg of a chain: (draws so far, streams, checkpoint, end); see [`smidgen::sampling::legs`].
    fn walk(&self, order: Order<'_>, leg: Stretch) -> PyResult<Job> {
        let (request, _) = order.request()?;
        Ok(Job::walk(self.parts.clone(), request, leg.leg()?))
    }

    /// The folder of a run whose chains are walked elsewhere.
    fn logbook(&self, order: Order<'_>, place: Place) -> PyResult<Job> {
        let (request, record) = order.request()?;
        let place = place.bound(&self.parts, &record);
        Ok(Job::logbook(self.parts.clone(), request, place))
    }

    /// The outcome of chains whose legs have all been walked: (streams, end) of each; the streams are in the folder, if there is one.
    fn gather(
        &self,
        py: Python<'_>,
        order: Order<'_>,
        chains: Vec<(Vec<Vec<u8>>, Vec<u8>)>,
        seconds: f64,
        book: Option<&Bound<'_, Logbook>>,
    ) -> PyResult<Job> {
        let (mut request, labels) = order.request()?;
        let durable = book.map(|book| book.get().durable()).transpose();
        request.durable = durable.map_err(|problems| failure(py, &problems))?;
        Ok(Job::gather(self.parts.clone(), request, labels, chains, seconds))
    }

    /// Sums of its tables by blocks of rows, as JSON.
    fn tables(&self, order: Order<'_>) -> PyResult<Job> {
        let (request, _) = order.request()?;
        Ok(Job::tables(self.parts.clone(), request))
    }

    /// A part of its table, in blocks.
    fn shard(&self, py: Python<'_>, order: Order<'_>, table: &str) -> PyResult<Shard> {
        let (request, _) = order.request()?;
        let opened = py.detach(|| Shard::open(&self.parts, &request, table));
        opened.map_err(|problems| failure(py, &problems))
    }

    /// A chain above rows elsewhere: `front` has some of them, `ask` knows who has the others.
    #[allow(clippy::too_many_arguments)]
    fn sharded(
        &self,
        py: Python<'_>,
        order: Order<'_>,
        front: &Bound<'_, Shard>,
        ask: Py<PyAny>,
        rows: usize,
        reel: usize,
        place: Option<Place>,
    ) -> PyResult<Job> {
        let (request, labels) = order.request()?;
        let front = front.get().only_desk();
        let front = front.ok_or_else(|| failure(py, &[Problem::plain("a front is one block")]))?;
        let shelf = place.map(|place| {
            let rows = place.rows();
            (place.bound(&self.parts, &labels), rows)
        });
        let about = crate::shard::about(labels, &self.parts);
        let asked = Asked::new(ask, rows);
        Ok(Job::sharded(self.parts.clone(), (front, asked), (request, reel), (about, shelf)))
    }

    /// Draws from the prior: (chains, draws of each).
    fn prior(
        &self,
        size: (usize, usize),
        seed: u64,
        record: Labels,
        rows: Rows,
        cores: Option<usize>,
    ) -> Job {
        let request = PredictRequest {
            seed,
            draws: None,
            record: Vec::new(),
            threads: threads(cores),
            rows: only(rows),
        };
        Job::prior(self.parts.clone(), size, request, record)
    }

    /// Predictions with the states of a result of another program, which differs from this in its data at most.
    #[allow(clippy::too_many_arguments)]
    fn predict(
        &self,
        before: &Bound<'_, Program>,
        outcome: &Bound<'_, Outcome>,
        draws: Option<usize>,
        seed: u64,
        record: Labels,
        rows: Rows,
        cores: Option<usize>,
    ) -> Job {
        let (threads, rows) = (threads(cores), only(rows));
        let request = PredictRequest { seed, draws, record: Vec::new(), threads, rows };
        let (before, outcome) = (before.get().parts.clone(), outcome.get().clone());
        Job::predict(self.parts.clone(), before, outcome, request, record)
    }

    fn likelihood(
        &self,
        outcome: &Bound<'_, Outcome>,
        draws: Option<usize>,
        rows: Rows,
        cores: Option<usize>,
    ) -> Job {
        let outcome = outcome.get().clone();
        let (seed, threads, rows) = (outcome.run().seed, threads(cores), only(rows));
        let request = LikelihoodRequest { seed, draws, threads, rows };
        Job::likelihood(self.parts.clone(), outcome, request)
    }

    #[pyo3(signature = (*, kernel, draws, tune, chains, thin, seed, record, cores, max_seconds))]
    #[allow(clippy::too_many_arguments)]
    fn compare(
        &self,
        kernel: Option<String>,
        draws: usize,
        tune: usize,
        chains: usize,
        thin: usize,
        seed: u64,
        record: Vec<String>,
        cores: Option<usize>,
        max_seconds: Option<f64>,
    ) -> Job {
        let (warmup, threads, budget) = (tune, threads(cores), max_seconds);
        let request =
            CompareRequest { kernel, draws, warmup, thin, chains, seed, record, threads, budget };
        Job::compare(self.parts.clone(), request)
    }

    fn calibrate(&self, order: CalibrationOrder) -> Job {
        Job::calibrate(self.parts.clone(), order.request())
    }

    /// Some pilots (shares of effective draws) where the order has no `thin`, else some simulations (places or why not).
    fn part_of_calibration(&self, order: CalibrationOrder, first: usize, end: usize) -> Job {
        Job::part_of_calibration(self.parts.clone(), order.request(), first..end)
    }

    fn collect_calibration(
        &self,
        order: CalibrationOrder,
        places: Vec<(Option<Ranked>, Option<String>)>,
        spacing: (usize, bool),
    ) -> Job {
        let join = |(places, message): (Option<_>, Option<String>)| {
            places.ok_or_else(|| message.unwrap_or_default())
        };
        let places = places.into_iter().map(join).collect();
        Job::collect(self.parts.clone(), order.request(), places, spacing)
    }

    fn enumerate(&self, record: Labels, most: usize) -> Job {
        Job::enumerate(self.parts.clone(), most, record)
    }

    /// (name, round in each loop, value) of every datum; None if there are more than `most`.
    fn observed<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Bound<'py, PyList>>> {
        let found = py.detach(|| {
            let (mut session, program) = self.parts.read(0, Arc::default())?;
            smidgen::observed::observed(&mut session, &program, most)
                .map_err(|error| Problem::all(&error.0, session.sources()))
        });
        let found = found.map_err(|problems: Vec<Problem>| failure(py, &problems))?;
        let Some(found) = found else { return Ok(None) };
        let list = PyList::empty(py);
        for (name, value) in found {
            let (name, rounds) = split_rounds(&name);
            list.append((name, rounds, to_python_value(py, &value)?))?;
        }
        Ok(Some(list))
    }
}
