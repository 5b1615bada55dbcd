//! Chains among choices: each reads, through deterministic nodes, the one before, and at most some of
//! those that this one reads too (a chain of the second order). What many read (a discrete parameter) is
//! no part of a chain and does not hinder it; nor does a choice that decides what exists, or what is
//! outside the set. O(nodes above and deterministic nodes below the choices).
//!
//! Choices that do no more than select among branches make chains too ([`Trace::selecting_chains`]). What they
//! read is then what any branch reads, not what the branches read that run now: which chains there are must
//! not hang on the values of their choices.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::formula::Selects;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::node::Op;
use crate::trace::scaffold::Scaffold;

/// The choices of the set that a node hangs on, each once; none if there are many.
type Above = Option<SmallVec<[NodeId; 4]>>;

const MANY: usize = 8;

struct Search<'a> {
    trace: &'a Trace,
    among: FxHashSet<NodeId>,
    selects: &'a Selects,
    known: FxHashMap<NodeId, Above>,
}

impl Search<'_> {
    fn above(&mut self, id: NodeId) -> Above {
        let mut found = SmallVec::new();
        for parent in self.selects.parents(self.trace, id) {
            for choice in self.through(parent)? {
                if !found.contains(&choice) {
                    found.push(choice);
                }
            }
        }
        (found.len() <= MANY).then_some(found)
    }

    fn through(&mut self, id: NodeId) -> Above {
        if self.among.contains(&id) {
            return Some(SmallVec::from_slice(&[id]));
        }
        if !matches!(self.trace.node(id).op, Op::Function(_) | Op::Structure(_)) {
            return Some(SmallVec::new());
        }
        if let Some(above) = self.known.get(&id) {
            return above.clone();
        }
        let above = stacker::maybe_grow(64 << 10, 1 << 20, || self.above(id));
        self.known.insert(id, above.clone());
        above
    }
}

/// Whether nodes lead, through deterministic ones, to something whose structure they decide.
struct Decisions<'a> {
    trace: &'a Trace,
    known: FxHashMap<NodeId, bool>,
}

impl Decisions<'_> {
    fn decides(&mut self, id: NodeId) -> bool {
        let trace = self.trace;
        trace.node(id).children.iter().any(|child| {
            trace.node(child.node).is_existential(child.slot) || self.passes_on(child.node)
        })
    }

    fn passes_on(&mut self, id: NodeId) -> bool {
        if !matches!(self.trace.node(id).op, Op::Function(_) | Op::Structure(_)) {
            return false;
        }
        if let Some(decides) = self.known.get(&id) {
            return *decides;
        }
        let decides = stacker::maybe_grow(64 << 10, 1 << 20, || self.decides(id));
        self.known.insert(id, decides);
        decides
    }
}

/// The choices among these that lead, through deterministic nodes, to what decides on some structures.
fn deciders(
    trace: &Trace,
    among: &FxHashSet<NodeId>,
    selects: &Selects,
    structures: &[NodeId],
) -> FxHashSet<NodeId> {
    let (mut found, mut seen) = (FxHashSet::default(), FxHashSet::default());
    let existential = structures.iter().flat_map(|id| {
        let args = &trace.node(*id).args;
        args[..args.len() - 1].iter().filter_map(|arg| arg.operand.node())
    });
    let mut work: Vec<NodeId> = existential.collect();
    while let Some(id) = work.pop() {
        if among.contains(&id) {
            found.insert(id);
        } else if seen.insert(id) && matches!(trace.node(id).op, Op::Function(_) | Op::Structure(_))
        {
            work.extend(selects.parents(trace, id));
        }
    }
    found
}

impl Trace {
    /// The chains among these choices, of `least` choices or more, first to last; in the order of
    /// their first choices. Choices that more than `readers` of them read are no part of a chain: with one
    /// reader, each hangs on the one before alone. Nor are choices that decide what exists.
    pub fn chains(&self, choices: &[NodeId], least: usize, readers: usize) -> Vec<Vec<NodeId>> {
        let mut decisions = Decisions { trace: self, known: FxHashMap::default() };
        let choices: Vec<NodeId> =
            choices.iter().copied().filter(|id| !decisions.decides(*id)).collect();
        self.chains_of(&choices, least, readers, &Selects::default())
    }

    /// The same, of one reader, with choices that do no more than select. A choice that decides more is
    /// left out, and the others are looked at again as if it were outside the set.
    pub fn selecting_chains(&mut self, choices: &[NodeId], least: usize) -> Vec<Vec<NodeId>> {
        let mut scaffold = Scaffold::new();
        let mut choices = choices.to_vec();
        loop {
            scaffold.build(self, &choices);
            let (selects, deciding) = Selects::find(self, &scaffold);
            if deciding.is_empty() {
                return self.chains_of(&choices, least, 1, &selects);
            }
            let among = choices.iter().copied().collect();
            let deciders = deciders(self, &among, &selects, &deciding);
            // Observations that move decide by choices that they leave, which are not of the set.
            if deciders.is_empty() {
                return Vec::new();
            }
            choices.retain(|id| !deciders.contains(id));
        }
    }

    fn chains_of(
        &self,
        choices: &[NodeId],
        least: usize,
        readers: usize,
        selects: &Selects,
    ) -> Vec<Vec<NodeId>> {
        let among = choices.iter().copied().collect();
        let mut search = Search { trace: self, among, selects, known: FxHashMap::default() };
        let mut above: FxHashMap<NodeId, SmallVec<[NodeId; 4]>> = FxHashMap::default();
        let mut read_by: FxHashMap<NodeId, usize> = FxHashMap::default();
        for id in choices {
            let read = search.above(*id).unwrap_or_default();
            read.iter().for_each(|choice| *read_by.entry(*choice).or_default() += 1);
            above.insert(*id, read);
        }
        above.values_mut().for_each(|read| read.retain(|choice| read_by[choice] <= readers));
        let mut after: FxHashMap<NodeId, SmallVec<[NodeId; 1]>> = FxHashMap::default();
        for id in choices {
            let own = &above[id];
            // The one that reads all the others.
            let reads_others = |last: &&NodeId| {
                own.iter().all(|other| other == *last || above[*last].contains(other))
            };
            if let Some(last) = own.iter().find(reads_others) {
                after.entry(*last).or_default().push(*id);
            }
        }
        // Where several follow, the chain ends.
        after.retain(|_, next| next.len() == 1);
        let follows: FxHashSet<NodeId> = after.values().map(|next| next[0]).collect();
        let chain = |first: &NodeId| {
            let next = |id: &NodeId| after.get(id).map(|next| next[0]);
            std::iter::successors(Some(*first), next).collect::<Vec<_>>()
        };
        let firsts = choices.iter().filter(|id| !follows.contains(*id));
        firsts.map(chain).filter(|chain| chain.len() >= least).collect()
    }
}
