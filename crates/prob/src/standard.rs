//! Laws of vectors as functions of independent standard normal numbers z, x = T(z; arguments):
//!
//! | law | x | log abs det dx/dz |
//! |---|---|---|
//! | `multivariate_diag_normal`(m, s) | m_k + s_k z_k | Σ log s_k |
//! | `random_walk`(n, s, m), `ar`(n, c, s, m) | x_t = m + Σ_k c_k (x_(t−k) − m) + s z_t | n log s |
//! | `multivariate_normal`(m, S), `multivariate_normal_cholesky`(m, L) | m + L z, with L L' = S | Σ log L_jj |
//!
//! So log p(x) + log abs det dx/dz is the log density of z, whatever the arguments are. Cost: that of the log density.

use smidgen_value::{Matrix, Value};

use crate::arguments;
use crate::distributions::autoregressive::{Law, uncarried, with_lagged};
use crate::distributions::multivariate_normal::factor;
use crate::linalg;
use crate::procedure::Args;
use crate::smooth::{Aggregate, Shape};

/// How x is made of z, with the places of the arguments that it hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Number by number: the mean first, the standard deviations second.
    Each,
    /// A number from those before it. Without coefficients it is one, 1.
    Path { coefficients: Option<usize>, sd: usize, level: Option<usize> },
    /// By the factor of a covariance, the second argument or made of it.
    Factor { is_given: bool },
}

impl Standard {
    /// That of a law with so many arguments.
    pub fn of(law: &str, arguments: usize) -> Option<Standard> {
        let optional = |place: usize| (place < arguments).then_some(place);
        match law {
            "multivariate_diag_normal" => Some(Standard::Each),
            "random_walk" => Some(Standard::Path { coefficients: None, sd: 1, level: optional(2) }),
            "ar" => Some(Standard::Path { coefficients: Some(1), sd: 2, level: optional(3) }),
            "multivariate_normal" => Some(Standard::Factor { is_given: false }),
            "multivariate_normal_cholesky" => Some(Standard::Factor { is_given: true }),
            _ => None,
        }
    }

    /// The arguments that x hangs on.
    pub fn places(self) -> Vec<usize> {
        match self {
            Standard::Each | Standard::Factor { .. } => vec![0, 1],
            Standard::Path { coefficients, sd, level } => {
                coefficients.into_iter().chain([sd]).chain(level).collect()
            }
        }
    }

    /// The z of an x.
    pub fn coordinates(self, x: &Value, args: Args<'_>) -> Option<Vec<f64>> {
        let Value::Vector(x) = x else { return None };
        let z = match self {
            Standard::Each => {
                let (mean, sds) =
                    (arguments::reals(args, 0).ok()?, arguments::reals(args, 1).ok()?);
                let each = x.iter().zip(mean.iter().zip(sds.iter()));
                each.map(|(x, (m, s))| (x - m) / s).collect::<Vec<f64>>()
            }
            Standard::Path { coefficients, sd, level } => {
                let number = |place: usize| args.get(place)?.as_number();
                let given = coefficients.map(|k| arguments::reals(args, k).ok());
                let coefficients = match &given {
                    Some(given) => given.as_ref()?,
                    None => &[1.0][..],
                };
                let level = level.map_or(Some(0.0), number)?;
                Law { len: x.len(), coefficients, sd: number(sd)?, level }.noises(x)
            }
            Standard::Factor { is_given } => {
                let mean = arguments::reals(args, 0).ok()?;
                let lower: &Matrix = match is_given {
                    true => arguments::matrix(args, 1).ok()?,
                    false => factor(args, 1).ok()?,
                };
                if lower.rows() != x.len() || mean.len() != x.len() {
                    return None;
                }
                let mut z: Vec<f64> = x.iter().zip(mean.iter()).map(|(x, m)| x - m).collect();
                linalg::solve_lower(lower, &mut z);
                z
            }
        };
        (z.len() == x.len() && z.iter().all(|z| z.is_finite())).then_some(z)
    }
}

