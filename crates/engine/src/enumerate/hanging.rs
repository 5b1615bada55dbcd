//! Blocks whose combinations cannot be listed: what a later choice of the block can be hangs on the brush.
//!
//! `[assume k (if b (uniform_discrete 0 3) 2)] [assume j (uniform_discrete k (+ k 2))]`, with b and j in the block: k comes
//! and goes with b and is drawn anew for each candidate, so each would find another list of values for j, and the state one
//! comes from need not be among them. Such a block is refused, from whichever of its states one looks: the structures above
//! its choices are the same in all of them, and where one of their bodies makes a choice, some candidate shows it.

use rustc_hash::FxHashSet;
use smidgen_lang::Span;

use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::node::{Op, Role};
use crate::trace::scaffold::Scaffold;

/// What would make the combinations of a block hang on its brush, as far as the scaffold tells.
#[derive(Default)]
pub(super) struct Hanging {
    /// A choice of the block below a structure that gets another body, if there is one.
    below: Option<NodeId>,
    /// Makers that the block draws from, with the number of their applications.
    makers: Vec<(NodeId, usize)>,
    /// Unconstrained choices of the trace, if none of them is transient.
    choices: usize,
}

impl Hanging {
    /// Looks at the block with this scaffold. An error if its combinations cannot be listed.
    pub fn look(
        trace: &Trace,
        scaffold: &Scaffold,
        block: &[NodeId],
    ) -> Result<Hanging, EvalError> {
        let mut hanging = Hanging { choices: trace.choices().len(), ..Hanging::default() };
        if block.len() < 2 || !scaffold.restructures {
            return Ok(hanging);
        }
        let mut touched: FxHashSet<NodeId> = FxHashSet::default();
        for id in &scaffold.target {
            let node = trace.node(*id);
            let maker = if let Op::Draw(maker) = node.op { Some(maker) } else { None };
            let above = node.args.iter().filter_map(|arg| arg.operand.node()).chain(maker);
            let is_below = above.into_iter().any(|argument| touched.contains(&argument));
            let is_restructured = trace.role(*id) == Some(Role::Restructured);
            if is_below || is_restructured {
                touched.insert(*id);
            }
            if block.contains(id) {
                hanging.below = hanging.below.or(is_below.then_some(*id));
                let counted = maker.map(|maker| (maker, trace.statistics(maker).count()));
                hanging.makers.extend(counted);
            }
        }
        let mut brush = scaffold.transient_nodes(trace).filter(|id| trace.is_choice(*id));
        let hangs = |id: NodeId| match trace.node(id).op {
            Op::Draw(maker) => hanging.makers.iter().any(|(known, _)| *known == maker),
            _ => false,
        };
        match hanging.below {
            Some(id) if brush.next().is_some() => Err(unsettled(trace.node(id).origin)),
            _ => match brush.find(|id| hangs(*id)) {
                Some(id) => Err(unsettled(trace.node(id).origin)),
                None => Ok(hanging),
            },
        }
    }

    /// Looks at a candidate in its place.
    pub fn check(&self, trace: &Trace) -> Result<(), EvalError> {
        let makes_choices = trace.choices().len() > self.choices;
        match self.below {
            Some(id) if makes_choices => return Err(unsettled(trace.node(id).origin)),
            _ => {}
        }
        let changed =
            |(maker, count): &&(NodeId, usize)| trace.statistics(*maker).count() != *count;
        match self.makers.iter().find(changed) {
            Some((maker, _)) if makes_choices => Err(unsettled(trace.node(*maker).origin)),
            _ => Ok(()),
        }
    }
}

pub(super) fn unsettled(origin: Span) -> EvalError {
    let message = "gibbs cannot list the combinations of this block: what this choice can be hangs on a choice that comes and goes with others of the block";
    EvalError::other(origin, message)
        .hint("move it in a block of its own (the block each or one), or by mh")
}
