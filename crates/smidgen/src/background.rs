//! Work in a thread of its own, to be waited for, looked at and stopped: any ([`Task`]), and a run of chains ([`Background`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use smidgen_draws as draws;
use smidgen_lang::{Diagnostic, SourceMap};

use crate::load::TopDirective;
use crate::sampling::{ChainProgress, Live, Progress, SampleError, SampleRequest, Sampled, sample};
use crate::session::Session;

/// Work that goes on by itself. Dropping it stops the work and does not wait.
pub struct Task<T> {
    shared: Arc<Shared<T>>,
    interrupt: Arc<AtomicBool>,
}

struct Shared<T> {
    progress: Progress,
    result: Mutex<Option<T>>,
    bell: Condvar,
    has_ended: AtomicBool,
}

impl<T> Shared<T> {
    fn finish(&self, result: T) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.has_ended.store(true, Ordering::Release);
        self.bell.notify_all();
    }
}

impl<T: Send + 'static> Task<T> {
    /// Begins the work, which is to end soon when the interrupt is set. `failed` is the result where it did not come
    /// to its end.
    pub fn start(
        interrupt: Arc<AtomicBool>,
        failed: impl Fn(&str) -> T + Send + Clone + 'static,
        work: impl FnOnce(&Progress) -> T + Send + 'static,
    ) -> Task<T> {
        let (progress, result) = (Progress::default(), Mutex::new(None));
        let (bell, has_ended) = (Condvar::new(), AtomicBool::new(false));
        let shared = Arc::new(Shared { progress, result, bell, has_ended });
        let (own, when_failed) = (shared.clone(), failed.clone());
        let run = move || {
            let progress = &own.progress;
            let result = catch_unwind(AssertUnwindSafe(|| work(progress)));
            own.finish(
                result.unwrap_or_else(|_| when_failed("internal error: this is a bug of smidgen")),
            );
        };
        if let Err(error) = std::thread::Builder::new().name("smidgen".to_owned()).spawn(run) {
            shared.finish(failed(&format!("no thread for the run: {error}")));
        }
        Task { shared, interrupt }
    }
}

impl<T> Task<T> {
    /// Waits so long at most; whether it has finished.
    pub fn wait(&self, patience: Duration) -> bool {
        let result = self.shared.result.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.shared.bell.wait_timeout_while(result, patience, |r| r.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    pub fn is_finished(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Asks it to stop soon.
    pub fn cancel(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// How much of the work is done: (made, planned).
    pub fn progress(&self) -> (u64, u64) {
        let progress = &self.shared.progress;
        (progress.done.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed))
    }

    /// Looks at the result, if it is there.
    pub fn look<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let result = self.shared.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.as_ref().map(look)
    }

    /// Waits for the end, and gives what came of it.
    pub fn join(self) -> T {
        let mut result = self.shared.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            result = self.shared.bell.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        // Others may have the same interrupt.
        if !self.shared.has_ended.load(Ordering::Acquire) {
            self.cancel();
        }
    }
}

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
    task: Task<Result<Sampled, SampleError>>,
    live: Arc<Live>,
    sources: SourceMap,
    seed: u64,
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
        let seed = request.seed;
        let failed = |message: &str| Err(Diagnostic::error(None, message).into());
        let task = Task::start(interrupt, failed, move |progress| {
            sample(&mut session, &program, &request, progress)
        });
        Background { task, live, sources, seed }
    }

    /// The texts that messages point into.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Waits so long at most; whether the run has finished.
    pub fn wait(&self, patience: Duration) -> bool {
        self.task.wait(patience)
    }

    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Asks all chains to stop soon; what they have drawn is the result.
    pub fn cancel(&self) {
        self.task.cancel();
    }

    /// How far each chain is.
    pub fn progress(&self) -> Vec<ChainProgress> {
        self.live.progress()
    }

    /// Applications of the kernel over all chains, warm-up included: (made, planned).
    pub fn applications(&self) -> (u64, u64) {
        self.task.progress()
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
        self.task.join()
    }
}
