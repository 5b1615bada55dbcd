//! P(k) = Gamma(k + phi) / (k! Gamma(phi)) (phi / (mu + phi))^phi (mu / (mu + phi))^k: the
//! negative binomial law by its mean mu and its size phi; variance mu + mu^2 / phi.

use smidgen_value::math::{digamma_difference, exp, ln, ln_1p, log_logistic};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::saddle_point::log_binomial;
use super::{gamma, outcome, poisson};
use crate::arguments;
use crate::chance::{log_binomial_by_odds, slope_by_odds};
use crate::positive::Positive;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::{Recipe, write};
use crate::support::Support;

pub struct NegativeBinomialMean;

static SPEC: Spec = Spec {
    name: "negative_binomial_mean",
    aliases: &[],
    parameters: "mu phi",
    arity: Arity::exactly(2),
    summary: "A count with mean mu and variance mu + mu^2 / phi, negative binomially distributed",
    example: "(negative_binomial_mean 4 2)",
};

fn parameters(args: Args<'_>) -> Result<(Positive, f64), ArgumentError> {
    let mu = Positive::read(args, 0, "a positive mean")?;
    Ok((mu, arguments::positive(args, 1, "a positive size phi")?))
}

fn log_mass(k: f64, mu: f64, phi: f64) -> f64 {
    if !outcome::is_count(k) {
        return f64::NEG_INFINITY;
    }
    let total = mu + phi;
    // Of the two probabilities the smaller one, which has all its digits.
    let least = mu.min(phi) / total;
    if k == 0.0 || !least.is_normal() {
        return log_mass_by_log(k, ln(mu), phi);
    }
    let trials = if phi < mu { log_binomial(phi, k, least) } else { log_binomial(k, phi, least) };
    trials + ln(phi / (phi + k))
}

/// The same with the logarithm of the mean.
fn log_mass_by_log(k: f64, log_mu: f64, phi: f64) -> f64 {
    if !outcome::is_count(k) {
        f64::NEG_INFINITY
    } else if k == 0.0 {
        phi * log_logistic(ln(phi) - log_mu)
    } else {
        log_binomial_by_odds(phi, k, ln(phi) - log_mu) + ln(phi / (phi + k))
    }
}

/// The derivative with respect to phi: psi(k + phi) - psi(phi) - log(1 + ratio) + (mu - k) / (mu + phi), with
/// ratio = mu / phi.
fn by_phi(k: f64, phi: f64, ratio: f64, log_1p_ratio: f64) -> f64 {
    let pull = if ratio < 1.0 {
        (ratio - k / phi) / (1.0 + ratio)
    } else {
        (1.0 - k / phi / ratio) / (1.0 + 1.0 / ratio)
    };
    digamma_difference(phi, k) - log_1p_ratio + pull
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (mu, phi) = (args[0], args[1]);
    if !(arguments::is_positive(mu) && arguments::is_positive(phi)) {
        return f64::NEG_INFINITY;
    }
    let log_mass = log_mass(x, mu, phi);
    if log_mass > f64::NEG_INFINITY {
        wanted(slope, || {
            let by_mu = (x / mu - 1.0) / (1.0 + mu / phi);
            [0.0, by_mu, by_phi(x, phi, mu / phi, ln_1p(mu / phi))]
        });
    }
    log_mass
}

/// The same with the logarithm of the mean in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (log_mu, phi) = (args[0], args[1]);
    if !(log_mu.is_finite() && arguments::is_positive(phi)) {
        return f64::NEG_INFINITY;
    }
    let log_mass = log_mass_by_log(x, log_mu, phi);
    if log_mass > f64::NEG_INFINITY {
        wanted(slope, || {
            let log_ratio = log_mu - ln(phi);
            let ratio = exp(log_ratio);
            let by_log = slope_by_odds(x, phi, log_ratio);
            [0.0, by_log, by_phi(x, phi, ratio, -log_logistic(-log_ratio))]
        });
    }
    log_mass
}

impl Distribution for NegativeBinomialMean {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// A Poisson draw with a gamma-distributed rate.
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mu, phi) = parameters(args)?;
        let share = exp(gamma::draw_log(phi, rng) - ln(phi));
        let rate = mu.times(share);
        Ok(Value::Number(poisson::draw(outcome::positive(rate), rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (mu, phi) = parameters(args)?;
        let k = outcome::number(x);
        Ok(match mu {
            Positive::Plain(mu) => log_mass(k, mu, phi),
            Positive::Log(log_mu) => score_by_log(k, &[log_mu, phi], &mut []),
        })
    }

    /// log Gamma(k + phi) - log k! - log Gamma(phi) + phi log p + k log(1 - p), with log odds log phi - log mu of p
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (k, mu, phi) = (law.outcome(), law.argument(0).positive()?, law.argument(1));
            let ways = (k + phi).log_gamma() - k.log_factorial() - phi.log_gamma();
            let p = write::Chance::LogOdds(phi.log() - mu.log());
            Some(ways + p.log_of_trials(phi, k))
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 0, link: Link::Log, score: Score::Scalar(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::COUNTS)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
