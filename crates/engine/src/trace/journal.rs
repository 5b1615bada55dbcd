//! The edits of an open transaction, in order, and their exact undoing.
//!
//! Every change to the trace is recorded here before anything else may happen. Rolling back
//! undoes the edits strictly in reverse, which brings back the very bits: values, the order of
//! child lists, the places of choices. Committing forgets them and frees what was detached. So a
//! half-moved trace cannot be seen, and a directive happens whole or not at all.

use smidgen_prob::Statistics;
use smidgen_value::{Symbol, Value};

use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::plate::Plate;
use crate::tag::Memberships;
use crate::trace::Trace;
use crate::trace::node::{Args, MemoEntry, MemoKey, NOWHERE, Node, Observed, Op};

pub(crate) enum Edit {
    NodeAdded(NodeId),
    /// Unlinked from its parents and dead; its contents are kept until commit.
    NodeDetached(NodeId),
    Value(NodeId, Value),
    /// The root and family that a structure had.
    Root(NodeId, Box<OldRoot>),
    FamilyAdded(FamilyId),
    FamilyDetached(FamilyId),
    Acquired(FamilyId),
    Released(FamilyId),
    /// One more request on the list of this family.
    Requested(FamilyId),
    /// With the places it had when it left earlier, if it did.
    ChoiceEntered(NodeId, Option<Box<Memberships>>),
    ChoiceLeft(NodeId, u32),
    Counted(NodeId, Value),
    Uncounted(NodeId, Value),
    /// Statistics before a change that `remove` could not undo to the bit.
    Statistics(NodeId, Box<dyn Statistics>),
    MemoAdded(NodeId, Box<MemoKey>),
    MemoRemoved(NodeId, Box<(MemoKey, MemoEntry)>),
    Constrained(NodeId, bool),
    Forced(NodeId, bool),
    Observed(NodeId, Option<Box<Observed>>),
    Global(Symbol, Option<Operand>),
    Frozen(NodeId, Box<(Op, Args, FamilyId)>),
    /// The rows that a plate had.
    Plate(NodeId, Box<Plate>),
}

pub(crate) struct OldRoot {
    pub operand: Operand,
    pub position: u32,
    pub expansion: FamilyId,
}

/// A place in the journal to roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(usize);

