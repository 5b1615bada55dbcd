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

fn from(h: &[f64], t: usize) -> &[f64] {
    h.get(t..).unwrap_or_default()
}

/// Sum over t of h_t (x_(t-1-k) - m).
pub fn with_lagged(h: &[f64], k: usize, x: &[f64], level: f64) -> f64 {
    from(h, k + 1).iter().zip(x).map(|(h, x)| h * (x - level)).sum()
}

/// Sum over t of h_t (1 - sum of those c_k that reach back into the vector).
pub fn uncarried(h: &[f64], coefficients: &[f64]) -> f64 {
    let sum = |t: usize| from(h, t).iter().sum::<f64>();
    let carried: f64 = coefficients.iter().enumerate().map(|(k, c)| c * sum(k + 1)).sum();
    sum(0) - carried
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

    /// e, by one pass over the vector for each lag.
    pub fn noises(&self, x: &[f64]) -> Vec<f64> {
        let mut noises: Vec<f64> = x.iter().map(|x| x - self.level).collect();
        for (k, c) in self.coefficients.iter().enumerate() {
            let lagged = noises.get_mut(k + 1..).unwrap_or_default().iter_mut().zip(x);
            lagged.for_each(|(e, x)| *e -= c * (x - self.level));
        }
        noises.iter_mut().for_each(|e| *e /= self.sd);
        noises
    }

    pub fn log_density(&self, x: &[f64]) -> f64 {
        if !(x.len() == self.len && x.iter().all(|x| x.is_finite())) {
            return f64::NEG_INFINITY;
        }
        let squares: f64 = self.noises(x).iter().map(|e| e * e).sum();
        let log_density = -0.5 * squares - self.len as f64 * (ln(self.sd) + HALF_LN_2PI);
        if log_density.is_nan() { f64::NEG_INFINITY } else { log_density }
    }

    /// With g_t = -e_t / sd, the derivatives are g_t - sum of c_k g_(t+k), - sum over t of g_t (x_(t-k) - m), and likewise.
    pub fn add_slopes(&self, x: &[f64], x_slope: &mut [f64], slopes: Slopes<'_>) {
        let mut g = self.noises(x);
        let squares: f64 = g.iter().map(|e| e * e).sum();
        g.iter_mut().for_each(|g| *g = -*g / self.sd);
        x_slope.iter_mut().zip(&g).for_each(|(slope, g)| *slope += g);
        for (k, c) in self.coefficients.iter().enumerate() {
            x_slope.iter_mut().zip(from(&g, k + 1)).for_each(|(slope, g)| *slope -= c * g);
        }
        for (k, slope) in slopes.coefficients.iter_mut().enumerate() {
            *slope -= with_lagged(&g, k, x, self.level);
        }
        if let Some(slope) = slopes.level.first_mut() {
            *slope -= uncarried(&g, self.coefficients);
        }
        if let Some(slope) = slopes.sd.first_mut() {
            *slope += (squares - self.len as f64) / self.sd;
        }
    }
}
