//! P(1) = 1 / (1 + e^-η), P(0) = 1 / (1 + e^η): `bernoulli` by its log odds η.

use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::{bernoulli, outcome};
use crate::arguments;
use crate::chance::Chance;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct BernoulliLogit;

static SPEC: Spec = Spec {
    name: "bernoulli_logit",
    aliases: &[],
    parameters: "log_odds",
    arity: Arity::exactly(1),
    summary: "1 with probability (logistic log_odds), otherwise 0",
    example: "(bernoulli_logit 0.4)",
};

fn parameters(args: Args<'_>) -> Result<Chance, ArgumentError> {
    let log_odds = arguments::number_where(args, 0, "log odds", |x| !x.is_nan())?;
    Ok(Chance::LogOdds(log_odds))
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    if args[0].is_nan() {
        return f64::NEG_INFINITY;
    }
    bernoulli::score_by_odds(x, args, slope)
}

impl Distribution for BernoulliLogit {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::Number(f64::from(u8::from(parameters(args)?.draw(rng)))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let p = parameters(args)?;
        let x = outcome::number(x);
        Ok(if x == 1.0 || x == 0.0 { p.log_of(x == 1.0) } else { f64::NEG_INFINITY })
    }

    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let sign = 2.0 * law.outcome() - 1.0;
            Some((sign * law.argument(0)).curve(Curve::LogLogistic))
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked_form_of(&self) -> Option<&'static dyn Distribution> {
        Some(&bernoulli::Bernoulli)
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::Integers { low: 0.0, high: 1.0 })
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_coin(x)
    }

    fn most_values(&self, _: Args<'_>) -> Option<usize> {
        Some(2)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let p = parameters(args)?;
        let possible = [(0.0, false), (1.0, true)].into_iter();
        let possible = possible.filter(|(_, success)| p.log_of(*success) > f64::NEG_INFINITY);
        Ok(Some(possible.map(|(x, _)| Value::Number(x)).collect()))
    }
}
