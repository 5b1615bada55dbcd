//! All that sweeps need, made once and never changed in the draws.
//!
//! Patches are *soft*, weighed by their sums and by rows that may object, or *hard*, scanned at every move: those with few rows, for
//! which a scan is cheaper, and those without finite bounds. Soft ones come first; a patch's *place* is its number in
//! this order.
//!
//! Nothing here changes the law of the draws: a worse choice costs rows or acceptance. The pilot counts, it never asks the
//! clock: the same program has the same draws on every machine.

use smidgen_prob::linalg;
use smidgen_value::{Rng, math};

use super::arrowhead::{self, NoReference, Point, Reference};
use super::bounds::{self, Ball, Bounds};
use super::chain::{Chain, Swept};
use super::reading::{At, CHUNK, Chunk, Reader, triangle};
use super::sums::{Kind, Quadratic, Sums};
use super::{PARTS_OF_BOUNDS, Patched, Rows};

/// A patch with fewer rows than these and p is scanned.
const FEW: usize = 5;
/// r_g: so many standard deviations of the effect, and of β beyond √p.
const EFFECT_RADIUS: f64 = 6.5;
const SHARED_RADIUS: f64 = 4.0;
/// m by the median of n_g.
const MANY: usize = 1000;
const SOME: usize = 20;
/// The largest m that is taken without being asked for.
const MOST: usize = 5;
/// Sweeps of the pilot, and how often β should be accepted in them.
const PILOT: usize = 30;
const FINE: f64 = 0.5;
/// The mean share of the prior in the effects from which σ is moved together with them.
const STRETCHED: f64 = 0.2;

/// What a patch in a sweep and a row asked at random cost beside one that is scanned, and gradients of all rows for an effective
/// draw by trajectories, in readings.
const MOVE: f64 = 10.0;
const AT_RANDOM: f64 = 100.0;
const WIDE_AT_RANDOM: f64 = 300.0;
const GRADIENTS: f64 = 36.0;

/// What is asked for; None: what seems best.
#[derive(Clone, Copy, Debug, Default)]
pub struct Want {
    /// m
    pub order: Option<usize>,
    /// The least number of rows of a soft patch.
    pub least_soft: Option<usize>,
    /// Whether σ is also moved together with the effects.
    pub stretch: Option<bool>,
}

/// Fixed numbers of the scale's own move: see [`super::scale`].
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Where the three points lie, in ln σ.
    pub width: f64,
    /// What the reference thinks is the precision of ln σ.
    pub precision: f64,
    /// e^{κ w} and e^{−κ w} by place.
    pub wider: Vec<f64>,
    pub narrower: Vec<f64>,
}

#[derive(Clone, Debug)]
pub struct Preparation {
    pub reference: Reference,
    /// The group at each place.
    pub groups: Vec<u32>,
    /// How many of them are soft.
    pub soft: usize,
    pub rows: Vec<Rows>,
    /// b*_g
    pub effects: Vec<f64>,
    /// H_g
    pub precisions: Vec<f64>,
    /// K_g, coordinate by coordinate.
    pub shear: Vec<f64>,
    /// b*_g less its mean, and K_g − a_g: what is left of it when β moves.
    pub gap: Vec<f64>,
    pub lean: Vec<f64>,
    /// −½ Σ (gap + lean·d)², the law of the effects at σ = 1 and s = 0.
    pub law: Quadratic,
    /// κ_g: the prior's share in H_g.
    pub shares: Vec<f64>,
    pub sums: Sums,
    pub bounds: Bounds,
    pub stretch: Option<Stretch>,
    /// What the pilot did.
    pub pilot: Swept,
    want: Want,
}

