//! The density of a block of continuous choices as straight-line code, with its gradient by
//! reverse-mode differentiation (theory 8.4).
//!
//! log π(z) = Σ log p over the block's choices and what absorbs, + log|dx/dz|, in unconstrained
//! coordinates z with x = T(z) ([`transform`]). [`compile`] walks the scaffold once and writes
//! [`crate::program`]s, which evaluate themselves. The trace is not touched until [`Density::install`].
//!
//! What the code relies on is watched: numbers outside the block are read again by
//! [`Density::refresh`], and when the structure has changed the block is compiled anew.
//!
//! | module | what it is |
//! |---|---|
//! | [`transform`], [`standardise`] | unconstrained coordinates, relative to what choices hang on or not |
//! | [`compile`], [`owners`], [`terms`], [`alike`], [`plates`], [`places`] | from the scaffold to programs: what is computed once, and the rows |
//! | [`branch`], [`check`], [`blame`] | what can be followed, and who is to blame if something cannot |
//! | [`order`], [`waves`] | the global part, over many numbers at once |
//! | [`position`], [`install`] | from the trace to coordinates, and back |

mod alike;
mod blame;
pub(crate) mod branch;
mod check;
mod compile;
mod install;
mod order;
mod owners;
mod places;
pub(crate) mod plates;
mod position;
mod standardise;
mod terms;
mod transform;
mod waves;

use rustc_hash::FxHashSet;
use smidgen_value::{Value, math};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::rows::Rows;
use crate::program::run::Store;
use crate::program::{Register, Source, links, marked};
use crate::trace::Trace;
use crate::trace::scaffold::Scaffold;
use plates::PlateTerm;
use position::{Coordinates, is_alike};
use waves::Waves;

/// Why a block has no gradient.
#[derive(Clone, Debug)]
pub struct NotSmooth {
    /// Where.
    pub node: NodeId,
    pub reason: String,
    /// The choices of the block that lead there: without them the rest may have one.
    pub culprits: Vec<NodeId>,
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
    pub(crate) parts: Parts,
    /// For the rows of each shape.
    pub(crate) stores: Vec<Store>,
    follow: Follow,
    /// The structure and the revision of the trace that it was made for.
    structure: u64,
    revision: u64,
    leaves_out_jacobian: bool,
    may_standardise: bool,
}

/// What the trace has to be asked when the block has moved.
struct Follow {
    /// Structures whose body depends on the block.
    branches: Vec<NodeId>,
    /// Functions that may stop, which makes the state impossible, although no density says so.
    guards: Vec<NodeId>,
    /// Whether one of them may, or a side of a branch that is not taken now.
    may_refuse: bool,
}

impl Follow {
    fn is_empty(&self) -> bool {
        self.branches.is_empty() && self.guards.is_empty()
    }
}

/// What a compiled density is made of.
pub(crate) struct Parts {
    /// In the order of the coordinates.
    coordinates: Vec<Coordinates>,
    dimension: usize,
    /// Whether all choices are coordinates as they are.
    is_plain: bool,
    pub(crate) globals: Waves,
    pub(crate) rows: Vec<Rows>,
    pub(crate) plates: Vec<PlateTerm>,
    pinned: Vec<(NodeId, Value)>,
    /// What has to keep its form.
    watched: Vec<(NodeId, Value)>,
    standard: Standard,
}

/// By what choices are standardised: their density is that of a standard one, whatever these are, as long as they are
/// numbers.
#[derive(Default)]
struct Standard {
    /// Registers of scales, with how many choices have each.
    scales: Vec<(Register, f64)>,
    /// Registers of locations, as runs.
    locations: Vec<(Register, u32)>,
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

    /// Whether any of so many plates is meant.
    pub(crate) fn has_plates(&self, count: usize) -> bool {
        self.without_plates.len() < count
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
        compile::compile(trace, &scaffold, form)
    }

