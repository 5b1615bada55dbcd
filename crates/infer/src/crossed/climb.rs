//! The reference: Newton steps on (β, b), the effects eliminated by conjugate gradients, for H_bb is sparse: an effect is coupled to those
//! that rows read together with it. Scales follow by steps of EM, and Laplace's term is added to the gradient, as for patches of
//! one effect ([`crate::patches::arrowhead`]), with the variances of the pass before.

use smidgen_prob::linalg;
use smidgen_value::{Matrix, math};

use super::{Crossed, MOST_MEMBERS, Point};
use crate::patches::arrowhead::{NoReference, factor};
use crate::patches::prior::Prior;
use crate::patches::reading::{Bend, Reader};

/// Steps at most, on a part of the rows and on all; patches with more rows than this have a part of them read at first.
const PART_STEPS: usize = 20;
const STEPS: usize = 12;
const PART: usize = 64;
/// Near enough: steps in standard deviations, and of ln σ.
const NEAR: f64 = 0.1;
const NEAR_SCALE: f64 = 0.02;
/// How far ln σ goes in a step, and where it stays.
const SCALE_STEP: f64 = 1.0;
const MOST_SCALE: f64 = 9.0;
const HALVINGS: usize = 20;
/// Of conjugate gradients.
const ITERATIONS: usize = 200;
const PRECISE: f64 = 1e-8;

/// Where the posterior is, and what it looks like there.
#[derive(Clone, Debug)]
pub struct Reference {
    pub centre: Point,
    /// K_e, effect by effect.
    pub shear: Vec<f64>,
    pub coupling: Coupling,
    /// L with L Lᵀ the precision of β, the effects integrated out.
    pub factor: Matrix,
    pub prior: Prior,
    /// Passes over all rows, parts of passes counted as such.
    pub passes: f64,
}

/// H_bb: its diagonal, and what is beside it.
#[derive(Clone, Debug, Default)]
pub struct Coupling {
    pub diagonal: Vec<f64>,
    pub beside: Vec<(u32, u32, f64)>,
}

impl Coupling {
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = self.diagonal.iter().zip(x).map(|(h, x)| h * x).collect();
        for (a, b, h) in &self.beside {
            out[*a as usize] += h * x[*b as usize];
            out[*b as usize] += h * x[*a as usize];
        }
        out
    }

    /// H⁻¹ y among the effects that are free; the others stay 0.
    pub fn solve(&self, y: &[f64], is_free: &dyn Fn(usize) -> bool) -> Vec<f64> {
        let keep = |x: &mut Vec<f64>| {
            x.iter_mut().enumerate().filter(|(e, _)| !is_free(*e)).for_each(|(_, x)| *x = 0.0);
        };
        let mut rest = y.to_vec();
        keep(&mut rest);
        let precondition =
            |x: &[f64]| x.iter().zip(&self.diagonal).map(|(x, h)| x / h).collect::<Vec<f64>>();
        let mut x = vec![0.0; y.len()];
        let mut scaled = precondition(&rest);
        let mut along = scaled.clone();
        let mut size = linalg::dot(&rest, &scaled);
        let enough = PRECISE * PRECISE * size;
        for _ in 0..ITERATIONS {
            let mut bent = self.times(&along);
            keep(&mut bent);
            let bend = linalg::dot(&along, &bent);
            if size <= enough || bend <= 0.0 {
                break;
            }
            let step = size / bend;
            x.iter_mut().zip(&along).for_each(|(x, a)| *x += step * a);
            rest.iter_mut().zip(&bent).for_each(|(r, b)| *r -= step * b);
            scaled = precondition(&rest);
            let next = linalg::dot(&rest, &scaled);
            along.iter_mut().zip(&scaled).for_each(|(a, s)| *a = s + next / size * *a);
            size = next;
        }
        x
    }
}

/// What a pass over the rows gives.
struct Look {
    log_p: f64,
    /// The precision of β with the effects integrated out, and the gradient along the shear.
    schur: Vec<f64>,
    gradient: Vec<f64>,
    shear: Vec<f64>,
    coupling: Coupling,
    /// Newton's step of the effects alone, and what their means are beyond their modes.
    own: Vec<f64>,
    skews: Vec<f64>,
    prior: Prior,
}

