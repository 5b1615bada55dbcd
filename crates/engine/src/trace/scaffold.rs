//! Definitions 2 to 5: the scaffold of a block of principal choices.
//!
//! * **Target** D: the principals and everything that follows from them deterministically.
//! * **Transient** T: the families that exist only because of D, as a *transitive closure*: a
//!   family is transient when every reference to it comes from a restructured node of D or from
//!   T itself (reference counts; theory 1.2).
//! * **Absorbing** A: random choices outside D and T with an argument in D or T. They keep their
//!   values; only their densities change. A maker whose parameters change absorbs for all its
//!   applications at once through their statistics.
//!
//! An observation that may come to refer to another choice (`[observe (if c x y) 3]`, with c in
//! D) puts the choice that it leaves into D: it is *released*, to be redrawn from its prior. The
//! choice that it comes to is *claimed*; which one that is only a proposal can tell, so the
//! proposal asks for a second scaffold with it (see [`crate::trace::proposal`]).
//!
//! Cost: proportional to the scaffold. Sets are marks on nodes; the buffers are reused.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::family::Family;
use crate::trace::node::{NOWHERE, Observed, Op, Role};
use crate::trace::proposal::{Credit, Rehearsed};

/// Nodes that are searched for one by one; more are hashed.
const FEW: usize = 16;

#[derive(Default)]
struct NodeSet {
    few: SmallVec<[NodeId; FEW]>,
    many: FxHashSet<NodeId>,
}

impl NodeSet {
    fn contains(&self, id: NodeId) -> bool {
        self.few.contains(&id) || (!self.many.is_empty() && self.many.contains(&id))
    }

    /// Whether it was not there before.
    fn insert(&mut self, id: NodeId) -> bool {
        if self.contains(id) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(id);
            return true;
        }
        self.many.insert(id)
    }
}

#[derive(Default)]
pub struct Scaffold {
    pub principals: Vec<NodeId>,
    /// D, arguments before the nodes that use them.
    pub target: Vec<NodeId>,
    /// T, as families; outermost first.
    pub(crate) transient: Vec<FamilyId>,
    /// A.
    pub absorbing: Vec<NodeId>,
    /// Rows of plates in A, beyond one for each.
    more_rows: usize,
    /// Makers in A.
    pub makers: Vec<NodeId>,
    pub(crate) released: Vec<NodeId>,
    pub(crate) claimed: Vec<(NodeId, Observed)>,
    /// Whether an observation may come to refer to another choice.
    pub(crate) observation_moves: bool,
    /// The same as far as it is known before T is.
    observation_may_move: bool,
    /// Whether a structure of D gets another body.
    pub(crate) restructures: bool,
    /// Whether T is plain choices, functions and structure, and how many choices of it are unconstrained: known if it is.
    pub(crate) transient_is_plain: bool,
    pub(crate) transient_choices: usize,
    /// Whether a node of it was taken for one of D or A before.
    transient_is_marked: bool,
    pub(crate) credit: Credit,
    /// If what a move would make was not made.
    pub(crate) rehearsed: Option<Rehearsed>,
    /// Principals, released and claimed choices.
    sources: Vec<NodeId>,
    stack: Vec<(NodeId, u32)>,
}

impl Scaffold {
    pub fn new() -> Scaffold {
        Scaffold::default()
    }

    /// Builds the scaffold of a block.
    pub fn build(&mut self, trace: &mut Trace, principals: &[NodeId]) {
        self.released.clear();
        self.claimed.clear();
        self.rehearsed = None;
        self.build_with_observations(trace, principals);
    }

    /// The scaffold of a block that stays as it is: nothing but its principals.
    pub(crate) fn clear(&mut self, principals: &[NodeId]) {
        self.released.clear();
        self.claimed.clear();
        self.principals.clear();
        self.principals.extend_from_slice(principals);
        self.target.clear();
        self.transient.clear();
        self.absorbing.clear();
        self.makers.clear();
        (self.more_rows, self.observation_moves, self.restructures) = (0, false, false);
        self.rehearsed = None;
    }

