//! f(x) = (shape / scale) t^(shape - 1) exp(-t^shape) with t = x / scale, for x >= 0.

use rand_distr::{Distribution as _, Exp1};
use smidgen_value::math::{exp, ln, pow};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::cumulative::Side;
use crate::positive::Positive;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct Weibull;

static SPEC: Spec = Spec {
    name: "weibull",
    aliases: &[],
    parameters: "shape scale",
    arity: Arity::exactly(2),
    summary: "A lifetime whose hazard grows as its power shape - 1",
    example: "(weibull 1.5 1)",
};

fn parameters(args: Args<'_>) -> Result<(f64, Positive), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "a positive shape")?,
        Positive::read(args, 1, "a positive scale")?,
    ))
}

/// log t and t^shape, where the density is positive.
fn log_and_hazard(x: f64, shape: f64, scale: f64) -> Option<(f64, f64)> {
    if !(x >= 0.0 && x.is_finite()) {
        return None;
    }
    let t = x / scale;
    let log_t = if t.is_normal() || x == 0.0 { ln(t) } else { ln(x) - ln(scale) };
    let hazard = if t.is_normal() { pow(t, shape) } else { exp(shape * log_t) };
    (hazard < f64::INFINITY).then_some((log_t, hazard))
}

fn log_density(log_t: f64, hazard: f64, shape: f64, scale: f64) -> f64 {
    let log_power = if shape == 1.0 { 0.0 } else { (shape - 1.0) * log_t };
    ln(shape) - ln(scale) + log_power - hazard
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (shape, scale) = (args[0], args[1]);
    if !(arguments::is_positive(shape) && arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    let Some((log_t, hazard)) = log_and_hazard(x, shape, scale) else {
        return f64::NEG_INFINITY;
    };
    let log_density = log_density(log_t, hazard, shape, scale);
    if x == 0.0 {
        // The limits from the right, where the density has one.
        let by_x = if shape == 1.0 { -1.0 / scale } else { 0.0 };
        wanted(slope, || [by_x, f64::NEG_INFINITY, -shape / scale]);
    } else {
        wanted(slope, || {
            [
                (shape - 1.0 - shape * hazard) / x,
                1.0 / shape + (1.0 - hazard) * log_t,
                shape * (hazard - 1.0) / scale,
            ]
        });
    }
    log_density
}

/// The same with the logarithm of the scale in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (shape, log_scale) = (args[0], args[1]);
    if !(x >= 0.0 && x.is_finite() && arguments::is_positive(shape) && log_scale.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let log_t = ln(x) - log_scale;
    let hazard = exp(shape * log_t);
    if hazard == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || match x == 0.0 {
        // The limits from the right, where the density has one.
        true => [if shape == 1.0 { -exp(-log_scale) } else { 0.0 }, f64::NEG_INFINITY, -shape],
        false => [
            (shape - 1.0 - shape * hazard) / x,
            1.0 / shape + (1.0 - hazard) * log_t,
            shape * (hazard - 1.0),
        ],
    });
    let log_power = if shape == 1.0 { 0.0 } else { (shape - 1.0) * log_t };
    ln(shape) - log_scale + log_power - hazard
}

impl Distribution for Weibull {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        // Draws by a scale that is no double would be none either.
        let (shape, _) = parameters(args)?;
        let scale = arguments::positive(args, 1, "a positive scale")?;
        let waiting: f64 = Exp1.sample(rng);
        Ok(Value::Number(outcome::positive(scale * pow(waiting, 1.0 / shape))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (shape, scale) = parameters(args)?;
        let x = outcome::number(x);
        let scale = match scale {
            Positive::Plain(scale) => scale,
            Positive::Log(log_scale) => return Ok(score_by_log(x, &[shape, log_scale], &mut [])),
        };
        Ok(log_and_hazard(x, shape, scale)
            .map_or(f64::NEG_INFINITY, |(log_t, hazard)| log_density(log_t, hazard, shape, scale)))
    }

    /// log shape + shape log t - log x - t^shape
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (shape, scale) = (law.argument(0), law.argument(1).positive()?);
            let log_x = law.outcome().log();
            let log_hazard = shape * (log_x - scale.log());
            Some(shape.log() + log_hazard - log_x - log_hazard.exp())
        })
    }

    /// -t^shape above.
    fn tail_recipe(&self, side: Side, arguments: &[Option<f64>]) -> Option<Recipe> {
        Recipe::write(arguments, None, |law| {
            let (shape, scale) = (law.argument(0), law.argument(1));
            let log_hazard = shape * (law.outcome().log() - scale.log());
            let domain = shape.wall();
            Some(match side {
                Side::Above => domain - log_hazard.exp(),
                Side::Below => log_hazard.curve(Curve::Log1mExpExp) + domain,
            })
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 1, link: Link::Log, score: Score::Scalar(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
