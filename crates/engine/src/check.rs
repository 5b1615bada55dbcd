//! What is true of every trace between two moves, and the whole of a trace as text.
//!
//! [`check`] looks at everything and trusts nothing: it counts references, rebuilds statistics
//! and recomputes values, and its cost is that of the whole trace. Tests call it after every
//! move. [`dump`] writes down all that a move may change, to the bit, so that two equal dumps
//! mean two equal traces: what a roll-back has to bring back.

pub mod again;
mod choices;
mod dump;
pub mod paths;
mod plates;
mod sections;
#[cfg(test)]
mod tests;
mod values;

use rustc_hash::{FxHashMap, FxHashSet};
use smidgen_prob::Statistics;
use smidgen_value::{ArgumentError, Value};

use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::tag::Membership;
use crate::trace::Trace;
use crate::trace::node::{Child, MemoEntry, MemoKey, NOWHERE, Node, Op, StructureKind};
use crate::trace::observe::Referent;

use choices::{check_choices, check_scopes, check_statistics};
pub use dump::{dump, dump_by_address};

/// How far the log marginal of statistics kept step by step may lie from that of statistics
/// built afresh, relative to 1 and to its size.
const TOLERANCE: f64 = 1e-8;

type Check = Result<(), String>;

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(message()) }
}

/// Takes away what tells stale plans of enumerations from those that hold: a broken twin. Scaffolds and densities that are kept
/// by the same numbers have a twin of their own, and are forgotten.
pub fn pretend_no_edge_changed(trace: &mut Trace) {
    trace.edges_at.fill(0);
    trace.densities.clear();
    trace.scaffolds = Default::default();
}

/// Takes away what tells copied numbers of statistics from those that are still so: a broken twin.
pub fn pretend_no_statistics_changed(trace: &mut Trace) {
    for node in &mut trace.nodes {
        if let Op::Maker(made) = &mut node.op {
            made.stamp = 0;
        }
    }
}

/// Whether every invariant holds of a trace between two moves; the message names the first one
/// that does not, and the node or family where it is broken.
pub fn check(trace: &Trace) -> Result<(), String> {
    ensure(trace.journal.is_empty(), || {
        format!(
            "the journal is empty outside of a transaction: it holds {} edits",
            trace.journal.len()
        )
    })?;
    check_slots(trace)?;
    check_edges(trace)?;
    check_order(trace)?;
    check_families(trace)?;
    check_memos(trace)?;
    check_structures(trace)?;
    check_choices(trace)?;
    check_scopes(trace)?;
    check_statistics(trace)?;
    values::check_values(trace)?;
    sections::check_sections(trace)?;
    plates::check_plates(trace)?;
    check_observations(trace)?;
    check_names(trace)
}

/// A node in words, for messages.
fn named(trace: &Trace, id: NodeId) -> String {
    match trace.nodes.get(id.index()) {
        Some(node) => format!("node #{} ({})", id.0, node.op_name()),
        None => format!("node #{}, which was never made,", id.0),
    }
}

fn is_live(trace: &Trace, id: NodeId) -> bool {
    trace.nodes.get(id.index()).is_some_and(Node::is_live)
}

fn is_live_family(trace: &Trace, id: FamilyId) -> bool {
    trace.families.get(id.index()).is_some_and(|family| family.references > 0 && !family.dead)
}

fn live_families(trace: &Trace) -> impl Iterator<Item = FamilyId> + '_ {
    (0..trace.families.len() as u32).map(FamilyId).filter(|id| is_live_family(trace, *id))
}

// ---------------------------------------------------------------- slots

