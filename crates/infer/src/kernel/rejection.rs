//! `(rejection scope block n)`: exact draws of a block from its conditional law, by rejection.
//!
//! Values are drawn from the prior, the program runs for what hangs on them, and the draw is kept with
//! probability Π_A p(x | ·) / M, where M ≥ Π_A p(x | ·) whatever the block does
//! ([`smidgen_engine::bound`]). What is kept does not depend on the state that is left. A bound that is far above the weights
//! costs tries, not correctness; without a bound the kernel refuses.
//!
//! A block drawn among K(ρ) ones is drawn from the conditional law times 1 / K(ρ'), as theory 1.3 asks: then
//! going from ρ to ρ' is as likely as going back. If structure may change, that factor is bounded by 1 / the number
//! of blocks that stay whatever happens.

use std::sync::atomic::Ordering;

use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{EvalError, Mistake, NodeId, Proposal, Scaffold, Trace};
use smidgen_value::bytes::Input;
use smidgen_value::{Rng, math};

use crate::block::{Block, Scope, Selection, Target};
use crate::explain::{Explanation, Look, blocks};
use crate::kernel::Kernel;
use crate::run::Log;
use crate::spec::KernelSpec;

pub static SPEC: KernelSpec = KernelSpec {
    name: "rejection",
    shape: "(rejection scope block n)",
    summary: "Exact draws of a block from its conditional law: from the prior, rejected against a bound of the density of what depends on it",
    example: "(rejection default all 1)",
    positional: &[],
    optional: &[],
    options: &[],
    build: |arguments| Ok(Box::new(Rejection::new(arguments.target.clone()))),
};

/// From so many tries in one transition on, the run says so.
const MANY: u64 = 1_000_000;
/// Every so many tries, somebody may have asked to stop.
const LOOK_UP: u64 = 256;
/// A weight may exceed the bound by rounding.
const ROUNDING: f64 = 1e-6;

pub struct Rejection {
    target: Target,
    scaffold: Scaffold,
    spare: Vec<NodeId>,
}

impl Rejection {
    pub fn new(target: Target) -> Rejection {
        Rejection { target, scaffold: Scaffold::new(), spare: Vec::new() }
    }
}

impl Kernel for Rejection {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let Rejection { target, scaffold, spare } = self;
        target.moves(trace, rng, log, spare, &mut |trace, principals, selection, rng, log| {
            let proposal = Proposal::open(trace, scaffold, principals, &mut FromPrior)?;
            let log_bound = proposal.scaffold().log_bound(proposal.trace())?;
            redraw(proposal, log_bound, selection, rng, log)
        })
    }

    fn starts_anywhere(&self) -> bool {
        self.target.scope == Scope::Default && self.target.block == Block::All
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        blocks::explain(look, &self.target, &mut |look, principals, block| {
            let scaffold = &mut self.scaffold;
            let proposal = Proposal::open(look.trace, scaffold, principals, &mut FromPrior)?;
            block.advice.push(match proposal.scaffold().log_bound(proposal.trace()) {
                Ok(log_bound) => format!(
                    "a draw like the current state would be kept with probability {:.2e} (log bound {log_bound:.2})",
                    math::exp(proposal.log_old() - log_bound)
                ),
                Err(error) => error.to_string(),
            });
            Ok(())
        })
    }

    /// Nothing is learnt.
    fn save(&self, _: &mut Vec<u8>) -> Result<(), &'static str> {
        let Rejection { target: _, scaffold: _, spare: _ } = self;
        Ok(())
    }

    fn load(&mut self, _: &mut Input<'_>) -> Option<()> {
        Some(())
    }
}

/// Draws until a draw is kept.
fn redraw(
    mut proposal: Proposal<'_>,
    log_bound: f64,
    selection: Selection<'_>,
    rng: &mut Rng,
    log: &mut Log<'_>,
) -> Result<(), EvalError> {
    let sections = proposal.scaffold().sections() as u64;
    let staying = selection.map(|(_, before)| blocks_that_stay(&proposal, before));
    let mut tries = 0;
    let mut is_possible = proposal.log_old() > f64::NEG_INFINITY;
    loop {
        tries += 1;
        proposal.reconsider(&mut FromPrior, rng)?;
        is_possible |= proposal.log_new() > f64::NEG_INFINITY;
        let log_excess = proposal.log_new() - log_bound;
        if log_excess > ROUNDING {
            let span = proposal.trace().origin(proposal.scaffold().principals[0]).1;
            let message = format!(
                "rejection met a density {log_excess:.3} above its bound on the log scale: its draws would not be right"
            );
            return Err(EvalError::other(span, message).hint("use another kernel for this block"));
        }
        let log_share = match (selection, staying) {
            (Some((scope, _)), Some(staying)) => {
                math::ln(staying as f64) - math::ln(scope.count(proposal.trace()) as f64)
            }
            _ => 0.0,
        };
        if rng.log_uniform() < log_excess + log_share {
            break;
        }
        if tries == MANY && !is_possible {
            let span = proposal.trace().origin(proposal.scaffold().principals[0]).1;
            let message = format!(
                "rejection has made {MANY} draws, and under none of them the observations were possible"
            );
            return Err(EvalError::other(span, message)
                .hint("is some observation impossible whatever the random choices are?"));
        }
        if tries == MANY {
            log.warn(format!(
                "rejection has made {MANY} tries in one transition: the posterior of this block is narrow compared with its prior, use another kernel"
            ));
        }
        if tries % LOOK_UP == 0 && log.run.interrupt.load(Ordering::Relaxed) {
            return Err(EvalError::new(Mistake::Interrupted, None));
        }
    }
    log.tally.transitions += 1;
    log.tally.accepted += 1;
    log.tally.sections_used += tries * sections;
    log.tally.population += tries * sections;
    proposal.commit();
    Ok(())
}

/// How many of the blocks stay whatever the block decides about what exists.
fn blocks_that_stay(proposal: &Proposal<'_>, blocks: usize) -> usize {
    let trace = proposal.trace();
    let transient = proposal.scaffold().transient_nodes(trace);
    let going = transient.filter(|id| trace.is_choice(*id)).count();
    blocks.saturating_sub(going).max(1)
}
