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
//! never evaluated. D is regenerated in topological order, but on demand: code that runs for T'
//! may read a node of D whose turn has not come.
//!
//! Observations that move. If a regenerated structure comes to refer to an existing choice, that
//! choice has to be in the scaffold: the attempt is undone and made again with the same proposed
//! value and with the choice claimed (scaffold.rs).

use std::ops::ControlFlow;

use smallvec::SmallVec;
use smidgen_prob::Support;
use smidgen_value::{Rng, Value};

use crate::error::{EvalError, Mistake};
use crate::eval::{Evaluation, Phase, Regeneration};
use crate::id::{FamilyId, NodeId};
use crate::journal::{Edit, OldRoot, Savepoint};
use crate::node::{Op, Role};
use crate::scaffold::Scaffold;
use crate::tag::Tags;
use crate::trace::Trace;

/// A random choice as a proposer sees it.
pub struct Choice<'a> {
    pub(crate) trace: &'a Trace,
    pub node: NodeId,
}

impl Choice<'_> {
    pub fn current(&self) -> &Value {
        &self.trace.node(self.node).value
    }

    /// Where its prior lives, given its arguments.
    pub fn support(&self) -> Result<Support, EvalError> {
        let trace = self.trace;
        let node = trace.node(self.node);
        let support = match &node.op {
            Op::Random(distribution) => {
                trace.with_args(self.node, |args| distribution.support(args))
            }
            Op::Draw(maker) => {
                trace.with_params(*maker, |params| trace.statistics(*maker).support(params))
            }
            Op::Maker(made) => {
                let latent = made.maker.latent().expect("only a latent maker is a choice");
                trace.with_args(self.node, |args| latent.support(args))
            }
            _ => unreachable!("only random nodes are choices"),
        };
        let name = match &node.op {
            Op::Random(distribution) => distribution.spec().name,
            Op::Draw(maker) => trace.maker_name(*maker),
            _ => trace.maker_name(self.node),
        };
        support.map_err(|error| trace.argument_error(name, error, node.origin))
    }

    /// Whether it can be proposed from its prior.
    pub fn is_proper(&self) -> bool {
        match &self.trace.node(self.node).op {
            Op::Random(distribution) => distribution.is_proper(),
            _ => true,
        }
    }
}

/// What a proposer decides for one principal.
#[derive(Clone, Debug)]
pub enum Proposed {
    /// Draw from the prior: p and q cancel.
    Prior,
    /// This value, which was drawn from the prior: p and q cancel.
    Drawn(Value),
    /// This value, with log q(x|x') − log q(x'|x), the Jacobian of a transform included; scored
    /// by the prior's density.
    Local { value: Value, log_q_ratio: f64 },
}

pub trait Proposer {
    /// Whether [`Proposer::propose`] will give [`Proposed::Local`] for this choice (the density
    /// of its current value is then needed before anything changes).
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError>;

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError>;
}

/// Proposes every principal from its prior, given its new arguments.
pub struct FromPrior;

impl Proposer for FromPrior {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(false)
    }

    fn propose(&mut self, _: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        Ok(Proposed::Prior)
    }
}

/// Gives the principals what was decided before.
pub(crate) struct Fixed(pub Vec<(NodeId, Proposed)>);

impl Fixed {
    fn find(&self, id: NodeId) -> Option<&Proposed> {
        self.0.iter().find(|(node, _)| *node == id).map(|(_, proposed)| proposed)
    }
}

impl Proposer for Fixed {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(matches!(self.find(choice.node), Some(Proposed::Local { .. })))
    }

    fn propose(&mut self, choice: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        Ok(self.find(choice.node).cloned().unwrap_or(Proposed::Prior))
    }
}

/// Gives one principal a value that was drawn from its prior before.
struct Preset(Value);

impl Proposer for Preset {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(false)
    }

    fn propose(&mut self, _: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        Ok(Proposed::Drawn(self.0.clone()))
    }
}

enum Beforehand {
    /// The draw is the current value: there is nothing to do.
    Unchanged,
    Drawn(Preset),
    /// The value has to be drawn in the course of the regeneration.
    No,
}

