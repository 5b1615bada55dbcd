//! A vector in which each number is made of those before and of normal noise:
//!
//! x_t - m = sum over k of c_k (x_(t-k) - m) + sd e_t,
//!
//! with everything before the first number at m. Cost: length times lags.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{HALF_LN_2PI, ln};
use smidgen_value::{ArgumentError, Rng};

use super::outcome;
use crate::arguments;
use crate::procedure::Args;

/// More numbers than this are no vector that anybody means.
const MOST: f64 = 1e8;

#[derive(Clone, Copy)]
pub struct Law<'a> {
    pub len: usize,
    pub coefficients: &'a [f64],
    pub sd: f64,
    /// Where the numbers before the first are.
    pub level: f64,
}

/// What a score adds its derivatives to; what is empty is not wanted.
pub struct Slopes<'a> {
    pub coefficients: &'a mut [f64],
    pub sd: &'a mut [f64],
    pub level: &'a mut [f64],
}

pub fn is_length(n: f64) -> bool {
    arguments::is_count(n) && (1.0..=MOST).contains(&n)
}

pub fn length(args: Args<'_>, i: usize) -> Result<usize, ArgumentError> {
    arguments::number_where(args, i, "a length (a whole number from 1 on)", is_length)
        .map(|n| n as usize)
}

impl Law<'_> {
    pub fn is_valid(&self) -> bool {
        self.coefficients.iter().all(|c| c.is_finite())
            && arguments::is_positive(self.sd)
            && self.level.is_finite()
    }

    /// What those before make of x_t - m.
    fn carried(&self, x: &[f64], t: usize) -> f64 {
        let lags = self.coefficients.iter().zip(x[..t].iter().rev());
        lags.map(|(c, x)| c * (x - self.level)).sum()
    }

    pub fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let mut x = Vec::with_capacity(self.len);
        for t in 0..self.len {
            let e: f64 = StandardNormal.sample(rng);
            x.push(outcome::finite(self.level + self.carried(&x, t) + self.sd * e));
        }
        x
    }

    /// sd e_t
    fn noise(&self, x: &[f64], t: usize) -> f64 {
        (x[t] - self.level) - self.carried(x, t)
    }

    /// e
    pub fn noises(&self, x: &[f64]) -> Vec<f64> {
        (0..x.len()).map(|t| self.noise(x, t) / self.sd).collect()
    }

    pub fn log_density(&self, x: &[f64]) -> f64 {
        if !(x.len() == self.len && x.iter().all(|x| x.is_finite())) {
            return f64::NEG_INFINITY;
        }
        let square = |t: usize| {
            let e = self.noise(x, t) / self.sd;
            e * e
        };
        let squares: f64 = (0..self.len).map(square).sum();
        let log_density = -0.5 * squares - self.len as f64 * (ln(self.sd) + HALF_LN_2PI);
        if log_density.is_nan() { f64::NEG_INFINITY } else { log_density }
    }

    /// With g_t = -e_t / sd, the derivatives are g_t - sum of c_k g_(t+k), - sum over t of g_t (x_(t-k) - m), and likewise.
    pub fn add_slopes(&self, x: &[f64], x_slope: &mut [f64], slopes: Slopes<'_>) {
        let mut squares = 0.0;
        for t in 0..self.len {
            let e = self.noise(x, t) / self.sd;
            let g = -e / self.sd;
            squares += e * e;
            let lags = t.min(self.coefficients.len());
            if !x_slope.is_empty() {
                x_slope[t] += g;
                for k in 0..lags {
                    x_slope[t - 1 - k] -= self.coefficients[k] * g;
                }
            }
            for (k, slope) in slopes.coefficients.iter_mut().enumerate().take(lags) {
                *slope -= g * (x[t - 1 - k] - self.level);
            }
            if let Some(slope) = slopes.level.first_mut() {
                *slope -= g * (1.0 - self.coefficients[..lags].iter().sum::<f64>());
            }
        }
        if let Some(slope) = slopes.sd.first_mut() {
            *slope += (squares - self.len as f64) / self.sd;
        }
    }
}
