//! Everything but sampling that takes long: predictions, log likelihoods, comparisons, calibration, exact answers.
//! Each runs in a thread of its own, so that the caller can look at signals while it waits.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use smidgen::calibrate::{
    CalibrateRequest, Calibration, Places, Shares, calibrate, collect, some_pilots,
    some_simulations,
};
use smidgen::compare::{CompareRequest, compare};
use smidgen::draws::States;
use smidgen::enumerate::{EnumerateRequest, Enumerated, enumerate};
use smidgen::likelihood::{LikelihoodRequest, log_likelihood};
use smidgen::predict::{self, PredictRequest, Predicted};
use smidgen::report::{
    calibration_html, calibration_json, calibration_text, comparison_html, comparison_json,
    comparison_text,
};
use smidgen::sampling::legs::{self, Leg, Walked};
use smidgen::sampling::{Progress, SampleError, logbook, manifest};
use smidgen::{SampleRequest, Session, Task, TopDirective, replay};

use crate::error::{Problem, failure};
use crate::likelihood::Likelihood;
use crate::logbook::Logbook;
use crate::order::Bounded;
use crate::program::Parts;
use crate::result::{About, Outcome, labelled};
use crate::shard::{self, Asked, Shelf};
use crate::value::to_python;

/// Runs of a comparison.
const RUNS: u64 = 3;

type Found<T> = Result<T, Vec<Problem>>;

/// What a job comes to.
#[derive(Clone)]
enum Answer {
    /// The predictions, which of them stand for observations, and the draws of each chain that they go on from.
    Predicted(Outcome, Vec<bool>, Vec<Vec<usize>>),
    Likelihood(Likelihood),
    /// Text, page, data.
    Report([String; 3]),
    Enumerated(Arc<Enumerated>),
    /// A leg of a chain.
    Walked(Walked),
    /// The run of all chains.
    Gathered(Outcome),
    /// Sums of tables, as JSON.
    Tables(String),
    Shares(Shares),
    Places(Places),
    Logbook(Logbook),
    Committed,
    /// A chain above rows elsewhere, the reels that it took, and the sum of all bounds.
    Sharded(Outcome, u64, f64),
}

#[pyclass(frozen, module = "smidgen._core")]
pub struct Job {
    task: Task<Found<Answer>>,
    begun: Instant,
}

/// Where work goes on.
struct Desk<'a> {
    session: Session,
    program: Vec<TopDirective>,
    progress: &'a Progress,
}

impl Desk<'_> {
    fn ask<T>(
        &mut self,
        work: impl FnOnce(&mut Session, &[TopDirective], &Progress) -> Result<T, SampleError>,
    ) -> Found<T> {
        let found = work(&mut self.session, &self.program, self.progress);
        found.map_err(|error| Problem::all(&error.0, self.session.sources()))
    }
}

/// (name, text) of expressions.
type Labels = Vec<(String, String)>;

fn texts(labels: &Labels) -> Vec<String> {
    labels.iter().map(|(_, text)| text.clone()).collect()
}