/// A slot is live or free, and the free lists hold exactly the free ones.
fn check_slots(trace: &Trace) -> Check {
    let mut listed = FxHashSet::default();
    for id in &trace.free_nodes {
        ensure(listed.insert(*id), || {
            format!("a slot is free once: {} is listed twice", named(trace, *id))
        })?;
    }
    for (k, node) in trace.nodes.iter().enumerate() {
        let id = NodeId(k as u32);
        let free = matches!(node.op, Op::Free);
        ensure(free == listed.contains(&id), || {
            let wrong =
                if free { "is free but not listed" } else { "is in use but listed as free" };
            format!("the free list holds the free slots: {} {wrong}", named(trace, id))
        })?;
        ensure(!free || (node.args.is_empty() && node.children.is_empty()), || {
            format!("a free slot has no edges: {} has some", named(trace, id))
        })?;
        ensure(!node.dead, || {
            format!("nothing is dead outside of a transaction: {}", named(trace, id))
        })?;
        ensure(free || !node.pending, || {
            format!("nothing is pending outside of a proposal: {}", named(trace, id))
        })?;
    }
    let mut listed = FxHashSet::default();
    for id in &trace.free_families {
        ensure(listed.insert(*id), || {
            format!("a family slot is free once: family {} is listed twice", id.0)
        })?;
    }
    for (k, family) in trace.families.iter().enumerate() {
        let free = listed.contains(&FamilyId(k as u32));
        ensure(!family.dead, || format!("nothing is dead outside of a transaction: family {k}"))?;
        ensure(free == (family.references == 0), || {
            let references = family.references;
            format!(
                "a family is free exactly if nothing refers to it: family {k}, with {references} references"
            )
        })?;
        let empty = family.nodes.is_empty() && family.requests.is_empty() && family.memo.is_none();
        ensure(!free || empty, || format!("a free family holds nothing: family {k}"))?;
    }
    Ok(())
}

// ---------------------------------------------------------------- edges

/// Both ends of every edge know each other's place, and both are live.
fn check_edges(trace: &Trace) -> Check {
    for id in trace.live_nodes() {
        let node = trace.node(id);
        for (slot, arg) in node.args.iter().enumerate() {
            let Operand::Node(parent) = arg.operand else { continue };
            ensure(is_live(trace, parent), || {
                format!(
                    "arguments are live: argument {slot} of {} is {}",
                    named(trace, id),
                    named(trace, parent)
                )
            })?;
            let entry = trace.node(parent).children.get(arg.position as usize);
            ensure(entry == Some(&Child { node: id, slot: slot as u32 }), || {
                format!(
                    "a parent lists its child where the child says: argument {slot} of {} says place {} of {}, where there is {entry:?}",
                    named(trace, id),
                    arg.position,
                    named(trace, parent),
                )
            })?;
        }
        for (place, child) in node.children.iter().enumerate() {
            let arg =
                trace.nodes.get(child.node.index()).and_then(|n| n.args.get(child.slot as usize));
            let returned = is_live(trace, child.node)
                && arg
                    .is_some_and(|a| a.operand.node() == Some(id) && a.position as usize == place);
            ensure(returned, || {
                format!(
                    "a listed child has that argument: {} lists at place {place} argument {} of {}",
                    named(trace, id),
                    child.slot,
                    named(trace, child.node),
                )
            })?;
        }
        if let Op::Draw(maker) = node.op {
            ensure(is_live(trace, maker) && matches!(trace.node(maker).op, Op::Maker(_)), || {
                format!(
                    "a draw has a live maker: {} draws from {}",
                    named(trace, id),
                    named(trace, maker)
                )
            })?;
        }
    }
    Ok(())
}

/// What a node's value or density is computed from.
fn parents(node: &Node) -> impl Iterator<Item = NodeId> + '_ {
    let maker = match node.op {
        Op::Draw(maker) => Some(maker),
        _ => None,
    };
    node.args.iter().filter_map(|arg| arg.operand.node()).chain(maker)
}

/// The graph has no cycle: nodes can be put in an order with parents first.
fn check_order(trace: &Trace) -> Check {
    let mut missing: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut users: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    let mut ready = Vec::new();
    for id in trace.live_nodes() {
        let mut count = 0;
        for parent in parents(trace.node(id)) {
            users.entry(parent).or_default().push(id);
            count += 1;
        }
        missing.insert(id, count);
        if count == 0 {
            ready.push(id);
        }
    }
    while let Some(id) = ready.pop() {
        missing.remove(&id);
        for user in users.remove(&id).unwrap_or_default() {
            let count = missing.get_mut(&user).expect("its parents have not all come");
            *count -= 1;
            if *count == 0 {
                ready.push(user);
            }
        }
    }
    match missing.keys().min() {
        Some(id) => Err(format!("the trace has no cycle: {} depends on itself", named(trace, *id))),
        None => Ok(()),
    }
}

// ---------------------------------------------------------------- families

