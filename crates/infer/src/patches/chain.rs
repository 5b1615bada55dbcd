//! The state of a block with patches, and which rows object to a move.

use smallvec::SmallVec;
use smidgen_prob::linalg;
use smidgen_value::{Rng, math};

use super::arrowhead::Point;
use super::preparation::Preparation;
use super::reading::{At, Reader};
use super::sums::{Collapsed, INVERSE, Quadratic};
use super::{MOST_ORDER, PARTS, Patched, Rows};
use crate::reference::thinning::Clock;

/// One of so many sweeps is a walk: proposals around the state, which get it out of where the others seldom lead.
const SELDOM: u64 = 20;
/// A change of a remainder beyond its bound by more than rounding, relative to the log weight.
const ROUNDING: f64 = 1e-13;

/// What sweeps did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub sweeps: u64,
    pub effects_tried: u64,
    pub effects_accepted: u64,
    pub shared_accepted: u64,
    pub scale_accepted: u64,
    pub stretch_accepted: u64,
    /// Rows that were asked whether they object.
    pub asked: u64,
    /// Rows of patches that were scanned.
    pub scanned: u64,
    /// Objections beyond their bounds: none, if the bounds are right.
    pub violations: u64,
}

impl Swept {
    /// How often β was accepted.
    pub fn shared_share(&self) -> f64 {
        self.shared_accepted as f64 / self.sweeps.max(1) as f64
    }

    pub fn add(&mut self, other: Swept) {
        self.sweeps += other.sweeps;
        self.effects_tried += other.effects_tried;
        self.effects_accepted += other.effects_accepted;
        self.shared_accepted += other.shared_accepted;
        self.scale_accepted += other.scale_accepted;
        self.stretch_accepted += other.stretch_accepted;
        self.asked += other.asked;
        self.scanned += other.scanned;
        self.violations += other.violations;
    }
}

/// What a sweep works with.
pub(super) struct Work<'a> {
    pub model: &'a mut dyn Patched,
    pub prepared: &'a Preparation,
    pub rng: &'a mut Rng,
    pub swept: Swept,
}

/// Where a patch is: s_g and β − β*.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub s: f64,
    pub d: &'a [f64],
}

/// The state between sweeps.
#[derive(Clone, Debug)]
pub struct Chain {
    /// β − β*, and its ρ.
    pub(super) d: Vec<f64>,
    pub(super) rho: f64,
    /// s by place.
    pub(super) s: Vec<f64>,
    pub(super) log_scale: f64,
    /// The polynomials in s at d, if they are.
    pub(super) collapsed: Collapsed,
    pub(super) is_collapsed: bool,
    /// Log weights of hard patches at the state.
    pub(super) log_weights: Vec<f64>,
    pub(super) readings: Readings,
    pub(super) quadratic: Quadratic,
    pub(super) powers: Vec<f64>,
    sweeps: u64,
}

impl Chain {
    pub fn new(rng: &mut Rng) -> Chain {
        Chain {
            d: Vec::new(),
            rho: 0.0,
            s: Vec::new(),
            log_scale: 0.0,
            collapsed: Collapsed::default(),
            is_collapsed: false,
            log_weights: Vec::new(),
            readings: Readings {
                clock: Clock::new(rng),
                reader: Reader::default(),
                at: Vec::new(),
            },
            quadratic: Quadratic::default(),
            powers: Vec::new(),
            sweeps: 0,
        }
    }

    /// Goes to a point that something else has led to.
    pub fn go(&mut self, model: &mut dyn Patched, prepared: &Preparation, to: &Point) {
        let centre = &prepared.reference.centre;
        self.d.clear();
        self.d.extend(to.shared.iter().zip(&centre.shared).map(|(x, c)| x - c));
        self.rho = prepared.length(&self.d);
        self.log_scale = to.log_scale;
        self.s.clear();
        for (place, group) in prepared.groups.iter().enumerate() {
            let sheared = prepared.effects[place] + prepared.sheared(place, &self.d);
            self.s.push(to.effects[*group as usize] - sheared);
        }
        self.is_collapsed = false;
        self.quadratic = Quadratic::new(self.d.len());
        self.log_weights.clear();
        for place in prepared.soft..prepared.groups.len() {
            let spot = Spot { s: self.s[place], d: &self.d };
            let log_weight = self.readings.scan(model, prepared, place, spot);
            self.log_weights.push(log_weight);
        }
    }

