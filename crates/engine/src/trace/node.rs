//! A node of the trace: one executed computation, its arguments (statistical parents) and its
//! children.
//!
//! Both ends of an edge know each other's place: an argument knows its position in the parent's
//! child list, an entry of a child list knows the argument it serves. So an edge is added and
//! removed in O(1), the k-th child is found in O(1), and nothing ever scans a child list.

use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_lang::Span;
use smidgen_lang::core::ExprRef;
use smidgen_prob::registry::HigherOrder;
use smidgen_prob::smooth::{self, Smooth};
use smidgen_prob::{Distribution, Function, Maker, Statistics};
use smidgen_value::{Link, Value};

use crate::environment::Environment;
use crate::id::{FamilyId, NodeId};
use crate::operand::{Operand, Operands};
use crate::plate::Plate;
use crate::tag::{Memberships, Tags};
use crate::trace::roster::Standing;

pub enum Op {
    /// A deterministic application; its value follows from its arguments.
    Function(&'static Function),
    /// A random choice.
    Random(&'static dyn Distribution),
    /// A random choice from what the maker at this node made.
    Draw(NodeId),
    /// A maker, with the statistics of all its applications. An uncollapsed maker is a random
    /// choice: its node's value is the latent parameter.
    Maker(Box<Made>),
    /// A node whose *existential* arguments decide which body is evaluated. Its last argument is
    /// the root of that body's family, whose value it takes.
    Structure(Arc<Structure>),
    /// `(mem f)`: argument values to families.
    Memo(Box<MemoTable>),
    /// Rows of a loop of observations: an observed choice for all of them.
    Plate(Box<Plate>),
    /// A frozen choice: a value without arguments.
    Frozen,
    /// No node at all: a slot to be used again.
    Free,
}

pub struct Made {
    pub maker: &'static dyn Maker,
    pub statistics: Box<dyn Statistics>,
    /// Another one after every change of the statistics, and for every maker.
    pub(crate) stamp: u64,
}

#[derive(Clone)]
pub struct MemoTable {
    pub target: Value,
    /// The scope that its applications are blocks of, see [`crate::model::Model::scope_of_name`].
    pub scope: Option<Value>,
    pub families: FxHashMap<MemoKey, MemoEntry>,
}

pub type MemoKey = SmallVec<[Value; 1]>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoEntry {
    /// Its body is being evaluated: a second request is an endless recursion.
    InProgress,
    Family(FamilyId),
}

/// How a structure node finds its family.
pub struct Structure {
    pub kind: StructureKind,
    pub environment: Environment,
    pub tags: Tags,
}

#[derive(Clone)]
pub enum StructureKind {
    /// Existential argument: the condition.
    Branch { then: ExprRef, otherwise: ExprRef },
    /// Existential argument: the operator.
    Call { operands: Operands },
    /// Existential arguments: the memo key. The family is shared with all equal requests.
    Request { memo: NodeId },
    /// Existential arguments: scope and block.
    Include { body: ExprRef },
    /// Existential argument: the scope.
    Exclude { body: ExprRef },
    /// Existential arguments: those operands of a higher-order procedure that are not constant
    /// and decide which calls are made; the others stand in `operands` as they are.
    HigherOrder { which: HigherOrder, operands: Operands, deciding: SmallVec<[usize; 2]> },
}

impl StructureKind {
    pub fn name(&self) -> &'static str {
        match self {
            StructureKind::Branch { .. } => "if",
            StructureKind::Call { .. } => "call",
            StructureKind::Request { .. } => "mem request",
            StructureKind::Include { .. } => "scope_include",
            StructureKind::Exclude { .. } => "scope_exclude",
            StructureKind::HigherOrder { .. } => "apply",
        }
    }
}

/// An observed value on its way to a choice, and the number of its observation.
#[derive(Clone, Debug)]
pub struct Observed {
    pub(crate) value: Value,
    pub(crate) number: u64,
}

impl Deref for Observed {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.value
    }
}

/// One argument: what it is, and, for a node, where it stands in that node's child list.
pub struct Arg {
    pub operand: Operand,
    pub(crate) position: u32,
    /// If the node is a hub: what this edge is to it, see [`crate::trace::roster::Standing`].
    pub(crate) standing: Standing,
}

impl Arg {
    pub(crate) fn new(operand: Operand) -> Arg {
        Arg { operand, position: 0, standing: Standing::UNKNOWN }
    }
}

/// One child edge: the child, and which of its arguments this edge is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Child {
    pub node: NodeId,
    pub slot: u32,
}

pub type Args = SmallVec<[Arg; 3]>;

/// The part a node plays in the scaffold built last; valid when `Node::mark` is that scaffold's
/// number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A principal not reached yet.
    Principal,
    /// In D.
    Target,
    /// In D, and an existential argument is in D: its family is released and found anew.
    Restructured,
    /// In A.
    Absorbing,
    /// In A: a maker that absorbs a change of its parameters for all its applications at once.
    AbsorbingMaker,
    /// In T.
    Transient,
}

