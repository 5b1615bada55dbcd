//! How an observed or forced value comes to the choice that an expression refers to.

use smidgen_lang::Span;
use smidgen_prob::Support;
use smidgen_value::{Rng, Value};

use super::{Code, Model};
use crate::error::{EvalError, Mistake};
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::trace::node::{Observed, Op, Role};
use crate::trace::observe::Referent;
use crate::trace::proposal::{Preset, Proposal};
use crate::trace::scaffold::Scaffold;

impl Model {
    /// Evaluates an expression and constrains the choice it refers to.
    pub(super) fn constrain(
        &mut self,
        code: Code<'_>,
        observed: &Observed,
        rng: &mut Rng,
    ) -> Result<(FamilyId, Operand), EvalError> {
        let span = code.expr.span;
        let (family, root, taken, log_observed) = self.evaluate(code, rng, true, Some(observed))?;
        let id = self.observable(&root, span, "observe").map_err(|error| {
            // With other values it may refer to a choice.
            match self.trace.observed_path(&root).is_empty() {
                true => error,
                false => EvalError::new(Mistake::Nowhere, span).hanging(true),
            }
        })?;
        self.check_circularity(id, &root, span)?;
        if taken == Some(id) {
            // Where something decides which choice is meant, another one may take the value.
            if matches!(root, Operand::Node(node) if node == id) {
                self.check_support(id, span)?;
            }
            self.suspect |= log_observed == f64::NEG_INFINITY;
            self.log_weight += log_observed;
        } else {
            if self.trace.node(id).constrained && self.may_part(id, &root) {
                return Err(EvalError::new(Mistake::Clash, span).hanging(true));
            }
            let path = self.trace.observed_path(&root);
            if !path.is_empty() && !self.can_take(id, &observed.value)? {
                // Another choice may take the value, as it would if the expression stood here.
                let name = self.choice_name(id);
                let value = observed.value.brief();
                return Err(EvalError::new(Mistake::Nowhere, span)
                    .hanging(true)
                    .advise(format!("the value {value} is outside the support of {name}")));
            }
            // The way to the choice may hang on the choice itself: the value is imposed first.
            for node in path {
                self.trace.set_observed(node, None);
            }
            let log_change = self.impose(id, &observed.value, span, rng)?;
            if !matches!(self.trace.referent(&root), Referent::Choice(now) if now == id) {
                let message = "with this value the expression refers to something else";
                return Err(EvalError::other(span, message));
            }
            self.trace.remove_from_choices(id);
            self.trace.set_constrained(id, true);
            for node in self.trace.observed_path(&root) {
                self.trace.set_observed(node, Some(Box::new(observed.clone())));
            }
            self.suspect = true;
            self.log_weight += log_observed + log_change;
        }
        Ok((family, root))
    }

    /// Whether this observation of a choice, or the one that it has already, may come to refer to another.
    fn may_part(&self, id: NodeId, root: &Operand) -> bool {
        let refers = |node: &NodeId| {
            let is_here = matches!(self.trace.referent(&Operand::Node(*node)), Referent::Choice(choice) if choice == id);
            is_here && self.trace.node(*node).observed.is_some()
        };
        !self.trace.observed_path(root).is_empty()
            || self.trace.live_nodes().any(|node| refers(&node))
    }

    /// The unconstrained choice that an expression refers to, or why there is none.
    pub(super) fn observable(
        &self,
        root: &Operand,
        span: Span,
        verb: &str,
    ) -> Result<NodeId, EvalError> {
        match self.trace.referent(root) {
            Referent::Choice(id) => Ok(id),
            Referent::Constant => Err(EvalError::other(span, format!("cannot {verb} a constant"))
                .hint("only the result of a random procedure can be observed")),
            Referent::Deterministic(id) => {
                let name = self.trace.node(id).op_name();
                let message =
                    format!("cannot {verb} the result of the deterministic procedure {name}");
                let hint = match name {
                    "<" | "<=" | ">" | ">=" | "=" | "!=" | "not" | "xor" => {
                        "to condition on a fact: [observe (flip (if fact 1 0)) true], or by its weight \
                         [factor (if fact 0 (log 0))]"
                    }
                    _ => {
                        "observe a random choice, for instance (normal expr small_sd), or give \
                         the log density yourself: [factor log_weight]"
                    }
                };
                Err(EvalError::other(span, message).hint(hint))
            }
        }
    }

    /// Refuses an observation whose choice decides what it refers to.
    fn check_circularity(
        &mut self,
        id: NodeId,
        root: &Operand,
        span: Span,
    ) -> Result<(), EvalError> {
        let path = self.trace.observed_path(root);
        if path.is_empty() {
            return Ok(());
        }
        Scaffold::new().build(&mut self.trace, &[id]);
        if path.iter().any(|node| self.trace.role(*node) == Some(Role::Restructured)) {
            let message = "the value of the observed choice decides which choice is observed";
            return Err(EvalError::other(span, message)
                .hint("to condition on a fact, observe (flip (if fact 1 0)) true"));
        }
        Ok(())
    }