struct Climb<'a> {
    model: &'a mut dyn Crossed,
    reader: Reader,
    stride_from: usize,
    rows: usize,
    passes: f64,
    /// Of the effects, as the pass before has it.
    variances: Vec<f64>,
}

impl Climb<'_> {
    fn look(&mut self, at: &Point) -> Option<Look> {
        let (p, n) = (self.model.shared(), self.model.effects());
        let mut sums = Sums::new(p, n);
        for number in 0..self.model.patches() {
            self.add_patch(number, at, &mut sums);
        }
        let model = &mut *self.model;
        let mut a = vec![0.0; p];
        for (e, effect) in at.effects.iter().enumerate() {
            let log_scale = at.log_scales[model.scale_of(e)];
            let precision = math::exp(-2.0 * log_scale);
            let gap = effect - model.location(e, &mut a) - linalg::dot(&a, &at.shared);
            sums.log_p -= log_scale + 0.5 * precision * gap * gap;
            sums.slopes[e] -= gap * precision;
            sums.coupling.diagonal[e] += precision;
            for j in 0..p {
                sums.gradient[j] += a[j] * gap * precision;
                sums.mixed[j * n + e] -= a[j] * precision;
                (0..p).for_each(|l| sums.bend[j * p + l] += a[j] * a[l] * precision);
            }
        }
        let log_p = sums.log_p + model.log_prior(&at.shared, &at.log_scales);
        let look = sums.finish(model, at, log_p)?;
        let is_finite = look.schur.iter().chain(&look.gradient).chain(&look.own);
        let is_finite = look.log_p.is_finite() && is_finite.copied().all(f64::is_finite);
        is_finite.then_some(look)
    }

    fn add_patch(&mut self, number: usize, at: &Point, sums: &mut Sums) {
        let p = self.model.shared();
        let n = at.effects.len();
        let rows = self.model.patch(number);
        let members: Vec<usize> =
            self.model.members(number).iter().map(|effect| *effect as usize).collect();
        let q = members.len();
        let (mut effects, mut variances) = ([0.0; MOST_MEMBERS], [0.0; MOST_MEMBERS]);
        for (slot, e) in members.iter().enumerate() {
            (effects[slot], variances[slot]) = (at.effects[*e], self.variances[*e]);
        }
        let here = [&at.shared[..], &effects[..q]];
        let stride = (rows.count / self.stride_from).max(1);
        let bend = &mut sums.of_patch;
        let read = bend.read(self.model, &mut self.reader, rows, here, &variances[..q], stride);
        self.passes += read as f64 / self.rows.max(1) as f64;
        sums.log_p += bend.value;
        for j in 0..p {
            sums.gradient[j] += bend.first[j];
            sums.laplace[j] += 0.5 * bend.third[j];
            (0..p).for_each(|l| sums.bend[j * p + l] -= bend.second(j, l));
        }
        for (slot, e) in members.iter().enumerate() {
            let k = p + slot;
            sums.slopes[*e] += bend.first[k];
            sums.skews[*e] += 0.5 * bend.third[k];
            // A patch that bends up would leave the effect without a scale.
            let own = -bend.second(k, k);
            if own <= 0.0 {
                continue;
            }
            sums.coupling.diagonal[*e] += own;
            (0..p).for_each(|j| sums.mixed[j * n + e] -= bend.second(k, j));
            for (other, f) in members.iter().enumerate().take(slot) {
                if bend.second(p + other, p + other) < 0.0 {
                    let beside = -bend.second(k, p + other);
                    sums.coupling.beside.push((*e as u32, *f as u32, beside));
                }
            }
        }
    }

    fn climb(&mut self, mut at: Point, steps: usize) -> Result<(Point, Look), NoReference> {
        let p = at.shared.len();
        let mut look = self.look(&at).ok_or(NoReference::Impossible)?;
        for step in 1.. {
            self.variances = look.coupling.diagonal.iter().map(|h| 1.0 / h).collect();
            let (factor, is_damped) = factor(&look.schur, p).ok_or(NoReference::NoMode)?;
            let mut move_shared = look.gradient.clone();
            linalg::solve_lower(&factor, &mut move_shared);
            let mut longest = math::sqrt(linalg::dot(&move_shared, &move_shared));
            linalg::solve_lower_transposed(&factor, &mut move_shared);
            let mut to = at.clone();
            to.shared.iter_mut().zip(&move_shared).for_each(|(x, by)| *x += by);
            for (e, effect) in to.effects.iter_mut().enumerate() {
                let own = look.own[e];
                *effect += own + linalg::dot(&look.shear[e * p..(e + 1) * p], &move_shared);
                longest = longest.max(own.abs() * math::sqrt(look.coupling.diagonal[e]));
            }
            to.log_scales = self.scales(&to, &look);
            let steps_of_scales = to.log_scales.iter().zip(&at.log_scales);
            let scale_step = steps_of_scales.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            (at, look) = self.go(&at, to, &look)?;
            if step >= steps || longest < NEAR && scale_step < NEAR_SCALE && !is_damped {
                break;
            }
        }
        Ok((at, look))
    }

    /// The law of the effects and the prior, which alone hang on the scales.
    fn of_scales(&mut self, at: &Point, log_scales: &[f64]) -> f64 {
        let mut a = vec![0.0; at.shared.len()];
        let mut total = self.model.log_prior(&at.shared, log_scales);
        for (e, effect) in at.effects.iter().enumerate() {
            let log_scale = log_scales[self.model.scale_of(e)];
            let gap = effect - self.model.location(e, &mut a) - linalg::dot(&a, &at.shared);
            total -= log_scale + 0.5 * gap * gap * math::exp(-2.0 * log_scale);
        }
        total
    }

    /// Goes, or half of the way if that leads far down, and so on.
    fn go(
        &mut self,
        from: &Point,
        mut to: Point,
        before: &Look,
    ) -> Result<(Point, Look), NoReference> {
        // Laplace's term is not in the log density: so much may be lost for its sake.
        let slack = 1.0 + 0.5 * from.effects.len() as f64 + 1e-6 * before.log_p.abs();
        let by_scales =
            self.of_scales(from, &to.log_scales) - self.of_scales(from, &from.log_scales);
        let least = before.log_p + by_scales - slack;
        for _ in 0..HALVINGS {
            if let Some(look) = self.look(&to)
                && look.log_p > least
            {
                return Ok((to, look));
            }
            let halve = |to: &mut f64, from: &f64| *to = 0.5 * (*to + from);
            to.shared.iter_mut().zip(&from.shared).for_each(|(to, from)| halve(to, from));
            to.effects.iter_mut().zip(&from.effects).for_each(|(to, from)| halve(to, from));
        }
        Err(NoReference::NoMode)
    }

    /// Every ln σ by a step of EM.
    fn scales(&mut self, at: &Point, look: &Look) -> Vec<f64> {
        let count = at.log_scales.len();
        let (mut squares, mut effects) = (vec![0.0; count], vec![0; count]);
        let mut a = vec![0.0; at.shared.len()];
        for (e, effect) in at.effects.iter().enumerate() {
            let k = self.model.scale_of(e);
            let mean = self.model.location(e, &mut a) + linalg::dot(&a, &at.shared);
            let gap = effect + look.skews[e] - mean;
            squares[k] += gap * gap + 1.0 / look.coupling.diagonal[e];
            effects[k] += 1;
        }
        let next = |(k, log_scale): (usize, &f64)| {
            if !self.model.is_scale_free(k) {
                return *log_scale;
            }
            let to = 0.5 * math::ln(look.prior.variance(k, squares[k], effects[k]));
            let step = (to - log_scale).clamp(-SCALE_STEP, SCALE_STEP);
            (log_scale + step).clamp(-MOST_SCALE, MOST_SCALE)
        };
        at.log_scales.iter().enumerate().map(next).collect()
    }
}