impl Trace {
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint(self.journal.len())
    }

    pub(crate) fn edits_since(&self, savepoint: Savepoint) -> &[Edit] {
        &self.journal[savepoint.0..]
    }

    pub(crate) fn edits(&self, since: Savepoint) -> &[Edit] {
        &self.journal[since.0..]
    }

    pub(crate) fn has_added_nodes(&self, since: Savepoint) -> bool {
        self.edits(since).iter().any(|edit| matches!(edit, Edit::NodeAdded(_)))
    }

    /// Whether something that stays depends on a node that was detached: as its child, as a family
    /// of its memo table, or as an application of what it made.
    pub(crate) fn has_detached_in_use(&self, since: Savepoint) -> bool {
        self.journal[since.0..].iter().any(|edit| match edit {
            Edit::NodeDetached(id) => {
                let node = self.node(*id);
                !node.children.is_empty()
                    || match &node.op {
                        Op::Memo(table) => !table.families.is_empty(),
                        Op::Maker(made) => made.statistics.count() > 0,
                        _ => false,
                    }
            }
            _ => false,
        })
    }

    pub(crate) fn rollback_to(&mut self, savepoint: Savepoint) {
        while self.journal.len() > savepoint.0 {
            // By far the most frequent: the value alone is taken out.
            if let Some(Edit::Value(id, value)) = self.journal.last_mut() {
                let (id, value) = (*id, std::mem::take(value));
                self.journal.truncate(self.journal.len() - 1);
                self.replace_value(id, value);
                continue;
            }
            let edit = self.journal.pop().expect("longer than the savepoint");
            self.undo(edit);
        }
    }

    /// Makes all edits lasting.
    pub(crate) fn commit(&mut self) {
        self.revision += 1;
        let mut journal = std::mem::take(&mut self.journal);
        let before = self.population;
        self.structure += u64::from(!journal.iter().all(|edit| self.is_of_values(edit)));
        for edit in journal.drain(..) {
            match edit {
                Edit::NodeDetached(id) => self.free_node(id),
                Edit::FamilyDetached(id) => self.free_family(id),
                Edit::ChoiceEntered(..) | Edit::ChoiceLeft(..) => self.population = before + 1,
                Edit::Value(id, _) => {
                    let revision = self.revision;
                    let node = self.node_mut(id);
                    (node.changed_at, node.verified_at) = (revision, revision);
                }
                _ => {}
            }
        }
        self.journal = journal;
    }

    /// Whether an edit changes values alone. A branch that comes to a constant on the side it leaves and on the side it
    /// takes changes no node and no edge.
    fn is_of_values(&self, edit: &Edit) -> bool {
        match edit {
            Edit::Value(..) | Edit::Counted(..) | Edit::Uncounted(..) | Edit::Statistics(..) => {
                true
            }
            Edit::Root(id, old) => {
                let root = self.node(*id).args.last().map(|arg| &arg.operand);
                matches!((&old.operand, root), (Operand::Constant(_), Some(Operand::Constant(_))))
            }
            Edit::FamilyAdded(id) | Edit::FamilyDetached(id) | Edit::Released(id) => {
                let family = &self.families[id.index()];
                family.nodes.is_empty() && family.requests.is_empty() && family.memo.is_none()
            }
            _ => false,
        }
    }

    fn undo(&mut self, edit: Edit) {
        match edit {
            Edit::NodeAdded(id) => {
                for slot in (0..self.node(id).args.len()).rev() {
                    self.unlink(id, slot);
                }
                let family = self.node(id).family;
                self.families[family.index()].nodes.pop();
                self.free_node(id);
            }
            Edit::NodeDetached(id) => {
                self.node_mut(id).dead = false;
                for slot in (0..self.node(id).args.len()).rev() {
                    self.relink(id, slot);
                }
            }
            Edit::Value(id, value) => {
                self.replace_value(id, value);
            }
            Edit::Root(id, old) => {
                let slot = self.node(id).args.len() - 1;
                self.unlink(id, slot);
                let node = self.node_mut(id);
                node.args[slot].operand = old.operand;
                node.args[slot].position = old.position;
                node.expansion = old.expansion;
                self.relink(id, slot);
            }
            Edit::FamilyAdded(id) => self.free_family(id),
            Edit::FamilyDetached(id) => self.families[id.index()].dead = false,
            Edit::Acquired(id) => self.families[id.index()].references -= 1,
            Edit::Released(id) => self.families[id.index()].references += 1,
            Edit::Requested(id) => {
                self.families[id.index()].requests.pop();
            }
            Edit::ChoiceEntered(id, earlier) => {
                self.leave_choices(id);
                if let Some(earlier) = earlier {
                    self.node_mut(id).memberships = *earlier;
                }
            }
            Edit::ChoiceLeft(id, place) => self.re_enter_choices(id, place),
            Edit::Counted(maker, value) => self.statistics_mut(maker).remove(&value),
            Edit::Uncounted(maker, value) => self.statistics_mut(maker).add(&value),
            Edit::Statistics(maker, statistics) => self.made_mut(maker).statistics = statistics,
            Edit::MemoAdded(memo, key) => {
                self.memo_mut(memo).families.remove(&*key);
            }
            Edit::MemoRemoved(memo, entry) => {
                let (key, family) = *entry;
                self.memo_mut(memo).families.insert(key, family);
            }
            Edit::Constrained(id, was) => {
                self.node_mut(id).constrained = was;
                self.disturb(id);
            }
            Edit::Forced(id, was) => self.node_mut(id).forced = was,
            Edit::Observed(id, was) => {
                self.node_mut(id).observed = was;
                self.note_edges(id);
            }
            Edit::Global(name, was) => self.globals[name.index()] = was,
            Edit::Plate(id, plate) => {
                self.node_mut(id).op = Op::Plate(plate);
                self.sections.changed();
            }
            Edit::Frozen(id, old) => {
                let (op, args, expansion) = *old;
                let node = self.node_mut(id);
                (node.op, node.args, node.expansion) = (op, args, expansion);
                self.note_edges(id);
                for slot in (0..self.node(id).args.len()).rev() {
                    self.relink(id, slot);
                }
            }
        }
    }

    /// Gives a plate other rows.
    pub(crate) fn set_plate(&mut self, id: NodeId, plate: Box<Plate>) {
        let old = std::mem::replace(&mut self.node_mut(id).op, Op::Plate(plate));
        let Op::Plate(old) = old else { unreachable!("only plates have rows") };
        self.journal.push(Edit::Plate(id, old));
        self.sections.changed();
    }

    // ------------------------------------------------------------ edges

    /// Edges of a node, or what else decides how scaffolds run through it, have changed: what was
    /// kept about them with a smaller number is stale.
    #[inline]
    pub(crate) fn note_edges(&mut self, id: NodeId) {
        self.edge_edits += 1;
        if self.edges_at.len() <= id.index() {
            self.edges_at.resize(id.index() + 1, 0);
        }
        self.edges_at[id.index()] = self.edge_edits;
    }

    /// Number of the last change of a node's edges.
    #[inline]
    pub(crate) fn edges_at(&self, id: NodeId) -> u64 {
        self.edges_at.get(id.index()).copied().unwrap_or(0)
    }

    /// Enters the edge from argument `slot` of `id` at the end of its parent's child list.
    pub(crate) fn link(&mut self, id: NodeId, slot: usize) {
        if let Operand::Node(parent) = self.node(id).args[slot].operand {
            let children = &mut self.node_mut(parent).children;
            children.push(crate::trace::node::Child { node: id, slot: slot as u32 });
            let position = children.len() as u32 - 1;
            self.node_mut(id).args[slot].position = position;
            self.note_edges(parent);
            self.note_edges(id);
            self.edge_came(parent, id, slot);
        }
    }

    /// Removes that edge; the argument remembers where it was.
    pub(crate) fn unlink(&mut self, id: NodeId, slot: usize) {
        let arg = &self.node(id).args[slot];
        if let Operand::Node(parent) = arg.operand {
            let position = arg.position as usize;
            self.note_edges(parent);
            self.note_edges(id);
            self.edge_goes(parent, id, slot);
            let children = &mut self.node_mut(parent).children;
            children.swap_remove(position);
            if let Some(moved) = children.get(position).copied() {
                self.node_mut(moved.node).args[moved.slot as usize].position = position as u32;
            }
        }
    }

    /// Undoes [`Trace::unlink`], in reverse order of unlinking.
    fn relink(&mut self, id: NodeId, slot: usize) {
        let arg = &self.node(id).args[slot];
        if let Operand::Node(parent) = arg.operand {
            let position = arg.position as usize;
            let children = &mut self.node_mut(parent).children;
            children.push(crate::trace::node::Child { node: id, slot: slot as u32 });
            let last = children.len() - 1;
            children.swap(position, last);
            let displaced = children[last];
            self.node_mut(displaced.node).args[displaced.slot as usize].position = last as u32;
            self.node_mut(id).args[slot].position = position as u32;
            self.note_edges(parent);
            self.note_edges(id);
            self.edge_came(parent, id, slot);
        }
    }

    // ------------------------------------------------------------ choices

    pub(crate) fn enter_choices(&mut self, id: NodeId) {
        let earlier = std::mem::take(&mut self.node_mut(id).memberships);
        let earlier = (!earlier.is_empty()).then(|| Box::new(earlier));
        self.journal.push(Edit::ChoiceEntered(id, earlier));
        let place = self.choices.len() as u32;
        self.choices.push(id);
        let node = &mut self.nodes[id.index()];
        node.choice_place = place;
        node.memberships = self.scopes.enter((id, node.address), &node.tags);
    }

    pub(crate) fn remove_from_choices(&mut self, id: NodeId) {
        let place = self.leave_choices(id);
        self.journal.push(Edit::ChoiceLeft(id, place));
    }

    fn leave_choices(&mut self, id: NodeId) -> u32 {
        let place = self.node(id).choice_place;
        debug_assert_ne!(place, NOWHERE, "the choice is unconstrained");
        self.choices.swap_remove(place as usize);
        if let Some(&moved) = self.choices.get(place as usize) {
            self.node_mut(moved).choice_place = place;
        }
        self.node_mut(id).choice_place = NOWHERE;
        for k in (0..self.node(id).memberships.len()).rev() {
            let m = &mut self.nodes[id.index()].memberships[k];
            let moved = self.scopes.leave(m);
            let m = *m;
            if let Some(moved) = moved {
                self.correct_membership(moved, m, m.place());
            }
        }
        place
    }

    fn re_enter_choices(&mut self, id: NodeId, place: u32) {
        self.choices.push(id);
        let last = self.choices.len() - 1;
        self.choices.swap(place as usize, last);
        let displaced = self.choices[last];
        self.node_mut(displaced).choice_place = last as u32;
        self.node_mut(id).choice_place = place;
        if self.node(id).memberships.is_empty() {
            return;
        }
        let (memberships, tags) = (self.node(id).memberships.clone(), self.node(id).tags.clone());
        for (m, block) in memberships.iter().zip(tags.blocks(self.node(id).address)) {
            if let Some((moved, to)) = self.scopes.re_enter(id, *m, &block) {
                self.correct_membership(moved, *m, to);
            }
        }
    }

    fn correct_membership(&mut self, moved: NodeId, block_of: crate::tag::Membership, place: u32) {
        let memberships = &mut self.node_mut(moved).memberships;
        let membership = memberships.iter_mut().find(|m| m.same_block(block_of));
        membership.expect("the moved choice is in that block").moved_to(place);
    }

    // ------------------------------------------------------------ slots

    pub(crate) fn free_node(&mut self, id: NodeId) {
        self.replace_value(id, Value::Nil);
        let node: &mut Node = self.node_mut(id);
        node.op = Op::Free;
        node.args.clear();
        node.children.clear();
        node.memberships.clear();
        node.tags = Default::default();
        node.observed = None;
        node.dead = false;
        node.in_section = false;
        if std::mem::take(&mut node.is_hub) {
            self.sections.forget_hub(id);
        }
        self.free_nodes.push(id);
    }

    pub(crate) fn free_family(&mut self, id: FamilyId) {
        self.families[id.index()].clear();
        self.free_families.push(id);
    }
}
