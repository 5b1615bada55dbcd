//! All that sweeps need, made once and never changed in the draws; nothing here changes their law.

use smidgen_prob::linalg;
use smidgen_value::{Rng, math};

use super::bounds::Ball;
use super::chain::Chain;
use super::climb::{self, Reference};
use super::sums::Sums;
use super::{Crossed, MOST_MEMBERS, Point};
use crate::patches::Rows;
use crate::patches::arrowhead::NoReference;
use crate::patches::chain::Swept;
use crate::patches::reading::{CHUNK, Chunk, Reader, triangle};

/// A patch with fewer rows than these and p is scanned.
const FEW: usize = 5;
/// r: so many standard deviations of the effects, by their number, and of β beyond √p.
const EFFECT_RADIUS: [f64; MOST_MEMBERS + 1] = [0.0, 6.5, 5.5, 5.0];
const SHARED_RADIUS: f64 = 4.0;
/// m by the median of the rows of a patch, and at most.
const MANY: usize = 1000;
const MOST: usize = 5;
/// Sweeps of the pilot, and how often β should be accepted in them.
const PILOT: usize = 30;
const FINE: f64 = 0.5;
/// The mean share of the prior in the effects from which a scale is moved together with them.
const STRETCHED: f64 = 0.2;
/// How much less a line must bend than its effects one by one to be worth a move.
const FLATTER: f64 = 0.5;
/// What an effect of a patch in a sweep and a row asked at random cost beside one that is scanned, and gradients of all rows for
/// an effective draw by trajectories, in readings.
const MOVE: f64 = 20.0;
const AT_RANDOM: f64 = 100.0;
const GRADIENTS: f64 = 36.0;

/// What is asked for; None: what seems best.
#[derive(Clone, Copy, Debug, Default)]
pub struct Want {
    /// m
    pub order: Option<usize>,
    /// The least number of rows of a soft patch.
    pub least_soft: Option<usize>,
    /// Whether there are moves along lines.
    pub lines: Option<bool>,
}

/// A patch: its rows, its effects, and its bounds if it is soft.
#[derive(Clone, Debug)]
pub struct Patch {
    pub rows: Rows,
    pub members: Vec<u32>,
    pub ball: Option<Ball>,
}

/// A line along which effects move: see [`super::lines`].
#[derive(Clone, Debug)]
pub enum Line {
    /// All effects of a scale by the same, the others by what makes up for it.
    Shift { scale: usize, by: Vec<f64>, precision: f64 },
    /// The effects of a scale with it.
    Stretch { scale: usize, precision: f64 },
}

#[derive(Clone, Debug)]
pub struct Preparation {
    pub reference: Reference,
    pub patches: Vec<Patch>,
    /// The patches that read each effect, and as which of theirs.
    pub readers: Vec<Vec<(u32, u8)>>,
    pub scale_of: Vec<u32>,
    /// b*_e less its mean, and K_e − a_e, effect by effect: what is left of it when β moves.
    pub gap: Vec<f64>,
    pub lean: Vec<f64>,
    /// The prior's share in the precision of each effect.
    pub shares: Vec<f64>,
    pub sums: Sums,
    pub lines: Vec<Line>,
    /// What the pilot did.
    pub pilot: Swept,
    want: Want,
}

impl Preparation {
    /// Searching from a point.
    pub fn new(
        model: &mut dyn Crossed,
        start: Point,
        want: Want,
    ) -> Result<Preparation, NoReference> {
        let reference = climb::find(model, start)?;
        let mut counts: Vec<usize> = (0..model.patches()).map(|c| model.patch(c).count).collect();
        counts.sort_unstable();
        let median = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let order = want.order.unwrap_or(if median >= MANY { 3 } else { 4 });
        let mut prepared = Preparation::at(model, reference, order, want)?;
        prepared.pilot = prepared.pilot(model);
        let may_rise = want.order.is_none() && model.shared() > 0;
        while may_rise && prepared.order() < MOST && prepared.pilot.shared_share() < FINE {
            let order = prepared.order() + 1;
            prepared = Preparation::at(model, prepared.reference, order, want)?;
            prepared.pilot = prepared.pilot(model);
        }
        Ok(prepared)
    }