    /// As [`Scaffold::build`], with choices that observations come to.
    pub(crate) fn build_claiming(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        claimed: Vec<(NodeId, Observed)>,
    ) {
        self.released.clear();
        self.claimed = claimed;
        self.build_with_observations(trace, principals);
    }

    /// The scaffold of the global part alone (definition 7): D is Γ, and what lies below the
    /// border is left out.
    pub(crate) fn build_global(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        global: &[NodeId],
    ) {
        trace.epoch += 1;
        self.principals.clear();
        self.principals.extend_from_slice(principals);
        self.target.clear();
        self.target.extend_from_slice(global);
        self.transient.clear();
        self.absorbing.clear();
        self.more_rows = 0;
        self.makers.clear();
        self.released.clear();
        self.claimed.clear();
        (self.observation_moves, self.restructures) = (false, false);
        self.rehearsed = None;
        self.sources.clear();
        self.sources.extend_from_slice(principals);
        self.sources.sort_unstable();
        for id in global {
            trace.mark(*id, Role::Target);
        }
    }

    fn build_with_observations(&mut self, trace: &mut Trace, principals: &[NodeId]) {
        self.observation_moves = false;
        loop {
            self.build_once(trace, principals);
            let before = self.released.len();
            if !self.observation_may_move {
                break;
            }
            for k in 0..self.target.len() {
                let id = self.target[k];
                if trace.node(id).role != Role::Restructured || trace.node(id).observed.is_none() {
                    continue;
                }
                self.observation_moves = true;
                if let Some(choice) = self.surviving_referent(trace, id)
                    && !self.released.contains(&choice)
                {
                    self.released.push(choice);
                }
            }
            if self.released.len() == before {
                break;
            }
        }
        if self.observation_moves {
            self.put_observed_first(trace);
        }
    }

    /// Orders D so that observed structures, with the choices they leave and come to and all that
    /// these need, come first: a new choice that several ask for then takes the observed value
    /// when it is made. Detach and regenerate follow this order, on the way there and back.
    fn put_observed_first(&mut self, trace: &Trace) {
        let in_target =
            |id: NodeId| matches!(trace.role(id), Some(Role::Target | Role::Restructured));
        let observed = |id: &NodeId| trace.node(*id).observed.is_some();
        let mut work: SmallVec<[NodeId; FEW]> =
            self.target.iter().copied().filter(observed).collect();
        work.extend(self.released.iter().copied().chain(self.claimed.iter().map(|c| c.0)));
        work.retain(|id| in_target(*id));
        let mut first = NodeSet::default();
        for id in &work {
            first.insert(*id);
        }
        while let Some(id) = work.pop() {
            let node = trace.node(id);
            // The root that a restructured node has now is not the one it will have.
            let needed = node.args.len() - usize::from(node.role == Role::Restructured);
            for parent in node.args[..needed].iter().filter_map(|arg| arg.operand.node()) {
                if in_target(parent) && first.insert(parent) {
                    work.push(parent);
                }
            }
        }
        // Stable, and what comes first is closed under arguments: still topological.
        self.target.sort_by_key(|id| !first.contains(*id));
    }

