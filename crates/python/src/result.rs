//! What a run has drawn. Numbers lie in one block per quantity, chain by chain and draw by draw, in
//! memory that NumPy looks at where it is.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use smidgen::draws::{self, Draws, Quantity, States};
use smidgen::io::folder::{self, Standing};
use smidgen::io::{batches_of_draws, decode_states, encode_states, write_draws};
use smidgen::value::{Matrix, Value};
use smidgen::{Sampled, former};

use crate::data::stream;
use crate::groups::groups;
use crate::value::{from_python, to_python};

/// Doubles that NumPy may look at, and nobody changes.
#[pyclass(frozen, module = "smidgen._core")]
pub struct Numbers {
    data: Arc<[f64]>,
    shape: Vec<usize>,
}

impl Numbers {
    pub fn new(data: Arc<[f64]>, shape: Vec<usize>) -> Numbers {
        Numbers { data, shape }
    }

    /// (chain, draw, ...)
    fn of(numbers: &draws::Numbers) -> Numbers {
        let shape = [vec![numbers.chains, numbers.draws], numbers.shape.clone()].concat();
        Numbers { data: numbers.data.clone(), shape }
    }
}

#[pymethods]
impl Numbers {
    /// NumPy's protocol for memory of others, read-only; the array holds this object.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", if cfg!(target_endian = "big") { ">f8" } else { "<f8" })?;
        interface.set_item("shape", pyo3::types::PyTuple::new(py, &self.shape)?)?;
        interface.set_item("data", (self.data.as_ptr().addr(), true))?;
        Ok(interface)
    }
}

struct Inner {
    run: draws::Run,
    /// Numbers of the quantities that somebody asked for; None if they are no numbers of one shape.
    blocks: Vec<OnceLock<Option<draws::Numbers>>>,
    seconds: f64,
    interrupted: bool,
    notes: Vec<String>,
    states: Option<Result<Arc<States>, String>>,
}

#[pyclass(frozen, module = "smidgen._core")]
#[derive(Clone)]
pub struct Outcome {
    inner: Arc<Inner>,
}

/// What a result says beside its draws: (name, text) of recorded expressions, and the program.
#[derive(Clone)]
pub struct About {
    pub labels: Vec<(String, String)>,
    pub text: String,
}

impl Outcome {
    pub fn new(sampled: Sampled, about: About, seconds: f64) -> Outcome {
        let Sampled { mut run, interrupted, notes, states, .. } = sampled;
        about.put_on(&mut run);
        // States belong to the draws by the numbers of these, whatever they are called.
        let fingerprint = run.fingerprint();
        let states =
            states.map(|states| states.map(|states| Arc::new(States { fingerprint, ..states })));
        let blocks = Outcome::no_blocks(&run);
        Outcome { inner: Arc::new(Inner { run, blocks, seconds, interrupted, notes, states }) }
    }

    /// The draws of a run that goes on.
    pub fn so_far(mut run: draws::Run, about: About, seconds: f64) -> Outcome {
        about.put_on(&mut run);
        Outcome::of(run, seconds, true, None)
    }

    pub fn of(
        run: draws::Run,
        seconds: f64,
        interrupted: bool,
        states: Option<Arc<States>>,
    ) -> Outcome {
        let (blocks, states) = (Outcome::no_blocks(&run), states.map(Ok));
        let notes = Vec::new();
        Outcome { inner: Arc::new(Inner { run, blocks, seconds, interrupted, notes, states }) }
    }

    /// A run with the names that somebody gave.
    pub fn finished(mut run: draws::Run, about: About, seconds: f64) -> Outcome {
        about.put_on(&mut run);
        Outcome::of(run, seconds, false, None)
    }

    fn no_blocks(run: &draws::Run) -> Vec<OnceLock<Option<draws::Numbers>>> {
        run.draws.quantities().iter().map(|_| OnceLock::new()).collect()
    }

    pub fn run(&self) -> &draws::Run {
        &self.inner.run
    }

