//! Rosters: the sections of every hub, by kind, kept up to date as edges come and go.
//!
//! A new edge of a hub waits in a list until the roster is next asked for; an edge that goes
//! takes its section along at once. An edge that comes or goes *inside* a section disturbs it:
//! the edges that lead there wait again. So an edit costs O(1), and the roster's next reader
//! pays for the sections that changed.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::id::NodeId;
use crate::node::{Child, Op};
use crate::section::Standing;
use crate::section::component::{Component, Refusal, is_deterministic};
use crate::section::lanes::SectionProgram;
use crate::trace::Trace;

/// Sections that compute the same: theory 1.8 calls it the signature.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Procedures and where their arguments come from: `b` the hub, a number the node with that
    /// number in the section, `.` anything else.
    pub signature: String,
    pub nodes: usize,
    pub absorbing: usize,
    /// Edges from the hub into the section.
    pub entries: usize,
    /// Whether the hub moves the support of an absorbing choice, so that the weight may be −∞.
    pub hard: bool,
    pub(crate) walk: Walk,
}

/// The procedures of the section, from the hub on.
impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.signature.split(')').filter_map(|node| node.split('(').next());
        let names: Vec<&str> = names.map(str::trim).filter(|name| !name.is_empty()).collect();
        write!(f, "{}", names.join(" → "))
    }
}

/// How a section is walked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    /// All of it lies below one edge.
    pub single_entry: bool,
    /// In a walk down from the entry every node comes after its arguments.
    pub in_order: bool,
}

pub(crate) struct Unit {
    pub edge: Child,
    /// Which of the hub's strata, and the place there.
    stratum: u32,
    place: u32,
}

/// The sections of one kind, as places in the roster.
pub(crate) struct Stratum {
    pub kind: u32,
    pub members: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Hub {
    pub units: Vec<Unit>,
    pub strata: Vec<Stratum>,
    /// Edges to nodes that fan out in their turn.
    pub nested: FxHashMap<(NodeId, u32), NodeId>,
    /// Plates, by the edge that leads to them, through deterministic nodes or directly.
    pub plates: FxHashMap<(NodeId, u32), SmallVec<[NodeId; 1]>>,
    /// The first edge that could not be classified; the rest waits until it goes.
    refused: Option<(Child, Refusal)>,
    pending: Vec<Child>,
    /// Sections with several absorbing choices.
    pub several: usize,
    /// Whether it is nested below another hub, and what is below it no part of that one's sections.
    is_nested: bool,
}

#[derive(Default)]
pub struct Sections {
    hubs: FxHashMap<NodeId, Hub>,
    kinds: Vec<Kind>,
    by_signature: FxHashMap<String, u32>,
    /// Nodes of sections whose edges have changed.
    disturbed: Vec<NodeId>,
    component: Component,
    signature: String,
    /// Whether edges come and go that will all be as before in the end.
    pub(crate) ignores_edits: bool,
    /// Changes whenever a roster does.
    version: u64,
    fan_out: FanOut,
    /// The programs of kinds, where they have been asked for.
    programs: Vec<ProgramState>,
}

/// A program that was asked for.
#[derive(Default)]
enum ProgramState {
    #[default]
    Never,
    /// There is none.
    Impossible,
    Written(Box<SectionProgram>),
}

/// A node inside a section with at least so many children is a hub of its own.
struct FanOut(usize);

impl Default for FanOut {
    fn default() -> FanOut {
        FanOut(32)
    }
}

impl Sections {
    pub(crate) fn forget_hub(&mut self, id: NodeId) {
        self.hubs.remove(&id);
        self.version += 1;
    }

    /// Notes that the number of sections has changed.
    pub(crate) fn changed(&mut self) {
        self.version += 1;
    }

    pub(crate) fn hub(&self, id: NodeId) -> &Hub {
        &self.hubs[&id]
    }

    pub(crate) fn fan_out(&self) -> usize {
        self.fan_out.0
    }

    pub(crate) fn has_hub(&self, id: NodeId) -> bool {
        self.hubs.contains_key(&id)
    }

