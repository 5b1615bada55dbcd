//! The default kernel, for people who do not want to choose: an integer k as an inference
//! program is k sweeps of it.
//!
//! One sweep makes as many single-site moves as there were unconstrained choices after the last
//! directive, each on a choice drawn uniformly. A discrete choice is proposed from its prior. A continuous one is proposed
//! from its prior or, with probability one half (always if the prior is improper), by a random
//! walk whose scale is drawn log-uniformly from 0.001 to 10 in unconstrained coordinates, so
//! that some of the steps fit whatever the posterior's width.

use smidgen_engine::{Choice, EvalError, Proposed, Proposer, Scaffold, Trace};
use smidgen_value::{Rng, math};

use crate::block::{Block, Scope, Target};
use crate::explain::{Explanation, Look, advice, blocks};
use crate::kernel::Kernel;
use crate::kernel::mh::mh_move;
use crate::proposer::{Scale, walk};
use crate::run::Log;

#[derive(Default)]
pub struct Default {
    scaffold: Scaffold,
}

/// A walk of random scale, or nothing: decided before the choice is known.
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
        }
        for _ in 0..trace.sweep() {
            let blocks = trace.choices().len();
            if blocks == 0 {
                break;
            }
            let principal = trace.choices()[rng.below(blocks)];
            let mut proposer = Mixed::draw(rng);
            let selection = Some((&Scope::Default, blocks));
            let tally = &mut log.tally;
            mh_move(trace, &mut self.scaffold, &[principal], &mut proposer, selection, rng, tally)?;
        }
        Ok(())
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        let target = Target { scope: Scope::Default, block: Block::One };
        let mut explanation = blocks::explain(look, &target, &mut |_, _, block| {
            block.advice = advice::exact(block);
            Ok(())
        })?;
        explanation.draws_block = false;
        let (moves, choices) = (look.trace.sweep(), explanation.number_of_blocks);
        if choices > 1 {
            explanation.target =
                format!("{moves} times one of {choices} random choices, drawn at random");
        }
        Ok(explanation)
    }
}
