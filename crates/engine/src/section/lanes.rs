//! Sections of one kind as a program: their nodes compute the same from different leaves, so many are
//! weighed together, lane by lane ([`crate::program`]), from the hub before and after.
//!
//! The program is written from the first section that is asked for. Its leaves are found in each
//! section by the same ways, an argument of one of its nodes, or an argument of a deterministic
//! argument, and so on, and what was found is kept ([`super::leaf_cache`]). Such arguments are computed in the lanes rather than read, since an accepted move
//! leaves them stale (in `(normal (* phi h) sigma)` the product, when sigma moves after phi). What no
//! program can follow is weighed node by node ([`super::evaluate`]).

use smallvec::SmallVec;
use smidgen_prob::Function;
use smidgen_value::{Link, Value};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::cells::Pick;
use crate::program::links::{self, Known};
use crate::program::lower;
use crate::program::marked;
use crate::program::rows::{LARGEST_BLOCK, Rows};
use crate::program::run::Store;
use crate::program::{Program, Register, Source};
use crate::section::component::is_deterministic;
use crate::section::leaf_cache::{Draft, LARGEST, LeafCache, Origin, Places, Reading};
use crate::section::writer::Writer;
use crate::trace::Trace;
use crate::trace::node::Op;

/// Where a leaf stands in a section.
pub(super) enum LeafPlace {
    /// The value of an absorbing choice.
    Outcome(usize),
    /// An argument of a node, or of the functions on the way to it.
    Argument { node: usize, slot: usize, way: SmallVec<[(&'static Function, usize); 2]> },
}

pub(super) struct Leaf {
    pub place: LeafPlace,
    pub register: Register,
    pub len: usize,
}

/// What sections of a kind compute.
pub(crate) struct SectionProgram {
    rows: Rows,
    leaves: Vec<Leaf>,
    /// Constants that have to be 1: the program takes what is subtracted from them for the other side of a coin.
    ones: Vec<Leaf>,
    /// Number of nodes of a section, and of numbers of the hub.
    nodes: usize,
    hub: usize,
    /// Whether what the hub is known by is read, after its one number: by each link.
    linked: bool,
    kept: LeafCache,
    draft: Draft,
}

impl SectionProgram {
    /// The program of a section, its nodes in order. None if there is none.
    pub(crate) fn write(trace: &Trace, hub: NodeId, nodes: &[NodeId]) -> Option<SectionProgram> {
        let value = &trace.node(hub).value;
        let numbers = lower::numbers(value).ok()?.len();
        let hub_value = lower::renumber(value, &mut (0..).map(marked::global));
        let (values, leaves, ones) = (Vec::with_capacity(nodes.len()), Vec::new(), Vec::new());
        let mut program = Program::default();
        if let Value::Number(_) | Value::Linked(..) = value {
            for (link, eta) in Link::ALL.into_iter().zip(1..) {
                if trace.node(hub).may_be_known_by(link) {
                    program.global_links.insert((0, link), Known::of_argument(eta));
                }
            }
        }
        let mut writer = Writer { trace, hub, hub_value, nodes, values, program, leaves, ones };
        for k in 0..nodes.len() {
            let value = writer.node(k)?;
            writer.values.push(value);
        }
        let Writer { program, mut leaves, ones, .. } = writer;
        if program.terms.is_empty() {
            return None;
        }
        let linked = program.leaves.iter().any(|leaf| {
            numbers == 1 && matches!(leaf.source, Source::Global(register) if register > 0)
        });
        let rows = Rows::over_lanes(program);
        // Leaves that nothing reads have no registers any more.
        for (leaf, kept) in leaves.iter_mut().zip(rows.lanes_of_leaves()) {
            leaf.register = kept;
        }
        leaves.retain(|leaf| leaf.register != Register::MAX);
        let (nodes, hub) = (nodes.len(), numbers);
        let (kept, draft) = (LeafCache::default(), Draft::default());
        Some(SectionProgram { rows, leaves, ones, nodes, hub, linked, kept, draft })
    }

    /// What a section computes, given the numbers of its hub and of its leaves. None if it reads the hub by a link.
    pub(crate) fn rows(&self) -> Option<&Rows> {
        (!self.linked).then_some(&self.rows)
    }

    /// How many numbers the leaves of a section are, one after the other in the order of the lanes that something reads.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.leaves.iter().map(|leaf| leaf.len)
    }

    /// The numbers that the leaves of a section stand for, if they stay what they are as long as its edges do.
    pub(crate) fn read_fixed(
        &mut self,
        trace: &Trace,
        nodes: &[NodeId],
        out: &mut Vec<f64>,
    ) -> Result<(), Unfixed> {
        if nodes.len() != self.nodes {
            return Err(Unfixed::Form);
        }
        let mut draft = std::mem::take(&mut self.draft);
        draft.clear();
        let found = self.ones.iter().all(|leaf| is_one(trace, nodes, leaf, &mut draft))
            && self.leaves.iter().all(|leaf| find(trace, nodes, leaf, &mut draft));
        let read = match found {
            true => self.leaves.iter().zip(&draft.origins).try_for_each(|(leaf, origin)| {
                let before = out.len();
                put_fixed(trace, origin, out)?;
                if out.len() == before + leaf.len { Ok(()) } else { Err(Unfixed::Form) }
            }),
            false => Err(Unfixed::Form),
        };
        self.draft = draft;
        read
    }

    /// Whether a value of the hub has the form that the program was written for.
    pub(crate) fn hub_numbers(&self, value: &Value, out: &mut Vec<f64>) -> bool {
        out.clear();
        if self.linked {
            let single = marked::numbers(value, out) && out.len() == 1;
            out.extend(Link::ALL.map(|link| links::eta_of(value, link)));
            return single;
        }
        marked::plain_numbers(value, out) && out.len() == self.hub
    }

    pub(crate) fn fit(&self, store: &mut Store) {
        self.rows.fit(store);
    }

    /// Whether it pays to keep where the leaves are, with so many sections.
    pub(crate) fn keeps(population: usize) -> bool {
        population <= LARGEST
    }

    /// The number of sections that are weighed at a time.
    pub(crate) fn sections(&self) -> usize {
        self.rows.rows_on_both_sides()
    }

    /// Number of nodes of a section.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Brings the leaves of the sections that these units of a hub stand for into the lanes, leaf by leaf. Those of which
    /// it is not known where they are, are `missing`. False if one has another form.
    pub(crate) fn recall(
        &mut self,
        trace: &mut Trace,
        (hub, units): (NodeId, &[u32]),
        missing: &mut Vec<usize>,
        store: &mut Store,
        room: &mut Vec<f64>,
    ) -> Result<bool, EvalError> {
        let SectionProgram { kept, leaves, .. } = self;
        kept.begin(trace);
        let (lanes, wide) = (units.len(), store.wide);
        let mut found = [0_u32; LARGEST_BLOCK / 2];
        let (which, places) = if kept.stand_in_order(trace, hub, lanes) {
            (Places::InOrder, units)
        } else {
            kept.find_all(trace, (hub, units), &mut found[..lanes], missing);
            (Places::Kept, &found[..lanes])
        };
        for (k, leaf) in leaves.iter().enumerate() {
            let out = store.lanes_mut(leaf.register, lanes);
            let numbers = kept.numbers(trace, k, (which, places), out, wide)?;
            if numbers && leaf.len == 1 {
                continue;
            }
            // Those that are no numbers.
            let mut absent = missing.iter().peekable();
            for (lane, place) in places.iter().enumerate() {
                let is_missing = absent.next_if_eq(&&lane).is_some();
                let is_known = leaf.len == 1 && !store.lanes(leaf.register, lanes)[lane].is_nan();
                if is_missing || is_known {
                    continue;
                }
                let origin = *kept.origin(trace, (which, *place), k);
                if !read_value(trace, leaf, &origin, lane, store, room)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The same for one section, given its nodes; what is found may be kept. False if it has another form.
    pub(crate) fn load(
        &mut self,
        trace: &mut Trace,
        (entry, nodes): (NodeId, &[NodeId]),
        keeps: bool,
        lane: usize,
        store: &mut Store,
        room: &mut Vec<f64>,
    ) -> Result<bool, EvalError> {
        if nodes.len() != self.nodes {
            return Ok(false);
        }
        let mut draft = std::mem::take(&mut self.draft);
        draft.clear();
        draft.nodes.extend_from_slice(nodes);
        let found = self.ones.iter().all(|leaf| is_one(trace, nodes, leaf, &mut draft))
            && self.leaves.iter().all(|leaf| find(trace, nodes, leaf, &mut draft));
        if found && keeps {
            self.kept.keep(trace, entry, &draft);
        }
        let mut loaded = Ok(found);
        for (leaf, origin) in self.leaves.iter().zip(&draft.origins) {
            if let Ok(true) = loaded {
                loaded = read(trace, leaf, origin, lane, store, room);
            }
        }
        self.draft = draft;
        loaded
    }

    /// log p after a move minus log p before it of the sections in the lanes. False if one of them is
    /// no finite number.
    pub(crate) fn log_ratios(
        &self,
        store: &mut Store,
        sides: [&[f64]; 2],
        out: &mut [f64],
    ) -> bool {
        self.rows.log_ratios(store, sides, Pick::From(0), out)
    }
}

/// Where a leaf of a section stands, and the nodes on the way. False if the section has another form.
fn find(trace: &Trace, nodes: &[NodeId], leaf: &Leaf, draft: &mut Draft) -> bool {
    let (mut id, mut slot, way) = match &leaf.place {
        LeafPlace::Outcome(k) => {
            draft.origins.push(Origin::at(nodes[*k], Reading::Plain));
            return true;
        }
        LeafPlace::Argument { node, slot, way } => (nodes[*node], *slot, way),
    };
    for (function, next) in way {
        let Some(parent) = trace.node(id).args[slot].operand.node() else { return false };
        let same = matches!(&trace.node(parent).op, Op::Function(f) if std::ptr::eq(*f, *function));
        if !same || trace.node(parent).args.len() <= *next {
            return false;
        }
        draft.nodes.push(parent);
        (id, slot) = (parent, *next);
    }
    draft.origins.push(match &trace.node(id).args[slot].operand {
        Operand::Constant(Value::Number(x)) => Origin::number(*x),
        Operand::Constant(_) => Origin::at(id, Reading::Constant(slot as u32)),
        Operand::Node(parent) if is_deterministic(trace.node(*parent)) => {
            Origin::at(*parent, Reading::Derived)
        }
        Operand::Node(parent) => Origin::at(*parent, Reading::Plain),
    });
    true
}

/// Why the leaves of a section are not the same numbers as long as its edges stay.
pub(crate) enum Unfixed {
    /// It has not the form that the program was written for.
    Form,
    /// It reads something that moves.
    Moves(NodeId),
}

/// The numbers of a leaf that is a constant or observed.
fn put_fixed(trace: &Trace, origin: &Origin, out: &mut Vec<f64>) -> Result<(), Unfixed> {
    let value = match origin.reading {
        Reading::Plain if origin.node == NodeId::NONE => {
            out.push(origin.number);
            return Ok(());
        }
        Reading::Constant(slot) => {
            trace.settled_value(&trace.node(origin.node).args[slot as usize].operand)
        }
        Reading::Plain if trace.node(origin.node).constrained => &trace.node(origin.node).value,
        Reading::Plain | Reading::Derived => return Err(Unfixed::Moves(origin.node)),
    };
    match value {
        Value::Number(x) => out.push(*x),
        Value::Vector(xs) => out.extend(xs.iter()),
        value if marked::plain_numbers(value, out) => {}
        _ => return Err(Unfixed::Form),
    }
    Ok(())
}

/// Whether a leaf is the constant 1.
fn is_one(trace: &Trace, nodes: &[NodeId], leaf: &Leaf, draft: &mut Draft) -> bool {
    let found = find(trace, nodes, leaf, draft);
    let origin = draft.origins.pop();
    found && origin.is_some_and(|origin| origin.node == NodeId::NONE && origin.number == 1.0)
}

/// A leaf that is a number and not stale.
#[inline(always)]
fn number(trace: &Trace, leaf: &Leaf, origin: &Origin) -> Option<f64> {
    let number = trace.numbers.get(origin.node.index()).copied().unwrap_or(origin.number);
    let fresh = match origin.reading {
        Reading::Plain => true,
        Reading::Derived => !trace.is_stale(origin.node),
        Reading::Constant(_) => false,
    };
    (fresh && leaf.len == 1 && !number.is_nan()).then_some(number)
}

/// Brings a leaf into a lane. False if it has not the form that the program was written for.
fn read(
    trace: &mut Trace,
    leaf: &Leaf,
    origin: &Origin,
    lane: usize,
    store: &mut Store,
    room: &mut Vec<f64>,
) -> Result<bool, EvalError> {
    match number(trace, leaf, origin) {
        Some(x) => {
            store.put(leaf.register, lane, x);
            Ok(true)
        }
        None => read_value(trace, leaf, origin, lane, store, room),
    }
}

/// The same for a leaf that is no number, or stale.
fn read_value(
    trace: &mut Trace,
    leaf: &Leaf,
    origin: &Origin,
    lane: usize,
    store: &mut Store,
    room: &mut Vec<f64>,
) -> Result<bool, EvalError> {
    let value = match origin.reading {
        Reading::Plain if origin.node == NodeId::NONE => &Value::Number(origin.number),
        Reading::Plain => &trace.node(origin.node).value,
        Reading::Derived => {
            trace.refresh(origin.node)?;
            &trace.node(origin.node).value
        }
        Reading::Constant(slot) => {
            trace.settled_value(&trace.node(origin.node).args[slot as usize].operand)
        }
    };
    Ok(match value {
        Value::Number(x) => {
            store.put(leaf.register, lane, *x);
            leaf.len == 1
        }
        value => put_numbers(value, leaf, lane, store, room),
    })
}

fn put_numbers(
    value: &Value,
    leaf: &Leaf,
    lane: usize,
    store: &mut Store,
    room: &mut Vec<f64>,
) -> bool {
    if let Value::Vector(xs) = value {
        xs.iter().zip(leaf.register..).for_each(|(x, register)| store.put(register, lane, *x));
        return leaf.len == xs.len();
    }
    room.clear();
    if !marked::plain_numbers(value, room) || room.len() != leaf.len {
        return false;
    }
    room.iter().zip(leaf.register..).for_each(|(x, register)| store.put(register, lane, *x));
    true
}
