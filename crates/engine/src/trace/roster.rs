//! Rosters: the sections of every hub, by kind, kept up to date as edges come and go.
//!
//! A new edge of a hub waits in a list until the roster is next asked for; an edge that goes
//! takes its section along at once. An edge that comes or goes *inside* a section disturbs it:
//! the edges that lead there wait again. So an edit costs O(1), and the roster's next reader
//! pays for the sections that changed.
//!
//! This is what edges leave behind when they come and go; what they lead to is found by [`crate::section`].

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_lang::Span;
use smidgen_value::bytes::{Bytes, Input};

use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::node::Child;

/// Why a change cannot be decided by sections.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Fewer than two sections depend on the block.
    NoBorder,
    /// The change may decide what exists.
    Structure { what: String, span: Span },
    /// The change would redraw a choice inside a section.
    Randomness { what: String, span: Span },
    /// A principal is drawn from a procedure whose draws depend on each other.
    Coupled { span: Span },
    /// A function that the block changes may stop, and no density reads what it comes to.
    MayStop { what: String, span: Span },
    /// The dependent choices do not fall apart into small sections.
    TooLarge { span: Span },
    /// The principals of the block depend on each other through more than themselves.
    Entangled { span: Span },
}

impl Bytes for Refusal {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Refusal::NoBorder => out.push(0),
            Refusal::Structure { what, span } => {
                out.push(1);
                what.put(out);
                span.put(out);
            }
            Refusal::Randomness { what, span } => {
                out.push(2);
                what.put(out);
                span.put(out);
            }
            Refusal::Coupled { span } => {
                out.push(3);
                span.put(out);
            }
            Refusal::TooLarge { span } => {
                out.push(4);
                span.put(out);
            }
            Refusal::Entangled { span } => {
                out.push(5);
                span.put(out);
            }
            Refusal::MayStop { what, span } => {
                out.push(6);
                what.put(out);
                span.put(out);
            }
        }
    }

    fn take(from: &mut Input<'_>) -> Option<Refusal> {
        Some(match u8::take(from)? {
            0 => Refusal::NoBorder,
            1 => Refusal::Structure { what: Bytes::take(from)?, span: Bytes::take(from)? },
            2 => Refusal::Randomness { what: Bytes::take(from)?, span: Bytes::take(from)? },
            3 => Refusal::Coupled { span: Bytes::take(from)? },
            4 => Refusal::TooLarge { span: Bytes::take(from)? },
            5 => Refusal::Entangled { span: Bytes::take(from)? },
            6 => Refusal::MayStop { what: Bytes::take(from)?, span: Bytes::take(from)? },
            _ => return None,
        })
    }
}

impl Refusal {
    pub fn span(&self) -> Option<Span> {
        match self {
            Refusal::NoBorder => None,
            Refusal::Structure { span, .. }
            | Refusal::Randomness { span, .. }
            | Refusal::MayStop { span, .. }
            | Refusal::Coupled { span }
            | Refusal::TooLarge { span }
            | Refusal::Entangled { span } => Some(*span),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::NoBorder => write!(f, "fewer than two sections depend on the block"),
            Refusal::Structure { what, .. } => {
                write!(f, "the block decides what exists, through `{what}`")
            }
            Refusal::Randomness { what, .. } => {
                write!(f, "a change would redraw `{what}` in a section")
            }
            Refusal::MayStop { what, .. } => {
                write!(f, "`{what}` may stop with an error though no observation reads it")
            }
            Refusal::Coupled { .. } => {
                write!(
                    f,
                    "the choice is drawn from a made procedure, whose draws depend on each other"
                )
            }
            Refusal::TooLarge { .. } => {
                write!(f, "what depends on the block does not fall apart into small sections")
            }
            Refusal::Entangled { .. } => {
                write!(f, "the choices of the block depend on each other through other values")
            }
        }
    }
}

/// What an edge is to the hub that it comes from: the place of a section in the hub's roster, or
/// one of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing(u32);

impl Standing {
    /// Not classified (or the parent is no hub).
    pub const UNKNOWN: Standing = Standing(u32::MAX);
    pub const FOLLOWER: Standing = Standing(u32::MAX - 1);
    pub const IDLE: Standing = Standing(u32::MAX - 2);
    pub const NESTED: Standing = Standing(u32::MAX - 3);
    pub const REFUSED: Standing = Standing(u32::MAX - 4);
    pub const PLATE: Standing = Standing(u32::MAX - 5);

    pub fn unit(place: usize) -> Standing {
        Standing(place as u32)
    }

    pub fn as_unit(self) -> Option<usize> {
        (self.0 < Standing::PLATE.0).then_some(self.0 as usize)
    }