    /// Where it is.
    pub fn point(&self, prepared: &Preparation) -> Point {
        let centre = &prepared.reference.centre;
        let mut effects = vec![0.0; self.s.len()];
        for (place, group) in prepared.groups.iter().enumerate() {
            effects[*group as usize] = self.effect(prepared, place);
        }
        let shared = self.d.iter().zip(&centre.shared).map(|(d, c)| d + c).collect();
        Point { shared, effects, log_scale: self.log_scale }
    }

    /// b of the patch at a place.
    pub fn effect(&self, prepared: &Preparation, place: usize) -> f64 {
        prepared.effects[place] + self.s[place] + prepared.sheared(place, &self.d)
    }

    pub fn log_scale(&self) -> f64 {
        self.log_scale
    }

    /// β_k
    pub fn shared(&self, prepared: &Preparation, k: usize) -> f64 {
        prepared.reference.centre.shared[k] + self.d[k]
    }

    /// Moves all effects, β, and σ.
    pub fn sweep(
        &mut self,
        model: &mut dyn Patched,
        prepared: &Preparation,
        rng: &mut Rng,
    ) -> Swept {
        let swept = Swept { sweeps: 1, ..Swept::default() };
        let is_scale_free = model.is_scale_free();
        let mut work = Work { model, prepared, rng, swept };
        self.sweeps += 1;
        let is_walk = self.sweeps.is_multiple_of(SELDOM);
        self.move_effects(&mut work, is_walk);
        self.move_shared(&mut work, is_walk);
        if is_scale_free {
            self.move_scale(&mut work);
            if let Some(fixed) = &prepared.stretch {
                self.stretch(&mut work, fixed);
            }
        }
        work.swept
    }

    /// Makes the polynomials in s those at d.
    pub(super) fn collapse(&mut self, prepared: &Preparation) {
        if !self.is_collapsed {
            prepared.sums.collapse(&self.d, &mut self.collapsed);
            self.is_collapsed = true;
        }
    }

    /// The mean of each s by the effects' law: −(gap + lean·d).
    pub(super) fn means(&self, prepared: &Preparation, out: &mut Vec<f64>) {
        let n = prepared.groups.len();
        out.clear();
        out.extend(prepared.gap.iter().map(|gap| -gap));
        for (lean, d) in prepared.lean.chunks_exact(n.max(1)).zip(&self.d) {
            out.iter_mut().zip(lean).for_each(|(mean, lean)| *mean -= lean * d);
        }
    }
}

impl Preparation {
    /// K_g·d
    pub(super) fn sheared(&self, place: usize, d: &[f64]) -> f64 {
        let n = self.groups.len();
        d.iter().enumerate().map(|(j, d)| self.shear[j * n + place] * d).sum()
    }
}

/// Everything that reads rows.
#[derive(Clone, Debug)]
pub(super) struct Readings {
    clock: Clock,
    pub reader: Reader,
    /// β of a scan, or x_i.
    at: Vec<f64>,
}

impl Readings {
    /// The log weight of a patch.
    pub fn scan(
        &mut self,
        model: &mut dyn Patched,
        prepared: &Preparation,
        place: usize,
        spot: Spot,
    ) -> f64 {
        self.at.clear();
        self.at.extend(prepared.reference.centre.shared.iter().zip(spot.d).map(|(c, d)| c + d));
        let effect = prepared.effects[place] + spot.s + prepared.sheared(place, spot.d);
        let at: At<'_> = [&self.at, &[effect]];
        let log_weight = self.reader.log_weight(model, prepared.rows[place], at);
        if log_weight.is_nan() { f64::NEG_INFINITY } else { log_weight }
    }

