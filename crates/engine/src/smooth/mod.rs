//! The density of a block of continuous choices as straight-line code, with its gradient by
//! reverse-mode differentiation (theory 8.4).
//!
//! log π(z) = Σ log p over the block's choices and what absorbs, + log|dx/dz|, in unconstrained
//! coordinates z with x = T(z) ([`transform`]). [`compile`] walks the scaffold once and writes
//! [`crate::program`]s, which evaluate themselves. The trace is not touched until [`Density::install`].
//!
//! What the code relies on is watched: numbers outside the block are read again by
//! [`Density::refresh`], and when the structure has changed the block is compiled anew.

mod blame;
pub(crate) mod branch;
mod compile;
pub(crate) mod plates;
mod terms;
mod transform;

use rustc_hash::FxHashSet;
use smidgen_prob::Support;
use smidgen_prob::support::TURN;
use smidgen_value::{Matrix, Rng, Value};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::links;
use crate::program::rows::Rows;
use crate::program::run::{NO_LINEAR, Store};
use crate::program::{Program, Source, marked};
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::{Op, StructureKind};
use crate::trace::proposal::{Choice, Proposal, Proposed, Proposer};
use crate::trace::scaffold::Scaffold;
use plates::PlateTerm;

/// Why a block has no gradient.
#[derive(Clone, Debug)]
pub struct NotSmooth {
    /// Where.
    pub node: NodeId,
    pub reason: String,
    /// The choices of the block that lead there: without them the rest may have one.
    pub culprits: Vec<NodeId>,
}

/// The coordinates of one choice.
#[derive(Clone, Debug)]
struct Coordinates {
    node: NodeId,
    /// Marked.
    value: Value,
    /// How many.
    size: usize,
    standardised: bool,
    /// Where the first of them stood last.
    last: f64,
}

/// Which coordinates the block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Each choice's own.
    Plain,
    /// Choices whose location or scale depends on the block are standardised by them: good where
    /// the data say little about each, as the plain form is where they say much.
    Standardised,
}

/// The density of a block, compiled.
pub struct Density {
    coordinates: Vec<Coordinates>,
    dimension: usize,
    pub(crate) globals: Program,
    pub(crate) store: Store,
    pub(crate) rows: Vec<(Rows, Store)>,
    pub(crate) plates: Vec<PlateTerm>,
    pinned: Vec<(NodeId, Value)>,
    /// Structures whose body depends on the block.
    branches: Vec<NodeId>,
    /// The structure and the revision of the trace that it was made for.
    structure: u64,
    revision: u64,
}

/// What a compiled density is made of.
struct Parts {
    coordinates: Vec<Coordinates>,
    dimension: usize,
    globals: Program,
    rows: Vec<Rows>,
    plates: Vec<PlateTerm>,
    pinned: Vec<(NodeId, Value)>,
}

/// What has become of a compiled density since it was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Nothing it reads has changed.
    Same,
    /// Numbers outside the block have changed, and have been read.
    Changed,
    /// It has to be compiled anew.
    Gone,
}

/// Which terms of a density are meant: all but some rows and plates, by number.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    without_rows: Vec<usize>,
    without_plates: Vec<usize>,
}

impl Terms {
    const ALL: Terms = Terms { without_rows: Vec::new(), without_plates: Vec::new() };

    pub(crate) fn without(rows: Vec<usize>, plates: Vec<usize>) -> Terms {
        Terms { without_rows: rows, without_plates: plates }
    }

    pub(crate) fn has_rows(&self, number: usize) -> bool {
        !self.without_rows.contains(&number)
    }

    pub(crate) fn has_plate(&self, number: usize) -> bool {
        !self.without_plates.contains(&number)
    }
}

impl Density {
    /// The density of a block, or why it has none.
    pub fn compile(
        trace: &mut Trace,
        principals: &[NodeId],
        form: Form,
    ) -> Result<Result<Density, NotSmooth>, EvalError> {
        Density::compile_without(trace, principals, form, &FxHashSet::default())
    }

    /// The same with some idle choices ([`crate::idle`]) summed out: whoever moves the block has to draw them anew.
    pub fn compile_without(
        trace: &mut Trace,
        principals: &[NodeId],
        form: Form,
        left_out: &FxHashSet<NodeId>,
    ) -> Result<Result<Density, NotSmooth>, EvalError> {
        let mut scaffold = Scaffold::new();
        scaffold.build(trace, principals);
        scaffold.absorbing.retain(|id| !left_out.contains(id));
        compile::compile(trace, &scaffold, form, left_out)
    }

