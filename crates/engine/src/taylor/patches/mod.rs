//! A block whose rows fall into *patches*: each plate reads shared coordinates and up to three effects, through one linear form; the
//! effects are normal, with a location that is linear in shared coordinates and a scale whose logarithm is linear in one
//! coordinate or a number.
//!
//! So `[assume effect (mem (lambda (g) (normal m s)))]` with rows that read `(effect row.group)`: one plate for each group; slopes by
//! group (`(* (slope row.group) row.x)`), and crossed groups, with a plate for each pair that occurs. The rows that read the
//! same effects are a patch. With η the form's value, a row's log density f(η) is known with its derivatives, and with
//! bounds of these over intervals ([`crate::program::run::series`]). A plate that reads one effect alone may have it in
//! several forms with coefficients of the rows; η is the effect then.
//!
//! Rows may hang on a second form ζ of shared coordinates alone, such as the logarithm of a scale of the errors: they are *wide*. Their
//! derivatives are those in η and ζ.
//!
//! [`recognise`] finds the shape or says what stands in its way; [`read`] reads rows.

mod read;
mod recognise;

use smallvec::SmallVec;
use smidgen_prob::smooth::Interval;
use smidgen_value::math;

use super::kind::Kind;
use crate::program::Register;
use crate::program::run::Store;
use crate::program::run::series::{AllSeries, WIDTH, WIDTH_OF_BOUNDS, Wide};
use crate::smooth::{Density, Terms};

pub use read::PatchRows;

/// The patches of a density.
pub struct Patches {
    dimension: usize,
    /// Coordinates that patches may share, and those of the effects.
    shared: Vec<u32>,
    effects: Vec<u32>,
    /// The scales of effects, and which of them each effect has.
    scales: Vec<Scale>,
    scale_of: Vec<u32>,
    /// The location of each effect: coefficients by shared coordinate, one effect after the other, and an offset.
    locations: Vec<f64>,
    offsets: Vec<f64>,
    /// The effects that each patch reads, in ascending order.
    members: Vec<Members>,
    /// The first row of each patch, and the number of all rows.
    starts: Vec<usize>,
    /// The patch that reads an effect and no other, if that is the only one that reads it.
    own_patches: Vec<Option<u32>>,
    plates: Vec<PatchPlate>,
    is_wide: bool,
    /// What is no row and no effect, and normal choices that are computed together with effects but are none.
    rest: Terms,
    others: Vec<Normal>,
    desk: PatchDesk,
    z: Vec<f64>,
}

/// Effects by their numbers.
type Members = SmallVec<[u32; 2]>;

/// ln σ
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    /// A coordinate by a number, and another number.
    Coordinate {
        coordinate: u32,
        slope: f64,
        offset: f64,
    },
    Number(f64),
}

impl Scale {
    fn log(self, z: &[f64]) -> f64 {
        match self {
            Scale::Coordinate { coordinate, slope, offset } => {
                slope * z[coordinate as usize] + offset
            }
            Scale::Number(log_scale) => log_scale,
        }
    }
}

/// A number as coefficients by coordinate and an offset.
type Line = (Vec<(u32, f64)>, f64);

/// A normal choice: its coordinate, and what its law is.
#[derive(Clone, Debug)]
struct Normal {
    choice: u32,
    mean: Line,
    scale: Scale,
}

impl Normal {
    /// Its log density, up to a constant.
    fn log_density(&self, z: &[f64]) -> f64 {
        let (line, offset) = &self.mean;
        let mean = line.iter().fold(*offset, |sum, (j, c)| sum + c * z[*j as usize]);
        let log_scale = self.scale.log(z);
        let gap = (z[self.choice as usize] - mean) * math::exp(-log_scale);
        -0.5 * gap * gap - log_scale
    }
}

/// A plate of a patch.
struct PatchPlate {
    kind: Kind,
    forms: Forms,
}

/// How its forms hang on η.
enum Forms {
    /// One of them, by its number, is η: where its coefficients stand, by the number of the shared coordinate, and of the effects.
    /// If there is another it is ζ.
    One {
        eta: usize,
        shared: Vec<(usize, Register)>,
        own: SmallVec<[Register; 2]>,
        zeta: Vec<(usize, Register)>,
    },
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
    wide_series: AllSeries<Wide<f64, WIDTH>>,
    wide_enclosures: AllSeries<Wide<Interval, WIDTH_OF_BOUNDS>>,
}