/// A tentative move. Dropped without [`Proposal::commit`], it restores the trace.
pub struct Proposal<'t> {
    trace: &'t mut Trace,
    scaffold: &'t mut Scaffold,
    savepoint: Savepoint,
    log_old: f64,
    log_new: f64,
    committed: bool,
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
        scaffold.build(trace, principals);
        let savepoint = trace.savepoint();
        let mut proposal =
            Proposal { trace, scaffold, savepoint, log_old: 0.0, log_new: 0.0, committed: false };
        let mut preset = match proposal.draw_beforehand(proposer, rng)? {
            Beforehand::Unchanged => return Ok(proposal),
            Beforehand::Drawn(preset) => Some(preset),
            Beforehand::No => None,
        };
        let proposer = match &mut preset {
            Some(preset) => preset as &mut dyn Proposer,
            None => proposer,
        };
        match proposal.attempt(proposer, rng)? {
            ControlFlow::Break(()) => Ok(proposal),
            ControlFlow::Continue((claimed, proposed)) => {
                proposal.attempt_claiming(claimed, proposed, rng)?;
                Ok(proposal)
            }
        }
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

    /// The sum of the log weights of the new trace (conditional log density of A and of what was
    /// scored in D and T').
    pub fn log_new(&self) -> f64 {
        self.log_new
    }

    /// The trace as proposed.
    pub fn trace(&self) -> &Trace {
        self.trace
    }

    /// The scaffold that the move changes.
    pub fn scaffold(&self) -> &Scaffold {
        self.scaffold
    }

    pub fn commit(mut self) {
        self.committed = true;
        self.trace.commit();
    }

    /// Keeps the move as part of a larger transaction, whose owner commits.
    pub(crate) fn keep(mut self) {
        self.committed = true;
    }

    /// A single principal has arguments that do not change, so its value can be drawn before
    /// anything is touched. If that is the value it has, the move is the identity, which is
    /// reversible and free: a common case for discrete choices. (Algorithm 1 as printed would
    /// redraw T even then; its choices have moves of their own.)
    fn draw_beforehand(
        &mut self,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<Beforehand, EvalError> {
        let [id] = self.scaffold.principals[..] else { return Ok(Beforehand::No) };
        if !self.scaffold.released.is_empty()
            || proposer.is_local(&Choice { trace: self.trace, node: id })?
        {
            return Ok(Beforehand::No);
        }
        self.trace.refresh_arguments(id)?;
        let value = match proposer.propose(&Choice { trace: self.trace, node: id }, rng)? {
            Proposed::Drawn(value) => value,
            Proposed::Prior => match self.trace.redraw(id, rng)? {
                Some(value) => value,
                None => return Ok(Beforehand::No),
            },
            Proposed::Local { .. } => unreachable!("the proposer said it was not local"),
        };
        if value.is_identical(&self.trace.node(id).value) {
            return Ok(Beforehand::Unchanged);
        }
        Ok(Beforehand::Drawn(Preset(value)))
    }

    /// One attempt. Continues with the choices that observations came to, and what was proposed,
    /// if it has to be made again with those.
    #[allow(clippy::type_complexity)]
    fn attempt(
        &mut self,
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<ControlFlow<(), (Vec<(NodeId, Value)>, Vec<(NodeId, Proposed)>)>, EvalError> {
        self.log_old = self.trace.detach(self.scaffold, proposer)?;
        let mut cx = Evaluation {
            rng,
            family: FamilyId::NONE,
            tags: Tags::default(),
            depth: 0,
            path: Vec::new(),
            log_observed: 0.0,
            observed_at: None,
            phase: Phase::Proposal(Regeneration {
                proposer,
                log_new: 0.0,
                released: &self.scaffold.released,
                claimed: &self.scaffold.claimed,
                redirected: Vec::new(),
                replayed: self.scaffold.observation_moves,
                proposed: Vec::new(),
            }),
        };
        let result = self.trace.regenerate(self.scaffold, &mut cx);
        let regeneration = match cx.phase {
            Phase::Proposal(regeneration) => regeneration,
            Phase::Directive { .. } => unreachable!("a proposal stays one"),
        };
        if !regeneration.redirected.is_empty() {
            return Ok(ControlFlow::Continue((regeneration.redirected, regeneration.proposed)));
        }
        self.log_new = match result {
            Ok(()) => regeneration.log_new + cx.log_observed,
            Err(error) if error.rejects() => f64::NEG_INFINITY,
            Err(error) => return Err(error),
        };
        Ok(ControlFlow::Break(()))
    }

    fn attempt_claiming(
        &mut self,
        claimed: Vec<(NodeId, Value)>,
        proposed: Vec<(NodeId, Proposed)>,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        self.undo();
        let principals = self.scaffold.principals.clone();
        let origin = self.trace.node(claimed[0].0).origin;
        if principals.len() > 1 {
            let message =
                "a joint move of several choices would make an observation refer to another choice";
            return Err(EvalError::other(origin, message)
                .hint("move the choices one at a time: block `one` or `each`"));
        }
        self.scaffold.build_claiming(self.trace, &principals, claimed);
        let arguments = self.trace.node(principals[0]).args.iter();
        let coupled =
            arguments.filter_map(|arg| arg.operand.node()).any(|id| self.trace.role(id).is_some());
        let mut replay = Fixed(proposed);
        if coupled || self.attempt(&mut replay, rng)?.is_continue() {
            let message = "which choice this observation refers to depends on the choice itself or on other new random choices";
            return Err(EvalError::other(origin, message));
        }
        Ok(())
    }

    fn undo(&mut self) {
        self.trace.rollback_to(self.savepoint);
        for id in self.scaffold.target.iter().chain(&self.scaffold.makers) {
            let node = self.trace.node_mut(*id);
            (node.pending, node.in_progress) = (false, false);
        }
    }
}

impl Drop for Proposal<'_> {
    fn drop(&mut self) {
        if !self.committed {
            self.undo();
        }
    }
}

