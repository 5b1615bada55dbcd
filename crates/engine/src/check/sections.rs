//! Rosters: every hub knows its sections, as a search from scratch finds them.

use super::{Check, ensure, named};
use crate::id::NodeId;
use crate::section::component::Component;
use crate::trace::Trace;
use crate::trace::node::{Child, Op};
use crate::trace::roster::Standing;

pub(super) fn check_sections(trace: &Trace) -> Check {
    for id in trace.live_nodes() {
        let node = trace.node(id);
        ensure(node.is_hub == trace.sections.has_hub(id), || {
            format!("hubs are marked: {} is not, or is no hub", named(trace, id))
        })?;
        for arg in &node.args {
            let parent = arg.operand.node();
            ensure(
                !arg.standing.is_known() || parent.is_some_and(|p| trace.node(p).is_hub),
                || format!("only edges of hubs have a standing: {}", named(trace, id)),
            )?;
        }
        if node.is_hub {
            check_roster(trace, id)?;
        }
    }
    Ok(())
}

fn check_roster(trace: &Trace, id: NodeId) -> Check {
    let roster = trace.sections.hub(id);
    let standing = |edge: Child| trace.node(edge.node).args[edge.slot as usize].standing;
    for (place, unit) in roster.units.iter().enumerate() {
        ensure(standing(unit.edge) == Standing::unit(place), || {
            format!("a section's edge knows its place: {} of {}", place, named(trace, id))
        })?;
        let listed = roster.strata.iter().filter(|s| s.members.contains(&(place as u32)));
        ensure(listed.count() == 1, || {
            format!("a section is of one kind: {} of {}", place, named(trace, id))
        })?;
    }
    if !trace.sections.is_settled(id) {
        return Ok(());
    }
    let mut component = Component::default();
    for edge in &trace.node(id).children {
        let found = standing(*edge);
        if matches!(trace.node(edge.node).op, Op::Plate(_)) {
            ensure(found == Standing::PLATE, || {
                format!("a plate is one to its hub: {}", named(trace, edge.node))
            })?;
            continue;
        }
        let explored = component.explore(trace, edge.node, &|node| node == id);
        let wanted = match explored {
            Err(_) => found == Standing::REFUSED,
            Ok(()) => {
                let leads = |entry: &&Child| (entry.node, entry.slot);
                let leader = component.entries.iter().min_by_key(leads);
                let nested = component.pool.is_some();
                match leader == Some(edge) {
                    false => found == Standing::FOLLOWER,
                    true if nested => found == Standing::NESTED,
                    true if component.absorbing == 0 => found == Standing::IDLE,
                    true => found.as_unit().is_some(),
                }
            }
        };
        ensure(wanted, || {
            format!(
                "the roster is up to date: {} is {found:?} to {}",
                named(trace, edge.node),
                named(trace, id)
            )
        })?;
    }
    Ok(())
}
