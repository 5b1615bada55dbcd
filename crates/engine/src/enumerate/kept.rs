//! Plans that are kept from one enumeration of a choice to the next, with the stamp that says how long
//! they hold.
//!
//! A plan depends on the edges of D: every node knows when they last changed
//! (`Trace::edges_at`), so a plan made after that of all its nodes holds, and nothing has to be
//! told to it. T is not part of a plan, but for the application that an observed call makes: families of
//! memo keys become transient and cease to be as others come and go, which their counts of
//! references tell. Values are read when they are needed.
//!
//! Plans belong to the trace: names of nodes mean nothing elsewhere. Their number is bounded.

use smidgen_value::Value;

use super::cell::AsOf;
use super::columns::ClusterColumns;
use super::plan::{Plan, Planned};
use super::shape::Shape;
use super::written::{CandidateProgram, NoLanes};
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::trace::Trace;
use crate::trace::node::{MemoEntry, MemoKey};
use crate::trace::scaffold::Scaffold;

/// What is kept beside the trace; nothing until the first enumeration.
#[derive(Default)]
pub(super) struct PlanTable(pub Option<Box<Plans>>);

/// Shapes, and sizes of plans in all, that are kept at most.
const MOST_SHAPES: usize = 256;
const MOST: usize = 1 << 22;

/// Programs that are kept for one shape at most, and tries to write one.
const MOST_FORMS: usize = 8;
const MOST_REFUSED: u32 = 16;

/// No plan.
const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Plans {
    kept: Vec<Plan>,
    /// By node: the place of its plan. A plan that does not hold stays until it is made anew.
    places: Vec<u32>,
    shapes: Vec<Shape>,
    /// By shape.
    lanes: Vec<ShapeLanes>,
    size: usize,
    pub(super) roots: MemoRootCache,
}

impl Plans {
    fn place(&self, choice: NodeId) -> Option<usize> {
        let place = self.places.get(choice.index()).copied().filter(|place| *place != NONE);
        place.map(|place| place as usize)
    }

    /// Whether there is a plan of a choice, and it still holds.
    pub(super) fn hold(&mut self, trace: &Trace, choice: NodeId) -> bool {
        self.roots.renew(trace);
        // Memory is asked for the node and for the plan at a time.
        std::hint::black_box(trace.node(choice).value.as_number());
        self.place(choice).is_some_and(|place| self.kept[place].holds(trace))
    }

    /// Makes the plan of a choice whose scaffold was just built; none if that is not possible.
    pub(super) fn make(&mut self, trace: &mut Trace, scaffold: &Scaffold) -> Option<()> {
        let (mut plan, shape) = Plan::of(trace, scaffold, &mut self.roots)?;
        if self.size > MOST || self.shapes.len() > MOST_SHAPES {
            self.kept.clear();
            self.places.clear();
            self.shapes.clear();
            self.lanes.clear();
            self.size = 0;
        }
        let known = self.shapes.iter().position(|known| *known == shape);
        plan.shape = known.unwrap_or(self.shapes.len()) as u32;
        if known.is_none() {
            self.shapes.push(shape);
            self.lanes.push(ShapeLanes::default());
        }
        self.size += plan.size();
        let choice = scaffold.principals[0];
        match self.place(choice) {
            Some(place) => self.size -= std::mem::replace(&mut self.kept[place], plan).size(),
            None => {
                if self.places.len() <= choice.index() {
                    self.places.resize(choice.index() + 1, NONE);
                }
                self.places[choice.index()] = self.kept.len() as u32;
                self.kept.push(plan);
            }
        }
        Some(())
    }

    /// A candidate for which nothing had to be made was installed: the edges of D have changed, but D, A
    /// and what the plan reads are the same.
    pub(super) fn renew(&mut self, choice: NodeId, edge_edits: u64) {
        // One that misses rows is made anew: they may be there now.
        if let Some(place) = self.place(choice)
            && !self.kept[place].misses_rows
        {
            self.kept[place].edge_edits = edge_edits;
        }
    }

    /// The same where it was installed in place, so that no more than the two clusters has changed.
    pub(super) fn moved(
        &mut self,
        trace: &Trace,
        choice: NodeId,
        before: &AsOf,
        keys: [&Value; 2],
    ) {
        let Some(place) = self.place(choice) else { return };
        let plan = &self.kept[place];
        for columns in &mut self.lanes[plan.shape as usize].columns {
            columns.moved(trace, plan, before, keys);
        }
    }

    /// The plan of a choice with its shape, the roots that it looks up, and its lanes.
    pub(super) fn get(
        &mut self,
        choice: NodeId,
    ) -> Option<(Planned<'_>, &mut MemoRootCache, &mut ShapeLanes)> {
        let plan = &self.kept[self.place(choice)?];
        let place = plan.shape as usize;
        let shape = &self.shapes[place];
        Some((Planned { plan, shape }, &mut self.roots, &mut self.lanes[place]))
    }
}

/// The programs of one shape, by the forms of what rows bring.
#[derive(Default)]
pub(super) struct ShapeLanes {
    columns: Vec<ClusterColumns>,
    /// How often none could be written, and why not the last time.
    refused: u32,
    pub(super) no_lanes: Option<NoLanes>,
}

