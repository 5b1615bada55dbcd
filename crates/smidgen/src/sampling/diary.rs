//! What a chain keeps of its draws: the recorded values and, on request, statistics of the transitions, states of the
//! program, and the warm-up.

use smidgen_draws::states::{ChainStates, KeepStates, Keeper};
use smidgen_draws::{Draws, STATISTICS};
use smidgen_engine::{EvalError, Model};
use smidgen_infer::run::{Motion, Run};
use smidgen_infer::{KernelRecord, Tally};
use smidgen_io::folder::ChainDraws;
use smidgen_value::{Rng, State, Value};

use super::SampleRequest;
use super::watch::Watch;

/// The diary of one chain.
pub(super) struct Diary {
    pub draws: Draws,
    /// Room for the values of one draw.
    values: Vec<Value>,
    pub stats: Draws,
    pub warmup: Draws,
    pub warmup_stats: Draws,
    keeper: Keeper,
    keeps: KeepStates,
    /// Where the chain is at its end.
    last: Option<State>,
    /// Whether it was stopped in the warm-up.
    pub was_cut: bool,
    /// Why there are no states.
    pub stateless: Option<&'static str>,
    /// Whether what was recorded has all of them.
    pub is_recorded: bool,
    wants_stats: bool,
    wants_density: bool,
    /// What the kernels had done when the last draw was made.
    before: Tally,
    /// What is recorded goes elsewhere as well, or there alone.
    tap: Option<Tap>,
}

/// The last draw, with its statistics.
struct Tap {
    values: Vec<Value>,
    keeps: bool,
}

impl Diary {
    pub fn new(watch: &[Watch], request: &SampleRequest) -> Diary {
        let names = || watch.iter().map(|w| w.name().to_owned());
        let stats = || match request.stats {
            true => Draws::new(STATISTICS, 1),
            false => Draws::default(),
        };
        Diary {
            draws: Draws::new(names(), 1),
            values: Vec::new(),
            stats: stats(),
            warmup: Draws::new(names(), 1),
            warmup_stats: stats(),
            keeper: Keeper::new(request.keep_states, request.chains),
            keeps: request.keep_states,
            last: None,
            was_cut: false,
            stateless: None,
            is_recorded: false,
            wants_stats: request.stats,
            wants_density: request.stats_density,
            before: Tally::default(),
            tap: None,
        }
    }

    /// The counts begin again.
    pub fn begin_draws(&mut self, run: &mut Run) {
        run.begin_draws();
        self.before = Tally::default();
    }

    /// A draw was made.
    pub fn draw(
        &mut self,
        model: &mut Model,
        watch: &[Watch],
        run: &mut Run,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        Watch::values(watch, model, rng, &mut self.values)?;
        let stats = self.statistics(model, run)?;
        if self.goes_here(stats.as_deref()) {
            self.draws.push(0, self.values.drain(..));
            stats.into_iter().for_each(|stats| self.stats.push(0, stats));
        }
        self.keep_state(model);
        Ok(())
    }

    /// Whether the draw at hand is kept in memory; it may go elsewhere.
    fn goes_here(&mut self, stats: Option<&[Value]>) -> bool {
        let Some(tap) = &mut self.tap else { return true };
        tap.values.clear();
        tap.values.extend_from_slice(&self.values);
        tap.values.extend_from_slice(stats.unwrap_or_default());
        tap.keeps
    }

    /// From now on every draw can be had from [`Diary::tapped`], and is kept in memory only on request.
    pub fn tap(&mut self, keeps: bool) {
        self.tap = Some(Tap { values: Vec::new(), keeps });
    }

    /// The last draw, with its statistics, if somebody has asked for them.
    pub fn tapped(&mut self) -> Option<Vec<Value>> {
        self.tap.as_mut().map(|tap| std::mem::take(&mut tap.values))
    }

