//! A family: the nodes that one evaluated body created. The unit of existence.
//!
//! A family lives as long as something refers to it: the structure node whose body it is, the
//! directive that evaluated it, or, for a memoised body, all requests with equal arguments. A
//! family also lists the memoised families that it requested with constant arguments. When the
//! last reference goes, the family is detached, and with it what only it referred to: the
//! transitive closure that definition 3 needs.

use smallvec::SmallVec;
use smidgen_value::Value;

use crate::error::EvalError;
use crate::id::{FamilyId, NodeId};
use crate::journal::Edit;
use crate::node::{MemoKey, NOWHERE, Op};
use crate::trace::Trace;

#[derive(Default)]
pub struct Family {
    /// In order of creation, hence arguments before the nodes that use them.
    pub(crate) nodes: Vec<NodeId>,
    /// Memoised families requested with constant arguments, once per request.
    pub(crate) requests: SmallVec<[FamilyId; 2]>,
    pub(crate) references: u32,
    /// For a memoised body: the memo node and the key.
    pub(crate) memo: Option<Box<(NodeId, MemoKey)>>,
    pub(crate) root: Option<crate::operand::Operand>,
    pub(crate) dead: bool,
    /// References that the scaffold built last takes away, valid for its number.
    pub(crate) disabled: u32,
    pub(crate) mark: u32,
}

impl Family {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.requests.clear();
        self.memo = None;
        self.root = None;
        self.references = 0;
        self.dead = false;
    }
}

impl Trace {
    /// A new family with one reference.
    pub(crate) fn add_family(&mut self) -> FamilyId {
        let id = self.free_families.pop().unwrap_or_else(|| {
            self.families.push(Family::default());
            FamilyId(self.families.len() as u32 - 1)
        });
        self.families[id.index()].references = 1;
        self.journal.push(Edit::FamilyAdded(id));
        id
    }

    pub(crate) fn acquire(&mut self, id: FamilyId) {
        self.families[id.index()].references += 1;
        self.journal.push(Edit::Acquired(id));
    }

    /// Drops one reference. At the last one the family and all that only it referred to are
    /// detached. Returns the log density of the observed choices that went with them.
    pub(crate) fn release(&mut self, id: FamilyId) -> Result<f64, EvalError> {
        let mut log_observed = 0.0;
        let mut work: SmallVec<[FamilyId; 4]> = SmallVec::new();
        work.push(id);
        while let Some(id) = work.pop() {
            if id.is_none() {
                continue;
            }
            self.families[id.index()].references -= 1;
            self.journal.push(Edit::Released(id));
            if self.families[id.index()].references == 0 {
                log_observed += self.detach_family(id, &mut work)?;
            }
        }
        Ok(log_observed)
    }

    fn detach_family(
        &mut self,
        id: FamilyId,
        work: &mut SmallVec<[FamilyId; 4]>,
    ) -> Result<f64, EvalError> {
        let mut log_observed = 0.0;
        for k in (0..self.families[id.index()].nodes.len()).rev() {
            let node = self.families[id.index()].nodes[k];
            log_observed += self.detach_node(node, work)?;
        }
        work.extend(self.families[id.index()].requests.iter().copied());
        if let Some(entry) = self.families[id.index()].memo.take() {
            let (memo, key) = *entry;
            // The family keeps its key for the way back.
            self.families[id.index()].memo = Some(Box::new((memo, key.clone())));
            if let Some(family) = self.memo_mut(memo).families.remove(&key) {
                self.journal.push(Edit::MemoRemoved(memo, Box::new((key, family))));
            }
        }
        self.families[id.index()].dead = true;
        self.journal.push(Edit::FamilyDetached(id));
        Ok(log_observed)
    }

    fn detach_node(
        &mut self,
        id: NodeId,
        work: &mut SmallVec<[FamilyId; 4]>,
    ) -> Result<f64, EvalError> {
        let mut log_observed = 0.0;
        if self.node(id).constrained {
            self.refresh_arguments(id)?;
        }
        match self.node(id).op {
            Op::Draw(maker) => {
                let value: Value = self.node(id).value.clone();
                self.uncount(maker, &value);
            }
            Op::Structure(_) => work.push(self.node(id).expansion),
            _ => {}
        }
        if self.node(id).constrained {
            log_observed = self.log_density(id)?;
        }
        if self.node(id).choice_place != NOWHERE {
            self.remove_from_choices(id);
        }
        for slot in 0..self.node(id).args.len() {
            self.unlink(id, slot);
        }
        self.node_mut(id).dead = true;
        self.journal.push(Edit::NodeDetached(id));
        Ok(log_observed)
    }
}
