//! Definition 1: the probabilistic execution trace, a directed graph of the computations that
//! one run of the program executed.
//!
//! Statistical edges are the arguments of nodes. Existential edges run from a structure node to
//! the family of nodes its body created. Variables are no nodes (a reference is the node it
//! refers to), constants are no nodes, and a call of a known procedure is its body: the trace
//! holds only what can change.

pub(crate) mod address;
pub mod apply;
pub mod bound;
pub mod density;
pub mod eval;
mod evaluation;
pub(crate) mod explore;
pub mod family;
pub mod fault;
pub mod freshness;
pub mod higher_order;
pub mod journal;
mod kept_scaffold;
mod names;
pub mod node;
pub mod observe;
mod payload;
pub mod proposal;
pub mod roster;
pub mod row;
pub mod scaffold;
pub(crate) mod script;
pub(crate) mod side;

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use smallvec::SmallVec;
use smidgen_lang::Span;
use smidgen_value::{Symbol, Value};

use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::plate::PlateScratch;
use crate::tag::{Scopes, Tags};
use crate::trace::address::address;
use crate::trace::density::KeptDensity;
use crate::trace::explore::Explorer;
use crate::trace::family::Family;
use crate::trace::journal::Edit;
use crate::trace::node::{Arg, Args, Node, Observed, Op};
use crate::trace::script::Given;
use kept_scaffold::KeptScaffolds;
use roster::Sections;
use side::SideTables;

#[derive(Default)]
pub struct Trace {
    pub(crate) nodes: Vec<Node>,
    pub(crate) free_nodes: Vec<NodeId>,
    pub(crate) families: Vec<Family>,
    pub(crate) free_families: Vec<FamilyId>,
    /// Names bound by `assume`, by the name's index.
    pub(crate) globals: Vec<Option<Operand>>,
    /// All names that were ever assumed, for suggestions.
    pub(crate) assumed: Vec<Symbol>,
    /// Built-in procedures as values, made when first asked for.
    pub(crate) builtins: Vec<Option<Value>>,
    /// Unconstrained random choices, in the order of history.
    pub(crate) choices: Vec<NodeId>,
    pub(crate) scopes: Scopes,
    pub(crate) journal: Vec<Edit>,
    /// Number of the last commit.
    pub(crate) revision: u64,
    /// The last revision that changed a value without rewriting its descendants.
    pub(crate) last_lazy: u64,
    /// Number of the last scaffold: the meaning of marks on nodes.
    pub(crate) epoch: u32,
    /// Number of commits in which unconstrained choices came or went.
    pub(crate) population: u64,
    /// Number of commits that changed more than values.
    pub(crate) structure: u64,
    /// Number of unconstrained choices after the last directive: inference does not change it.
    pub(crate) sweep: usize,
    /// Number of edits of memo tables, and of edges.
    pub(crate) memo_edits: u64,
    pub(crate) edge_edits: u64,
    /// The last of [`Made::stamp`].
    pub(crate) stamps: u64,
    /// Number of procedures and environments made: what they are ordered by.
    pub(crate) creations: u64,
    /// Number of values written.
    pub(crate) value_edits: u64,
    /// By node: the number of the last edit of its edges. Apart from the nodes, so that the nodes of
    /// one row are looked at together.
    pub(crate) edges_at: Vec<u64>,
    /// By node: its value if that is a number, else NaN. Apart from the nodes, because the values of many
    /// sections are read one after the other.
    pub(crate) numbers: Vec<f64>,
    /// By node: its log density as it was last asked for.
    pub(crate) densities: Vec<KeptDensity>,
    pub(crate) scaffolds: KeptScaffolds,
    /// What clients keep.
    pub(crate) side: SideTables,
    /// Rosters of local sections.
    pub(crate) sections: Sections,
    /// What plates are evaluated on.
    pub(crate) desk: Mutex<PlateScratch>,
    /// While a start is searched for, impossible observations are counted and not weighed.
    pub(crate) is_lenient: bool,
    pub(crate) impossible: AtomicU64,
    /// Set from outside to stop an evaluation that takes too long.
    pub interrupt: Arc<AtomicBool>,
    /// Values that choices take instead of being drawn, see `model/state.rs` and [`crate::check::again`].
    pub(crate) given: Option<Box<Given>>,
    /// Which values choices take while all runs of a program are gone through.
    pub(crate) explorer: Option<Box<Explorer>>,
    /// A mistake that was put back.
    #[cfg(feature = "twins")]
    pub(crate) fault: Option<crate::trace::fault::Fault>,
}

