//! f(x) = 1 / (pi scale (1 + z^2)) with z = (x - loc) / scale.

use smidgen_value::math::{LN_PI, PI, ln, ln_1p, tan};
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
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

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::Reals)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
