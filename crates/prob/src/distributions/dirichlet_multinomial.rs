//! P(k) = n! Gamma(A) / Gamma(n + A) prod Gamma(k_i + a_i) / (k_i! Gamma(a_i)), with A the sum of the
//! alphas: the counts in n trials whose probabilities are one draw from a Dirichlet law. Each count,
//! given those before, is beta-binomial, which is how it is computed and drawn.

use std::borrow::Cow;

use smidgen_value::math::digamma_difference;
use smidgen_value::{ArgumentError, Rng, Value};

use super::{beta_binomial, multinomial, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct DirichletMultinomial;

static SPEC: Spec = Spec {
    name: "dirichlet_multinomial",
    aliases: &[],
    parameters: "n alphas",
    arity: Arity::exactly(2),
    summary: "How often each outcome comes in n trials with probabilities drawn from (dirichlet alphas)",
    example: "(dirichlet_multinomial 10 (vector 1 2 3))",
};

fn parameters<'a>(args: Args<'a>) -> Result<(f64, Cow<'a, [f64]>), ArgumentError> {
    let n = arguments::count(args, 0, "a number of trials (a whole number from 0 on)")?;
    let alphas = arguments::reals(args, 1)?;
    if alphas.is_empty() {
        return Err(ArgumentError::domain(1, "a vector of at least dimension 1", args[1]));
    }
    if alphas.iter().all(|a| arguments::is_positive(*a)) {
        Ok((n as f64, alphas))
    } else {
        Err(ArgumentError::domain(1, "a vector of positive numbers", args[1]))
    }
}

/// The sums of the alphas behind each, from the end: no difference of large sums.
fn behind(alphas: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; alphas.len()];
    for i in (0..alphas.len() - 1).rev() {
        sums[i] = sums[i + 1] + alphas[i + 1];
    }
    sums
}

fn log_mass(x: &[f64], n: f64, alphas: &[f64]) -> f64 {
    let in_support = x.len() == alphas.len()
        && x.iter().all(|k| outcome::is_count(*k))
        && x.iter().sum::<f64>() == n;
    if !in_support {
        return f64::NEG_INFINITY;
    }
    let behind = behind(alphas);
    let (mut rest, mut total) = (n, 0.0);
    for i in 0..alphas.len() - 1 {
        total += beta_binomial::log_mass(x[i], rest, alphas[i], behind[i]);
        rest -= x[i];
    }
    total
}

/// The derivative with respect to a_i is psi(k_i + a_i) - psi(a_i) - psi(n + A) + psi(A).
fn score(x: &[f64], args: &[&[f64]], _x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let (n, alphas) = (args[0][0], args[1]);
    let valid = !alphas.is_empty() && alphas.iter().all(|a| arguments::is_positive(*a));
    if !(valid && arguments::is_count(n)) {
        return f64::NEG_INFINITY;
    }
    let log_mass = log_mass(x, n, alphas);
    if log_mass > f64::NEG_INFINITY && !slopes[1].is_empty() {
        let whole = digamma_difference(alphas.iter().sum(), n);
        for (slope, (k, a)) in slopes[1].iter_mut().zip(x.iter().zip(alphas)) {
            *slope += digamma_difference(*a, *k) - whole;
        }
    }
    log_mass
}

impl Distribution for DirichletMultinomial {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (n, alphas) = parameters(args)?;
        let behind = behind(&alphas);
        let mut rest = n;
        let mut counts = vec![0.0; alphas.len()];
        for i in 0..alphas.len() - 1 {
            if rest > 0.0 {
                counts[i] = beta_binomial::draw(rest, alphas[i], behind[i], rng);
                rest -= counts[i];
            }
        }
        counts[alphas.len() - 1] = rest;
        Ok(Value::vector(counts))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (n, alphas) = parameters(args)?;
        Ok(outcome::reals(x).map_or(f64::NEG_INFINITY, |x| log_mass(x, n, &alphas)))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (total, alphas) = parameters(args)?;
        Ok(Support::Counts { len: alphas.len(), total })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0, 1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let (n, alphas) = parameters(args)?;
        let all: Vec<usize> = (0..alphas.len()).collect();
        Ok(multinomial::all_counts(n, alphas.len(), &all))
    }
}