    /// The same reference for rows that have changed.
    pub fn renewed(&self, model: &mut dyn Crossed) -> Result<Preparation, NoReference> {
        let made = Preparation::at(model, self.reference.clone(), self.order(), self.want)?;
        Ok(Preparation { pilot: self.pilot, ..made })
    }

    /// m
    pub fn order(&self) -> usize {
        self.sums.indices[0].order
    }

    /// How many patches are soft.
    pub fn soft(&self) -> usize {
        self.patches.iter().filter(|patch| patch.ball.is_some()).count()
    }

    pub fn shared(&self) -> usize {
        self.reference.centre.shared.len()
    }

    /// What a sweep costs, in readings of a row in order.
    pub fn cost_of_sweep(&self) -> f64 {
        let sweeps = self.pilot.sweeps.max(1) as f64;
        let (asked, scanned) = (self.pilot.asked as f64, self.pilot.scanned as f64);
        let moves: usize = self.readers.iter().map(Vec::len).sum();
        let lines = 1.0 + 0.5 * self.lines.len() as f64;
        MOVE * lines * moves as f64 + (AT_RANDOM * asked + scanned) / sweeps
    }

    /// The same for a trajectory over so many rows.
    pub fn cost_of_trajectory(&self, rows: f64) -> f64 {
        GRADIENTS * rows
    }

    /// ρ of a step of β.
    pub fn length(&self, d: &[f64]) -> f64 {
        let (factor, p) = (&self.reference.factor, d.len());
        let along = |i: usize| (i..p).map(|k| factor.get(k, i) * d[k]).sum::<f64>();
        math::sqrt((0..p).map(|i| along(i) * along(i)).sum())
    }

    /// K_e·d
    pub fn sheared(&self, effect: usize, d: &[f64]) -> f64 {
        let p = d.len();
        linalg::dot(&self.reference.shear[effect * p..(effect + 1) * p], d)
    }

    /// With a reference and an order.
    fn at(
        model: &mut dyn Crossed,
        reference: Reference,
        order: usize,
        want: Want,
    ) -> Result<Preparation, NoReference> {
        let p = model.shared();
        let least = want.least_soft.unwrap_or(FEW + p);
        let members = (0..model.patches()).map(|c| model.members(c).len() as u8).collect();
        let mut sums = Sums::new(order, p, members);
        let mut maker = Maker { reader: Reader::default(), order, reference: &reference };
        let mut patches = Vec::with_capacity(model.patches());
        let mut readers = vec![Vec::new(); model.effects()];
        for number in 0..model.patches() {
            let rows = model.patch(number);
            let members = model.members(number).to_vec();
            for (slot, effect) in members.iter().enumerate() {
                readers[*effect as usize].push((number as u32, slot as u8));
            }
            let ball = (rows.count >= least).then(|| maker.ball(model, rows, &members));
            maker.add(model, number, rows, &members, &mut sums);
            patches.push(Patch { rows, members, ball: ball.filter(Ball::is_finite) });
        }
        if !sums.is_finite() {
            return Err(NoReference::Impossible);
        }
        let scale_of: Vec<u32> =
            (0..model.effects()).map(|effect| model.scale_of(effect) as u32).collect();
        let scales = &reference.centre.log_scales;
        let share = |(h, k): (&f64, &u32)| math::exp(-2.0 * scales[*k as usize]) / h;
        let shares = reference.coupling.diagonal.iter().zip(&scale_of).map(share).collect();
        let (gap, lean) = leaning(model, &reference);
        let mut prepared = Preparation {
            patches,
            readers,
            scale_of,
            gap,
            lean,
            shares,
            sums,
            lines: Vec::new(),
            pilot: Swept::default(),
            reference,
            want,
        };
        prepared.lines = prepared.lines(model);
        Ok(prepared)
    }

