//! The reference: Newton steps on (β, b) with the Hessian of an arrowhead, O(G p²) a step beside the reading of rows.
//!
//! With w = −f'', H_g = Σw + σ^{−2} and h_g = Σ w x − a_g σ^{−2} the shaft is eliminated first: (B − Σ h hᵀ/H) Δβ = the gradient of β
//! less Σ h (gradient of b)/H. σ² follows by a step of EM after each. The joint mode is not good enough where groups are
//! small: its β is off by many standard deviations. So the gradient of β has ½ Σ_g (Σ_i f‴ x̃_i)/H_g added, that
//! of Laplace's −½ Σ ln H_g, and the EM step b_g + ½ F_3/H_g², the mean beside the mode.
//!
//! K_g = −h_g/H_g is what b_g's mode follows when β moves: the shear.

use smidgen_prob::linalg;
use smidgen_value::{Matrix, math};

use super::Patched;
use super::prior::Prior;
use super::reading::{At, Bend, Reader, triangle};

/// Steps at most, on a part of the rows and on all.
const PART_STEPS: usize = 25;
const STEPS: usize = 12;
/// Groups with more rows than this have a part of them read at first.
const PART: usize = 64;
/// Near enough: steps of β and of the effects in standard deviations, and of ln σ.
const NEAR: f64 = 0.1;
const NEAR_SCALE: f64 = 0.02;
/// How far ln σ goes in a step, and where it stays.
const SCALE_STEP: f64 = 1.0;
const LEAST_SCALE: f64 = -9.0;
const MOST_SCALE: f64 = 9.0;
/// Halvings of a step that leads down.
const HALVINGS: usize = 20;

/// Why there is no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReference {
    /// The start, or what surrounds it, is impossible.
    Impossible,
    /// No point where the posterior bends down was found.
    NoMode,
}

/// β, b and ln σ.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub shared: Vec<f64>,
    pub effects: Vec<f64>,
    pub log_scale: f64,
}

/// Where the posterior is, and what it looks like there.
#[derive(Clone, Debug)]
pub struct Reference {
    pub centre: Point,
    /// K_g, group by group.
    pub shear: Vec<f64>,
    /// H_g
    pub precisions: Vec<f64>,
    /// L with L Lᵀ the precision of β, the effects integrated out.
    pub factor: Matrix,
    pub prior: Prior,
    /// Passes over all rows, parts of passes counted as such.
    pub passes: f64,
}

/// h_g/H_g of one group: H_g and K_g (into `shear`), from Σ w, Σ w x and a_g.
pub fn shear(w: f64, wx: &[f64], location: &[f64], precision: f64, shear: &mut [f64]) -> f64 {
    let h = w + precision;
    for ((k, wx), a) in shear.iter_mut().zip(wx).zip(location) {
        *k = (a * precision - wx) / h;
    }
    h
}

/// What a pass over the rows gives.
struct Look {
    /// The log density of (β, b) at this σ, up to a constant.
    log_p: f64,
    /// The precision of β without effects, and its gradient.
    schur: Vec<f64>,
    gradient: Vec<f64>,
    shear: Vec<f64>,
    precisions: Vec<f64>,
    /// The gradient of each effect, and what its mean is beyond its mode.
    slopes: Vec<f64>,
    skews: Vec<f64>,
    prior: Prior,
}

struct Climb<'a> {
    model: &'a mut dyn Patched,
    reader: Reader,
    stride_from: usize,
    rows: usize,
    passes: f64,
}

