//! Algorithm 1 and equation 3: a tentative move, which undoes itself when dropped.
//!
//! Detach takes T out of the trace and D out of the statistics, and adds up the weights of the
//! old trace; regenerate gives D new values (principals from the proposal, everything else by
//! running the program, which makes the new transient set T'), and adds up the weights of the
//! new trace:
//!
//! log α = Σ_A [log p(x|Par') − log p(x|Par)]
//!       + Σ_D [log p(x'|Par') − log q(x'|ρ') + log q(x|ρ) − log p(x|Par)]
//!       + observed choices in T' − observed choices in T.
//!
//! Choices proposed from their prior, and unobserved choices in T and T', have p = q and are
//! never evaluated.
//!
//!
//! Observations that move are the business of `redirect`.

mod detach;
mod plain;
mod proposer;
mod redirect;
mod regenerate;
mod rehearse;
mod walls;

use std::ops::ControlFlow;

use smidgen_value::Rng;

use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::eval::{Evaluation, NewClaim, Phase, Regeneration};
use crate::trace::journal::Savepoint;
use crate::trace::node::{Observed, Op};
use crate::trace::scaffold::Scaffold;

pub(crate) use proposer::Preset;
pub use proposer::{Choice, FromPrior, Proposed, Proposer};
use redirect::Redirection;
pub(crate) use redirect::circular;
pub(crate) use rehearse::{Credit, Rehearsal, Rehearsed, given_up};

enum Beforehand {
    /// The draw is the current value: there is nothing to do.
    Unchanged,
    Drawn(Preset),
    /// The value has to be drawn in the course of the regeneration.
    No,
}

/// A tentative move. Dropped without [`Proposal::commit`], it restores the trace.
pub struct Proposal<'t> {
    pub(crate) trace: &'t mut Trace,
    scaffold: &'t mut Scaffold,
    savepoint: Savepoint,
    /// If an observation may move: the seed of what runs for T', and the choices made there that
    /// observations come to.
    replay: Option<u64>,
    claimed_new: Vec<NewClaim>,
    log_old: f64,
    log_new: f64,
    /// Impossible observations before and after, while they are counted ([`Trace::is_lenient`]).
    impossible: (u64, u64),
    /// Why the regeneration stopped half-way, if it did: such a proposal can only be dropped.
    stopped: Option<EvalError>,
    committed: bool,
    /// Whether nothing was detached, and nothing is pending.
    in_place: bool,
}

impl<'t> Proposal<'t> {
    /// Proposes new values for a block. An error that only says that the proposal left the
    /// domain of some parameter gives a proposal with log ratio −∞.
    pub fn propose(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principals: &[NodeId],
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<Proposal<'t>, EvalError> {
        Proposal::propose_or_rehearse(trace, scaffold, principals, proposer, (rng, false))
    }

