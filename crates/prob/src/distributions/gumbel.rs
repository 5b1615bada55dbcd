//! f(x) = exp(-z - e^-z) / scale with z = (x - loc) / scale: the law of a maximum.

use rand_distr::{Distribution as _, Exp1};
use smidgen_value::math::{exp, ln};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::cumulative::Side;
use crate::positive::{Positive, times_exp};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct Gumbel;

static SPEC: Spec = Spec {
    name: "gumbel",
    aliases: &[],
    parameters: "loc scale",
    arity: Arity::exactly(2),
    summary: "The law of a maximum: with loc as its mode, stretched by scale",
    example: "(gumbel 0 1)",
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
    let z = (x - loc) / scale;
    at(z) - ln(scale)
}

/// Of location 0 and scale 1. So far to the left that z is no double there is no density left.
fn at(z: f64) -> f64 {
    if z == f64::NEG_INFINITY { z } else { -z - exp(-z) }
}

/// The derivatives with respect to z and to the logarithm of the scale.
fn slopes(z: f64) -> [f64; 2] {
    let e = exp(-z);
    let times_z = if e == 0.0 { 0.0 } else { z * e };
    [e - 1.0, z - times_z - 1.0]
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (loc, scale) = (args[0], args[1]);
    if !(loc.is_finite() && arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        let [by_z, by_log] = slopes((x - loc) / scale);
        [by_z / scale, -by_z / scale, by_log / scale]
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
        let [by_z, by_log] = slopes(z);
        let pull = times_exp(by_z, -log_scale);
        [pull, -pull, by_log]
    });
    at(z) - log_scale
}

impl Distribution for Gumbel {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let waiting: f64 = Exp1.sample(rng);
        Ok(Value::Number(outcome::finite(loc - scale.times(ln(outcome::positive(waiting))))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => log_density(x, loc, scale),
            Positive::Log(log_scale) => score_by_log(x, &[loc, log_scale], &mut []),
        })
    }

    /// -z - e^-z - log scale
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (x, loc, scale) = (law.outcome(), law.argument(0), law.argument(1).positive()?);
            let minus_z = (loc - x) * scale.power(-1.0);
            Some(minus_z - minus_z.exp() - scale.log())
        })
    }

    /// -e^-z below.
    fn tail_recipe(&self, side: Side, arguments: &[Option<f64>]) -> Option<Recipe> {
        Recipe::write(arguments, None, |law| {
            let (x, loc, scale) = (law.outcome(), law.argument(0), law.argument(1));
            let minus_z = (loc - x) * scale.power(-1.0);
            Some(match side {
                Side::Below => scale.wall() - minus_z.exp(),
                Side::Above => minus_z.curve(Curve::Log1mExpExp) + scale.wall(),
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
        Ok(Support::Reals)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
