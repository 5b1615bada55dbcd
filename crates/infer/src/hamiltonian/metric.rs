//! The scale of the coordinates: z = L w, with trajectories in w. A good L makes all directions of
//! w alike: L L' is near the covariance of z.

use smidgen_value::math;

#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// Standard deviations.
    Diagonal(Vec<f64>),
    /// L, lower triangular, row by row.
    Dense { size: usize, lower: Vec<f64> },
}

impl Metric {
    pub fn unit(size: usize) -> Metric {
        Metric::Diagonal(vec![1.0; size])
    }

    pub fn size(&self) -> usize {
        match self {
            Metric::Diagonal(sds) => sds.len(),
            Metric::Dense { size, .. } => *size,
        }
    }

    /// z = L w
    pub fn to_z(&self, w: &[f64], z: &mut [f64]) {
        match self {
            Metric::Diagonal(sds) => {
                for ((z, w), sd) in z.iter_mut().zip(w).zip(sds) {
                    *z = w * sd;
                }
            }
            Metric::Dense { size, lower } => {
                for (z, row) in z.iter_mut().zip(lower.chunks_exact(*size)) {
                    *z = row.iter().zip(w).map(|(l, w)| l * w).sum();
                }
            }
        }
    }

    /// w = L⁻¹ z
    pub fn to_w(&self, z: &[f64], w: &mut [f64]) {
        match self {
            Metric::Diagonal(sds) => {
                for ((w, z), sd) in w.iter_mut().zip(z).zip(sds) {
                    *w = z / sd;
                }
            }
            Metric::Dense { size, lower } => {
                for i in 0..*size {
                    let row = &lower[i * size..(i + 1) * size];
                    let known: f64 = row[..i].iter().zip(&w[..i]).map(|(l, w)| l * w).sum();
                    w[i] = (z[i] - known) / row[i];
                }
            }
        }
    }

    /// The gradient with respect to w: L' g.
    pub fn pull(&self, gradient: &[f64], out: &mut [f64]) {
        match self {
            Metric::Diagonal(sds) => {
                for ((out, g), sd) in out.iter_mut().zip(gradient).zip(sds) {
                    *out = g * sd;
                }
            }
            Metric::Dense { size, lower } => {
                out.fill(0.0);
                for (row, g) in lower.chunks_exact(*size).zip(gradient) {
                    for (out, l) in out.iter_mut().zip(row) {
                        *out += l * g;
                    }
                }
            }
        }
    }

    /// The metric of a covariance, row by row; its diagonal alone if it is not positive definite.
    pub fn of_covariance(size: usize, covariance: &[f64]) -> Metric {
        let matrix = smidgen_value::Matrix::new(size, size, covariance.to_vec());
        match smidgen_prob::linalg::cholesky(&matrix) {
            Some(lower) => Metric::Dense { size, lower: lower.as_slice().to_vec() },
            None => Metric::Diagonal(
                (0..size).map(|k| math::sqrt(covariance[k * size + k].max(1e-12))).collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let dense = Metric::of_covariance(3, &[2.0, 0.5, 0.1, 0.5, 1.0, -0.3, 0.1, -0.3, 0.7]);
        assert!(matches!(dense, Metric::Dense { .. }));
        for metric in [Metric::Diagonal(vec![0.5, 2.0, 3.0]), dense] {
            let z = [0.3, -1.0, 2.5];
            let (mut w, mut back) = ([0.0; 3], [0.0; 3]);
            metric.to_w(&z, &mut w);
            metric.to_z(&w, &mut back);
            // w' (L' g) = z' g
            let g = [1.0, 2.0, -0.5];
            let mut pulled = [0.0; 3];
            metric.pull(&g, &mut pulled);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            assert!((dot(&w, &pulled) - dot(&z, &g)).abs() < 1e-12);
            for (a, b) in z.iter().zip(&back) {
                assert!((a - b).abs() < 1e-12);
            }
        }
    }
}
