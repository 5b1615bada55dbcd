//! What the edges of a hub are: rosters brought up to date.
//!
//! Every edge that waits is explored ([`super::component`]): it leads to a section of some kind, to another way into one, to a
//! hub of its own, to a plate, or to something that is no section, which is the reason of a refusal.

use smallvec::SmallVec;

use super::component::{Component, is_deterministic};
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::node::{Child, Op};
use crate::trace::roster::{Kind, Refusal, Standing, Walk};

/// The room that exploring needs, kept from one time to the next.
#[derive(Default)]
struct Room {
    component: Component,
    signature: String,
}

impl Trace {
    /// Lets every edge wait that leads to a disturbed node, or to what lies below it: a section may
    /// have come apart.
    fn settle_disturbed(&mut self) {
        while let Some(id) = self.sections.disturbed.pop() {
            if !self.node(id).is_live() {
                continue;
            }
            let mut seen = vec![id];
            let mut next = 0;
            while let Some(&id) = seen.get(next) {
                next += 1;
                if is_deterministic(self.node(id)) && !self.stays_nested(id) {
                    for child in &self.node(id).children {
                        if self.node(child.node).in_section && !seen.contains(&child.node) {
                            seen.push(child.node);
                        }
                    }
                }
            }
            next = 0;
            while let Some(&id) = seen.get(next) {
                next += 1;
                for slot in 0..self.node(id).args.len() {
                    let arg = &self.node(id).args[slot];
                    let Some(parent) = arg.operand.node() else { continue };
                    if arg.standing.is_known() {
                        let edge = Child { node: id, slot: slot as u32 };
                        self.forget_standing(edge);
                        self.await_classification(parent, edge);
                    }
                    if is_deterministic(self.node(parent)) && !seen.contains(&parent) {
                        seen.push(parent);
                    }
                }
            }
        }
    }

    /// Whether what is below a node is, as before, no part of the sections above it.
    fn stays_nested(&self, id: NodeId) -> bool {
        self.node(id).children.len() >= self.sections.fan_out()
            && self.sections.hubs.get(&id).is_some_and(|hub| hub.is_nested)
    }

    // ------------------------------------------------------------ classification

    /// Brings the roster of a hub up to date: O(1) if nothing changed, and once O(children). An
    /// error if some edge leads to something that is no section.
    pub(crate) fn classify_hub(&mut self, id: NodeId) -> Result<(), Refusal> {
        self.settle_disturbed();
        self.make_hub(id);
        let hub = self.sections.hub(id);
        if hub.refused.is_none() && hub.pending.is_empty() {
            return Ok(());
        }
        let mut room: Room = self.side.take();
        room.component.forget_clean();
        let result = self.classify_pending(id, &mut room);
        self.side.put(room);
        result
    }

    /// Gives a node a roster, with everything still to be classified.
    fn make_hub(&mut self, id: NodeId) {
        if !std::mem::replace(&mut self.node_mut(id).is_hub, true) {
            let pending: Vec<Child> = self.node(id).children.iter().rev().copied().collect();
            self.sections.begin_hub(id, pending);
        }
    }

    fn classify_pending(&mut self, id: NodeId, room: &mut Room) -> Result<(), Refusal> {
        loop {
            let hub = self.sections.hubs.get_mut(&id).expect("registered by the caller");
            if let Some((_, refusal)) = &hub.refused {
                return Err(refusal.clone());
            }
            let Some(edge) = hub.pending.pop() else { return Ok(()) };
            if self.waits(id, edge) {
                self.classify_edge(id, edge, room);
            }
        }
    }

