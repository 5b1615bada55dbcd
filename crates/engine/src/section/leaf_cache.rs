//! Where the leaves of sections stand, kept from one time to the next.
//!
//! To find the leaves of a section its nodes are gathered and the arguments of arguments followed, which
//! costs more than weighing it. What was found holds as long as the edges of all nodes on the way
//! are as they were: every node knows when they last changed (`Trace::edges_at`), so nothing has
//! to be told to what is kept here. Values are read when they are needed.
//!
//! What is read every time, which section stands at a place and which nodes its leaves are, lies together
//! in a few words; the rest, which is asked for when edges have changed or a leaf is no value of a
//! node, lies apart.
//!
//! The room is bounded, and what comes later takes the place of what was there: an edit of the model costs the
//! same whatever its size. Of a population that is larger nothing is kept; its sections are
//! seldom read twice.

use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;

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

/// Words of a section before those of its leaves: the node that it begins with ([`NodeId::NONE`] where there
/// is none), and the generation in which it was known to hold.
const HEAD: usize = 2;

/// What is kept about the sections of one program.
#[derive(Default)]
pub(super) struct LeafCache {
    /// The size as a power of two.
    bits: u32,
    filled: usize,
    words: Vec<u32>,
    /// From 1 on, another one after edits of edges.
    generation: u32,
    edge_edits: u64,
    /// By place: the number of edits of edges up to which what is kept is known to hold.
    held_at: Vec<u64>,
    nodes: Vec<NodeId>,
    origins: Vec<Origin>,
    /// The numbers of origins that are no nodes, else NaN.
    constants: Vec<f64>,
    /// Nodes and leaves of each.
    each: (usize, usize),
    /// By leaf.
    surveys: Vec<Survey>,
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
        let mut words = vec![0; size * (HEAD + each.1)];
        words.iter_mut().step_by(HEAD + each.1).for_each(|entry| *entry = NodeId::NONE.0);
        LeafCache {
            bits,
            words,
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

    /// The place of what is kept about a section, if its leaves are still where they were.
    #[inline]
    pub(super) fn find(&mut self, trace: &Trace, entry: NodeId) -> Option<usize> {
        if self.held_at.is_empty() {
            return None;
        }
        let place = self.place(entry);
        let at = place * (HEAD + self.each.1);
        let &[known, generation] = self.words[at..].first_chunk()?;
        if known != entry.0 {
            return None;
        }
        (generation == self.generation || self.holds(trace, place)).then_some(place)
    }

    #[inline(never)]
    fn holds(&mut self, trace: &Trace, place: usize) -> bool {
        let nodes = self.each.0;
        let on_the_way = &self.nodes[place * nodes..(place + 1) * nodes];
        let last = on_the_way.iter().fold(0, |last, id| trace.edges_at(*id).max(last));
        let holds = last <= self.held_at[place];
        if holds {
            self.held_at[place] = trace.edge_edits;
            self.words[place * (HEAD + self.each.1) + 1] = self.generation;
        }
        holds
    }

    /// A leaf of the sections at these places, NaN for one that is no number. Whether there is none of those.
    /// Without branches that depend on the section: they would seldom be foreseen.
    pub(super) fn numbers(
        &self,
        trace: &mut Trace,
        leaf: usize,
        places: &[u32],
        out: &mut [f64],
    ) -> Result<bool, EvalError> {
        if self.words.is_empty() {
            out.fill(f64::NAN);
            return Ok(out.is_empty());
        }
        let (_, leaves) = self.each;
        let (words, constants) = (&self.words[HEAD + leaf..], &self.constants[leaf..]);
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
        if any & DERIVED == 0 {
            // A choice of each, or a constant.
            let numbers = &trace.numbers[..];
            for (place, out) in places.iter().zip(&mut *out) {
                let place = *place as usize;
                let word = words[place * (HEAD + leaves)];
                let number = numbers[(word & !ELSEWHERE) as usize];
                *out = match any & ELSEWHERE {
                    0 => number,
                    _ => [number, constants[place * leaves]][(word >> 31) as usize],
                };
            }
        } else {
            // Mostly one node for many.
            let mut last = (ELSEWHERE, f64::NAN);
            for (place, out) in places.iter().zip(&mut *out) {
                let place = *place as usize;
                let word = words[place * (HEAD + leaves)];
                *out = match word & (DERIVED | ELSEWHERE) {
                    0 => trace.numbers[word as usize],
                    ELSEWHERE => constants[place * leaves],
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
        Ok(out.iter().map(|x| u32::from(x.is_nan())).sum::<u32>() == 0)
    }

    /// Where a leaf of the section at a place stands.
    #[inline]
    pub(super) fn origin(&self, place: usize, leaf: usize) -> &Origin {
        &self.origins[place * self.each.1 + leaf]
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
                let entry = NodeId(smaller.words[place * (HEAD + origins)]);
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
        let stride = HEAD + origins.len();
        let words = &mut self.words[place * stride..(place + 1) * stride];
        self.filled += usize::from(words[0] == NodeId::NONE.0);
        // Not of this generation: it is looked at before it is used.
        (words[0], words[1]) = (entry.0, 0);
        if self.surveys.is_empty() {
            let survey = |origin| Survey { word: word_of(origin), is_same: true, any: 0 };
            self.surveys.extend(origins.iter().map(survey));
        }
        for ((word, origin), survey) in words[HEAD..].iter_mut().zip(origins).zip(&mut self.surveys)
        {
            *word = word_of(origin);
            survey.is_same &= *word == survey.word;
            survey.any |= *word;
        }
        self.held_at[place] = held_at;
        self.nodes[place * nodes.len()..(place + 1) * nodes.len()].copy_from_slice(nodes);
        let leaves = place * origins.len()..(place + 1) * origins.len();
        for (constant, origin) in self.constants[leaves.clone()].iter_mut().zip(origins) {
            *constant = origin.number;
        }
        self.origins[leaves].copy_from_slice(origins);
    }
}
