//! Choices that no observation depends on: rows that are predicted, a lift that is computed from them.
//!
//! Let I be a set of unconstrained choices such that nothing outside I and not constrained by them depends on a choice of I. Then
//!
//! p(I, rest | observations) = p(I | rest) p(rest | observations),
//!
//! and p(I | rest) is the prior: running the program forward draws from it. So I need not be part of any move; it
//! is *drawn forward* when somebody wants to look. [`Idle::find`] finds such a set, by marking everything that leads to an observation, O(nodes);
//! [`Forward`] draws it.
//!
//! Drawing I must not change what I is: else choices would be drawn from some states and not from others, and no law would stay as it
//! is. So a choice of I decides nothing, or only branches whose both sides are functions of existing values, and both sides count.
//! Where nothing is observed at all, everything is drawn, whatever it decides.
//!
//! Where nothing is decided by the choices and nothing can go wrong, they are drawn layer by layer and written lazily; else a
//! proposal of all of them redoes what they decide. It is accepted unless the program stops with an error.

use smidgen_value::{Rng, Value};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::smooth::branch;
use crate::trace::Trace;
use crate::trace::node::{Node, Op, Role};
use crate::trace::proposal::{Choice, FromPrior, Proposal};
use crate::trace::scaffold::Scaffold;

/// The choices that no observation depends on. Applications of made procedures, which count for one another, and
/// choices without a proper prior are never among them, nor is what something hangs on that may have no value: that it
/// has one is an observation too.
#[derive(Debug, Default)]
pub struct Idle {
    pub choices: Vec<NodeId>,
    /// Whether nothing is observed: then these are all choices, in every state.
    pub is_everything: bool,
}

impl Idle {
    pub fn find(trace: &mut Trace) -> Idle {
        let observes = |id: NodeId| {
            let node = trace.node(id);
            node.constrained || node.observed.is_some() || matches!(node.op, Op::Plate(_))
        };
        if !trace.live_nodes().any(observes) {
            let choices = trace.choices().to_vec();
            let is_proper = |id: &NodeId| Choice { trace, node: *id }.is_proper();
            if choices.iter().all(is_proper) {
                return Idle { choices, is_everything: true };
            }
        }
        Idle { choices: unneeded(trace), is_everything: false }
    }
}

fn unneeded(trace: &mut Trace) -> Vec<NodeId> {
    let may_be_idle = |node: &Node| {
        let proper = matches!(node.op, Op::Random(distribution) if distribution.is_proper());
        proper && !node.constrained
    };
    let stays = |id: &NodeId| {
        let node = trace.node(*id);
        // Plates and makers have densities too.
        let follows =
            matches!(node.op, Op::Function(_) | Op::Structure(_) | Op::Memo(_) | Op::Frozen);
        let has_density = node.constrained || !(follows || may_be_idle(node));
        node.observed.is_some() || has_density || !trace.is_total(*id)
    };
    let work: Vec<NodeId> = trace.live_nodes().filter(stays).collect();
    let mut needed = vec![false; trace.nodes.len()];
    mark_needed(trace, work, &mut needed);
    let mut choices = trace.choices().to_vec();
    choices.retain(|id| !needed[id.index()] && may_be_idle(trace.node(*id)));
    if choices.is_empty() {
        return choices;
    }
    let is_structure = |id: &NodeId| matches!(trace.node(*id).op, Op::Structure(_));
    let structures: Vec<NodeId> = trace.live_nodes().filter(is_structure).collect();
    let mut deciding = Vec::new();
    for id in structures {
        if !branch::is_plain(trace, id) {
            let args = &trace.node(id).args;
            deciding.extend(args[..args.len() - 1].iter().filter_map(|arg| arg.operand.node()));
        }
    }
    mark_needed(trace, deciding, &mut needed);
    choices.retain(|id| !needed[id.index()]);
    choices
}

/// Marks nodes and all that they hang on.
fn mark_needed(trace: &mut Trace, mut work: Vec<NodeId>, needed: &mut [bool]) {
    while let Some(id) = work.pop() {
        if !std::mem::replace(&mut needed[id.index()], true) {
            work.extend(trace.node(id).args.iter().filter_map(|arg| arg.operand.node()));
            branch::visit_operands(trace, id, &mut |operand| work.push(operand));
        }
    }
}

/// The choices among the given ones that hang on a block, and on these in turn. Drawn anew together with
/// the block ([`crate::Enumeration::weigh_with`]), they do not hold it where it is. That is right for any set of addresses; it
/// is good for idle choices. None where observations move.
pub fn hanging_below(
    trace: &mut Trace,
    scaffold: &mut Scaffold,
    block: &[NodeId],
    is_given: &dyn Fn(&Trace, NodeId) -> bool,
) -> Vec<NodeId> {
    let mut all = block.to_vec();
    loop {
        scaffold.build(trace, &all);
        if scaffold.moves_observations() {
            return Vec::new();
        }
        let is_below = |id: &&NodeId| {
            let is_proper = matches!(trace.node(**id).op, Op::Random(law) if law.is_proper());
            is_proper && trace.is_choice(**id) && is_given(trace, **id)
        };
        let before = all.len();
        all.extend(scaffold.absorbing.iter().filter(is_below));
        if all.len() == before {
            return all.split_off(block.len());
        }
    }
}

/// How idle choices are drawn, for one structure of the trace.
pub struct Forward {
    choices: Vec<NodeId>,
    /// Choices by how many others lie above them, if none decides anything and all has a value whatever is drawn.
    layers: Option<Vec<Vec<NodeId>>>,
}

impl Forward {
    /// For idle choices, all that hang on any of them among them.
    pub fn new(trace: &mut Trace, choices: Vec<NodeId>) -> Forward {
        let mut scaffold = Scaffold::new();
        scaffold.build(trace, &choices);
        debug_assert!(scaffold.absorbing.is_empty());
        let is_plain = |id: &NodeId| {
            let is_draw = matches!(trace.node(*id).op, Op::Draw(_) | Op::Maker(_));
            !is_draw && trace.is_total(*id)
        };
        let decides = scaffold.restructured(trace).is_some();
        let is_layered = !decides && scaffold.target.iter().all(is_plain);
        let layers = is_layered.then(|| layers(trace, &scaffold));
        Forward { choices, layers }
    }

    pub fn choices(&self) -> &[NodeId] {
        &self.choices
    }

    /// Draws all of them from their law given everything else. False if the program would stop with an error there: then
    /// they stay as they are.
    pub fn draw(&self, trace: &mut Trace, rng: &mut Rng) -> Result<bool, EvalError> {
        let Some(layers) = &self.layers else {
            let mut scaffold = Scaffold::new();
            let proposal =
                Proposal::propose(trace, &mut scaffold, &self.choices, &mut FromPrior, rng)?;
            let is_possible = proposal.log_new() > f64::NEG_INFINITY;
            if is_possible {
                proposal.commit();
            }
            return Ok(is_possible);
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
        Ok(true)
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