/// The x of a path, from coefficients, sd, level and z.
///
/// With h_t = g_t + Σ_k c_k h_(t+k), the slope of x_t with what follows from it, those of z_t, s, c_k and m are s h_t, Σ z_t h_t,
/// Σ (x_(t−k) − m) h_t and Σ (1 − Σ_k c_k) h_t.
pub static PATH: Aggregate = Aggregate {
    name: "a path from its noises",
    shape: |shapes| match shapes {
        [Shape::Vector(_), Shape::Number, Shape::Number, z @ Shape::Vector(_)] => Some(*z),
        _ => None,
    },
    value: |args, _, out| {
        let (coefficients, sd, level, z) = (args[0], args[1][0], args[2][0], args[3]);
        for (out, z) in out.iter_mut().zip(z) {
            *out = sd * z;
        }
        for t in 1..z.len() {
            let (before, now) = out.split_at_mut(t);
            now[0] += before.iter().rev().zip(coefficients).map(|(x, c)| c * x).sum::<f64>();
        }
        out.iter_mut().for_each(|x| *x += level);
        true
    },
    pull: |args, _, x, g, slopes| {
        let (coefficients, sd, level, z) = (args[0], args[1][0], args[2][0], args[3]);
        let mut h = g.to_vec();
        for t in (1..h.len()).rev() {
            let (before, now) = h.split_at_mut(t);
            let lags = before.iter_mut().rev().zip(coefficients);
            lags.for_each(|(h, c)| *h += c * now[0]);
        }
        for (k, slope) in slopes[0].iter_mut().enumerate() {
            *slope += with_lagged(&h, k, x, level);
        }
        slopes[1].iter_mut().for_each(|slope| *slope += linalg::dot(z, &h));
        slopes[2].iter_mut().for_each(|slope| *slope += uncarried(&h, coefficients));
        for (slope, h) in slopes[3].iter_mut().zip(&h) {
            *slope += sd * h;
        }
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn path(args: &[&[f64]]) -> Vec<f64> {
        let mut out = vec![0.0; args[3].len()];
        assert!((PATH.value)(args, &[], &mut out));
        out
    }

    #[test]
    fn a_path_and_its_noises_are_each_others_inverse() {
        let z = [0.3, -1.2, 0.8, 2.0, -0.4];
        let x = Value::vector(path(&[&[0.6, -0.3], &[0.7], &[1.5], &z]));
        let args = [
            Value::Number(5.0),
            Value::vector(vec![0.6, -0.3]),
            Value::Number(0.7),
            Value::Number(1.5),
        ];
        let args: Vec<&Value> = args.iter().collect();
        let found = Standard::of("ar", 4).and_then(|s| s.coordinates(&x, &args)).expect("a z");
        assert!(found.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        let walk = Value::vector(path(&[&[1.0], &[0.7], &[0.0], &z]));
        let args = [Value::Number(5.0), Value::Number(0.7)];
        let args: Vec<&Value> = args.iter().collect();
        let standard = Standard::of("random_walk", 2).expect("a path");
        let found = standard.coordinates(&walk, &args).expect("a z");
        assert!(found.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn slopes_of_a_path_are_difference_quotients() {
        let args = [vec![0.6, -0.3], vec![0.7], vec![1.5], vec![0.3, -1.2, 0.8, 2.0, -0.4]];
        let weights = [1.0, -2.0, 0.5, 3.0, 0.25];
        let total = |args: &[Vec<f64>]| {
            let args: Vec<&[f64]> = args.iter().map(Vec::as_slice).collect();
            linalg::dot(&path(&args), &weights)
        };
        let given: Vec<&[f64]> = args.iter().map(Vec::as_slice).collect();
        let mut slopes: Vec<Vec<f64>> = args.iter().map(|arg| vec![0.0; arg.len()]).collect();
        let mut wanted: Vec<&mut [f64]> = slopes.iter_mut().map(Vec::as_mut_slice).collect();
        (PATH.pull)(&given, &[], &path(&given), &weights, &mut wanted);
        for (k, arg) in args.iter().enumerate() {
            for i in 0..arg.len() {
                let at = |shift: f64| {
                    let mut moved = args.to_vec();
                    moved[k][i] += shift;
                    total(&moved)
                };
                let quotient = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((quotient - slopes[k][i]).abs() < 1e-7, "{k} {i}: {quotient}");
            }
        }
    }
}
