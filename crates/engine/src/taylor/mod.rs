//! The rows of a density as *sections* with Taylor polynomials: what exact transitions that read almost no data are made of.
//!
//! log π(z) = G(z) + Σ_i l_i(z). A section is a row of a plate, or of many rows of one shape; all else is the rest G.
//! With T_i the second-order Taylor polynomial of l_i at a reference point and R_i = l_i − T_i,
//!
//! * [`Taylor::sums`] gives Σ l_i, Σ ∇l_i and Σ ∇²l_i, so that Σ T_i costs O(d²) from then on;
//! * [`Taylor::bounds`] gives c_i with |R_i(z)| ≤ c_i ρ³ for all z in a ball, ρ = |L⁻¹(z − reference)|;
//! * [`Taylor::remainders`] gives R_i for a few rows without cancellation.
//!
//! | module | what it is |
//! |---|---|
//! | [`sheet`], [`chances`], [`follow`] | from a program to curved steps over forms |
//! | [`kind`] | rows that compute the same |
//! | [`values`], [`many`], [`sums`], [`bounds`] | passes over all rows |
//! | [`remainders`] | a few rows |
//! | [`rest`], [`quadratic`] | all but the sections, and what of it is a polynomial itself |
//! | [`members`] | sections of nodes that come and go |
//! | [`patches`] | plates that read one effect each: derivatives of higher order along their linear predictors |

mod bounds;
mod chances;
mod follow;
mod kind;
mod many;
pub mod members;
pub mod patches;
mod quadratic;
mod remainders;
mod rest;
mod sheet;
mod sums;
#[cfg(test)]
mod tests;
mod values;

use std::fmt;

use crate::program::run::bounds::Enclosures;
use crate::program::run::remainder::Rests;
use crate::program::run::second_order::Jets;
use crate::program::run::{NO_LINEAR, Store};
use crate::program::wide::SideBySide;
use crate::program::{Program, Source, chunks};
use crate::smooth::{Density, Terms};
use kind::Kind;
use quadratic::Quadratic;

pub use members::Members;
pub use patches::Patches;
pub use sums::Sums;

/// Why the rows of a density have no Taylor polynomials with bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unserved {
    /// No rows of one kind are as many as was asked for.
    FewRows,
    /// Rows of one kind read different choices of the block.
    OwnChoices,
    /// The log density of a row hangs on too many different linear forms of the coordinates.
    ManyForms,
    /// Something has no rule for its higher derivatives.
    NoRule(String),
    /// Something that no density reads may stop, which no bound says.
    MayStop,
    /// There are no effects of groups in what the rows read.
    NoEffects,
    /// The rows do not fall into patches of a few effects each: what stands in the way.
    NoPatches(&'static str),
}

impl fmt::Display for Unserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unserved::FewRows => write!(f, "there are no rows enough of one kind"),
            Unserved::OwnChoices => write!(f, "rows of one kind read different choices"),
            Unserved::ManyForms => write!(f, "a row hangs on too many linear forms"),
            Unserved::MayStop => {
                write!(f, "a procedure that no observation reads may stop with an error")
            }
            Unserved::NoEffects => write!(f, "the rows read no effects of groups"),
            Unserved::NoPatches(why) => write!(f, "{why}"),
            Unserved::NoRule(what) => write!(f, "{what} has no rule for higher derivatives"),
        }
    }
}

/// The sections of a density.
pub struct Taylor {
    dimension: usize,
    wanted: Wanted,
    threads: usize,
    /// What the sections read of the global part.
    globals: Program,
    of_block: Store,
    prelude: Store,
    kinds: Vec<Kind>,
    rows: usize,
    /// The terms that are no sections.
    rest: Terms,
    /// Those of them that are a polynomial of second order.
    quadratic: Quadratic,
    /// The others; none if there are none, the terms of the global part included.
    beyond: Option<Terms>,
    desks: Vec<Desk>,
    /// From the centre to the points of remainders.
    differences: Vec<f64>,
}

/// What one thread works on.
#[derive(Default)]
struct Desk {
    store: Store,
    jets: Jets,
    enclosures: Enclosures,
    rests: Rests,
    /// Data of a block of rows, lane by lane, and their products with the weights of many points.
    block: Vec<SideBySide>,
    products: Vec<Vec<f64>>,
    /// The kind whose constants stand in the store, by its first section, if nothing else does.
    at_hand: Option<usize>,
}

/// Which rows are to be sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Those of one kind that are at least so many.
    pub least_rows: usize,
    /// Whether rows that cannot be sections, or none that can, are a reason to have no sections at all. Otherwise they belong to the rest.
    pub is_strict: bool,
}

impl Wanted {
    /// All rows, of which there are at least so many of a kind.
    pub fn all(least_rows: usize) -> Wanted {
        Wanted { least_rows, is_strict: true }
    }
}

