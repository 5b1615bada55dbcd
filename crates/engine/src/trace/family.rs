//! A family: the nodes that one evaluated body created. The unit of existence.
//!
//! A family lives as long as something refers to it: the structure node whose body it is, the
//! directive that evaluated it, or, for a memoised body, all requests with equal arguments. A
//! family also lists the memoised families that it requested with constant arguments. When the
//! last reference goes, the family is detached, and with it what only it referred to: the
//! transitive closure that definition 3 needs.

use smallvec::SmallVec;

use crate::error::EvalError;
use crate::id::{FamilyId, NodeId};
use crate::trace::Trace;
use crate::trace::journal::Edit;
use crate::trace::node::{MemoKey, NOWHERE, Op};

#[derive(Clone, Default)]
pub struct Family {
    /// In order of creation, hence arguments before the nodes that use them.
    pub(crate) nodes: Vec<NodeId>,
    /// Memoised families requested with constant arguments, once per request, each with the
    /// number of nodes that the family had at the time.
    pub(crate) requests: SmallVec<[(u32, FamilyId); 2]>,
    pub(crate) references: u32,
    /// For a memoised body: the memo node and the key.
    pub(crate) memo: Option<Box<(NodeId, MemoKey)>>,
    pub(crate) root: Option<crate::operand::Operand>,
    /// See [`crate::trace::node::Node::address`].
    pub(crate) address: u64,
    pub(crate) dead: bool,
    /// References that the scaffold built last takes away, valid for its number.
    pub(crate) disabled: u32,
    pub(crate) mark: u32,
}

/// What is left to do of a release.
enum Task {
    Release(FamilyId),
    /// The first so many nodes and requests are still to be detached.
    Detach {
        id: FamilyId,
        nodes: usize,
        requests: usize,
    },
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
    pub(crate) fn add_family(&mut self, address: u64) -> FamilyId {
        let id = self.free_families.pop().unwrap_or_else(|| {
            self.families.push(Family::default());
            FamilyId(self.families.len() as u32 - 1)
        });
        self.families[id.index()].references = 1;
        self.families[id.index()].address = address;
        self.journal.push(Edit::FamilyAdded(id));
        id
    }

    pub(crate) fn acquire(&mut self, id: FamilyId) {
        self.families[id.index()].references += 1;
        self.journal.push(Edit::Acquired(id));
    }

    /// Drops one reference. At the last one the family and all that only it referred to are
    /// detached, strictly in reverse order of creation: the weights of applications of one maker
    /// are then those with which the way back would make them. Returns the log density of the
    /// observed choices that went.
    pub(crate) fn release(&mut self, id: FamilyId) -> Result<f64, EvalError> {
        let mut log_observed = 0.0;
        let mut work: SmallVec<[Task; 8]> = SmallVec::new();
        work.push(Task::Release(id));
        while let Some(task) = work.pop() {
            match task {
                Task::Release(id) if id.is_none() => {}
                Task::Release(id) => {
                    let family = &mut self.families[id.index()];
                    family.references -= 1;
                    let (nodes, requests) = (family.nodes.len(), family.requests.len());
                    let gone = family.references == 0;
                    self.journal.push(Edit::Released(id));
                    if gone {
                        work.push(Task::Detach { id, nodes, requests });
                    }
                }
                Task::Detach { id, nodes: 0, requests: 0 } => self.detach_family(id),
                Task::Detach { id, nodes, requests } => {
                    let family = &self.families[id.index()];
                    let last_request = requests.checked_sub(1).map(|k| family.requests[k]);
                    match last_request {
                        // It was made when there were that many nodes.
                        Some((after, request)) if after as usize == nodes => {
                            work.push(Task::Detach { id, nodes, requests: requests - 1 });
                            work.push(Task::Release(request));
                        }
                        _ => {
                            let node = family.nodes[nodes - 1];
                            work.push(Task::Detach { id, nodes: nodes - 1, requests });
                            // A structure was made after its body.
                            work.push(Task::Release(self.expansion_of(node)));
                            log_observed += self.detach_node(node)?;
                        }
                    }
                }
            }
        }
        Ok(log_observed)
    }

    fn expansion_of(&self, id: NodeId) -> FamilyId {
        match self.node(id).op {
            Op::Structure(_) => self.node(id).expansion,
            _ => FamilyId::NONE,
        }
    }

    /// All its nodes are detached: now the family itself.
    fn detach_family(&mut self, id: FamilyId) {
        if let Some((memo, key)) = self.families[id.index()].memo.as_deref().cloned()
            && let Some(entry) = self.memo_mut(memo).families.remove(&key)
        {
            self.journal.push(Edit::MemoRemoved(memo, Box::new((key, entry))));
        }
        self.families[id.index()].dead = true;
        self.journal.push(Edit::FamilyDetached(id));
    }

    fn detach_node(&mut self, id: NodeId) -> Result<f64, EvalError> {
        let mut log_observed = 0.0;
        if self.node(id).constrained {
            self.refresh_arguments(id)?;
        }
        if let Op::Draw(maker) = self.node(id).op {
            let value = self.node(id).value.clone();
            self.uncount(maker, &value);
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
