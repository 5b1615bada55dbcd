//! f(x) = 2 phi(z) Phi(shape z) / scale with z = (x - loc) / scale, phi and Phi those of the normal
//! law (Azzalini 1985).

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{HALF_LN_2PI, LN_2, hypot, ln};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::positive::{Positive, times_exp};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct SkewNormal;

static SPEC: Spec = Spec {
    name: "skew_normal",
    aliases: &[],
    parameters: "loc scale shape",
    arity: Arity::exactly(3),
    summary: "A normal number leaning to the right for positive shape and to the left for negative; shape 0 is normal",
    example: "(skew_normal 0 1 3)",
};

fn parameters(args: Args<'_>) -> Result<(f64, Positive, f64), ArgumentError> {
    Ok((
        arguments::finite(args, 0, "a finite location")?,
        Positive::read(args, 1, "a positive scale")?,
        arguments::finite(args, 2, "a finite shape")?,
    ))
}

/// Where the tail is asked; without a shape nowhere, however far z is.
fn leaning(z: f64, shape: f64) -> f64 {
    if shape == 0.0 { 0.0 } else { outcome::finite(shape * z) }
}

/// Of location 0 and scale 1.
fn log_density(z: f64, shape: f64) -> f64 {
    let tail = Curve::LogNormalCdf.value(leaning(z, shape));
    LN_2 - HALF_LN_2PI - 0.5 * z * z + tail
}

/// The derivatives with respect to z and to the shape.
fn slopes(z: f64, shape: f64) -> [f64; 2] {
    let mut tail = [0.0; 2];
    Curve::LogNormalCdf.derivatives(leaning(z, shape), &mut tail);
    [shape * tail[1] - z, z * tail[1]]
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (loc, scale, shape) = (args[0], args[1], args[2]);
    let valid = loc.is_finite() && arguments::is_positive(scale) && shape.is_finite();
    if !(valid && x.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let z = (x - loc) / scale;
    wanted(slope, || {
        let [by_z, by_shape] = slopes(z, shape);
        [by_z / scale, -by_z / scale, (-z * by_z - 1.0) / scale, by_shape]
    });
    log_density(z, shape) - ln(scale)
}

/// The same with the logarithm of the scale in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (loc, log_scale, shape) = (args[0], args[1], args[2]);
    if !(x.is_finite() && loc.is_finite() && log_scale.is_finite() && shape.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let z = times_exp(x - loc, -log_scale);
    wanted(slope, || {
        let [by_z, by_shape] = slopes(z, shape);
        let pull = times_exp(by_z, -log_scale);
        [pull, -pull, -z * by_z - 1.0, by_shape]
    });
    log_density(z, shape) - log_scale
}

impl Distribution for SkewNormal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// (shape |u| + v) / sqrt(1 + shape^2) of two normal numbers u and v.
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (loc, scale, shape) = parameters(args)?;
        let (u, v): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
        let length = hypot(1.0, shape);
        let z = shape / length * u.abs() + v / length;
        Ok(Value::Number(outcome::finite(loc + scale.times(z))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (loc, scale, shape) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => score(x, &[loc, scale, shape], &mut []),
            Positive::Log(log_scale) => score_by_log(x, &[loc, log_scale, shape], &mut []),
        })
    }

    /// log 2 - log(2 pi)/2 - z^2 / 2 + log Phi(shape z) - log scale
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (x, loc, scale) = (law.outcome(), law.argument(0), law.argument(1).positive()?);
            let z = (x - loc) * scale.power(-1.0);
            let tail = (law.argument(2) * z).curve(Curve::LogNormalCdf);
            Some(tail - 0.5 * z.square() - scale.log() + (LN_2 - HALF_LN_2PI))
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
