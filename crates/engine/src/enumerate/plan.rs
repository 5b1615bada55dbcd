//! What an enumeration of one choice computes: D as a short list of steps, and A.
//!
//! What is computed for each candidate is mostly the same: find the families of the memo keys, read
//! the predictives of made procedures, compute functions, read densities. The plan of a choice is
//! made once from D and A, with every argument looked up. From it a program in lanes is written
//! ([`super::writer`]), candidates are computed one at a time where that is needed ([`super::boxed`]), and a
//! candidate is installed in place ([`super::relocate`]).
//!
//! Without the names of nodes and the constants this is a [`Shape`]. A plan is kept (see [`super::kept`]), and so
//! is the scaffold: D and A are part of it.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_prob::Maker;
use smidgen_value::Value;

use super::kept::MemoRootCache;
use super::selected;
use super::shape::{Shape, Source, Sources, Step};
use crate::formula::{Select, Standing};
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::{Arg, Made, Node, Op, Role, StructureKind};
use crate::trace::scaffold::Scaffold;

#[derive(Clone, Copy)]
pub(super) struct Planned<'a> {
    pub plan: &'a Plan,
    pub shape: &'a Shape,
}

/// What one choice adds to the shape.
pub(super) struct Plan {
    /// As of this many edits of edges.
    pub(super) edge_edits: u64,
    pub(super) shape: u32,
    /// What the choice is drawn from, if that was made.
    pub(super) own_maker: Option<NodeId>,
    /// D, in order.
    pub(super) target: SmallVec<[NodeId; 6]>,
    pub(super) operands: SmallVec<[Operand; 4]>,
    pub(super) absorbing: SmallVec<[NodeId; 2]>,
    /// Families of rows that structures which select read, none of which goes with D.
    rows: SmallVec<[FamilyId; 2]>,
    /// As of this many edits of memo tables, and for this structure, if what else D asks for could ask for them too.
    memo_edits: u64,
    structure: Option<u64>,
    /// Whether a structure would select if a row were there.
    pub(super) misses_rows: bool,
    /// The numbers of its row, once they were read.
    pub(super) row: OnceLock<KeptRow>,
}

/// The numbers of a row whose operands are constants: where they lie together, memory is asked once.
pub(super) struct KeptRow {
    /// Which program of the shape they are for.
    pub program: u32,
    pub numbers: Box<[f64]>,
}

/// A plan in the making.
pub(super) struct Draft<'a> {
    trace: &'a Trace,
    target: &'a [NodeId],
    selects: &'a FxHashMap<NodeId, Select>,
    operands: SmallVec<[Operand; 4]>,
}