    /// Goes on with draws that were written before.
    pub fn recall(&mut self, read: ChainDraws) {
        if read.draws.quantities().is_empty() {
            return;
        }
        (self.draws, self.stats) = (read.draws, read.stats);
        if !read.warmup.quantities().is_empty() {
            (self.warmup, self.warmup_stats) = (read.warmup, read.warmup_stats);
        }
    }

    /// What [`Diary::tapped`] gives, by name.
    pub fn columns(&self) -> Vec<String> {
        let own = self.draws.quantities().iter().map(|quantity| quantity.name.clone());
        let stats = self.stats.quantities().iter().map(|quantity| format!("{}__", quantity.name));
        own.chain(stats).collect()
    }

    pub fn counted(&self) -> Tally {
        self.before
    }

    pub fn count_from(&mut self, before: Tally) {
        self.before = before;
    }

    /// A step of the warm-up was made.
    pub fn warm_up(
        &mut self,
        model: &mut Model,
        watch: &[Watch],
        run: &mut Run,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        Watch::values(watch, model, rng, &mut self.values)?;
        let stats = self.statistics(model, run)?;
        if self.goes_here(stats.as_deref()) {
            self.warmup.push(0, self.values.drain(..));
            stats.into_iter().for_each(|stats| self.warmup_stats.push(0, stats));
        }
        Ok(())
    }

    pub fn keep_state(&mut self, model: &Model) {
        if self.stateless.is_some() {
            return;
        }
        let state = match self.keeper.wants_next() {
            true => model.state(self.keeper.last()),
            false => return self.keeper.next(None),
        };
        match state {
            Ok(state) => self.keeper.next(Some(state)),
            Err(reason) => self.stateless = Some(reason),
        }
    }

    /// The chain stands where it will stay.
    pub fn end(&mut self, model: &mut Model, watch: &[Watch], rng: &mut Rng) {
        if self.keeps != KeepStates::No && self.stateless.is_none() {
            self.last = model.state(self.keeper.last()).ok();
            let addresses: Vec<u64> = watch.iter().filter_map(|w| w.address(model, rng)).collect();
            self.is_recorded = self.keeper.are_among(&addresses);
        }
    }

    pub fn states(self) -> (ChainStates, Option<State>) {
        match self.stateless {
            Some(_) => (ChainStates::default(), None),
            None => (self.keeper.finish(), self.last),
        }
    }

    /// [`STATISTICS`] of the transitions since the last draw.
    fn statistics(
        &mut self,
        model: &mut Model,
        run: &mut Run,
    ) -> Result<Option<Vec<Value>>, EvalError> {
        if !self.wants_stats {
            return Ok(None);
        }
        let (now, before) = (total(&run.kernels), self.before);
        self.before = now;
        // The step is the last one until there is another.
        let next = Motion { step: run.motion.step, ..Motion::default() };
        let Motion { trajectories, acceptance, step, energy, depth } =
            std::mem::replace(&mut run.motion, next);
        let share = |part: f64, whole: u64| match whole {
            0 => f64::NAN,
            whole => part / whole as f64,
        };
        let accepted = match trajectories {
            0 => {
                share((now.accepted - before.accepted) as f64, now.transitions - before.transitions)
            }
            _ => share(acceptance, trajectories),
        };
        let moved = |x: f64| if trajectories > 0 { x } else { f64::NAN };
        let log_joint = if self.wants_density { model.log_joint()? } else { f64::NAN };
        Ok(Some(vec![
            log_joint.into(),
            accepted.into(),
            moved(step).into(),
            moved(f64::from(depth)).into(),
            moved(energy).into(),
            f64::from(u8::from(now.diverged > before.diverged)).into(),
            ((now.sections_used - before.sections_used) as f64).into(),
            ((now.population - before.population) as f64).into(),
        ]))
    }
}

fn total(kernels: &[KernelRecord]) -> Tally {
    let mut total = Tally::default();
    kernels.iter().for_each(|kernel| total.add(&kernel.tally));
    total
}