impl ShapeLanes {
    /// The lanes of a row, which are loaded with it. The choice has this value now.
    pub(super) fn of(
        &mut self,
        trace: &Trace,
        planned: Planned<'_>,
        choice: &Value,
    ) -> Option<&mut ClusterColumns> {
        let plan = planned.plan;
        // The one that fitted before comes first.
        let before = plan.row.get().map(|row| row.program as usize);
        if let Some(before) = before
            && self.columns[before].load(trace, plan, before as u32)
        {
            return Some(&mut self.columns[before]);
        }
        for k in (0..self.columns.len()).filter(|k| Some(*k) != before) {
            if self.columns[k].load(trace, plan, k as u32) {
                return Some(&mut self.columns[k]);
            }
        }
        if self.columns.len() >= MOST_FORMS || self.refused >= MOST_REFUSED {
            return None;
        }
        match CandidateProgram::write(trace, planned, choice) {
            Ok(written) => {
                self.columns.push(ClusterColumns::new(written));
                let number = self.columns.len() as u32 - 1;
                let columns = self.columns.last_mut()?;
                columns.load(trace, plan, number).then_some(columns)
            }
            Err(no_lanes) => {
                // Other values may have numbers.
                let more = if no_lanes == NoLanes::NotNumbers { 1 } else { MOST_REFUSED };
                (self.refused, self.no_lanes) = (self.refused + more, Some(no_lanes));
                None
            }
        }
    }
}

/// The families that candidates asked memo tables for, by the number of the candidate: from one step
/// to the next they are mostly the same.
#[derive(Default)]
pub(super) struct MemoRootCache {
    /// As of this many edits of memo tables.
    edits: u64,
    tables: Vec<(NodeId, Vec<Option<Known>>)>,
    /// The last lazy change that roots were brought up to date with, and of how many edits.
    pub(super) fresh_at: (u64, u64),
}

struct Known {
    key: Value,
    root: Root,
}

#[derive(Clone, Copy)]
pub(super) enum Root {
    /// The table has no family of this key.
    Absent,
    Node(FamilyId, NodeId),
    /// It is read from the family.
    Constant(FamilyId),
}

impl Root {
    /// Its value, if that is fresh.
    #[inline]
    pub(super) fn value<'t>(&self, trace: &'t Trace) -> Option<&'t Value> {
        match *self {
            Root::Absent => None,
            Root::Node(_, id) => (!trace.is_stale(id)).then(|| &trace.node(id).value),
            Root::Constant(family) => trace.families[family.index()].root.as_ref()?.constant(),
        }
    }
}

pub(super) fn maker_of(value: &Value) -> Option<NodeId> {
    match Procedure::of(value)? {
        Procedure::Made(maker) => Some(*maker),
        _ => None,
    }
}

impl MemoRootCache {
    /// Forgets what memo tables no longer say.
    fn renew(&mut self, trace: &Trace) {
        if self.edits != trace.memo_edits {
            self.edits = trace.memo_edits;
            self.tables.iter_mut().for_each(|(_, families)| families.clear());
        }
    }

    /// The place of a memo table.
    pub(super) fn table(&mut self, memo: NodeId) -> u32 {
        let known = self.tables.iter().position(|(known, _)| *known == memo);
        known.unwrap_or_else(|| {
            self.tables.push((memo, Vec::new()));
            self.tables.len() - 1
        }) as u32
    }

    /// Where the family of a key has its value; none for one that is being made.
    pub(super) fn root(
        &mut self,
        trace: &Trace,
        at: (usize, usize),
        memo: NodeId,
        key: &Value,
    ) -> Option<Root> {
        self.known(trace, at, memo, key).map(|known| known.root)
    }

    /// How many ask for the family of a key; 0 if there is none.
    pub(super) fn references(
        &mut self,
        trace: &Trace,
        at: (usize, usize),
        memo: NodeId,
        key: &Value,
    ) -> u32 {
        match self.root(trace, at, memo, key) {
            Some(Root::Node(family, _) | Root::Constant(family)) => {
                trace.families[family.index()].references
            }
            Some(Root::Absent) | None => 0,
        }
    }

    #[inline]
    fn known(
        &mut self,
        trace: &Trace,
        (table, k): (usize, usize),
        memo: NodeId,
        key: &Value,
    ) -> Option<&Known> {
        let families = &self.tables[table].1;
        match families.get(k) {
            Some(Some(known)) if is_same_key(&known.key, key) => self.tables[table].1[k].as_ref(),
            _ => self.look_up(trace, (table, k), memo, key),
        }
    }

    #[cold]
    fn look_up(
        &mut self,
        trace: &Trace,
        (table, k): (usize, usize),
        memo: NodeId,
        key: &Value,
    ) -> Option<&Known> {
        let sought = MemoKey::from_iter([key.clone()]);
        let root = match trace.memo(memo).families.get(&sought) {
            None => Root::Absent,
            Some(MemoEntry::Family(family)) => {
                match trace.families[family.index()].root.as_ref()? {
                    Operand::Node(id) => Root::Node(*family, *id),
                    Operand::Constant(_) => Root::Constant(*family),
                }
            }
            Some(_) => return None,
        };
        let families = &mut self.tables[table].1;
        if families.len() <= k {
            families.resize_with(k + 1, || None);
        }
        Some(families[k].insert(Known { key: key.clone(), root }))
    }
}

#[inline]
fn is_same_key(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b,
        _ => a == b,
    }
}
