//! Diagnostics as Python data: `_errors.py` makes exceptions of them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use smidgen::lang::{Diagnostic, Severity, SourceMap, Span};

/// Bytes of a text that the caller knows by name.
#[derive(Clone, Debug)]
pub struct Place {
    source: String,
    start: u32,
    end: u32,
}

/// A diagnostic that has left its session.
#[derive(Clone, Debug)]
pub struct Problem {
    is_error: bool,
    message: String,
    label: String,
    place: Option<Place>,
    path: Vec<(String, Place)>,
    hints: Vec<String>,
}

impl Problem {
    pub fn new(diagnostic: &Diagnostic, sources: &SourceMap) -> Problem {
        let place = |span: Span| Place {
            source: sources.get(span.source).name.clone(),
            start: span.start,
            end: span.end,
        };
        Problem {
            is_error: diagnostic.severity == Severity::Error,
            message: diagnostic.message.clone(),
            label: diagnostic.label.clone(),
            place: diagnostic.span.map(place),
            path: diagnostic.path.iter().map(|(text, span)| (text.clone(), place(*span))).collect(),
            hints: diagnostic.hints.clone(),
        }
    }

    pub fn all(diagnostics: &[Diagnostic], sources: &SourceMap) -> Vec<Problem> {
        diagnostics.iter().map(|diagnostic| Problem::new(diagnostic, sources)).collect()
    }

    /// Something that has no place in a program.
    pub fn plain(message: impl Into<String>) -> Problem {
        Problem {
            is_error: true,
            message: message.into(),
            label: String::new(),
            place: None,
            path: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// The result of work that did not come to its end.
    pub fn failed<T>(message: &str) -> Result<T, Vec<Problem>> {
        Err(vec![Problem::plain(message)])
    }

    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let triple = |place: &Place| (place.source.clone(), place.start, place.end);
        let dict = PyDict::new(py);
        dict.set_item("is_error", self.is_error)?;
        dict.set_item("message", &self.message)?;
        dict.set_item("label", &self.label)?;
        dict.set_item("place", self.place.as_ref().map(triple))?;
        let path: Vec<_> =
            self.path.iter().map(|(text, place)| (text.clone(), triple(place))).collect();
        dict.set_item("path", path)?;
        dict.set_item("hints", &self.hints)?;
        Ok(dict)
    }
}

/// What `_errors.py` reads: a list of dictionaries.
pub fn to_python<'py>(py: Python<'py>, problems: &[Problem]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        list.append(problem.to_python(py)?)?;
    }
    Ok(list)
}

pyo3::create_exception!(
    smidgen._core,
    Failure,
    pyo3::exceptions::PyException,
    "What went wrong, as a list of diagnostics; never seen by users."
);

/// The exception that carries these.
pub fn failure(py: Python<'_>, problems: &[Problem]) -> PyErr {
    match to_python(py, problems) {
        Ok(list) => Failure::new_err((list.unbind(),)),
        Err(error) => error,
    }
}