    fn new(
        trace: &mut Trace,
        parts: Parts,
        follow: Follow,
        may_standardise: bool,
    ) -> Result<Density, EvalError> {
        let stores = parts.rows.iter().map(Rows::store).collect();
        let (structure, revision) = (trace.structure, trace.revision);
        let mut density = Density {
            parts,
            stores,
            follow,
            structure,
            revision,
            leaves_out_jacobian: false,
            may_standardise,
        };
        density.parts.globals.write_constants();
        density.read_globals(trace)?;
        Ok(density)
    }

    /// Whether some coordinates are standardised.
    pub fn is_standardised(&self) -> bool {
        self.parts.coordinates.iter().any(|coordinates| coordinates.standardised)
    }

    /// Whether the location or scale of some choice depends on the block: if not, all forms are the plain one.
    pub fn may_standardise(&self) -> bool {
        self.may_standardise
    }

    /// Number of unconstrained coordinates.
    pub fn dimension(&self) -> usize {
        self.parts.dimension
    }

    /// The choices, in the order of their coordinates.
    pub fn choices(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.parts.coordinates.iter().map(|coordinates| coordinates.node)
    }

    /// Number of terms and of different shapes among them, and instructions of the global part,
    /// for people.
    pub fn size(&self) -> (usize, usize, usize) {
        let Parts { rows, plates, globals, .. } = &self.parts;
        let terms = rows.iter().map(Rows::count).sum::<usize>()
            + plates.iter().map(PlateTerm::rows).sum::<usize>();
        (terms, rows.len() + plates.len(), globals.steps)
    }

    /// Whether it depends on numbers outside the block, which other moves may change.
    pub fn reads_outside(&self) -> bool {
        self.parts.globals.reads_outside() || self.parts.rows.iter().any(Rows::is_live)
    }

    /// From now on the density is that of the choices, not of their coordinates.
    pub fn leave_out_jacobian(&mut self) {
        // The terms of the global part are the Jacobian; densities stand in the rows.
        self.parts.globals.terms.clear();
        self.leaves_out_jacobian = true;
    }

    /// Whether nobody has changed the trace since the density was made, refreshed or installed.
    pub fn is_as_left(&self, trace: &Trace) -> bool {
        trace.structure == self.structure && trace.revision == self.revision
    }

    /// Brings the density up to date with the trace.
    pub fn refresh(&mut self, trace: &mut Trace) -> Result<Validity, EvalError> {
        if trace.structure != self.structure {
            return Ok(Validity::Gone);
        }
        if trace.revision == self.revision {
            return Ok(Validity::Same);
        }
        for (node, value) in &self.parts.pinned {
            if !trace.value(*node)?.is_identical(value) {
                return Ok(Validity::Gone);
            }
        }
        if !self.has_form(trace)? {
            return Ok(Validity::Gone);
        }
        let Some(mut changed) = self.read_globals(trace)? else { return Ok(Validity::Gone) };
        for rows in &mut self.parts.rows {
            if rows.is_live() {
                let Some(other) = rows.refresh(trace)? else { return Ok(Validity::Gone) };
                changed |= other;
            }
        }
        self.revision = trace.revision;
        Ok(if changed { Validity::Changed } else { Validity::Same })
    }

