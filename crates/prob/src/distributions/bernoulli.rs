//! P(1) = p, P(0) = 1 - p.

use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::chance::{Chance, slope_by_odds};
use crate::procedure::{Args, Arity, Distribution, Family, Linked, Scalar, Score, Spec, wanted};
use crate::recipe::{Recipe, write};
use crate::smooth::Curve;
use crate::support::Support;

pub struct Bernoulli;

static SPEC: Spec = Spec {
    name: "bernoulli",
    aliases: &[],
    parameters: "[p]",
    arity: Arity::between(0, 1),
    summary: "1 with probability p (one half if not given), otherwise 0",
    example: "(bernoulli 0.3)",
};

/// The probability of success, one half if not given.
#[inline]
pub(crate) fn success(args: Args<'_>) -> Result<Chance, ArgumentError> {
    if args.is_empty() { Ok(Chance::Plain(0.5)) } else { Chance::read(args, 0) }
}

/// Likewise for an outcome of 1 or 0, with the derivative with respect to p.
#[inline]
pub(crate) fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let p = args.first().copied().unwrap_or(0.5);
    if !(arguments::is_probability(p) && (x == 1.0 || x == 0.0)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || [0.0, if x == 1.0 { 1.0 / p } else { -1.0 / (1.0 - p) }]);
    Chance::Plain(p).log_of(x == 1.0)
}

/// The same with the log odds in place of p.
pub(crate) fn score_by_odds(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    if !(x == 1.0 || x == 0.0) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || [0.0, slope_by_odds(x, 1.0 - x, args[0])]);
    Chance::LogOdds(args[0]).log_of(x == 1.0)
}

pub(crate) const BY_LOG_ODDS: Linked =
    Linked { place: 0, link: Link::LogOdds, score: Score::Scalar(score_by_odds) };

/// The log of p for a success and of 1 - p for a failure.
pub(crate) fn recipe(arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
    Recipe::write(arguments, link, |law| {
        let x = law.outcome();
        let sign = 2.0 * x - 1.0;
        Some(match law.argument_or(0, 0.5).chance()? {
            write::Chance::LogOdds(log_odds) => (sign * log_odds).curve(Curve::LogLogistic),
            write::Chance::Plain(p) => {
                let chance = x.either(p.log(), (-p).curve(Curve::Log1p));
                chance + p.wall() + (1.0 - p).wall()
            }
        })
    })
}

impl Distribution for Bernoulli {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let heads = success(args)?.draw(rng);
        Ok(Value::Number(if heads { 1.0 } else { 0.0 }))
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let p = success(args)?;
        let x = outcome::number(x);
        Ok(if x == 1.0 || x == 0.0 { p.log_of(x == 1.0) } else { f64::NEG_INFINITY })
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

    fn scalar(&self) -> Option<Scalar> {
        #[inline]
        fn success(args: &[f64]) -> Option<f64> {
            let p = args.first().copied().unwrap_or(0.5);
            arguments::is_probability(p).then_some(p)
        }
        Some(Scalar {
            sample: |args, rng| {
                let p = success(args)?;
                Some(if rng.uniform() < p { 1.0 } else { 0.0 })
            },
            log_density: |x, args| {
                let p = success(args)?;
                let possible = x == 1.0 || x == 0.0;
                let log_p = || Chance::Plain(p).log_of(x == 1.0);
                Some(if possible { log_p() } else { f64::NEG_INFINITY })
            },
        })
    }

    fn family(&self) -> Family {
        Family::Coin
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        success(args)?;
        Ok(Support::Integers { low: 0.0, high: 1.0 })
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_coin(x)
    }

    fn most_values(&self, _: Args<'_>) -> Option<usize> {
        Some(2)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let [success, failure] = success(args)?.possible();
        let possible = [(0.0, failure), (1.0, success)];
        Ok(Some(possible.iter().filter(|(_, can)| *can).map(|(x, _)| Value::Number(*x)).collect()))
    }
}
