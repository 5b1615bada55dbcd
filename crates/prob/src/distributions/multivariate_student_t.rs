//! f(x) = Gamma((df + d)/2) / (Gamma(df/2) sqrt(|df pi S|)) (1 + Q / df)^(-(df + d)/2) with
//! Q = (x - m)' S^-1 (x - m), for location m and scale matrix S of size d.

use std::borrow::Cow;

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{LN_PI, digamma_difference, exp, ln, ln_1p, ln_gamma_ratio};
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::multivariate_normal::{factor, factor_of_entries, finite_vector, in_support};
use super::{gamma, outcome};
use crate::arguments;
use crate::linalg;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct MultivariateStudentT;

static SPEC: Spec = Spec {
    name: "multivariate_student_t",
    aliases: &[],
    parameters: "df loc scale",
    arity: Arity::exactly(3),
    summary: "Student's t for vectors: df degrees of freedom, around the vector loc, with a scale matrix (covariance scale df / (df - 2))",
    example: "(multivariate_student_t 4 (vector 0 0) (id_matrix 2))",
};

/// The degrees of freedom, the location, and the Cholesky factor of the scale.
fn parameters<'a>(args: Args<'a>) -> Result<(f64, Cow<'a, [f64]>, &'a Matrix), ArgumentError> {
    let df = arguments::positive(args, 0, "positive degrees of freedom")?;
    let loc = finite_vector(args, 1)?;
    let scale = arguments::matrix(args, 2)?;
    if scale.rows() != loc.len() || scale.cols() != loc.len() {
        return Err(ArgumentError::other(format!(
            "the dimensions differ: a location of {} numbers, a scale of {} x {}",
            loc.len(),
            scale.rows(),
            scale.cols()
        )));
    }
    Ok((df, loc, factor(args, 2)?))
}

/// The log density, Q, and L^-1 (x - m) for the Cholesky factor L.
fn log_density(x: &[f64], df: f64, loc: &[f64], lower: &Matrix) -> (f64, f64, Vec<f64>) {
    let mut r: Vec<f64> = x.iter().zip(loc).map(|(x, m)| x - m).collect();
    linalg::solve_lower(lower, &mut r);
    let square: f64 = r.iter().map(|r| r * r).sum();
    let half_d = 0.5 * loc.len() as f64;
    let constant = ln_gamma_ratio(0.5 * df, half_d) - half_d * (ln(df) + LN_PI);
    let log_norm = 0.5 * linalg::log_det_from_cholesky(lower);
    (constant - log_norm - (0.5 * df + half_d) * ln_1p(square / df), square, r)
}

/// With r = S^-1 (x - m) and c = (df + d) / (df + Q), the derivatives are -c r, c r and (c r r' - S^-1) / 2, and with
/// respect to df (psi((df + d)/2) - psi(df/2) - d/df - log(1 + Q/df) + c Q/df) / 2.
fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let (df, loc) = (args[0][0], args[1]);
    let d = loc.len();
    let Some(lower) = factor_of_entries(args[2]).filter(|lower| {
        lower.rows() == d && arguments::is_positive(df) && in_support(loc, d) && in_support(x, d)
    }) else {
        return f64::NEG_INFINITY;
    };
    let (log_density, square, mut r) = log_density(x, df, loc, &lower);
    linalg::solve_lower_transposed(&lower, &mut r);
    let c = (df + d as f64) / (df + square);
    x_slope.iter_mut().zip(&r).for_each(|(slope, r)| *slope -= c * r);
    if let Some(slope) = slopes[0].first_mut() {
        let constant = digamma_difference(0.5 * df, 0.5 * d as f64) - d as f64 / df;
        *slope += 0.5 * (constant - ln_1p(square / df) + c * square / df);
    }
    slopes[1].iter_mut().zip(&r).for_each(|(slope, r)| *slope += c * r);
    if !slopes[2].is_empty() {
        let inverse = linalg::inverse_from_cholesky(&lower);
        let outer = r.iter().flat_map(|a| r.iter().map(move |b| a * b));
        for (slope, (product, inverse)) in slopes[2].iter_mut().zip(outer.zip(inverse.as_slice())) {
            *slope += 0.5 * (c * product - inverse);
        }
    }
    log_density
}

impl Distribution for MultivariateStudentT {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (df, loc, lower) = parameters(args)?;
        let z: Vec<f64> = loc.iter().map(|_| StandardNormal.sample(rng)).collect();
        let stretch = exp(0.5 * (ln(0.5 * df) - gamma::draw_log(0.5 * df, rng)));
        let x = loc.iter().enumerate();
        let x = x.map(|(i, m)| outcome::finite(m + linalg::dot(lower.row(i), &z) * stretch));
        Ok(Value::vector(x.collect::<Vec<_>>()))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (df, loc, lower) = parameters(args)?;
        let Some(x) = outcome::reals(x).filter(|x| in_support(x, loc.len())) else {
            return Ok(f64::NEG_INFINITY);
        };
        Ok(log_density(x, df, &loc, lower).0)
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (_, loc, _) = parameters(args)?;
        Ok(Support::Vectors { len: loc.len() })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }
}
