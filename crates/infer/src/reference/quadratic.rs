//! Sums of Taylor polynomials, and coordinates in which the reference law is the standard normal.

use smidgen_prob::linalg;
use smidgen_value::Matrix;

pub use smidgen_engine::taylor::Sums;

/// A point and a scale: θ = θ* + L y.
#[derive(Clone, Debug)]
pub struct Reference {
    pub centre: Vec<f64>,
    /// L, lower triangular, row by row.
    pub lower: Vec<f64>,
}

impl Reference {
    /// From the precision −∇² log π at the centre; none unless it is positive definite.
    pub fn new(centre: Vec<f64>, precision: Matrix) -> Option<Reference> {
        let factor = linalg::cholesky(&precision)?;
        let covariance = linalg::inverse_from_cholesky(&factor);
        let lower = linalg::cholesky(&covariance)?;
        let lower = lower.as_slice().to_vec();
        lower.iter().all(|x| x.is_finite()).then_some(Reference { centre, lower })
    }

    pub fn dimension(&self) -> usize {
        self.centre.len()
    }

    /// L Lᵀ
    pub fn covariance(&self) -> Matrix {
        let d = self.dimension();
        let row = |i: usize| &self.lower[i * d..(i + 1) * d];
        Matrix::from_fn(d, d, |i, j| linalg::dot(row(i), row(j)))
    }

    /// y = L⁻¹(θ − θ*)
    pub fn whiten(&self, theta: &[f64], y: &mut [f64]) {
        let d = self.dimension();
        for k in 0..d {
            let row = &self.lower[k * d..k * d + k + 1];
            let mut rest = theta[k] - self.centre[k];
            for (l, y) in row[..k].iter().zip(&*y) {
                rest -= l * y;
            }
            y[k] = rest / row[k];
        }
    }

    /// θ = θ* + L y
    pub fn unwhiten(&self, y: &[f64], theta: &mut [f64]) {
        let rows = self.lower.chunks_exact(self.dimension()).zip(&self.centre);
        for (k, (theta, (row, centre))) in theta.iter_mut().zip(rows).enumerate() {
            let mut sum = *centre;
            for (l, y) in row[..=k].iter().zip(y) {
                sum += l * y;
            }
            *theta = sum;
        }
    }
}

/// |y|²
pub fn square(y: &[f64]) -> f64 {
    y.iter().map(|y| y * y).sum()
}
