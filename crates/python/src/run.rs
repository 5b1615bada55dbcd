//! A run in a thread of its own, which starts one per chain. Nothing here holds the interpreter's lock
//! while it waits, and the run holds nothing of Python's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use smidgen::draws::Run as Drawn;
use smidgen::sampling::{ChainPhase, ChainProgress, Live, Progress, sample};
use smidgen::{SampleRequest, Sampled};

use crate::error::{Problem, failure};
use crate::program::Parts;
use crate::result::Outcome;

#[derive(Default)]
struct State {
    progress: Progress,
    live: Arc<Live>,
    interrupt: Arc<AtomicBool>,
    finished: Mutex<Option<Result<Outcome, Vec<Problem>>>>,
    bell: Condvar,
}

impl State {
    fn finish(&self, result: Result<Outcome, Vec<Problem>>) {
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.bell.notify_all();
    }
}

#[pyclass(frozen, module = "smidgen._core")]
pub struct Run {
    state: Arc<State>,
    begun: Instant,
    about: About,
}

/// What the result of a run says beside its draws.
struct About {
    labels: Vec<(String, String)>,
    text: String,
    seed: u64,
}

impl Run {
    /// `labels` are (name, text) of the expressions that are recorded.
    pub fn start(parts: Parts, mut request: SampleRequest, labels: Vec<(String, String)>) -> Run {
        let state = Arc::new(State::default());
        let own = state.clone();
        request.live = Some(state.live.clone());
        let about = About { labels: labels.clone(), text: parts.text.clone(), seed: request.seed };
        let begun = Instant::now();
        let spawned = std::thread::Builder::new().name("smidgen".to_owned()).spawn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                draw(&parts, &request, &labels, &own)
            }));
            own.finish(result.unwrap_or_else(|_| {
                Err(vec![Problem::plain("internal error: this is a bug of smidgen")])
            }));
        });
        if let Err(error) = spawned {
            state.finish(Err(vec![Problem::plain(format!("no thread for the run: {error}"))]));
        }
        Run { state, begun, about }
    }
}

fn draw(
    parts: &Parts,
    request: &SampleRequest,
    labels: &[(String, String)],
    state: &State,
) -> Result<Outcome, Vec<Problem>> {
    let begun = Instant::now();
    let (mut session, program) = parts.open(request.seed, state.interrupt.clone());
    let program = program.map_err(|found| Problem::all(&found, session.sources()))?;
    let sampled: Sampled = sample(&mut session, &program, request, &state.progress)
        .map_err(|error| Problem::all(&error.0, session.sources()))?;
    Ok(Outcome::new(sampled, parts.text.clone(), labels, begun.elapsed().as_secs_f64()))
}

type Chain = (&'static str, usize, usize, u64, Option<f64>, Option<f64>, Option<f64>, f64);

#[pymethods]
impl Run {
    /// Waits so many seconds at most; whether the run has finished.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let patience = Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
        py.detach(|| {
            let finished = self.state.finished.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self.state.bell.wait_timeout_while(finished, patience, |f| f.is_none());
            waited.map_or(true, |(finished, _)| finished.is_some())
        })
    }

    #[getter]
    fn is_finished(&self) -> bool {
        self.state.finished.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Asks all chains to stop; what they have drawn is the result.
    fn stop(&self) {
        self.state.interrupt.store(true, Ordering::Relaxed);
    }

    /// Applications of the kernel: (made, planned), warm-up included, and seconds since the start.
    fn progress(&self) -> (u64, u64, f64) {
        let progress = &self.state.progress;
        let seconds = self.begun.elapsed().as_secs_f64();
        (progress.done.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed), seconds)
    }

    /// (phase, tuning sweeps, draws, divergences, acceptance, step size, share of the data, sweeps a second) of each chain.
    fn chains(&self) -> Vec<Chain> {
        let each = |chain: ChainProgress| {
            let phase = match chain.phase {
                ChainPhase::Waiting => "waiting",
                ChainPhase::Warmup => "tuning",
                ChainPhase::Drawing => "drawing",
                ChainPhase::Finished => "finished",
            };
            let ChainProgress { warmup, draws, divergences, acceptance, step_size, .. } = chain;
            let rest = (chain.share_read, chain.per_second);
            (phase, warmup, draws, divergences, acceptance, step_size, rest.0, rest.1)
        };
        self.state.live.progress().into_iter().map(each).collect()
    }

    /// What was drawn so far, while it goes on; None before the first draws are published.
    fn inspect(&self, py: Python<'_>) -> Option<Outcome> {
        py.detach(|| {
            let draws = self.state.live.draws();
            if draws.is_empty() {
                return None;
            }
            let chains = draws.quantities().first().map_or(0, |quantity| quantity.chains.len());
            let version = env!("CARGO_PKG_VERSION").to_owned();
            let (seed, text) = (self.about.seed, self.about.text.clone());
            let run = Drawn { seed, chains, draws, version, ..Drawn::default() };
            let seconds = self.begun.elapsed().as_secs_f64();
            Some(Outcome::with_labels(run, text, &self.about.labels, seconds, true))
        })
    }

    /// What was drawn, once it has finished.
    fn result(&self, py: Python<'_>) -> PyResult<Outcome> {
        match &*self.state.finished.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(outcome)) => Ok(outcome.clone()),
            Some(Err(problems)) => Err(failure(py, problems)),
            None => Err(failure(py, &[Problem::plain("the run has not finished")])),
        }
    }
}