/// Every node is in one family, after its arguments there; every family is referred to as often
/// as it says.
fn check_families(trace: &Trace) -> Check {
    let mut place: FxHashMap<NodeId, (FamilyId, usize)> = FxHashMap::default();
    for family in live_families(trace) {
        for (k, id) in trace.families[family.index()].nodes.iter().enumerate() {
            ensure(is_live(trace, *id), || {
                format!("families hold live nodes: family {} holds {}", family.0, named(trace, *id))
            })?;
            ensure(place.insert(*id, (family, k)).is_none(), || {
                format!("a node is in one family, once: {}", named(trace, *id))
            })?;
            ensure(trace.node(*id).family == family, || {
                format!("a node knows its family: {} is in family {}", named(trace, *id), family.0)
            })?;
        }
    }
    for id in trace.live_nodes() {
        let Some((family, k)) = place.get(&id).copied() else {
            return Err(format!(
                "a live node is in a live family: {} is in none",
                named(trace, id)
            ));
        };
        for parent in parents(trace.node(id)) {
            let before = place.get(&parent).is_none_or(|(other, p)| *other != family || *p < k);
            ensure(before, || {
                format!(
                    "arguments come first in a family: {} comes before {}",
                    named(trace, id),
                    named(trace, parent)
                )
            })?;
        }
    }
    check_references(trace)
}

fn check_references(trace: &Trace) -> Check {
    let mut counted: FxHashMap<FamilyId, u32> = FxHashMap::default();
    for id in trace.live_nodes() {
        let node = trace.node(id);
        if node.expansion.is_none() {
            continue;
        }
        ensure(matches!(node.op, Op::Structure(_)), || {
            format!("only structures have a body: {} has one", named(trace, id))
        })?;
        ensure(is_live_family(trace, node.expansion), || {
            format!("the body of a structure is a live family: that of {} is not", named(trace, id))
        })?;
        *counted.entry(node.expansion).or_default() += 1;
    }
    for family in live_families(trace) {
        for (_, request) in &trace.families[family.index()].requests {
            let memoised =
                is_live_family(trace, *request) && trace.families[request.index()].memo.is_some();
            ensure(memoised, || {
                format!(
                    "a request is for a live memoised family: family {} requests family {}",
                    family.0, request.0
                )
            })?;
            *counted.entry(*request).or_default() += 1;
        }
    }
    for id in live_families(trace) {
        let family = &trace.families[id.index()];
        let found = counted.get(&id).copied().unwrap_or(0);
        // A body that nothing in the trace refers to belongs to a directive.
        let owned = u32::from(family.memo.is_none() && found == 0);
        ensure(family.references == found + owned, || {
            format!(
                "references are counted: family {} says {}, found {}",
                id.0,
                family.references,
                found + owned
            )
        })?;
        if let Some(Operand::Node(root)) = family.root {
            ensure(is_live(trace, root), || {
                format!(
                    "the root of a family is live: that of family {} is {}",
                    id.0,
                    named(trace, root)
                )
            })?;
        }
    }
    Ok(())
}

/// Memo tables and the families they made agree.
fn check_memos(trace: &Trace) -> Check {
    for id in trace.live_nodes() {
        let Op::Memo(table) = &trace.node(id).op else { continue };
        check_procedure(trace, &table.target, || format!("the target of {}", named(trace, id)))?;
        for (key, entry) in &table.families {
            let MemoEntry::Family(family) = entry else {
                return Err(format!(
                    "no memoised body is in progress: key {key:?} of {} is",
                    named(trace, id)
                ));
            };
            let agrees = is_live_family(trace, *family)
                && is_memo_of(trace, *family, id, key)
                && trace.families[family.index()].root.is_some();
            ensure(agrees, || {
                format!(
                    "a memo entry is a live family of that key: key {key:?} of {} says family {}",
                    named(trace, id),
                    family.0
                )
            })?;
        }
    }
    for id in live_families(trace) {
        let Some(entry) = &trace.families[id.index()].memo else { continue };
        let (memo, key) = &**entry;
        let listed = is_live(trace, *memo)
            && matches!(&trace.node(*memo).op, Op::Memo(table) if table.families.get(key) == Some(&MemoEntry::Family(id)));
        ensure(listed, || {
            format!(
                "a memoised family is in its table: family {} is not in that of {}",
                id.0,
                named(trace, *memo)
            )
        })?;
    }
    Ok(())
}

fn is_memo_of(trace: &Trace, family: FamilyId, memo: NodeId, key: &[Value]) -> bool {
    let entry = trace.families.get(family.index()).and_then(|family| family.memo.as_ref());
    entry.is_some_and(|entry| entry.0 == memo && entry.1[..] == *key)
}

