//! Plans that are kept from one enumeration of a choice to the next, with the stamp that says how long
//! they hold.
//!
//! A plan depends on the edges of D: every node knows when they last changed
//! (`Node::edges_at`), so a plan made after that of all its nodes holds, and nothing has to be
//! told to it. T is not part of a plan, but for the application that an observed call makes: families of
//! memo keys become transient and cease to be as others come and go, which their counts of
//! references tell. Values are read when they are needed.
//!
//! Plans belong to the trace: names of nodes mean nothing elsewhere. Their number is bounded.

use rustc_hash::FxHashMap;
use smidgen_value::Value;

use super::plan::{Plan, Planned, Shape};
use crate::id::{FamilyId, NodeId};
use crate::node::{MemoEntry, MemoKey};
use crate::operand::Operand;
use crate::scaffold::Scaffold;
use crate::trace::Trace;

/// Shapes, and sizes of plans in all, that are kept at most.
const MOST_SHAPES: usize = 256;
const MOST: usize = 1 << 22;

#[derive(Default)]
pub(crate) struct Plans {
    kept: FxHashMap<NodeId, Plan>,
    shapes: Vec<Shape>,
    size: usize,
    pub(super) roots: Roots,
}

impl Plans {
    /// Forgets the plan of a choice if it does not hold any longer; whether there is one that does.
    pub(super) fn hold(&mut self, trace: &Trace, choice: NodeId) -> bool {
        self.roots.renew(trace);
        match self.kept.get(&choice) {
            Some(plan) if plan.holds(trace) => true,
            Some(_) => {
                self.size -= self.kept.remove(&choice).map_or(0, |plan| plan.size());
                false
            }
            None => false,
        }
    }

    /// Makes the plan of a choice whose scaffold was just built; none if that is not possible.
    pub(super) fn make(&mut self, trace: &Trace, scaffold: &Scaffold) -> Option<()> {
        let (mut plan, shape) = Plan::of(trace, scaffold, &mut self.roots)?;
        if self.size > MOST || self.shapes.len() > MOST_SHAPES {
            self.kept.clear();
            self.shapes.clear();
            self.size = 0;
        }
        let known = self.shapes.iter().position(|known| *known == shape);
        plan.shape = known.unwrap_or(self.shapes.len()) as u32;
        if known.is_none() {
            self.shapes.push(shape);
        }
        self.size += plan.size();
        if let Some(old) = self.kept.insert(scaffold.principals[0], plan) {
            self.size -= old.size();
        }
        Some(())
    }

    /// The plan of a choice, its shape, and the roots that it looks up.
    pub(super) fn get(&mut self, choice: NodeId) -> Option<(Planned<'_>, &mut Roots)> {
        let plan = self.kept.get(&choice)?;
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

    /// The number of references to the family of a key and its value, if it exists, stays, and is
    /// fresh.
    pub(super) fn find<'t>(
        &mut self,
        trace: &'t Trace,
        (table, k): (usize, usize),
        memo: NodeId,
        key: &Value,
    ) -> Option<(u32, &'t Value)> {
        let families = &mut self.tables[table].1;
        let known = match families.get(k) {
            Some(Some(known)) if known.key == *key => known,
            _ => {
                let sought = MemoKey::from_iter([key.clone()]);
                let MemoEntry::Family(family) = *trace.memo(memo).families.get(&sought)? else {
                    return None;
                };
                let root = match trace.families[family.index()].root.as_ref()? {
                    Operand::Node(id) => NodeOrConstant::Node(*id),
                    Operand::Constant(_) => NodeOrConstant::Constant,
                };
                if families.len() <= k {
                    families.resize_with(k + 1, || None);
                }
                families[k].insert(Known { key: key.clone(), family, root })
            }
        };
        let family = &trace.families[known.family.index()];
        if family.mark == trace.epoch && family.disabled == family.references {
            return None;
        }
        let value = match known.root {
            NodeOrConstant::Constant => family.root.as_ref().and_then(Operand::constant)?,
            NodeOrConstant::Node(id) => {
                let fresh = trace.role(id).is_none() && !trace.is_stale(id);
                fresh.then(|| &trace.node(id).value)?
            }
        };
        Some((family.references, value))
    }
}
