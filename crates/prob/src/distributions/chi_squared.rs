//! f(x) = x^(df/2 - 1) e^(-x/2) / (2^(df/2) Gamma(df/2)) for x > 0: gamma(df/2, 1/2).

use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::gamma;
use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::{Recipe, write};
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

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    if slope.is_empty() {
        return gamma::score(x, &[0.5 * args[0], 0.5], slope);
    }
    let mut gamma_slope = [0.0; 3];
    let log_density = gamma::score(x, &[0.5 * args[0], 0.5], &mut gamma_slope);
    wanted(slope, || [gamma_slope[0], 0.5 * gamma_slope[1]]);
    log_density
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

    /// That of gamma(df/2, 1/2).
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let rate = write::Positive::Plain(law.number(0.5));
            Some(gamma::formula(law.outcome(), 0.5 * law.argument(0), rate))
        })
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
