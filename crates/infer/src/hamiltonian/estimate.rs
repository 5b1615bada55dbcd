//! A metric from draws and the gradients at them.
//!
//! Of a normal with covariance Σ the draws x have covariance Σ and the gradients g = −Σ⁻¹(x − μ) have
//! Σ⁻¹. Between the two lies the metric with M⁻¹ G M⁻¹ = X, X and G the covariances *of the sample*: their
//! geometric mean M⁻¹ = X # G⁻¹. It maps every gradient to its draw, so it is Σ itself as soon as there are
//! more draws than coordinates, however far the sample's covariance is from Σ; and where g = −x the
//! noise of few draws in many coordinates cancels.
//!
//! 1. Scales of the coordinates: √(sd x / sd g) each, the geometric mean on the diagonal.
//! 2. In scaled coordinates, on an orthonormal basis: A = X + γI and B = G + γI, B = L L',
//!    A # B⁻¹ = L'⁻¹ (L' A L)^½ L⁻¹; its eigenvectors with eigenvalues far from 1 are the directions
//!    beside those of the coordinates.
//!
//! From draws alone it is their covariance, drawn towards a small diagonal as if five more draws had said so.
//!
//! The basis is that of the coordinates while they are few. Otherwise it is spanned by some of the draws and
//! gradients, and the covariances are those of the others on it: a draw lies in its own span
//! entirely, which would say more about the draw than about the posterior. An estimate from n draws costs
//! O(d n r + r³), r ≤ 64 basis vectors beyond 100 coordinates.

use nalgebra::{DMatrix, SymmetricEigen};
use smidgen_prob::linalg::{self, dot};
use smidgen_value::{Matrix, bytes_of_fields, math};

use super::metric::Metric;

/// Up to so many coordinates, all directions are looked at.
const WHOLE: usize = 100;
/// The most basis vectors beyond.
const BASIS: usize = 64;
/// γ: variances (in scaled coordinates) beyond 1/γ and γ are not believed.
const FLOOR: f64 = 1e-5;
/// With fewer draws only scales are estimated; from draws alone, with fewer than so many for each coordinate.
const FEWEST: usize = 10;
const FEWEST_EACH: usize = 5;
/// Draws that the small diagonal counts for, and its size.
const DOUBT: f64 = 5.0;
const SMALL: f64 = 1e-3;
/// Scales beyond say that there is nothing to learn.
const LARGEST: f64 = 1e10;

/// Draws and gradients, the oldest first.
#[derive(Clone, Debug)]
pub struct Window {
    size: usize,
    draws: Vec<f64>,
    gradients: Vec<f64>,
}

bytes_of_fields!(Window { size, draws, gradients });

impl Window {
    pub fn new(size: usize) -> Window {
        Window { size, draws: Vec::new(), gradients: Vec::new() }
    }

    fn count(&self) -> usize {
        self.draws.len() / self.size.max(1)
    }

    pub fn add(&mut self, z: &[f64], gradient: &[f64]) {
        self.draws.extend_from_slice(z);
        self.gradients.extend_from_slice(gradient);
    }

    /// Forgets all but the newest.
    pub fn keep(&mut self, newest: usize) {
        let gone = self.count().saturating_sub(newest) * self.size;
        self.draws.drain(..gone);
        self.gradients.drain(..gone);
    }

    /// The metric of what is in the window: directions count if their variance is off by more
    /// than a factor of `cutoff`. None if there is too little to tell.
    pub fn metric(&self, cutoff: f64) -> Option<Metric> {
        if self.count() < 3 {
            return None;
        }
        let Scaled { scales, draws, gradients } = self.scaled()?;
        let (n, size) = (self.count(), self.size);
        if n < FEWEST || size == 1 {
            return Some(Metric::of_scales(scales));
        }
        let found = match size <= WHOLE.min(2 * n) {
            true => extreme(&draws, &gradients, size, cutoff),
            false => on_a_span(&draws, &gradients, size, cutoff),
        };
        Some(match found {
            Some(Extreme { directions, variances }) => Metric::new(scales, directions, variances),
            None => Metric::of_scales(scales),
        })
    }

