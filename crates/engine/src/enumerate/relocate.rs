//! A candidate for which nothing has to be made, made the state of the trace in place.
//!
//! Where the choice decides nothing but which families are looked up, a move to clusters that are there leaves every node of D and T where it
//! is: requests turn to other families, observed applications to other makers, functions get other
//! values. All of it is computed first; then it is written, which cannot fail, so nothing is noted for a
//! way back. The oracle is [`crate::trace::proposal`], which takes D and T out of the trace and makes them
//! again: both leave the same trace, but for the names of nodes.

use smallvec::SmallVec;
use smidgen_value::Value;

use super::kept::{MemoRootCache, Root, maker_of};
use super::plan::{Plan, Planned};
use super::shape::{Lookup, Source, Step};
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::address::address;
use crate::trace::node::Op;

/// What becomes of a node of D.
struct NodeUpdate {
    value: Value,
    change: Change,
}

enum Change {
    Value,
    /// Of a request: the family, and where its value is.
    Family(FamilyId, Operand),
    /// Of an observed call: its application, the maker that this is drawn from now, and the next one.
    Maker(NodeId, NodeId, NodeId),
}

type Fates = SmallVec<[NodeUpdate; 8]>;

/// Moves a choice to candidate k, for which nothing has to be made. None, and nothing has
/// changed, if this is not the way.
pub(super) fn relocate(
    trace: &mut Trace,
    Planned { plan, shape }: Planned<'_>,
    roots: &mut MemoRootCache,
    (k, value): (usize, &Value),
) -> Option<()> {
    if !trace.journal.is_empty() || !shape.whole || !shape.looks_up {
        return None;
    }
    look_at(trace, plan);
    // All families stay that requests turn away from.
    let stays = |lookup: &Lookup| {
        let family = trace.node(plan.target[lookup.asks as usize]).expansion;
        !family.is_none() && trace.families[family.index()].references > lookup.requests
    };
    if !shape.lookups.iter().all(stays) {
        return None;
    }
    let mut fates = Fates::new();
    for (step, id) in shape.steps.iter().zip(&plan.target) {
        let fate = fate(trace, plan, &fates, (step, *id), roots, (k, value))?;
        fates.push(fate);
    }
    let choice = shape.steps.iter().position(|step| matches!(step, Step::Given))?;
    leave(trace, plan, &fates);
    if let Some(maker) = plan.own_maker {
        let old = trace.node(plan.target[choice]).value.clone();
        trace.statistics_mut(maker).remove(&old);
        trace.statistics_mut(maker).add(value);
    }
    arrive(trace, plan, fates);
    Some(())
}

/// Looks at what will be read and written, before the first of it is needed: memory answers for all of it at a time.
fn look_at(trace: &Trace, plan: &Plan) {
    let mut seen = 0;
    for id in &plan.target {
        let node = trace.node(*id);
        seen ^= node.expansion.index() ^ node.args.len();
        // The edge that takes the place of the one to the root.
        if let Some(Operand::Node(root)) = node.root()
            && let Some(last) = trace.node(*root).children.last()
        {
            seen ^= trace.node(last.node).args[last.slot as usize].position as usize;
        }
    }
    for operand in &plan.operands {
        if let Operand::Constant(Value::Vector(numbers)) = operand {
            seen ^= usize::from(numbers.first() == Some(&0.0));
        }
    }
    std::hint::black_box(seen);
}

fn fate(
    trace: &Trace,
    plan: &Plan,
    before: &Fates,
    (step, id): (&Step, NodeId),
    roots: &mut MemoRootCache,
    (k, candidate): (usize, &Value),
) -> Option<NodeUpdate> {
    let read = |source: Source| match source {
        Source::Fixed(place) => Some(trace.settled_value(&plan.operands[place as usize])),
        Source::Slot(place) => before.get(place as usize).map(|fate| &fate.value),
    };
    let (value, change) = match step {
        Step::Given => (candidate.clone(), Change::Value),
        Step::Follow(source) => (read(*source)?.clone(), Change::Value),
        Step::Apply(function, sources) => {
            let args: Option<SmallVec<[&Value; 4]>> = sources.iter().map(|s| read(*s)).collect();
            ((function.apply)(&args?).ok()?, Change::Value)
        }
        Step::Request { memo, table, .. } => {
            let root = roots.root(trace, (*table as usize, k), *memo, candidate)?;
            let (Root::Node(family, _) | Root::Constant(family)) = root else { return None };
            let operand = trace.families[family.index()].root.clone()?;
            (root.value(trace)?.clone(), Change::Family(family, operand))
        }
        Step::Predict { operator, .. } => {
            let application = trace.node(id).root()?.node()?;
            let Op::Draw(from) = trace.node(application).op else { return None };
            let to = maker_of(read(*operator)?)?;
            (trace.node(id).value.clone(), Change::Maker(application, from, to))
        }
        Step::Select(_) | Step::Weigh(_) | Step::Expand(_) => return None,
    };
    Some(NodeUpdate { value, change })
}

/// D and T leave statistics and families, in reverse.
fn leave(trace: &mut Trace, plan: &Plan, fates: &Fates) {
    for (id, fate) in plan.target.iter().zip(fates).rev() {
        match &fate.change {
            Change::Value => {}
            Change::Family(..) => {
                let family = trace.node(*id).expansion;
                trace.families[family.index()].references -= 1;
            }
            Change::Maker(application, from, _) => {
                let value = trace.node(*application).value.clone();
                trace.statistics_mut(*from).remove(&value);
            }
        }
    }
}

/// They enter the others, in order.
fn arrive(trace: &mut Trace, plan: &Plan, fates: Fates) {
    trace.revision += 1;
    let values_only = fates.iter().all(|fate| matches!(fate.change, Change::Value));
    trace.structure += u64::from(!values_only);
    for (place, NodeUpdate { value, change }) in fates.into_iter().enumerate() {
        let id = plan.target[place];
        match change {
            Change::Value => {}
            Change::Family(family, root) => {
                trace.families[family.index()].references += 1;
                let slot = trace.node(id).args.len() - 1;
                trace.unlink(id, slot);
                let node = trace.node_mut(id);
                node.args[slot].operand = root;
                node.expansion = family;
                trace.link(id, slot);
            }
            Change::Maker(application, _, to) => redraw_from(trace, id, application, to),
        }
        if !trace.node(id).value.is_identical(&value) {
            trace.replace_value(id, value);
            trace.node_mut(id).changed_at = trace.revision;
        }
        let revision = trace.revision;
        trace.node_mut(id).verified_at = revision;
    }
}

/// An observed call gets the application of another maker.
fn redraw_from(trace: &mut Trace, call: NodeId, application: NodeId, maker: NodeId) {
    let slot = trace.node(call).args.len() - 1;
    trace.unlink(call, slot);
    let node = trace.node(call);
    let existential: SmallVec<[Value; 1]> =
        node.args[..slot].iter().map(|arg| trace.settled_value(&arg.operand).clone()).collect();
    let at = address(node.address, trace.address_of_values(&existential));
    let expansion = node.expansion;
    trace.families[expansion.index()].address = at;
    let revision = trace.revision;
    let node = trace.node_mut(application);
    node.op = Op::Draw(maker);
    node.address = address(at, 0);
    (node.changed_at, node.verified_at) = (revision, revision);
    let value = node.value.clone();
    trace.statistics_mut(maker).add(&value);
    trace.note_edges(application);
    trace.link(call, slot);
}
