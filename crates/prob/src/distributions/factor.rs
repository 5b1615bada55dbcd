//! A weight: log f(true) = w. What `[factor w]` observes, and nobody can draw: it is no probability.

use smidgen_value::{ArgumentError, Link, Rng, Value};

use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct Factor;

static SPEC: Spec = Spec {
    name: "[factor]",
    aliases: &[],
    parameters: "log_weight",
    arity: Arity::exactly(1),
    summary: "The law that [factor log_weight] observes: always true, with this log density",
    example: "[factor]",
};

fn log_weight(w: f64) -> f64 {
    if w < f64::INFINITY { w } else { f64::NEG_INFINITY }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    wanted(slope, || [0.0, 1.0]);
    if x == 1.0 { log_weight(args[0]) } else { f64::NEG_INFINITY }
}

impl Distribution for Factor {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, _rng: &mut Rng) -> Result<Value, ArgumentError> {
        arguments::number(args, 0)?;
        Ok(Value::Bool(true))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let expected = "a log weight: a number below infinity";
        let w = arguments::number_where(args, 0, expected, |w| w < f64::INFINITY)?;
        Ok(if x.as_number() == Some(1.0) { w } else { f64::NEG_INFINITY })
    }

    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            Some(law.argument(0))
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        arguments::number(args, 0)?;
        Ok(Support::Booleans)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        match x.as_number() {
            Some(1.0) => Ok(Value::Bool(true)),
            _ => Err("true"),
        }
    }

    fn is_proper(&self) -> bool {
        false
    }
}
