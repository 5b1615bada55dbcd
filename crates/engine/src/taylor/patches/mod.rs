//! A block whose rows fall into *patches*: each plate reads shared coordinates and one effect, through one linear form in which
//! the effect has coefficient 1; the effects are normal, with a location that is linear in shared coordinates and a scale whose
//! logarithm is a coordinate or a number.
//!
//! So `[assume effect (mem (lambda (g) (normal m s)))]` with rows that read `(effect row.group)`: one plate for each group. With η
//! the form's value, a row's log density f(η) is known with its derivatives, and with bounds of these over intervals
//! ([`crate::program::run::series`]). A plate that reads its effect alone may have it in several forms with coefficients of
//! the rows; η is the effect then.
//!
//! [`recognise`] finds the shape or says what stands in its way; [`read`] reads rows.

mod read;
mod recognise;

use smidgen_prob::smooth::Interval;

use super::kind::Kind;
use crate::program::Register;
use crate::program::run::Store;
use crate::program::run::series::AllSeries;
use crate::smooth::{Density, Terms};

pub use read::PatchRows;

/// The patches of a density.
pub struct Patches {
    dimension: usize,
    /// Coordinates that patches may share, and those of the effects.
    shared: Vec<u32>,
    effects: Vec<u32>,
    scale: Scale,
    /// The location of each effect: coefficients by shared coordinate, one effect after the other, and an offset.
    locations: Vec<f64>,
    offsets: Vec<f64>,
    /// The first row of each patch, and the number of all rows.
    starts: Vec<usize>,
    plates: Vec<PatchPlate>,
    /// What is no row and no effect.
    rest: Terms,
    desk: PatchDesk,
    z: Vec<f64>,
}

/// ln σ
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Coordinate(u32),
    Number(f64),
}

/// A plate of a patch.
struct PatchPlate {
    kind: Kind,
    forms: Forms,
}

/// How its forms hang on η.
enum Forms {
    /// There is one and it is η: where its coefficients stand, by the number of the shared coordinate.
    One(Vec<(usize, Register)>),
    /// All of them are η times a number of the row.
    OfEffect(Vec<Register>),
}

#[derive(Default)]
struct PatchDesk {
    store: Store,
    /// Which rows of which plate the store holds, and whose constants.
    loaded: Option<(usize, PatchRows)>,
    constants_of: Option<usize>,
    series: AllSeries<f64>,
    enclosures: AllSeries<Interval>,
}

impl Patches {
    /// The number of shared coordinates.
    pub fn shared(&self) -> usize {
        self.shared.len()
    }

    /// The number of patches.
    pub fn groups(&self) -> usize {
        self.effects.len()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The rows of a patch.
    pub fn patch(&self, group: usize) -> std::ops::Range<usize> {
        self.starts[group]..self.starts[group + 1]
    }

    /// The location of an effect: coefficients of the shared coordinates into `out`; the offset.
    pub fn location(&self, group: usize, out: &mut [f64]) -> f64 {
        let p = self.shared.len();
        out.copy_from_slice(&self.locations[group * p..(group + 1) * p]);
        self.offsets[group]
    }

    /// Whether the scale of the effects is a coordinate.
    pub fn is_scale_free(&self) -> bool {
        matches!(self.scale, Scale::Coordinate(_))
    }

    /// Shared coordinates, effects and the logarithm of the scale at z.
    pub fn split(&self, z: &[f64], shared: &mut Vec<f64>, effects: &mut Vec<f64>) -> f64 {
        let pick = |to: &mut Vec<f64>, from: &[u32]| {
            to.clear();
            to.extend(from.iter().map(|coordinate| z[*coordinate as usize]));
        };
        pick(shared, &self.shared);
        pick(effects, &self.effects);
        match self.scale {
            Scale::Coordinate(coordinate) => z[coordinate as usize],
            Scale::Number(log_scale) => log_scale,
        }
    }

    /// The same, put together.
    pub fn join(&self, shared: &[f64], effects: &[f64], log_scale: f64, z: &mut Vec<f64>) {
        z.clear();
        z.resize(self.dimension, 0.0);
        let mut put = |coordinates: &[u32], xs: &[f64]| {
            coordinates.iter().zip(xs).for_each(|(coordinate, x)| z[*coordinate as usize] = *x);
        };
        put(&self.shared, shared);
        put(&self.effects, effects);
        if let Scale::Coordinate(coordinate) = self.scale {
            put(&[coordinate], &[log_scale]);
        }
    }

    /// The log density of all but rows and effects: the prior of shared coordinates and scale; −∞ where they are impossible.
    pub fn log_prior(&mut self, density: &mut Density, shared: &[f64], log_scale: f64) -> f64 {
        let mut z = std::mem::take(&mut self.z);
        self.join(shared, &[], log_scale, &mut z);
        let log_p = density.log_value_of(&self.rest, &z);
        self.z = z;
        log_p
    }
}
