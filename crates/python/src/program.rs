//! A program: its text, and what it takes from outside. Nothing has run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use smidgen::lang::Diagnostic;
use smidgen::load::Loader;
use smidgen::value::{self, Value};
use smidgen::{SampleRequest, Session, Settings, TopDirective};

use crate::data::Table;
use crate::error::{Problem, failure, to_python};
use crate::run::Run;
use crate::value::from_python;

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
        let loader = Loader::new(session.sources_mut());
        let program = loader.text(&self.name, &self.text, &self.folder, 1);
        (session, program)
    }
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

    /// Begins a run and comes back at once.
    #[pyo3(signature = (*, draws, tune, chains, cores, seed, kernel, thin, record, approximate, exact, audit, max_seconds))]
    #[allow(clippy::too_many_arguments)]
    fn start(
        &self,
        draws: usize,
        tune: usize,
        chains: usize,
        cores: Option<usize>,
        seed: u64,
        kernel: Option<String>,
        thin: usize,
        record: Vec<(String, String)>,
        approximate: bool,
        exact: bool,
        audit: Option<f64>,
        max_seconds: Option<f64>,
    ) -> PyResult<Run> {
        let default = SampleRequest::default();
        let request = SampleRequest {
            kernel,
            draws,
            warmup: tune,
            thin: thin.max(1),
            chains,
            seed,
            record: record.iter().map(|(_, text)| text.clone()).collect(),
            threads: cores.unwrap_or(default.threads),
            exact,
            approximate,
            audit,
            budget: max_seconds,
            ..default
        };
        Ok(Run::start(self.parts.clone(), request, record))
    }
}
