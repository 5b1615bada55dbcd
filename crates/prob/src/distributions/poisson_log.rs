//! P(k) = exp(η k - e^η) / k!: `poisson` by the logarithm η of its rate.

use smidgen_value::math::exp;
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::{outcome, poisson};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct PoissonLog;

static SPEC: Spec = Spec {
    name: "poisson_log",
    aliases: &[],
    parameters: "log_rate",
    arity: Arity::exactly(1),
    summary: "The number of events in a unit of time when they come at the rate (exp log_rate)",
    example: "(poisson_log 1.5)",
};

/// From -inf, which is the rate 0, to what is a double.
fn log_rate(args: Args<'_>) -> Result<f64, ArgumentError> {
    let is_log_rate = |x: f64| x < f64::INFINITY;
    arguments::number_where(args, 0, "the logarithm of a rate (a finite number)", is_log_rate)
}

impl Distribution for PoissonLog {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::Number(poisson::draw(exp(log_rate(args)?).min(f64::MAX), rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        Ok(poisson::score_by_log(outcome::number(x), &[log_rate(args)?], &mut []))
    }

    /// k η - e^η - log k!
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (k, log_rate) = (law.outcome(), law.argument(0));
            Some(k * log_rate - log_rate.exp() - k.log_factorial())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(poisson::score_by_log))
    }

    fn linked_form_of(&self) -> Option<&'static dyn Distribution> {
        Some(&poisson::Poisson)
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        log_rate(args)?;
        Ok(Support::COUNTS)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
