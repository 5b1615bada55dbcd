//! P(true) = p, P(false) = 1 - p.

use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::bernoulli::{BY_LOG_ODDS, recipe, score, success};
use crate::procedure::{Args, Arity, Distribution, Family, Linked, Score, Spec};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct Flip;

static SPEC: Spec = Spec {
    name: "flip",
    aliases: &[],
    parameters: "[p]",
    arity: Arity::between(0, 1),
    summary: "true with probability p (one half if not given), otherwise false",
    example: "(flip 0.3)",
};

impl Distribution for Flip {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::Bool(success(args)?.draw(rng)))
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let p = success(args)?;
        Ok(match x {
            Value::Bool(heads) => p.log_of(*heads),
            _ => f64::NEG_INFINITY,
        })
    }

    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        recipe(arguments, link)
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(BY_LOG_ODDS)
    }

    fn family(&self) -> Family {
        Family::Coin
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        success(args)?;
        Ok(Support::Booleans)
    }

    /// 0 and 1 stand for the two sides of the coin; no other number is a boolean.
    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        match x.as_number() {
            Some(number) if number == 0.0 || number == 1.0 => Ok(Value::Bool(number == 1.0)),
            _ => Err("a boolean"),
        }
    }

    fn most_values(&self, _: Args<'_>) -> Option<usize> {
        Some(2)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let [success, failure] = success(args)?.possible();
        let possible = [(false, failure), (true, success)];
        Ok(Some(possible.iter().filter(|(_, can)| *can).map(|(x, _)| Value::Bool(*x)).collect()))
    }
}