    fn new(trace: &mut Trace, parts: Parts, branches: Vec<NodeId>) -> Result<Density, EvalError> {
        let Parts { coordinates, dimension, globals, rows, plates, pinned } = parts;
        let store = Store::new(&globals, 1);
        let rows = rows.into_iter().map(with_store).collect();
        let (structure, revision) = (trace.structure, trace.revision);
        let mut density = Density {
            coordinates,
            dimension,
            globals,
            store,
            rows,
            plates,
            pinned,
            branches,
            structure,
            revision,
        };
        for leaf in &density.globals.leaves {
            if let Source::Number(x) = leaf.source {
                density.store.values[leaf.register as usize] = x;
            }
            if let Source::Vector(xs) = &leaf.source {
                let at = leaf.register as usize;
                density.store.values[at..at + xs.len()].copy_from_slice(xs);
            }
        }
        density.read_globals(trace)?;
        Ok(density)
    }

    /// Whether some coordinates are standardised.
    pub fn is_standardised(&self) -> bool {
        self.coordinates.iter().any(|coordinates| coordinates.standardised)
    }

    /// Number of unconstrained coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The choices, in the order of their coordinates.
    pub fn choices(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.coordinates.iter().map(|coordinates| coordinates.node)
    }

    /// Number of terms and of different shapes among them, and instructions of the global part,
    /// for people.
    pub fn size(&self) -> (usize, usize, usize) {
        let terms = self.rows.iter().map(|(rows, _)| rows.count()).sum::<usize>()
            + self.plates.iter().map(PlateTerm::rows).sum::<usize>();
        (terms, self.rows.len() + self.plates.len(), self.globals.steps.len())
    }

    /// From now on the density is that of the choices, not of their coordinates.
    pub fn leave_out_jacobian(&mut self) {
        // The terms of the global part are the Jacobian; densities stand in the rows.
        self.globals.terms.clear();
    }

    /// Brings the density up to date with the trace.
    pub fn refresh(&mut self, trace: &mut Trace) -> Result<Validity, EvalError> {
        if trace.structure != self.structure {
            return Ok(Validity::Gone);
        }
        if trace.revision == self.revision {
            return Ok(Validity::Same);
        }
        for k in 0..self.pinned.len() {
            let (node, value) = &self.pinned[k];
            if !trace.value(*node)?.is_identical(value) {
                return Ok(Validity::Gone);
            }
        }
        let Some(mut changed) = self.read_globals(trace)? else { return Ok(Validity::Gone) };
        for (rows, _) in &mut self.rows {
            if rows.is_live() {
                let Some(other) = rows.refresh(trace)? else { return Ok(Validity::Gone) };
                changed |= other;
            }
        }
        self.revision = trace.revision;
        Ok(if changed { Validity::Changed } else { Validity::Same })
    }

    /// Whether numbers outside the block have changed; none if one has another form.
    fn read_globals(&mut self, trace: &mut Trace) -> Result<Option<bool>, EvalError> {
        let mut changed = false;
        let mut xs = Vec::new();
        for (register, len, node, first) in self.globals.live_leaves() {
            let (at, len) = (register as usize, len as usize);
            if let Some(link) = links::at_place(first) {
                let eta = links::eta_of(trace.value(node)?, link);
                let before = std::mem::replace(&mut self.store.values[at], eta);
                changed |= before.to_bits() != eta.to_bits();
                continue;
            }
            let first = first as usize;
            xs.clear();
            if !marked::plain_numbers(trace.value(node)?, &mut xs) || xs.len() < first + len {
                return Ok(None);
            }
            let (now, known) = (&xs[first..first + len], &mut self.store.values[at..at + len]);
            changed |= now.iter().zip(&*known).any(|(now, known)| now.to_bits() != known.to_bits());
            known.copy_from_slice(now);
        }
        Ok(Some(changed))
    }

    /// The coordinates of the current state; none if a choice lies on the edge of its support.
    pub fn position(&self, trace: &mut Trace) -> Result<Option<Vec<f64>>, EvalError> {
        let mut z = Vec::with_capacity(self.dimension);
        for coordinates in &self.coordinates {
            trace.refresh_arguments(coordinates.node)?;
            if coordinates.standardised {
                let Some(standardised) = standardised_value(trace, coordinates.node) else {
                    return Ok(None);
                };
                z.push(standardised);
                continue;
            }
            let support = Choice { trace, node: coordinates.node }.support()?;
            let value = &trace.node(coordinates.node).value;
            match (&support, value.as_number()) {
                (Support::Circle, Some(angle)) => z.push(lift(angle, coordinates.last)),
                _ => z.extend(support.coordinates(value)),
            }
            if z.iter().any(|z| !z.is_finite()) {
                return Ok(None);
            }
        }
        Ok(Some(z))
    }

