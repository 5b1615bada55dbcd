//! Simulation-based calibration of a program with its own observations.
//!
//! Each simulation runs the program forward: choices from the prior, observations drawn in place of what was observed, row
//! by row. Then it is sampled with the drawn values as data, by its own kernel, and what is recorded is ranked among
//! the draws. Whatever is wrong between the program and its sampler shows in the ranks.
//!
//! Draws have to be all but independent, or the ranks crowd at both ends: pilot simulations say how many applications of the
//! kernel lie between two.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smidgen_draws::calibration::{FALSE_ALARM, RankTest, Ranks, judge};
use smidgen_draws::diagnostics::ess_bulk;
use smidgen_draws::{Draws, Scalar};
use smidgen_io::Progress;
use smidgen_lang::syntax::{Directive, DirectiveKind, SyntaxKind};
use smidgen_lang::{Diagnostic, forms};
use smidgen_report::CalibrationPage;
use smidgen_value::{Rng, State, Value};

use crate::compile::{Compiler, Observations};
use crate::load::TopDirective;
use crate::population::Context;
use crate::replay::{Replay, Replayed, diagnosed, each_chain};
use crate::sampling::watch::Watch;
use crate::sampling::{Prepared, SampleError, SampleRequest, prepare};
use crate::session::Session;

#[derive(Clone, Debug)]
pub struct CalibrateRequest {
    /// Instead of the program's own `infer` directives.
    pub kernel: Option<String>,
    pub simulations: usize,
    /// Draws that each truth is ranked among.
    pub draws: usize,
    pub warmup: usize,
    /// Applications of the kernel per draw; by pilots if it is not given.
    pub thin: Option<usize>,
    pub record: Vec<String>,
    pub seed: u64,
    pub threads: usize,
}

/// What calibration came to.
#[derive(Clone, Debug)]
pub struct Calibration {
    pub ranks: Vec<Ranks>,
    /// Worst first.
    pub tests: Vec<RankTest>,
    /// The probability of ranks as bad as these if all is right.
    pub p: f64,
    pub thin: usize,
    pub simulations: usize,
    /// Simulations that came to an error, and the first of these.
    pub failed: usize,
    pub failure: Option<String>,
    /// Whether draws may be too correlated to be judged.
    pub is_correlated: bool,
    pub seed: u64,
}

impl Calibration {
    pub fn is_alarm(&self) -> bool {
        self.p < FALSE_ALARM
    }