impl Preparation {
    /// Searching from a point.
    pub fn new(
        model: &mut dyn Patched,
        start: Point,
        want: Want,
    ) -> Result<Preparation, NoReference> {
        let reference = arrowhead::find(model, start)?;
        let median = {
            let mut counts: Vec<usize> =
                (0..model.groups()).map(|g| model.patch(g).count).collect();
            counts.sort_unstable();
            counts.get(counts.len() / 2).copied().unwrap_or(0)
        };
        let order = want.order.unwrap_or(match median {
            MANY.. => 3,
            SOME.. => 4,
            _ => 5,
        });
        let mut prepared = Preparation::at(model, reference, order, want)?;
        prepared.pilot = prepared.pilot(model);
        let may_rise = want.order.is_none() && model.shared() > 0;
        while may_rise && prepared.sums.order < MOST && prepared.pilot.shared_share() < FINE {
            let order = prepared.sums.order + 1;
            prepared = Preparation::at(model, prepared.reference, order, want)?;
            prepared.pilot = prepared.pilot(model);
        }
        Ok(prepared)
    }

    /// The same reference for rows that have changed.
    pub fn renewed(&self, model: &mut dyn Patched) -> Result<Preparation, NoReference> {
        let order = self.sums.order;
        let made = Preparation::at(model, self.reference.clone(), order, self.want)?;
        Ok(Preparation { pilot: self.pilot, ..made })
    }

    /// What a sweep costs, in readings of a row in order.
    pub fn cost_of_sweep(&self) -> f64 {
        let sweeps = self.pilot.sweeps.max(1) as f64;
        let (asked, scanned) = (self.pilot.asked as f64, self.pilot.scanned as f64);
        let at_random = match self.bounds.most_rho.is_finite() {
            true => WIDE_AT_RANDOM,
            false => AT_RANDOM,
        };
        MOVE * self.groups.len() as f64 + (at_random * asked + scanned) / sweeps
    }

    /// The same for a trajectory over so many rows.
    pub fn cost_of_trajectory(&self, rows: f64) -> f64 {
        GRADIENTS * rows
    }

    /// With a reference and an order.
    pub fn at(
        model: &mut dyn Patched,
        reference: Reference,
        order: usize,
        want: Want,
    ) -> Result<Preparation, NoReference> {
        let p = model.shared();
        let least = want.least_soft.unwrap_or(FEW + p);
        let (mut soft, mut hard) = (Vec::new(), Vec::new());
        let mut maker = Maker { reader: Reader::default(), order, reference: &reference };
        for group in 0..model.groups() {
            let rows = model.patch(group);
            match (rows.count >= least).then(|| maker.ball(model, group)) {
                Some(ball) if ball.is_finite() => soft.push((group as u32, Some(ball))),
                _ => hard.push((group as u32, None)),
            }
        }
        let softs = soft.len();
        let places: Vec<(u32, Option<Ball>)> = soft.into_iter().chain(hard).collect();
        let groups: Vec<u32> = places.iter().map(|(group, _)| *group).collect();
        let balls: Vec<Ball> = places.iter().filter_map(|(_, ball)| *ball).collect();
        let mut sums = Sums::new(order, p, groups.len());
        for (place, group) in groups.iter().enumerate() {
            maker.add(model, *group as usize, place, &mut sums);
        }
        if !sums.is_finite() {
            return Err(NoReference::Impossible);
        }
        let mut bounds = Bounds::new(order, &balls);
        if model.is_wide() {
            bounds.most_rho = most_rho(p);
        }
        let by_place = |of: &[f64]| groups.iter().map(|g| of[*g as usize]).collect::<Vec<f64>>();
        let precision = math::exp(-2.0 * reference.centre.log_scale);
        let precisions = by_place(&reference.precisions);
        let mut prepared = Preparation {
            soft: softs,
            rows: groups.iter().map(|g| model.patch(*g as usize)).collect(),
            effects: by_place(&reference.centre.effects),
            shares: precisions.iter().map(|h| precision / h).collect(),
            precisions,
            shear: vec![0.0; p * groups.len()],
            gap: vec![0.0; groups.len()],
            lean: vec![0.0; p * groups.len()],
            law: Quadratic::new(p),
            sums,
            bounds,
            stretch: None,
            groups,
            reference,
            pilot: Swept::default(),
            want,
        };
        prepared.lean(model);
        let mean = prepared.shares.iter().sum::<f64>() / prepared.shares.len().max(1) as f64;
        if model.is_scale_free() && want.stretch.unwrap_or(mean > STRETCHED) {
            prepared.stretch = Some(prepared.stretch());
        }
        Ok(prepared)
    }