impl Climb<'_> {
    fn look(&mut self, at: &Point) -> Option<Look> {
        let model = &mut *self.model;
        let (p, groups) = (model.shared(), model.groups());
        let precision = math::exp(-2.0 * at.log_scale);
        let mut look = Look {
            log_p: -(groups as f64) * at.log_scale + model.log_prior(&at.shared, at.log_scale),
            schur: vec![0.0; p * p],
            gradient: vec![0.0; p],
            shear: vec![0.0; groups * p],
            precisions: vec![0.0; groups],
            slopes: vec![0.0; groups],
            skews: vec![0.0; groups],
            prior: Prior { gradient: vec![], hessian: vec![], slopes: vec![] },
        };
        let mut bend = Bend::default();
        let (mut a, mut wx) = (vec![0.0; p], vec![0.0; p]);
        let mut scales = vec![0.0; p];
        let mut lower = vec![0.0; triangle(p)];
        let mut read = 0;
        for g in 0..groups {
            let rows = model.patch(g);
            let stride = (rows.count / self.stride_from).max(1);
            let effect = at.effects[g];
            let here: At<'_> = [&at.shared, &[effect]];
            read += bend.read(model, &mut self.reader, rows, here, &[1.0], stride);
            let mean = model.location(g, &mut a) + linalg::dot(&a, &at.shared);
            let gap = effect - mean;
            look.log_p += bend.value - 0.5 * precision * gap * gap;
            // A patch that bends up would leave the effect without a scale.
            let w = (-bend.second(p, p)).max(0.0);
            wx.iter_mut().enumerate().for_each(|(j, wx)| *wx = -bend.second(p, j));
            let k = &mut look.shear[g * p..(g + 1) * p];
            let h = shear(w, &wx, &a, precision, k);
            look.precisions[g] = h;
            let slope = bend.first[p] - gap * precision;
            look.slopes[g] = slope;
            look.skews[g] = 0.5 * bend.third[p] / (h * h);
            let mut cell = 0;
            for j in 0..p {
                let laplace = 0.5 * (bend.third[j] + bend.third[p] * k[j]) / h;
                let own = bend.first[j] + a[j] * gap * precision;
                look.gradient[j] += own + laplace + k[j] * slope;
                for l in 0..=j {
                    lower[cell] += a[j] * a[l] * precision - bend.second[cell] - k[j] * k[l] * h;
                    cell += 1;
                }
            }
        }
        let mut cell = 0;
        for (j, scale) in scales.iter_mut().enumerate() {
            for l in 0..=j {
                (look.schur[j * p + l], look.schur[l * p + j]) = (lower[cell], lower[cell]);
                cell += 1;
            }
            *scale = 1.0 / math::sqrt(look.schur[j * p + j].max(1e-12));
        }
        let is_free = model.is_scale_free();
        let mut log_prior = |shared: &[f64], scales: &[f64]| model.log_prior(shared, scales[0]);
        look.prior = Prior::new(&mut log_prior, &at.shared, &[at.log_scale], |_| is_free, &scales)?;
        look.gradient.iter_mut().zip(&look.prior.gradient).for_each(|(sum, g)| *sum += g);
        look.schur.iter_mut().zip(&look.prior.hessian).for_each(|(sum, h)| *sum -= h);
        self.passes += read as f64 / self.rows.max(1) as f64;
        let numbers = look.schur.iter().chain(&look.gradient).chain(&look.slopes);
        let finite = look.log_p.is_finite() && numbers.copied().all(f64::is_finite);
        finite.then_some(look)
    }

    /// From a point to where steps are short.
    fn climb(&mut self, mut at: Point, steps: usize) -> Result<(Point, Look), NoReference> {
        let p = at.shared.len();
        let mut look = self.look(&at).ok_or(NoReference::Impossible)?;
        for step in 1.. {
            let (factor, is_damped) = factor(&look.schur, p).ok_or(NoReference::NoMode)?;
            let mut move_shared = look.gradient.clone();
            linalg::solve_lower(&factor, &mut move_shared);
            let mut longest = math::sqrt(linalg::dot(&move_shared, &move_shared));
            linalg::solve_lower_transposed(&factor, &mut move_shared);
            let mut to = at.clone();
            to.shared.iter_mut().zip(&move_shared).for_each(|(x, by)| *x += by);
            for (g, effect) in to.effects.iter_mut().enumerate() {
                let h = look.precisions[g];
                let own = look.slopes[g] / h;
                *effect += own + linalg::dot(&look.shear[g * p..(g + 1) * p], &move_shared);
                longest = longest.max(own.abs() * math::sqrt(h));
            }
            to.log_scale = self.scale(&to, &look);
            let scale_step = (to.log_scale - at.log_scale).abs();
            (at, look) = self.go(&at, to, &look)?;
            if step >= steps || longest < NEAR && scale_step < NEAR_SCALE && !is_damped {
                break;
            }
        }
        Ok((at, look))
    }

    /// What changes in the log density when σ alone does.
    fn by_scale(&mut self, at: &Point, to: f64) -> f64 {
        let precisions = math::exp(-2.0 * to) - math::exp(-2.0 * at.log_scale);
        let squares = self.squares(at);
        let prior =
            self.model.log_prior(&at.shared, to) - self.model.log_prior(&at.shared, at.log_scale);
        prior - at.effects.len() as f64 * (to - at.log_scale) - 0.5 * precisions * squares
    }

    /// Σ (b_g − its mean)²
    fn squares(&mut self, at: &Point) -> f64 {
        let mut a = vec![0.0; at.shared.len()];
        let mut square = |(g, effect): (usize, &f64)| {
            let gap = effect - self.model.location(g, &mut a) - linalg::dot(&a, &at.shared);
            gap * gap
        };
        at.effects.iter().enumerate().map(&mut square).sum()
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
        let least = before.log_p + self.by_scale(from, to.log_scale) - slack;
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

    /// ln σ by a step of EM.
    fn scale(&mut self, at: &Point, look: &Look) -> f64 {
        if !self.model.is_scale_free() {
            return at.log_scale;
        }
        let mean = Point {
            effects: at.effects.iter().zip(&look.skews).map(|(b, by)| b + by).collect(),
            ..at.clone()
        };
        let spread: f64 = look.precisions.iter().map(|h| 1.0 / h).sum();
        let squares = self.squares(&mean) + spread;
        let to = 0.5 * math::ln(look.prior.variance(0, squares, at.effects.len()));
        let step = (to - at.log_scale).clamp(-SCALE_STEP, SCALE_STEP);
        (at.log_scale + step).clamp(LEAST_SCALE, MOST_SCALE)
    }
}

