//! Observations that move: `[observe (if c x y) 3]` when c changes.
//!
//! The choice that the observation leaves is redrawn from its prior, the one it comes to takes the
//! value; both have to be in the scaffold. Which one it comes to is known only when the program
//! has run for the proposed value. So the attempt is undone and made again with the choice
//! *claimed* (or, if it is one that the program makes on the way, told to take the value when it
//! is made): with the same proposed values, and with the same random stream for each structure
//! that is restructured, each memoised family and each choice that is redrawn, so that the program takes the same way.
//!
//! Several observations may move at once; each attempt finds one more. What an observation leaves or comes to may
//! decide what *another* one refers to (`[observe (if k w y) 0.1]` and `[observe (if (< y 0) p q) 0.5]`). The
//! second then follows the first: y takes 0.1, or is redrawn, and only then p or q is found. So where
//! an attempt finds out where the first goes, what was found about the second before that is
//! forgotten, and found again. This ends, because no observation follows itself.
//!
//! The ratio is the usual one: p(c') p_y(3) / (p(c) p_x(3)) times what absorbs. If the prior of the
//! single principal c itself hangs on x or y, its proposal was drawn under the old arguments Par
//! and the way back draws under the new ones Par', so its weight is
//! p(c'|Par') p(c|Par') / (p(c|Par) p(c'|Par)).
//!
//! Refused: an observation that follows itself, because its own choice decides what it refers to, be it by way of
//! others.

use std::ops::ControlFlow;

use rustc_hash::FxHashSet;
use smidgen_lang::Span;
use smidgen_value::Rng;

use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::eval::NewClaim;
use crate::trace::node::{Observed, Op, Role};
use crate::trace::proposal::{Choice, Proposal, Proposed, Proposer};

/// What an attempt found out before it was given up.
pub(super) struct Redirection {
    pub claimed: Vec<(NodeId, Observed)>,
    pub claimed_new: Vec<NewClaim>,
    /// What was proposed for the principals.
    pub proposed: Vec<(NodeId, Proposed)>,
}

pub(crate) fn circular(origin: Span) -> EvalError {
    let message = "which choice an observation refers to is decided by that choice itself, or by choices that depend on it";
    EvalError::other(origin, message)
        .hint("write the model so that the deciding choice does not depend on the observed one")
}

/// Gives the principals what was proposed for them before, and asks another proposer about the
/// rest.
struct Replay<'a> {
    proposed: Vec<(NodeId, Proposed)>,
    /// The principal whose prior hangs on the choices that move, with log p(c'|Par).
    coupled: Option<(NodeId, f64)>,
    rest: &'a mut dyn Proposer,
}

impl Replay<'_> {
    fn find(&self, id: NodeId) -> Option<&Proposed> {
        self.proposed.iter().find(|(node, _)| *node == id).map(|(_, proposed)| proposed)
    }
}

/// It goes on with the move of the other proposer, for which nothing begins.
impl Proposer for Replay<'_> {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        match self.find(choice.node) {
            Some(Proposed::Local { .. }) => Ok(true),
            Some(_) => Ok(self.coupled.is_some_and(|(node, _)| node == choice.node)),
            None => self.rest.is_local(choice),
        }
    }

    fn prepare(&mut self, choice: &Choice<'_>) -> Result<(), EvalError> {
        match self.find(choice.node) {
            Some(_) => Ok(()),
            None => self.rest.prepare(choice),
        }
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        match (self.find(choice.node), self.coupled) {
            (Some(Proposed::Drawn(value)), Some((node, log_forward))) if node == choice.node => {
                let log_back = choice.trace.log_density(node)?;
                let log_q_ratio = log_back - log_forward;
                Ok(Proposed::Local { value: value.clone(), log_q_ratio })
            }
            (Some(proposed), _) => Ok(proposed.clone()),
            (None, _) => self.rest.propose(choice, rng),
        }
    }
}

