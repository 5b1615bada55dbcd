//! The improper uniform law on the positive reals: log f(x) = 0.

use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct FlatPos;

static SPEC: Spec = Spec {
    name: "flat_pos",
    aliases: &[],
    parameters: "",
    arity: Arity::exactly(0),
    summary: "The improper flat prior on the positive reals: log density 0, starting at 1",
    example: "(flat_pos)",
};

fn log_density(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() { 0.0 } else { f64::NEG_INFINITY }
}

fn score(x: f64, _args: &[f64], slope: &mut [f64]) -> f64 {
    slope.fill(0.0);
    log_density(x)
}

impl Distribution for FlatPos {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// The starting value: nothing can be drawn from an improper law.
    fn sample(&self, _args: Args<'_>, _rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::Number(1.0))
    }

    fn log_density(&self, x: &Value, _args: Args<'_>) -> Result<f64, ArgumentError> {
        let x = outcome::number(x);
        Ok(log_density(x))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, _args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn is_proper(&self) -> bool {
        false
    }
}
