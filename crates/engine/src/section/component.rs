//! One local section: the connected component of an edge from a hub (theory 1.6), and the
//! conditions under which it may be read alone (theory 1.5).
//!
//! From the edge's node the walk goes *down* through deterministic nodes to absorbing choices,
//! and *up* from every node to arguments that depend on the hub as well: two ways from the hub
//! to one choice, as in `(normal (* mu x) mu)`, make one section. A section must not hold
//! structure that the change decides (L1), nor choices that would have to be redrawn (L2), and
//! must be small (L5).

use rustc_hash::FxHashSet;

use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::{Child, Node, Op};
use crate::trace::roster::Refusal;

/// A section has at most so many nodes.
const LARGEST: usize = 128;
/// So many ancestors of one argument are looked at.
const ANCESTORS: usize = 1 << 16;

/// Follows its arguments without choosing: a value that a change of an argument changes.
pub(crate) fn is_deterministic(node: &Node) -> bool {
    matches!(node.op, Op::Function(_) | Op::Structure(_))
}

/// Clearing a set costs what it has room for: one that has grown large is given back, so that small
/// questions stay cheap after a large one.
fn empty(set: &mut FxHashSet<NodeId>) {
    const ROOM: usize = 1024;
    if set.capacity() > ROOM {
        *set = FxHashSet::default();
    } else {
        set.clear();
    }
}

/// The component explored last; the buffers are reused.
#[derive(Default)]
pub(crate) struct Component {
    /// All nodes, in the order of their discovery.
    pub nodes: Vec<NodeId>,
    /// Edges from a global node into the component.
    pub entries: Vec<Child>,
    pub absorbing: usize,
    /// Plates that hang below: their rows are sections of their own.
    pub plates: Vec<NodeId>,
    /// The node that fans out in its turn, if the component only leads there.
    pub pool: Option<NodeId>,
    large: Vec<NodeId>,
    next: usize,
    stack: Vec<NodeId>,
    seen: FxHashSet<NodeId>,
    /// Deterministic nodes known not to depend on a global node, as long as edges stay.
    clean: FxHashSet<NodeId>,
    /// Set when the sections of several hubs are joined, each of which is small.
    pub joined: bool,
}

impl Component {
    /// Refuses what no density reads and may stop all the same: who reads sections alone would not see it.
    pub fn check_unread(&self, trace: &Trace) -> Result<(), Refusal> {
        let is_unseen = |id: &&NodeId| trace.may_stop(**id) && !is_read(trace, **id, LARGEST);
        match self.nodes.iter().find(is_unseen) {
            Some(id) if !trace.has_fault(Fault::UnreadStop) => {
                let node = trace.node(*id);
                Err(Refusal::MayStop { what: node.op_name().to_owned(), span: node.origin })
            }
            _ => Ok(()),
        }
    }

    fn limit(&self) -> usize {
        if self.joined { usize::MAX } else { LARGEST }
    }

    /// Forgets what was learnt about nodes outside: edges have changed, or the globals.
    pub fn forget_clean(&mut self) {
        empty(&mut self.clean);
    }

    /// Explores the component of a node that depends on a global one.
    pub fn explore(
        &mut self,
        trace: &Trace,
        start: NodeId,
        is_global: &dyn Fn(NodeId) -> bool,
    ) -> Result<(), Refusal> {
        self.nodes.clear();
        self.entries.clear();
        self.large.clear();
        self.plates.clear();
        (self.absorbing, self.pool, self.next) = (0, None, 0);
        self.nodes.push(start);
        while let Some(&id) = self.nodes.get(self.next) {
            self.next += 1;
            self.look_up(trace, id, is_global)?;
            self.look_down(trace, id, is_global)?;
            if self.nodes.len() > self.limit() {
                return Err(Refusal::TooLarge { span: trace.node(start).origin });
            }
        }
        self.check_structure(trace, is_global)?;
        self.find_pool(trace, start)
    }

    fn add(&mut self, id: NodeId) {
        if !self.nodes.contains(&id) {
            self.nodes.push(id);
        }
    }