    /// Fills in what the effects' law looks like when β moves.
    fn lean(&mut self, model: &mut dyn Patched) {
        let (p, n) = (model.shared(), self.groups.len());
        let centre = &self.reference.centre;
        let mut a = vec![0.0; p];
        for (place, group) in self.groups.iter().enumerate() {
            let group = *group as usize;
            let mean = model.location(group, &mut a) + linalg::dot(&a, &centre.shared);
            self.gap[place] = centre.effects[group] - mean;
            for (j, a) in a.iter().enumerate() {
                let k = self.reference.shear[group * p + j];
                self.shear[j * n + place] = k;
                self.lean[j * n + place] = k - a;
            }
        }
        let lean = |j: usize| &self.lean[j * n..(j + 1) * n];
        let mut cell = 0;
        for j in 0..p {
            self.law.gradient[j] = -linalg::dot(&self.gap, lean(j));
            for l in 0..=j {
                self.law.lower[cell] = -linalg::dot(lean(j), lean(l));
                cell += 1;
            }
        }
    }

    fn stretch(&self) -> Stretch {
        let bends = self.shares.iter().map(|share| 2.0 * (1.0 - share) * (1.0 - share));
        let precision = bends.sum::<f64>().max(0.5);
        let width = 1.5 / math::sqrt(precision);
        let by = |sign: f64| self.shares.iter().map(|k| math::exp(sign * k * width)).collect();
        Stretch { width, precision, wider: by(1.0), narrower: by(-1.0) }
    }

    pub fn shared(&self) -> usize {
        self.reference.centre.shared.len()
    }

    /// ρ of a step of β.
    pub fn length(&self, d: &[f64]) -> f64 {
        let factor = &self.reference.factor;
        let p = d.len();
        let along = |i: usize| (i..p).map(|k| factor.get(k, i) * d[k]).sum::<f64>();
        math::sqrt((0..p).map(|i| along(i) * along(i)).sum())
    }

    /// What some sweeps from the reference do. Their stream is no part of any chain.
    fn pilot(&self, model: &mut dyn Patched) -> Swept {
        let mut rng = Rng::from_seed(1);
        let mut chain = Chain::new(&mut rng);
        chain.go(model, self, &self.reference.centre);
        let mut swept = Swept::default();
        (0..PILOT).for_each(|_| swept.add(chain.sweep(model, self, &mut rng)));
        swept
    }
}

/// `max` would pass over what is no number.
fn largest(most: f64, bounds: &[f64]) -> f64 {
    bounds.iter().fold(most, |a, b| if *b <= a { a } else { *b })
}

/// How far ρ reaches, in a ball that is as large as it has to be.
fn most_rho(p: usize) -> f64 {
    SHARED_RADIUS + math::sqrt(p as f64)
}

/// Reads patches at the reference.
struct Maker<'a> {
    reader: Reader,
    order: usize,
    reference: &'a Reference,
}

