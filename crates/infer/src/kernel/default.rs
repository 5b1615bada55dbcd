//! The default kernel, for people who do not want to choose: an integer k as an inference
//! program is k sweeps of it.
//!
//! One sweep moves everything: all continuous choices with a gradient jointly by `nuts`, then each
//! chain of finite choices as a whole, then the others one after the other in a fixed order
//! ([`plan`]). Exact.

mod chain;
mod explain;
pub mod plan;

use rustc_hash::FxHashMap;
use smidgen_engine::smooth::Form;
use smidgen_engine::{Choice, Enumeration, EvalError, NodeId, Proposed, Proposer, Scaffold, Trace};
use smidgen_value::{Rng, math};

use crate::block::{Block, Scope, Sweep, Target};
use crate::explain::{Explanation, Look};
use crate::kernel::Kernel;
use crate::kernel::gibbs::gibbs_move;
use crate::kernel::mh::mh_move;
use crate::kernel::nuts::Blocks;
use crate::kernel::slice::{Conditional, How, Search};
use crate::kernel::subsampled_mh::SubsampledMh;
use crate::proposer::{Scale, walk};
use crate::run::{Log, Phase};
use plan::{Class, Plan};

/// Moves per sweep of a choice that is moved by `mh`, or by `subsampled_mh`.
const TRIES: usize = 4;
const TALL_TRIES: usize = 10;

/// An interval of this width is doubled until it holds the slice.
const SLICE: How = How { search: Search::Double, width: 1.0, most: 20 };

pub struct Default {
    plan: Plan,
    nuts: Blocks,
    standardised: Blocks,
    enumeration: Enumeration,
    scaffold: Scaffold,
    /// By the addresses of their choices.
    subsampled: FxHashMap<u64, SubsampledMh>,
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
            enumeration: Enumeration::new(),
            scaffold: Scaffold::new(),
            subsampled: FxHashMap::default(),
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

/// From the prior or, with probability one half (always if the prior is improper), a walk whose
/// scale is drawn log-uniformly from 0.001 to 10 in unconstrained coordinates, so that some of the
/// steps fit whatever the posterior's width. Decided before the choice is known.
struct Mixed {
    walks: bool,
    scale: f64,
}

impl Mixed {
    fn draw(rng: &mut Rng) -> Mixed {
        let (walks, exponent) = (rng.coin(), -3.0 + 4.0 * rng.uniform());
        Mixed { walks, scale: math::pow(10.0, exponent) }
    }
}

impl Proposer for Mixed {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        Ok((self.walks || !choice.is_proper())
            && choice.support().is_ok_and(|support| support.is_continuous()))
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        if !self.is_local(choice)? {
            return Ok(Proposed::Prior);
        }
        // A single principal: its support does not change.
        let support = choice.support()?;
        walk(choice.current(), &support, &support, &Scale::Same(self.scale), rng)
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
        // A block that is new in the draws has nothing learnt that could stay as it is: its choices
        // move one by one.
        self.joint = learns || self.nuts.knows(&self.plan.smooth);
        if self.joint && !self.plan.smooth.is_empty() {
            let planned = log.planned().and_then(|n| n.checked_sub(self.sweeps)).filter(|n| *n > 0);
            // From an impossible state there are no trajectories: one by one, until it is possible.
            self.joint = self.nuts.transition(trace, &self.plan.smooth, planned, rng, log)?;
            if self.joint && self.plan.is_hierarchical {
                self.standardised.transition(trace, &self.plan.smooth, planned, rng, log)?;
            }
        }
        self.sweeps += 1;
        for chain in &mut self.plan.chains {
            chain.transition(trace, &mut self.enumeration, rng, &mut log.tally)?;
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

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        self.plan.update(look.trace, true, false)?;
        explain::explain(&self.plan, look)
    }
}

impl Default {
    /// Moves a choice that is not part of the joint block.
    fn single(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        match self.plan.class(trace, id)? {
            Class::Smooth if self.joint => return Ok(()),
            Class::Chain => return Ok(()),
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
                return Ok(());
            }
            Class::Finite => {
                return gibbs_move(trace, &mut self.enumeration, &[id], None, rng, &mut log.tally);
            }
            Class::Line | Class::Smooth => {
                if let Ok(mut conditional) =
                    Conditional::of(trace, &mut self.scaffold, &[id], "slice_doubling")
                {
                    let x = SLICE.draw(&mut conditional, rng)?;
                    return conditional.commit(x, &mut log.tally);
                }
            }
            Class::Other => {}
        }
        for _ in 0..TRIES {
            let mut proposer = Mixed::draw(rng);
            mh_move(trace, &mut self.scaffold, &[id], &mut proposer, None, rng, &mut log.tally)?;
        }
        Ok(())
    }
}
