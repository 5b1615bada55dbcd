//! P(k) = C(n, k) p^k (1 - p)^(n - k), the number of successes in n trials.

use rand_distr::Distribution as _;
use smidgen_value::math::{exp, ln_1p, logistic, xlog1py, xlogy, xovery};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::saddle_point::log_binomial;
use super::{outcome, poisson};
use crate::arguments;
use crate::chance::{Chance, log_binomial_by_odds, slope_by_odds};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct Binomial;

static SPEC: Spec = Spec {
    name: "binomial",
    aliases: &[],
    parameters: "n p",
    arity: Arity::exactly(2),
    summary: "The number of successes in n trials that succeed with probability p",
    example: "(binomial 10 0.3)",
};

/// More values than this are not enumerated.
pub(crate) const MOST_ENUMERATED: f64 = 10_000.0;

fn parameters(args: Args<'_>) -> Result<(f64, Chance), ArgumentError> {
    let n = arguments::count(args, 0, "a number of trials (a whole number from 0 on)")?;
    Ok((n as f64, Chance::read(args, 1)?))
}

/// A number of successes in n trials.
pub(crate) fn draw(n: f64, p: f64, rng: &mut Rng) -> f64 {
    if p > 0.5 {
        return n - draw(n, 1.0 - p, rng);
    }
    let mean = n * p;
    if mean >= 10.0 {
        let law = rand_distr::Binomial::new(n as u64, p).expect("p is a probability");
        return law.sample(rng) as f64;
    }
    if mean == 0.0 {
        return 0.0;
    }
    if p < 1e-12 {
        // The Poisson law of the same mean differs by less than p in total variation.
        return poisson::draw(mean, rng).min(n);
    }
    // Inversion from 0 upwards. Nobody waits for more than 110 successes where 10 are expected;
    // a search that goes there has lost its last digits and begins anew.
    let odds = p / (1.0 - p);
    let p_none = exp(n * ln_1p(-p));
    'search: loop {
        let mut rest = rng.uniform();
        let mut p_next = p_none;
        let mut k = 0.0;
        while rest >= p_next {
            rest -= p_next;
            k += 1.0;
            if k > n.min(110.0) {
                continue 'search;
            }
            p_next *= odds * (n - k + 1.0) / k;
        }
        return k;
    }
}

pub(crate) fn log_mass(k: f64, n: f64, p: f64) -> f64 {
    if !outcome::is_count(k) || k > n {
        f64::NEG_INFINITY
    } else if k == 0.0 {
        xlog1py(n, -p)
    } else if k == n {
        xlogy(n, p)
    } else {
        log_binomial(k, n - k, p)
    }
}

fn log_mass_by_odds(k: f64, n: f64, log_odds: f64) -> f64 {
    if !outcome::is_count(k) || k > n {
        return f64::NEG_INFINITY;
    }
    log_binomial_by_odds(k, n - k, log_odds)
}

fn score_by_odds(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (n, log_odds) = (args[0], args[1]);
    if !arguments::is_count(n) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || [0.0, 0.0, slope_by_odds(x, n - x, log_odds)]);
    log_mass_by_odds(x, n, log_odds)
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (n, p) = (args[0], args[1]);
    if !(arguments::is_count(n) && arguments::is_probability(p)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || [0.0, 0.0, xovery(x, p) - xovery(n - x, 1.0 - p)]);
    log_mass(x, n, p)
}

impl Distribution for Binomial {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (n, p) = parameters(args)?;
        Ok(Value::Number(match p {
            Chance::Plain(p) => draw(n, p, rng),
            Chance::LogOdds(log_odds) if log_odds > 0.0 => n - draw(n, logistic(-log_odds), rng),
            Chance::LogOdds(log_odds) => draw(n, logistic(log_odds), rng),
        }))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (n, p) = parameters(args)?;
        let k = outcome::number(x);
        Ok(match p {
            Chance::Plain(p) => log_mass(k, n, p),
            Chance::LogOdds(log_odds) => log_mass_by_odds(k, n, log_odds),
        })
    }

    /// log C(n, k) + k log p + (n - k) log(1 - p)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (k, n, p) = (law.outcome(), law.argument(0), law.argument(1).chance()?);
            let choices = n.log_factorial() - k.log_factorial() - (n - k).log_factorial();
            Some(choices + p.log_of_trials(k, n - k))
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 1, link: Link::LogOdds, score: Score::Scalar(score_by_odds) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (n, _) = parameters(args)?;
        Ok(Support::Integers { low: 0.0, high: n })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let (n, p) = parameters(args)?;
        if let Chance::Plain(p @ (0.0 | 1.0)) = p {
            return Ok(Some(vec![Value::Number(n * p)]));
        }
        Ok(counts_to(n))
    }
}

/// The counts from 0 to n, unless they are too many to list.
pub(crate) fn counts_to(n: f64) -> Option<Vec<Value>> {
    (n <= MOST_ENUMERATED).then(|| (0..=n as usize).map(|k| Value::Number(k as f64)).collect())
}
