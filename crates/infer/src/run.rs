//! What a run keeps besides the trace: tallies per kernel, what was learnt about approximate
//! decisions, warnings, collected draws, and whether somebody asked it to stop.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use smidgen_engine::{NodeId, Refusal, Trace};
use smidgen_value::{Value, bytes_of_fields};

use crate::audit::Audit;
use crate::austerity::Check;
use crate::record::{KernelRecord, Tally, Weighed};

/// Whether kernels may still learn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// There is no warm-up: kernels may learn, less and less often.
    #[default]
    Free,
    /// The draws do not count yet: kernels may try things out.
    Warmup,
    /// What was learnt in the warm-up stays as it is.
    Draws,
}

/// Audits kept per kernel and run.
const AUDITS: usize = 2000;
/// The last so many checks count: earlier ones looked at states far from where the chain went.
const CHECKS: usize = 4;
/// Decisions whose log weights are kept, and log weights in all.
const PAIRS: usize = 24;
const PAIR_WEIGHTS: usize = 20_000_000;

/// What transitions along a gradient were like since somebody last took this.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    pub trajectories: u64,
    /// Added over them.
    pub acceptance: f64,
    /// Of the last one.
    pub step: f64,
    pub energy: f64,
    /// The greatest.
    pub depth: u32,
}

bytes_of_fields!(Motion { trajectories, acceptance, step, energy, depth });

impl Motion {
    pub fn add(&mut self, acceptance: f64, step: f64, depth: u32, energy: f64) {
        self.trajectories += 1;
        self.acceptance += acceptance;
        self.depth = self.depth.max(depth);
        (self.step, self.energy) = (step, energy);
    }
}

#[derive(Default)]
pub struct Run {
    /// One per kernel of the program, by its number.
    pub kernels: Vec<KernelRecord>,
    /// Each once, in the order of their first occurrence.
    pub warnings: Vec<String>,
    /// What `collect` stored, by name.
    pub collected: Vec<(String, Vec<Value>)>,
    pub interrupt: Arc<AtomicBool>,
    pub phase: Phase,
    /// Transitions of each kernel in the warm-up, where their number is known beforehand.
    pub planned: Vec<Option<u64>>,
    /// Whether the sections of every decision are kept, and the log weights of some.
    pub detailed: bool,
    /// The share of approximate decisions that is audited, instead of what the kernels say.
    pub audit: Option<f64>,
    /// Whether every decision is made exactly, whatever the kernels say.
    pub exact: bool,
    /// Whether the default kernel may read less than everything.
    pub approximate: bool,
    /// Exact moves are decided by reading sections from so many on, instead of the usual number.
    pub scan_from: Option<usize>,
    /// Transitions that may still be made, if there is a limit.
    pub left: Option<u64>,
    /// What chains of one program share.
    pub shared: Arc<Shared>,
    pub motion: Motion,
}

/// What hangs on the program and its data alone, by addresses of choices: the first chain that comes makes it, the others wait
/// for it.
#[derive(Default)]
pub struct Shared {
    slots: Mutex<FxHashMap<Vec<u64>, Arc<Slot>>>,
}

type Slot = OnceLock<Box<dyn Any + Send + Sync>>;

impl Shared {
    /// What one client keeps under these addresses.
    pub fn get_or_make<T: Any + Send + Sync + Clone>(
        &self,
        addresses: &[u64],
        make: impl FnOnce() -> T,
    ) -> T {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(addresses.to_vec()).or_default().clone();
        drop(slots);
        let mut make = Some(make);
        let made = slot.get_or_init(|| Box::new(make.take().expect("asked once")()));
        match (made.downcast_ref::<T>(), make) {
            (Some(made), _) => made.clone(),
            (None, Some(make)) => make(),
            (None, None) => unreachable!("what was made here is of this type"),
        }
    }
}

impl Run {
    pub fn warn(&mut self, message: String) {
        if !self.warnings.contains(&message) {
            self.warnings.push(message);
        }
    }

    pub fn is_interrupted(&self) -> bool {
        self.left == Some(0) || self.interrupt.load(Ordering::Relaxed)
    }

