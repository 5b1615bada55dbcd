//! Chains while they run: how far each is, and what it has drawn so far, to be looked at from other threads.
//!
//! A chain publishes after [`BLOCK`] draws or [`EVERY`], whichever is sooner: then it copies what is new into a store behind a
//! lock that it holds for microseconds. Nobody who looks can keep a chain waiting for longer than one such copy, and
//! looking changes no draw. Without somebody who asked to look ([`super::SampleRequest::live`]) nothing is published.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smidgen_draws::Draws;
use smidgen_infer::Run;
use smidgen_infer::run::Phase;

/// Draws, or time, after which a chain publishes.
const BLOCK: usize = 64;
const EVERY: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainPhase {
    /// It has not begun: other chains keep the threads busy, or the program is being read.
    #[default]
    Waiting,
    Warmup,
    Drawing,
    /// It has made its draws, or was stopped.
    Finished,
}

/// How far one chain is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChainProgress {
    pub phase: ChainPhase,
    /// Applications of the kernel in the warm-up, and draws since.
    pub warmup: usize,
    pub draws: usize,
    /// Since the phase began: trajectories that diverged, and the share of all transitions that were accepted.
    pub divergences: u64,
    pub acceptance: Option<f64>,
    /// The step of the last trajectory, where kernels go along a gradient.
    pub step_size: Option<f64>,
    /// The share of sections, or of rows, that decisions have read in this phase, of all there were.
    pub share_read: Option<f64>,
    /// Seconds on the clock since the chain began.
    pub seconds: f64,
    /// Applications of the kernel a second, since the phase began.
    pub per_second: f64,
}

/// Where the chains of a run publish. Make one, hand it to [`super::SampleRequest::live`], and look at it from any thread.
///
/// ```
/// use std::sync::Arc;
/// use smidgen::sampling::{ChainPhase, Live, Progress, SampleRequest, sample};
/// use smidgen::{Session, Settings};
///
/// let live = Arc::new(Live::default());
/// let request = SampleRequest { draws: 200, warmup: 10, live: Some(live.clone()), ..SampleRequest::default() };
/// let mut session = Session::new(Settings::default());
/// let program = session.parse_text("example", "[assume p (beta 1 1)] [observe (binomial 10 p) 7]").unwrap();
/// let sampled = sample(&mut session, &program, &request, &Progress::default()).unwrap();
/// assert!(live.progress().iter().all(|chain| chain.phase == ChainPhase::Finished && chain.draws == 200));
/// // What was published in the end is what was drawn.
/// assert_eq!(live.draws().get("p").unwrap().chains, sampled.run.draws.get("p").unwrap().chains);
/// ```
#[derive(Debug, Default)]
pub struct Live {
    chains: Mutex<Vec<Arc<Published>>>,
    /// Draws are to be had elsewhere.
    is_bare: bool,
}

#[derive(Debug, Default)]
struct Published {
    progress: Mutex<ChainProgress>,
    draws: Mutex<Draws>,
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    /// Publishes how far the chains are, and no draws: these are in a run folder, and need not be in memory.
    pub fn without_draws() -> Live {
        Live { is_bare: true, ..Live::default() }
    }

    pub(super) fn keeps_draws(&self) -> bool {
        !self.is_bare
    }

    /// How far every chain is; empty before the run has begun.
    pub fn progress(&self) -> Vec<ChainProgress> {
        locked(&self.chains).iter().map(|chain| *locked(&chain.progress)).collect()
    }

    /// The draws so far, of the chains that have any: they may differ in length. Values are shared, not copied.
    pub fn draws(&self) -> Draws {
        let chains: Vec<Arc<Published>> = locked(&self.chains).clone();
        let drawn = chains.iter().map(|chain| locked(&chain.draws).clone());
        super::assemble::joined(drawn.filter(|draws| !draws.is_empty()).collect())
    }

    pub(super) fn begin(&self, chains: usize) {
        *locked(&self.chains) = (0..chains).map(|_| Arc::default()).collect();
    }

    pub(super) fn chain(&self, k: usize) -> Pulse {
        let now = Instant::now();
        let published = locked(&self.chains).get(k).cloned().unwrap_or_default();
        Pulse {
            published,
            begun: now,
            phase_begun: now,
            last: now,
            unsaid: 0,
            made: 0,
            copied: 0,
            before: 0,
        }
    }
}

/// What a chain publishes through.
pub(super) struct Pulse {
    published: Arc<Published>,
    begun: Instant,
    phase_begun: Instant,
    last: Instant,
    /// Applications of the kernel since it last published, in this phase, and draws that it has published.
    unsaid: usize,
    made: usize,
    copied: usize,
    /// Draws that were made before this process took over.
    before: usize,
}

impl Pulse {
    /// The chain goes on after so many draws.
    pub fn goes_on_after(&mut self, draws: usize) {
        self.before = draws;
    }

    /// After every application of the kernel.
    pub fn beat(&mut self, run: &Run, draws: &Draws) {
        self.made += 1;
        self.unsaid += 1;
        if self.unsaid >= BLOCK || self.last.elapsed() >= EVERY {
            self.publish(run, draws);
        }
    }

    /// The warm-up is over.
    pub fn begin_draws(&mut self, run: &Run, draws: &Draws) {
        self.publish(run, draws);
        (self.made, self.phase_begun) = (0, Instant::now());
    }

    pub fn end(&mut self, run: &Run, draws: &Draws) {
        self.publish(run, draws);
        locked(&self.published.progress).phase = ChainPhase::Finished;
    }

    fn publish(&mut self, run: &Run, draws: &Draws) {
        (self.unsaid, self.last) = (0, Instant::now());
        self.copied = {
            let mut store = locked(&self.published.draws);
            store.extend_from(draws, self.copied)
        };
        let (mut accepted, mut transitions, mut read, mut population) = (0, 0, 0, 0);
        let mut divergences = 0;
        for kernel in &run.kernels {
            let tally = &kernel.tally;
            accepted += tally.accepted;
            transitions += tally.transitions;
            divergences += tally.diverged;
            read += tally.sections_used + tally.reference_rows;
            population += tally.population + tally.reference_population;
        }
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let mut progress = locked(&self.published.progress);
        match run.phase {
            Phase::Warmup => (progress.phase, progress.warmup) = (ChainPhase::Warmup, self.made),
            Phase::Draws | Phase::Free => {
                let drawn = (self.before + self.made).max(self.copied);
                (progress.phase, progress.draws) = (ChainPhase::Drawing, drawn);
            }
        }
        progress.divergences = divergences;
        progress.acceptance = share(accepted, transitions);
        progress.step_size = Some(run.motion.step).filter(|step| *step > 0.0);
        progress.share_read = share(read, population);
        progress.seconds = self.begun.elapsed().as_secs_f64();
        progress.per_second = self.made as f64 / self.phase_begun.elapsed().as_secs_f64().max(1e-9);
    }
}
