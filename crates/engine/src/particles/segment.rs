//! Which group makes which node.
//!
//! In the order of the groups, a principal is made with all of D that it needs (which may include
//! principals of later groups: then those are made now), then everything of D whose arguments are
//! made. A node whose existential arguments move waits for those alone: what it will refer to is
//! known only when it runs; one that selects ([`super::select`]) waits for all that any of its branches reads. So the segments are a function of what is left when D and T are taken
//! out, the same from every state that the move can lead to. Choices in T are made by the program,
//! not by a group; a group with nothing left to make has no segment.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::formula::Selects;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::node::Role;
use crate::trace::scaffold::Scaffold;

/// What one group makes, arguments before the nodes that use them.
#[derive(Default)]
pub(crate) struct Segment {
    pub nodes: Vec<NodeId>,
    pub absorbing: Vec<NodeId>,
    pub makers: Vec<NodeId>,
}

pub(crate) fn segments(
    trace: &Trace,
    scaffold: &Scaffold,
    groups: &[Vec<NodeId>],
    selects: &Selects,
) -> Vec<Segment> {
    let mut readers: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    for (id, select) in &selects.of {
        select.reads.iter().for_each(|read| readers.entry(*read).or_default().push(*id));
    }
    // One order, whatever that of the map.
    readers.values_mut().for_each(|nodes| nodes.sort_unstable());
    let (segments, state) = (Vec::new(), FxHashMap::default());
    let mut sorter = Sorter { trace, segments, state, selects, readers };
    let waiting = scaffold.target.iter().chain(&scaffold.absorbing).chain(&scaffold.makers);
    for id in waiting {
        let needed = sorter.needed(*id).len() as u32;
        sorter.state.insert(*id, State::Waiting(needed));
    }
    for group in groups {
        sorter.segments.push(Segment::default());
        for id in group {
            if sorter.in_target(*id) {
                sorter.demand(*id);
            }
        }
        sorter.segments.pop_if(|segment| segment.nodes.is_empty());
    }
    sorter.segments
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// For so many arguments.
    Waiting(u32),
    Made,
}

struct Sorter<'a> {
    trace: &'a Trace,
    segments: Vec<Segment>,
    state: FxHashMap<NodeId, State>,
    selects: &'a Selects,
    /// The structures that select by a node.
    readers: FxHashMap<NodeId, Vec<NodeId>>,
}

impl Sorter<'_> {
    fn in_target(&self, id: NodeId) -> bool {
        matches!(self.trace.role(id), Some(Role::Target | Role::Restructured))
    }

    /// Arguments in D that have to be made first.
    fn needed(&self, id: NodeId) -> SmallVec<[NodeId; 4]> {
        let in_target = |parent: &NodeId| self.in_target(*parent);
        if let Some(select) = self.selects.of.get(&id) {
            return select.reads.iter().copied().filter(in_target).collect();
        }
        let node = self.trace.node(id);
        let read = node.args.len() - usize::from(self.trace.role(id) == Some(Role::Restructured));
        let parents = node.args[..read].iter().filter_map(|arg| arg.operand.node());
        parents.filter(in_target).collect()
    }

    fn is_made(&self, id: NodeId) -> bool {
        self.state.get(&id) == Some(&State::Made)
    }

    /// Makes a principal, with what it needs before it and what follows from it.
    fn demand(&mut self, principal: NodeId) {
        let mut stack = vec![principal];
        while let Some(&id) = stack.last() {
            if self.is_made(id) {
                stack.pop();
                continue;
            }
            match self.needed(id).into_iter().find(|parent| !self.is_made(*parent)) {
                Some(parent) => stack.push(parent),
                None => {
                    stack.pop();
                    self.make(id);
                }
            }
        }
    }

    fn make(&mut self, id: NodeId) {
        let mut ready = vec![id];
        while let Some(id) = ready.pop() {
            if self.is_made(id) {
                continue;
            }
            self.state.insert(id, State::Made);
            let segment = self.segments.last_mut().expect("a group is being made");
            segment.nodes.push(id);
            for child in &self.trace.node(id).children {
                let node = self.trace.node(child.node);
                let root = child.slot as usize + 1 == node.args.len();
                let is_restructured = self.trace.role(child.node) == Some(Role::Restructured);
                // One that selects is told below, by all that it reads.
                let is_told = self.selects.of.contains_key(&child.node) || is_restructured && root;
                if !is_told {
                    self.known_to(child.node, &mut ready);
                }
            }
            for reader in self.readers.remove(&id).unwrap_or_default() {
                self.known_to(reader, &mut ready);
            }
        }
    }

    /// One more argument of a node is made.
    fn known_to(&mut self, id: NodeId, ready: &mut Vec<NodeId>) {
        let Some(State::Waiting(left)) = self.state.get_mut(&id) else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        let segment = self.segments.last_mut().expect("a group is being made");
        match self.trace.role(id) {
            Some(Role::Absorbing) => segment.absorbing.push(id),
            Some(Role::AbsorbingMaker) => segment.makers.push(id),
            // Its group's turn comes.
            _ if self.trace.node(id).is_random() => {}
            _ => ready.push(id),
        }
    }
}
