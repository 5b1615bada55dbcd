//! f(x) = e^-z / (scale (1 + e^-z)^2) with z = (x - loc) / scale.

use smidgen_value::math::{exp, ln, ln_1p, tanh};
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
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

fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::finite(args, 0, "a finite location")?,
        arguments::positive(args, 1, "a positive scale")?,
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
    let z = (x - loc) / scale;
    let pull = tanh(0.5 * z);
    slope.copy_from_slice(&[-pull / scale, pull / scale, (z * pull - 1.0) / scale]);
    log_density(x, loc, scale)
}

impl Distribution for LogisticDist {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let u = rng.open_uniform();
        Ok(Value::Number(outcome::finite(loc + scale * (ln(u) - ln_1p(-u)))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (loc, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(log_density(x, loc, scale))
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
