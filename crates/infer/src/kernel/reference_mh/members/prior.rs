//! The prior of a choice around a point: gradient and Hessian by differences. They make proposals fit and decide nothing else, so
//! they need not be exact; they are functions of the arguments.

use smidgen_value::{Value, math};

use crate::reference::Tall;
use crate::reference::quadratic::Reference;

/// Steps of differences, in standard deviations of the reference.
const STEP: f64 = 0.5;

pub(super) struct Prior {
    arguments: Vec<Value>,
    pub gradient: Vec<f64>,
    pub hessian: Vec<f64>,
}

/// Steps along the coordinates.
pub(super) fn steps(reference: &Reference) -> Vec<f64> {
    let rows = reference.lower.chunks_exact(reference.dimension());
    rows.map(|row| STEP * math::sqrt(row.iter().map(|x| x * x).sum())).collect()
}

impl Prior {
    pub fn new(tall: &mut dyn Tall, at: &Reference, arguments: Vec<Value>) -> Prior {
        let d = at.dimension();
        let h = steps(at);
        let mut theta = at.centre.clone();
        let mut value = |moves: &[(usize, f64)]| {
            moves.iter().for_each(|(k, step)| theta[*k] += step);
            let value = tall.log_rest(&theta);
            moves.iter().for_each(|(k, _)| theta[*k] = at.centre[*k]);
            value
        };
        let (mut gradient, mut hessian) = (vec![0.0; d], vec![0.0; d * d]);
        let here = value(&[]);
        for i in 0..d {
            let (up, down) = (value(&[(i, h[i])]), value(&[(i, -h[i])]));
            gradient[i] = (up - down) / (2.0 * h[i]);
            hessian[i * d + i] = (up - 2.0 * here + down) / (h[i] * h[i]);
            for j in 0..i {
                let mut of = |a: f64, b: f64| value(&[(i, a * h[i]), (j, b * h[j])]);
                let bend = of(1.0, 1.0) - of(1.0, -1.0) - of(-1.0, 1.0) + of(-1.0, -1.0);
                let bend = bend / (4.0 * h[i] * h[j]);
                (hessian[i * d + j], hessian[j * d + i]) = (bend, bend);
            }
        }
        Prior { arguments, gradient, hessian }
    }

    pub fn is_of(&self, arguments: &[Value]) -> bool {
        self.arguments == arguments
    }
}