    fn build_once(&mut self, trace: &mut Trace, principals: &[NodeId]) {
        trace.epoch += 1;
        self.principals.clear();
        self.principals.extend_from_slice(principals);
        self.target.clear();
        self.transient.clear();
        self.absorbing.clear();
        self.more_rows = 0;
        self.makers.clear();
        (self.restructures, self.observation_may_move) = (false, false);
        self.sources.clear();
        self.sources.extend_from_slice(principals);
        self.sources.extend_from_slice(&self.released);
        self.sources.extend(self.claimed.iter().map(|(id, _)| *id));
        // One order whatever their parts, so that the way back visits them in the same order.
        self.sources.sort_unstable();
        for id in &self.sources {
            trace.mark(*id, Role::Principal);
        }
        for k in 0..self.sources.len() {
            let id = self.sources[k];
            if trace.node(id).role == Role::Principal {
                self.visit(trace, id);
            }
        }
        self.target.reverse();
        self.transient_is_marked = false;
        if self.restructures {
            self.close_transient(trace);
        }
        if self.transient_is_marked {
            let in_target =
                |id: &NodeId| matches!(trace.node(*id).role, Role::Target | Role::Restructured);
            self.target.retain(in_target);
            self.absorbing.retain(|id| trace.node(*id).role == Role::Absorbing);
            self.makers.retain(|id| trace.node(*id).role == Role::AbsorbingMaker);
        }
    }

    /// Depth first through D; nodes come out after all that depends on them.
    fn visit(&mut self, trace: &mut Trace, source: NodeId) {
        trace.mark(source, Role::Target);
        let epoch = trace.epoch;
        let (mut id, mut next) = (source, 0);
        loop {
            let Some(&child) = trace.node(id).children.get(next) else {
                self.target.push(id);
                let Some((above, k)) = self.stack.pop() else { return };
                (id, next) = (above, k as usize);
                continue;
            };
            next += 1;
            let below = trace.node_mut(child.node);
            let existential = below.is_existential(child.slot);
            let role = if existential { Role::Restructured } else { Role::Target };
            self.restructures |= existential;
            if below.mark == epoch {
                match below.role {
                    Role::Principal => {}
                    Role::Target if existential => {
                        below.role = Role::Restructured;
                        continue;
                    }
                    _ => continue,
                }
            } else {
                below.mark = epoch;
                match &below.op {
                    Op::Random(_) | Op::Plate(_) => {
                        self.more_rows += below.rows() - 1;
                        below.role = Role::Absorbing;
                        self.absorbing.push(child.node);
                        continue;
                    }
                    Op::Maker(made) if made.maker.latent().is_some() => {
                        below.role = Role::Absorbing;
                        self.absorbing.push(child.node);
                        continue;
                    }
                    Op::Maker(_) => {
                        below.role = Role::AbsorbingMaker;
                        self.makers.push(child.node);
                        continue;
                    }
                    _ => {}
                }
            }
            below.role = role;
            self.stack.push((id, next as u32));
            (id, next) = (child.node, 0);
        }
    }

    /// Families all of whose references come from restructured nodes or from T.
    fn close_transient(&mut self, trace: &mut Trace) {
        (self.transient_is_plain, self.transient_choices) = (true, 0);
        for k in 0..self.target.len() {
            let node = trace.node(self.target[k]);
            if node.role == Role::Restructured {
                self.observation_may_move |= node.observed.is_some();
                self.disable(trace, node.expansion);
            }
        }
        let mut done = 0;
        while done < self.transient.len() {
            let family = self.transient[done].index();
            done += 1;
            let Family { nodes, requests, memo, .. } = &mut trace.families[family];
            self.transient_is_plain &= memo.is_none() && requests.is_empty();
            // Taken, so that they are not looked up one by one.
            let nodes = std::mem::take(nodes);
            for id in &nodes {
                self.take_out(trace, *id);
            }
            trace.families[family].nodes = nodes;
            for k in 0..trace.families[family].requests.len() {
                self.disable(trace, trace.families[family].requests[k].1);
            }
        }
    }

    /// A node of T.
    #[inline]
    fn take_out(&mut self, trace: &mut Trace, id: NodeId) {
        let epoch = trace.epoch;
        let node = trace.node_mut(id);
        let is_marked = node.mark == epoch;
        let counted = is_marked && node.role == Role::Restructured;
        self.transient_is_marked |= is_marked;
        (node.mark, node.role) = (epoch, Role::Transient);
        self.transient_choices += usize::from(node.choice_place != NOWHERE);
        match node.op {
            Op::Structure(_) => {
                self.transient_is_plain &= node.observed.is_none();
                let expansion = node.expansion;
                if !counted {
                    self.disable(trace, expansion);
                }
            }
            Op::Random(_) => {
                self.transient_is_plain &= !node.constrained && node.tags.is_empty();
            }
            Op::Function(_) => {}
            _ => self.transient_is_plain = false,
        }
    }

