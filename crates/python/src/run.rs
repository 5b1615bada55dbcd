//! A run in a thread of its own, which starts one per chain. Nothing here holds the interpreter's lock
//! while it waits, and the run holds nothing of Python's.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use smidgen::draws::Run as Drawn;
use smidgen::sampling::{ChainPhase, ChainProgress, Live, Progress, manifest, sample_into};
use smidgen::{SampleRequest, Task};

use crate::error::{Problem, failure};
use crate::order::{Bounded, Said, taken};
use crate::program::Parts;
use crate::result::{About, Outcome};

#[pyclass(frozen, module = "smidgen._core")]
pub struct Run {
    task: Task<Result<Outcome, Vec<Problem>>>,
    live: Arc<Live>,
    begun: Instant,
    about: About,
    seed: u64,
    /// The folder that it is written to, and what is to be said about that.
    folder: Option<(PathBuf, Said)>,
}

impl Run {
    /// `labels` are (name, text) of the expressions that are recorded.
    pub fn start(
        parts: Parts,
        mut request: SampleRequest,
        labels: Vec<(String, String)>,
        place: Option<Bounded>,
    ) -> Run {
        // The draws of a run in a folder need not be in memory.
        let live = match place {
            Some(_) => Live::without_draws(),
            None => Live::default(),
        };
        let (live, interrupt) = (Arc::new(live), Arc::new(AtomicBool::new(false)));
        request.live = Some(live.clone());
        let (text, seed) = (parts.text.clone(), request.seed);
        let about = About { labels, text };
        let (own, stop) = (about.clone(), interrupt.clone());
        let folder = place.as_ref().map(|place| (place.path(), place.said.clone()));
        let task = Task::start(interrupt, Problem::failed, move |progress| {
            draw(&parts, &request, own, place, stop, progress)
        });
        Run { task, live, begun: Instant::now(), about, seed, folder }
    }
}

fn draw(
    parts: &Parts,
    request: &SampleRequest,
    about: About,
    place: Option<Bounded>,
    interrupt: Arc<AtomicBool>,
    progress: &Progress,
) -> Result<Outcome, Vec<Problem>> {
    let begun = Instant::now();
    let (mut session, program) = parts.read(request.seed, interrupt.clone())?;
    let mut durable = None;
    let sampled = sample_into(&mut session, &program, request, progress, |session| {
        let Some(place) = &place else { return Ok(None) };
        durable = place.folder(session, request, interrupt)?;
        Ok(durable.clone())
    });
    let sampled = sampled.map_err(|error| Problem::all(&error.0, session.sources()))?;
    if let (Some(durable), false) = (&durable, sampled.interrupted) {
        manifest::finish(durable, &sampled.run)
            .map_err(|trouble| vec![Problem::plain(trouble.0)])?;
    }
    Ok(Outcome::new(sampled, about, begun.elapsed().as_secs_f64()))
}

type Chain = (&'static str, usize, usize, u64, Option<f64>, Option<f64>, Option<f64>, f64);

#[pymethods]
impl Run {
    /// Waits so many seconds at most; whether the run has finished.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let patience = Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
        py.detach(|| self.task.wait(patience))
    }

    #[getter]
    fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Asks all chains to stop; what they have drawn is the result.
    fn stop(&self) {
        self.task.cancel();
    }

    /// Applications of the kernel: (made, planned), warm-up included, and seconds since the start.
    fn progress(&self) -> (u64, u64, f64) {
        let (made, planned) = self.task.progress();
        (made, planned, self.begun.elapsed().as_secs_f64())
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
        self.live.progress().into_iter().map(each).collect()
    }

    /// What was drawn so far, while it goes on; None before the first draws are published.
    fn inspect(&self, py: Python<'_>) -> Option<Outcome> {
        py.detach(|| {
            let seconds = self.begun.elapsed().as_secs_f64();
            if let Some((path, _)) = &self.folder {
                let run = smidgen::io::read_run(path).ok().filter(|run| !run.draws.is_empty())?;
                let run = Drawn { warnings: Vec::new(), ..run };
                return Some(Outcome::so_far(run, self.about.clone(), seconds));
            }
            let draws = self.live.draws();
            if draws.is_empty() {
                return None;
            }
            let chains = draws.quantities().first().map_or(0, |quantity| quantity.chains.len());
            let version = env!("CARGO_PKG_VERSION").to_owned();
            let run = Drawn { seed: self.seed, chains, draws, version, ..Drawn::default() };
            Some(Outcome::so_far(run, self.about.clone(), seconds))
        })
    }

    /// What there is to be said about its folder since somebody asked last.
    fn said(&self) -> Vec<String> {
        self.folder.as_ref().map(|(_, said)| taken(said)).unwrap_or_default()
    }

    /// What was drawn, once it has finished.
    fn result(&self, py: Python<'_>) -> PyResult<Outcome> {
        match self.task.look(Clone::clone) {
            Some(Ok(outcome)) => Ok(outcome),
            Some(Err(problems)) => Err(failure(py, &problems)),
            None => Err(failure(py, &[Problem::plain("the run has not finished")])),
        }
    }
}
