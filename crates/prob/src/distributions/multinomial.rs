//! P(k) = n! / prod k_i! prod p_i^k_i, the counts of each outcome in n trials.

use smidgen_value::math::{HALF_LN_2PI, ln};
use smidgen_value::{ArgumentError, Rng, Value};

use super::saddle_point::{deviance, stirling_error};
use super::{binomial, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
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
    let mut p = arguments::reals(args, 1)?.into_owned();
    if p.is_empty() {
        return Err(ArgumentError::domain(
            1,
            "a probability vector of dimension 1 or more",
            args[1],
        ));
    }
    let total: f64 = p.iter().sum();
    if !p.iter().all(|p| *p >= 0.0) || (total - 1.0).abs() > 1e-6 || total.is_nan() {
        let expected = "a probability vector (non-negative numbers that sum to 1)";
        return Err(ArgumentError::domain(1, expected, args[1]));
    }
    p.iter_mut().for_each(|p| *p /= total);
    Ok((n as f64, p))
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

    /// The saddle-point form: a sum of deviances, and terms that are small.
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (n, p) = parameters(args)?;
        let in_support = |x: &&[f64]| {
            x.len() == p.len()
                && x.iter().all(|k| outcome::is_count(*k))
                && x.iter().sum::<f64>() == n
        };
        let Some(x) = outcome::reals(x).filter(in_support) else {
            return Ok(f64::NEG_INFINITY);
        };
        if n == 0.0 {
            return Ok(0.0);
        }
        if let Some((_, p)) = x.iter().zip(&p).find(|(k, _)| **k == n) {
            return Ok(n * ln(*p));
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
        Ok(whole - x.iter().zip(&p).map(each).sum::<f64>())
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
        // C(n + k - 1, k - 1) vectors
        let number = (1..possible.len()).fold(1.0, |number, i| number * (n + i as f64) / i as f64);
        if number > MOST_ENUMERATED {
            return Ok(None);
        }
        let mut all = Vec::new();
        count_vectors(n as usize, &possible, &mut vec![0.0; p.len()], &mut all);
        Ok(Some(all))
    }
}
