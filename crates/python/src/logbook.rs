//! The folder of a run whose chains are walked elsewhere, in the hands of whoever hands out the legs.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use smidgen::sampling::legs::Walked;
use smidgen::sampling::{Durable, logbook};

use crate::error::{Problem, failure};
use crate::job::Job;
use crate::order::{Said, taken};

#[pyclass(frozen, module = "smidgen._core")]
#[derive(Clone)]
pub struct Logbook {
    /// None once it is closed.
    book: Arc<Mutex<Option<logbook::Logbook>>>,
    said: Said,
    /// Set to give up waiting for a disk.
    stop: Arc<AtomicBool>,
}

type Found<T> = Result<T, Vec<Problem>>;

impl Logbook {
    pub fn new(book: logbook::Logbook, said: Said, stop: Arc<AtomicBool>) -> Logbook {
        Logbook { book: Arc::new(Mutex::new(Some(book))), said, stop }
    }

    pub fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    fn held(&self) -> MutexGuard<'_, Option<logbook::Logbook>> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&mut logbook::Logbook) -> Found<T>) -> Found<T> {
        match &mut *self.held() {
            Some(book) => work(book),
            None => Err(vec![Problem::plain("the run folder is closed")]),
        }
    }

    pub fn commit(&self, chain: usize, walked: &Walked) -> Found<()> {
        self.with(|book| {
            let done = book.commit(chain, walked);
            done.map_err(|error| Problem::all(&error.0, &Default::default()))
        })
    }

    /// Where a run that is read from the folder finds it.
    pub fn durable(&self) -> Found<Durable> {
        self.with(|book| Ok(book.durable().clone()))
    }
}

#[pymethods]
impl Logbook {
    /// (draws made, checkpoint) of a chain that goes on; None where it begins.
    fn place<'py>(
        &self,
        py: Python<'py>,
        chain: usize,
    ) -> PyResult<Option<(usize, Bound<'py, PyBytes>)>> {
        let place = self.with(|book| {
            let place = book.place(chain);
            place.map_err(|error| Problem::all(&error.0, &Default::default()))
        });
        let place = place.map_err(|problems| failure(py, &problems))?;
        Ok(place.map(|(made, bytes)| (made, PyBytes::new(py, &bytes))))
    }

    /// Puts what a leg has brought into the folder.
    fn keep(
        &self,
        chain: usize,
        streams: Vec<Vec<u8>>,
        checkpoint: Option<Vec<u8>>,
        end: Option<Vec<u8>>,
    ) -> Job {
        Job::commit(self.clone(), chain, Walked { made: 0, streams, checkpoint, end })
    }

    /// Sums of the tables of the run, as JSON.
    fn tables(&self, py: Python<'_>) -> PyResult<String> {
        let tables = self.with(|book| Ok(book.durable().folder.manifest["tables"].to_string()));
        tables.map_err(|problems| failure(py, &problems))
    }

    /// What there is to be said about the folder since somebody asked last.
    fn said(&self) -> Vec<String> {
        taken(&self.said)
    }

    /// Somebody else may run it from now on.
    fn close(&self) {
        self.held().take();
    }
}