impl Density {
    /// The rows of plates, and rows of one shape, as sections.
    pub fn taylor(&self, wanted: Wanted) -> Result<Taylor, Unserved> {
        let Wanted { least_rows, is_strict } = wanted;
        if self.may_refuse() {
            return Err(Unserved::MayStop);
        }
        let (mut kinds, mut plates, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for (k, term) in self.parts.plates.iter().enumerate() {
            if term.plate.rows() < least_rows {
                continue;
            }
            match Kind::of_plate(self, term) {
                Ok(kind) => {
                    kinds.push(kind);
                    plates.push(k);
                }
                Err(why) if is_strict => return Err(why),
                Err(_) => {}
            }
        }
        for (k, rows) in self.parts.rows.iter().enumerate() {
            if rows.count() < least_rows {
                continue;
            }
            match Kind::of_rows(self, rows) {
                Some(Ok(kind)) => {
                    kinds.push(kind);
                    groups.push(k);
                }
                Some(Err(why)) if is_strict => return Err(why),
                // As many as there are coordinates may be those of the choices themselves.
                None if is_strict && rows.count() > self.dimension() => {
                    return Err(Unserved::OwnChoices);
                }
                Some(Err(_)) | None => {}
            }
        }
        if kinds.is_empty() && is_strict {
            return Err(Unserved::FewRows);
        }
        let mut rows = 0;
        for kind in &mut kinds {
            kind.first = rows;
            rows += kind.rows();
        }
        let (quadratic, beyond) = self.quadratic_rest(&groups, &plates);
        let globals = sliced(self, &kinds);
        let threads = self.parts.plates.iter().map(|term| term.threads()).max().unwrap_or(1);
        let mut taylor = Taylor {
            dimension: self.dimension(),
            wanted,
            threads,
            of_block: Store::new(&globals, 1),
            globals,
            prelude: Store::default(),
            kinds,
            rows,
            rest: Terms::without(groups, plates),
            quadratic,
            beyond,
            desks: Vec::new(),
            differences: Vec::new(),
        };
        taylor.read_constants(self);
        Ok(taylor)
    }

    /// What is a polynomial among the terms that are no sections, and the others.
    fn quadratic_rest(&self, groups: &[usize], plates: &[usize]) -> (Quadratic, Option<Terms>) {
        let mut quadratic = Quadratic::new(self.dimension());
        let mut known = groups.to_vec();
        for (k, rows) in self.parts.rows.iter().enumerate() {
            if !groups.contains(&k) && quadratic.add_rows(self, rows) {
                known.push(k);
            }
        }
        let all = known.len() == self.parts.rows.len() && plates.len() == self.parts.plates.len();
        let is_whole = all && quadratic.add_terms(self);
        quadratic.finish();
        (quadratic, (!is_whole).then(|| Terms::without(known, plates.to_vec())))
    }
}

/// The global part as far as sections read it; its registers keep their names.
fn sliced(density: &Density, kinds: &[Kind]) -> Program {
    let reads: Vec<_> = kinds.iter().flat_map(|kind| kind.scan.reads()).collect();
    let mut program = density.parts.globals.program();
    let needed = follow::needed(&program, &reads);
    program
        .steps
        .retain(|step| (step.out..step.out + step.width).any(|register| needed[register as usize]));
    program
}

impl Taylor {
    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of sections.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Which rows were asked for.
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// G as value + g·z + z'Hz/2, if it is that and nothing else.
    pub fn quadratic_rest(&self) -> Option<&Sums> {
        self.beyond.is_none().then_some(&self.quadratic.sums)
    }

    /// Reads numbers outside the block again, which have changed.
    pub fn refresh(&mut self, density: &Density) -> Result<(), Unserved> {
        *self = density.taylor(self.wanted)?;
        Ok(())
    }

    /// Numbers of the global part that are no coordinates.
    fn read_constants(&mut self, density: &Density) {
        for leaf in &self.globals.leaves {
            if !matches!(leaf.source, Source::Input(_)) {
                let at = leaf.register as usize..(leaf.register + leaf.len) as usize;
                self.of_block.values[at.clone()]
                    .copy_from_slice(&density.parts.globals.values()[at]);
            }
        }
    }

    /// What the rows of each kind read at z. None if it cannot be computed.
    fn globals(&mut self, z: &[f64]) -> Option<Vec<Vec<f64>>> {
        for leaf in &self.globals.leaves {
            if let Source::Input(first) = leaf.source {
                let (to, from, len) = (leaf.register as usize, first as usize, leaf.len as usize);
                self.of_block.values[to..to + len].copy_from_slice(&z[from..from + len]);
            }
        }
        let computed = self.of_block.value(&self.globals, 1, &NO_LINEAR) > f64::NEG_INFINITY;
        let Taylor { kinds, of_block, prelude, .. } = self;
        let of = |kind: &Kind| kind.scan.globals(&of_block.values, prelude);
        computed.then(|| kinds.iter().map(of).collect())?
    }

    /// Desks for a pass of n rows.
    fn desks(desks: &mut Vec<Desk>, threads: usize, n: usize) -> &mut [Desk] {
        let workers = chunks::workers(n, threads);
        if desks.len() < workers {
            desks.resize_with(workers, Desk::default);
        }
        desks[..workers].iter_mut().for_each(|desk| desk.at_hand = None);
        &mut desks[..workers]
    }
}