/// Sums over all rows at a point, and of the effects' law.
struct Sums {
    log_p: f64,
    gradient: Vec<f64>,
    laplace: Vec<f64>,
    /// −∇² in β.
    bend: Vec<f64>,
    slopes: Vec<f64>,
    skews: Vec<f64>,
    coupling: Coupling,
    /// H_bβ, coordinate by coordinate.
    mixed: Vec<f64>,
    of_patch: Bend,
}

impl Sums {
    fn new(p: usize, n: usize) -> Sums {
        Sums {
            log_p: 0.0,
            gradient: vec![0.0; p],
            laplace: vec![0.0; p],
            bend: vec![0.0; p * p],
            slopes: vec![0.0; n],
            skews: vec![0.0; n],
            coupling: Coupling { diagonal: vec![0.0; n], beside: Vec::new() },
            mixed: vec![0.0; p * n],
            of_patch: Bend::default(),
        }
    }

    /// Eliminates the effects.
    fn finish(self, model: &mut dyn Crossed, at: &Point, log_p: f64) -> Option<Look> {
        let Sums { mut gradient, laplace, bend, slopes, skews, coupling, mixed, .. } = self;
        let (p, n) = (gradient.len(), slopes.len());
        let all = |_: usize| true;
        let own = coupling.solve(&slopes, &all);
        let mut shear = vec![0.0; p * n];
        let mut schur = bend;
        for j in 0..p {
            let column = coupling.solve(&mixed[j * n..(j + 1) * n], &all);
            for (e, k) in column.iter().enumerate() {
                shear[e * p + j] = -k;
            }
            gradient[j] +=
                laplace[j] - linalg::dot(&column, &slopes) - linalg::dot(&column, &skews);
            for l in 0..p {
                schur[j * p + l] -= linalg::dot(&column, &mixed[l * n..(l + 1) * n]);
            }
        }
        let symmetric = |schur: &[f64]| {
            let cell = |i: usize| 0.5 * (schur[i] + schur[(i % p) * p + i / p]);
            (0..p * p).map(cell).collect::<Vec<f64>>()
        };
        let mut schur = symmetric(&schur);
        let scale = |j: usize| 1.0 / math::sqrt(schur[j * p + j].max(1e-12));
        let scales: Vec<f64> = (0..p).map(scale).collect();
        let free: Vec<bool> = (0..model.scales()).map(|k| model.is_scale_free(k)).collect();
        let mut log_prior = |shared: &[f64], scales: &[f64]| model.log_prior(shared, scales);
        let prior = Prior::new(&mut log_prior, &at.shared, &at.log_scales, |k| free[k], &scales)?;
        gradient.iter_mut().zip(&prior.gradient).for_each(|(sum, g)| *sum += g);
        schur.iter_mut().zip(&prior.hessian).for_each(|(sum, h)| *sum -= h);
        let skews = skews.iter().zip(&coupling.diagonal).map(|(skew, h)| skew / h).collect();
        Some(Look { log_p, schur, gradient, shear, coupling, own, skews, prior })
    }
}

/// The reference, searched from a point.
pub fn find(model: &mut dyn Crossed, start: Point) -> Result<Reference, NoReference> {
    let counts: Vec<usize> = (0..model.patches()).map(|c| model.patch(c).count).collect();
    let (rows, most) = (counts.iter().sum(), counts.iter().copied().max().unwrap_or(0));
    let (p, variances) = (model.shared(), vec![0.0; model.effects()]);
    let reader = Reader::default();
    let mut climb = Climb { model, reader, stride_from: PART, rows, passes: 0.0, variances };
    let start = match most >= 2 * PART {
        true => climb.climb(start, PART_STEPS)?.0,
        false => start,
    };
    climb.stride_from = usize::MAX;
    let (centre, look) = climb.climb(start, STEPS)?;
    let factor = linalg::cholesky(&Matrix::new(p, p, look.schur)).ok_or(NoReference::NoMode)?;
    let Look { shear, coupling, prior, .. } = look;
    Ok(Reference { centre, shear, coupling, factor, prior, passes: climb.passes })
}
