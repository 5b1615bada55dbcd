//! Directives one after the other on one trace.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyList;
use smidgen::{OutcomeKind, Settings};

use crate::data::Table;
use crate::error::{Problem, failure};
use crate::value::{from_python, to_python};

#[pyclass(frozen, module = "smidgen._core")]
pub struct Session {
    session: Mutex<smidgen::Session>,
    interrupt: Arc<AtomicBool>,
}

type Shown = (usize, Option<String>, &'static str, smidgen::value::Value, Vec<String>);

#[pymethods]
impl Session {
    #[new]
    fn new(seed: u64) -> Session {
        let interrupt = Arc::new(AtomicBool::new(false));
        let settings = Settings { seed, interrupt: interrupt.clone(), ..Settings::default() };
        Session { session: Mutex::new(smidgen::Session::new(settings)), interrupt }
    }

    fn stop(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// A table that `[table name]` takes.
    fn give_table(&self, name: &str, table: &Bound<'_, Table>) {
        let table = table.get().table.clone();
        self.session.lock().unwrap_or_else(PoisonError::into_inner).give_table(name, table);
    }

    /// Rows that come after those of a table: the number of the first, how many, and the loops that observe them.
    fn append(
        &self,
        py: Python<'_>,
        name: &str,
        table: &Bound<'_, Table>,
    ) -> PyResult<(usize, usize, usize)> {
        self.interrupt.store(false, Ordering::Relaxed);
        let rows = table.get().table.clone();
        let appended = py.detach(|| {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            let appended = session.append(name, &rows);
            appended.map_err(|found| Problem::all(&found, session.sources()))
        });
        let appended = appended.map_err(|problems| failure(py, &problems))?;
        Ok((appended.first, appended.rows, appended.loops))
    }

    fn give_parameter(&self, name: String, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = from_python(value)?;
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.give_parameter(name, value);
        Ok(())
    }

    /// Executes a text; (number, label, kind, value, warnings) of what its directives show.
    fn run<'py>(&self, py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyList>> {
        self.interrupt.store(false, Ordering::Relaxed);
        let shown = py.detach(|| -> Result<Vec<Shown>, Vec<Problem>> {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            let program = session.parse_text(name, text);
            let program = program.map_err(|found| Problem::all(&found, session.sources()))?;
            let mut shown = Vec::new();
            for directive in &program {
                let outcomes = session.execute(directive);
                let outcomes = outcomes.map_err(|found| Problem::all(&found, session.sources()))?;
                shown.extend(outcomes.into_iter().map(|outcome| {
                    let warnings = match &outcome.kind {
                        OutcomeKind::Infer(inferred) => inferred.warnings.clone(),
                        _ => Vec::new(),
                    };
                    let value = outcome.kind.value().unwrap_or_default();
                    (outcome.directive, outcome.label, outcome.kind.name(), value, warnings)
                }));
            }
            Ok(shown)
        });
        let shown = shown.map_err(|problems| failure(py, &problems))?;
        let list = PyList::empty(py);
        for (number, label, kind, value, warnings) in shown {
            list.append((number, label, kind, to_python(py, &value)?, warnings))?;
        }
        Ok(list)
    }
}