    fn propose_or_rehearse(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principals: &[NodeId],
        proposer: &mut dyn Proposer,
        (rng, rehearses): (&mut Rng, bool),
    ) -> Result<Proposal<'t>, EvalError> {
        let id = match principals {
            [id] if matches!(trace.node(*id).op, Op::Random(_)) => *id,
            _ => {
                scaffold.build(trace, principals);
                let replay = scaffold.observation_moves.then(|| rng.seed());
                return Proposal::begin(trace, scaffold, replay, proposer, rng);
            }
        };
        // A draw that comes out as the value that is there needs no scaffold.
        let drawn = match draw_beforehand(trace, id, proposer, rng)? {
            Beforehand::Unchanged => {
                scaffold.clear(principals);
                return Ok(Proposal::unchanged(trace, scaffold, None));
            }
            Beforehand::Drawn(preset) => Some(preset),
            Beforehand::No => None,
        };
        // What is kept holds for what was committed.
        let keeps = rehearses && trace.journal.is_empty();
        if !(keeps && scaffold.recall(trace, id)) {
            scaffold.build(trace, principals);
            if keeps && (scaffold.is_plain() || scaffold.can_be_rehearsed(trace)) {
                scaffold.keep(trace);
            }
        }
        let replay = scaffold.observation_moves.then(|| rng.seed());
        let mut proposal = Proposal::unchanged(trace, scaffold, replay);
        match drawn {
            drawn if proposal.scaffold.is_plain() => {
                proposal.propose_values(drawn, proposer, rng)?
            }
            Some(preset) if rehearses => proposal.rehearse_or_attempt(preset, rng)?,
            Some(mut preset) => proposal.attempt_all(&mut preset, rng)?,
            None => proposal.attempt_all(proposer, rng)?,
        }
        Ok(proposal)
    }

    /// The same with a given seed for what runs for T' where observations may move.
    pub(crate) fn propose_seeded(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principals: &[NodeId],
        proposer: &mut dyn Proposer,
        (rng, seed): (&mut Rng, u64),
    ) -> Result<Proposal<'t>, EvalError> {
        scaffold.build(trace, principals);
        let replay = scaffold.observation_moves.then_some(seed);
        Proposal::begin(trace, scaffold, replay, proposer, rng)
    }

    /// Weighs a block as it is ([`Proposal::log_old`], with the density of choices that the proposer
    /// calls local) and proposes nothing yet: see [`Proposal::reconsider`].
    pub fn open(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principals: &[NodeId],
        proposer: &mut dyn Proposer,
    ) -> Result<Proposal<'t>, EvalError> {
        scaffold.build(trace, principals);
        let mut proposal = Proposal::unchanged(trace, scaffold, None);
        proposer.begin();
        proposal.log_old = proposal.trace.detach(proposal.scaffold, Some(proposer))?;
        proposal.log_new = proposal.log_old;
        proposal.undo();
        Ok(proposal)
    }

    /// Gives up what was proposed and proposes other values for the same block. The scaffold and
    /// the old weights are those found before, and a draw that comes out as the current value is
    /// no shortcut: [`Proposal::log_new`] is always that of a whole move. Not for blocks that
    /// make observations move ([`Scaffold::moves_observations`]).
    pub fn reconsider(
        &mut self,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        self.undo();
        self.stopped = None;
        self.trace.detach(self.scaffold, None)?;
        match self.regenerate(proposer, rng)? {
            ControlFlow::Break(()) => Ok(()),
            ControlFlow::Continue(_) => {
                Err(circular(self.trace.node(self.scaffold.principals[0]).origin))
            }
        }
    }

    fn unchanged(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        replay: Option<u64>,
    ) -> Proposal<'t> {
        Proposal {
            savepoint: trace.savepoint(),
            trace,
            scaffold,
            replay,
            claimed_new: Vec::new(),
            log_old: 0.0,
            log_new: 0.0,
            impossible: (0, 0),
            stopped: None,
            committed: false,
            in_place: false,
        }
    }

    pub(crate) fn begin(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        replay: Option<u64>,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<Proposal<'t>, EvalError> {
        let mut proposal = Proposal::unchanged(trace, scaffold, replay);
        proposal.begin_attempts(proposer, rng)?;
        Ok(proposal)
    }

    fn begin_attempts(
        &mut self,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        let [id] = self.scaffold.principals[..] else { return self.attempt_all(proposer, rng) };
        // A draw that founds a new table takes the smallest free label, so "the value it has"
        // may be another table: then T has to be redrawn with it.
        let relabels = matches!(self.trace.node(id).op, Op::Draw(_));
        if relabels && !self.scaffold.transient.is_empty() {
            return self.attempt_all(proposer, rng);
        }
        match draw_beforehand(self.trace, id, proposer, rng)? {
            Beforehand::Unchanged => Ok(()),
            Beforehand::Drawn(mut preset) => self.attempt_all(&mut preset, rng),
            Beforehand::No => self.attempt_all(proposer, rng),
        }
    }

    /// As many attempts as it takes.
    fn attempt_all(&mut self, proposer: &mut dyn Proposer, rng: &mut Rng) -> Result<(), EvalError> {
        if let ControlFlow::Continue(redirection) = self.attempt(proposer, rng)? {
            self.attempt_claiming(redirection, proposer, rng)?;
        }
        Ok(())
    }

    /// log α of equation 3, without terms for the choice of the block.
    pub fn log_ratio(&self) -> f64 {
        if self.log_new == f64::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        if self.log_old == f64::NEG_INFINITY {
            // The current state is impossible: anything possible is better.
            return f64::INFINITY;
        }
        self.log_new - self.log_old
    }

    /// The sum of the log weights of the old trace (conditional log density of A and of what was
    /// scored in D and T).
    pub fn log_old(&self) -> f64 {
        self.log_old
    }

    /// The sum of the log weights of the new trace (conditional log density of A and of what was
    /// scored in D and T').
    pub fn log_new(&self) -> f64 {
        self.log_new
    }

    /// Impossible observations in the old and in the new trace, while a start is searched for.
    pub(crate) fn impossible(&self) -> (u64, u64) {
        self.impossible
    }

    /// The trace as proposed.
    pub fn trace(&self) -> &Trace {
        self.trace
    }

    /// The scaffold that the move changes.
    pub fn scaffold(&self) -> &Scaffold {
        self.scaffold
    }

    /// Whether nothing was changed.
    pub fn is_identity(&self) -> bool {
        self.trace.savepoint() == self.savepoint
    }

    pub fn commit(mut self) {
        self.committed = true;
        if !self.trace.journal.is_empty() {
            self.trace.commit();
        }
    }

    /// Makes the global part lasting. What lies below becomes stale, at no cost.
    pub fn commit_lazily(mut self) {
        self.committed = true;
        if !self.is_identity() {
            debug_assert!(self.trace.decide_nothing(&self.scaffold.target));
            self.trace.commit_lazily();
        }
    }

    /// Keeps the move as part of a larger transaction, whose owner commits.
    pub(crate) fn keep(mut self) -> Result<(), EvalError> {
        if let Some(error) = self.stopped.take() {
            return Err(error);
        }
        self.committed = true;
        Ok(())
    }

    /// One attempt. Continues with the choices that observations came to, and what was proposed,
    /// if it has to be made again with those.
    fn attempt(
        &mut self,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<ControlFlow<(), Redirection>, EvalError> {
        proposer.begin();
        self.trace.take_impossible();
        self.log_old = self.trace.detach(self.scaffold, Some(proposer))?;
        self.impossible.0 = self.trace.take_impossible();
        self.regenerate(proposer, rng)
    }

    /// The second half of an attempt.
    fn regenerate(
        &mut self,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<ControlFlow<(), Redirection>, EvalError> {
        let mut cx = Evaluation::of_proposal(
            rng,
            Regeneration {
                released: &self.scaffold.released,
                claimed: &self.scaffold.claimed,
                claimed_new: &self.claimed_new,
                replay: self.replay,
                ..Regeneration::new(proposer)
            },
        );
        let result = self.trace.regenerate(self.scaffold, &mut cx);
        let may_be_vain =
            result.as_ref().is_err_and(|error| !error.rejects() && !error.is_interruption());
        if may_be_vain && !self.scaffold.observation_moves {
            self.trace.regenerate_the_rest(self.scaffold, &mut cx);
        }
        self.impossible.1 = self.trace.take_impossible();
        let regeneration = match cx.phase {
            Phase::Proposal(regeneration) => regeneration,
            Phase::Directive { .. } => unreachable!("a proposal stays one"),
        };
        if !regeneration.redirected.is_empty() || !regeneration.redirected_new.is_empty() {
            return Ok(ControlFlow::Continue(Redirection {
                claimed: regeneration.redirected,
                claimed_new: regeneration.redirected_new,
                proposed: regeneration.proposed,
            }));
        }
        self.log_new = match result {
            Ok(()) => {
                let reached = |claim: &(NodeId, Observed)| regeneration.reached.contains(&claim.0);
                if let Some(lost) = self.scaffold.claimed.iter().find(|claim| !reached(claim)) {
                    return Err(circular(self.trace.node(lost.0).origin));
                }
                regeneration.log_new + cx.log_observed
            }
            Err(error) if self.is_rejected(&error) => {
                self.stopped = Some(error);
                f64::NEG_INFINITY
            }
            Err(error) => return Err(error),
        };
        Ok(ControlFlow::Break(()))
    }

    /// Whether an error half-way is only a rejection: a parameter has left its domain, or a choice that keeps its value has
    /// become impossible, and what was computed from that could not be. `(lookup (range 0 n) i)` fails where n is proposed
    /// below i, though i is always below n.
    fn is_rejected(&self, error: &EvalError) -> bool {
        if error.is_interruption() || error.rejects() {
            return error.rejects();
        }
        let is_settled = |id: &NodeId| {
            let mut above = self.trace.node(*id).args.iter().filter_map(|arg| arg.operand.node());
            above.all(|argument| {
                let node = self.trace.node(argument);
                !node.pending && !node.in_progress && !node.dead
            })
        };
        let is_impossible = |id: &NodeId| {
            let node = self.trace.node(*id);
            let Op::Random(law) = &node.op else { return false };
            let density = self.trace.with_args(*id, |args| law.log_density(&node.value, args));
            density.map_or_else(|error| error.rejects(), |log_p| log_p == f64::NEG_INFINITY)
        };
        self.scaffold.absorbing.iter().any(|id| is_settled(id) && is_impossible(id))
    }

    fn undo(&mut self) {
        self.trace.rollback_to(self.savepoint);
        if self.in_place {
            return;
        }
        for id in self.scaffold.target.iter().chain(&self.scaffold.makers) {
            let node = self.trace.node_mut(*id);
            (node.pending, node.in_progress) = (false, false);
        }
    }
}

/// A single principal has arguments that do not change, so its value can be drawn before
/// anything is touched. If that is the value it has, the move is the identity, which is
/// reversible and free: a common case for discrete choices. (Algorithm 1 as printed would
/// redraw T even then; its choices have moves of their own.)
fn draw_beforehand(
    trace: &mut Trace,
    id: NodeId,
    proposer: &mut dyn Proposer,
    rng: &mut Rng,
) -> Result<Beforehand, EvalError> {
    trace.refresh_arguments(id)?;
    if let Op::Draw(maker) = trace.node(id).op {
        trace.refresh_arguments(maker)?;
    }
    // What it noted about an earlier block means nothing: names of nodes are given again.
    proposer.begin();
    let proposed = match proposer.is_prior() {
        true => Proposed::Prior,
        false if proposer.is_local(&Choice { trace, node: id })? => return Ok(Beforehand::No),
        false => proposer.propose(&Choice { trace, node: id }, rng)?,
    };
    let value = match proposed {
        Proposed::Drawn(value) => value,
        Proposed::Prior => match trace.redraw(id, rng)? {
            Some(value) => value,
            None => return Ok(Beforehand::No),
        },
        Proposed::Local { .. } => unreachable!("the proposer said it was not local"),
    };
    if value.is_identical(&trace.node(id).value) {
        return Ok(Beforehand::Unchanged);
    }
    Ok(Beforehand::Drawn(Preset(value)))
}

impl Drop for Proposal<'_> {
    fn drop(&mut self) {
        if !self.committed {
            self.undo();
        }
    }
}
