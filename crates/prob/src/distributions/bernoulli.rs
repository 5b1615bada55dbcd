//! P(1) = p, P(0) = 1 - p.

use smidgen_value::math::{ln, ln_1p};
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Scalar, Score, Spec};
use crate::support::Support;

pub struct Bernoulli;

static SPEC: Spec = Spec {
    name: "bernoulli",
    aliases: &[],
    parameters: "[p]",
    arity: Arity::between(0, 1),
    summary: "1 with probability p (one half if not given), otherwise 0",
    example: "(bernoulli 0.3)",
};

/// The probability of success, one half if not given.
#[inline]
pub(crate) fn success(args: Args<'_>) -> Result<f64, ArgumentError> {
    if args.is_empty() { Ok(0.5) } else { arguments::probability(args, 0) }
}

/// log of the probability of success, or of failure.
#[inline]
pub(crate) fn log_probability(success: bool, p: f64) -> f64 {
    if success { ln(p) } else { ln_1p(-p) }
}

/// Likewise for an outcome of 1 or 0, with the derivative with respect to p.
#[inline]
pub(crate) fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let p = args.first().copied().unwrap_or(0.5);
    if !(arguments::is_probability(p) && (x == 1.0 || x == 0.0)) {
        return f64::NEG_INFINITY;
    }
    let by_p = if x == 1.0 { 1.0 / p } else { -1.0 / (1.0 - p) };
    slope.copy_from_slice(&[0.0, by_p][..slope.len()]);
    log_probability(x == 1.0, p)
}

impl Distribution for Bernoulli {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let p = success(args)?;
        Ok(Value::Number(if rng.uniform() < p { 1.0 } else { 0.0 }))
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let p = success(args)?;
        let x = outcome::number(x);
        Ok(if x == 1.0 || x == 0.0 { log_probability(x == 1.0, p) } else { f64::NEG_INFINITY })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn scalar(&self) -> Option<Scalar> {
        #[inline]
        fn success(args: &[f64]) -> Option<f64> {
            let p = args.first().copied().unwrap_or(0.5);
            arguments::is_probability(p).then_some(p)
        }
        Some(Scalar {
            sample: |args, rng| {
                let p = success(args)?;
                Some(if rng.uniform() < p { 1.0 } else { 0.0 })
            },
            log_density: |x, args| {
                let p = success(args)?;
                let possible = x == 1.0 || x == 0.0;
                Some(if possible { log_probability(x == 1.0, p) } else { f64::NEG_INFINITY })
            },
        })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        success(args)?;
        Ok(Support::Integers { low: 0.0, high: 1.0 })
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_coin(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let p = success(args)?;
        let possible = [(0.0, p < 1.0), (1.0, p > 0.0)];
        Ok(Some(possible.iter().filter(|(_, can)| *can).map(|(x, _)| Value::Number(*x)).collect()))
    }
}