    pub fn is_known(self) -> bool {
        self != Standing::UNKNOWN
    }
}

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
    pub(crate) refused: Option<(Child, Refusal)>,
    pub(crate) pending: Vec<Child>,
    /// Sections with several absorbing choices.
    pub several: usize,
    /// Whether it is nested below another hub, and what is below it no part of that one's sections.
    pub(crate) is_nested: bool,
    /// No other hub of this trace, past or present, has it.
    stamp: u64,
    changes: Option<Changes>,
}

/// What has happened to the units of a hub, for those who keep something about each of them.
#[derive(Default)]
struct Changes {
    /// The number of the first of these among all.
    first: u64,
    list: Vec<Change>,
}

/// A section has come, behind all others; or the one at this place has gone, and the last one has taken its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Came,
    Went(u32),
}

/// Changes that nobody has asked for are thrown away when they are so many, besides twice the units there are: who comes
/// later looks at all units, which costs less.
const MOST_CHANGES: usize = 1024;

impl Changes {
    fn note(&mut self, change: Change, units: usize) {
        if self.list.len() >= MOST_CHANGES + 2 * units {
            self.first += self.list.len() as u64;
            self.list.clear();
        }
        self.list.push(change);
    }

    fn next(&self) -> u64 {
        self.first + self.list.len() as u64
    }
}

#[derive(Default)]
pub struct Sections {
    pub(crate) hubs: FxHashMap<NodeId, Hub>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) by_signature: FxHashMap<String, u32>,
    /// Nodes of sections whose edges have changed.
    pub(crate) disturbed: Vec<NodeId>,
    /// Whether edges come and go that will all be as before in the end.
    pub(crate) ignores_edits: bool,
    /// Changes whenever a roster does.
    pub(crate) version: u64,
    /// Rosters that were made so far.
    made: u64,
    fan_out: FanOut,
}

/// A node inside a section with at least so many children is a hub of its own.
struct FanOut(usize);

impl Default for FanOut {
    fn default() -> FanOut {
        FanOut(32)
    }
}

impl Sections {
    /// A roster in which everything waits to be classified.
    pub(crate) fn begin_hub(&mut self, id: NodeId, pending: Vec<Child>) {
        self.made += 1;
        self.hubs.insert(id, Hub { pending, stamp: self.made, ..Hub::default() });
        self.version += 1;
    }

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

    pub(crate) fn kind(&self, kind: u32) -> &Kind {
        &self.kinds[kind as usize]
    }
}

impl Hub {
    /// The kind of a section, as a number.
    pub fn kind_of(&self, unit: usize) -> u32 {
        self.strata[self.units[unit].stratum as usize].kind
    }

    /// From now on changes are noted. What tells this hub from others, and the number of the next change.
    pub(crate) fn follow(&mut self) -> (u64, u64) {
        (self.stamp, self.changes.get_or_insert_default().next())
    }

    /// What has changed since a change of this number was the next one. None if that is not known: it is another hub, or
    /// there were too many.
    pub(crate) fn changes_since(&self, (stamp, next): (u64, u64)) -> Option<&[Change]> {
        let changes = self.changes.as_ref().filter(|_| stamp == self.stamp)?;
        changes.list.get(next.checked_sub(changes.first)? as usize..)
    }

    fn note(&mut self, change: Change) {
        let units = self.units.len();
        if let Some(changes) = &mut self.changes {
            changes.note(change, units);
        }
    }

    pub(crate) fn add(&mut self, edge: Child, kind: u32) -> usize {
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
        self.note(Change::Came);
        unit
    }

    /// Takes a section out. Gives the edge whose section stands in its place now.
    pub(crate) fn remove(&mut self, unit: usize) -> Option<Child> {
        let Unit { stratum, place, .. } = self.units.swap_remove(unit);
        self.note(Change::Went(unit as u32));
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

    /// What is known of the section that a node belongs to does not count any more: edges have come or gone, or another
    /// value is observed.
    pub(crate) fn disturb(&mut self, id: NodeId) {
        if std::mem::take(&mut self.node_mut(id).in_section) {
            self.sections.disturbed.push(id);
        }
    }

    pub(crate) fn await_classification(&mut self, hub: NodeId, edge: Child) {
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
    pub(crate) fn waits(&self, hub: NodeId, edge: Child) -> bool {
        let node = self.node(edge.node);
        node.is_live()
            && node.args.get(edge.slot as usize).is_some_and(|arg| {
                arg.operand.node() == Some(hub) && arg.standing == Standing::UNKNOWN
            })
    }

    /// Takes an edge out of its hub's roster.
    pub(crate) fn forget_standing(&mut self, edge: Child) {
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
}
