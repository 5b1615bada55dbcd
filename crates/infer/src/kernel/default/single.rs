//! The moves of one choice at a time: `gibbs` over its values, a slice of a single real number, else
//! `mh` from the prior or by a walk of random scale. Each leaves alone whatever is not below the choice.

use smidgen_engine::{Choice, Enumeration, EvalError, NodeId, Proposed, Proposer, Scaffold, Trace};
use smidgen_value::{Rng, math};

use super::plan::Class;
use crate::kernel::gibbs::gibbs_move;
use crate::kernel::mh::mh_move;
use crate::kernel::slice::{Conditional, How, Search};
use crate::proposer::{Scale, walk};
use crate::record::Tally;

/// An interval of this width is doubled until it holds the slice.
const SLICE: How = How { search: Search::Double, width: 1.0, most: 20 };

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

/// The room that single moves work in.
pub(super) struct Singles {
    enumeration: Enumeration,
    scaffold: Scaffold,
}

impl Singles {
    pub fn new() -> Singles {
        Singles { enumeration: Enumeration::new(), scaffold: Scaffold::new() }
    }

    /// Moves a choice as its class tells; `tries`: how often, by `mh`.
    pub fn step(
        &mut self,
        trace: &mut Trace,
        (id, class): (NodeId, Class),
        tries: usize,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<(), EvalError> {
        match class {
            Class::Finite => {
                return gibbs_move(trace, &mut self.enumeration, &[id], None, rng, tally);
            }
            Class::Line | Class::Smooth => {
                if let Ok(mut conditional) =
                    Conditional::of(trace, &mut self.scaffold, &[id], "slice_doubling")
                {
                    let x = SLICE.draw(&mut conditional, rng)?;
                    return conditional.commit(x, tally);
                }
            }
            _ => {}
        }
        for _ in 0..tries {
            let mut proposer = Mixed::draw(rng);
            mh_move(trace, &mut self.scaffold, &[id], &mut proposer, None, rng, tally)?;
        }
        Ok(())
    }
}
