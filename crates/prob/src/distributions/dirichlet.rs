//! f(x) = Gamma(sum of a) / prod Gamma(a_i) prod x_i^(a_i - 1) on the simplex.

use std::borrow::Cow;

use smidgen_value::math::{HALF_LN_2PI, digamma, exp, ln, ln_gamma, xlogy, xovery};
use smidgen_value::{ArgumentError, Rng, Value};

use super::saddle_point::{deviance, stirling_error};
use super::{gamma, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct Dirichlet;

static SPEC: Spec = Spec {
    name: "dirichlet",
    aliases: &[],
    parameters: "alphas",
    arity: Arity::exactly(1),
    summary: "A vector of probabilities with means proportional to the alphas",
    example: "(dirichlet (array 1 1 1))",
};

fn parameters<'a>(args: Args<'a>) -> Result<Cow<'a, [f64]>, ArgumentError> {
    let alphas = arguments::reals(args, 0)?;
    if alphas.is_empty() {
        return Err(ArgumentError::domain(0, "a vector of at least dimension 1", args[0]));
    }
    if alphas.iter().all(|a| *a > 0.0 && a.is_finite()) {
        Ok(alphas)
    } else {
        Err(ArgumentError::domain(0, "a vector of positive numbers", args[0]))
    }
}

/// Normalised gamma draws, through their logarithms because those of small shape underflow.
pub(crate) fn draw(alphas: &[f64], rng: &mut Rng) -> Vec<f64> {
    let mut xs: Vec<f64> = alphas.iter().map(|a| gamma::draw_log(*a, rng)).collect();
    let largest = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    xs.iter_mut().for_each(|x| *x = exp(*x - largest));
    let total: f64 = xs.iter().sum();
    xs.iter_mut().for_each(|x| *x = (*x / total).max(f64::MIN_POSITIVE));
    xs
}

/// The sum of the numbers minus one, without rounding on the way.
fn excess(xs: &[f64]) -> f64 {
    let (mut sum, mut low) = (-1.0, 0.0);
    for x in xs {
        let next: f64 = sum + x;
        let (large, small) = if sum.abs() > x.abs() { (sum, *x) } else { (*x, sum) };
        low += small - (next - large);
        sum = next;
    }
    sum + low
}

pub(crate) fn log_density(x: &[f64], alphas: &[f64]) -> f64 {
    let excess = excess(x);
    let on_simplex = x.iter().all(|x| *x >= 0.0) && excess.abs() <= 1e-8;
    if x.len() != alphas.len() || !on_simplex {
        return f64::NEG_INFINITY;
    }
    if x.len() == 1 {
        return 0.0;
    }
    let at_zero = x.iter().zip(alphas).filter(|(x, a)| **x == 0.0 && **a != 1.0);
    if let Some(vanishes) = at_zero.map(|(_, a)| *a > 1.0).max() {
        // Where one coordinate says 0 and another infinity there is no limit; 0 is safe.
        return if vanishes { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let total: f64 = alphas.iter().sum();
    let pairs = x.iter().copied().zip(alphas.iter().copied());
    if total < 50.0 {
        return ln_gamma(total) + pairs.map(|(x, a)| xlogy(a - 1.0, x) - ln_gamma(a)).sum::<f64>();
    }
    // The saddle-point form: the sum of a log(a / (total x)) is one of deviances plus total
    // times 1 - sum of x, and the rest is small.
    let term = |(x, a): (f64, f64)| {
        let mean = total * x;
        if x == 0.0 {
            // Here a = 1, so that x^(a - 1) / Gamma(a) is 1 and only its part of total^total stays.
            return ln(total);
        }
        0.5 * ln(a)
            - HALF_LN_2PI
            - stirling_error(a)
            - deviance(a, mean, total.mul_add(x, -mean))
            - ln(x)
    };
    pairs.map(term).sum::<f64>() + total * excess - 0.5 * ln(total)
        + HALF_LN_2PI
        + stirling_error(total)
}

/// The derivatives with respect to x_i and a_i are (a_i - 1) / x_i and
/// log x_i - psi(a_i) + psi(sum of a).
pub(crate) fn score(
    x: &[f64],
    args: &[&[f64]],
    x_slope: &mut [f64],
    slopes: &mut [&mut [f64]],
) -> f64 {
    let alphas = args[0];
    if alphas.is_empty() || !alphas.iter().all(|a| arguments::is_positive(*a)) {
        return f64::NEG_INFINITY;
    }
    let log_density = log_density(x, alphas);
    if log_density == f64::NEG_INFINITY || x.len() == 1 {
        return log_density;
    }
    for (slope, (x, a)) in x_slope.iter_mut().zip(x.iter().zip(alphas)) {
        *slope += xovery(a - 1.0, *x);
    }
    if !slopes[0].is_empty() {
        let whole = digamma(alphas.iter().sum());
        for (slope, (x, a)) in slopes[0].iter_mut().zip(x.iter().zip(alphas)) {
            *slope += ln(*x) - digamma(*a) + whole;
        }
    }
    log_density
}

impl Distribution for Dirichlet {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let alphas = parameters(args)?;
        Ok(Value::vector(draw(&alphas, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let alphas = parameters(args)?;
        Ok(outcome::reals(x).map_or(f64::NEG_INFINITY, |x| log_density(x, &alphas)))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::Simplex { len: parameters(args)?.len() })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }
}