    fn classify_edge(&mut self, id: NodeId, edge: Child, room: &mut Room) {
        let Room { component, signature } = room;
        self.sections.version += 1;
        if matches!(self.node(edge.node).op, Op::Plate(_)) {
            self.set_standing(edge, Standing::PLATE);
            let hub = self.sections.hubs.get_mut(&id).expect("registered by the caller");
            hub.plates.insert((edge.node, edge.slot), SmallVec::from_iter([edge.node]));
            return;
        }
        let explored = component.explore(self, edge.node, &|node| node == id);
        if let Err(refusal) = explored.and_then(|()| component.check_unread(self)) {
            // What is refused may become possible when something of it changes.
            for node in &component.nodes {
                self.node_mut(*node).in_section = true;
            }
            self.set_standing(edge, Standing::REFUSED);
            let hub = self.sections.hubs.get_mut(&id).expect("registered by the caller");
            hub.refused = Some((edge, refusal));
            return;
        }
        let pool = component.pool;
        let plates: SmallVec<[NodeId; 1]> = component.plates.iter().copied().collect();
        for node in &component.nodes {
            self.node_mut(*node).in_section = true;
            if self.node(*node).is_hub
                && let Some(hub) = self.sections.hubs.get_mut(node)
            {
                hub.is_nested = false;
            }
        }
        for entry in &component.entries {
            self.forget_standing(*entry);
            self.set_standing(*entry, Standing::FOLLOWER);
        }
        let leads = |entry: &&Child| (entry.node, entry.slot);
        let leader = *component.entries.iter().min_by_key(leads).expect("it was entered");
        let standing = match pool {
            Some(pool) => {
                self.make_hub(pool);
                if let Some(hub) = self.sections.hubs.get_mut(&pool) {
                    hub.is_nested = true;
                }
                let hub = self.sections.hubs.get_mut(&id).expect("registered by the caller");
                hub.nested.insert((leader.node, leader.slot), pool);
                Standing::NESTED
            }
            None if component.absorbing == 0 => Standing::IDLE,
            None => {
                // The kind is described as a walk from the leader sees it.
                if component.nodes[0] != leader.node {
                    let again = component.explore(self, leader.node, &|node| node == id);
                    again.expect("the same component from another entry");
                }
                let kind = self.kind_of(component, id, signature);
                let hub = self.sections.hubs.get_mut(&id).expect("registered by the caller");
                hub.several += usize::from(component.absorbing > 1);
                Standing::unit(hub.add(leader, kind))
            }
        };
        self.set_standing(leader, standing);
        if !plates.is_empty() {
            let hub = self.sections.hubs.get_mut(&id).expect("registered by the caller");
            hub.plates.insert((leader.node, leader.slot), plates);
        }
    }

    fn set_standing(&mut self, edge: Child, standing: Standing) {
        self.node_mut(edge.node).args[edge.slot as usize].standing = standing;
    }

    /// The kind of the component explored last, as a number.
    fn kind_of(&mut self, component: &Component, hub: NodeId, signature: &mut String) -> u32 {
        signature.clear();
        let nodes = &component.nodes;
        let (mut hard, mut in_order) = (false, true);
        for (i, id) in nodes.iter().enumerate() {
            let node = self.node(*id);
            signature.push_str(if i == 0 { "" } else { " " });
            signature.push_str(node.op_name());
            signature.push('(');
            for (slot, arg) in node.args.iter().enumerate() {
                let parent = arg.operand.node();
                let inside = parent.and_then(|parent| nodes.iter().position(|n| *n == parent));
                match inside {
                    Some(k) => signature.push_str(&format!("{k} ")),
                    None => signature.push_str(if parent == Some(hub) { "b " } else { ". " }),
                }
                in_order &= inside.is_none_or(|k| k < i);
                if (inside.is_some() || parent == Some(hub))
                    && let Op::Random(distribution) = &node.op
                {
                    hard |= distribution.support_arguments().contains(&slot);
                }
            }
            signature.push(')');
        }
        let known = self.sections.by_signature.get(signature).copied();
        known.unwrap_or_else(|| {
            let number = self.sections.kinds.len() as u32;
            self.sections.kinds.push(Kind {
                signature: signature.clone(),
                nodes: nodes.len(),
                absorbing: component.absorbing,
                entries: component.entries.len(),
                hard,
                walk: Walk { single_entry: component.entries.len() == 1, in_order },
            });
            self.sections.by_signature.insert(signature.clone(), number);
            number
        })
    }
}
