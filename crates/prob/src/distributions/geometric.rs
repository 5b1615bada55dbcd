//! P(k) = p (1 - p)^k, the number of failures before the first success.

use rand_distr::{Distribution as _, Exp1};
use smidgen_value::math::xovery;
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::chance::{Chance, slope_by_odds, times};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct Geometric;

static SPEC: Spec = Spec {
    name: "geometric",
    aliases: &[],
    parameters: "p",
    arity: Arity::exactly(1),
    summary: "The number of failures before the first success, each trial succeeding with probability p",
    example: "(geometric 0.3)",
};

/// A probability of success without which no success would ever come.
pub(crate) fn positive_probability(args: Args<'_>, i: usize) -> Result<Chance, ArgumentError> {
    if let Value::Linked(Link::LogOdds, _) = args[i] {
        return Chance::read(args, i);
    }
    let expected = "a positive probability (above 0, at most 1)";
    arguments::number_where(args, i, expected, is_positive_probability).map(Chance::Plain)
}

pub(crate) fn is_positive_probability(p: f64) -> bool {
    p > 0.0 && p <= 1.0
}

fn log_mass(k: f64, p: Chance) -> f64 {
    if outcome::is_count(k) { times(k, p.ln_complement()) + p.ln() } else { f64::NEG_INFINITY }
}

fn score_by_odds(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    wanted(slope, || [0.0, slope_by_odds(1.0, x, args[0])]);
    log_mass(x, Chance::LogOdds(args[0]))
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let p = args[0];
    if !(is_positive_probability(p)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || [0.0, 1.0 / p - xovery(x, 1.0 - p)]);
    log_mass(x, Chance::Plain(p))
}

impl Distribution for Geometric {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let p = positive_probability(args, 0)?;
        let waiting: f64 = Exp1.sample(rng);
        Ok(Value::Number(outcome::finite((waiting / -p.ln_complement()).floor())))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let p = positive_probability(args, 0)?;
        let k = outcome::number(x);
        Ok(log_mass(k, p))
    }

    /// log p + k log(1 - p)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            Some(law.argument(0).chance()?.log_of_trials(law.number(1.0), law.outcome()))
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 0, link: Link::LogOdds, score: Score::Scalar(score_by_odds) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        positive_probability(args, 0)?;
        Ok(Support::COUNTS)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let p = positive_probability(args, 0)?;
        Ok((!p.possible()[1]).then(|| vec![Value::Number(0.0)]))
    }
}
