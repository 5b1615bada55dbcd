//! Observations: which choice an expression refers to, and how a value is imposed on it.
//!
//! An expression refers to the random application whose value it returns: through variables,
//! taken branches, calls and memoised calls, and scopes. The structure nodes on that way carry
//! the observed value, so that whatever they come to refer to later takes it over.

use smidgen_lang::Span;
use smidgen_value::Value;

use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::eval::{Evaluation, NewClaim, Phase};
use crate::trace::node::{Observed, Op, Role};
use crate::trace::proposal::circular;

pub(crate) fn wrong_type(name: &str, wanted: &str, value: &Value, span: Span) -> EvalError {
    let (found, brief) = (value.type_name(), value.brief());
    EvalError::other(
        span,
        format!("{name} gives {wanted}, but the observed value is {found} {brief}"),
    )
}

/// What an expression refers to.
pub(crate) enum Referent {
    Choice(NodeId),
    Constant,
    Deterministic(NodeId),
}

impl Trace {
    pub(crate) fn referent(&self, operand: &Operand) -> Referent {
        let mut operand = operand;
        loop {
            let Operand::Node(id) = operand else { return Referent::Constant };
            match &self.node(*id).op {
                Op::Random(_) | Op::Draw(_) => return Referent::Choice(*id),
                Op::Structure(_) => {
                    operand = self.node(*id).root().expect("a structure has a root")
                }
                Op::Frozen => return Referent::Constant,
                _ => return Referent::Deterministic(*id),
            }
        }
    }

    /// The structure nodes between an expression and the choice it refers to.
    pub(crate) fn observed_path(&self, operand: &Operand) -> Vec<NodeId> {
        let mut path = Vec::new();
        let mut operand = operand;
        while let Operand::Node(id) = operand
            && let Some(root) = self.node(*id).root()
        {
            path.push(*id);
            operand = root;
        }
        path
    }

    /// The structure nodes between an expression and the choice it refers to carry the observed value from now on.
    fn set_observed_path(&mut self, operand: &Operand, observed: &Observed) {
        for node in self.observed_path(operand) {
            self.set_observed(node, Some(Box::new(observed.clone())));
        }
    }

    /// An observation may come to refer to something else: the structures that it passed through
    /// beyond this one forget it, unless they go anyway.
    pub(crate) fn leave_observed_path(&mut self, id: NodeId) {
        let Some(root) = self.node(id).root().cloned() else { return };
        for node in self.observed_path(&root) {
            if self.role(node) != Some(Role::Transient) {
                self.set_observed(node, None);
            }
        }
    }

    /// An observed value in the type that the choice draws.
    pub(crate) fn admit(&self, id: NodeId, value: &Value) -> Result<Value, EvalError> {
        let node = self.node(id);
        let (name, admitted) = match &node.op {
            Op::Random(distribution) => (distribution.spec().name, distribution.admit(value)),
            Op::Draw(maker) => (self.maker_name(*maker), self.statistics(*maker).admit(value)),
            _ => unreachable!("an observation refers to a random application"),
        };
        admitted.map_err(|wanted| wrong_type(name, wanted, value, node.origin))
    }

    /// Whether no values of its changeable arguments could make the choice take this value.
    pub(crate) fn is_outside_support(&self, id: NodeId, value: &Value) -> Result<bool, EvalError> {
        let node = self.node(id);
        let support = match &node.op {
            Op::Random(distribution) => {
                let fixed =
                    |i: &usize| node.args.get(*i).is_none_or(|a| a.operand.constant().is_some());
                if !distribution.support_arguments().iter().all(fixed) {
                    return Ok(false);
                }
                self.with_args(id, |args| distribution.support(args))
            }
            Op::Draw(maker) => {
                self.with_params(*maker, |params| self.statistics(*maker).support(params))
            }
            _ => unreachable!("an observation refers to a random application"),
        };
        // A distribution whose current arguments are out of its domain says so elsewhere.
        Ok(support.is_ok_and(|support| !support.contains(value)))
    }

    /// A regenerated structure on the way of an observation has a new root: the choice it now
    /// refers to has to hold the observed value. `taken` is the choice that took it when it was
    /// made below the structure.
    pub(crate) fn follow_observation(
        &mut self,
        root: &Operand,
        observed: &Observed,
        taken: Option<NodeId>,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        let id = match self.referent(root) {
            Referent::Choice(id) => id,
            Referent::Constant | Referent::Deterministic(_) => {
                let at = root.node().map(|id| self.node(id).origin);
                return Err(EvalError::new(Mistake::Nowhere, at));
            }
        };
        if taken == Some(id) {
            return Ok(());
        }
        let Phase::Proposal(regeneration) = &mut cx.phase else {
            unreachable!("structures are regenerated only in proposals")
        };
        let made_at = cx.made.iter().find(|(made, _)| *made == id).map(|(_, at)| *at);
        let claim = regeneration.claimed_new.iter().find(|c| c.observed.number == observed.number);
        if let Some(claim) = claim {
            // If it is not the choice that was prepared, the way hangs on its value.
            if made_at != Some(claim.at) {
                return Err(circular(self.node(id).origin));
            }
            self.set_observed_path(root, observed);
            return Ok(());
        }
        if let Some((_, claim)) = regeneration.claimed.iter().find(|(node, _)| *node == id) {
            if claim.number != observed.number {
                return Err(EvalError::new(Mistake::Clash, self.node(id).origin));
            }
            regeneration.reached.push(id);
            self.set_observed_path(root, observed);
            return Ok(());
        }
        if self.node(id).constrained {
            return Err(EvalError::new(Mistake::Clash, self.node(id).origin));
        }
        let is_new = self.node(id).changed_at > self.revision;
        if !is_new {
            regeneration.redirected.push((id, observed.clone()));
            return Err(EvalError::new(Mistake::Clash, self.node(id).origin));
        }
        if !self.node(id).children.is_empty() {
            // Others have read it: it has to hold the value when it is made.
            let Some(at) = made_at else {
                let message = "an observation came to refer to a new choice that other new choices already use";
                return Err(EvalError::other(self.node(id).origin, message));
            };
            regeneration.redirected_new.push(NewClaim { at, observed: observed.clone() });
            return Err(EvalError::new(Mistake::Clash, self.node(id).origin));
        }
        let value = self.admit(id, observed)?;
        if let Op::Draw(maker) = self.node(id).op {
            let drawn = self.node(id).value.clone();
            self.uncount(maker, &drawn);
        }
        cx.log_observed += self.log_density_at(id, &value)?;
        if let Op::Draw(maker) = self.node(id).op {
            self.count(maker, &value);
        }
        self.set_value(id, value);
        self.remove_from_choices(id);
        self.set_constrained(id, true);
        Ok(())
    }
}