    /// The metric of the draws alone.
    pub fn metric_of_draws(&self) -> Option<Metric> {
        if self.count() < 3 {
            return None;
        }
        let (n, size) = (self.count() as f64, self.size);
        let mut draws = centred(&self.draws, size);
        let share = n / (n + DOUBT);
        let scale = |x: &f64| math::sqrt(share * x + (1.0 - share) * SMALL);
        let scales: Vec<f64> = variances(&draws, size).iter().map(scale).collect();
        if scales.iter().any(|scale| !scale.is_finite()) {
            return None;
        }
        if size == 1 || size > WHOLE || self.count() < FEWEST_EACH * size {
            return Some(Metric::of_scales(scales));
        }
        for row in draws.chunks_exact_mut(size) {
            row.iter_mut().zip(&scales).for_each(|(x, scale)| *x /= scale);
        }
        let sample = covariance(&draws, size);
        let correlation =
            Matrix::from_fn(size, size, |i, j| if i == j { 1.0 } else { share * sample.get(i, j) });
        Some(of_correlation(scales, &correlation, FLOOR))
    }

    /// Centred, and scaled to draws and gradients of equal variance in each coordinate. None if a
    /// coordinate has not moved.
    fn scaled(&self) -> Option<Scaled> {
        let size = self.size;
        let mut scaled = Scaled {
            scales: vec![1.0; size],
            draws: centred(&self.draws, size),
            gradients: centred(&self.gradients, size),
        };
        let (of_draws, of_gradients) =
            (variances(&scaled.draws, size), variances(&scaled.gradients, size));
        for ((scale, x), g) in scaled.scales.iter_mut().zip(&of_draws).zip(&of_gradients) {
            // Where the density is flat, the draws alone say how wide it is.
            let variance = if *g > 0.0 { math::sqrt(x / g) } else { *x };
            *scale = math::sqrt(variance).clamp(1.0 / LARGEST, LARGEST);
            if !(*x > 0.0 && scale.is_finite()) {
                return None;
            }
        }
        for row in scaled.draws.chunks_exact_mut(size) {
            row.iter_mut().zip(&scaled.scales).for_each(|(x, scale)| *x /= scale);
        }
        for row in scaled.gradients.chunks_exact_mut(size) {
            row.iter_mut().zip(&scaled.scales).for_each(|(g, scale)| *g *= scale);
        }
        Some(scaled)
    }
}

/// The metric of a law with this covariance; none unless all variances are positive.
pub fn metric_of_covariance(covariance: &Matrix) -> Option<Metric> {
    let size = covariance.rows();
    let scales: Vec<f64> = (0..size).map(|k| math::sqrt(covariance.get(k, k))).collect();
    if scales.iter().any(|scale| !(*scale > 0.0 && scale.is_finite())) {
        return None;
    }
    let entry = |i: usize, j: usize| covariance.get(i, j) / (scales[i] * scales[j]);
    let correlation = Matrix::from_fn(size, size, entry);
    Some(of_correlation(scales, &correlation, f64::EPSILON))
}

/// Scales, and all directions of the scaled coordinates with variances no less than `least`.
fn of_correlation(scales: Vec<f64>, correlation: &Matrix, least: f64) -> Metric {
    match eigen(correlation) {
        Some(found) => {
            let directions = found.eigenvectors.iter().copied().collect();
            let variance = |x: &f64| x.clamp(least, 1.0 / least);
            Metric::new(scales, directions, found.eigenvalues.iter().map(variance).collect())
        }
        None => Metric::of_scales(scales),
    }
}

struct Scaled {
    scales: Vec<f64>,
    draws: Vec<f64>,
    gradients: Vec<f64>,
}

/// Directions, one after the other, with the variances along them.
struct Extreme {
    directions: Vec<f64>,
    variances: Vec<f64>,
}

fn centred(xs: &[f64], size: usize) -> Vec<f64> {
    let n = (xs.len() / size) as f64;
    let mut means = vec![0.0; size];
    for row in xs.chunks_exact(size) {
        means.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / n);
    }
    let mut out = xs.to_vec();
    for row in out.chunks_exact_mut(size) {
        row.iter_mut().zip(&means).for_each(|(x, mean)| *x -= mean);
    }
    out
}

/// Of each coordinate of centred points.
fn variances(points: &[f64], size: usize) -> Vec<f64> {
    let n = (points.len() / size) as f64;
    let mut sums = vec![0.0; size];
    for row in points.chunks_exact(size) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x / n);
    }
    sums
}

