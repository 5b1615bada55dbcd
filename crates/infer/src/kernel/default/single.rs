//! The moves of one choice at a time: `gibbs` over its values, a slice of a single real or whole number, else
//! `mh` from the prior or by a walk of random scale. Each leaves alone whatever is not below the choice.
//!
//! Whether a number moves by a slice depends on whether it decides what exists: that is a question of
//! what is there when everything that hangs on it is taken away, the same from each of its values. After a slice
//! of a whole number comes one proposal from the prior: slices leave out what is beyond 2⁵³, and modes
//! far apart.

use smidgen_engine::idle::hanging_below;
use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{
    Choice, DrawnFrom, Enumeration, EvalError, NodeId, Proposed, Proposer, Scaffold, Trace,
};
use smidgen_prob::Support;
use smidgen_value::{Rng, Value, math};

use super::plan::Class;
use crate::kernel::gibbs::{draw_candidate, gibbs_move};
use crate::kernel::mh::mh_move;
use crate::kernel::slice::integers::LARGEST;
use crate::kernel::slice::{Conditional, How, Search};
use crate::proposer::{Scale, standard_normal, walk};
use crate::record::Tally;

/// An interval of this width is doubled until it holds the slice.
const SLICE: How = How { search: Search::Double, width: 1.0, most: 60 };

/// From the prior or, with probability one half (always if the prior is improper), a walk whose
/// scale is drawn log-uniformly from 0.001 to 10 in unconstrained coordinates, so that some of the
/// steps fit whatever the posterior's width. Decided before the choice is known.
///
/// A whole number walks so only if it decides what exists, and a long step may take as long to make: the scale
/// is from 1 to 30.
struct Mixed {
    walks: bool,
    /// Where between the ends of the range the logarithm of the scale lies, from 0 to 1.
    place: f64,
}

impl Mixed {
    fn draw(rng: &mut Rng) -> Mixed {
        Mixed { walks: rng.coin(), place: rng.uniform() }
    }

    fn scale(&self, low: f64, high: f64) -> f64 {
        low * math::pow(high / low, self.place)
    }
}

impl Proposer for Mixed {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        Ok((self.walks || !choice.is_proper())
            && choice.support().is_ok_and(|support| match support {
                Support::Integers { .. } => is_number(choice),
                support => support.is_continuous(),
            }))
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        if !self.is_local(choice)? {
            return Ok(Proposed::Prior);
        }
        // A single principal: its support does not change.
        let support = choice.support()?;
        if let (Support::Integers { low, high }, Some(n)) = (&support, choice.current().as_number())
        {
            let length = (self.scale(1.0, 30.0) * standard_normal(rng).abs()).ceil().max(1.0);
            let step = if rng.coin() { length } else { -length };
            let value = Value::Number(reflect(n, step, *low, *high));
            return Ok(Proposed::Local { value, log_q_ratio: 0.0 });
        }
        walk(choice.current(), &support, &support, &Scale::Same(self.scale(0.001, 10.0)), rng)
    }
}

/// A mixed proposal for one choice; all others are drawn from the prior.
struct WithBelow {
    mixed: Mixed,
    above: NodeId,
}

impl Proposer for WithBelow {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(choice.node == self.above && self.mixed.is_local(choice)?)
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        match choice.node == self.above {
            true => self.mixed.propose(choice, rng),
            false => Ok(Proposed::Prior),
        }
    }
}

/// Whether the values of a choice are numbers rather than names, as those of the tables of a restaurant
/// process are, which can be listed although there is no last one.
pub(super) fn is_number(choice: &Choice<'_>) -> bool {
    match choice.support() {
        Ok(Support::Integers { high, .. }) => high.is_finite() || choice.enumerate().is_err(),
        _ => false,
    }
}

/// A step of a whole number. What goes beyond an end comes back from it, or stays where it was: as likely
/// there as back, for n' is come to by the steps n' − n, (2 low − 1 − n') − n and (2 high + 1 − n') − n.
fn reflect(n: f64, step: f64, low: f64, high: f64) -> f64 {
    let to = n + step;
    let to = match () {
        _ if to < low => 2.0 * low - 1.0 - to,
        _ if to > high => 2.0 * high + 1.0 - to,
        _ => to,
    };
    let is_exact = n.abs() <= LARGEST && to.abs() <= LARGEST;
    if is_exact && (low..=high).contains(&to) { to } else { n }
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

    /// Moves a choice together with what hangs on it of the given addresses, which is drawn anew. False if nothing does.
    /// Beside the moves of [`Singles::step`], except for finite choices, which need no other.
    pub fn step_with_below(
        &mut self,
        trace: &mut Trace,
        (id, class): (NodeId, Class),
        is_given: &dyn Fn(&Trace, NodeId) -> bool,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<bool, EvalError> {
        let below = hanging_below(trace, &mut self.scaffold, &[id], is_given);
        if below.is_empty() {
            return Ok(false);
        }
        if class == Class::Finite {
            let enumeration = &mut self.enumeration;
            enumeration.weigh_with(trace, &[id], &below, DrawnFrom::Nothing, rng)?;
            draw_candidate(trace, enumeration, rng, tally)?;
            return Ok(true);
        }
        let mut proposer = WithBelow { mixed: Mixed::draw(rng), above: id };
        let mut block = below;
        block.push(id);
        mh_move(trace, &mut self.scaffold, &block, &mut proposer, None, rng, tally)?;
        Ok(false)
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
            Class::Integer if self.slice_whole_number(trace, id, rng, tally)? => {
                let (scaffold, prior) = (&mut self.scaffold, &mut FromPrior);
                return mh_move(trace, scaffold, &[id], prior, None, rng, tally).map(drop);
            }
            _ => {}
        }
        for _ in 0..tries {
            let mut proposer = Mixed::draw(rng);
            mh_move(trace, &mut self.scaffold, &[id], &mut proposer, None, rng, tally)?;
        }
        Ok(())
    }

    /// Whether it could be done.
    fn slice_whole_number(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<bool, EvalError> {
        match Conditional::of_whole_number(trace, &mut self.scaffold, id) {
            Ok(Some(mut conditional)) => {
                let n = SLICE.draw(&mut conditional, rng)?;
                conditional.commit(n, tally).map(|()| true)
            }
            _ => Ok(false),
        }
    }
}
