//! `(mh scope block n)` and `(mh scope block 'drift sd n)`: algorithm 1 of the paper.
//!
//! `'adapt true` learns the scale of the walk in the warm-up ([`crate::proposer::learning`]).
//!
//! What many sections depend on is decided by reading them ([`super::scan`]), everything else by a whole proposal.
//! A block drawn uniformly among K(ρ) adds log K(ρ) − log K(ρ') to log α (theory 1.3).

use smidgen_engine::{EvalError, NodeId, Partition, Proposal, Proposer, Scaffold, Trace};
use smidgen_value::bytes::Input;
use smidgen_value::{Rng, math};

use crate::austerity::Schedule;
use crate::block::{Selection, Target};
use crate::explain::predict::{Test, predict};
use crate::explain::{Explanation, Look, advice, blocks};
use crate::kernel::Kernel;
use crate::kernel::scan::ExactMoves;
use crate::proposer::{self, Learner, MoveOutcome};
use crate::record::Tally;
use crate::run::Log;
use crate::spec::{Arguments, KernelSpec};

pub static SPEC: KernelSpec = KernelSpec {
    name: "mh",
    shape: "(mh scope block ['drift sd 'adapt true] n)",
    summary: "Metropolis-Hastings: n proposals, from the prior or by a random walk, whose scale 'adapt true learns in the warm-up",
    example: "(mh default one 1000)",
    positional: &[],
    optional: &[],
    options: &["drift", "adapt"],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, smidgen_lang::Diagnostic> {
    let proposer = proposer::read(arguments)?;
    Ok(Box::new(Mh::new(arguments.target.clone(), proposer)))
}

pub struct Mh {
    target: Target,
    proposer: Box<dyn Learner>,
    exact: ExactMoves,
    spare: Vec<NodeId>,
}

impl Mh {
    pub fn new(target: Target, proposer: Box<dyn Learner>) -> Mh {
        Mh { target, proposer, exact: ExactMoves::default(), spare: Vec::new() }
    }
}

impl Kernel for Mh {
    fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let Mh { target: _, proposer, exact: _, spare: _ } = self;
        proposer.save(out);
        Ok(())
    }

    fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.proposer.load(from)
    }

    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let Mh { target, proposer, exact, spare } = self;
        target.moves(trace, rng, log, spare, &mut |trace, principals, selection, rng, log| {
            let moved = exact.make(trace, principals, &mut **proposer, selection, rng, log)?;
            proposer.learn(moved, log);
            Ok(())
        })
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        let exact = Test { schedule: Schedule::new(1, 1.0), epsilon: 0.0 };
        let mut partition = Partition::new();
        blocks::explain(look, &self.target, &mut |look, principals, block| {
            // What a test of these proposals would do.
            if block.population >= advice::MANY && partition.find(look.trace, principals).is_ok() {
                let proposer = &mut *self.proposer;
                block.prediction = Some(predict(look, principals, &partition, proposer, exact)?);
            }
            block.advice = advice::exact(block);
            Ok(())
        })
    }
}

/// Whether log u < log α. Most decisions need no logarithm: with u = m 2^k, 1 ≤ m < 2, it lies between k log 2 and
/// (k + 1) log 2.
fn accepts(u: f64, log_ratio: f64) -> bool {
    const ROUNDING: f64 = 1e-9;
    if log_ratio >= 0.0 {
        return true;
    }
    let least = ((u.to_bits() >> 52) as f64 - 1023.0) * std::f64::consts::LN_2;
    let most = least + std::f64::consts::LN_2;
    log_ratio > least - ROUNDING && (log_ratio > most + ROUNDING || math::ln(u) < log_ratio)
}

/// One proposal for a block, accepted or not. `selection`: the scope and the number of blocks
/// among which it was drawn.
pub fn mh_move(
    trace: &mut Trace,
    scaffold: &mut Scaffold,
    principals: &[NodeId],
    proposer: &mut dyn Proposer,
    selection: Selection<'_>,
    rng: &mut Rng,
    tally: &mut Tally,
) -> Result<MoveOutcome, EvalError> {
    let u = rng.open_uniform();
    let proposal = Proposal::rehearse(trace, scaffold, principals, proposer, rng)?;
    let mut log_ratio = proposal.log_ratio();
    if let Some((scope, before)) = selection {
        let after = scope.count_in(&proposal);
        if after != before {
            log_ratio += math::ln(before as f64) - math::ln(after as f64);
        }
    }
    let sections = proposal.scaffold().sections() as u64;
    tally.transitions += 1;
    tally.sections_used += sections;
    tally.population += sections;
    let accepted = accepts(u, log_ratio);
    if accepted {
        tally.accepted += 1;
        proposal.install(rng)?;
    }
    Ok(MoveOutcome { log_ratio, accepted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_that_of_the_logarithm() {
        let mut rng = Rng::from_seed(8);
        for k in 0..100_000 {
            let u = rng.open_uniform();
            // Close to log u, and anywhere.
            let near = math::ln(u) + 1e-15 * f64::from(k % 9 - 4);
            for log_ratio in [near, -20.0 * rng.uniform(), f64::NEG_INFINITY, 0.5, f64::NAN] {
                assert_eq!(accepts(u, log_ratio), math::ln(u) < log_ratio, "{u} {log_ratio}");
            }
        }
    }
}
