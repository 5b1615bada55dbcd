//! P(k) = n! / prod k_i! prod p_i^k_i, the counts of each outcome in n trials.

use smidgen_value::math::{HALF_LN_2PI, ln, xovery};
use smidgen_value::{ArgumentError, Rng, Value};

use super::saddle_point::{deviance, stirling_error};
use super::{binomial, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct Multinomial;

static SPEC: Spec = Spec {
    name: "multinomial",
    aliases: &[],
    parameters: "n p",
    arity: Arity::exactly(2),
    summary: "How often each outcome comes in n trials with these probabilities",
    example: "(multinomial 10 (vector 0.2 0.3 0.5))",
};

/// More values than this are not enumerated.
const MOST_ENUMERATED: f64 = 10_000.0;

/// The number of trials, and the probabilities, summing to 1 as closely as doubles can.
fn parameters(args: Args<'_>) -> Result<(f64, Vec<f64>), ArgumentError> {
    let n = arguments::count(args, 0, "a number of trials (a whole number from 0 on)")?;
    let p = arguments::reals(args, 1)?;
    if p.is_empty() {
        return Err(ArgumentError::domain(
            1,
            "a probability vector of dimension 1 or more",
            args[1],
        ));
    }
    let expected = "a probability vector (non-negative numbers that sum to 1)";
    let p = normalised(&p).ok_or_else(|| ArgumentError::domain(1, expected, args[1]))?;
    Ok((n as f64, p))
}

/// Probabilities divided by their sum, which has to be near 1.
fn normalised(p: &[f64]) -> Option<Vec<f64>> {
    let total: f64 = p.iter().sum();
    let valid = p.iter().all(|p| *p >= 0.0) && (total - 1.0).abs() <= 1e-6;
    valid.then(|| p.iter().map(|p| p / total).collect())
}

/// The saddle-point form: a sum of deviances, and terms that are small.
fn log_mass(x: &[f64], n: f64, p: &[f64]) -> f64 {
    let in_support =
        x.len() == p.len() && x.iter().all(|k| outcome::is_count(*k)) && x.iter().sum::<f64>() == n;
    if !in_support {
        return f64::NEG_INFINITY;
    }
    if n == 0.0 {
        return 0.0;
    }
    if let Some((_, p)) = x.iter().zip(p).find(|(k, _)| **k == n) {
        return n * ln(*p);
    }
    let each = |(k, p): (&f64, &f64)| {
        let mean = n * p;
        let deviance = deviance(*k, mean, n.mul_add(*p, -mean));
        if *k == 0.0 {
            deviance
        } else {
            deviance + stirling_error(*k) + 0.5 * ln(*k) + HALF_LN_2PI
        }
    };
    let whole = stirling_error(n) + 0.5 * ln(n) + HALF_LN_2PI;
    whole - x.iter().zip(p).map(each).sum::<f64>()
}

/// The vectors of counts over these coordinates with this total, in lexicographic order.
fn count_vectors(total: usize, coordinates: &[usize], counts: &mut [f64], all: &mut Vec<Value>) {
    let [first, rest @ ..] = coordinates else {
        return;
    };
    if rest.is_empty() {
        counts[*first] = total as f64;
        all.push(Value::vector(counts.to_vec()));
        return;
    }
    for k in 0..=total {
        counts[*first] = k as f64;
        count_vectors(total - k, rest, counts, all);
    }
}

/// The derivative with respect to p_i, which is divided by the sum of p first.
fn score(x: &[f64], args: &[&[f64]], _x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let n = args[0][0];
    let Some(p) = normalised(args[1]).filter(|_| arguments::is_count(n)) else {
        return f64::NEG_INFINITY;
    };
    let log_mass = log_mass(x, n, &p);
    if log_mass > f64::NEG_INFINITY {
        let total: f64 = args[1].iter().sum();
        for (slope, (k, p)) in slopes[1].iter_mut().zip(x.iter().zip(args[1])) {
            *slope += xovery(*k, *p) - n / total;
        }
    }
    log_mass
}

impl Distribution for Multinomial {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// One binomial draw after the other, each among the trials that are left.
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (n, p) = parameters(args)?;
        // The mass from each outcome on, summed from the end: no difference of large sums.
        let mut mass = p.clone();
        for i in (0..p.len() - 1).rev() {
            mass[i] += mass[i + 1];
        }
        let mut rest = n;
        let mut counts = vec![0.0; p.len()];
        for i in 0..p.len() {
            if rest > 0.0 && p[i] > 0.0 {
                counts[i] = binomial::draw(rest, (p[i] / mass[i]).min(1.0), rng);
                rest -= counts[i];
            }
        }
        Ok(Value::vector(counts))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (n, p) = parameters(args)?;
        Ok(outcome::reals(x).map_or(f64::NEG_INFINITY, |x| log_mass(x, n, &p)))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (total, p) = parameters(args)?;
        Ok(Support::Counts { len: p.len(), total })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0, 1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let (n, p) = parameters(args)?;
        let possible: Vec<usize> = (0..p.len()).filter(|i| p[*i] > 0.0).collect();
        Ok(all_counts(n, p.len(), &possible))
    }
}

/// The vectors of this length of counts with total n, other than 0 only at the places that are possible; None if
/// they are too many to list.
pub(crate) fn all_counts(n: f64, len: usize, possible: &[usize]) -> Option<Vec<Value>> {
    // C(n + k - 1, k - 1) vectors
    let number = (1..possible.len()).fold(1.0, |number, i| number * (n + i as f64) / i as f64);
    if number > MOST_ENUMERATED {
        return None;
    }
    let mut all = Vec::new();
    count_vectors(n as usize, possible, &mut vec![0.0; len], &mut all);
    Some(all)
}
