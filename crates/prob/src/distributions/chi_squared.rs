//! f(x) = x^(df/2 - 1) e^(-x/2) / (2^(df/2) Gamma(df/2)) for x > 0: gamma(df/2, 1/2).

use smidgen_value::{ArgumentError, Rng, Value};

use super::gamma;
use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

pub struct ChiSquared;

static SPEC: Spec = Spec {
    name: "chi_squared",
    aliases: &[],
    parameters: "df",
    arity: Arity::exactly(1),
    summary: "The sum of the squares of df standard normal draws",
    example: "(chi_squared 3)",
};

fn parameters(args: Args<'_>) -> Result<f64, ArgumentError> {
    arguments::positive(args, 0, "positive degrees of freedom")
}

impl Distribution for ChiSquared {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let df = parameters(args)?;
        Ok(Value::Number(gamma::draw(0.5 * df, 0.5, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let df = parameters(args)?;
        let x = outcome::number(x);
        Ok(gamma::log_density(x, 0.5 * df, 0.5))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
