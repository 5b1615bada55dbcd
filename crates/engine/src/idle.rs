//! Choices that no observation depends on: rows that are predicted, a lift that is computed from them.
//!
//! Let I be a set of unconstrained choices such that nothing outside I and not constrained by them depends on a choice of I. Then
//!
//! p(I, rest | observations) = p(I | rest) p(rest | observations),
//!
//! and p(I | rest) is the prior: running the program forward draws from it. So I need not be part of any move; it
//! is *drawn forward* when somebody wants to look. [`idle_choices`] finds the largest such set, by marking everything that leads to
//! an observation (or to a choice that may not be left out), O(nodes); [`Forward`] draws it.
//!
//! Where nothing is decided by the choices, they are drawn layer by layer and written lazily; else a
//! proposal of all of them redoes what they decide, and has nothing to be weighed.

use smidgen_value::{Rng, Value};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::node::{Op, Role};
use crate::proposal::{FromPrior, Proposal};
use crate::scaffold::Scaffold;
use crate::trace::Trace;

/// The choices that nothing else depends on. `admits`: whether a choice with this address may be among them.
/// Applications of made procedures, which count for one another, never are.
pub fn idle_choices(trace: &Trace, admits: &dyn Fn(u64) -> bool) -> Vec<NodeId> {
    let may_be_idle = |id: NodeId| {
        let node = trace.node(id);
        let proper = matches!(node.op, Op::Random(distribution) if distribution.is_proper());
        proper && !node.constrained && admits(node.address)
    };
    let stays = |id: &NodeId| {
        let node = trace.node(*id);
        let is_maker = matches!(node.op, Op::Maker(_));
        is_maker || node.observed.is_some() || (node.is_random() && !may_be_idle(*id))
    };
    let mut needed = vec![false; trace.nodes.len()];
    let mut work: Vec<NodeId> = trace.live_nodes().filter(stays).collect();
    while let Some(id) = work.pop() {
        if !std::mem::replace(&mut needed[id.index()], true) {
            work.extend(trace.node(id).args.iter().filter_map(|arg| arg.operand.node()));
        }
    }
    let choices = trace.choices().iter().copied();
    choices.filter(|id| !needed[id.index()] && may_be_idle(*id)).collect()
}

/// How idle choices are drawn, for one structure of the trace.
pub struct Forward {
    choices: Vec<NodeId>,
    /// Choices by how many others lie above them, if none decides anything.
    layers: Option<Vec<Vec<NodeId>>>,
}

impl Forward {
    /// For choices found by [`idle_choices`].
    pub fn new(trace: &mut Trace, choices: Vec<NodeId>) -> Forward {
        let mut scaffold = Scaffold::new();
        scaffold.build(trace, &choices);
        debug_assert!(scaffold.absorbing.is_empty() && scaffold.makers.is_empty());
        let decides = scaffold.restructured(trace).is_some();
        let layers = (!decides).then(|| layers(trace, &scaffold));
        Forward { choices, layers }
    }

    pub fn choices(&self) -> &[NodeId] {
        &self.choices
    }

    /// Draws all of them from their law given everything else.
    pub fn draw(&self, trace: &mut Trace, rng: &mut Rng) -> Result<(), EvalError> {
        let Some(layers) = &self.layers else {
            let mut scaffold = Scaffold::new();
            let proposal =
                Proposal::propose(trace, &mut scaffold, &self.choices, &mut FromPrior, rng)?;
            // Impossible only if the program stops with an error there.
            if proposal.log_new() > f64::NEG_INFINITY {
                proposal.commit();
            }
            return Ok(());
        };
        let mut drawn: Vec<Value> = Vec::new();
        for layer in layers {
            for id in layer {
                trace.refresh_arguments(*id)?;
                drawn.push(trace.draw_from_prior(*id, rng)?);
            }
            for (id, value) in layer.iter().zip(drawn.drain(..)) {
                trace.set_value(*id, value);
            }
            trace.commit_lazily();
        }
        Ok(())
    }
}

/// Layer k holds the choices of D with at most k choices of D above one another above them.
fn layers(trace: &Trace, scaffold: &Scaffold) -> Vec<Vec<NodeId>> {
    let mut layers: Vec<Vec<NodeId>> = Vec::new();
    let mut depths: rustc_hash::FxHashMap<NodeId, usize> = rustc_hash::FxHashMap::default();
    for id in &scaffold.target {
        debug_assert_ne!(trace.node(*id).role, Role::Restructured);
        let above = trace.node(*id).args.iter().filter_map(|arg| arg.operand.node());
        let depth = above.filter_map(|parent| depths.get(&parent)).max().copied().unwrap_or(0);
        let is_choice = trace.node(*id).is_random();
        if is_choice {
            if layers.len() == depth {
                layers.push(Vec::new());
            }
            layers[depth].push(*id);
        }
        depths.insert(*id, depth + usize::from(is_choice));
    }
    layers
}
