//! An upper bound of the weight that a block has with values from its prior, for rejection sampling:
//!
//! Σ_A log p(x | Par) ≤ Σ_A max over the arguments in D and T of log p(x | ·),
//!
//! with arguments outside D and T as they are. A maker absorbs for all its applications at once: the
//! log probability of discrete ones is at most 0. The choices of A are there whatever the block
//! decides about structure, so the bound holds for every T'. Observed choices in T' are not in A: what they
//! would be is known only when the program has run, so a block that moves observations has no bound.

use smallvec::SmallVec;
use smidgen_prob::bounds::log_density_bound;
use smidgen_value::Value;

use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::{Op, Role};
use crate::trace::scaffold::Scaffold;

impl Scaffold {
    /// The bound, or an error that names what has none. The scaffold must be the one built last, and
    /// what it reads fresh.
    pub fn log_bound(&self, trace: &Trace) -> Result<f64, EvalError> {
        if self.moves_observations() {
            let structure = self.restructured(trace).unwrap_or(self.principals[0]);
            let reason = "which choice an observation refers to depends on the block";
            return Err(without_bound(trace, structure, reason));
        }
        let mut total = 0.0;
        for id in &self.absorbing {
            total += self.log_bound_of_choice(trace, *id)?;
        }
        for id in self.target.iter().chain(&self.makers) {
            if matches!(trace.node(*id).op, Op::Maker(_)) {
                self.check_maker(trace, *id)?;
            }
        }
        Ok(total)
    }

    fn log_bound_of_choice(&self, trace: &Trace, id: NodeId) -> Result<f64, EvalError> {
        let node = trace.node(id);
        let args: SmallVec<[Option<&Value>; 4]> =
            node.args.iter().map(|arg| known(trace, &arg.operand)).collect();
        let bound = match &node.op {
            Op::Random(distribution) => log_density_bound(*distribution, &node.value, &args),
            Op::Maker(made) => {
                let latent = made.maker.latent().expect("only a latent maker absorbs as a choice");
                log_density_bound(latent, &node.value, &args)
            }
            Op::Plate(_) => None,
            _ => unreachable!("choices and latent makers absorb"),
        };
        bound.ok_or_else(|| {
            let changing = args.iter().enumerate().filter(|(_, arg)| arg.is_none());
            let numbers: Vec<String> = changing.map(|(i, _)| (i + 1).to_string()).collect();
            let reason = match &numbers[..] {
                [one] => format!("its density may be arbitrarily large as argument {one} changes"),
                _ => format!(
                    "its density may be arbitrarily large as arguments {} change",
                    numbers.join(" and ")
                ),
            };
            without_bound(trace, id, &reason)
        })
    }

    /// 0 is a bound for what the maker absorbs, or there is none.
    fn check_maker(&self, trace: &Trace, maker: NodeId) -> Result<(), EvalError> {
        let support = trace.with_params(maker, |params| trace.statistics(maker).support(params));
        if support.is_ok_and(|support| !support.is_continuous()) {
            return Ok(());
        }
        let moves = |id: &NodeId| matches!(trace.node(*id).op, Op::Draw(of) if of == maker);
        let moving = self.target.iter().copied().filter(moves).count()
            + self.transient_nodes(trace).filter(moves).count();
        if trace.statistics(maker).count() == moving {
            return Ok(());
        }
        let reason = "the density of its applications may be arbitrarily large as it changes";
        Err(without_bound(trace, maker, reason))
    }
}

/// The value of an argument that the block does not change.
fn known<'a>(trace: &'a Trace, operand: &'a Operand) -> Option<&'a Value> {
    match operand {
        Operand::Constant(value) => Some(value),
        Operand::Node(id) => match trace.role(*id) {
            Some(Role::Target | Role::Restructured | Role::Transient) => None,
            _ => Some(&trace.node(*id).value),
        },
    }
}

fn without_bound(trace: &Trace, id: NodeId, reason: &str) -> EvalError {
    let (what, span) = trace.origin(id);
    let message =
        format!("rejection needs a bound of the density of {what}, and none is known: {reason}");
    EvalError::other(span, message).hint("use mh, slice or gibbs for this block")
}
