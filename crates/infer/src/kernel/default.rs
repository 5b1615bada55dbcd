//! The default kernel, for people who do not want to choose: an integer k as an inference
//! program is k sweeps of it.
//!
//! One sweep moves everything: all continuous choices with a gradient jointly by `nuts`, then each
//! chain of others as a whole, then the rest one after the other in a fixed order ([`plan`]). Exact.
//!
//! Where both kinds are there, each moves given the other, and a sweep goes round several times if that is
//! slow ([`rounds`]).

mod chain;
mod explain;
pub mod plan;
mod rounds;
mod single;

use rustc_hash::FxHashMap;
use smidgen_engine::smooth::Form;
use smidgen_engine::{EvalError, NodeId, Trace};
use smidgen_value::Rng;

use crate::block::{Block, Scope, Sweep, Target};
use crate::explain::{Explanation, Look};
use crate::kernel::Kernel;
use crate::kernel::nuts::Blocks;
use crate::kernel::subsampled_mh::SubsampledMh;
use crate::run::{Log, Phase};
use plan::{Class, Plan};
use rounds::Rounds;
use single::Singles;

/// Moves per sweep of a choice that is moved by `mh`, or by `subsampled_mh`.
const TRIES: usize = 4;
const TALL_TRIES: usize = 10;

pub struct Default {
    plan: Plan,
    nuts: Blocks,
    standardised: Blocks,
    singles: Singles,
    /// By the addresses of their choices.
    subsampled: FxHashMap<u64, SubsampledMh>,
    rounds: Rounds,
    sweeps: u64,
    /// Whether this sweep moves the smooth choices jointly.
    joint: bool,
}

impl std::default::Default for Default {
    fn default() -> Default {
        Default {
            plan: Plan::default(),
            nuts: Blocks::standard(Form::Plain),
            standardised: Blocks::standard(Form::Standardised),
            singles: Singles::new(),
            subsampled: FxHashMap::default(),
            rounds: Rounds::default(),
            sweeps: 0,
            joint: true,
        }
    }
}

impl Default {
    /// With trajectories of a given step size: nothing is searched for or learnt.
    pub fn with_step(step: f64) -> Default {
        let blocks = |form| Blocks::standard(form).with_step(step);
        let (nuts, standardised) = (blocks(Form::Plain), blocks(Form::Standardised));
        Default { nuts, standardised, ..Default::default() }
    }
}

impl Kernel for Default {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        if trace.choices().is_empty() {
            log.warn("the program has no unconstrained random choice: nothing to infer".into());
            return Ok(());
        }
        let learns = log.run.phase != Phase::Draws;
        let approximate = log.run.approximate && !log.run.exact;
        self.plan.update(trace, learns, approximate)?;
        for round in 0..self.rounds.number {
            if round > 0 {
                self.plan.update(trace, learns, approximate)?;
            }
            self.round(trace, learns, rng, log)?;
            match self.plan.has_others() && !self.plan.smooth.is_empty() {
                true if learns => self.rounds.learn(trace, &self.plan.smooth),
                false if learns => self.rounds.reset(),
                _ => {}
            }
        }
        self.sweeps += 1;
        Ok(())
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        self.plan.update(look.trace, true, false)?;
        explain::explain(&mut self.plan, look)
    }
}

impl Default {
    fn round(
        &mut self,
        trace: &mut Trace,
        learns: bool,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        // A block that is new in the draws has nothing learnt that could stay as it is: its choices
        // move one by one.
        self.joint = learns || self.nuts.knows(&self.plan.smooth);
        if self.joint && !self.plan.smooth.is_empty() {
            let planned = log.planned().and_then(|n| n.checked_sub(self.sweeps)).filter(|n| *n > 0);
            let planned = planned.map(|n| n * self.rounds.number as u64);
            // From an impossible state there are no trajectories: one by one, until it is possible.
            self.joint = self.nuts.transition(trace, &self.plan.smooth, planned, rng, log)?;
            if self.joint && self.plan.is_hierarchical {
                self.standardised.transition(trace, &self.plan.smooth, planned, rng, log)?;
            }
        }
        for chain in &mut self.plan.chains {
            chain.transition(trace, &mut self.singles, rng, &mut log.tally)?;
        }
        if self.joint && !self.plan.has_singles() {
            return Ok(());
        }
        let target = Target { scope: Scope::Default, block: Block::Each };
        let mut sweep = Sweep::of(target);
        while let Some(block) = sweep.next(trace) {
            for id in block {
                self.single(trace, id, rng, log)?;
            }
        }
        Ok(())
    }

    /// Moves a choice that is not part of the joint block.
    fn single(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let class = self.plan.class(trace, id)?;
        match class {
            Class::Smooth if self.joint => Ok(()),
            Class::Chain | Class::Particles => Ok(()),
            Class::Tall => {
                let target = Target { scope: Scope::Default, block: Block::Each };
                let kernel = self.subsampled.entry(trace.address(id));
                let kernel = kernel.or_insert_with(|| SubsampledMh::automatic(target));
                for _ in 0..TALL_TRIES {
                    kernel.move_block(trace, &[id], None, rng, log)?;
                }
                // Then trajectories serve it better.
                if kernel.stays_exact() && log.run.phase != Phase::Draws {
                    self.plan.move_exactly(trace.address(id));
                }
                Ok(())
            }
            _ => self.singles.step(trace, (id, class), TRIES, rng, &mut log.tally),
        }
    }
}
