//! The scale of the coordinates: the kinetic energy of a trajectory is ½ p' M⁻¹ p.
//!
//! M⁻¹ = D (I + U (Λ − I) U') D: the scales D of the coordinates, and beside them the directions U,
//! orthonormal, in which the scaled coordinates have variances Λ. A good M⁻¹ is near the
//! covariance of z: all directions are then alike. One product with M⁻¹ costs O(d k) for k
//! directions, or O(d²) where those are so many that the whole matrix is cheaper.

use smidgen_prob::linalg::dot;
use smidgen_value::{Rng, bytes_of_fields, math};

use crate::proposer::standard_normal;

#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// D
    scales: Vec<f64>,
    /// U, one direction after the other.
    directions: Vec<f64>,
    /// Λ
    variances: Vec<f64>,
    /// M⁻¹ row by row, where it is cheaper than its parts.
    whole: Option<Vec<f64>>,
}

bytes_of_fields!(Metric { scales, directions, variances, whole });

impl Metric {
    pub fn unit(size: usize) -> Metric {
        Metric::of_scales(vec![1.0; size])
    }

    pub fn of_scales(scales: Vec<f64>) -> Metric {
        Metric { scales, directions: Vec::new(), variances: Vec::new(), whole: None }
    }

    /// Scales that a single gradient suggests: a normal of sd s has slopes of about 1/s, and
    /// where nothing but one slope g is known, the middle between s = 1 and s = 1/|g| is taken.
    pub fn of_gradient(gradient: &[f64]) -> Metric {
        let scale = |g: &f64| math::sqrt(1.0 / g.abs().clamp(1e-10, 1e10));
        Metric::of_scales(gradient.iter().map(scale).collect())
    }

    /// `directions` one after the other, with the variances along them.
    pub fn new(scales: Vec<f64>, directions: Vec<f64>, variances: Vec<f64>) -> Metric {
        let size = scales.len();
        debug_assert_eq!(directions.len(), size * variances.len());
        let mut metric = Metric { scales, directions, variances, whole: None };
        if 2 * metric.variances.len() > size {
            let mut whole = vec![0.0; size * size];
            let mut unit = vec![0.0; size];
            for (k, row) in whole.chunks_exact_mut(size).enumerate() {
                unit[k] = 1.0;
                metric.velocity(&unit, row);
                unit[k] = 0.0;
            }
            metric.whole = Some(whole);
        }
        metric
    }

    pub fn size(&self) -> usize {
        self.scales.len()
    }

    /// The number of directions beside those of the coordinates.
    pub fn rank(&self) -> usize {
        self.variances.len()
    }

    /// M⁻¹ p
    pub fn velocity(&self, p: &[f64], out: &mut [f64]) {
        if let Some(whole) = &self.whole {
            for (out, row) in out.iter_mut().zip(whole.chunks_exact(self.size())) {
                *out = dot(row, p);
            }
            return;
        }
        if self.variances.is_empty() {
            for ((out, p), scale) in out.iter_mut().zip(p).zip(&self.scales) {
                *out = p * scale * scale;
            }
            return;
        }
        for ((out, p), scale) in out.iter_mut().zip(p).zip(&self.scales) {
            *out = p * scale;
        }
        self.stretch(out, |variance| variance);
        for (out, scale) in out.iter_mut().zip(&self.scales) {
            *out *= scale;
        }
    }

    /// x ← (I + U (f(Λ) − I) U') x. The directions are orthogonal, so each sees the same part of x
    /// whether those before it have been stretched or not.
    fn stretch(&self, x: &mut [f64], f: impl Fn(f64) -> f64) {
        let size = self.size().max(1);
        for (direction, variance) in self.directions.chunks_exact(size).zip(&self.variances) {
            let more = (f(*variance) - 1.0) * dot(direction, x);
            for (x, u) in x.iter_mut().zip(direction) {
                *x += more * u;
            }
        }
    }

    /// A momentum p ~ N(0, M) and its velocity M⁻¹ p: with n ~ N(0, I) and S = I + U (√Λ − I) U',
    /// p = D⁻¹ S⁻¹ n and M⁻¹ p = D S n.
    pub fn draw(&self, p: &mut [f64], velocity: &mut [f64], rng: &mut Rng) {
        for (p, v) in p.iter_mut().zip(&mut *velocity) {
            *p = standard_normal(rng);
            *v = *p;
        }
        self.stretch(p, |variance| 1.0 / math::sqrt(variance));
        self.stretch(velocity, math::sqrt);
        for ((p, v), scale) in p.iter_mut().zip(velocity).zip(&self.scales) {
            *p /= scale;
            *v *= scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> [Metric; 3] {
        let (a, b) = (0.6, 0.8);
        let few = Metric::new(vec![0.5, 2.0, 3.0], vec![a, b, 0.0], vec![9.0]);
        let many = Metric::new(vec![0.5, 2.0, 3.0], vec![a, b, 0.0, b, -a, 0.0], vec![9.0, 0.25]);
        assert!(few.whole.is_none() && many.whole.is_some());
        [Metric::of_scales(vec![0.5, 2.0, 3.0]), few, many]
    }

    #[test]
    fn the_velocity_of_a_drawn_momentum_is_its_own() {
        let mut rng = Rng::from_seed(1);
        for metric in metrics() {
            let (mut p, mut v, mut again) = ([0.0; 3], [0.0; 3], [0.0; 3]);
            metric.draw(&mut p, &mut v, &mut rng);
            metric.velocity(&p, &mut again);
            assert!(v.iter().zip(&again).all(|(v, w)| (v - w).abs() < 1e-12));
        }
    }

    /// E v v' = M⁻¹, and p' v is the sum of d squares of normals.
    #[test]
    fn momenta_have_the_covariance_of_the_metric() {
        const N: usize = 100_000;
        let mut rng = Rng::from_seed(2);
        for metric in metrics() {
            let (mut p, mut v) = ([0.0; 3], [0.0; 3]);
            let (mut sums, mut energy) = ([0.0; 9], 0.0);
            for _ in 0..N {
                metric.draw(&mut p, &mut v, &mut rng);
                energy += dot(&p, &v) / N as f64;
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum += v[k / 3] * v[k % 3] / N as f64;
                }
            }
            assert!((energy - 3.0).abs() < 0.05, "{energy}");
            for k in 0..3 {
                let (mut unit, mut want) = ([0.0; 3], [0.0; 3]);
                unit[k] = 1.0;
                metric.velocity(&unit, &mut want);
                for (found, want) in sums[3 * k..].iter().zip(&want) {
                    assert!((found - want).abs() < 0.3, "{found} {want}");
                }
            }
        }
    }
}