impl Trace {
    /// Takes D and T out of the trace. Returns the log weights of the old trace.
    fn detach(&mut self, scaffold: &Scaffold, proposer: &dyn Proposer) -> Result<f64, EvalError> {
        let mut log_old = 0.0;
        // Everything that will be read is made fresh first, while nothing has changed.
        for id in scaffold.absorbing.iter().chain(&scaffold.makers).chain(&scaffold.target) {
            self.refresh_arguments(*id)?;
        }
        for id in &scaffold.absorbing {
            log_old += self.log_density(*id)?;
        }
        for id in scaffold.target.iter().rev() {
            if self.node(*id).role == Role::Restructured {
                if self.node(*id).observed.is_some() {
                    self.leave_observed_path(*id);
                }
                log_old += self.release(self.node(*id).expansion)?;
            }
            if self.node(*id).is_random() {
                log_old += self.detach_choice(*id, scaffold, proposer)?;
            }
        }
        for id in &scaffold.makers {
            log_old += self.log_marginal(*id)?;
        }
        for id in scaffold.target.iter().chain(&scaffold.makers) {
            self.node_mut(*id).pending = true;
        }
        Ok(log_old)
    }

    fn detach_choice(
        &mut self,
        id: NodeId,
        scaffold: &Scaffold,
        proposer: &dyn Proposer,
    ) -> Result<f64, EvalError> {
        let mut log_old = 0.0;
        if let Op::Draw(maker) = self.node(id).op {
            self.refresh_arguments(maker)?;
            let value = self.node(id).value.clone();
            self.uncount(maker, &value);
        }
        // An observed choice in D is one that its observation leaves; one that an observation
        // comes to is not proposed by the proposer.
        let scored = self.node(id).constrained
            || (!scaffold.claimed.iter().any(|(node, _)| *node == id)
                && proposer.is_local(&Choice { trace: self, node: id })?);
        if scored {
            log_old += self.log_density(id)?;
        }
        if matches!(self.node(id).op, Op::Maker(_)) {
            log_old += self.log_marginal(id)?;
        }
        Ok(log_old)
    }

    fn regenerate(
        &mut self,
        scaffold: &Scaffold,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        for id in scaffold.target.iter().chain(&scaffold.makers) {
            if self.node(*id).pending {
                self.regenerate_node(*id, cx)?;
            }
        }
        let mut log_absorbed = 0.0;
        for id in &scaffold.absorbing {
            log_absorbed += self.log_density(*id)?;
            if log_absorbed == f64::NEG_INFINITY {
                break;
            }
        }
        cx.add_weight(log_absorbed);
        Ok(())
    }