/// Calls `f` with the value of each. Nearly all procedures have few arguments, and this is asked for with every density.
#[inline]
fn with_each<'a, T, R>(
    all: &'a [T],
    value: impl Fn(&'a T) -> &'a Value,
    f: impl FnOnce(&[&Value]) -> R,
) -> R {
    match all {
        [a, b] => f(&[value(a), value(b)]),
        [a] => f(&[value(a)]),
        [a, b, c] => f(&[value(a), value(b), value(c)]),
        all => f(&all.iter().map(value).collect::<SmallVec<[&Value; 8]>>()),
    }
}

fn number_or_nan(value: &Value) -> f64 {
    if let Value::Number(x) = value { *x } else { f64::NAN }
}

impl Trace {
    pub fn new() -> Trace {
        Trace::default()
    }

    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// Unconstrained random choices, in the order of history.
    pub fn choices(&self) -> &[NodeId] {
        &self.choices
    }

    /// What a node computes and where it stands in the program, for people.
    pub fn origin(&self, id: NodeId) -> (&str, Span) {
        (self.node(id).op_name(), self.node(id).origin)
    }

    /// How many values use a node directly.
    pub fn uses(&self, id: NodeId) -> usize {
        self.node(id).children.len()
    }

    /// Unconstrained choices by their addresses: an order that does not depend on history.
    pub fn choices_by_address(&self) -> Vec<(u64, NodeId)> {
        let mut choices: Vec<(u64, NodeId)> =
            self.choices.iter().map(|id| (self.node(*id).address, *id)).collect();
        choices.sort_unstable();
        choices
    }

    /// Changes whenever unconstrained choices have come or gone.
    pub fn population(&self) -> u64 {
        self.population
    }

    /// Changes with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Changes whenever more than values have changed.
    pub fn structure_revision(&self) -> u64 {
        self.structure
    }

    /// Where in the program's run a node stands: a function of the structure alone.
    pub fn address(&self, id: NodeId) -> u64 {
        self.node(id).address
    }

    /// How many single-choice moves a sweep makes: the number of unconstrained choices after the
    /// last directive. (The number now would depend on the state, and a number of moves that
    /// does leaves nothing invariant.)
    pub fn sweep(&self) -> usize {
        self.sweep
    }

