//! f(x) = 2 exp(-x^2 / (2 sd^2)) / (sd sqrt(2 pi)) for x >= 0.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::LN_2;
use smidgen_value::{ArgumentError, Rng, Value};

use super::normal;
use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct HalfNormal;

static SPEC: Spec = Spec {
    name: "half_normal",
    aliases: &[],
    parameters: "sd",
    arity: Arity::exactly(1),
    summary: "The size of a normal draw with mean 0 and standard deviation sd",
    example: "(half_normal 1)",
};

fn parameters(args: Args<'_>) -> Result<f64, ArgumentError> {
    arguments::positive(args, 0, "a positive standard deviation")
}

fn log_density(x: f64, sd: f64) -> f64 {
    if x >= 0.0 { normal::log_density(x, 0.0, sd) + LN_2 } else { f64::NEG_INFINITY }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let sd = args[0];
    if !(arguments::is_positive(sd)) {
        return f64::NEG_INFINITY;
    }
    let z = x / sd;
    slope.copy_from_slice(&[-z / sd, (z * z - 1.0) / sd]);
    log_density(x, sd)
}

impl Distribution for HalfNormal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let sd = parameters(args)?;
        let z: f64 = StandardNormal.sample(rng);
        Ok(Value::Number(outcome::finite(sd * z.abs())))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let sd = parameters(args)?;
        let x = outcome::number(x);
        Ok(log_density(x, sd))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
