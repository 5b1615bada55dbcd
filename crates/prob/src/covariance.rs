//! Covariances of Gaussian processes: matrices k(x_i, y_j) of points, with their derivatives.
//!
//! With amplitude s, length l, r the distance of two points and d_k their differences by coordinate,
//!
//! | kernel   | k                                          |
//! |----------|--------------------------------------------|
//! | exp_quad | s² exp(-r² / 2l²)                          |
//! | matern32 | s² (1 + a) exp(-a), a = √3 r / l           |
//! | matern52 | s² (1 + a + a²/3) exp(-a), a = √5 r / l    |
//! | periodic | s² exp(-2 Σ_k sin²(π d_k / p) / l²)        |
//!
//! The first three are functions of r / l, so one weight w gives their slopes: ∂k/∂x = -w d and ∂k/∂l = w r² / l, where
//! w is k / l², 3 s² exp(-a) / l² and 5 s² (1 + a) exp(-a) / 3l². In the slopes the exponential is read off k itself.
//! Cost: one exponential per pair, per unordered pair if both sets of points are one.

use std::f64::consts::PI;

use smidgen_value::math;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    ExpQuad,
    Matern32,
    Matern52,
    Periodic,
}

/// Points, row by row.
#[derive(Clone, Copy)]
pub struct Points<'a> {
    pub entries: &'a [f64],
    /// Coordinates of a point.
    pub width: usize,
}

impl<'a> Points<'a> {
    fn point(&self, i: usize) -> &'a [f64] {
        &self.entries[i * self.width..(i + 1) * self.width]
    }

    pub fn len(&self) -> usize {
        self.entries.len() / self.width.max(1)
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Amplitude, length, and the period of a periodic kernel.
#[derive(Clone, Copy)]
pub struct Parameters<'a>(pub &'a [f64]);

impl Parameters<'_> {
    fn amplitude(&self) -> f64 {
        self.0[0]
    }

    fn length(&self) -> f64 {
        self.0[1]
    }

    fn period(&self) -> f64 {
        self.0[2]
    }

    pub fn are_positive(&self) -> bool {
        self.0.iter().all(|x| *x > 0.0 && x.is_finite())
    }
}

/// Slopes to be added to; an empty one is not wanted.
pub struct Slopes<'a> {
    pub x: &'a mut [f64],
    /// None if both sets of points are one.
    pub y: Option<&'a mut [f64]>,
    /// By parameter.
    pub parameters: Vec<f64>,
}

impl Slopes<'_> {
    fn want_points(&self) -> bool {
        !self.x.is_empty() || self.y.as_ref().is_some_and(|y| !y.is_empty())
    }

    /// One coordinate of both points: what the first moves up, the second moves down.
    fn move_points(&mut self, (at_x, at_y): (usize, usize), slope: f64) {
        if !self.x.is_empty() {
            self.x[at_x] += slope;
        }
        match &mut self.y {
            Some(y) if !y.is_empty() => y[at_y] -= slope,
            None if !self.x.is_empty() => self.x[at_y] -= slope,
            _ => {}
        }
    }
}

impl Kernel {
    /// How many parameters it has.
    pub const fn parameters(self) -> usize {
        if let Kernel::Periodic = self { 3 } else { 2 }
    }

    fn of_pair(self, x: &[f64], y: &[f64], parameters: Parameters) -> f64 {
        let (variance, length) = (parameters.amplitude().powi(2), parameters.length());
        let square = || square_of_distance(x, y);
        match self {
            Kernel::ExpQuad => variance * math::exp(-0.5 * square() / (length * length)),
            Kernel::Matern32 => {
                let a = (3.0 * square()).sqrt() / length;
                variance * (1.0 + a) * math::exp(-a)
            }
            Kernel::Matern52 => {
                let a = (5.0 * square()).sqrt() / length;
                variance * (1.0 + a + a * a / 3.0) * math::exp(-a)
            }
            Kernel::Periodic => {
                let sum = sum_of_sines(x, y, parameters.period());
                variance * math::exp(-2.0 * sum / (length * length))
            }
        }
    }