    /// The states that were kept, or why there are none; None if nobody asked for them.
    pub fn states(&self) -> Option<&Result<Arc<States>, String>> {
        self.inner.states.as_ref()
    }
}

impl About {
    fn put_on(self, run: &mut draws::Run) {
        if !self.labels.is_empty() {
            run.draws = labelled(&run.draws, &self.labels);
            run.warmup = labelled(&run.warmup, &self.labels);
        }
        run.program = self.text;
    }
}

/// The draws, with the names that somebody gave to expressions: they come last.
pub fn labelled(draws: &Draws, labels: &[(String, String)]) -> Draws {
    let mut named = Draws::default();
    let first = draws.quantities().len().saturating_sub(labels.len());
    for (k, quantity) in draws.quantities().iter().enumerate() {
        let label = k.checked_sub(first).map(|i| labels[i].0.clone());
        named.add(Quantity::new(
            label.unwrap_or_else(|| quantity.name.clone()),
            quantity.chains.clone(),
        ));
    }
    named
}

#[pymethods]
impl Outcome {
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.inner.run.draws.quantities().iter().map(|q| q.name.as_str()).collect()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.run.seed
    }

    #[getter]
    fn program(&self) -> &str {
        &self.inner.run.program
    }

    #[getter]
    fn version(&self) -> &str {
        &self.inner.run.version
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.inner.seconds
    }

    #[getter]
    fn interrupted(&self) -> bool {
        self.inner.interrupted
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.run.warnings.clone()
    }

    /// Draws per chain.
    #[getter]
    fn lengths(&self) -> Vec<usize> {
        let quantities = self.inner.run.draws.quantities();
        quantities.first().map_or_else(Vec::new, |q| q.chains.iter().map(Vec::len).collect())
    }

    /// The numbers of a quantity; None if they are no numbers of one shape.
    fn numbers(&self, py: Python<'_>, name: &str) -> PyResult<Option<Numbers>> {
        let quantities = self.inner.run.draws.quantities();
        let place = quantities.iter().position(|quantity| quantity.name == name);
        let place = place.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let find = || self.inner.blocks[place].get_or_init(|| quantities[place].numbers());
        Ok(py.detach(find).as_ref().map(Numbers::of))
    }

    /// Quantities of loops put together, (name, rounds, numbers): see [`crate::groups`].
    fn groups(&self, py: Python<'_>) -> Vec<(String, Vec<Vec<i64>>, Numbers)> {
        py.detach(|| groups(&self.inner.run.draws))
    }

    /// Numbers by name of "stats", "warmup" or "warmup_stats", where they were kept.
    fn beside(&self, py: Python<'_>, what: &str) -> Vec<(String, Numbers)> {
        let run = &self.inner.run;
        let draws = match what {
            "stats" => &run.stats,
            "warmup" => &run.warmup,
            _ => &run.warmup_stats,
        };
        let each =
            |quantity: &Quantity| Some((quantity.name.clone(), Numbers::of(&quantity.numbers()?)));
        py.detach(|| draws.quantities().iter().filter_map(each).collect())
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes.clone()
    }

    /// How many states there are, or why there are none.
    fn kept(&self) -> (usize, Option<String>) {
        match &self.inner.states {
            Some(Ok(states)) => (states.len(), states.thinned()),
            Some(Err(reason)) => (0, Some(reason.clone())),
            None => (0, None),
        }
    }

    /// All draws of a quantity as Python objects, chain by chain.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let quantity = self.inner.run.draws.get(name);
        let quantity = quantity.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        chains_of(py, quantity)
    }

    /// One tuple per number: name, mean, sd, mcse, 5%, 50%, 95%, ess_bulk, ess_tail, r_hat.
    fn summary(&self, py: Python<'_>) -> Vec<(String, [f64; 9])> {
        let rows = py.detach(|| draws::summarise(&self.inner.run.draws));
        let each = |row: draws::SummaryRow| {
            let numbers = [
                row.mean,
                row.sd,
                row.mcse,
                row.q5,
                row.q50,
                row.q95,
                row.ess_bulk,
                row.ess_tail,
                row.r_hat,
            ];
            (row.name, numbers)
        };
        rows.into_iter().map(each).collect()
    }

    /// The command's table.
    fn table(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let rows = draws::summarise(&self.inner.run.draws);
            if rows.is_empty() { String::new() } else { draws::table(&rows) }
        })
    }

    /// What is no number, and why.
    fn left_out(&self) -> Vec<(String, String)> {
        self.inner.run.draws.unflattened()
    }

    /// What the kernels did, as JSON.
    fn kernels(&self) -> String {
        smidgen::io::json::kernels_to_json(&self.inner.run.kernels).to_string()
    }

    /// Writes the draws, and the states beside them; gives what is not in the file, and a note about the states.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<Saved> {
        py.detach(|| {
            let written = write_draws(&path, &self.inner.run).map_err(|error| error.to_string())?;
            let states = self.inner.states.as_ref().and_then(|states| states.as_ref().ok());
            let note = former::keep_states(&path, states.map(AsRef::as_ref))?;
            Ok((written.skipped, note))
        })
        .map_err(|error: String| PyOSError::new_err(error))
    }

    /// The page of `--html`.
    fn report(&self, py: Python<'_>, title: String, facts: Vec<(String, String)>) -> String {
        py.detach(|| {
            let run = &self.inner.run;
            let page = smidgen::report::RunPage { title, run, facts, only: Vec::new() };
            smidgen::report::run_report(&page).html
        })
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, pyo3::types::PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batches = py.detach(|| batches_of_draws(&self.inner.run));
        let (schema, batches) = batches.map_err(|error| PyOSError::new_err(error.to_string()))?;
        stream(py, batches, schema, requested_schema)
    }

    /// What [`Outcome::__setstate__`] makes it again from.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        let run = &self.inner.run;
        let mut bare = run.clone();
        bare.draws = Draws::default();
        state.set_item("about", smidgen::io::run_to_json(&bare).to_string())?;
        state.set_item("seed", run.seed)?;
        state.set_item("seconds", self.inner.seconds)?;
        state.set_item("interrupted", self.inner.interrupted)?;
        let quantities = PyList::empty(py);
        for quantity in run.draws.quantities() {
            quantities.append((&quantity.name, self.values(py, &quantity.name)?))?;
        }
        state.set_item("quantities", quantities)?;
        for (name, of) in BESIDE {
            let beside = PyList::empty(py);
            for quantity in of(run).quantities() {
                beside.append((&quantity.name, chains_of(py, quantity)?))?;
            }
            state.set_item(name, beside)?;
        }
        if let Some(Ok(states)) = &self.inner.states
            && let Ok(bytes) = py.detach(|| encode_states(states))
        {
            state.set_item("states", PyBytes::new(py, &bytes))?;
        }
        Ok(state)
    }

    #[staticmethod]
    fn from_state(state: &Bound<'_, PyDict>) -> PyResult<Outcome> {
        let get =
            |name: &str| state.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()));
        let about: String = get("about")?.extract()?;
        let mut run = smidgen::io::recorded::run_from_json(&about)
            .map_err(pyo3::exceptions::PyValueError::new_err)?;
        run.seed = get("seed")?.extract()?;
        run.draws = quantities(&get("quantities")?)?;
        run.chains = run.draws.quantities().first().map_or(0, |q| q.chains.len());
        for (name, place) in BESIDE_MUT {
            if let Some(list) = state.get_item(name)? {
                *place(&mut run) = quantities(&list)?;
            }
        }
        let states = match state.get_item("states")? {
            Some(bytes) => decode_states(bytes.cast::<PyBytes>()?.as_bytes()).map(Arc::new),
            None => None,
        };
        let (seconds, interrupted) = (get("seconds")?.extract()?, get("interrupted")?.extract()?);
        Ok(Outcome::of(run, seconds, interrupted, states))
    }
}

