//! What a run has drawn. Numbers lie in one block per quantity, chain by chain and draw by draw, in
//! memory that NumPy looks at where it is.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use smidgen::Sampled;
use smidgen::draws::{self, Draws, Quantity};
use smidgen::io::{batches_of_draws, write_draws};
use smidgen::value::{Matrix, Value};

use crate::data::stream;
use crate::value::{from_python, to_python};

/// Doubles that NumPy may look at, and nobody changes.
#[pyclass(frozen, module = "smidgen._core")]
pub struct Numbers {
    data: Arc<[f64]>,
    shape: Vec<usize>,
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

/// A quantity whose draws are numbers of one shape.
struct Block {
    name: String,
    data: Arc<[f64]>,
    shape: Vec<usize>,
}

struct Inner {
    run: draws::Run,
    blocks: Vec<Block>,
    seconds: f64,
    interrupted: bool,
}

#[pyclass(frozen, module = "smidgen._core")]
#[derive(Clone)]
pub struct Outcome {
    inner: Arc<Inner>,
}

impl Outcome {
    pub fn new(
        sampled: Sampled,
        program: String,
        labels: &[(String, String)],
        seconds: f64,
    ) -> Outcome {
        Outcome::with_labels(sampled.run, program, labels, seconds, sampled.interrupted)
    }

    pub fn with_labels(
        mut run: draws::Run,
        program: String,
        labels: &[(String, String)],
        seconds: f64,
        interrupted: bool,
    ) -> Outcome {
        if !labels.is_empty() {
            run.draws = labelled(&run.draws, labels);
        }
        run.program = program;
        Outcome::of(run, seconds, interrupted)
    }

    fn of(run: draws::Run, seconds: f64, interrupted: bool) -> Outcome {
        let blocks = run.draws.quantities().iter().filter_map(block).collect();
        Outcome { inner: Arc::new(Inner { run, blocks, seconds, interrupted }) }
    }
}

/// The draws, with the names that somebody gave to expressions: they come last.
fn labelled(draws: &Draws, labels: &[(String, String)]) -> Draws {
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

/// The shape of a value that is made of numbers alone.
fn shape(value: &Value) -> Option<Vec<usize>> {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::Linked(..) => Some(Vec::new()),
        Value::Vector(xs) => Some(vec![xs.len()]),
        Value::Matrix(m) => Some(vec![m.rows(), m.cols()]),
        Value::Array(_) | Value::Pair(_) => {
            let items = items(value)?;
            let inner = shape(items.first()?)?;
            let alike = items.iter().all(|item| shape(item).as_ref() == Some(&inner));
            alike.then(|| [vec![items.len()], inner].concat())
        }
        _ => None,
    }
}

fn items(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items.to_vec()),
        _ => {
            let (mut items, mut link) = (Vec::new(), value);
            while let Value::Pair(pair) = link {
                items.push(pair.first.clone());
                link = &pair.rest;
            }
            matches!(link, Value::Nil).then_some(items)
        }
    }
}

fn put(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Vector(xs) => into.extend(xs.iter()),
        Value::Matrix(m) => into.extend(m.as_slice()),
        Value::Array(_) | Value::Pair(_) => {
            items(value).unwrap_or_default().iter().for_each(|item| put(item, into));
        }
        _ => into.push(value.as_number().unwrap_or(f64::NAN)),
    }
}

/// Chains of an interrupted run are cut to the shortest.
fn block(quantity: &Quantity) -> Option<Block> {
    let draws = quantity.chains.iter().map(Vec::len).min()?;
    let first = quantity.chains.first()?.first()?;
    let inner = shape(first)?;
    let mut data = Vec::new();
    for value in quantity.chains.iter().flat_map(|chain| &chain[..draws]) {
        if shape(value).as_ref() != Some(&inner) {
            return None;
        }
        put(value, &mut data);
    }
    let shape = [vec![quantity.chains.len(), draws], inner].concat();
    Some(Block { name: quantity.name.clone(), data: data.into(), shape })
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
    fn numbers(&self, name: &str) -> PyResult<Option<Numbers>> {
        if self.inner.run.draws.get(name).is_none() {
            return Err(PyKeyError::new_err(name.to_owned()));
        }
        let block = self.inner.blocks.iter().find(|block| block.name == name);
        Ok(block.map(|block| Numbers { data: block.data.clone(), shape: block.shape.clone() }))
    }

    /// All draws of a quantity as Python objects, chain by chain.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let quantity = self.inner.run.draws.get(name);
        let quantity = quantity.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
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

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<(String, String)>> {
        let written = py.detach(|| write_draws(&path, &self.inner.run));
        Ok(written.map_err(|error| PyOSError::new_err(error.to_string()))?.skipped)
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
        for item in get("quantities")?.try_iter()? {
            let (name, chains): (String, Bound<'_, PyAny>) = item?.extract()?;
            let mut kept = Vec::new();
            for chain in chains.try_iter()? {
                let values: PyResult<Vec<Value>> =
                    chain?.try_iter()?.map(|value| drawn(&value?)).collect();
                kept.push(values?);
            }
            run.chains = kept.len();
            run.draws.add(Quantity::new(name, kept));
        }
        Ok(Outcome::of(run, get("seconds")?.extract()?, get("interrupted")?.extract()?))
    }
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

/// The run of a file that `save` or `smidgen sample --out` wrote.
#[pyfunction]
pub fn read_outcome(py: Python<'_>, path: PathBuf) -> PyResult<Outcome> {
    let run = py.detach(|| smidgen::io::read_run(&path));
    let run = run.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(Outcome::of(run, 0.0, false))
}