impl Job {
    fn start(
        parts: Parts,
        seed: u64,
        work: impl FnOnce(Desk<'_>) -> Found<Answer> + Send + 'static,
    ) -> Job {
        let interrupt = Arc::new(AtomicBool::new(false));
        let stop = interrupt.clone();
        let task = Task::start(interrupt, Problem::failed, move |progress| {
            let (session, program) = parts.read(seed, stop)?;
            work(Desk { session, program, progress })
        });
        Job { task, begun: Instant::now() }
    }

    /// Draws from the prior.
    pub fn prior(
        parts: Parts,
        size: (usize, usize),
        request: PredictRequest,
        labels: Labels,
    ) -> Job {
        Job::start(parts, request.seed, move |mut desk| {
            let request = PredictRequest { record: texts(&labels), ..request };
            let drawn = desk.ask(|session, program, progress| {
                predict::prior(session, program, size, &request, progress)
            })?;
            Ok(predicted(drawn, &labels))
        })
    }

    /// Predictions with the states of a result of `before`, which may have other data.
    pub fn predict(
        parts: Parts,
        before: Parts,
        outcome: Outcome,
        request: PredictRequest,
        labels: Labels,
    ) -> Job {
        Job::start(parts, request.seed, move |mut desk| {
            let states = states(&before, &outcome)?;
            let request = PredictRequest { record: texts(&labels), ..request };
            let drawn = desk.ask(|session, program, progress| {
                predict::predict(session, program, &states, &request, progress)
            })?;
            Ok(predicted(drawn, &labels))
        })
    }

    pub fn likelihood(parts: Parts, outcome: Outcome, request: LikelihoodRequest) -> Job {
        Job::start(parts.clone(), request.seed, move |mut desk| {
            let states = states(&parts, &outcome)?;
            let found = desk.ask(|session, program, progress| {
                log_likelihood(session, program, &states, &request, progress)
            })?;
            Ok(Answer::Likelihood(Likelihood::new(found, &outcome, &states, request.draws)))
        })
    }

    pub fn compare(parts: Parts, request: CompareRequest) -> Job {
        Job::start(parts, request.seed, move |mut desk| {
            let found = desk.ask(|session, program, progress| {
                progress.total.store(RUNS, Ordering::Relaxed);
                let show = |_: &str, _: &Progress, work: &mut dyn FnMut()| {
                    work();
                    progress.done.fetch_add(1, Ordering::Relaxed);
                };
                compare(session, program, &request, &show)
            })?;
            Ok(Answer::Report([
                comparison_text(&found),
                comparison_html(&found),
                comparison_json(&found).to_string(),
            ]))
        })
    }

    /// Some pilots of a calibration, or some of its simulations if it is known how far apart draws have to be.
    pub fn part_of_calibration(
        parts: Parts,
        request: CalibrateRequest,
        which: Range<usize>,
    ) -> Job {
        Job::start(parts, request.seed, move |mut desk| {
            desk.ask(|session, program, progress| match request.thin {
                None => {
                    some_pilots(session, program, &request, which, progress).map(Answer::Shares)
                }
                Some(thin) => some_simulations(session, program, &request, (which, thin), progress)
                    .map(Answer::Places),
            })
        })
    }

    /// What all simulations come to.
    pub fn collect(
        parts: Parts,
        request: CalibrateRequest,
        places: Places,
        (thin, is_correlated): (usize, bool),
    ) -> Job {
        let (name, text) = (parts.name.clone(), parts.text.clone());
        Job::start(parts, request.seed, move |_| {
            Ok(calibrated(collect(places, &request, thin, is_correlated), name, text))
        })
    }

    pub fn calibrate(parts: Parts, request: CalibrateRequest) -> Job {
        let (name, text) = (parts.name.clone(), parts.text.clone());
        Job::start(parts, request.seed, move |mut desk| {
            let found = desk.ask(|session, program, progress| {
                calibrate(session, program, &request, progress)
            })?;
            Ok(calibrated(found, name, text))
        })
    }

    pub fn walk(parts: Parts, request: SampleRequest, leg: Leg) -> Job {
        Job::start(parts, request.seed, move |mut desk| {
            let walked = desk.ask(|session, program, progress| {
                legs::walk(session, program, &request, &leg, progress)
            })?;
            Ok(Answer::Walked(walked))
        })
    }

    /// The run of all chains, which is then finished if it is in a folder.
    pub fn gather(
        parts: Parts,
        request: SampleRequest,
        labels: Labels,
        chains: Vec<(Vec<Vec<u8>>, Vec<u8>)>,
        seconds: f64,
    ) -> Job {
        let about = About { labels, text: parts.text.clone() };
        Job::start(parts, request.seed, move |mut desk| {
            let sampled =
                desk.ask(|session, program, _| legs::gather(session, program, &request, chains))?;
            if let Some(durable) = &request.durable {
                let finished = manifest::finish(durable, &sampled.run);
                finished.map_err(|trouble| vec![Problem::plain(trouble.0)])?;
            }
            Ok(Answer::Gathered(Outcome::new(sampled, about, seconds)))
        })
    }

    pub fn sharded(
        parts: Parts,
        (front, mut asked): (shard::Front, Asked),
        (request, reel): (SampleRequest, usize),
        (about, shelf): (About, Shelf),
    ) -> Job {
        let interrupt = Arc::new(AtomicBool::new(false));
        let stop = interrupt.clone();
        let task = Task::start(interrupt, Problem::failed, move |progress| {
            let rows = (front, &mut asked);
            let (outcome, reels, total) =
                shard::run(rows, &parts, (&request, reel), (about, shelf), (progress, stop))?;
            Ok(Answer::Sharded(outcome, reels, total))
        });
        Job { task, begun: Instant::now() }
    }

    /// The folder of a run whose chains are walked elsewhere.
    pub fn logbook(parts: Parts, request: SampleRequest, place: Bounded) -> Job {
        Job::start(parts, request.seed, move |mut desk| {
            let stop = Arc::new(AtomicBool::new(false));
            let book = desk.ask(|session, program, _| {
                logbook::open(session, program, &request, |session| {
                    place.folder(session, &request, stop.clone())
                })
            })?;
            Ok(Answer::Logbook(Logbook::new(book, place.said.clone(), stop)))
        })
    }

    /// What a leg has brought goes into the folder.
    pub fn commit(book: Logbook, chain: usize, walked: Walked) -> Job {
        let task = Task::start(book.stop(), Problem::failed, move |_| {
            book.commit(chain, &walked).map(|()| Answer::Committed)
        });
        Job { task, begun: Instant::now() }
    }

    pub fn tables(parts: Parts, request: SampleRequest) -> Job {
        Job::start(parts, request.seed, move |mut desk| {
            let tables =
                desk.ask(|session, program, _| legs::tables(session, program, &request))?;
            Ok(Answer::Tables(tables.to_string()))
        })
    }

    pub fn enumerate(parts: Parts, most: usize, labels: Labels) -> Job {
        Job::start(parts, 0, move |mut desk| {
            let request = EnumerateRequest { record: texts(&labels), most };
            let mut found = desk.ask(|session, program, progress| {
                enumerate(session, program, &request, progress)
            })?;
            for (label, text) in &labels {
                let own = found.marginals.iter_mut().find(|marginal| marginal.name == *text);
                own.into_iter().for_each(|marginal| marginal.name.clone_from(label));
            }
            Ok(Answer::Enumerated(Arc::new(found)))
        })
    }
}

fn calibrated(found: Calibration, name: String, text: String) -> Answer {
    let page = found.page(name, text);
    let data = calibration_json(&page).to_string();
    Answer::Report([calibration_text(&page), calibration_html(&page), data])
}

/// The states of a result: those that were kept, or the draws themselves if they have every random choice.
fn states(parts: &Parts, outcome: &Outcome) -> Found<Arc<States>> {
    match outcome.states() {
        Some(Ok(states)) => return Ok(states.clone()),
        Some(Err(reason)) => {
            let message = format!("there are no states to predict from: {reason}");
            return Err(vec![Problem::plain(message)]);
        }
        None => {}
    }
    let (mut session, program) = parts.read(outcome.run().seed, Arc::default())?;
    replay::from_draws(&mut session, &program, outcome.run())
        .map(Arc::new)
        .map_err(|error| Problem::all(&error.0, session.sources()))
}

fn predicted(found: Predicted, labels: &Labels) -> Answer {
    let Predicted { mut run, is_observed, draws } = found;
    if !labels.is_empty() {
        run.draws = labelled(&run.draws, labels);
    }
    Answer::Predicted(Outcome::of(run, 0.0, false, None), is_observed, draws)
}

#[pymethods]
impl Job {
    /// Waits so many seconds at most; whether it has finished.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let patience = Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
        py.detach(|| self.task.wait(patience))
    }