impl Patches {
    /// The number of shared coordinates.
    pub fn shared(&self) -> usize {
        self.shared.len()
    }

    /// The number of effects.
    pub fn groups(&self) -> usize {
        self.effects.len()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The number of patches.
    pub fn patches(&self) -> usize {
        self.members.len()
    }

    /// The rows of a patch.
    pub fn patch(&self, number: usize) -> std::ops::Range<usize> {
        self.starts[number]..self.starts[number + 1]
    }

    /// The effects that a patch reads.
    pub fn members(&self, number: usize) -> &[u32] {
        &self.members[number]
    }

    /// Whether each patch reads one effect that no other reads, and all effects have one scale.
    pub fn is_simple(&self) -> bool {
        let is_alone = |members: &Members| matches!(members[..], [effect] if self.own_patches[effect as usize].is_some());
        self.scales.len() == 1 && self.members.iter().all(is_alone)
    }

    /// Whether rows hang on a second form.
    pub fn is_wide(&self) -> bool {
        self.is_wide
    }

    /// The rows of an effect that shares none.
    pub fn rows_of(&self, effect: usize) -> std::ops::Range<usize> {
        self.own_patches[effect].map_or(0..0, |number| self.patch(number as usize))
    }

    /// The location of an effect: coefficients of the shared coordinates into `out`; the offset.
    pub fn location(&self, effect: usize, out: &mut [f64]) -> f64 {
        let p = self.shared.len();
        out.copy_from_slice(&self.locations[effect * p..(effect + 1) * p]);
        self.offsets[effect]
    }

    /// The number of scales.
    pub fn scales(&self) -> usize {
        self.scales.len()
    }

    /// The number of an effect's scale.
    pub fn scale_of(&self, effect: usize) -> usize {
        self.scale_of[effect] as usize
    }

    /// Whether a scale is a coordinate.
    pub fn is_scale_free(&self, scale: usize) -> bool {
        matches!(self.scales[scale], Scale::Coordinate { .. })
    }

    /// Shared coordinates, effects and the logarithms of the scales at z.
    pub fn split(
        &self,
        z: &[f64],
        shared: &mut Vec<f64>,
        effects: &mut Vec<f64>,
        log_scales: &mut Vec<f64>,
    ) {
        let pick = |to: &mut Vec<f64>, from: &[u32]| {
            to.clear();
            to.extend(from.iter().map(|coordinate| z[*coordinate as usize]));
        };
        pick(shared, &self.shared);
        pick(effects, &self.effects);
        log_scales.clear();
        log_scales.extend(self.scales.iter().map(|scale| scale.log(z)));
    }

    /// The same, put together.
    pub fn join(&self, shared: &[f64], effects: &[f64], log_scales: &[f64], z: &mut Vec<f64>) {
        z.clear();
        z.resize(self.dimension, 0.0);
        let mut put = |coordinates: &[u32], xs: &[f64]| {
            coordinates.iter().zip(xs).for_each(|(coordinate, x)| z[*coordinate as usize] = *x);
        };
        put(&self.shared, shared);
        put(&self.effects, effects);
        for (scale, log_scale) in self.scales.iter().zip(log_scales) {
            if let Scale::Coordinate { coordinate, slope, offset } = scale {
                put(&[*coordinate], &[(log_scale - offset) / slope]);
            }
        }
    }

    /// Standard deviations, by coordinate.
    pub fn spreads(&self, shared: &[f64], effects: &[f64], log_scales: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        self.join(shared, effects, log_scales, &mut out);
        for (scale, sd) in self.scales.iter().zip(log_scales) {
            if let Scale::Coordinate { coordinate, slope, .. } = scale {
                out[*coordinate as usize] = sd / slope.abs();
            }
        }
        out
    }

    /// The log density of all but rows and effects: the prior of shared coordinates and scales; −∞ where they are impossible.
    pub fn log_prior(&mut self, density: &mut Density, shared: &[f64], log_scales: &[f64]) -> f64 {
        let mut z = std::mem::take(&mut self.z);
        self.join(shared, &[], log_scales, &mut z);
        let of_others: f64 = self.others.iter().map(|other| other.log_density(&z)).sum();
        let log_p = density.log_value_of(&self.rest, &z) + of_others;
        self.z = z;
        log_p
    }
}
