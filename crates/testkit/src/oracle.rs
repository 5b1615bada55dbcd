//! Densities of a trace computed from outside the engine, and what log α ought to be.
//!
//! For a proposal from the prior the Metropolis-Hastings ratio is by definition
//!
//! log α = log p(ρ') − log p(ρ) − log q(ρ → ρ') + log q(ρ' → ρ),
//!
//! where q is the product of the prior densities of the choices that were *drawn*: principals,
//! new choices, and choices that an observation left. The engine never computes it so (it
//! cancels terms); this module does, from nothing but the values, arguments and constraints that
//! nodes show. Applications of a made procedure are exchangeable, so the drawn ones together have
//! log q = log marginal(all) − log marginal(those kept).

use std::collections::BTreeMap;

use smidgen_engine::node::Op;
use smidgen_engine::{NodeId, Trace};
use smidgen_prob::Statistics;
use smidgen_value::Value;

use crate::world::operand_value;

/// One random choice as it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub value: Value,
    pub constrained: bool,
    /// The maker it is an application of.
    pub maker: Option<NodeId>,
    /// log p(value | arguments); for an application of a made procedure 0.
    pub log_density: f64,
}

/// All random choices of a trace, and the makers' marginals as functions of what is kept.
pub struct Snapshot {
    pub choices: BTreeMap<NodeId, Seen>,
    /// log p of all random choices.
    pub log_joint: f64,
}

fn argument_values(trace: &Trace, id: NodeId) -> Vec<Value> {
    trace.node(id).args.iter().map(|arg| operand_value(trace, &arg.operand).clone()).collect()
}

/// The applications of a maker for which `keep` holds.
fn log_marginal(trace: &Trace, maker: NodeId, keep: impl Fn(NodeId) -> bool) -> f64 {
    let Op::Maker(made) = &trace.node(maker).op else { unreachable!("a maker") };
    let params = match made.maker.latent() {
        Some(_) => vec![trace.node(maker).value.clone()],
        None => argument_values(trace, maker),
    };
    let params: Vec<&Value> = params.iter().collect();
    let mut statistics: Box<dyn Statistics> = made.maker.empty(&params).expect("valid parameters");
    for id in trace.live_nodes() {
        if matches!(trace.node(id).op, Op::Draw(m) if m == maker) && keep(id) {
            statistics.add(&trace.node(id).value);
        }
    }
    statistics.log_marginal(&params).expect("valid parameters")
}

fn makers(trace: &Trace) -> Vec<NodeId> {
    trace.live_nodes().filter(|id| matches!(trace.node(*id).op, Op::Maker(_))).collect()
}

impl Snapshot {
    /// The choices of a trace whose values are all fresh.
    pub fn of(trace: &Trace) -> Snapshot {
        let mut choices = BTreeMap::new();
        let mut log_joint = 0.0;
        for id in trace.live_nodes() {
            let node = trace.node(id);
            let args = argument_values(trace, id);
            let args: Vec<&Value> = args.iter().collect();
            let (maker, log_density) = match &node.op {
                Op::Random(distribution) => {
                    (None, distribution.log_density(&node.value, &args).expect("valid arguments"))
                }
                Op::Draw(maker) => (Some(*maker), 0.0),
                Op::Maker(made) => match made.maker.latent() {
                    Some(latent) => {
                        (None, latent.log_density(&node.value, &args).expect("valid arguments"))
                    }
                    None => continue,
                },
                _ => continue,
            };
            log_joint += log_density;
            let (value, constrained) = (node.value.clone(), node.constrained);
            choices.insert(id, Seen { value, constrained, maker, log_density });
        }
        for maker in makers(trace) {
            log_joint += log_marginal(trace, maker, |_| true);
        }
        Snapshot { choices, log_joint }
    }

    /// log of the probability with which the choices in `drawn` were drawn from their priors.
    /// `trace` is the one that the snapshot shows.
    pub fn log_drawn(&self, trace: &Trace, drawn: &[NodeId]) -> f64 {
        let direct: f64 = drawn.iter().map(|id| self.choices[id].log_density).sum();
        let of_makers = makers(trace).into_iter().map(|maker| {
            if !drawn.iter().any(|id| self.choices[id].maker == Some(maker)) {
                return 0.0;
            }
            log_marginal(trace, maker, |_| true)
                - log_marginal(trace, maker, |id| !drawn.contains(&id))
        });
        direct + of_makers.sum::<f64>()
    }

    /// The choices that a move from here to `there` drew: free there, and principal, new or
    /// released by an observation. With the two snapshots exchanged: what the move back draws.
    pub fn drawn_by_move_to(&self, there: &Snapshot, principals: &[NodeId]) -> Vec<NodeId> {
        let was_free = |id: &NodeId| self.choices.get(id).is_some_and(|seen| !seen.constrained);
        let free = there.choices.iter().filter(|(_, seen)| !seen.constrained);
        let drawn = free.filter(|(id, _)| principals.contains(id) || !was_free(id));
        drawn.map(|(id, _)| *id).collect()
    }

    /// Whether a move to `there` scored an application of a maker (observed and new, or proposed
    /// by a walk) and drew another one: the probability of the draw then depends on their order,
    /// which a snapshot does not show.
    pub fn order_matters(&self, there: &Snapshot, drawn: &[NodeId], walked: &[NodeId]) -> bool {
        let scored = there.choices.iter().filter(|(id, seen)| {
            walked.contains(id)
                || (seen.constrained && self.choices.get(id).is_none_or(|was| !was.constrained))
        });
        let makers: Vec<NodeId> = scored.filter_map(|(_, seen)| seen.maker).collect();
        drawn.iter().any(|id| there.choices[id].maker.is_some_and(|maker| makers.contains(&maker)))
    }
}
