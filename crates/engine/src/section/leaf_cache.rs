//! Where the leaves of sections stand, kept from one time to the next.
//!
//! To find the leaves of a section its nodes are gathered and the arguments of arguments followed, which
//! costs more than weighing it. What was found holds as long as the edges of all nodes on the way
//! are as they were: every node knows when they last changed (`Trace::edges_at`), so nothing has
//! to be told to what is kept here. Values are read when they are needed.
//!
//! What is read every time, which section stands at a place and which nodes its leaves are, lies in columns of words, which
//! are read one after the other for many sections; the rest, which is asked for when edges have changed or a leaf is no value
//! of a node, lies apart.
//!
//! The room is bounded, and what comes later takes the place of what was there: an edit of the model costs the
//! same whatever its size. Of a population that is larger nothing is kept; its sections are
//! seldom read twice.

use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::wide::Wide;
use crate::trace::Trace;
use crate::trace::fault::Fault;

/// Where a leaf of one section stands. All share one form, because a branch for each of them would
/// seldom be foreseen.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    /// The node whose value it is, or of which it is an argument; [`NodeId::NONE`] for a number.
    pub node: NodeId,
    pub reading: Reading,
    pub number: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A number, which is the same for ever, or the value of a choice.
    Plain,
    /// A value that follows from others, and may be stale.
    Derived,
    /// A constant of another form: an argument of the node.
    Constant(u32),
}

impl Origin {
    pub(super) fn number(number: f64) -> Origin {
        Origin { node: NodeId::NONE, reading: Reading::Plain, number }
    }

    pub(super) fn at(node: NodeId, reading: Reading) -> Origin {
        Origin { node, reading, number: f64::NAN }
    }
}

/// Sections that are kept at first and at most, as powers of two.
const FEWEST: u32 = 6;
const MOST: u32 = 14;

/// Populations up to this are kept.
pub(super) const LARGEST: usize = 1 << MOST;

/// Where a leaf stands, in one word: a node whose value is read, the same with this bit for one that may be
/// stale, or this one for whatever its [`Origin`] says.
const DERIVED: u32 = 1 << 30;
const ELSEWHERE: u32 = 1 << 31;

fn word_of(origin: &Origin) -> u32 {
    match origin.reading {
        _ if origin.node.0 >= DERIVED => ELSEWHERE,
        Reading::Plain => origin.node.0,
        Reading::Derived => origin.node.0 | DERIVED,
        Reading::Constant(_) => ELSEWHERE,
    }
}

/// What is known of a leaf in all sections that were ever kept.
#[derive(Clone, Copy)]
struct Survey {
    /// The word of the first of them, and whether all others have the same.
    word: u32,
    is_same: bool,
    /// All words, or-ed together.
    any: u32,
}

/// One of two numbers, without a branch.
#[inline(always)]
fn choose(is_first: bool, first: f64, second: f64) -> f64 {
    let mask = u64::from(is_first).wrapping_neg();
    f64::from_bits(first.to_bits() & mask | second.to_bits() & !mask)
}

/// What tells whether a section is kept at a place, and holds.
#[derive(Clone, Copy)]
struct Head {
    /// The node that it begins with; [`NodeId::NONE`] where there is none.
    entry: NodeId,
    /// The generation in which it was known to hold.
    generation: u32,
}

/// Where the leaves of all sections of a hub stand, in the order of its roster: there a unit's number is its place, and
/// nothing has to be looked for. It is written once as many sections have been asked for as there are, so it costs
/// no more than they did.
#[derive(Default)]
struct InOrder {
    /// The hub, the generation and the version of the rosters that it holds for.
    stamp: Option<(NodeId, u32, u64)>,
    is_written: bool,
    /// Sections that were asked for since, and how many it takes until it is written.
    asked: usize,
    due: usize,
    words: Vec<u32>,
    constants: Vec<f64>,
}

/// Whether places are those of sections that were kept, or numbers of units.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    Kept,
    InOrder,
}

/// What is kept about the sections of one program.
#[derive(Default)]
pub(super) struct LeafCache {
    /// The size as a power of two.
    bits: u32,
    filled: usize,
    heads: Vec<Head>,
    /// Where the leaves stand, one leaf after the other, each by place.
    words: Vec<u32>,
    /// From 1 on, another one after edits of edges.
    generation: u32,
    edge_edits: u64,
    /// By place: the number of edits of edges up to which what is kept is known to hold.
    held_at: Vec<u64>,
    nodes: Vec<NodeId>,
    origins: Vec<Origin>,
    /// The numbers of origins that are no nodes, else NaN; where their words are.
    constants: Vec<f64>,
    /// Nodes and leaves of each.
    each: (usize, usize),
    /// By leaf.
    surveys: Vec<Survey>,
    order: InOrder,
}

/// A section in the making: all nodes on the way to its leaves, and the leaves.
#[derive(Default)]
pub(super) struct Draft {
    pub nodes: Vec<NodeId>,
    pub origins: Vec<Origin>,
}

impl Draft {
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.origins.clear();
    }
}

