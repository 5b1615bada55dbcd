//! f(x) = 1 / (pi scale (1 + z^2)) with z = (x - loc) / scale.

use smidgen_value::math::{LN_PI, PI, ln, ln_1p, tan};
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
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

fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::finite(args, 0, "a finite location")?,
        arguments::positive(args, 1, "a positive scale")?,
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
    let [by_distance, by_scale] = slopes(x - loc, scale);
    slope.copy_from_slice(&[by_distance, -by_distance, by_scale]);
    log_density(x - loc, scale)
}

impl Distribution for Cauchy {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        Ok(Value::Number(outcome::finite(loc + scale * draw(rng))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(log_density(x - loc, scale))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::Reals)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