impl Draft<'_> {
    /// The place of an operand. Equal vectors are one: then there is one to read.
    pub(super) fn fixed(&mut self, operand: Operand) -> u32 {
        let known = self.operands.iter().position(|known| is_same_vector(known, &operand));
        known.unwrap_or_else(|| {
            self.operands.push(operand);
            self.operands.len() - 1
        }) as u32
    }

    fn source(&mut self, arg: &Arg) -> Option<Source> {
        if let Operand::Node(id) = arg.operand
            && let Some(place) = self.slot(id)?
        {
            return Some(place);
        }
        Some(Source::Fixed(self.fixed(arg.operand.clone())))
    }

    /// The place of a node in D; the outer none if it goes with D.
    fn slot(&self, id: NodeId) -> Option<Option<Source>> {
        match self.trace.role(id) {
            Some(Role::Target | Role::Restructured) => {
                let place = self.target.iter().position(|node| *node == id)?;
                Some(Some(Source::Slot(place as u32)))
            }
            Some(Role::Transient) => None,
            _ => Some(None),
        }
    }

    /// What structures that select read: mostly the same few nodes.
    pub(super) fn source_of_node(&mut self, id: NodeId) -> Option<Source> {
        if let Some(place) = self.slot(id)? {
            return Some(place);
        }
        let is_it = |known: &Operand| known.node() == Some(id);
        let known = self.operands.iter().position(is_it).map(|place| place as u32);
        Some(Source::Fixed(known.unwrap_or_else(|| self.fixed(Operand::Node(id)))))
    }

    fn sources(&mut self, args: &[Arg]) -> Option<Sources> {
        args.iter().map(|arg| self.source(arg)).collect()
    }

    /// The step of a node of D that is not the choice, and whether what the node alone refers to in
    /// T is the application that the step predicts.
    fn step(&mut self, id: NodeId, roots: &mut MemoRootCache) -> Option<(Step, bool)> {
        let (trace, node) = (self.trace, self.trace.node(id));
        if let Some(select) = self.selects.get(&id)
            && let Some(selected) = self.selected(select)
        {
            let step = if select.is_density { Step::Weigh } else { Step::Select };
            return Some((step(selected), true));
        }
        let step = match &node.op {
            Op::Function(function) => Step::Apply(function, self.sources(&node.args)?),
            Op::Structure(_) if node.role == Role::Target => {
                Step::Follow(self.source(node.args.last()?)?)
            }
            Op::Structure(structure) => match (&structure.kind, &node.observed) {
                (StructureKind::Request { memo }, None) if node.args.len() == 2 => {
                    let key = self.source(&node.args[0])?;
                    Step::Request { memo: *memo, key, table: roots.table(*memo) }
                }
                (StructureKind::Call { operands }, Some(asked))
                    if operands.is_empty() && application(trace, node).is_some() =>
                {
                    let (now, made) = application(trace, node)?;
                    let family = &trace.families[node.expansion.index()];
                    let alone = family.nodes[..] == [now]
                        && family.requests.is_empty()
                        && family.references == 1
                        && trace.node(now).constrained;
                    let (operator, maker) = (self.source(&node.args[0])?, made.maker);
                    let observed = self.fixed(asked.value.clone().into());
                    let typed = self.fixed(trace.node(now).value.clone().into());
                    return Some((Step::Predict { operator, observed, typed, maker }, alone));
                }
                _ => {
                    let existential = &node.args[..node.args.len() - 1];
                    return Some((Step::Expand(self.sources(existential)?), false));
                }
            },
            _ => return None,
        };
        Some((step, true))
    }
}

/// To the bit.
fn is_same_vector(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Constant(Value::Vector(a)), Operand::Constant(Value::Vector(b))) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        _ => false,
    }
}

/// The application that an observed call makes now, and its maker: it holds the value in its type.
fn application<'t>(trace: &'t Trace, node: &Node) -> Option<(NodeId, &'t Made)> {
    let now = node.root()?.node()?;
    let Op::Draw(maker) = trace.node(now).op else { return None };
    let Op::Maker(made) = &trace.node(maker).op else { return None };
    Some((now, made))
}

impl Plan {
    /// The plan of the choice whose scaffold was just built, and its shape. None if something in D is
    /// of another kind.
    pub(super) fn of(
        trace: &mut Trace,
        scaffold: &Scaffold,
        roots: &mut MemoRootCache,
    ) -> Option<(Plan, Shape)> {
        let target = &scaffold.target[..];
        let Standing { of: selects, rows, misses_rows } = selected::find(trace, scaffold);
        let trace = &*trace;
        let mut draft = Draft { trace, target, selects: &selects, operands: SmallVec::new() };
        let mut shape = Shape {
            steps: SmallVec::new(),
            absorbing: SmallVec::new(),
            observation_moves: scaffold.observation_moves,
            whole: true,
            tagged: false,
            lookups: SmallVec::new(),
            looks_up: true,
        };
        for id in target {
            let (step, alone) = match *id == scaffold.principals[0] {
                true => (Step::Given, true),
                false => draft.step(*id, roots)?,
            };
            shape.steps.push(step);
            shape.whole &= alone;
            shape.tagged |= matches!(&trace.node(*id).op, Op::Structure(s) if !s.tags.is_empty());
        }
        for id in &scaffold.absorbing {
            let node = trace.node(*id);
            let Op::Random(distribution) = node.op else { return None };
            shape.absorbing.push((distribution, draft.sources(&node.args)?));
        }
        shape.find_lookups();
        let own_maker = match trace.node(scaffold.principals[0]).op {
            Op::Draw(maker) => Some(maker),
            _ => None,
        };
        let asks = |step: &Step| {
            matches!(step, Step::Request { .. } | Step::Predict { .. } | Step::Expand(_))
        };
        let may_share = !rows.is_empty() && shape.steps.iter().any(asks);
        let plan = Plan {
            edge_edits: trace.edge_edits,
            structure: may_share.then(|| trace.structure_revision()),
            shape: 0,
            own_maker,
            target: SmallVec::from_slice(target),
            operands: draft.operands,
            absorbing: SmallVec::from_slice(&scaffold.absorbing),
            rows: rows.into(),
            memo_edits: trace.memo_edits,
            misses_rows,
            row: OnceLock::new(),
        };
        Some((plan, shape))
    }

