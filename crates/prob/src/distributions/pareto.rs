//! f(x) = shape minimum^shape / x^(shape + 1) from the minimum on.

use rand_distr::{Distribution as _, Exp1};
use smidgen_value::math::{exp, ln, ln_1p};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct Pareto;

static SPEC: Spec = Spec {
    name: "pareto",
    aliases: &[],
    parameters: "minimum shape",
    arity: Arity::exactly(2),
    summary: "A number from the minimum on that exceeds x with probability (minimum / x)^shape",
    example: "(pareto 1 3)",
};

fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "a positive minimum")?,
        arguments::positive(args, 1, "a positive shape")?,
    ))
}

/// log(minimum / x)
fn log_ratio(x: f64, minimum: f64) -> f64 {
    let ratio = minimum / x;
    if ratio > 0.5 {
        ln_1p((minimum - x) / x)
    } else if ratio.is_normal() {
        ln(ratio)
    } else {
        ln(minimum) - ln(x)
    }
}

fn log_density(x: f64, minimum: f64, shape: f64) -> f64 {
    if !(x >= minimum && x.is_finite()) {
        return f64::NEG_INFINITY;
    }
    shape * log_ratio(x, minimum) + ln(shape) - ln(x)
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (minimum, shape) = (args[0], args[1]);
    if !(arguments::is_positive(minimum) && arguments::is_positive(shape)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || [-(shape + 1.0) / x, shape / minimum, 1.0 / shape + log_ratio(x, minimum)]);
    log_density(x, minimum, shape)
}

impl Distribution for Pareto {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (minimum, shape) = parameters(args)?;
        let waiting: f64 = Exp1.sample(rng);
        Ok(Value::Number(outcome::finite(minimum * exp(waiting / shape))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (minimum, shape) = parameters(args)?;
        Ok(log_density(outcome::number(x), minimum, shape))
    }

    /// log shape + shape (log minimum - log x) - log x
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (x, minimum, shape) = (law.outcome(), law.argument(0), law.argument(1));
            let power = shape * (minimum.log() - x.log());
            Some(power + shape.log() - x.log() + (x - minimum).wall())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (low, _) = parameters(args)?;
        Ok(Support::Interval { low, high: f64::INFINITY })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