impl Maker<'_> {
    /// Where a patch is read: β* and b*_g.
    fn at(&self, group: usize) -> At<'_> {
        let centre = &self.reference.centre;
        [&centre.shared, &centre.effects[group..=group]]
    }

    /// x̃ of a chunk by coordinate.
    fn sheared(&self, group: usize, chunk: &Chunk, out: &mut Vec<f64>) {
        let p = self.reference.centre.shared.len();
        out.clear();
        for (j, k) in self.reference.shear[group * p..(group + 1) * p].iter().enumerate() {
            out.extend(chunk.x(j).iter().zip(chunk.x(p)).map(|(x, u)| x + u * k));
        }
    }

    /// The ball of a patch, and the bounds on it.
    fn ball(&mut self, model: &mut dyn Patched, group: usize) -> Ball {
        let p = model.shared();
        let rows = model.patch(group);
        let mut reader = std::mem::take(&mut self.reader);
        let (mut x, mut whitened) = (Vec::new(), vec![0.0; p]);
        let (mut lever, mut most) = (0.0_f64, [0.0_f64; 2]);
        let factor = &self.reference.factor;
        let mut length = |most: &mut f64, of: &dyn Fn(usize) -> f64| {
            whitened.iter_mut().enumerate().for_each(|(j, w)| *w = of(j));
            linalg::solve_lower(factor, &mut whitened);
            *most = most.max(linalg::dot(&whitened, &whitened));
        };
        reader.coefficients(model, rows, 1, |chunk| {
            self.sheared(group, &chunk, &mut x);
            lever = chunk.x(p).iter().fold(lever, |most, u| most.max(u.abs()));
            for i in 0..chunk.rows.count {
                length(&mut most[0], &|j| x[j * chunk.rows.count + i]);
                if p > 0 && chunk.z(0).is_some() {
                    length(&mut most[1], &|j| chunk.z(j).map_or(0.0, |z| z[i]));
                }
            }
        });
        let reaches = most.map(|most| math::sqrt(most) * (1.0 + 1e-6));
        let reach = reaches[0].max(reaches[1]);
        let sd = 1.0 / math::sqrt(self.reference.precisions[group]);
        let radius = EFFECT_RADIUS * sd * lever + reach * most_rho(p);
        let ball = Ball { rows: rows.count as f64, lever, reach, radius, most: [0.0; 3] };
        let most = match model.is_wide() {
            true => self.most_of_wide(model, &mut reader, group, radius, reaches),
            false => self.most(model, &mut reader, group, radius),
        };
        self.reader = reader;
        Ball { most, ..ball }
    }

    /// The largest derivatives of a patch that its bounds need.
    fn most(
        &self,
        model: &mut dyn Patched,
        reader: &mut Reader,
        group: usize,
        radius: f64,
    ) -> [f64; 3] {
        let (mut found, mut bounds) = ([0.0; 3], vec![0.0; CHUNK]);
        let rows = model.patch(group);
        reader.derivatives(model, rows, self.at(group), 0, |model, chunk| {
            let bounds = &mut bounds[..chunk.rows.count];
            for (order, found) in Ball::orders(self.order).into_iter().zip(&mut found) {
                model.most(chunk.rows, chunk.at[0], radius, order, bounds);
                *found = largest(*found, bounds);
            }
        });
        found
    }

    /// The same of wide rows, with ζ no further than [`most_rho`] allows.
    fn most_of_wide(
        &self,
        model: &mut dyn Patched,
        reader: &mut Reader,
        group: usize,
        radius: f64,
        reaches: [f64; 2],
    ) -> [f64; 3] {
        let rows = model.patch(group);
        let order = Ball::orders(self.order).into_iter().fold(0, usize::max);
        let orders = order + 1;
        let radii = [radius, reaches[1] * most_rho(model.shared())];
        let mut found = vec![0.0; PARTS_OF_BOUNDS * orders];
        let mut bounds = vec![0.0; PARTS_OF_BOUNDS * orders * CHUNK];
        reader.derivatives(model, rows, self.at(group), 0, |model, chunk| {
            let n = chunk.rows.count;
            let bounds = &mut bounds[..PARTS_OF_BOUNDS * orders * n];
            model.most_of_wide(chunk.rows, chunk.at, radii, order, bounds);
            for (found, bounds) in found.iter_mut().zip(bounds.chunks_exact(n)) {
                *found = largest(*found, bounds);
            }
        });
        bounds::most_of_wide(self.order, reaches, |j, k| found[j * orders + k])
    }

    /// Adds the sums of a patch.
    fn add(&mut self, model: &mut dyn Patched, group: usize, place: usize, sums: &mut Sums) {
        let p = model.shared();
        let rows = model.patch(group);
        let mut reader = std::mem::take(&mut self.reader);
        let (mut x, mut products) = (Vec::new(), Vec::with_capacity(triangle(p) * CHUNK));
        let (mut f, mut before) = (Vec::new(), [Vec::new(), Vec::new()]);
        reader.derivatives(model, rows, self.at(group), self.order, |_, chunk| {
            let n = chunk.rows.count;
            self.sheared(group, &chunk, &mut x);
            let x = |j: usize| &x[j * n..(j + 1) * n];
            products.clear();
            for j in 0..p {
                for l in 0..=j {
                    products.extend(x(j).iter().zip(x(l)).map(|(a, b)| a * b));
                }
            }
            self.add_wide(place, &chunk, &x, sums);
            // u^k, u^{k−1} and u^{k−2}
            let mut power = vec![1.0; n];
            for k in 0..=self.order {
                let times = |out: &mut Vec<f64>, power: &[f64]| {
                    out.clear();
                    out.extend(chunk.f(k).iter().zip(power).map(|(f, u)| f * u));
                };
                times(&mut f, &power);
                sums.add(place, Kind::F(k), f.iter().sum());
                if k >= 1 {
                    times(&mut f, &before[0]);
                    (0..p).for_each(|j| sums.add(place, Kind::X(k, j), linalg::dot(&f, x(j))));
                }
                if k >= 2 {
                    times(&mut f, &before[1]);
                    for (cell, products) in products.chunks_exact(n).enumerate() {
                        sums.add(place, Kind::Xx(k, cell), linalg::dot(&f, products));
                    }
                }
                before.swap(0, 1);
                before[0].clone_from(&power);
                power.iter_mut().zip(chunk.x(p)).for_each(|(power, u)| *power *= u);
            }
        });
        self.reader = reader;
    }

    /// What z_i adds to the sums of a patch, x̃_i as by `x`.
    fn add_wide<'a>(
        &self,
        place: usize,
        chunk: &Chunk,
        x: &dyn Fn(usize) -> &'a [f64],
        sums: &mut Sums,
    ) {
        let p = self.reference.centre.shared.len();
        let mut weighted = Vec::new();
        // Σ u^power f x y
        let mut sum = |f: &[f64], power: usize, x: &[f64], y: Option<&[f64]>| {
            weighted.clear();
            weighted.extend(f.iter().zip(x).map(|(f, x)| f * x));
            for _ in 0..power {
                weighted.iter_mut().zip(chunk.x(p)).for_each(|(w, u)| *w *= u);
            }
            y.map_or_else(|| weighted.iter().sum(), |y| linalg::dot(&weighted, y))
        };
        let Some(z) = (0..p).map(|j| chunk.z(j)).collect::<Option<Vec<&[f64]>>>() else { return };
        for k in 1..=self.order {
            for (j, z) in z.iter().enumerate() {
                sums.add(place, Kind::X(k, j), sum(chunk.part(1, k - 1), k - 1, z, None));
            }
            let mut cell = 0;
            for j in (0..p).filter(|_| k >= 2) {
                for l in 0..=j {
                    let mixed = chunk.part(1, k - 1);
                    let total = sum(mixed, k - 2, x(j), Some(z[l]))
                        + sum(mixed, k - 2, x(l), Some(z[j]))
                        + sum(chunk.part(2, k - 2), k - 2, z[j], Some(z[l]));
                    sums.add(place, Kind::Xx(k, cell), total);
                    cell += 1;
                }
            }
        }
    }
}