    /// Whether all values have as many numbers as they had, in the same places: other moves may change how long a vector is
    /// without changing the structure.
    fn has_form(&self, trace: &mut Trace) -> Result<bool, EvalError> {
        let own = self.parts.coordinates.iter().map(|at| (&at.node, &at.value));
        let others = self.parts.watched.iter().map(|(node, value)| (node, value));
        for (node, value) in own.chain(others) {
            if !matches!(value, Value::Number(_)) && !is_alike(value, trace.value(*node)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether numbers outside the block have changed; none if one has another form.
    fn read_globals(&mut self, trace: &mut Trace) -> Result<Option<bool>, EvalError> {
        let mut changed = false;
        let mut xs = Vec::new();
        let (leaves, values) = self.parts.globals.leaves_and_values();
        for leaf in leaves {
            let Source::Live(node, first) = leaf.source else { continue };
            let known = &mut values[leaf.register as usize..][..leaf.len as usize];
            if let Some(link) = links::at_place(first) {
                let eta = links::eta_of(trace.value(node)?, link);
                let before = std::mem::replace(&mut known[0], eta);
                changed |= before.to_bits() != eta.to_bits();
                continue;
            }
            xs.clear();
            if !marked::plain_numbers(trace.value(node)?, &mut xs) {
                return Ok(None);
            }
            let Some(now) = xs.get(first as usize..first as usize + known.len()) else {
                return Ok(None);
            };
            changed |= now.iter().zip(&*known).any(|(now, known)| now.to_bits() != known.to_bits());
            known.copy_from_slice(now);
        }
        Ok(Some(changed))
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
        self.parts.globals.pull();
        self.parts.globals.slopes_of_inputs(gradient);
        log_p
    }

    /// Computes the global part; whether that is possible.
    pub(crate) fn run_globals(&mut self, z: &[f64]) -> bool {
        self.parts.globals.write_inputs(z);
        self.parts.globals.run() && self.parts.standard.is_possible(self.parts.globals.values())
    }

    /// The log density; slopes of the global registers are those that come from the rows.
    fn evaluate(&mut self, terms: &Terms, z: &[f64]) -> f64 {
        if !self.run_globals(z) {
            return f64::NEG_INFINITY;
        }
        let Parts { globals, rows, plates, standard, .. } = &mut self.parts;
        let mut log_p = globals.total();
        globals.clear_slopes();
        let (values, slopes) = globals.values_and_slopes();
        if self.leaves_out_jacobian {
            log_p -= standard.log_scales(values, slopes);
        }
        let rows = rows.iter().zip(&mut self.stores).enumerate();
        for (_, (rows, store)) in rows.filter(|(k, _)| terms.has_rows(*k)) {
            if log_p == f64::NEG_INFINITY {
                return log_p;
            }
            log_p += rows.evaluate(store, values, slopes);
        }
        let plates = plates.iter_mut().enumerate().filter(|(k, _)| terms.has_plate(*k));
        for (_, plate) in plates {
            if log_p == f64::NEG_INFINITY {
                return log_p;
            }
            log_p += plate.evaluate(values, slopes);
        }
        log_p
    }
}

impl Standard {
    fn new(mut locations: Vec<Register>, mut scales: Vec<Register>) -> Standard {
        let mut standard = Standard::default();
        locations.sort_unstable();
        locations.dedup();
        for location in locations {
            match standard.locations.last_mut() {
                Some((first, len)) if *first + *len == location => *len += 1,
                _ => standard.locations.push((location, 1)),
            }
        }
        scales.sort_unstable();
        for of_one in scales.chunk_by(|a, b| a == b) {
            standard.scales.push((of_one[0], of_one.len() as f64));
        }
        standard
    }

    /// Whether all scales are positive and all locations finite.
    fn is_possible(&self, values: &[f64]) -> bool {
        let scales = self.scales.iter().map(|(scale, _)| values[*scale as usize]);
        let runs = self.locations.iter();
        // 0 x is 0 for every finite x.
        let mut zeros = runs.map(|(first, len)| {
            values[*first as usize..][..*len as usize].iter().fold(0.0, |sum, x| sum + 0.0 * x)
        });
        zeros.all(|zero: f64| zero == 0.0) && scales.into_iter().all(|s| s > 0.0 && s.is_finite())
    }

    /// Σ log s over the choices, the slopes of which are taken off.
    fn log_scales(&self, values: &[f64], slopes: &mut [f64]) -> f64 {
        let log_scale = |(scale, count): &(Register, f64)| {
            let s = values[*scale as usize];
            slopes[*scale as usize] -= count / s;
            count * math::ln(s)
        };
        self.scales.iter().map(log_scale).sum()
    }
}
