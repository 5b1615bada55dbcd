//! What a proposal asks for each principal: a value, and how it was come by.

use smidgen_lang::Span;
use smidgen_prob::Support;
use smidgen_value::{Rng, Value};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::node::Op;

/// A random choice as a proposer sees it.
pub struct Choice<'a> {
    pub(crate) trace: &'a Trace,
    pub node: NodeId,
}

impl Trace {
    /// A random choice with fresh arguments.
    pub fn choice(&mut self, id: NodeId) -> Result<Choice<'_>, EvalError> {
        self.refresh_arguments(id)?;
        if let Op::Draw(maker) = self.node(id).op {
            self.refresh_arguments(maker)?;
        }
        Ok(Choice { trace: self, node: id })
    }
}

impl Choice<'_> {
    /// What it computes and where it stands in the program, for people.
    pub fn origin(&self) -> (&str, Span) {
        self.trace.origin(self.node)
    }

    /// Where in the program's run it stands, whatever the history.
    pub fn address(&self) -> u64 {
        self.trace.node(self.node).address
    }

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

    /// How many values it can take at most, where that can be told without listing them.
    pub fn most_values(&self) -> Option<usize> {
        match &self.trace.node(self.node).op {
            Op::Random(distribution) => {
                self.trace.with_args(self.node, |args| distribution.most_values(args))
            }
            _ => None,
        }
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
    /// A move begins: whatever was prepared for another one does not count any more.
    fn begin(&mut self) {}

    /// Whether it gives [`Proposed::Prior`] for every choice.
    fn is_prior(&self) -> bool {
        false
    }

    /// Whether [`Proposer::propose`] will give [`Proposed::Local`] for this choice (the density
    /// of its current value is then needed before anything changes).
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError>;

    /// Looks at a choice that will be moved locally, before anything changes.
    fn prepare(&mut self, _choice: &Choice<'_>) -> Result<(), EvalError> {
        Ok(())
    }

    /// The decision, given the choice's new arguments (its value is still the current one).
    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError>;
}

/// Proposes every principal from its prior, given its new arguments.
pub struct FromPrior;

impl Proposer for FromPrior {
    fn is_prior(&self) -> bool {
        true
    }

    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(false)
    }

    fn propose(&mut self, _: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        Ok(Proposed::Prior)
    }
}

/// Gives one principal a value that was drawn from its prior before.
pub(crate) struct Preset(pub Value);

impl Proposer for Preset {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(false)
    }

    fn propose(&mut self, _: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        Ok(Proposed::Drawn(self.0.clone()))
    }
}