    /// What all kernels did since the counts began.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.kernels.iter().for_each(|kernel| total.add(&kernel.tally));
        total
    }

    pub fn kernel(&mut self, number: usize) -> &mut KernelRecord {
        if number >= self.kernels.len() {
            self.kernels.resize(number + 1, KernelRecord::default());
        }
        &mut self.kernels[number]
    }

    /// Ends the warm-up: counts begin again, what was learnt about the tests stays.
    pub fn begin_draws(&mut self) {
        if self.phase == Phase::Warmup {
            self.phase = Phase::Draws;
        }
        for kernel in &mut self.kernels {
            kernel.tally = Tally::default();
            kernel.audits.clear();
            kernel.sections.clear();
            kernel.pairs.clear();
        }
    }

    pub fn collect(&mut self, name: &str, value: Value) {
        match self.collected.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => self.collected.push((name.to_owned(), vec![value])),
        }
    }
}

/// What one kernel writes while it runs.
pub struct Log<'a> {
    pub run: &'a mut Run,
    pub number: usize,
    pub tally: Tally,
}

impl<'a> Log<'a> {
    pub fn open(run: &'a mut Run, number: usize) -> Log<'a> {
        let tally = run.kernel(number).tally;
        Log { run, number, tally }
    }

    pub fn close(self) {
        self.run.kernel(self.number).tally = self.tally;
    }

    pub fn warn(&mut self, message: String) {
        self.run.warn(message);
    }

    /// How many transitions this kernel makes in the warm-up, if that is known beforehand.
    pub fn planned(&self) -> Option<u64> {
        self.run.planned.get(self.number).copied().flatten().filter(|n| *n > 0)
    }

    /// Notes what kinds of choices were moved, of the first few blocks. After the move: to look at a choice refreshes
    /// what it hangs on, and no move may rely on that.
    #[inline]
    pub fn kinds(&mut self, trace: &mut Trace, principals: &[NodeId]) {
        const BLOCKS: u64 = 64;
        if self.tally.transitions < BLOCKS {
            self.note_kinds(trace, principals);
        }
    }

    fn note_kinds(&mut self, trace: &mut Trace, principals: &[NodeId]) {
        let moves = &mut self.run.kernel(self.number).moves;
        for id in principals.iter().filter(|id| trace.is_choice(**id)).copied().collect::<Vec<_>>()
        {
            let support = trace.choice(id).and_then(|choice| choice.support());
            match support.is_ok_and(|support| support.is_continuous()) {
                true => moves.continuous = true,
                false => moves.discrete = true,
            }
        }
    }

    /// A block was moved whole.
    pub fn refused(&mut self, refusal: Refusal) {
        self.run.kernel(self.number).refuse(refusal);
    }

    /// How the kernel decides from now on, or why it stays exact.
    pub fn chose(&mut self, choice: Result<String, String>) {
        self.run.kernel(self.number).choice = Some(choice);
    }

    /// What the kernel has learnt about its proposals.
    pub fn adapted(&mut self, note: String) {
        self.run.kernel(self.number).adapted = Some(note);
    }

    pub fn audit(&mut self, audit: Audit) {
        let audits = &mut self.run.kernel(self.number).audits;
        if audits.len() < AUDITS {
            audits.push(audit);
        }
    }

    /// Keeps the log weights of a decision, if the run is detailed and there is room.
    pub fn weights(&mut self, log_global: f64, weights: &[f64]) {
        if !self.run.detailed {
            return;
        }
        let pairs = &mut self.run.kernel(self.number).pairs;
        let kept: usize = pairs.iter().map(|pair| pair.weights.len()).sum();
        if pairs.len() < PAIRS && kept + weights.len() <= PAIR_WEIGHTS {
            pairs.push(Weighed { log_global, weights: weights.to_vec() });
        }
    }

    pub fn check(&mut self, check: Check) {
        let checks = &mut self.run.kernel(self.number).checks;
        checks.push(check);
        if checks.len() > CHECKS {
            checks.remove(0);
        }
    }

    /// A decision was made by reading so many sections.
    pub fn sections(&mut self, sections: usize) {
        self.tally.sections_used += sections as u64;
        if self.run.detailed {
            self.run.kernel(self.number).sections.push(sections as u32);
        }
    }
}