    /// The lines that are worth a move.
    fn lines(&self, model: &dyn Crossed) -> Vec<Line> {
        let mut lines = Vec::new();
        let coupling = &self.reference.coupling;
        for scale in 0..model.scales() {
            let is_own = |e: usize| self.scale_of[e] as usize == scale;
            let own: Vec<usize> = (0..self.scale_of.len()).filter(|e| is_own(*e)).collect();
            let unit: Vec<f64> =
                (0..self.scale_of.len()).map(|e| f64::from(u8::from(is_own(e)))).collect();
            let pull: Vec<f64> = coupling.times(&unit).iter().map(|x| -x).collect();
            let mut by = coupling.solve(&pull, &|e| !is_own(e));
            own.iter().for_each(|e| by[*e] = 1.0);
            let precision = linalg::dot(&by, &coupling.times(&by));
            let one_by_one: f64 = own.iter().map(|e| coupling.diagonal[*e]).sum();
            let is_flat = precision > 0.0 && precision < FLATTER * one_by_one;
            if self.want.lines.unwrap_or(is_flat) && precision > 0.0 {
                lines.push(Line::Shift { scale, by, precision });
            }
            let mean = own.iter().map(|e| self.shares[*e]).sum::<f64>() / own.len().max(1) as f64;
            if model.is_scale_free(scale) && self.want.lines.unwrap_or(mean > STRETCHED) {
                let bend = |e: &usize| 2.0 * (1.0 - self.shares[*e]) * (1.0 - self.shares[*e]);
                let precision = own.iter().map(bend).sum::<f64>().max(0.5);
                lines.push(Line::Stretch { scale, precision });
            }
        }
        lines
    }

    /// What some sweeps from the reference do. Their stream is no part of any chain.
    fn pilot(&self, model: &mut dyn Crossed) -> Swept {
        let mut rng = Rng::from_seed(1);
        let mut chain = Chain::new(&mut rng);
        chain.go(model, self, &self.reference.centre);
        let mut swept = Swept::default();
        (0..PILOT).for_each(|_| swept.add(chain.sweep(model, self, &mut rng)));
        swept
    }
}

/// b*_e less its mean, and K_e − a_e.
fn leaning(model: &dyn Crossed, reference: &Reference) -> (Vec<f64>, Vec<f64>) {
    let centre = &reference.centre;
    let mut a = vec![0.0; centre.shared.len()];
    let (mut gaps, mut lean) = (Vec::new(), reference.shear.clone());
    for (e, effect) in centre.effects.iter().enumerate() {
        let mean = model.location(e, &mut a) + linalg::dot(&a, &centre.shared);
        gaps.push(effect - mean);
        let p = a.len();
        lean[e * p..(e + 1) * p].iter_mut().zip(&a).for_each(|(lean, a)| *lean -= a);
    }
    (gaps, lean)
}

/// Reads patches at the reference.
struct Maker<'a> {
    reader: Reader,
    order: usize,
    reference: &'a Reference,
}