    /// Gives a node of D its new value.
    pub(crate) fn regenerate_node(
        &mut self,
        id: NodeId,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        // Still pending, so that a second visit on the way is noticed.
        if std::mem::replace(&mut self.node_mut(id).in_progress, true) {
            let message = "endless recursion: this value comes to depend on itself";
            return cx.fail(EvalError::other(self.node(id).origin, message));
        }
        self.regenerate_in_progress(id, cx)?;
        let node = self.node_mut(id);
        (node.pending, node.in_progress) = (false, false);
        Ok(())
    }

    fn regenerate_in_progress(
        &mut self,
        id: NodeId,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        let restructured = self.role(id) == Some(Role::Restructured);
        let read = self.node(id).args.len() - usize::from(restructured);
        for slot in 0..read {
            if let Some(parent) = self.node(id).args[slot].operand.node() {
                self.settle(parent, cx)?;
            }
        }
        match &self.node(id).op {
            Op::Structure(_) if restructured => self.restructure(id, cx),
            Op::Function(_) | Op::Structure(_) => {
                let value = self.follow_arguments(id)?;
                if !self.node(id).value.is_identical(&value) {
                    self.set_value(id, value);
                }
                Ok(())
            }
            Op::Maker(made) if made.maker.latent().is_none() => {
                let log_marginal = self.log_marginal(id)?;
                cx.add_weight(log_marginal);
                Ok(())
            }
            _ => self.regenerate_choice(id, cx),
        }
    }

    fn regenerate_choice(&mut self, id: NodeId, cx: &mut Evaluation<'_>) -> Result<(), EvalError> {
        if let Op::Draw(maker) = self.node(id).op {
            self.settle(maker, cx)?;
            self.settle_arguments(maker, cx)?;
        }
        let (value, log_weight) = self.propose_choice(id, cx)?;
        if let Op::Draw(maker) = self.node(id).op {
            self.count(maker, &value);
        }
        self.set_value(id, value);
        if matches!(self.node(id).op, Op::Maker(_)) {
            cx.add_weight(self.log_marginal(id)?);
        }
        cx.add_weight(log_weight);
        Ok(())
    }

    /// The new value of a choice in D and its log weight, p(x'|Par') q(x|x') / q(x'|x).
    fn propose_choice(
        &mut self,
        id: NodeId,
        cx: &mut Evaluation<'_>,
    ) -> Result<(Value, f64), EvalError> {
        let Phase::Proposal(regeneration) = &mut cx.phase else {
            unreachable!("nodes are pending only in a proposal")
        };
        if let Some((_, value)) = regeneration.claimed.iter().find(|(node, _)| *node == id) {
            let value = match self.admit(id, value) {
                Ok(value) => value,
                Err(_) => return Ok((value.clone(), f64::NEG_INFINITY)),
            };
            let log_p = self.log_density_at(id, &value)?;
            // An observation may come back to the choice that it left.
            if !self.node(id).constrained {
                self.remove_from_choices(id);
                self.set_constrained(id, true);
            }
            return Ok((value, log_p));
        }
        if regeneration.released.contains(&id) {
            self.set_constrained(id, false);
            self.enter_choices(id);
            return Ok((self.draw_from_prior(id, cx.rng)?, 0.0));
        }
        let proposed = regeneration.proposer.propose(&Choice { trace: self, node: id }, cx.rng)?;
        let proposed = match proposed {
            Proposed::Prior => Proposed::Drawn(self.draw_from_prior(id, cx.rng)?),
            other => other,
        };
        if regeneration.replayed {
            regeneration.proposed.push((id, proposed.clone()));
        }
        match proposed {
            Proposed::Drawn(value) => Ok((value, 0.0)),
            Proposed::Local { value, log_q_ratio } => {
                let log_p = self.log_density_at(id, &value)?;
                Ok((value, log_p + log_q_ratio))
            }
            Proposed::Prior => unreachable!("was drawn"),
        }
    }

