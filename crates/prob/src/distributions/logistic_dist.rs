//! f(x) = e^-z / (scale (1 + e^-z)^2) with z = (x - loc) / scale.

use smidgen_value::math::{exp, ln, ln_1p};
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
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
        if !x.is_finite() {
            return Ok(f64::NEG_INFINITY);
        }
        // The density is even in z: the side on which e^-z does not overflow will do.
        let z = ((x - loc) / scale).abs();
        Ok(-z - 2.0 * ln_1p(exp(-z)) - ln(scale))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::Reals)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