    fn disable(&mut self, trace: &mut Trace, id: FamilyId) {
        if id.is_none() {
            return;
        }
        let epoch = trace.epoch;
        let family = &mut trace.families[id.index()];
        if family.mark != epoch {
            (family.mark, family.disabled) = (epoch, 0);
        }
        family.disabled += 1;
        if family.disabled == family.references {
            self.transient.push(id);
        }
    }

    /// What observations that may move refer to now, with their numbers, as far as it stays.
    pub(crate) fn referents(&self, trace: &Trace) -> Vec<(u64, NodeId)> {
        let restructured = |id: &&NodeId| trace.node(**id).role == Role::Restructured;
        let moving = self.target.iter().filter(restructured).filter_map(|id| {
            let observed = trace.node(*id).observed.as_ref()?;
            Some((observed.number, self.surviving_referent(trace, *id)?))
        });
        moving.collect()
    }

    /// The choice that an observed structure refers to, if it stays when the structure changes.
    fn surviving_referent(&self, trace: &Trace, id: NodeId) -> Option<NodeId> {
        let mut operand = trace.node(id).root()?;
        loop {
            let Operand::Node(next) = operand else { return None };
            match trace.node(*next).root() {
                Some(root) => operand = root,
                None => {
                    let stays = trace.role(*next) != Some(Role::Transient);
                    return (stays && trace.node(*next).is_random()).then_some(*next);
                }
            }
        }
    }

    /// The principals in the order in which they are proposed, whatever else is in D: that of their
    /// names. None if the order is given by what is in D (an observation moves, or made procedures
    /// have draws in it).
    pub(crate) fn in_order(&self, trace: &Trace) -> Option<&[NodeId]> {
        let plain = |id: &NodeId| matches!(trace.node(*id).op, Op::Random(_));
        let free = self.transient.is_empty() && !self.observation_moves;
        (free && self.sources.iter().all(plain)).then_some(&self.sources)
    }

    /// A structure whose body is decided by the block, if there is one: a move may then change what
    /// exists.
    pub fn restructured(&self, trace: &Trace) -> Option<NodeId> {
        self.target.iter().copied().find(|id| trace.node(*id).role == Role::Restructured)
    }

    /// How many observed or other choices absorb, rows of plates one by one.
    pub fn sections(&self) -> usize {
        self.absorbing.len() + self.more_rows
    }

    /// Whether an observation may come to refer to another choice.
    pub fn moves_observations(&self) -> bool {
        self.observation_moves
    }

    /// The structures of D whose body may change, then those of T.
    pub(crate) fn branches<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = NodeId> + 'a {
        let restructured = |id: &NodeId| trace.node(*id).role == Role::Restructured;
        let is_structure = |id: &NodeId| matches!(trace.node(*id).op, Op::Structure(_));
        let target = self.target.iter().copied().filter(restructured);
        target.chain(self.transient_nodes(trace).filter(is_structure))
    }

    /// T as nodes.
    pub fn transient_nodes<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = NodeId> + 'a {
        self.transient
            .iter()
            .flat_map(|family| trace.families[family.index()].nodes.iter().copied())
    }
}

impl Trace {
    #[inline]
    pub(crate) fn mark(&mut self, id: NodeId, role: Role) {
        let epoch = self.epoch;
        let node = self.node_mut(id);
        (node.mark, node.role) = (epoch, role);
    }

    /// The part of a node in the scaffold built last.
    #[inline]
    pub fn role(&self, id: NodeId) -> Option<Role> {
        let node = self.node(id);
        (node.mark == self.epoch).then_some(node.role)
    }
}
