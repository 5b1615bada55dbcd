//! f(x) = e^-z / (scale (1 + e^-z)^2) with z = (x - loc) / scale.

use smidgen_value::math::{exp, ln, ln_1p, tanh};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::cumulative::Side;
use crate::positive::{Positive, times_exp};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct LogisticDist;

static SPEC: Spec = Spec {
    name: "logistic_dist",
    aliases: &[],
    parameters: "loc scale",
    arity: Arity::exactly(2),
    summary: "A real number around loc whose distribution function is the logistic curve",
    example: "(logistic_dist 0 1)",
};

fn parameters(args: Args<'_>) -> Result<(f64, Positive), ArgumentError> {
    Ok((
        arguments::finite(args, 0, "a finite location")?,
        Positive::read(args, 1, "a positive scale")?,
    ))
}

fn log_density(x: f64, loc: f64, scale: f64) -> f64 {
    if !x.is_finite() {
        return f64::NEG_INFINITY;
    }
    // The density is even in z: the side on which e^-z does not overflow will do.
    let z = ((x - loc) / scale).abs();
    -z - 2.0 * ln_1p(exp(-z)) - ln(scale)
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (loc, scale) = (args[0], args[1]);
    if !(loc.is_finite() && arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        let z = (x - loc) / scale;
        let pull = tanh(0.5 * z);
        [-pull / scale, pull / scale, (z * pull - 1.0) / scale]
    });
    log_density(x, loc, scale)
}

/// The same with the logarithm of the scale in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (loc, log_scale) = (args[0], args[1]);
    if !(x.is_finite() && loc.is_finite() && log_scale.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let z = times_exp(x - loc, -log_scale);
    wanted(slope, || {
        let pull = tanh(0.5 * z);
        let by_loc = times_exp(pull, -log_scale);
        [-by_loc, by_loc, z * pull - 1.0]
    });
    -z.abs() - 2.0 * ln_1p(exp(-z.abs())) - log_scale
}

impl Distribution for LogisticDist {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let u = rng.open_uniform();
        Ok(Value::Number(outcome::finite(loc + scale.times(ln(u) - ln_1p(-u)))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => log_density(x, loc, scale),
            Positive::Log(log_scale) => score_by_log(x, &[loc, log_scale], &mut []),
        })
    }

    /// With p = 1/(1 + e^-z), log p + log(1 - p) = 2 log p - z: one curve.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (x, loc, scale) = (law.outcome(), law.argument(0), law.argument(1).positive()?);
            let z = (x - loc) * scale.power(-1.0);
            Some(2.0 * z.curve(Curve::LogLogistic) - z - scale.log())
        })
    }

    /// log of the logistic curve at z below, at -z above.
    fn tail_recipe(&self, side: Side, arguments: &[Option<f64>]) -> Option<Recipe> {
        Recipe::write(arguments, None, |law| {
            let scale = law.argument(1);
            let z = side.sign() * ((law.outcome() - law.argument(0)) * scale.power(-1.0));
            Some(z.curve(Curve::LogLogistic) + scale.wall())
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
        Ok(Support::Reals)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