/// The directions of X # G⁻¹ in which variances are extreme.
fn extreme(draws: &[f64], gradients: &[f64], size: usize, cutoff: f64) -> Option<Extreme> {
    let lower = linalg::cholesky(&covariance(gradients, size))?;
    let upper = linalg::transpose(&lower);
    let inner = linalg::product(&upper, &linalg::product(&covariance(draws, size), &lower));
    let inner = eigen(&inner)?;
    // With R = L'⁻¹ V Θ^¼ for L' A L = V Θ V', the mean is R R'.
    let root = Matrix::from_fn(size, size, |i, j| {
        let theta = inner.eigenvalues[j].max(0.0);
        inner.eigenvectors[(i, j)] * math::sqrt(math::sqrt(theta))
    });
    let root = linalg::solve_lower_transposed_matrix(&lower, &root);
    let mean = eigen(&linalg::product(&root, &linalg::transpose(&root)))?;
    let mut found = Extreme { directions: Vec::new(), variances: Vec::new() };
    for (k, variance) in mean.eigenvalues.iter().enumerate() {
        if *variance > cutoff || *variance < 1.0 / cutoff {
            found.variances.push(variance.clamp(FLOOR, 1.0 / FLOOR));
            found.directions.extend(mean.eigenvectors.column(k).iter());
        }
    }
    Some(found)
}

/// (1/n) Σ x x' + γI, of centred points. Plain loops: the same bits on every machine.
fn covariance(points: &[f64], size: usize) -> Matrix {
    let n = (points.len() / size) as f64;
    let mut sums = vec![0.0; size * size];
    for point in points.chunks_exact(size) {
        for (row, x) in sums.chunks_exact_mut(size).zip(point) {
            row.iter_mut().zip(point).for_each(|(sum, y)| *sum += x * y);
        }
    }
    let entry = |i: usize, j: usize| sums[i * size + j] / n + if i == j { FLOOR } else { 0.0 };
    Matrix::from_fn(size, size, entry)
}

fn eigen(m: &Matrix) -> Option<SymmetricEigen<f64, nalgebra::Dyn>> {
    let size = m.rows();
    let symmetric = DMatrix::from_fn(size, size, |i, j| 0.5 * (m.get(i, j) + m.get(j, i)));
    SymmetricEigen::try_new(symmetric, f64::EPSILON, 100 * size)
}

/// The same on the span of some draws and gradients.
fn on_a_span(draws: &[f64], gradients: &[f64], size: usize, cutoff: f64) -> Option<Extreme> {
    let n = draws.len() / size;
    let spanning = n.min(BASIS / 2);
    let row = |xs: &[f64], k: usize| -> Vec<f64> { xs[k * size..(k + 1) * size].to_vec() };
    // Spread over the window.
    let is_spanning = |k: usize| (k + 1) * spanning / n > k * spanning / n;
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for k in (0..n).filter(|k| is_spanning(*k)) {
        extend(&mut basis, row(draws, k));
        extend(&mut basis, row(gradients, k));
    }
    // If all of them span, there are no others.
    let counts = |k: &usize| n == spanning || !is_spanning(*k);
    let project = |xs: &[f64]| {
        let of = |k: usize| basis.iter().map(move |q| dot(q, &xs[k * size..(k + 1) * size]));
        (0..n).filter(counts).flat_map(of).collect::<Vec<f64>>()
    };
    let rank = basis.len();
    let within = extreme(&project(draws), &project(gradients), rank, cutoff)?;
    let mut directions = Vec::with_capacity(within.variances.len() * size);
    for weights in within.directions.chunks_exact(rank) {
        let mut direction = vec![0.0; size];
        for (weight, q) in weights.iter().zip(&basis) {
            direction.iter_mut().zip(q).for_each(|(u, q)| *u += weight * q);
        }
        directions.extend(direction);
    }
    Some(Extreme { directions, variances: within.variances })
}

/// One more vector of an orthonormal basis, unless it lies in the span (Gram–Schmidt, twice for
/// the sake of rounding).
fn extend(basis: &mut Vec<Vec<f64>>, mut x: Vec<f64>) {
    let before = dot(&x, &x);
    for _ in 0..2 {
        for q in &*basis {
            let along = dot(q, &x);
            x.iter_mut().zip(q).for_each(|(x, q)| *x -= along * q);
        }
    }
    let left = dot(&x, &x);
    if left > 1e-10 * before && left > 0.0 {
        let length = math::sqrt(left);
        x.iter_mut().for_each(|x| *x /= length);
        basis.push(x);
    }
}