    /// What the page about it is made of.
    pub fn page(self, file: String, program: String) -> CalibrationPage {
        CalibrationPage {
            file,
            program,
            ranks: self.ranks,
            tests: self.tests,
            p: self.p,
            simulations: self.simulations,
            thin: self.thin,
            failed: self.failed,
            failure: self.failure,
            is_correlated: self.is_correlated,
            seed: self.seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Simulations of which nothing but the correlation of draws is learnt.
pub const PILOTS: usize = 8;
/// Draws of each of these.
const PILOT_DRAWS: usize = 200;
/// The most applications of a kernel between draws.
const LONGEST: usize = 100;

pub fn calibrate(
    session: &mut Session,
    program: &[TopDirective],
    request: &CalibrateRequest,
    progress: &Progress,
) -> Result<Calibration, SampleError> {
    let total = request.simulations + if request.thin.is_none() { PILOTS } else { 0 };
    on_stage(session, program, request, |stage| {
        progress.total.store(total as u64, Ordering::Relaxed);
        let (thin, is_correlated) = match request.thin {
            Some(thin) => (thin, false),
            None => spacing(&stage.pilots(0..PILOTS, request.threads, progress)?),
        };
        let places = stage.places(0..request.simulations, request, thin, progress)?;
        Ok(collect(places, request, thin, is_correlated))
    })
}

/// Shares of draws that are effective, by quantity, of each pilot.
pub type Shares = Vec<Vec<(String, f64)>>;

/// (draws below the truth, draws equal to it), by quantity, of a simulation; or why there are none.
pub type Places = Vec<Result<Vec<(String, (usize, usize))>, String>>;

/// Some of the pilots, which may be run anywhere.
pub fn some_pilots(
    session: &mut Session,
    program: &[TopDirective],
    request: &CalibrateRequest,
    which: Range<usize>,
    progress: &Progress,
) -> Result<Shares, SampleError> {
    on_stage(session, program, request, |stage| stage.pilots(which, request.threads, progress))
}

/// Some of the simulations, which may be run anywhere; each hangs on the seed and its number alone.
pub fn some_simulations(
    session: &mut Session,
    program: &[TopDirective],
    request: &CalibrateRequest,
    (which, thin): (Range<usize>, usize),
    progress: &Progress,
) -> Result<Places, SampleError> {
    on_stage(session, program, request, |stage| stage.places(which, request, thin, progress))
}

/// How many applications of the kernel make draws all but independent, and whether that is too few.
pub fn spacing(shares: &Shares) -> (usize, bool) {
    let mut names: Vec<&String> = shares.iter().flatten().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let typical = |name: &String| {
        let of = shares.iter().flatten().filter(|(n, share)| n == name && !share.is_nan());
        let mut of: Vec<f64> = of.map(|(_, share)| *share).collect();
        of.sort_by(f64::total_cmp);
        of.get(of.len() / 4).copied().unwrap_or(1.0)
    };
    let worst = names.into_iter().map(typical).fold(1.0, f64::min);
    let wanted = (2.0 / worst.max(1e-6)).ceil() as usize;
    (wanted.clamp(1, LONGEST), wanted > LONGEST)
}

/// What all simulations, in order, come to.
pub fn collect(
    done: Places,
    request: &CalibrateRequest,
    thin: usize,
    is_correlated: bool,
) -> Calibration {
    let mut rng = Rng::for_chain(request.seed, u64::MAX);
    let mut ranks: Vec<Ranks> = Vec::new();
    let (mut failed, mut failure) = (0, None);
    for result in done {
        let places = match result {
            Ok(places) => places,
            Err(message) => {
                failed += 1;
                failure.get_or_insert(message);
                continue;
            }
        };
        for (name, (below, ties)) in places {
            let place = ranks.iter().position(|known| known.name == name);
            let place = place.unwrap_or_else(|| {
                ranks.push(Ranks { name, ranks: Vec::new(), most: request.draws });
                ranks.len() - 1
            });
            ranks[place].ranks.push(below + rng.below(ties + 1));
        }
    }
    let (tests, p) = judge(&ranks);
    let (simulations, seed) = (request.simulations, request.seed);
    Calibration { ranks, tests, p, thin, simulations, failed, failure, is_correlated, seed }
}

/// Makes ready for simulations.
fn on_stage<T>(
    session: &mut Session,
    program: &[TopDirective],
    request: &CalibrateRequest,
    work: impl FnOnce(&Stage<'_>) -> Result<T, SampleError>,
) -> Result<T, SampleError> {
    program.iter().try_for_each(|top| refuse_weights(&top.directive))?;
    let mut forward = session.catalog.clone();
    let mut compiler = Compiler::new(&mut forward, &session.sources);
    compiler.observations = Observations::Predict;
    let mut steps = Vec::new();
    for top in program {
        let step = compiler.top_level(&top.directive, top.number, &top.folder);
        steps.extend(step.map_err(SampleError)?.map(Arc::new));
    }
    let sampling = SampleRequest {
        kernel: request.kernel.clone(),
        record: request.record.clone(),
        warmup: request.warmup,
        chains: 1,
        threads: 1,
        ..SampleRequest::default()
    };
    let prepared = prepare(session, program, &sampling)?;
    let interrupt = session.interrupt.clone();
    let replay = Replay { steps, catalog: &forward, sources: &session.sources, interrupt };
    let Session { catalog, sources, interrupt, .. } = &*session;
    let context = Context { catalog, sources, interrupt };
    work(&Stage { replay, prepared, context, sampling, seed: request.seed })
}

/// A weight is no law to simulate from.
fn refuse_weights(directive: &Directive) -> Result<(), SampleError> {
    match &directive.kind {
        DirectiveKind::For { body, .. } => body.iter().try_for_each(refuse_weights),
        DirectiveKind::Observe { expr, .. } => {
            let SyntaxKind::List(items) = &expr.kind else { return Ok(()) };
            let is_weight = items.first().is_some_and(|head| {
                matches!(head.kind, SyntaxKind::Name(name) if name.as_str() == forms::FACTOR)
            });
            match is_weight {
                false => Ok(()),
                true => {
                    let message = "a program with weights cannot be calibrated: [factor ...] says how probable something is, not how to draw it";
                    Err(Diagnostic::error(directive.span, message)
                        .hint("write it as an observation of a distribution")
                        .into())
                }
            }
        }
        _ => Ok(()),
    }
}

/// The truth and the draws of one simulation.
struct Simulated {
    truth: Draws,
    draws: Draws,
}

impl Simulated {
    fn pairs(&self) -> Vec<(Scalar, Scalar)> {
        let drawn = self.draws.scalars();
        let of = |truth: Scalar| {
            let draws = drawn.iter().find(|scalar| scalar.name == truth.name)?.clone();
            Some((truth, draws))
        };
        self.truth.scalars().into_iter().filter_map(of).collect()
    }

    /// Where the truth stands among the draws.
    fn places(&self) -> Vec<(String, (usize, usize))> {
        let place = |(truth, draws): (Scalar, Scalar)| {
            let (theta, draws) = (truth.chains[0][0], &draws.chains[0]);
            let below = draws.iter().filter(|x| **x < theta).count();
            let ties = draws.iter().filter(|x| **x == theta).count();
            (truth.name, (below, ties))
        };
        self.pairs().into_iter().map(place).collect()
    }
}

struct Stage<'a> {
    replay: Replay<'a>,
    prepared: Prepared,
    context: Context<'a>,
    sampling: SampleRequest,
    seed: u64,
}

impl Stage<'_> {
    fn pilots(
        &self,
        which: Range<usize>,
        threads: usize,
        progress: &Progress,
    ) -> Result<Shares, SampleError> {
        each_chain(which.len(), threads, |k| {
            let simulated = self.simulate(usize::MAX / 2 + which.start + k, (PILOT_DRAWS, 1));
            progress.done.fetch_add(1, Ordering::Relaxed);
            let simulated = match simulated {
                Err(error) if self.replay.is_interrupted() => return Err(error),
                Err(_) => return Ok(Vec::new()),
                Ok(simulated) => simulated,
            };
            let share = |draws: &Scalar| ess_bulk(&draws.chains) / PILOT_DRAWS as f64;
            let shares =
                simulated.pairs().into_iter().map(|(truth, draws)| (truth.name, share(&draws)));
            Ok(shares.collect())
        })
    }

    fn places(
        &self,
        which: Range<usize>,
        request: &CalibrateRequest,
        thin: usize,
        progress: &Progress,
    ) -> Result<Places, SampleError> {
        each_chain(which.len(), request.threads, |k| {
            let result = self.simulate(which.start + k, (request.draws, thin));
            progress.done.fetch_add(1, Ordering::Relaxed);
            match result {
                Err(error) if self.replay.is_interrupted() => Err(error),
                Err(error) => Ok(Err(error.message)),
                Ok(simulated) => Ok(Ok(simulated.places())),
            }
        })
    }

    /// One simulation: the program forward, then its posterior given what was drawn.
    fn simulate(&self, k: usize, (draws, thin): (usize, usize)) -> Result<Simulated, Diagnostic> {
        let mut rng = Rng::for_chain(self.seed, k as u64);
        let seed = rng.seed();
        let mut replayed = self.replay.run(&State::default(), None, &mut rng)?;
        if let Some((name, span)) = replayed.model.improper_choice() {
            let message = format!("{name} is improper: there is no prior to simulate from");
            return Err(Diagnostic::error(span, message).hint("give it a proper prior"));
        }
        let truth = self.truth(&mut replayed, &mut rng)?;
        let data: Arc<[Value]> = replayed.noted.values.into();
        let request = SampleRequest { draws, thin, seed, ..self.sampling.clone() };
        let run = self.prepared.chain(self.context, &request, Some(data))?;
        Ok(Simulated { truth, draws: run })
    }

    /// What is recorded, where everything was drawn forward.
    fn truth(&self, replayed: &mut Replayed, rng: &mut Rng) -> Result<Draws, Diagnostic> {
        let Replayed { model, predicted, noted, .. } = replayed;
        let is_own =
            |number: u64| noted.observations.iter().all(|observation| observation.number != number);
        let own = predicted.iter().filter(|(_, n, _)| is_own(*n) && model.has_record(*n));
        let mut watch: Vec<Watch> =
            own.map(|(name, _, root)| Watch::Operand(name.clone(), root.clone())).collect();
        watch.extend(self.prepared.watched());
        if watch.is_empty() {
            let assumed = model.assumed_changeable().into_iter();
            watch.extend(assumed.map(|(name, root)| Watch::Operand(name.to_string(), root)));
        }
        let mut truth = Draws::new(watch.iter().map(|w| w.name().to_owned()), 1);
        let mut values = Vec::new();
        Watch::values(&watch, model, rng, &mut values).map_err(diagnosed)?;
        truth.push(0, values);
        Ok(truth)
    }
}