    /// Numbers that it takes to keep.
    pub(super) fn size(&self) -> usize {
        self.target.len() + self.absorbing.len() + 2 * self.operands.len()
    }

    /// Whether the scaffold is still as it was. What candidates will read is looked at on the way, so that
    /// memory answers for all of it at a time.
    #[inline]
    pub(super) fn holds(&self, trace: &Trace) -> bool {
        let last = self.target.iter().fold(0, |last, id| trace.edges_at(*id).max(last));
        let mut looked_at = 0.0;
        if let Some(row) = self.row.get() {
            looked_at += row.numbers.first().copied().unwrap_or(0.0);
        }
        if let [id] = self.absorbing[..] {
            looked_at += trace.numbers[id.index()];
        }
        std::hint::black_box(looked_at);
        last <= self.edge_edits && self.has_rows(trace)
    }

    /// Whether the rows that it reads are there, and are asked for by others than D.
    #[inline]
    fn has_rows(&self, trace: &Trace) -> bool {
        self.rows.is_empty()
            || self.memo_edits == trace.memo_edits
                && self.structure.is_none_or(|structure| structure == trace.structure_revision())
                && self.rows.iter().all(|row| {
                    let own: usize = self.target.iter().map(|id| requests(trace, *id, *row)).sum();
                    trace.families[row.index()].references as usize > own
                })
    }
}

/// How often a node asks for a row: itself, or by what it has made. Other rows are shared, and not its own.
fn requests(trace: &Trace, id: NodeId, row: FamilyId) -> usize {
    let expansion = trace.node(id).expansion;
    if expansion.is_none() || expansion == row {
        return usize::from(expansion == row);
    }
    let family = &trace.families[expansion.index()];
    if family.memo.is_some() {
        return 0;
    }
    let own = family.requests.iter().filter(|(_, asked)| *asked == row).count();
    own + family.nodes.iter().map(|id| requests(trace, *id, row)).sum::<usize>()
}

/// What a candidate's applications of made procedures count for.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum CandidateRole {
    /// The current state: they are counted, and each is scored given the others.
    Current,
    #[default]
    Other,
}

/// The log predictive of a value in the type that makers of this kind give. None for another kind,
/// or if the maker's arguments are stale.
#[inline]
pub(super) fn score<'t>(
    trace: &'t Trace,
    maker: NodeId,
    typed: &Value,
    kind: &'static dyn Maker,
    state: CandidateRole,
) -> Option<f64> {
    let node = trace.node(maker);
    let Op::Maker(made) = &node.op else { unreachable!("a made procedure names its maker") };
    if !std::ptr::addr_eq(made.maker, kind) {
        return None;
    }
    let read = |params: &[&Value]| match state {
        CandidateRole::Current => made.statistics.log_leave_one_out(typed, params).ok(),
        CandidateRole::Other => made.statistics.log_predictive(typed, params).ok(),
    };
    if made.maker.latent().is_some() {
        return read(&[&node.value]);
    }
    let param = |arg: &'t Arg| match &arg.operand {
        Operand::Constant(value) => Some(value),
        Operand::Node(id) => (!trace.is_stale(*id)).then(|| &trace.node(*id).value),
    };
    // As for vectors of unknown mean and covariance, without a list.
    if let [a, b, c, d] = &node.args[..] {
        return read(&[param(a)?, param(b)?, param(c)?, param(d)?]);
    }
    let params: Option<SmallVec<[&Value; 4]>> = node.args.iter().map(param).collect();
    read(&params?)
}