    /// The matrix, row by row.
    pub fn fill(self, x: Points, y: Option<Points>, parameters: Parameters, out: &mut [f64]) {
        let n = x.len();
        if let Some(y) = y {
            let m = y.len();
            for (i, row) in out.chunks_exact_mut(m.max(1)).enumerate().take(n) {
                for (j, out) in row.iter_mut().enumerate() {
                    *out = self.of_pair(x.point(i), y.point(j), parameters);
                }
            }
            return;
        }
        for i in 0..n {
            out[i * n + i] = parameters.amplitude().powi(2);
            for j in 0..i {
                let k = self.of_pair(x.point(i), x.point(j), parameters);
                (out[i * n + j], out[j * n + i]) = (k, k);
            }
        }
    }

    /// From the slopes `g` of the entries `k` to those of points and parameters.
    pub fn pull(
        self,
        (x, y): (Points, Option<Points>),
        parameters: Parameters,
        (k, g): (&[f64], &[f64]),
        slopes: &mut Slopes,
    ) {
        let n = x.len();
        let to_amplitude = 2.0 / parameters.amplitude();
        let Some(y) = y else {
            for i in 0..n {
                slopes.parameters[0] += g[i * n + i] * k[i * n + i] * to_amplitude;
                for j in 0..i {
                    let g = g[i * n + j] + g[j * n + i];
                    self.pull_pair((x, i), (x, j), parameters, (k[i * n + j], g), slopes);
                }
            }
            return;
        };
        let m = y.len();
        for i in 0..n {
            for j in 0..m {
                let at = i * m + j;
                self.pull_pair((x, i), (y, j), parameters, (k[at], g[at]), slopes);
            }
        }
    }

    fn pull_pair(
        self,
        (xs, i): (Points, usize),
        (ys, j): (Points, usize),
        parameters: Parameters,
        (k, g): (f64, f64),
        slopes: &mut Slopes,
    ) {
        let (x, y) = (xs.point(i), ys.point(j));
        let length = parameters.length();
        slopes.parameters[0] += g * k * 2.0 / parameters.amplitude();
        let width = xs.width;
        if self == Kernel::Periodic {
            let (factor, period) = (2.0 * k / (length * length), parameters.period());
            let mut to_period = 0.0;
            for (c, (x, y)) in x.iter().zip(y).enumerate() {
                let turn = math::sin(2.0 * PI * (x - y) / period) * PI / period;
                slopes.move_points((i * width + c, j * width + c), -g * factor * turn);
                to_period += turn * (x - y) / period;
            }
            slopes.parameters[1] += g * 2.0 * factor * sum_of_sines(x, y, period) / length;
            slopes.parameters[2] += g * factor * to_period;
            return;
        }
        let square = square_of_distance(x, y);
        let weight = match self {
            Kernel::ExpQuad | Kernel::Periodic => k,
            Kernel::Matern32 => 3.0 * k / (1.0 + (3.0 * square).sqrt() / length),
            Kernel::Matern52 => {
                let a = (5.0 * square).sqrt() / length;
                5.0 / 3.0 * k * (1.0 + a) / (1.0 + a + a * a / 3.0)
            }
        } / (length * length);
        slopes.parameters[1] += g * weight * square / length;
        if slopes.want_points() {
            for (c, (x, y)) in x.iter().zip(y).enumerate() {
                slopes.move_points((i * width + c, j * width + c), -g * weight * (x - y));
            }
        }
    }
}

fn square_of_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
}

fn sum_of_sines(x: &[f64], y: &[f64], period: f64) -> f64 {
    let sines = x.iter().zip(y).map(|(x, y)| math::sin(PI * (x - y) / period));
    sines.map(|sine| sine * sine).sum()
}
