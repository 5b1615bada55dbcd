//! The second half of a move: D gets its new values, the program runs for the new transient set
//! T', the weights of the new trace are summed.
//!
//! D is regenerated in topological order, but on demand: code that runs for T' may read a node
//! of D whose turn has not come.

use smallvec::SmallVec;
use smidgen_value::{Rng, Value};

use crate::error::{EvalError, Mistake};
use crate::id::{FamilyId, NodeId};
use crate::tag::Tags;
use crate::trace::Trace;
use crate::trace::eval::{Evaluation, Making, Phase, Portion, Site};
use crate::trace::journal::{Edit, OldRoot};
use crate::trace::node::{Op, Role};
use crate::trace::proposal::{Choice, Proposed};
use crate::trace::scaffold::Scaffold;

impl Trace {
    pub(super) fn regenerate(
        &mut self,
        scaffold: &Scaffold,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        for id in scaffold.in_order(self).unwrap_or_default() {
            self.regenerate_pending(*id, cx)?;
        }
        for id in &scaffold.target {
            self.regenerate_pending(*id, cx)?;
        }
        for id in &scaffold.makers {
            self.regenerate_pending(*id, cx)?;
        }
        cx.add_weight(self.log_absorbed_unless_impossible(scaffold)?);
        Ok(())
    }

    /// After an error: what can be computed in spite of it, to see whether the move is impossible in any case.
    pub(super) fn regenerate_the_rest(&mut self, scaffold: &Scaffold, cx: &mut Evaluation<'_>) {
        for id in &scaffold.target {
            let node = self.node(*id);
            if node.pending && !node.in_progress {
                // Whatever goes wrong here follows from what went wrong before, or would be found by itself.
                let _ = self.regenerate_node(*id, cx);
            }
        }
    }

    /// Σ_A log p(x|Par'), no further than to the first that is impossible.
    pub(super) fn log_absorbed_unless_impossible(
        &self,
        scaffold: &Scaffold,
    ) -> Result<f64, EvalError> {
        let mut log_absorbed = 0.0;
        for id in &scaffold.absorbing {
            log_absorbed += self.log_density(*id)?;
            if log_absorbed == f64::NEG_INFINITY {
                break;
            }
        }
        Ok(log_absorbed)
    }

    /// A node of D or a maker whose turn has come.
    #[inline]
    fn regenerate_pending(&mut self, id: NodeId, cx: &mut Evaluation<'_>) -> Result<(), EvalError> {
        let epoch = self.epoch;
        let node = self.node_mut(id);
        if !node.pending {
            return Ok(());
        }
        let is_target = node.mark == epoch && node.role == Role::Target;
        if is_target && matches!(node.op, Op::Function(_) | Op::Structure(_)) && !cx.has_script() {
            // Those of its arguments that are in D have had their turn, and everything else that it reads is fresh.
            node.pending = false;
            return self.write_follower(id);
        }
        self.regenerate_node(id, cx)
    }