    fn stop(&self) {
        self.task.cancel();
    }

    /// (made, planned), and seconds since the start.
    fn progress(&self) -> (u64, u64, f64) {
        let (made, planned) = self.task.progress();
        (made, planned, self.begun.elapsed().as_secs_f64())
    }

    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.task.look(Clone::clone) {
            Some(Ok(Answer::Predicted(outcome, observed, draws))) => {
                (outcome, observed, draws).into_bound_py_any(py)
            }
            Some(Ok(Answer::Likelihood(found))) => found.into_bound_py_any(py),
            Some(Ok(Answer::Report(parts))) => parts.into_bound_py_any(py),
            Some(Ok(Answer::Enumerated(found))) => enumerated(py, &found),
            Some(Ok(Answer::Walked(walked))) => {
                let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
                let streams = PyList::new(py, walked.streams.iter().map(|stream| bytes(stream)))?;
                let checkpoint = walked.checkpoint.as_deref().map(bytes);
                let end = walked.end.as_deref().map(bytes);
                (walked.made, streams, checkpoint, end).into_bound_py_any(py)
            }
            Some(Ok(Answer::Gathered(outcome))) => outcome.into_bound_py_any(py),
            Some(Ok(Answer::Shares(shares))) => shares.into_bound_py_any(py),
            Some(Ok(Answer::Places(places))) => {
                let apart = |place: Result<_, String>| match place {
                    Ok(places) => (Some(places), None),
                    Err(message) => (None, Some(message)),
                };
                places.into_iter().map(apart).collect::<Vec<_>>().into_bound_py_any(py)
            }
            Some(Ok(Answer::Sharded(outcome, reels, total))) => {
                (outcome, reels, total).into_bound_py_any(py)
            }
            Some(Ok(Answer::Logbook(book))) => book.into_bound_py_any(py),
            Some(Ok(Answer::Committed)) => Ok(py.None().into_bound(py)),
            Some(Ok(Answer::Tables(text))) => text.into_bound_py_any(py),
            Some(Err(problems)) => Err(failure(py, &problems)),
            None => Err(failure(py, &[Problem::plain("it has not finished")])),
        }
    }
}

/// (text, log evidence, states, runs, [(name, values, probabilities)])
fn enumerated<'py>(py: Python<'py>, found: &Enumerated) -> PyResult<Bound<'py, PyAny>> {
    let marginals = PyList::empty(py);
    for marginal in &found.marginals {
        let (values, chances) = (PyList::empty(py), PyList::empty(py));
        for (value, p) in &marginal.values {
            values.append(to_python(py, value)?)?;
            chances.append(p)?;
        }
        marginals.append((&marginal.name, values, chances))?;
    }
    let Enumerated { log_evidence, states, runs, .. } = found;
    (found.to_string(), log_evidence, states, runs, marginals).into_bound_py_any(py)
}
