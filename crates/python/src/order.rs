//! What is asked of a run, and the folder that it is written to.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::Value as Json;
use smidgen::calibrate::{CalibrateRequest, PILOTS, Shares};
use smidgen::draws::{KeepStates, States};
use smidgen::io::folder::{Folder, Patience, SHARDED};
use smidgen::io::json::value_to_json;
use smidgen::lang::Diagnostic;
use smidgen::sampling::legs::Leg;
use smidgen::sampling::manifest::{self, Call, Refusal};
use smidgen::sampling::{Durable, Init, last_states};
use smidgen::{SampleError, SampleRequest, Session};

use crate::program::{Labels, Parts, threads};
use crate::result::Outcome;
use crate::value::from_python;

/// A request as `_model.py` puts it together.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Order<'py> {
    draws: usize,
    tune: usize,
    chains: usize,
    cores: Option<usize>,
    seed: u64,
    kernel: Option<String>,
    thin: usize,
    record: Labels,
    approximate: bool,
    exact: bool,
    audit: Option<f64>,
    max_seconds: Option<f64>,
    keep_states: String,
    stats: (bool, bool),
    keep_tune: bool,
    init: Option<Bound<'py, PyAny>>,
}

impl Order<'_> {
    /// The request, and the names of what is recorded.
    pub fn request(self) -> PyResult<(SampleRequest, Labels)> {
        let request = SampleRequest {
            kernel: self.kernel,
            draws: self.draws,
            warmup: self.tune,
            thin: self.thin.max(1),
            chains: self.chains,
            seed: self.seed,
            record: self.record.iter().map(|(_, text)| text.clone()).collect(),
            threads: threads(self.cores),
            exact: self.exact,
            approximate: self.approximate,
            audit: self.audit,
            budget: self.max_seconds,
            keep_states: match &*self.keep_states {
                "all" => KeepStates::All,
                "auto" => KeepStates::Auto,
                _ => KeepStates::No,
            },
            stats: self.stats.0,
            stats_density: self.stats.1,
            keep_warmup: self.keep_tune,
            init: self.init.as_ref().map(init).transpose()?,
            ..SampleRequest::default()
        };
        Ok((request, self.record))
    }
}

/// Where chains begin: a former result, the ends of a run folder, or values by name, one list or one for each chain.
fn init(given: &Bound<'_, PyAny>) -> PyResult<Arc<Init>> {
    if let Ok(outcome) = given.cast::<Outcome>() {
        let outcome = outcome.get();
        let states = outcome.states().and_then(|states| states.as_ref().ok());
        let states = states.map(|states| States::clone(states));
        return Ok(Arc::new(Init::after(outcome.run(), states)));
    }
    if let Ok(path) = given.extract::<PathBuf>() {
        let states = last_states(&path);
        let states = states.map_err(|trouble| PyOSError::new_err(trouble.0))?;
        return Ok(Arc::new(Init::States(states)));
    }
    let mut chains = Vec::new();
    for chain in given.try_iter()? {
        let mut values = Vec::new();
        for pair in chain?.try_iter()? {
            let (name, value): (String, Bound<'_, PyAny>) = pair?.extract()?;
            values.push((name, from_python(&value)?));
        }
        chains.push(values);
    }
    Ok(Arc::new(Init::Values(chains)))
}

/// A leg of a chain, as `distributed.py` puts it together.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Stretch {
    chain: usize,
    checkpoint: Option<Vec<u8>>,
    until: usize,
    every: Option<u64>,
    tables: Option<String>,
}

impl Stretch {
    pub fn leg(self) -> PyResult<Leg> {
        let Stretch { chain, checkpoint: from, until, every, tables } = self;
        let read = |text: String| serde_json::from_str(&text);
        let tables = tables.map(read).transpose();
        let tables = tables.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Leg { chain, from, until, every, tables })
    }
}

/// A calibration as `_model.py` puts it together.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CalibrationOrder {
    kernel: Option<String>,
    simulations: usize,
    draws: usize,
    tune: usize,
    thin: Option<usize>,
    seed: u64,
    record: Vec<String>,
    cores: Option<usize>,
}