type Part = fn(&draws::Run) -> &Draws;
type PartMut = fn(&mut draws::Run) -> &mut Draws;

/// What a pickle has beside the draws.
const BESIDE: [(&str, Part); 3] = [
    ("stats", |run| &run.stats),
    ("warmup", |run| &run.warmup),
    ("warmup_stats", |run| &run.warmup_stats),
];
const BESIDE_MUT: [(&str, PartMut); 3] = [
    ("stats", |run| &mut run.stats),
    ("warmup", |run| &mut run.warmup),
    ("warmup_stats", |run| &mut run.warmup_stats),
];

/// What is not in a file, and what there is to be said about the states.
type Saved = (Vec<(String, String)>, Option<String>);

fn chains_of<'py>(py: Python<'py>, quantity: &Quantity) -> PyResult<Bound<'py, PyList>> {
    let chains = PyList::empty(py);
    for chain in &quantity.chains {
        let values = PyList::empty(py);
        for value in chain {
            values.append(to_python(py, value)?)?;
        }
        chains.append(values)?;
    }
    Ok(chains)
}

fn quantities(list: &Bound<'_, PyAny>) -> PyResult<Draws> {
    let mut draws = Draws::default();
    for item in list.try_iter()? {
        let (name, chains): (String, Bound<'_, PyAny>) = item?.extract()?;
        let mut kept = Vec::new();
        for chain in chains.try_iter()? {
            let values: PyResult<Vec<Value>> =
                chain?.try_iter()?.map(|value| drawn(&value?)).collect();
            kept.push(values?);
        }
        draws.add(Quantity::new(name, kept));
    }
    Ok(draws)
}

/// A value that has been written as lists: rows of numbers are a matrix again.
fn drawn(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let value = from_python(value)?;
    if let Value::Array(items) = &value {
        let rows: Option<Vec<&[f64]>> = items
            .iter()
            .map(|item| if let Value::Vector(xs) = item { Some(&xs[..]) } else { None })
            .collect();
        if let Some(rows) = rows.filter(|rows| !rows.is_empty())
            && rows.iter().all(|row| row.len() == rows[0].len())
        {
            return Ok(Value::matrix(Matrix::new(rows.len(), rows[0].len(), rows.concat())));
        }
    }
    Ok(value)
}

/// The run of a file that `save` or `smidgen sample --out` wrote, or of a run folder, which may be unfinished.
#[pyfunction]
pub fn read_outcome(py: Python<'_>, path: PathBuf) -> PyResult<Outcome> {
    let read = || {
        let mut run = smidgen::io::read_run(&path).map_err(|error| error.to_string())?;
        let mut unfinished = false;
        if path.is_dir() {
            let manifest = folder::manifest(&path).map_err(|trouble| trouble.0)?;
            unfinished = folder::standing(&path) != Standing::Finished;
            About { labels: labels(&manifest), text: run.program.clone() }.put_on(&mut run);
        }
        let states = former::kept_states(&path, &run)?;
        Ok((run, unfinished, states.map(Arc::new)))
    };
    let read = py.detach(read);
    let (run, unfinished, states) = read.map_err(|error: String| PyOSError::new_err(error))?;
    Ok(Outcome::of(run, 0.0, unfinished, states))
}

/// The names that a folder has for expressions.
fn labels(manifest: &serde_json::Value) -> Vec<(String, String)> {
    let text = |json: &serde_json::Value| json.as_str().map(str::to_owned);
    let labels = manifest["labels"].as_array().into_iter().flatten();
    labels.filter_map(|pair| Some((text(&pair[0])?, text(&pair[1])?))).collect()
}

/// What stands at a path: "nothing", "unfinished", "finished", or "other" if it is no run folder.
#[pyfunction]
pub fn standing(path: PathBuf) -> &'static str {
    match folder::standing(&path) {
        Standing::Nothing => "nothing",
        Standing::Unfinished => "unfinished",
        Standing::Finished => "finished",
        Standing::Other => "other",
    }
}

/// Removes a run folder.
#[pyfunction]
pub fn discard_folder(path: PathBuf) -> PyResult<()> {
    folder::discard(&path).map_err(|trouble| PyOSError::new_err(trouble.0))
}
