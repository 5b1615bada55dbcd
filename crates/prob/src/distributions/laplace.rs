//! f(x) = exp(-|x - loc| / scale) / (2 scale).

use rand_distr::{Distribution as _, Exp1};
use smidgen_value::math::{LN_2, ln};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::positive::{Positive, times_exp};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct Laplace;

static SPEC: Spec = Spec {
    name: "laplace",
    aliases: &[],
    parameters: "loc scale",
    arity: Arity::exactly(2),
    summary: "A real number around loc, an exponential draw to either side",
    example: "(laplace 0 1)",
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
    -((x - loc) / scale).abs() - ln(scale) - LN_2
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (loc, scale) = (args[0], args[1]);
    if !(loc.is_finite() && arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        let z = (x - loc) / scale;
        // At the peak a slope between those to either side.
        let pull = if z == 0.0 { 0.0 } else { z.signum() / scale };
        [-pull, pull, (z.abs() - 1.0) / scale]
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
        // At the peak a slope between those to either side.
        let pull = if z == 0.0 { 0.0 } else { times_exp(z.signum(), -log_scale) };
        [-pull, pull, z.abs() - 1.0]
    });
    -z.abs() - log_scale - LN_2
}

impl Distribution for Laplace {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let distance: f64 = Exp1.sample(rng);
        let signed = if rng.coin() { distance } else { -distance };
        Ok(Value::Number(outcome::finite(loc + scale.times(signed))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => log_density(x, loc, scale),
            Positive::Log(log_scale) => score_by_log(x, &[loc, log_scale], &mut []),
        })
    }

    /// -|x - loc| / scale - log(2 scale)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (x, loc, scale) = (law.outcome(), law.argument(0), law.argument(1).positive()?);
            Some(-(x - loc).curve(Curve::Abs) * scale.power(-1.0) - scale.log() - LN_2)
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