    /// Whether nothing waits to be classified.
    pub(crate) fn is_settled(&self, id: NodeId) -> bool {
        let hub = self.hub(id);
        hub.pending.is_empty() && hub.refused.is_none() && self.disturbed.is_empty()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether nobody has asked for the program of a kind yet.
    pub(crate) fn is_unwritten(&mut self, kind: u32) -> bool {
        let kind = kind as usize;
        if self.programs.len() <= kind {
            self.programs.resize_with(kind + 1, ProgramState::default);
        }
        matches!(self.programs[kind], ProgramState::Never)
    }

    pub(crate) fn has_program(&self, kind: u32) -> bool {
        matches!(self.programs.get(kind as usize), Some(ProgramState::Written(_)))
    }

    /// Whether the program of a kind was asked for in vain.
    pub(crate) fn has_no_program(&self, kind: u32) -> bool {
        matches!(self.programs.get(kind as usize), Some(ProgramState::Impossible))
    }

    /// Takes the program of a kind for use, if there is one.
    pub(crate) fn take_program(&mut self, kind: u32) -> Option<Box<SectionProgram>> {
        match std::mem::replace(&mut self.programs[kind as usize], ProgramState::Impossible) {
            ProgramState::Written(program) => Some(program),
            ProgramState::Never | ProgramState::Impossible => None,
        }
    }

    /// Keeps the program of a kind, or that there is none.
    pub(crate) fn keep_program(&mut self, kind: u32, program: Option<Box<SectionProgram>>) {
        self.programs[kind as usize] =
            program.map_or(ProgramState::Impossible, ProgramState::Written);
    }

    /// From now on sections of the kinds that are known are weighed node by node.
    pub(crate) fn forgo_programs(&mut self) {
        self.programs.clear();
        self.programs.resize_with(self.kinds.len(), || ProgramState::Impossible);
    }

    pub(crate) fn kind(&self, kind: u32) -> &Kind {
        &self.kinds[kind as usize]
    }
}

impl Hub {
    /// The kind of a section, as a number.
    pub fn kind_of(&self, unit: usize) -> u32 {
        self.strata[self.units[unit].stratum as usize].kind
    }

    fn add(&mut self, edge: Child, kind: u32) -> usize {
        let known = self.strata.iter().position(|stratum| stratum.kind == kind);
        let stratum = known.unwrap_or_else(|| {
            self.strata.push(Stratum { kind, members: Vec::new() });
            self.strata.len() - 1
        });
        let members = &mut self.strata[stratum].members;
        let unit = self.units.len();
        members.push(unit as u32);
        let place = members.len() as u32 - 1;
        self.units.push(Unit { edge, stratum: stratum as u32, place });
        unit
    }

    /// Takes a section out. Gives the edge whose section stands in its place now.
    fn remove(&mut self, unit: usize) -> Option<Child> {
        let Unit { stratum, place, .. } = self.units.swap_remove(unit);
        let members = &mut self.strata[stratum as usize].members;
        members.swap_remove(place as usize);
        if let Some(&moved) = members.get(place as usize) {
            // It may be the last unit, which has moved already.
            let moved = if moved as usize == self.units.len() { unit } else { moved as usize };
            self.units[moved].place = place;
        }
        let moved = self.units.get(unit)?;
        self.strata[moved.stratum as usize].members[moved.place as usize] = unit as u32;
        Some(moved.edge)
    }
}

impl Trace {
    /// Makes nodes inside sections hubs of their own from so many children on, instead of 32. Only
    /// before the first partition: small programs can then have nested sections.
    pub fn nest_from(&mut self, children: usize) {
        assert!(self.sections.hubs.is_empty(), "no roster has been made yet");
        self.sections.fan_out = FanOut(children);
    }

    // ------------------------------------------------------------ edges come and go

    #[inline]
    pub(crate) fn edge_came(&mut self, parent: NodeId, id: NodeId, slot: usize) {
        let (above, below) = (self.node(parent), self.node(id));
        if (above.is_hub || above.in_section || below.in_section) && !self.sections.ignores_edits {
            if above.is_hub {
                self.await_classification(parent, Child { node: id, slot: slot as u32 });
            }
            self.disturb(parent);
            self.disturb(id);
        }
    }

    #[inline]
    pub(crate) fn edge_goes(&mut self, parent: NodeId, id: NodeId, slot: usize) {
        let (above, below) = (self.node(parent), self.node(id));
        if (above.is_hub || above.in_section || below.in_section) && !self.sections.ignores_edits {
            self.forget_standing(Child { node: id, slot: slot as u32 });
            self.disturb(parent);
            self.disturb(id);
        }
    }