    /// Coordinates drawn evenly from −`reach` to `reach`; those of choices that were forced are as
    /// they are.
    pub fn scatter(
        &self,
        trace: &mut Trace,
        reach: f64,
        rng: &mut Rng,
    ) -> Result<Vec<f64>, EvalError> {
        let mut z: Vec<f64> =
            (0..self.dimension).map(|_| reach * (2.0 * rng.uniform() - 1.0)).collect();
        let Some(here) = self.position(trace)? else { return Ok(z) };
        let mut first = 0;
        for coordinates in &self.coordinates {
            let size = coordinates.size;
            if trace.node(coordinates.node).forced {
                z[first..first + size].copy_from_slice(&here[first..first + size]);
            }
            first += size;
        }
        Ok(z)
    }

    /// log π(z), up to a constant, and its gradient. −∞ where the state is impossible; the
    /// gradient does not matter there.
    pub fn log_density(&mut self, z: &[f64], gradient: &mut [f64]) -> f64 {
        self.log_density_of(&Terms::ALL, z, gradient)
    }

    /// The same of some of the terms.
    pub(crate) fn log_density_of(&mut self, terms: &Terms, z: &[f64], gradient: &mut [f64]) -> f64 {
        let log_p = self.evaluate(terms, z);
        if log_p.is_nan() || log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
            return f64::NEG_INFINITY;
        }
        self.store.pull(&self.globals, 1, &NO_LINEAR, &mut |_, _, _| {});
        for leaf in &self.globals.leaves {
            if let Source::Input(first) = leaf.source {
                let (from, to, len) = (leaf.register as usize, first as usize, leaf.len as usize);
                gradient[to..to + len].copy_from_slice(&self.store.slopes[from..from + len]);
            }
        }
        log_p
    }

    /// Lets the global part know the coordinates.
    pub(crate) fn set_inputs(&mut self, z: &[f64]) {
        for leaf in &self.globals.leaves {
            if let Source::Input(first) = leaf.source {
                let (to, from, len) = (leaf.register as usize, first as usize, leaf.len as usize);
                self.store.values[to..to + len].copy_from_slice(&z[from..from + len]);
            }
        }
    }

    /// The log density; slopes of the global registers are those that come from the rows.
    fn evaluate(&mut self, terms: &Terms, z: &[f64]) -> f64 {
        self.set_inputs(z);
        let mut log_p = self.store.value_for_slopes(&self.globals, 1, &NO_LINEAR);
        self.store.clear_slopes();
        let rows = self.rows.iter_mut().enumerate().filter(|(k, _)| terms.has_rows(*k));
        for (_, (rows, store)) in rows {
            if log_p == f64::NEG_INFINITY {
                return log_p;
            }
            log_p += rows.evaluate(store, &self.store.values, &mut self.store.slopes);
        }
        let plates = self.plates.iter_mut().enumerate().filter(|(k, _)| terms.has_plate(*k));
        for (_, plate) in plates {
            if log_p == f64::NEG_INFINITY {
                return log_p;
            }
            log_p += plate.evaluate(&self.store.values, &mut self.store.slopes);
        }
        log_p
    }

    /// The values of the choices where the density was evaluated last.
    fn values(&self) -> Vec<(NodeId, Value)> {
        let read = |coordinates: &Coordinates| {
            (coordinates.node, unmark(&coordinates.value, &self.store.values))
        };
        self.coordinates.iter().map(read).collect()
    }

    /// Moves the trace to z, where the density is not 0. What follows from the choices becomes
    /// stale at no cost, but for branches that depend on them.
    pub fn install(
        &mut self,
        trace: &mut Trace,
        z: &[f64],
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        self.evaluate(&Terms::ALL, z);
        let mut first = 0;
        for coordinates in &mut self.coordinates {
            coordinates.last = z.get(first).copied().unwrap_or(0.0);
            first += coordinates.size;
        }
        let values = self.values();
        if self.branches.is_empty() {
            debug_assert!(
                trace.has_fault(Fault::UnreadBranch)
                    || trace.decide_nothing(&self.choices().collect::<Vec<_>>())
            );
            write(trace, values);
        } else {
            self.install_with_branches(trace, values, rng)?;
        }
        self.revision = trace.revision;
        Ok(())
    }

    /// Mostly every branch goes the way it went: then nothing is made anew, and what was compiled for this
    /// structure stays. Otherwise the move is that of a proposal.
    fn install_with_branches(
        &mut self,
        trace: &mut Trace,
        values: Vec<(NodeId, Value)>,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        let ways = self.ways(trace)?;
        let before: Vec<(NodeId, Value)> =
            values.iter().map(|(id, _)| (*id, trace.node(*id).value.clone())).collect();
        write(trace, values.clone());
        // An error says that what runs now would not run there.
        if self.ways(trace).is_ok_and(|now| now == ways && !now.contains(&None)) {
            return Ok(());
        }
        write(trace, before);
        self.ways(trace)?;
        let principals: Vec<NodeId> = self.choices().collect();
        let mut scaffold = Scaffold::new();
        let mut given = Given { values };
        let population = trace.population();
        let is_faulty = trace.has_fault(Fault::ConstantSeed);
        let mut constant = Rng::unused();
        let rng = if is_faulty { &mut constant } else { rng };
        Proposal::propose(trace, &mut scaffold, &principals, &mut given, rng)?.commit();
        debug_assert!(is_faulty || population == trace.population(), "a branch holds a choice");
        self.structure = trace.structure;
        scaffold.build(trace, &principals);
        self.branches.clear();
        self.branches.extend(scaffold.branches(trace));
        Ok(())
    }

    /// The way that each branch goes, none for a structure of another kind. They are fresh afterwards.
    fn ways(&self, trace: &mut Trace) -> Result<Vec<Option<bool>>, EvalError> {
        let way = |id: &NodeId| {
            trace.refresh(*id)?;
            let node = trace.node(*id);
            Ok(match &node.op {
                Op::Structure(structure)
                    if matches!(structure.kind, StructureKind::Branch { .. }) =>
                {
                    trace.settled_value(&node.args[0].operand).truth()
                }
                _ => None,
            })
        };
        self.branches.iter().map(way).collect()
    }
}

