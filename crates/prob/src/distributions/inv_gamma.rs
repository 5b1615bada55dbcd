//! f(x) = scale^shape x^(-shape - 1) e^(-scale / x) / Gamma(shape) for x > 0.

use smidgen_value::math::{digamma, exp, ln};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::gamma;
use super::outcome;
use super::saddle_point::log_gamma_kernel;
use crate::arguments;
use crate::positive::Positive;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct InvGamma;

static SPEC: Spec = Spec {
    name: "inv_gamma",
    aliases: &[],
    parameters: "shape scale",
    arity: Arity::exactly(2),
    summary: "A positive number with mean scale / (shape - 1), the inverse of a gamma draw",
    example: "(inv_gamma 3 2)",
};

#[inline]
fn parameters(args: Args<'_>) -> Result<(f64, Positive), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "a positive shape")?,
        Positive::read(args, 1, "a positive scale")?,
    ))
}

fn log_density(x: f64, shape: f64, scale: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let t = scale / x;
    let log_t = if t.is_normal() { ln(t) } else { ln(scale) - ln(x) };
    log_gamma_kernel(shape + 1.0, shape, t, log_t) - ln(scale)
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (shape, scale) = (args[0], args[1]);
    if !(arguments::is_positive(shape) && arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        [(scale / x - shape - 1.0) / x, ln(scale) - ln(x) - digamma(shape), shape / scale - 1.0 / x]
    });
    log_density(x, shape, scale)
}

/// The same with the logarithm of the scale in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (shape, log_scale) = (args[0], args[1]);
    if !(x > 0.0 && x.is_finite() && arguments::is_positive(shape) && log_scale.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let log_t = log_scale - ln(x);
    let t = exp(log_t);
    wanted(slope, || [(t - shape - 1.0) / x, log_t - digamma(shape), shape - t]);
    log_gamma_kernel(shape + 1.0, shape, t, log_t) - log_scale
}

impl Distribution for InvGamma {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        // Draws by a scale that is no double would be none either.
        let (shape, _) = parameters(args)?;
        let scale = arguments::positive(args, 1, "a positive scale")?;
        let x = exp(ln(scale) - gamma::draw_log(shape, rng));
        Ok(Value::Number(outcome::positive(x)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (shape, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => log_density(x, shape, scale),
            Positive::Log(log_scale) => score_by_log(x, &[shape, log_scale], &mut []),
        })
    }

    /// shape log(scale / x) - log x - scale / x - log Gamma(shape)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (x, shape, scale) = (law.outcome(), law.argument(0), law.argument(1).positive()?);
            let log_x = x.log();
            let t = x.power(-1.0) * scale.power(1.0);
            Some(shape * (scale.log() - log_x) - log_x - t - shape.log_gamma())
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
