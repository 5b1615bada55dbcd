//! f(x) = 2 exp(-x^2 / (2 sd^2)) / (sd sqrt(2 pi)) for x >= 0.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::LN_2;
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::normal;
use super::outcome;
use crate::arguments;
use crate::positive::Positive;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
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

fn parameters(args: Args<'_>) -> Result<Positive, ArgumentError> {
    Positive::read(args, 0, "a positive standard deviation")
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
    wanted(slope, || [-z / sd, (z * z - 1.0) / sd]);
    log_density(x, sd)
}

/// The same with log sd in place of sd.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let mut normal_slope = [0.0; 3];
    let room = if slope.is_empty() { &mut [][..] } else { &mut normal_slope[..] };
    let log_density = normal::score_by_log(x, &[0.0, args[0]], room);
    wanted(slope, || [normal_slope[0], normal_slope[2]]);
    if x >= 0.0 { log_density + LN_2 } else { f64::NEG_INFINITY }
}

impl Distribution for HalfNormal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let sd = parameters(args)?;
        let z: f64 = StandardNormal.sample(rng);
        Ok(Value::Number(outcome::finite(sd.times(z.abs()))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let sd = parameters(args)?;
        let x = outcome::number(x);
        Ok(match sd {
            Positive::Plain(sd) => log_density(x, sd),
            Positive::Log(log_sd) => score_by_log(x, &[log_sd], &mut []),
        })
    }

    /// Twice that of the normal law.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (x, mean) = (law.outcome(), law.number(0.0));
            Some(normal::formula(x, mean, law.argument(0).positive()?) + LN_2)
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