    /// Whether a name, which may be old, is that of an unconstrained choice now.
    pub fn is_choice(&self, id: NodeId) -> bool {
        self.node(id).is_live() && self.node(id).choice_place != crate::trace::node::NOWHERE
    }

    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// All live nodes in order of their places.
    pub fn live_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let live = self.nodes.iter().enumerate().filter(|(_, node)| node.is_live());
        live.map(|(i, _)| NodeId(i as u32))
    }

    /// Slots in use or kept for reuse: memory, in nodes.
    pub fn capacity(&self) -> usize {
        self.nodes.len()
    }

    // ------------------------------------------------------------ nodes

    /// Adds a node to a family and links it to its arguments.
    pub(crate) fn add_node(
        &mut self,
        op: Op,
        operands: impl IntoIterator<Item = Operand>,
        value: Value,
        (family, tags, origin): (FamilyId, Tags, Span),
    ) -> NodeId {
        let id = self.free_nodes.pop().unwrap_or_else(|| {
            self.nodes.push(Node::free());
            self.numbers.push(f64::NAN);
            NodeId(self.nodes.len() as u32 - 1)
        });
        self.numbers[id.index()] = number_or_nan(&value);
        let revision = self.revision + 1;
        let node = &mut self.nodes[id.index()];
        node.op = op;
        node.args.extend(operands.into_iter().map(Arg::new));
        node.value = value;
        node.family = family;
        node.expansion = FamilyId::NONE;
        node.origin = origin;
        let owner = &self.families[family.index()];
        node.address = address(owner.address, owner.nodes.len() as u64);
        node.tags = tags;
        node.choice_place = crate::trace::node::NOWHERE;
        (node.constrained, node.forced) = (false, false);
        (node.pending, node.in_progress, node.dead) = (false, false, false);
        node.mark = 0;
        (node.changed_at, node.verified_at) = (revision, revision);
        for slot in 0..node.args.len() {
            self.link(id, slot);
        }
        self.note_edges(id);
        self.journal.push(Edit::NodeAdded(id));
        self.families[family.index()].nodes.push(id);
        id
    }

    pub(crate) fn set_value(&mut self, id: NodeId, value: Value) {
        let old = self.replace_value(id, value);
        // There is room before it is put together, so that it is written where it stays. Copied from the stack in other
        // pieces than it was written in, it would hold up the processor.
        self.journal.extend(std::iter::once_with(|| Edit::Value(id, old)));
    }

    /// Writes a value, and nothing down about it.
    pub(crate) fn replace_value(&mut self, id: NodeId, value: Value) -> Value {
        self.value_edits += 1;
        self.numbers[id.index()] = number_or_nan(&value);
        std::mem::replace(&mut self.node_mut(id).value, value)
    }

    pub(crate) fn set_constrained(&mut self, id: NodeId, constrained: bool) {
        let was = std::mem::replace(&mut self.node_mut(id).constrained, constrained);
        self.disturb(id);
        self.journal.push(Edit::Constrained(id, was));
    }

    pub(crate) fn set_forced(&mut self, id: NodeId, forced: bool) {
        let was = std::mem::replace(&mut self.node_mut(id).forced, forced);
        self.journal.push(Edit::Forced(id, was));
    }

    pub(crate) fn set_observed(&mut self, id: NodeId, observed: Option<Box<Observed>>) {
        let was = std::mem::replace(&mut self.node_mut(id).observed, observed);
        self.note_edges(id);
        self.journal.push(Edit::Observed(id, was));
    }

    /// Turns a node into a constant of its current value.
    pub(crate) fn freeze_node(&mut self, id: NodeId) {
        if self.node(id).choice_place != crate::trace::node::NOWHERE {
            self.remove_from_choices(id);
        }
        for slot in 0..self.node(id).args.len() {
            self.unlink(id, slot);
        }
        let node = self.node_mut(id);
        let op = std::mem::replace(&mut node.op, Op::Frozen);
        let args: Args = std::mem::take(&mut node.args);
        let expansion = std::mem::replace(&mut node.expansion, FamilyId::NONE);
        self.note_edges(id);
        self.journal.push(Edit::Frozen(id, Box::new((op, args, expansion))));
    }

    // ------------------------------------------------------------ reading

    /// The value of an operand that is known to be settled.
    #[inline]
    pub(crate) fn settled_value<'a>(&'a self, operand: &'a Operand) -> &'a Value {
        match operand {
            Operand::Constant(value) => value,
            Operand::Node(id) => &self.node(*id).value,
        }
    }

    /// Calls `f` with the values of operands, which must be settled.
    #[inline]
    pub(crate) fn with_operands<R>(
        &self,
        operands: &[Operand],
        f: impl FnOnce(&[&Value]) -> R,
    ) -> R {
        with_each(operands, |operand| self.settled_value(operand), f)
    }

    /// Calls `f` with the values of a node's arguments, which must be settled.
    #[inline]
    pub(crate) fn with_args<R>(&self, id: NodeId, f: impl FnOnce(&[&Value]) -> R) -> R {
        self.with_values(&self.node(id).args, f)
    }

    #[inline]
    fn with_values<'a, R>(&'a self, args: &'a [Arg], f: impl FnOnce(&[&Value]) -> R) -> R {
        with_each(args, |arg| self.settled_value(&arg.operand), f)
    }

    /// The nodes among a node's arguments: for a plate, all of them.
    pub(crate) fn parents(&self, id: NodeId) -> SmallVec<[NodeId; 4]> {
        self.node(id).args.iter().filter_map(|arg| arg.operand.node()).collect()
    }
}