/// Gives choices their values. What follows from them becomes stale.
fn write(trace: &mut Trace, values: Vec<(NodeId, Value)>) {
    for (node, value) in values {
        trace.set_value(node, value);
    }
    trace.commit_lazily();
}

fn with_store(rows: Rows) -> (Rows, Store) {
    let store = rows.store();
    (rows, store)
}

/// The coordinate of an angle: all its lifts are as good as each other for a trajectory, but one beside the
/// last keeps what is learnt about scales true where a posterior lies across the cut. Not far from 0,
/// so that turns do not add up to a scale of their own.
fn lift(angle: f64, last: f64) -> f64 {
    let lifted = angle + TURN * ((last - angle) / TURN).round();
    if lifted.abs() <= TURN { lifted } else { angle }
}

/// (x − m)/s of a choice whose arguments are fresh.
fn standardised_value(trace: &Trace, id: NodeId) -> Option<f64> {
    let node = trace.node(id);
    let places = transform::location_and_scale(node.op_name(), node.args.len())?;
    let [location, scale] = places.map(|k| trace.settled_value(&node.args[k].operand).as_number());
    let z = (node.value.as_number()? - location?) / scale?;
    z.is_finite().then_some(z)
}

/// The value with its marks replaced by numbers.
fn unmark(value: &Value, numbers: &[f64]) -> Value {
    let number = |x: f64| match marked::read(x) {
        marked::Marked::Global(register) | marked::Marked::Local(register) => {
            numbers[register as usize]
        }
        marked::Marked::Number(x) => x,
    };
    match value {
        Value::Number(x) => Value::Number(number(*x)),
        Value::Vector(xs) => Value::vector(xs.iter().map(|x| number(*x)).collect::<Vec<_>>()),
        Value::Matrix(m) => {
            let entries = m.as_slice().iter().map(|x| number(*x)).collect();
            Value::matrix(Matrix::new(m.rows(), m.cols(), entries))
        }
        other => other.clone(),
    }
}

/// Gives every choice the value it is to have.
struct Given {
    values: Vec<(NodeId, Value)>,
}

impl Proposer for Given {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(true)
    }

    fn propose(&mut self, choice: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        let found = self.values.iter().find(|(node, _)| *node == choice.node);
        let value = found.map_or_else(|| choice.current().clone(), |(_, value)| value.clone());
        Ok(Proposed::Local { value, log_q_ratio: 0.0 })
    }
}