impl Maker<'_> {
    fn effects(&self, members: &[u32]) -> Vec<f64> {
        members.iter().map(|effect| self.reference.centre.effects[*effect as usize]).collect()
    }

    /// x̃ of a chunk by coordinate.
    fn sheared(&self, members: &[u32], chunk: &Chunk, out: &mut Vec<f64>) {
        let p = self.reference.centre.shared.len();
        out.clear();
        for j in 0..p {
            let first = out.len();
            out.extend_from_slice(chunk.x(j));
            for (slot, effect) in members.iter().enumerate() {
                let k = self.reference.shear[*effect as usize * p + j];
                let column = &mut out[first..];
                column.iter_mut().zip(chunk.x(p + slot)).for_each(|(x, u)| *x += k * u);
            }
        }
    }

    /// The ball of a patch, and the bounds on it.
    fn ball(&mut self, model: &mut dyn Crossed, rows: Rows, members: &[u32]) -> Ball {
        let p = model.shared();
        let mut reader = std::mem::take(&mut self.reader);
        let (mut x, mut whitened, mut most) = (Vec::new(), vec![0.0; p], 0.0_f64);
        let mut ranges = [[f64::INFINITY, f64::NEG_INFINITY]; MOST_MEMBERS];
        reader.coefficients(model, rows, members.len(), |chunk| {
            self.sheared(members, &chunk, &mut x);
            for (slot, [low, high]) in ranges.iter_mut().enumerate().take(members.len()) {
                for u in chunk.x(p + slot) {
                    (*low, *high) = (low.min(*u), high.max(*u));
                }
            }
            for i in 0..chunk.rows.count {
                let place = |j: usize| x[j * chunk.rows.count + i];
                whitened.iter_mut().enumerate().for_each(|(j, w)| *w = place(j));
                linalg::solve_lower(&self.reference.factor, &mut whitened);
                most = most.max(linalg::dot(&whitened, &whitened));
            }
        });
        let reach = math::sqrt(most) * (1.0 + 1e-6);
        let (mut middle, mut spread) = ([0.0; MOST_MEMBERS], [0.0; MOST_MEMBERS]);
        let mut radius = reach * (SHARED_RADIUS + math::sqrt(p as f64));
        for (slot, effect) in members.iter().enumerate() {
            let [low, high] = ranges[slot];
            middle[slot] = 0.5 * (low + high);
            // Rounding must not leave an end out.
            spread[slot] = (0.5 * (high - low) + 1e-12 * middle[slot].abs()).max(0.0);
            let sd = 1.0 / math::sqrt(self.reference.coupling.diagonal[*effect as usize]);
            let lever = middle[slot].abs() + spread[slot];
            radius += EFFECT_RADIUS[members.len()] * sd * lever;
        }
        let order = self.order;
        let rows_in_all = rows.count as f64;
        let mut ball =
            Ball { order, rows: rows_in_all, middle, spread, reach, radius, most: [0.0; 3] };
        let mut bounds = vec![0.0; CHUNK];
        let effects = self.effects(members);
        let at = [&self.reference.centre.shared[..], &effects[..]];
        reader.derivatives(model, rows, at, 0, |model, chunk| {
            let bounds = &mut bounds[..chunk.rows.count];
            for (order, most) in [3, 4, order + 1].into_iter().zip(&mut ball.most) {
                model.most(chunk.rows, chunk.at[0], radius, order, bounds);
                // `max` would pass over what is no number.
                *most = bounds.iter().fold(*most, |a, b| if *b <= a { a } else { *b });
            }
        });
        self.reader = reader;
        ball
    }

    /// Adds the sums of a patch.
    fn add(
        &mut self,
        model: &mut dyn Crossed,
        number: usize,
        rows: Rows,
        members: &[u32],
        sums: &mut Sums,
    ) {
        let p = model.shared();
        let mut reader = std::mem::take(&mut self.reader);
        let indices = sums.indices(number).clone();
        let (mut x, mut weighted) = (Vec::new(), vec![0.0; CHUNK]);
        let mut products = Vec::with_capacity(triangle(p) * CHUNK);
        let effects = self.effects(members);
        let at = [&self.reference.centre.shared[..], &effects[..]];
        reader.derivatives(model, rows, at, self.order, |_, chunk| {
            let n = chunk.rows.count;
            self.sheared(members, &chunk, &mut x);
            let x = |j: usize| &x[j * n..(j + 1) * n];
            products.clear();
            for j in 0..p {
                for l in 0..=j {
                    products.extend(x(j).iter().zip(x(l)).map(|(a, b)| a * b));
                }
            }
            for (k, index) in indices.list.iter().enumerate() {
                let degree: usize = index.iter().map(|k| *k as usize).sum();
                for order in 0..=2.min(self.order - degree) {
                    let weighted = &mut weighted[..n];
                    weighted.copy_from_slice(chunk.f(degree + order));
                    for (slot, times) in index.iter().enumerate() {
                        for _ in 0..*times {
                            let u = chunk.x(p + slot);
                            weighted.iter_mut().zip(u).for_each(|(w, u)| *w *= u);
                        }
                    }
                    match order {
                        0 => *sums.at(number, k, 0, 0) += weighted.iter().sum::<f64>(),
                        1 => (0..p).for_each(|j| {
                            *sums.at(number, k, 1, j) += linalg::dot(weighted, x(j));
                        }),
                        _ => {
                            for (cell, products) in products.chunks_exact(n).enumerate() {
                                *sums.at(number, k, 2, cell) += linalg::dot(weighted, products);
                            }
                        }
                    }
                }
            }
        });
        self.reader = reader;
    }
}