/// No place in a list.
pub(crate) const NOWHERE: u32 = u32::MAX;

pub struct Node {
    pub op: Op,
    pub args: Args,
    pub children: SmallVec<[Child; 2]>,
    pub value: Value,
    /// The family that created it.
    pub(crate) family: FamilyId,
    /// For a structure: the family of its body.
    pub(crate) expansion: FamilyId,
    pub origin: Span,
    /// Where in the program's run it stands: a function of the structure alone, not of history.
    pub(crate) address: u64,
    /// Place among the unconstrained choices, or [`NOWHERE`].
    pub(crate) choice_place: u32,
    pub(crate) memberships: Memberships,
    pub(crate) tags: Tags,
    /// For a random choice: whether an observation fixes it.
    pub constrained: bool,
    /// For a random choice: set by `force`, kept by the search for a feasible start.
    pub forced: bool,
    /// In D, detached and not yet regenerated.
    pub(crate) pending: bool,
    /// Being regenerated right now.
    pub(crate) in_progress: bool,
    /// Detached with its family; freed when the transaction commits.
    pub(crate) dead: bool,
    /// For a structure on the way from an observation to its choice.
    pub(crate) observed: Option<Box<Observed>>,
    /// Keeps a roster of the local sections below it.
    pub(crate) is_hub: bool,
    /// Part of a local section that was classified: a change of its edges has to be noticed.
    pub(crate) in_section: bool,
    pub(crate) mark: u32,
    pub(crate) role: Role,
    /// Revision of the last change of the value, and the last at which it was known fresh.
    pub(crate) changed_at: u64,
    pub(crate) verified_at: u64,
}

impl Node {
    /// Whether its value may be one that is known through a link, or used as one. Any number may be used as a probability,
    /// but which numbers are known by their logarithms is seen: what `exp` gives, and what is handed on.
    pub(crate) fn may_be_known_by(&self, link: Link) -> bool {
        match (link, &self.op) {
            (Link::LogOdds, _) | (Link::Log, Op::Structure(_)) => true,
            (Link::Log, Op::Function(function)) => match smooth::find(function.spec.name) {
                Some(Smooth::Elementary(f) | Smooth::Chain(f)) => f.link() == Some(link),
                Some(Smooth::Aggregate(_)) => false,
                None => true,
            },
            (Link::Log, _) => false,
        }
    }

    pub(crate) fn free() -> Node {
        Node {
            op: Op::Free,
            args: SmallVec::new(),
            children: SmallVec::new(),
            value: Value::Nil,
            family: FamilyId::NONE,
            expansion: FamilyId::NONE,
            origin: Span { source: smidgen_lang::SourceId(0), start: 0, end: 0 },
            address: 0,
            choice_place: NOWHERE,
            memberships: Memberships::new(),
            tags: Tags::default(),
            constrained: false,
            forced: false,
            pending: false,
            in_progress: false,
            dead: false,
            observed: None,
            is_hub: false,
            in_section: false,
            mark: 0,
            role: Role::Transient,
            changed_at: 0,
            verified_at: 0,
        }
    }

    /// A random choice, constrained or not.
    pub fn is_random(&self) -> bool {
        match &self.op {
            Op::Random(_) | Op::Draw(_) => true,
            Op::Maker(made) => made.maker.latent().is_some(),
            _ => false,
        }
    }

    /// How many sections it can be: for a plate as many as it has rows.
    pub(crate) fn rows(&self) -> usize {
        match &self.op {
            Op::Plate(plate) => plate.rows(),
            _ => 1,
        }
    }

    pub fn is_live(&self) -> bool {
        !self.dead && !matches!(self.op, Op::Free)
    }

    /// Whether argument `slot` decides what exists (rather than only the value).
    pub(crate) fn is_existential(&self, slot: u32) -> bool {
        matches!(self.op, Op::Structure(_)) && (slot as usize) + 1 < self.args.len()
    }

    /// The root of a structure's family.
    pub(crate) fn root(&self) -> Option<&Operand> {
        match self.op {
            Op::Structure(_) => self.args.last().map(|arg| &arg.operand),
            _ => None,
        }
    }

    /// What it computes, for messages and pictures.
    pub fn op_name(&self) -> &str {
        match &self.op {
            Op::Function(function) => function.spec.name,
            Op::Random(distribution) => distribution.spec().name,
            Op::Draw(_) => "draw",
            Op::Maker(made) => made.maker.spec().name,
            Op::Structure(structure) => structure.kind.name(),
            Op::Plate(plate) => plate.distribution().spec().name,
            Op::Memo(_) => "mem",
            Op::Frozen => "frozen",
            Op::Free => "free",
        }
    }
}