    /// Whether a row of a patch objects to a move, by points of a Poisson process of mean Λ_g.
    #[inline]
    pub fn object(
        &mut self,
        work: &mut Work<'_>,
        place: usize,
        spots: [Spot<'_>; 2],
        mean: f64,
    ) -> bool {
        self.clock.pass(mean);
        while self.clock.rings(work.rng) {
            let Rows { first, step, count } = work.prepared.rows[place];
            let row = first + step * work.rng.below(count);
            let bound = mean / count as f64;
            let (change, size) = self.change(work.model, work.prepared, place, row, spots);
            let is_within = change.abs() <= bound + ROUNDING * (1.0 + size);
            work.swept.asked += 1;
            work.swept.violations += u64::from(!is_within);
            // What is no number objects.
            let is_content = work.rng.uniform() * bound >= -change;
            if !is_content {
                self.clock.stop(work.rng);
                return true;
            }
        }
        false
    }

    /// By how much a row's remainder changes, and how large a log weight it is the rest of.
    fn change(
        &mut self,
        model: &mut dyn Patched,
        prepared: &Preparation,
        place: usize,
        row: usize,
        spots: [Spot; 2],
    ) -> (f64, f64) {
        let p = prepared.shared();
        let centre = &prepared.reference.centre;
        let rows = Rows::one(row);
        let of_zeta = if model.is_wide() { p } else { 0 };
        self.at.resize(p + of_zeta + 2, 0.0);
        model.coefficients(rows, &mut self.at);
        let (x, u, z) = (&self.at[..p], self.at[p], &self.at[p + 1..p + 1 + of_zeta]);
        let offset = self.at[p + 1 + of_zeta];
        let eta = offset + u * prepared.effects[place] + linalg::dot(x, &centre.shared);
        let zeta = linalg::dot(z, &centre.shared[..of_zeta]);
        // No ζ unless rows are wide.
        let zetas = |zeta: f64| [zeta].into_iter().take(of_zeta).collect::<SmallVec<[f64; 1]>>();
        let parts = if model.is_wide() { PARTS } else { 1 };
        let mut f = [0.0; PARTS * (MOST_ORDER + 1)];
        let f = &mut f[..parts * (prepared.sums.order + 1)];
        model.derivatives(rows, [&[eta], &zetas(zeta)], f);
        let remainder = spots.map(|Spot { s, d }| {
            let (s, t) = (u * s, linalg::dot(x, d) + u * prepared.sheared(place, d));
            let r = linalg::dot(z, &d[..of_zeta]);
            let log_weight = model.log_weight(rows, [&[eta + s + t], &zetas(zeta + r)]);
            let polynomial = match parts {
                1 => polynomial(f, s, t),
                _ => polynomial_of_wide(f, s, [t, r]),
            };
            (log_weight - polynomial, log_weight.abs())
        });
        (remainder[1].0 - remainder[0].0, remainder[0].1.max(remainder[1].1))
    }
}

/// Σ_{j≤2} Σ_{k≤m−j} f^(j+k) t^j s^k/(j! k!)
pub(crate) fn polynomial(f: &[f64], s: f64, t: f64) -> f64 {
    let inner = |j: usize| series(&f[j..], s);
    inner(0) + t * (inner(1) + 0.5 * t * inner(2))
}

/// Σ_{j≤2} (t ∂_η + r ∂_ζ)^j/j! Σ_{k≤m−j} s^k/k! ∂_η^k f, from the derivatives in η of f, of ∂f/∂ζ and of ∂²f/∂ζ².
pub(crate) fn polynomial_of_wide(f: &[f64], s: f64, [t, r]: [f64; 2]) -> f64 {
    let orders = f.len() / PARTS;
    // With j of ∂_ζ and k of ∂_η in front.
    let inner = |j: usize, k: usize| series(&f[j * orders + k..(j + 1) * orders - j], s);
    let slopes = t * inner(0, 1) + r * inner(1, 0);
    let bends = t * t * inner(0, 2) + 2.0 * t * r * inner(1, 1) + r * r * inner(2, 0);
    inner(0, 0) + slopes + 0.5 * bends
}

/// Σ_k f_k s^k/k!
fn series(f: &[f64], s: f64) -> f64 {
    let last = f.len() - 1;
    (0..last).rev().fold(f[last], |inner, k| f[k] + inner * s * INVERSE[k + 1])
}

/// Accepts with probability min(1, e^log): a number only where it matters, and a logarithm less often.
#[inline]
pub(crate) fn accepts(log: f64, rng: &mut Rng) -> bool {
    if log >= 0.0 {
        return true;
    }
    let u = rng.uniform();
    // e^x ≥ 1 + x. What is no number is not accepted.
    u < 1.0 + log || u < math::exp(log)
}
