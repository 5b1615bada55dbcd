//! A run in a thread of its own, to be waited for, looked at and stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use smidgen_draws as draws;
use smidgen_lang::{Diagnostic, SourceMap};

use crate::load::TopDirective;
use crate::sampling::{ChainProgress, Live, Progress, SampleError, SampleRequest, Sampled, sample};
use crate::session::Session;

/// A run that goes on by itself. Dropping it stops the run and does not wait.
///
/// ```
/// use std::time::Duration;
/// use smidgen::{Background, SampleRequest, Session, Settings};
///
/// let mut session = Session::new(Settings::default());
/// let program = session.parse_text("example", "[assume p (beta 1 1)] [observe (binomial 10 p) 7]").unwrap();
/// let request = SampleRequest { draws: 100_000_000, chains: 1, ..SampleRequest::default() };
/// let run = Background::start(session, program, request);
/// while run.inspect().draws.is_empty() {
///     assert!(!run.wait(Duration::from_millis(5)));
/// }
/// run.cancel();
/// let sampled = run.join().unwrap();
/// assert!(sampled.interrupted && !sampled.run.draws.is_empty());
/// ```
pub struct Background {
    shared: Arc<Shared>,
    live: Arc<Live>,
    interrupt: Arc<AtomicBool>,
    sources: SourceMap,
    seed: u64,
}

#[derive(Default)]
struct Shared {
    progress: Progress,
    result: Mutex<Option<Result<Sampled, SampleError>>>,
    bell: Condvar,
    has_ended: AtomicBool,
}

impl Background {
    /// Begins to sample. The session's interrupt stops the run as [`Background::cancel`] does.
    pub fn start(
        mut session: Session,
        program: Vec<TopDirective>,
        mut request: SampleRequest,
    ) -> Background {
        let live = request.live.get_or_insert_default().clone();
        let (interrupt, sources) = (session.interrupt.clone(), session.sources.clone());
        let shared = Arc::new(Shared::default());
        let (own, seed) = (shared.clone(), request.seed);
        let work = move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                sample(&mut session, &program, &request, &own.progress)
            }));
            own.finish(result.unwrap_or_else(|_| {
                let message = "internal error: this is a bug of smidgen";
                Err(Diagnostic::error(None, message).into())
            }));
        };
        if let Err(error) = std::thread::Builder::new().name("smidgen".to_owned()).spawn(work) {
            let message = format!("no thread for the run: {error}");
            shared.finish(Err(Diagnostic::error(None, message).into()));
        }
        Background { shared, live, interrupt, sources, seed }
    }

    /// The texts that messages point into.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Waits so long at most; whether the run has finished.
    pub fn wait(&self, patience: Duration) -> bool {
        let result = self.shared.result.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.shared.bell.wait_timeout_while(result, patience, |r| r.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    pub fn is_finished(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Asks all chains to stop soon; what they have drawn is the result.
    pub fn cancel(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// How far each chain is.
    pub fn progress(&self) -> Vec<ChainProgress> {
        self.live.progress()
    }

    /// Applications of the kernel over all chains, warm-up included: (made, planned).
    pub fn applications(&self) -> (u64, u64) {
        let progress = &self.shared.progress;
        (progress.done.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed))
    }

    /// What was drawn so far, while the run goes on. What there is to be said about it comes with the result.
    pub fn inspect(&self) -> draws::Run {
        let drawn = self.live.draws();
        let chains = drawn.quantities().first().map_or(0, |quantity| quantity.chains.len());
        let version = env!("CARGO_PKG_VERSION").to_owned();
        draws::Run { seed: self.seed, chains, draws: drawn, version, ..draws::Run::default() }
    }

    /// Waits for the end, and gives what came of it.
    pub fn join(self) -> Result<Sampled, SampleError> {
        let mut result = self.shared.result.lock().unwrap_or_else(PoisonError::into_inner);
        while result.is_none() {
            result = self.shared.bell.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
        let result = result.take();
        result.expect("waited for above")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Others may have the same interrupt.
        if !self.shared.has_ended.load(Ordering::Acquire) {
            self.cancel();
        }
    }
}

impl Shared {
    fn finish(&self, result: Result<Sampled, SampleError>) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.has_ended.store(true, Ordering::Release);
        self.bell.notify_all();
    }
}
