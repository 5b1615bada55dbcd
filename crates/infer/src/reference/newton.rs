//! The reference point: Newton steps with damping, first on a part of the sections, then on all of them.
//!
//! The curvature of G is a difference of gradients over what the sections alone leave of a coordinate's scale, to either side: a
//! prior with a kink bends there as much as the posterior feels.

use smidgen_prob::linalg;
use smidgen_value::{Matrix, math};

use super::Tall;
use super::quadratic::{Reference, square};

/// From so many sections on a part of them is looked at first, and at least as many as this are.
const PART: usize = 20_000;
/// One of so many.
const STRIDE: usize = 30;
/// Steps that are tried at most, on a part and on all.
const STEPS: usize = 60;
/// A step of this length, in standard deviations of the reference, is none.
const NEAR: f64 = 1e-3;
/// The least and the most that a coordinate is moved to feel how G bends.
const LEAST_DIFFERENCE: f64 = 1e-6;
const MOST_DIFFERENCE: f64 = 0.5;
/// Of the scale that the sections leave.
const SHARE: f64 = 1.0;

/// Why there is no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReference {
    /// Nowhere to start.
    Impossible,
    /// Some section has no second derivatives.
    NoCurvature,
    /// No point where the posterior bends down in all directions was found.
    NoMode,
}

/// Where log π is highest, near `start`, and what it looks like there.
pub struct Mode {
    pub reference: Reference,
    pub log_p: f64,
}

/// The mode near a point. With `part`, from some of the sections alone.
pub fn find(tall: &mut dyn Tall, start: &[f64], part: bool) -> Result<Mode, NoReference> {
    let stride = stride(tall.rows());
    let start = match stride > 1 {
        true => climb(tall, start, stride)?,
        false => climb(tall, start, 1)?,
    };
    if part || stride == 1 {
        return Ok(start);
    }
    climb(tall, &start.reference.centre, 1)
}

fn stride(rows: usize) -> usize {
    (rows / PART).clamp(1, STRIDE)
}

/// log π with its gradient and precision at a point.
struct Look {
    log_p: f64,
    gradient: Vec<f64>,
    precision: Matrix,
}

fn look(tall: &mut dyn Tall, theta: &[f64], stride: usize) -> Result<Look, NoReference> {
    let d = theta.len();
    let mut gradient = vec![0.0; d];
    let rest = tall.log_rest_with_gradient(theta, &mut gradient);
    if !rest.is_finite() {
        return Err(NoReference::Impossible);
    }
    let sums = tall.sums(theta, stride).ok_or(NoReference::NoCurvature)?;
    if !sums.value.is_finite() {
        return Err(NoReference::Impossible);
    }
    let mut precision: Vec<f64> = sums.hessian.iter().map(|h| -h).collect();
    bend(tall, theta, &sums.hessian, &mut precision);
    gradient.iter_mut().zip(&sums.gradient).for_each(|(sum, g)| *sum += g);
    if gradient.iter().chain(&precision).any(|x| !x.is_finite()) {
        return Err(NoReference::Impossible);
    }
    let precision = Matrix::new(d, d, precision);
    Ok(Look { log_p: rest + sums.value, gradient, precision })
}

/// Subtracts the second derivatives of G.
fn bend(tall: &mut dyn Tall, theta: &[f64], hessian: &[f64], precision: &mut [f64]) {
    let d = theta.len();
    let mut bent = vec![0.0; d * d];
    let mut there = theta.to_vec();
    let (mut above, mut below) = (vec![0.0; d], vec![0.0; d]);
    for k in 0..d {
        let scale = 1.0 / math::sqrt((-hessian[k * d + k]).max(0.0));
        let h = (SHARE * scale).clamp(LEAST_DIFFERENCE, MOST_DIFFERENCE * (1.0 + theta[k].abs()));
        there[k] = theta[k] + h;
        let up = tall.log_rest_with_gradient(&there, &mut above);
        there[k] = theta[k] - h;
        let down = tall.log_rest_with_gradient(&there, &mut below);
        there[k] = theta[k];
        if !up.is_finite() || !down.is_finite() {
            continue;
        }
        for ((bent, up), down) in bent[k * d..].iter_mut().zip(&above).zip(&below) {
            *bent = (up - down) / (2.0 * h);
        }
    }
    for i in 0..d {
        for j in 0..d {
            precision[i * d + j] -= 0.5 * (bent[i * d + j] + bent[j * d + i]);
        }
    }
}

/// The precision with so much added to its diagonal, relative to what stands there, that it has a factor.
fn damped(precision: &Matrix, damping: f64) -> Matrix {
    let d = precision.rows();
    let mut entries = precision.as_slice().to_vec();
    for k in 0..d {
        let entry = &mut entries[k * d + k];
        *entry += damping * entry.abs().max(1e-8);
    }
    Matrix::new(d, d, entries)
}

fn climb(tall: &mut dyn Tall, start: &[f64], stride: usize) -> Result<Mode, NoReference> {
    let d = start.len();
    let mut theta = start.to_vec();
    let mut here = look(tall, &theta, stride)?;
    let mut damping: f64 = 0.0;
    for _ in 0..STEPS {
        let factor = linalg::cholesky(&damped(&here.precision, damping));
        let Some(factor) = factor else {
            damping = (10.0 * damping).max(1e-3);
            if damping > 1e12 {
                return Err(NoReference::NoMode);
            }
            continue;
        };
        // How long the step is in standard deviations of the reference.
        let mut step = here.gradient.clone();
        linalg::solve_lower(&factor, &mut step);
        let length = math::sqrt(square(&step));
        linalg::solve_lower_transposed(&factor, &mut step);
        if length < NEAR && damping < 1e-6 {
            break;
        }
        let there: Vec<f64> = theta.iter().zip(&step).map(|(x, s)| x + s).collect();
        match look(tall, &there, stride) {
            Err(NoReference::NoCurvature) => return Err(NoReference::NoCurvature),
            Ok(found) if found.log_p >= here.log_p - 1e-9 * here.log_p.abs() => {
                (theta, here) = (there, found);
                damping = if damping < 1e-5 { 0.0 } else { damping / 10.0 };
                if length < NEAR {
                    break;
                }
            }
            _ => damping = (10.0 * damping).max(1e-2),
        }
        if damping > 1e12 {
            break;
        }
    }
    debug_assert_eq!(theta.len(), d);
    let log_p = here.log_p;
    let reference = Reference::new(theta, here.precision).ok_or(NoReference::NoMode)?;
    Ok(Mode { reference, log_p })
}
