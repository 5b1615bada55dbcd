//! f(x) = scale^shape x^(-shape - 1) e^(-scale / x) / Gamma(shape) for x > 0.

use smidgen_value::math::{exp, ln};
use smidgen_value::{ArgumentError, Rng, Value};

use super::gamma;
use super::outcome;
use super::saddle_point::log_gamma_kernel;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
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
fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "a positive shape")?,
        arguments::positive(args, 1, "a positive scale")?,
    ))
}

impl Distribution for InvGamma {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (shape, scale) = parameters(args)?;
        let x = exp(ln(scale) - gamma::draw_log(shape, rng));
        Ok(Value::Number(outcome::positive(x)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (shape, scale) = parameters(args)?;
        let x = outcome::number(x);
        if !(x > 0.0 && x.is_finite()) {
            return Ok(f64::NEG_INFINITY);
        }
        let t = scale / x;
        let log_t = if t.is_normal() { ln(t) } else { ln(scale) - ln(x) };
        Ok(log_gamma_kernel(shape + 1.0, shape, t, log_t) - ln(scale))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