    /// Whether a value is of the type and in the support of a choice, as things are.
    fn can_take(&mut self, id: NodeId, value: &Value) -> Result<bool, EvalError> {
        match self.trace.admit(id, value) {
            Ok(value) => Ok(!self.trace.is_outside_support(id, &value)?),
            Err(error) if error.is_interruption() => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn check_support(&self, id: NodeId, span: Span) -> Result<(), EvalError> {
        let value = &self.trace.node(id).value;
        if self.trace.is_outside_support(id, value)? {
            let name = self.choice_name(id);
            let message = format!("the value {} is outside the support of {name}", value.brief());
            return Err(EvalError::other(span, message).hint(self.support_hint(id)));
        }
        Ok(())
    }

    /// What can be observed instead of a value that no start can help.
    fn support_hint(&self, id: NodeId) -> String {
        const NO_START: &str =
            "no start can help: no values of the random choices give it a density";
        let Op::Random(law) = &self.trace.node(id).op else { return NO_START.to_owned() };
        match self.trace.with_args(id, |args| law.support(args)) {
            Ok(Support::Integers { low, high }) if high.is_finite() => {
                format!("{NO_START}; it draws whole numbers from {low} to {high}")
            }
            Ok(Support::Integers { low, .. }) => {
                format!("{NO_START}; it draws whole numbers from {low} on")
            }
            Ok(Support::Finite(values)) if values.len() <= 12 => {
                let values: Vec<String> = values.iter().map(Value::brief).collect();
                format!("{NO_START}; it draws one of {}", values.join(", "))
            }
            _ => NO_START.to_owned(),
        }
    }

    /// What is observed where it lies outside of what the choice draws as things are: other values of the random choices hardly help.
    pub(super) fn beyond_support(&self, id: NodeId) -> Option<String> {
        let node = self.trace.node(id);
        let Op::Random(law) = &node.op else { return None };
        let support = self.trace.with_args(id, |args| law.support(args)).ok()?;
        let drawn = match &support {
            _ if support.contains(&node.value) => return None,
            Support::Integers { low, high } if high.is_finite() => {
                format!("whole numbers from {low} to {high}")
            }
            Support::Integers { low, .. } => format!("whole numbers from {low} on"),
            Support::Finite(values) if values.len() <= 12 => {
                let values: Vec<String> = values.iter().map(Value::brief).collect();
                format!("one of {}", values.join(", "))
            }
            _ => return None,
        };
        let (name, value) = (law.spec().name, node.value.brief());
        Some(format!(
            "{name} draws {drawn} here, not {value}: no start can help, unless another one changes what can be drawn"
        ))
    }

    fn choice_name(&self, id: NodeId) -> &'static str {
        match &self.trace.node(id).op {
            Op::Random(distribution) => distribution.spec().name,
            Op::Draw(maker) => self.trace.maker_name(*maker),
            _ => unreachable!("only random applications are observed"),
        }
    }

    /// Gives an existing unconstrained choice a value, and what follows from it. Gives the value's log
    /// density, with the change of those that depend on it.
    pub(super) fn impose(
        &mut self,
        id: NodeId,
        value: &Value,
        span: Span,
        rng: &mut Rng,
    ) -> Result<f64, EvalError> {
        if self.trace.node(id).constrained {
            return Err(EvalError::other(span, "this random choice is already constrained")
                .hint("each random choice can be observed once"));
        }
        let value = self.trace.admit(id, value)?;
        if self.trace.is_outside_support(id, &value)? {
            let name = self.choice_name(id);
            let message = format!("the value {} is outside the support of {name}", value.brief());
            return Err(EvalError::other(span, message).hint(self.support_hint(id)));
        }
        let mut fixed = Preset(value);
        let mut scaffold = Scaffold::new();
        let proposal = Proposal::propose(&mut self.trace, &mut scaffold, &[id], &mut fixed, rng)?;
        let log_ratio = proposal.log_ratio();
        proposal.keep()?;
        if self.trace.node(id).constrained {
            let message = "with this value another observation comes to refer to the same choice";
            return Err(EvalError::other(span, message));
        }
        Ok(log_ratio + self.log_density_of_placed(id)?)
    }

    /// log p(value | arguments) of a choice that may be counted in the statistics of its maker.
    fn log_density_of_placed(&mut self, id: NodeId) -> Result<f64, EvalError> {
        let Op::Draw(maker) = self.trace.node(id).op else { return self.trace.log_density(id) };
        let savepoint = self.trace.savepoint();
        let value = self.trace.node(id).value.clone();
        self.trace.uncount(maker, &value);
        let log_p = self.trace.log_density(id);
        self.trace.rollback_to(savepoint);
        log_p
    }
}