    fn disturb(&mut self, id: NodeId) {
        if std::mem::take(&mut self.node_mut(id).in_section) {
            self.sections.disturbed.push(id);
        }
    }

    fn await_classification(&mut self, hub: NodeId, edge: Child) {
        self.sections.version += 1;
        let children = self.node(hub).children.len();
        let Some(hub_) = self.sections.hubs.get_mut(&hub) else { return };
        hub_.pending.push(edge);
        // Edges that have gone again are thrown out when there are as many as edges at all.
        if hub_.pending.len() > 2 * children + 64 {
            let mut pending = std::mem::take(&mut hub_.pending);
            pending.retain(|edge| self.waits(hub, *edge));
            pending.sort_unstable_by_key(|edge| (edge.node, edge.slot));
            pending.dedup();
            if let Some(hub_) = self.sections.hubs.get_mut(&hub) {
                hub_.pending = pending;
            }
        }
    }

    /// Whether it is an edge of the hub that has not been classified.
    fn waits(&self, hub: NodeId, edge: Child) -> bool {
        let node = self.node(edge.node);
        node.is_live()
            && node.args.get(edge.slot as usize).is_some_and(|arg| {
                arg.operand.node() == Some(hub) && arg.standing == Standing::UNKNOWN
            })
    }

    /// Takes an edge out of its hub's roster.
    fn forget_standing(&mut self, edge: Child) {
        let arg = &mut self.node_mut(edge.node).args[edge.slot as usize];
        let standing = std::mem::replace(&mut arg.standing, Standing::UNKNOWN);
        let Some(parent) = arg.operand.node() else { return };
        if !standing.is_known() {
            return;
        }
        self.sections.version += 1;
        let Sections { hubs, kinds, .. } = &mut self.sections;
        let hub = hubs.get_mut(&parent).expect("an edge with a standing comes from a hub");
        if !hub.plates.is_empty() {
            hub.plates.remove(&(edge.node, edge.slot));
        }
        if let Some(unit) = standing.as_unit() {
            hub.several -= usize::from(kinds[hub.kind_of(unit) as usize].absorbing > 1);
            if let Some(moved) = hub.remove(unit) {
                let arg = &mut self.nodes[moved.node.index()].args[moved.slot as usize];
                arg.standing = Standing::unit(unit);
            }
        } else if standing == Standing::NESTED {
            hub.nested.remove(&(edge.node, edge.slot));
        } else if standing == Standing::REFUSED {
            hub.refused = None;
        }
    }

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
        let mut component = std::mem::take(&mut self.sections.component);
        component.forget_clean();
        let result = self.classify_pending(id, &mut component);
        self.sections.component = component;
        result
    }

    /// Gives a node a roster, with everything still to be classified.
    fn make_hub(&mut self, id: NodeId) {
        if !std::mem::replace(&mut self.node_mut(id).is_hub, true) {
            let pending: Vec<Child> = self.node(id).children.iter().rev().copied().collect();
            self.sections.hubs.insert(id, Hub { pending, ..Hub::default() });
            self.sections.version += 1;
        }
    }

    fn classify_pending(&mut self, id: NodeId, component: &mut Component) -> Result<(), Refusal> {
        loop {
            let hub = self.sections.hubs.get_mut(&id).expect("registered by the caller");
            if let Some((_, refusal)) = &hub.refused {
                return Err(refusal.clone());
            }
            let Some(edge) = hub.pending.pop() else { return Ok(()) };
            if self.waits(id, edge) {
                self.classify_edge(id, edge, component);
            }
        }
    }

    fn classify_edge(&mut self, id: NodeId, edge: Child, component: &mut Component) {
        self.sections.version += 1;
        if matches!(self.node(edge.node).op, Op::Plate(_)) {
            self.set_standing(edge, Standing::PLATE);
            let hub = self.sections.hubs.get_mut(&id).expect("registered by the caller");
            hub.plates.insert((edge.node, edge.slot), SmallVec::from_iter([edge.node]));
            return;
        }
        if let Err(refusal) = component.explore(self, edge.node, &|node| node == id) {
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
                let kind = self.kind_of(component, id);
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
    fn kind_of(&mut self, component: &Component, hub: NodeId) -> u32 {
        let mut signature = std::mem::take(&mut self.sections.signature);
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
        let known = self.sections.by_signature.get(&signature).copied();
        let kind = known.unwrap_or_else(|| {
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
        });
        self.sections.signature = signature;
        kind
    }
}
