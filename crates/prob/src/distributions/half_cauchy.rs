//! f(x) = 2 / (pi scale (1 + (x / scale)^2)) for x >= 0.

use smidgen_value::math::LN_2;
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::cauchy;
use super::outcome;
use crate::arguments;
use crate::positive::Positive;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct HalfCauchy;

static SPEC: Spec = Spec {
    name: "half_cauchy",
    aliases: &[],
    parameters: "scale",
    arity: Arity::exactly(1),
    summary: "The size of a Cauchy draw around 0",
    example: "(half_cauchy 1)",
};

fn parameters(args: Args<'_>) -> Result<Positive, ArgumentError> {
    Positive::read(args, 0, "a positive scale")
}

fn log_density(x: f64, scale: f64) -> f64 {
    if x >= 0.0 { cauchy::log_density(x, scale) + LN_2 } else { f64::NEG_INFINITY }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let scale = args[0];
    if !(arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || cauchy::slopes(x, scale));
    log_density(x, scale)
}

/// The same with the logarithm of the scale in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    if x >= 0.0 { cauchy::by_log(x, args[0], slope) + LN_2 } else { f64::NEG_INFINITY }
}

impl Distribution for HalfCauchy {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let scale = parameters(args)?;
        Ok(Value::Number(outcome::finite(scale.times(cauchy::draw(rng).abs()))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let scale = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => log_density(x, scale),
            Positive::Log(log_scale) => score_by_log(x, &[log_scale], &mut []),
        })
    }

    /// Twice that of Cauchy's law.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            Some(cauchy::formula(law.outcome(), law.argument(0).positive()?) + LN_2)
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 0, link: Link::Log, score: Score::Scalar(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