impl LeafCache {
    fn with_room(bits: u32, each: (usize, usize)) -> LeafCache {
        let size = 1 << bits;
        LeafCache {
            bits,
            heads: vec![Head { entry: NodeId::NONE, generation: 0 }; size],
            words: vec![0; size * each.1],
            held_at: vec![0; size],
            nodes: vec![NodeId(0); size * each.0],
            origins: vec![Origin::number(0.0); size * each.1],
            constants: vec![f64::NAN; size * each.1],
            each,
            ..LeafCache::default()
        }
    }

    /// The place of a section: the high bits of a product with 2^64 over the golden ratio.
    #[inline]
    fn place(&self, entry: NodeId) -> usize {
        let spread = (entry.index() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (spread >> (64 - self.bits)) as usize
    }

    /// Before sections are looked for.
    pub(super) fn begin(&mut self, trace: &Trace) {
        if self.edge_edits != trace.edge_edits {
            if self.generation == u32::MAX {
                *self = LeafCache::default();
            }
            self.edge_edits = trace.edge_edits;
            self.generation += 1;
        }
    }

    /// The places of what is kept about the sections of these units of a hub; lanes whose leaves may be elsewhere by now are
    /// `missing`.
    pub(super) fn find_all(
        &mut self,
        trace: &Trace,
        (hub, numbers): (NodeId, &[u32]),
        places: &mut [u32],
        missing: &mut Vec<usize>,
    ) {
        if self.heads.is_empty() {
            return missing.extend(0..numbers.len());
        }
        // Mostly all are as they were: without branches, and nothing is looked at twice.
        let (heads, units) = (&self.heads[..], &trace.sections.hub(hub).units[..]);
        let mut differs = 0;
        for (place, number) in places.iter_mut().zip(numbers) {
            let node = units[*number as usize].edge.node;
            let found = self.place(node);
            let Head { entry, generation } = heads[found];
            differs |= (entry.0 ^ node.0) | (generation ^ self.generation);
            *place = found as u32;
        }
        if differs != 0 {
            for (lane, number) in numbers.iter().enumerate() {
                if !self.is_kept(trace, units[*number as usize].edge.node) {
                    places[lane] = 0;
                    missing.push(lane);
                }
            }
        }
    }

    /// Whether places may be numbers of units of this hub, of which so many are asked for now.
    pub(super) fn stand_in_order(&mut self, trace: &Trace, hub: NodeId, asked: usize) -> bool {
        let stamp = Some((hub, self.generation, trace.sections.version()));
        if self.order.stamp != stamp
            && !(self.order.is_written && trace.has_fault(Fault::KeptOrder))
        {
            let InOrder { words, constants, .. } = std::mem::take(&mut self.order);
            let due = trace.sections.hub(hub).units.len();
            self.order = InOrder { stamp, due, words, constants, ..InOrder::default() };
        }
        if !self.order.is_written {
            self.order.asked += asked;
            if self.order.asked > self.order.due {
                self.order.due = 2 * self.order.asked;
                self.order.is_written = self.write_in_order(trace, hub);
            }
        }
        self.order.is_written
    }

    /// False if the leaves of some section are not kept.
    fn write_in_order(&mut self, trace: &Trace, hub: NodeId) -> bool {
        if self.heads.is_empty() {
            return false;
        }
        let units = &trace.sections.hub(hub).units;
        let (leaves, size) = (self.each.1, self.heads.len());
        self.order.words.resize(leaves * units.len(), 0);
        self.order.constants.resize(leaves * units.len(), f64::NAN);
        for (number, unit) in units.iter().enumerate() {
            if !self.is_kept(trace, unit.edge.node) {
                return false;
            }
            let place = self.place(unit.edge.node);
            for leaf in 0..leaves {
                let (to, from) = (leaf * units.len() + number, leaf * size + place);
                self.order.words[to] = self.words[from];
                self.order.constants[to] = self.constants[from];
            }
        }
        true
    }

    /// Words and constants of a leaf, by place.
    fn column(&self, leaf: usize, places: Places) -> (&[u32], &[f64]) {
        let (words, constants) = match places {
            Places::Kept => (&self.words, &self.constants),
            Places::InOrder => (&self.order.words, &self.order.constants),
        };
        let size = words.len() / self.each.1;
        let column = leaf * size..(leaf + 1) * size;
        (&words[column.clone()], &constants[column])
    }

    /// Whether the leaves of a section are kept, and still where they were.
    fn is_kept(&mut self, trace: &Trace, node: NodeId) -> bool {
        let place = self.place(node);
        let Head { entry, generation } = self.heads[place];
        entry == node && (generation == self.generation || self.holds(trace, place))
    }

    #[inline(never)]
    fn holds(&mut self, trace: &Trace, place: usize) -> bool {
        let nodes = self.each.0;
        let on_the_way = &self.nodes[place * nodes..(place + 1) * nodes];
        let last = on_the_way.iter().fold(0, |last, id| trace.edges_at(*id).max(last));
        let holds = last <= self.held_at[place];
        if holds {
            self.held_at[place] = trace.edge_edits;
            self.heads[place].generation = self.generation;
        }
        holds
    }

    /// A leaf of the sections at these places, NaN for one that is no number. Whether there is none of those.
    /// Without branches that depend on the section: they would seldom be foreseen.
    pub(super) fn numbers(
        &self,
        trace: &mut Trace,
        leaf: usize,
        (which, places): (Places, &[u32]),
        out: &mut [f64],
        wide: Wide,
    ) -> Result<bool, EvalError> {
        if self.heads.is_empty() {
            out.fill(f64::NAN);
            return Ok(out.is_empty());
        }
        let (words, constants) = self.column(leaf, which);
        let Survey { word, is_same, any } = self.surveys[leaf];
        if is_same && word & ELSEWHERE == 0 {
            // One node for all.
            let node = NodeId(word & !DERIVED);
            if word & DERIVED != 0 {
                trace.refresh(node)?;
            }
            let number = trace.numbers[node.index()];
            out.fill(number);
            return Ok(!number.is_nan());
        }
        if any & (DERIVED | ELSEWHERE) == 0 {
            // A choice of each.
            let numbers = &trace.numbers[..];
            for (place, out) in places.iter().zip(&mut *out) {
                *out = numbers[words[*place as usize] as usize];
            }
        } else if any & DERIVED == 0 {
            // A choice of each, or a constant.
            let numbers = &trace.numbers[..];
            for (place, out) in places.iter().zip(&mut *out) {
                let (word, constant) = (words[*place as usize], constants[*place as usize]);
                let number = numbers[(word & !ELSEWHERE) as usize];
                *out = choose(word & ELSEWHERE != 0, constant, number);
            }
        } else {
            // Mostly one node for many.
            let mut last = (ELSEWHERE, f64::NAN);
            for (place, out) in places.iter().zip(&mut *out) {
                let word = words[*place as usize];
                *out = match word & (DERIVED | ELSEWHERE) {
                    0 => trace.numbers[word as usize],
                    ELSEWHERE => constants[*place as usize],
                    _ => {
                        if word != last.0 {
                            let node = NodeId(word & !DERIVED);
                            trace.refresh(node)?;
                            last = (word, trace.numbers[node.index()]);
                        }
                        last.1
                    }
                };
            }
        }
        Ok(!wide.holds_nan(out))
    }

    /// Where a leaf of the section at a place stands.
    pub(super) fn origin(
        &self,
        trace: &Trace,
        (which, place): (Places, u32),
        leaf: usize,
    ) -> &Origin {
        let kept = match which {
            Places::Kept => place as usize,
            Places::InOrder => {
                let (hub, ..) = self.order.stamp.expect("the order of a hub");
                self.place(trace.sections.hub(hub).units[place as usize].edge.node)
            }
        };
        &self.origins[kept * self.each.1 + leaf]
    }

    /// Keeps what was just found. All sections of a program have as many nodes and leaves.
    pub(super) fn keep(&mut self, trace: &Trace, entry: NodeId, draft: &Draft) {
        if self.held_at.is_empty() {
            *self = LeafCache::with_room(FEWEST, (draft.nodes.len(), draft.origins.len()));
        } else if 2 * self.filled > self.held_at.len() && self.bits < MOST {
            let smaller = std::mem::take(self);
            *self = LeafCache::with_room(smaller.bits + 2, smaller.each);
            for (place, held_at) in smaller.held_at.iter().enumerate() {
                let (nodes, origins) = smaller.each;
                let entry = smaller.heads[place].entry;
                if entry != NodeId::NONE {
                    let nodes = &smaller.nodes[place * nodes..(place + 1) * nodes];
                    let origins = &smaller.origins[place * origins..(place + 1) * origins];
                    self.put((entry, *held_at), nodes, origins);
                }
            }
        }
        self.put((entry, trace.edge_edits), &draft.nodes, &draft.origins);
    }

    fn put(&mut self, (entry, held_at): (NodeId, u64), nodes: &[NodeId], origins: &[Origin]) {
        let place = self.place(entry);
        // What stood here is gone.
        (self.order.is_written, self.order.asked) = (false, 0);
        self.filled += usize::from(self.heads[place].entry == NodeId::NONE);
        // Not of this generation: it is looked at before it is used.
        self.heads[place] = Head { entry, generation: 0 };
        if self.surveys.is_empty() {
            let survey = |origin| Survey { word: word_of(origin), is_same: true, any: 0 };
            self.surveys.extend(origins.iter().map(survey));
        }
        for (leaf, (origin, survey)) in origins.iter().zip(&mut self.surveys).enumerate() {
            let (word, at) = (word_of(origin), leaf * self.heads.len() + place);
            survey.is_same &= word == survey.word;
            survey.any |= word;
            (self.words[at], self.constants[at]) = (word, origin.number);
        }
        self.held_at[place] = held_at;
        self.nodes[place * nodes.len()..(place + 1) * nodes.len()].copy_from_slice(nodes);
        self.origins[place * origins.len()..][..origins.len()].copy_from_slice(origins);
    }
}
