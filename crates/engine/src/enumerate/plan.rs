//! A candidate whose families all exist, weighed by a short list of steps.
//!
//! What a sketch does for each candidate is mostly the same: find the families of the memo keys, read
//! the predictives of made procedures, compute functions, read densities. The plan of a step is
//! made once from D and A, with every argument looked up; then each candidate runs through it on
//! references alone. A candidate for which something has to be made, or is stale, is left to the
//! sketch.

use smallvec::SmallVec;
use smidgen_prob::{Distribution, Function, Spec};
use smidgen_value::Value;

use crate::id::{FamilyId, NodeId};
use crate::node::{Arg, MemoEntry, MemoKey, Op, Role, StructureKind};
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::scaffold::Scaffold;
use crate::trace::Trace;

/// Where an argument comes from: the trace, or a node of D by its place.
#[derive(Clone, Copy)]
enum Source<'t> {
    Fixed(&'t Value),
    Slot(usize),
}

type Sources<'t> = SmallVec<[Source<'t>; 3]>;

/// How a node of D gets its value.
enum Step<'t> {
    /// It is the choice.
    Given,
    Apply(&'static Function, Sources<'t>),
    /// A structure that keeps its root.
    Follow(Source<'t>),
    Request {
        memo: NodeId,
        key: Source<'t>,
        cached: usize,
    },
    /// An observed application of what a maker of this kind made.
    Predict {
        operator: Source<'t>,
        observed: &'t Value,
        kind: &'static Spec,
    },
}

/// The values of D under a candidate.
#[derive(Default)]
struct Slots<'t> {
    slots: SmallVec<[Slot<'t>; 8]>,
    computed: SmallVec<[Value; 4]>,
}

#[derive(Clone, Copy)]
enum Slot<'t> {
    Read(&'t Value),
    Computed(usize),
}

impl<'t> Slots<'t> {
    #[inline]
    fn get<'a>(&'a self, source: Source<'a>) -> &'a Value {
        match source {
            Source::Fixed(value) => value,
            Source::Slot(place) => match self.slots[place] {
                Slot::Read(value) => value,
                Slot::Computed(place) => &self.computed[place],
            },
        }
    }

    #[inline]
    fn compute(&mut self, value: Value) {
        self.slots.push(Slot::Computed(self.computed.len()));
        self.computed.push(value);
    }
}

/// Arguments that have a place on the stack; a plan with more is none.
const MOST_ARGUMENTS: usize = 4;

#[inline]
fn with<'a, R>(
    slots: &'a Slots<'_>,
    sources: &[Source<'a>],
    read: impl FnOnce(&[&Value]) -> R,
) -> R {
    let mut values: [&Value; MOST_ARGUMENTS] = [&Value::Nil; MOST_ARGUMENTS];
    for (value, source) in values.iter_mut().zip(sources) {
        *value = slots.get(*source);
    }
    read(&values[..sources.len()])
}

/// Makers that a candidate may not read: their statistics are not as they would be.
pub(super) struct Unread<'a> {
    pub own: Option<NodeId>,
    pub left: &'a [NodeId],
}

impl Unread<'_> {
    #[inline]
    fn may_read(&self, trace: &Trace, maker: NodeId) -> bool {
        trace.role(maker).is_none() && self.own != Some(maker) && !self.left.contains(&maker)
    }
}

/// The log predictive of a value in the type that makers of this kind give. None for another kind,
/// or if the maker's arguments are stale.
#[inline]
fn log_predictive(
    trace: &Trace,
    maker: NodeId,
    observed: &Value,
    kind: &'static Spec,
) -> Option<f64> {
    let node = trace.node(maker);
    let Op::Maker(made) = &node.op else { unreachable!("a made procedure names its maker") };
    let fresh = trace.last_lazy == 0 || has_fresh_arguments(trace, maker);
    if !fresh || !std::ptr::eq(made.maker.spec(), kind) {
        return None;
    }
    trace.with_params(maker, |params| made.statistics.log_predictive(observed, params)).ok()
}

