//! P(k) = Gamma(k + r) / (k! Gamma(r)) p^r (1 - p)^k, the number of failures before the r-th
//! success, for real r > 0; mean r (1 - p) / p.

use smidgen_value::math::{digamma_difference, exp, ln, log_logistic, xovery};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::geometric::{is_positive_probability, positive_probability};
use super::saddle_point::log_binomial;
use super::{gamma, outcome, poisson};
use crate::arguments;
use crate::chance::{Chance, log_binomial_by_odds, slope_by_odds};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct NegativeBinomial;

static SPEC: Spec = Spec {
    name: "negative_binomial",
    aliases: &[],
    parameters: "r p",
    arity: Arity::exactly(2),
    summary: "The number of failures before the r-th success, each trial succeeding with probability p",
    example: "(negative_binomial 3 0.5)",
};

fn parameters(args: Args<'_>) -> Result<(f64, Chance), ArgumentError> {
    let r = arguments::positive(args, 0, "a positive number of successes")?;
    Ok((r, positive_probability(args, 1)?))
}

fn log_mass(k: f64, r: f64, p: f64) -> f64 {
    if !outcome::is_count(k) {
        f64::NEG_INFINITY
    } else if k == 0.0 {
        r * ln(p)
    } else {
        log_binomial(r, k, p) + ln(r / (r + k))
    }
}

fn log_mass_by_odds(k: f64, r: f64, log_odds: f64) -> f64 {
    if !outcome::is_count(k) {
        return f64::NEG_INFINITY;
    }
    log_binomial_by_odds(r, k, log_odds) + ln(r / (r + k))
}

fn score_by_odds(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (r, log_odds) = (args[0], args[1]);
    if !arguments::is_positive(r) {
        return f64::NEG_INFINITY;
    }
    let log_mass = log_mass_by_odds(x, r, log_odds);
    if log_mass > f64::NEG_INFINITY {
        wanted(slope, || {
            let by_r = digamma_difference(r, x) + log_logistic(log_odds);
            [0.0, by_r, slope_by_odds(r, x, log_odds)]
        });
    }
    log_mass
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (r, p) = (args[0], args[1]);
    if !(arguments::is_positive(r) && is_positive_probability(p)) {
        return f64::NEG_INFINITY;
    }
    let log_mass = log_mass(x, r, p);
    if log_mass > f64::NEG_INFINITY {
        wanted(slope, || {
            let by_r = digamma_difference(r, x) + ln(p);
            [0.0, by_r, r / p - xovery(x, 1.0 - p)]
        });
    }
    log_mass
}

impl Distribution for NegativeBinomial {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// A Poisson draw with a gamma-distributed rate.
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (r, p) = parameters(args)?;
        let rate = match p {
            Chance::Plain(1.0) => return Ok(Value::Number(0.0)),
            Chance::Plain(p) => gamma::draw(r, p / (1.0 - p), rng),
            Chance::LogOdds(log_odds) => outcome::positive(exp(gamma::draw_log(r, rng) - log_odds)),
        };
        Ok(Value::Number(poisson::draw(rate, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (r, p) = parameters(args)?;
        let k = outcome::number(x);
        Ok(match p {
            Chance::Plain(p) => log_mass(k, r, p),
            Chance::LogOdds(log_odds) => log_mass_by_odds(k, r, log_odds),
        })
    }

    /// log Gamma(k + r) - log Gamma(r) - log k! + r log p + k log(1 - p)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (k, r, p) = (law.outcome(), law.argument(0), law.argument(1).chance()?);
            let ways = r.log_rising(k) - k.log_factorial();
            Some(match law.known(0) {
                Some(_) => ways + p.log_of_trials(r, k),
                // r times the log odds would grow with r where r log p does not.
                None => {
                    let [log_success, log_failure] = p.logs();
                    ways + r * log_success + k * log_failure
                }
            })
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 1, link: Link::LogOdds, score: Score::Scalar(score_by_odds) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::COUNTS)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let (_, p) = parameters(args)?;
        Ok((!p.possible()[1]).then(|| vec![Value::Number(0.0)]))
    }
}