impl CalibrationOrder {
    pub fn request(self) -> CalibrateRequest {
        let CalibrationOrder { kernel, simulations, draws, tune, thin, seed, record, cores } = self;
        let (warmup, threads) = (tune, threads(cores));
        CalibrateRequest { kernel, simulations, draws, warmup, thin, record, seed, threads }
    }
}

/// Pilots of a calibration.
#[pyfunction]
pub fn pilots() -> usize {
    PILOTS
}

/// How far apart draws have to be, given the shares of all pilots, and whether that is not far enough.
#[pyfunction]
pub fn spacing(shares: Shares) -> (usize, bool) {
    smidgen::calibrate::spacing(&shares)
}

/// (layout of checkpoints, arithmetic, sum of computed numbers): equal wherever legs of a run are walked.
#[pyfunction]
pub fn versions() -> (u32, u32, u64) {
    smidgen::sampling::legs::versions()
}

// ---------------------------------------------------------------- run folders

/// A run folder as `_durable.py` puts it together.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Place {
    path: PathBuf,
    resume: bool,
    from_seed: bool,
    every: Option<u64>,
    restart_from: Option<PathBuf>,
    /// Parameters as the folder has them, if they come from there.
    params: Option<Vec<(String, String)>>,
    /// Of a run whose rows are elsewhere: where, as JSON.
    sharded: Option<String>,
}

/// What is said while a run goes on.
pub type Said = Arc<Mutex<Vec<String>>>;

/// What was said, which is then no news any more.
pub fn taken(said: &Said) -> Vec<String> {
    std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The folder of a run whose inputs are known.
pub struct Bounded {
    pub place: Place,
    call: Call,
    pub said: Said,
}

impl Place {
    /// Where the rows are, if they are not here.
    pub fn rows(&self) -> String {
        self.sharded.clone().unwrap_or_default()
    }

    pub fn bound(self, parts: &Parts, labels: &Labels) -> Bounded {
        let text = |value| value_to_json(value).to_string();
        let own = || parts.params.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        let frames = parts.tables.iter().map(|(name, _)| name.clone()).collect();
        let call = Call {
            file: None,
            folder: Some(parts.folder.clone()),
            params: self.params.clone().unwrap_or_else(own),
            data: parts.data.clone().into_iter().collect(),
            frames,
            labels: labels.clone(),
            restart_from: self.restart_from.clone(),
            checkpoint_every: self.every,
            ..Call::default()
        };
        Bounded { place: self, call, said: Said::default() }
    }
}

impl Bounded {
    pub fn path(&self) -> PathBuf {
        self.place.path.clone()
    }

    /// A new folder, or the one that is resumed; called once the tables are there.
    pub fn folder(
        &self,
        session: &Session,
        request: &SampleRequest,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Option<Durable>, SampleError> {
        self.folder_of(session, request, interrupt, None)
    }

    /// The same for a run whose rows are elsewhere: where, is noted.
    pub fn folder_of(
        &self,
        session: &Session,
        request: &SampleRequest,
        interrupt: Arc<AtomicBool>,
        rows: Option<Json>,
    ) -> Result<Option<Durable>, SampleError> {
        let said = self.said.clone();
        let say = move |text: &str| {
            said.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        };
        let patience = Patience { interrupt, say: Arc::new(say), ..Patience::default() };
        let mut now: Json = manifest::manifest(&self.call, request, session);
        if let Some(rows) = rows {
            now[SHARDED] = rows;
        }
        let path = &self.place.path;
        let folder = match self.place.resume {
            true => manifest::reopen(path, &now, patience),
            false => Folder::create(path, now, patience).map_err(Refusal::Trouble),
        };
        let folder = folder.map_err(|why| {
            let shown = path.display();
            let (message, hint) = match why {
                Refusal::Trouble(trouble) => (trouble.0, None),
                Refusal::Differs(what) => (
                    format!("{shown} cannot be resumed: {what}"),
                    Some(format!(
                        "sample(restart_from=\"{shown}\") begins a new run where this one stood"
                    )),
                ),
            };
            let error = Diagnostic::error(None, message);
            hint.into_iter().fold(error, Diagnostic::hint)
        })?;
        let (every, from_seed) = (self.place.every, self.place.from_seed);
        Ok(Some(Durable { folder: Arc::new(folder), every, from_seed, until: None }))
    }
}