    /// Gives a node of D its new value.
    pub(crate) fn regenerate_node(
        &mut self,
        id: NodeId,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        // Still pending, so that a second visit on the way is noticed.
        if let Some(script) = cx.script() {
            script.begun.push(id);
        }
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
                self.write_changed(id, value);
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
        cx.swap_streams();
        let proposed = self.propose_choice(id, cx);
        cx.swap_streams();
        let (value, log_weight) = proposed?;
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
                Err(_) => return Ok((value.value.clone(), f64::NEG_INFINITY)),
            };
            let log_p = self.log_density_at(id, &value)?;
            self.disturb(id);
            // An observation may come back to the choice that it left.
            if !self.node(id).constrained {
                self.remove_from_choices(id);
                self.set_constrained(id, true);
            }
            return Ok((value, log_p));
        }
        if regeneration.released.contains(&id) {
            // The same draw in every attempt: it may decide where another observation goes.
            let own = regeneration.replay.map(|seed| Rng::for_chain(seed, id.index() as u64));
            self.set_constrained(id, false);
            self.enter_choices(id);
            let drawn = match own {
                Some(mut own) => self.draw_from_prior(id, &mut own),
                None => self.draw_from_prior(id, cx.rng),
            };
            return Ok((drawn?, 0.0));
        }
        if let Some(script) = &mut regeneration.script {
            let (address, origin) = (self.node(id).address, self.node(id).origin);
            let value = match script.next(address, origin)? {
                Some(value) => value,
                None => script.note(self.draw_from_prior(id, cx.rng)?),
            };
            return Ok((value, 0.0));
        }
        let proposed = regeneration.proposer.propose(&Choice { trace: self, node: id }, cx.rng)?;
        let proposed = match proposed {
            Proposed::Prior => Proposed::Drawn(self.draw_from_prior(id, cx.rng)?),
            other => other,
        };
        if regeneration.replay.is_some() {
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
        if let Some(value) = self.given.as_ref().and_then(|given| given.state.get(node.address)) {
            return Ok(value.clone());
        }
        let (name, drawn) = match &node.op {
            Op::Random(distribution) => {
                let name = || distribution.spec().name;
                if !distribution.is_proper() {
                    return Err(EvalError::new(Mistake::Improper(name()), node.origin));
                }
                match self.with_args(id, |args| distribution.sample(args, rng)) {
                    Ok(value) => return Ok(value),
                    drawn => (name(), drawn),
                }
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
    pub(super) fn redraw(&mut self, id: NodeId, rng: &mut Rng) -> Result<Option<Value>, EvalError> {
        let Op::Draw(maker) = self.node(id).op else {
            return self.draw_from_prior(id, rng).map(Some);
        };
        self.refresh_arguments(maker)?;
        if !self.statistics(maker).is_exact() {
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
        // Mostly one, which is quicker pushed than collected.
        let mut values: SmallVec<[Value; 2]> = SmallVec::new();
        for arg in &self.node(id).args[..root_slot] {
            values.push(self.settled_value(&arg.operand).clone());
        }
        if cx.rehearsal.is_some() {
            let (outer, site) = (cx.suspend(), Site::at(self.node(id).origin));
            let value = self.rehearse_body(&structure, &values, site, cx);
            cx.resume(outer);
            self.write_changed(id, value?);
            return Ok(());
        }
        let (span, observed) = (self.node(id).origin, self.node(id).observed.clone());
        let outer = cx.suspend();
        let place = (span, self.node(id).address);
        let outside = cx.enter_portion(Portion::Below(id));
        let expanded = self.expand(&structure, &values, place, cx, observed.as_deref());
        cx.leave_portion(outside);
        let taken = cx.resume(outer);
        let (expansion, root) = expanded?;
        self.settle_operand(&root, cx)?;
        if let Some(observed) = &observed {
            self.follow_observation(&root, observed, taken, cx)?;
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
        self.write_changed(id, value);
        Ok(())
    }

    /// Writes a value that follows from others, if it is another one.
    #[inline]
    pub(super) fn write_changed(&mut self, id: NodeId, value: Value) {
        if !self.node(id).value.is_identical(&value) {
            self.set_value(id, value);
        }
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

/// What goes on when a portion has run: the stream, unless it is the parked one, and the count.
pub(crate) struct Outside {
    stream: Option<Rng>,
    making: Option<Making>,
}

/// What a regeneration on demand puts aside of the evaluation that asked for it.
struct Suspended {
    making: Option<Making>,
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

    /// A portion of what runs for T' draws from a stream of its own, and what it makes is counted, if
    /// it may have to run again. Gives what to go back to.
    pub(crate) fn enter_portion(&mut self, portion: Portion) -> Option<Outside> {
        let Phase::Proposal(regeneration) = &mut self.phase else { return None };
        let own = Rng::for_chain(regeneration.replay?, portion.stream());
        let stream = std::mem::replace(self.rng, own);
        let making = self.making.replace(Making { portion, choices: 0 });
        if regeneration.parked.is_none() {
            regeneration.parked = Some(Box::new(stream));
            return Some(Outside { stream: None, making });
        }
        Some(Outside { stream: Some(stream), making })
    }

    pub(crate) fn leave_portion(&mut self, outside: Option<Outside>) {
        let Some(Outside { stream, making }) = outside else { return };
        self.making = making;
        let Phase::Proposal(regeneration) = &mut self.phase else { return };
        if let Some(stream) = stream.or_else(|| regeneration.parked.take().map(|parked| *parked)) {
            *self.rng = stream;
        }
    }

    /// Choices of D draw from the stream of everything else, also when what runs for T' asked
    /// for them. Done twice, it changes nothing.
    fn swap_streams(&mut self) {
        if let Phase::Proposal(regeneration) = &mut self.phase
            && let Some(parked) = &mut regeneration.parked
        {
            std::mem::swap(self.rng, &mut **parked);
        }
    }

    fn suspend(&mut self) -> Suspended {
        Suspended {
            family: self.family,
            tags: std::mem::take(&mut self.tags),
            depth: self.depth,
            observed_at: self.observed_at.take(),
            making: self.making.take(),
        }
    }

    /// Gives back the choice that took the observed value meanwhile.
    fn resume(&mut self, outer: Suspended) -> Option<NodeId> {
        (self.family, self.tags, self.depth) = (outer.family, outer.tags, outer.depth);
        self.making = outer.making;
        std::mem::replace(&mut self.observed_at, outer.observed_at)
    }
}