    fn look_up(
        &mut self,
        trace: &Trace,
        id: NodeId,
        is_global: &dyn Fn(NodeId) -> bool,
    ) -> Result<(), Refusal> {
        for (slot, arg) in trace.node(id).args.iter().enumerate() {
            let Some(parent) = arg.operand.node() else { continue };
            if is_global(parent) {
                self.entries.push(Child { node: id, slot: slot as u32 });
            } else if is_deterministic(trace.node(parent))
                // One that fans out is another hub, below which this section hangs as well.
                && trace.node(parent).children.len() < trace.sections.fan_out()
                && !self.nodes.contains(&parent)
                && self.depends(trace, parent, is_global)?
            {
                self.nodes.push(parent);
            }
        }
        Ok(())
    }

    /// Whether a deterministic node depends on a global one.
    pub fn depends(
        &mut self,
        trace: &Trace,
        id: NodeId,
        is_global: &dyn Fn(NodeId) -> bool,
    ) -> Result<bool, Refusal> {
        if self.clean.contains(&id) {
            return Ok(false);
        }
        self.stack.clear();
        empty(&mut self.seen);
        self.stack.push(id);
        self.seen.insert(id);
        while let Some(node) = self.stack.pop() {
            for parent in trace.node(node).args.iter().filter_map(|arg| arg.operand.node()) {
                if is_global(parent) {
                    return Ok(true);
                }
                let further = is_deterministic(trace.node(parent)) && !self.clean.contains(&parent);
                if further && self.seen.insert(parent) {
                    self.stack.push(parent);
                }
            }
            if self.seen.len() > ANCESTORS {
                return Err(Refusal::TooLarge { span: trace.node(id).origin });
            }
        }
        self.clean.extend(self.seen.drain());
        Ok(false)
    }

    fn look_down(
        &mut self,
        trace: &Trace,
        id: NodeId,
        is_global: &dyn Fn(NodeId) -> bool,
    ) -> Result<(), Refusal> {
        let node = trace.node(id);
        match &node.op {
            Op::Random(_) | Op::Maker(_) => self.absorbing += 1,
            Op::Function(_) | Op::Structure(_)
                if node.children.len() >= trace.sections.fan_out() =>
            {
                self.large.push(id);
            }
            Op::Function(_) | Op::Structure(_) => {
                for child in &node.children {
                    if matches!(trace.node(child.node).op, Op::Plate(_)) {
                        self.plates.push(child.node);
                    } else if !is_global(child.node) {
                        self.add(child.node);
                    }
                }
            }
            Op::Plate(_) => self.plates.push(id),
            Op::Draw(maker) => {
                let what = trace.maker_name(*maker).to_owned();
                return Err(Refusal::Randomness { what, span: node.origin });
            }
            Op::Memo(_) | Op::Frozen | Op::Free => {
                let what = node.op_name().to_owned();
                return Err(Refusal::Structure { what, span: node.origin });
            }
        }
        Ok(())
    }

    /// A structure may follow the value of its root, but nothing that changes may decide it.
    fn check_structure(
        &self,
        trace: &Trace,
        is_global: &dyn Fn(NodeId) -> bool,
    ) -> Result<(), Refusal> {
        for id in &self.nodes {
            let node = trace.node(*id);
            if !matches!(node.op, Op::Structure(_)) {
                continue;
            }
            let deciding = &node.args[..node.args.len() - 1];
            let moved = |parent| is_global(parent) || self.nodes.contains(&parent);
            if deciding.iter().filter_map(|arg| arg.operand.node()).any(moved) {
                let what = node.op_name().to_owned();
                return Err(Refusal::Structure { what, span: node.origin });
            }
        }
        Ok(())
    }

    /// A component with a node that fans out is no section. If it only leads there, or has one
    /// entry and so one way to everything in it, the node where it branches is a hub in its turn.
    fn find_pool(&mut self, trace: &Trace, start: NodeId) -> Result<(), Refusal> {
        match self.large[..] {
            [] => {}
            [only] if self.absorbing == 0 => self.pool = Some(only),
            _ if self.entries.len() == 1 => {
                let mut node = self.entries[0].node;
                while let [only] = trace.node(node).children[..]
                    && is_deterministic(trace.node(only.node))
                {
                    node = only.node;
                }
                self.pool = Some(node);
            }
            _ => return Err(Refusal::TooLarge { span: trace.node(start).origin }),
        }
        Ok(())
    }
}

/// Whether a density reads what a node comes to, as far as is looked.
fn is_read(trace: &Trace, id: NodeId, depth: usize) -> bool {
    trace.node(id).children.iter().any(|child| {
        !is_deterministic(trace.node(child.node))
            || depth > 0 && is_read(trace, child.node, depth - 1)
    })
}
