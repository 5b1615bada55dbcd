//! f(x) = (shape / scale) t^(shape - 1) exp(-t^shape) with t = x / scale, for x >= 0.

use rand_distr::{Distribution as _, Exp1};
use smidgen_value::math::{exp, ln, pow};
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

pub struct Weibull;

static SPEC: Spec = Spec {
    name: "weibull",
    aliases: &[],
    parameters: "shape scale",
    arity: Arity::exactly(2),
    summary: "A lifetime whose hazard grows as its power shape - 1",
    example: "(weibull 1.5 1)",
};

fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "a positive shape")?,
        arguments::positive(args, 1, "a positive scale")?,
    ))
}

impl Distribution for Weibull {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (shape, scale) = parameters(args)?;
        let waiting: f64 = Exp1.sample(rng);
        Ok(Value::Number(outcome::positive(scale * pow(waiting, 1.0 / shape))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (shape, scale) = parameters(args)?;
        let x = outcome::number(x);
        if !(x >= 0.0 && x.is_finite()) {
            return Ok(f64::NEG_INFINITY);
        }
        let t = x / scale;
        let log_t = if t.is_normal() || x == 0.0 { ln(t) } else { ln(x) - ln(scale) };
        let log_power = if shape == 1.0 { 0.0 } else { (shape - 1.0) * log_t };
        let hazard = if t.is_normal() { pow(t, shape) } else { exp(shape * log_t) };
        Ok(if hazard == f64::INFINITY {
            f64::NEG_INFINITY
        } else {
            ln(shape) - ln(scale) + log_power - hazard
        })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
