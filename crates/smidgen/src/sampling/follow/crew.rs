//! The chains of a run that follows a table: each has a thread of its own, which waits for rows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use smidgen_engine::EvalError;
use smidgen_lang::Diagnostic;

use super::Epoch;
use crate::sampling::durable::Saved;
use crate::sampling::journey::Journey;
use crate::sampling::{Chain, Plan, broken};

/// Settling draws: a tenth of the warm-up, and no fewer than these.
const LEAST_SETTLING: usize = 50;

pub(super) fn settling(warmup: usize) -> usize {
    (warmup / 10).max(LEAST_SETTLING)
}

/// What a chain has made of an epoch.
pub(super) type Made = (u32, Result<Chain, Diagnostic>);

/// So many chains may work at a time.
pub(super) struct Gate {
    free: Mutex<usize>,
    bell: Condvar,
}

impl Gate {
    pub fn of(threads: usize) -> Gate {
        Gate { free: Mutex::new(threads.max(1)), bell: Condvar::new() }
    }

    /// Works when it is its turn.
    fn pass<T>(&self, work: impl FnOnce() -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.bell.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        drop(free);
        let result = work();
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.bell.notify_one();
        result
    }
}

impl Plan<'_> {
    /// A chain with all its epochs, from the first that it is given.
    pub(super) fn followed_chain(
        &self,
        k: usize,
        saved: Option<Saved>,
        gate: &Gate,
        orders: &Receiver<Arc<Epoch>>,
        done: &Sender<Made>,
    ) {
        let Ok(mut epoch) = orders.recv() else { return };
        let fails = |epoch: &Epoch, problem| drop(done.send((epoch.number, Err(problem))));
        let begin = || guarded(|| self.journey_from(k, saved, Some(epoch.clone())));
        let mut journey = match gate.pass(begin) {
            Ok(journey) => journey,
            Err(problem) => return fails(&epoch, problem),
        };
        let mut warmup = self.request.warmup;
        loop {
            let work = || guarded(|| journey.stretch(warmup).map_err(EvalError::into_diagnostic));
            let chain = gate.pass(work);
            let is_over = chain.is_err();
            if done.send((epoch.number, chain)).is_err() || is_over {
                return;
            }
            epoch = match orders.recv() {
                Ok(next) => next,
                Err(_) => return journey.close(),
            };
            match gate.pass(|| guarded(|| self.begin(&mut journey, &epoch))) {
                Ok(steps) => warmup = steps,
                Err(problem) => return fails(&epoch, problem),
            }
        }
    }

    /// The new rows of an epoch, and how long the chain is to settle: as long as at the start if it has forgotten what it had learnt.
    fn begin(
        &self,
        journey: &mut Journey<'_, '_>,
        epoch: &Arc<Epoch>,
    ) -> Result<usize, Diagnostic> {
        let warmup = self.request.warmup;
        let more = settling(warmup);
        Ok(if journey.take_rows(epoch)? { more } else { warmup.max(more) })
    }
}

/// A broken invariant of ours is a message, and no end of the process.
fn guarded<T>(work: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(broken()))
}
