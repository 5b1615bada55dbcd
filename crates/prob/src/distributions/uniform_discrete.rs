//! P(k) = 1 / (hi - lo) for the whole numbers lo, lo + 1, ..., hi - 1.

use smidgen_value::math::ln;
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct UniformDiscrete;

static SPEC: Spec = Spec {
    name: "uniform_discrete",
    aliases: &[],
    parameters: "lo hi",
    arity: Arity::exactly(2),
    summary: "A whole number from lo on and below hi, all equally likely",
    example: "(uniform_discrete 0 10)",
};

/// More values than this are not enumerated.
const MOST_ENUMERATED: f64 = 100_000.0;

#[inline]
fn is_whole(x: f64) -> bool {
    x.fract() == 0.0 && x.abs() < 4.0e15
}

#[inline]
fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    let low = arguments::number_where(args, 0, "a whole number", is_whole)?;
    let high = arguments::number_where(args, 1, "a whole number", is_whole)?;
    if low < high {
        Ok((low, high))
    } else {
        Err(ArgumentError::domain(
            1,
            "an upper end above the lower one (the range is empty)",
            args[1],
        ))
    }
}

#[inline]
fn log_mass(k: f64, low: f64, high: f64) -> f64 {
    let inside = low <= k && k < high && k.fract() == 0.0;
    if inside { -ln(high - low) } else { f64::NEG_INFINITY }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (low, high) = (args[0], args[1]);
    if !(is_whole(low) && is_whole(high) && low < high) {
        return f64::NEG_INFINITY;
    }
    slope.fill(0.0);
    log_mass(x, low, high)
}

impl Distribution for UniformDiscrete {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (low, high) = parameters(args)?;
        Ok(Value::Number(low + rng.below((high - low) as usize) as f64))
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (low, high) = parameters(args)?;
        let k = outcome::number(x);
        Ok(log_mass(k, low, high))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (low, high) = parameters(args)?;
        Ok(Support::Integers { low, high: high - 1.0 })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0, 1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let (low, high) = parameters(args)?;
        if high - low > MOST_ENUMERATED {
            return Ok(None);
        }
        Ok(Some((0..(high - low) as usize).map(|i| Value::Number(low + i as f64)).collect()))
    }
}