impl Proposal<'_> {
    /// Attempts with the choices that observations come to in the scaffold, until there are no more
    /// of them.
    pub(super) fn attempt_claiming(
        &mut self,
        first: Redirection,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        let principals = self.scaffold.principals.clone();
        let mut proposed: Vec<(NodeId, Proposed)> = Vec::new();
        let mut claimed: Vec<(NodeId, Observed)> = Vec::new();
        let mut found = first;
        loop {
            self.undo();
            proposed.extend(found.proposed.into_iter().filter(|(id, _)| principals.contains(id)));
            let mut news: Vec<u64> = Vec::new();
            for (id, observed) in found.claimed {
                // The program went another way this time: it hangs on what moved.
                if claimed.iter().any(|(_, earlier)| earlier.number == observed.number) {
                    return Err(circular(self.trace.node(id).origin));
                }
                news.push(observed.number);
                claimed.push((id, observed));
            }
            for claim in found.claimed_new {
                let same = |c: &NewClaim| c.observed.number == claim.observed.number;
                if self.claimed_new.iter().any(same) {
                    return Err(circular(self.trace.node(principals[0]).origin));
                }
                news.push(claim.observed.number);
                self.claimed_new.push(claim);
            }
            self.forget_followers(&principals, &news, &mut claimed)?;
            let coupled = self.coupling(&principals, &claimed, &proposed)?;
            self.scaffold.build_claiming(self.trace, &principals, claimed.clone());
            let mut replay = Replay { proposed: proposed.clone(), coupled, rest: proposer };
            match self.attempt(&mut replay, rng)? {
                ControlFlow::Break(()) => return Ok(()),
                ControlFlow::Continue(next) => found = next,
            }
        }
    }

    /// Takes back the claims of observations that follow those of which it is now known where they go. An error
    /// if one follows itself.
    fn forget_followers(
        &mut self,
        principals: &[NodeId],
        news: &[u64],
        claimed: &mut Vec<(NodeId, Observed)>,
    ) -> Result<(), EvalError> {
        self.scaffold.build_claiming(self.trace, principals, claimed.clone());
        // What each observation leaves and comes to.
        let mut moved = self.scaffold.referents(self.trace);
        moved.extend(claimed.iter().map(|(id, observed)| (observed.number, *id)));
        let mut numbers: Vec<u64> = moved.iter().map(|(number, _)| *number).collect();
        numbers.extend(self.claimed_new.iter().map(|claim| claim.observed.number));
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let followers = self.followers(number, &moved);
            if followers.contains(&number) {
                return Err(circular(self.trace.node(principals[0]).origin));
            }
            if news.contains(&number) {
                claimed.retain(|(_, observed)| !followers.contains(&observed.number));
                self.claimed_new.retain(|claim| !followers.contains(&claim.observed.number));
            }
        }
        Ok(())
    }

    /// The observations whose referents are decided by what this one leaves and comes to, by way of others too.
    fn followers(&mut self, number: u64, moved: &[(u64, NodeId)]) -> FxHashSet<u64> {
        let of = |number: u64| moved.iter().filter(move |(n, _)| *n == number).map(|(_, id)| *id);
        let mut sources: Vec<NodeId> = of(number).collect();
        let mut followers = FxHashSet::default();
        loop {
            let before = sources.len();
            self.scaffold.build(self.trace, &sources);
            for id in &self.scaffold.target {
                let node = self.trace.node(*id);
                if node.role == Role::Restructured
                    && let Some(observed) = &node.observed
                    && followers.insert(observed.number)
                {
                    sources.extend(of(observed.number));
                }
            }
            // A choice that moves as well, and whose prior hangs on these.
            let absorbing = &self.scaffold.absorbing;
            sources.extend(moved.iter().map(|(_, id)| *id).filter(|id| absorbing.contains(id)));
            sources.sort_unstable();
            sources.dedup();
            if sources.len() == before {
                return followers;
            }
        }
    }

    /// How the deciding choices hang on those that observations leave and come to: not at all; a
    /// single principal's prior does (with its log p(c'|Par)); or in a way that is refused.
    fn coupling(
        &mut self,
        principals: &[NodeId],
        claimed: &[(NodeId, Observed)],
        proposed: &[(NodeId, Proposed)],
    ) -> Result<Option<(NodeId, f64)>, EvalError> {
        self.scaffold.build_claiming(self.trace, principals, claimed.to_vec());
        let released = self.scaffold.released.clone();
        let moved: Vec<NodeId> =
            released.iter().copied().chain(claimed.iter().map(|(id, _)| *id)).collect();
        self.scaffold.build(self.trace, &moved);
        let origin = self.trace.node(principals[0]).origin;
        let hangs = |id: &NodeId| !moved.contains(id) && self.trace.role(*id).is_some();
        let Some(principal) = principals.iter().copied().find(hangs) else { return Ok(None) };
        match proposed {
            [(id, Proposed::Drawn(value))]
                if principals.len() == 1
                    && *id == principal
                    && matches!(self.trace.node(principal).op, Op::Random(_)) =>
            {
                self.trace.refresh_arguments(principal)?;
                Ok(Some((principal, self.trace.log_density_at(principal, value)?)))
            }
            _ => Err(circular(origin)),
        }
    }
}