/// The factor of a precision, with so much added to its diagonal as it takes; whether anything was.
pub fn factor(precision: &[f64], p: usize) -> Option<(Matrix, bool)> {
    let mut damping = 0.0;
    while damping < 1e9 {
        let entry = |i: usize, j: usize| {
            let entry = precision[i * p + j];
            if i == j { entry + damping * entry.abs().max(1e-8) } else { entry }
        };
        if let Some(factor) = linalg::cholesky(&Matrix::from_fn(p, p, entry)) {
            return Some((factor, damping > 0.0));
        }
        damping = (10.0 * damping).max(1e-3);
    }
    None
}

/// The reference, searched from a point.
pub fn find(model: &mut dyn Patched, start: Point) -> Result<Reference, NoReference> {
    let groups = model.groups();
    let counts: Vec<usize> = (0..groups).map(|g| model.patch(g).count).collect();
    let (rows, most) = (counts.iter().sum(), counts.iter().copied().max().unwrap_or(0));
    let p = model.shared();
    let mut climb =
        Climb { model, reader: Reader::default(), stride_from: PART, rows, passes: 0.0 };
    let start = match most >= 2 * PART {
        true => climb.climb(start, PART_STEPS)?.0,
        false => start,
    };
    climb.stride_from = usize::MAX;
    let (centre, look) = climb.climb(start, STEPS)?;
    let factor = linalg::cholesky(&Matrix::new(p, p, look.schur)).ok_or(NoReference::NoMode)?;
    let Look { shear, precisions, prior, .. } = look;
    Ok(Reference { centre, shear, precisions, factor, prior, passes: climb.passes })
}
