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

use super::plan::{Plan, Planned, Shape};
use super::terms::Terms;
use crate::id::{FamilyId, NodeId};
use crate::node::{MemoEntry, MemoKey};
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::scaffold::Scaffold;
use crate::trace::Trace;

/// Shapes, and sizes of plans in all, that are kept at most.
const MOST_SHAPES: usize = 256;
const MOST: usize = 1 << 22;

/// No plan.
const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Plans {
    kept: Vec<Plan>,
    /// By node: the place of its plan. A plan that does not hold stays until it is made anew.
    places: Vec<u32>,
    shapes: Vec<Shape>,
    size: usize,
    pub(super) roots: Roots,
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
    pub(super) fn make(&mut self, trace: &Trace, scaffold: &Scaffold) -> Option<()> {
        let (mut plan, mut shape) = Plan::of(trace, scaffold, &mut self.roots)?;
        if self.size > MOST || self.shapes.len() > MOST_SHAPES {
            self.kept.clear();
            self.places.clear();
            self.shapes.clear();
            self.size = 0;
        }
        let known = self.shapes.iter().position(|known| *known == shape);
        plan.shape = known.unwrap_or(self.shapes.len()) as u32;
        if known.is_none() {
            shape.terms = Terms::of(&shape);
            self.shapes.push(shape);
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
    pub(super) fn renew(&mut self, trace: &Trace, choice: NodeId) {
        if let Some(place) = self.place(choice) {
            self.kept[place].edge_edits = trace.edge_edits;
        }
    }

    /// The plan of a choice, its shape, and the roots that it looks up.
    pub(super) fn get(&mut self, choice: NodeId) -> Option<(Planned<'_>, &mut Roots)> {
        let plan = &self.kept[self.place(choice)?];
        let shape = &self.shapes[plan.shape as usize];
        Some((Planned { plan, shape }, &mut self.roots))
    }
}

/// The families that candidates asked memo tables for, by the number of the candidate: from one step
/// to the next they are mostly the same.
#[derive(Default)]
pub(super) struct Roots {
    /// As of this many edits of memo tables.
    edits: u64,
    tables: Vec<(NodeId, Vec<Option<Known>>)>,
}

struct Known {
    key: Value,
    family: FamilyId,
    root: NodeOrConstant,
    /// What made the root, if that is a constant.
    maker: Option<NodeId>,
}

/// The family of a key.
#[derive(Clone, Copy)]
pub(super) struct Found<'t> {
    pub references: u32,
    pub value: &'t Value,
    /// The maker of the value, if it is a made procedure.
    pub maker: Option<NodeId>,
}

fn maker_of(value: &Value) -> Option<NodeId> {
    match Procedure::of(value)? {
        Procedure::Made(maker) => Some(*maker),
        _ => None,
    }
}

/// A root that is a constant is read from the family.
enum NodeOrConstant {
    Node(NodeId),
    Constant,
}

impl Roots {
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

    /// The family of a key, if it exists, stays, and its value is fresh and not part of D.
    #[inline]
    pub(super) fn find<'t>(
        &mut self,
        trace: &'t Trace,
        (table, k): (usize, usize),
        memo: NodeId,
        key: &Value,
        target: &[NodeId],
    ) -> Option<Found<'t>> {
        let families = &mut self.tables[table].1;
        let known = match families.get(k) {
            Some(Some(known)) if known.key == *key => known,
            _ => {
                let sought = MemoKey::from_iter([key.clone()]);
                let MemoEntry::Family(family) = *trace.memo(memo).families.get(&sought)? else {
                    return None;
                };
                let (root, maker) = match trace.families[family.index()].root.as_ref()? {
                    Operand::Node(id) => (NodeOrConstant::Node(*id), None),
                    Operand::Constant(value) => (NodeOrConstant::Constant, maker_of(value)),
                };
                if families.len() <= k {
                    families.resize_with(k + 1, || None);
                }
                families[k].insert(Known { key: key.clone(), family, root, maker })
            }
        };
        let family = &trace.families[known.family.index()];
        if family.mark == trace.epoch && family.disabled == family.references {
            return None;
        }
        let references = family.references;
        match known.root {
            NodeOrConstant::Constant => {
                let value = family.root.as_ref().and_then(Operand::constant)?;
                Some(Found { references, value, maker: known.maker })
            }
            NodeOrConstant::Node(id) => {
                let stays = trace.role(id).is_none() && !target.contains(&id);
                if !stays || trace.is_stale(id) {
                    return None;
                }
                let value = &trace.node(id).value;
                Some(Found { references, value, maker: maker_of(value) })
            }
        }
    }
}