fn same_operand(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Node(a), Operand::Node(b)) => a == b,
        (Operand::Constant(a), Operand::Constant(b)) => a == b,
        _ => false,
    }
}

/// A structure refers to its body, and what it keeps for the next body is live.
fn check_structures(trace: &Trace) -> Check {
    for id in trace.live_nodes() {
        let node = trace.node(id);
        let Op::Structure(structure) = &node.op else { continue };
        let Some(root) = node.root() else {
            return Err(format!("a structure has a root: {} has none", named(trace, id)));
        };
        if !node.expansion.is_none() {
            let of_body = trace.families[node.expansion.index()].root.as_ref();
            ensure(of_body.is_some_and(|of_body| same_operand(root, of_body)), || {
                format!(
                    "the root of a structure is that of its body: {} has another",
                    named(trace, id)
                )
            })?;
        }
        let kept = match &structure.kind {
            StructureKind::Call { operands } | StructureKind::HigherOrder { operands, .. } => {
                &operands[..]
            }
            StructureKind::Request { memo } => {
                let key: MemoKey = node.args[..node.args.len() - 1]
                    .iter()
                    .map(|arg| trace.settled_value(&arg.operand).clone())
                    .collect();
                ensure(is_memo_of(trace, node.expansion, *memo, &key), || {
                    format!(
                        "a request has the family of its arguments: {} has another",
                        named(trace, id)
                    )
                })?;
                &[]
            }
            _ => &[],
        };
        for operand in kept {
            ensure(operand.node().is_none_or(|kept| is_live(trace, kept)), || {
                format!(
                    "operands that a structure keeps are live: one of {} is not",
                    named(trace, id)
                )
            })?;
        }
    }
    Ok(())
}

// ---------------------------------------------------------------- choices and scopes

/// An observed structure refers to a constrained choice that holds the observed value.
fn check_observations(trace: &Trace) -> Check {
    for id in trace.live_nodes() {
        let Some(observed) = &trace.node(id).observed else { continue };
        ensure(matches!(trace.node(id).op, Op::Structure(_)), || {
            format!("an observation passes through structures only: {}", named(trace, id))
        })?;
        let Referent::Choice(choice) = trace.referent(&Operand::Node(id)) else {
            return Err(format!(
                "an observed structure refers to a choice: {} does not",
                named(trace, id)
            ));
        };
        let held = &trace.node(choice).value;
        ensure(trace.node(choice).constrained, || {
            format!(
                "an observed structure refers to a constrained choice: {} refers to {}",
                named(trace, id),
                named(trace, choice)
            )
        })?;
        ensure(trace.admit(choice, observed).is_ok_and(|admitted| admitted == *held), || {
            format!(
                "an observed choice holds the observed value: {} holds {}, observed at {} was {}",
                named(trace, choice),
                held.brief(),
                named(trace, id),
                observed.brief()
            )
        })?;
    }
    Ok(())
}

/// Names, and procedures that stand as constants, refer to live nodes.
fn check_names(trace: &Trace) -> Check {
    for (k, operand) in trace.globals.iter().enumerate() {
        match operand {
            Some(Operand::Node(id)) => ensure(is_live(trace, *id), || {
                format!("names are bound to live nodes: name {k} is bound to {}", named(trace, *id))
            })?,
            Some(Operand::Constant(value)) => {
                check_procedure(trace, value, || format!("name {k}"))?
            }
            None => {}
        }
    }
    for id in trace.live_nodes() {
        for value in trace.node(id).args.iter().filter_map(|arg| arg.operand.constant()) {
            check_procedure(trace, value, || format!("an argument of {}", named(trace, id)))?;
        }
    }
    Ok(())
}

fn check_procedure(trace: &Trace, value: &Value, holder: impl FnOnce() -> String) -> Check {
    let (id, is_right) = match Procedure::of(value) {
        Some(Procedure::Memoised(id)) => {
            (*id, is_live(trace, *id) && matches!(trace.node(*id).op, Op::Memo(_)))
        }
        Some(Procedure::Made(id)) => {
            (*id, is_live(trace, *id) && matches!(trace.node(*id).op, Op::Maker(_)))
        }
        _ => return Ok(()),
    };
    ensure(is_right, || format!("procedures are live: {} is of {}", holder(), named(trace, id)))
}