    /// A draw from the prior of a choice given its arguments. A draw of a made procedure must
    /// not be counted at the time.
    pub(crate) fn draw_from_prior(&self, id: NodeId, rng: &mut Rng) -> Result<Value, EvalError> {
        let node = self.node(id);
        let (name, drawn) = match &node.op {
            Op::Random(distribution) => {
                let name = distribution.spec().name;
                if !distribution.is_proper() {
                    return Err(EvalError::new(Mistake::Improper(name), node.origin));
                }
                (name, self.with_args(id, |args| distribution.sample(args, rng)))
            }
            Op::Draw(maker) => (
                self.maker_name(*maker),
                self.with_params(*maker, |params| self.statistics(*maker).sample(params, rng)),
            ),
            Op::Maker(made) => {
                let latent = made.maker.latent().expect("only a latent maker is a choice");
                (made.maker.spec().name, self.with_args(id, |args| latent.sample(args, rng)))
            }
            _ => unreachable!("only random nodes are drawn"),
        };
        drawn.map_err(|error| self.argument_error(name, error, node.origin))
    }

    /// A draw from the prior of a choice that is in place. None if its statistics cannot be
    /// changed and put back to the bit.
    fn redraw(&mut self, id: NodeId, rng: &mut Rng) -> Result<Option<Value>, EvalError> {
        let Op::Draw(maker) = self.node(id).op else {
            return self.draw_from_prior(id, rng).map(Some);
        };
        self.refresh_arguments(maker)?;
        if self.statistics(maker).snapshot().is_some() {
            return Ok(None);
        }
        let current = self.node(id).value.clone();
        self.statistics_mut(maker).remove(&current);
        let drawn = self.draw_from_prior(id, rng);
        self.statistics_mut(maker).add(&current);
        drawn.map(Some)
    }

    /// Finds the family of a structure whose existential arguments have changed.
    fn restructure(&mut self, id: NodeId, cx: &mut Evaluation<'_>) -> Result<(), EvalError> {
        let Op::Structure(structure) = &self.node(id).op else { unreachable!("checked above") };
        let structure = structure.clone();
        let root_slot = self.node(id).args.len() - 1;
        let values: SmallVec<[Value; 2]> = self.node(id).args[..root_slot]
            .iter()
            .map(|arg| self.settled_value(&arg.operand).clone())
            .collect();
        let (span, observed) = (self.node(id).origin, self.node(id).observed.clone());
        let outer = cx.suspend();
        let expanded = self.expand(&structure, &values, span, cx, observed.as_deref());
        let taken = cx.resume(outer);
        let (expansion, root) = expanded?;
        self.settle_operand(&root, cx)?;
        if let Some(value) = &observed {
            self.follow_observation(&root, value, taken, cx)?;
        }
        self.unlink(id, root_slot);
        let node = self.node_mut(id);
        let arg = &mut node.args[root_slot];
        let old = OldRoot {
            operand: std::mem::replace(&mut arg.operand, root.clone()),
            position: arg.position,
            expansion: std::mem::replace(&mut node.expansion, expansion),
        };
        self.journal.push(Edit::Root(id, Box::new(old)));
        self.link(id, root_slot);
        let value = self.settled_value(&root).clone();
        if !self.node(id).value.is_identical(&value) {
            self.set_value(id, value);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn settle_arguments(
        &mut self,
        id: NodeId,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        for slot in 0..self.node(id).args.len() {
            if let Some(parent) = self.node(id).args[slot].operand.node() {
                self.settle(parent, cx)?;
            }
        }
        Ok(())
    }
}

/// What a regeneration on demand puts aside of the evaluation that asked for it.
struct Suspended {
    family: FamilyId,
    tags: Tags,
    depth: u32,
    observed_at: Option<NodeId>,
}

impl Evaluation<'_> {
    #[inline]
    fn add_weight(&mut self, log_weight: f64) {
        if let Phase::Proposal(regeneration) = &mut self.phase {
            regeneration.log_new += log_weight;
        }
    }

    fn suspend(&mut self) -> Suspended {
        Suspended {
            family: self.family,
            tags: std::mem::take(&mut self.tags),
            depth: self.depth,
            observed_at: self.observed_at.take(),
        }
    }

    /// Gives back the choice that took the observed value meanwhile.
    fn resume(&mut self, outer: Suspended) -> Option<NodeId> {
        (self.family, self.tags, self.depth) = (outer.family, outer.tags, outer.depth);
        std::mem::replace(&mut self.observed_at, outer.observed_at)
    }
}