pub(super) struct Plan<'t> {
    trace: &'t Trace,
    steps: SmallVec<[Step<'t>; 8]>,
    absorbing: SmallVec<[(&'static dyn Distribution, &'t Value, Sources<'t>); 4]>,
}

impl<'t> Plan<'t> {
    /// None if something in D is of another kind.
    pub fn of(trace: &'t Trace, scaffold: &Scaffold, roots: &mut Roots) -> Option<Plan<'t>> {
        let target = &scaffold.target[..];
        let source = |arg: &'t Arg| match &arg.operand {
            Operand::Constant(value) => Some(Source::Fixed(value)),
            Operand::Node(id) => match trace.role(*id) {
                Some(Role::Target | Role::Restructured) => {
                    target.iter().position(|node| node == id).map(Source::Slot)
                }
                Some(Role::Transient) => None,
                _ => Some(Source::Fixed(&trace.node(*id).value)),
            },
        };
        let sources = |args: &'t [Arg]| {
            let mut sources = Sources::new();
            for arg in args {
                sources.push(source(arg)?);
            }
            (sources.len() <= MOST_ARGUMENTS).then_some(sources)
        };
        let mut steps = SmallVec::new();
        for id in target {
            let node = trace.node(*id);
            let step = match &node.op {
                _ if *id == scaffold.principals[0] => Step::Given,
                Op::Function(function) => Step::Apply(function, sources(&node.args)?),
                Op::Structure(_) if node.role == Role::Target => {
                    Step::Follow(source(node.args.last()?)?)
                }
                Op::Structure(structure) => match (&structure.kind, &node.observed) {
                    (StructureKind::Request { memo }, None) if node.args.len() == 2 => {
                        let key = source(&node.args[0])?;
                        Step::Request { memo: *memo, key, cached: roots.of(trace, *memo) }
                    }
                    (StructureKind::Call { operands }, Some(_)) if operands.is_empty() => {
                        // The application that there is now holds the value in its type.
                        let now = node.root()?.node()?;
                        let Op::Draw(maker) = trace.node(now).op else { return None };
                        let Op::Maker(made) = &trace.node(maker).op else { return None };
                        let (operator, kind) = (source(&node.args[0])?, made.maker.spec());
                        Step::Predict { operator, observed: &trace.node(now).value, kind }
                    }
                    _ => return None,
                },
                _ => return None,
            };
            steps.push(step);
        }
        let mut absorbing = SmallVec::new();
        for id in &scaffold.absorbing {
            let node = trace.node(*id);
            let Op::Random(distribution) = node.op else { return None };
            absorbing.push((distribution, &node.value, sources(&node.args)?));
        }
        Some(Plan { trace, steps, absorbing })
    }

    /// Σ_A and the observed applications of T_k, for the candidate of this number and value.
    pub fn weigh(
        &self,
        k: usize,
        value: &'t Value,
        unread: &Unread<'_>,
        roots: &mut Roots,
    ) -> Option<f64> {
        let trace = self.trace;
        let mut total = 0.0;
        let mut slots = Slots::default();
        let mut applied: SmallVec<[NodeId; 2]> = SmallVec::new();
        for step in &self.steps {
            let read = match step {
                Step::Given => value,
                Step::Apply(function, args) => {
                    match with(&slots, args, |args| (function.apply)(args)) {
                        Ok(value) => slots.compute(value),
                        Err(_) => return None,
                    }
                    continue;
                }
                Step::Follow(Source::Fixed(root)) => root,
                Step::Follow(Source::Slot(place)) => {
                    slots.slots.push(slots.slots[*place]);
                    continue;
                }
                Step::Request { memo, key, cached } => {
                    roots.find(trace, (*cached, k), *memo, slots.get(*key))?
                }
                Step::Predict { operator, observed, kind } => {
                    let Procedure::Made(maker) = Procedure::of(slots.get(*operator))? else {
                        return None;
                    };
                    let maker = *maker;
                    if !unread.may_read(trace, maker) || applied.contains(&maker) {
                        return None;
                    }
                    applied.push(maker);
                    total += log_predictive(trace, maker, observed, kind)?;
                    observed
                }
            };
            slots.slots.push(Slot::Read(read));
        }
        for (distribution, x, args) in &self.absorbing {
            total += with(&slots, args, |args| distribution.log_density(x, args)).ok()?;
        }
        (!total.is_nan()).then_some(total)
    }
}

fn has_fresh_arguments(trace: &Trace, id: NodeId) -> bool {
    let mut parents = trace.node(id).args.iter().filter_map(|arg| arg.operand.node());
    parents.all(|parent| !trace.is_stale(parent))
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
    /// The place of a memo table.
    fn of(&mut self, trace: &Trace, memo: NodeId) -> usize {
        if self.edits != trace.memo_edits {
            self.edits = trace.memo_edits;
            self.tables.iter_mut().for_each(|(_, families)| families.clear());
        }
        self.tables.iter().position(|(known, _)| *known == memo).unwrap_or_else(|| {
            self.tables.push((memo, Vec::new()));
            self.tables.len() - 1
        })
    }

    /// The value of the family of a key, if it exists, stays, and is fresh.
    fn find<'t>(
        &mut self,
        trace: &'t Trace,
        (table, k): (usize, usize),
        memo: NodeId,
        key: &Value,
    ) -> Option<&'t Value> {
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
        match known.root {
            NodeOrConstant::Constant => family.root.as_ref().and_then(Operand::constant),
            NodeOrConstant::Node(id) => {
                let fresh = trace.role(id).is_none() && !trace.is_stale(id);
                fresh.then(|| &trace.node(id).value)
            }
        }
    }
}
