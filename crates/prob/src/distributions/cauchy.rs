//! f(x) = 1 / (pi scale (1 + z^2)) with z = (x - loc) / scale.

use smidgen_value::math::{LN_PI, PI, ln, ln_1p, tan};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::positive::{Positive, times_exp};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::recipe::write::{self, Term};
use crate::smooth::Curve;
use crate::support::Support;

pub struct Cauchy;

static SPEC: Spec = Spec {
    name: "cauchy",
    aliases: &[],
    parameters: "loc scale",
    arity: Arity::exactly(2),
    summary: "A real number around loc with tails so heavy that it has no mean",
    example: "(cauchy 0 1)",
};

fn parameters(args: Args<'_>) -> Result<(f64, Positive), ArgumentError> {
    Ok((
        arguments::finite(args, 0, "a finite location")?,
        Positive::read(args, 1, "a positive scale")?,
    ))
}

/// A draw with location 0 and scale 1.
pub(crate) fn draw(rng: &mut Rng) -> f64 {
    // The half nearer to the pole comes from the reciprocal, where uniforms near 0 are dense.
    let u = rng.open_uniform();
    let x = tan(0.25 * PI * u);
    let x = if rng.coin() { x } else { 1.0 / x };
    if rng.coin() { x } else { -x }
}

/// At a distance from the location.
pub(crate) fn log_density(distance: f64, scale: f64) -> f64 {
    if !distance.is_finite() {
        return f64::NEG_INFINITY;
    }
    let square = (distance / scale) * (distance / scale);
    let log_1p_square =
        if square < 1e20 { ln_1p(square) } else { 2.0 * (ln(distance.abs()) - ln(scale)) };
    -LN_PI - ln(scale) - log_1p_square
}

/// The derivatives of [`log_density`] with respect to the distance and to the scale.
pub(crate) fn slopes(distance: f64, scale: f64) -> [f64; 2] {
    let z = distance / scale;
    // 2 z / (1 + z^2) and (z^2 - 1) / (z^2 + 1), by 1/z where the square, or z itself, may overflow.
    let (w, sign) = if z.abs() > 1.0 { (1.0 / z, -1.0) } else { (z, 1.0) };
    let square = w * w;
    [-2.0 * w / (1.0 + square) / scale, sign * (square - 1.0) / (square + 1.0) / scale]
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (loc, scale) = (args[0], args[1]);
    if !(loc.is_finite() && arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        let [by_distance, by_scale] = slopes(x - loc, scale);
        [by_distance, -by_distance, by_scale]
    });
    log_density(x - loc, scale)
}

/// As [`log_density`], with the logarithm of the scale in its place, and the derivatives with respect to the distance
/// and to that logarithm.
pub(crate) fn by_log(distance: f64, log_scale: f64, slope: &mut [f64]) -> f64 {
    if !(distance.is_finite() && log_scale.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let z = times_exp(distance, -log_scale);
    wanted(slope, || {
        if z.is_infinite() {
            return [-2.0 / distance, 1.0];
        }
        let [pull, by_log] = slopes(z, 1.0);
        [times_exp(pull, -log_scale), by_log]
    });
    let log_1p_square =
        if z.abs() < 1e10 { ln_1p(z * z) } else { 2.0 * (ln(distance.abs()) - log_scale) };
    -LN_PI - log_scale - log_1p_square
}

fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let mut both = [0.0; 2];
    let room = if slope.is_empty() { &mut [][..] } else { &mut both[..] };
    let log_density = by_log(x - args[0], args[1], room);
    wanted(slope, || [both[0], -both[0], both[1]]);
    log_density
}

/// At a distance from the location: -log pi - log scale - log(1 + z^2).
pub(crate) fn formula<'w>(distance: Term<'w>, scale: write::Positive<'w>) -> Term<'w> {
    let z = distance * scale.power(-1.0);
    -z.curve(Curve::Log1pSquare) - scale.log() - LN_PI
}

impl Distribution for Cauchy {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        Ok(Value::Number(outcome::finite(loc + scale.times(draw(rng)))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => log_density(x - loc, scale),
            Positive::Log(log_scale) => by_log(x - loc, log_scale, &mut []),
        })
    }

    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            Some(formula(law.outcome() - law.argument(0), law.argument(1).positive()?))
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
