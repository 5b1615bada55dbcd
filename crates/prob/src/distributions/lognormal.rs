//! f(x) = exp(-z^2 / 2) / (x sigma sqrt(2 pi)) with z = (log x - mu) / sigma, for x > 0.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{exp, ln};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::normal;
use super::outcome;
use crate::arguments;
use crate::cumulative::Side;
use crate::positive::Positive;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct Lognormal;

static SPEC: Spec = Spec {
    name: "lognormal",
    aliases: &[],
    parameters: "mu sigma",
    arity: Arity::exactly(2),
    summary: "A positive number whose logarithm is normal with mean mu and standard deviation sigma",
    example: "(lognormal 0 1)",
};

fn parameters(args: Args<'_>) -> Result<(f64, Positive), ArgumentError> {
    Ok((
        arguments::finite(args, 0, "a finite mean of the logarithm")?,
        Positive::read(args, 1, "a positive standard deviation of the logarithm")?,
    ))
}

fn log_density(x: f64, mu: f64, sigma: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let log_x = ln(x);
    normal::log_density(log_x, mu, sigma) - log_x
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (mu, sigma) = (args[0], args[1]);
    if !(mu.is_finite() && arguments::is_positive(sigma)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        let z = (ln(x) - mu) / sigma;
        [-(1.0 + z / sigma) / x, z / sigma, (z * z - 1.0) / sigma]
    });
    log_density(x, mu, sigma)
}

/// The same with log sigma in place of sigma.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let log_x = ln(x);
    let log_density = normal::score_by_log(log_x, args, slope) - log_x;
    if let [by_x, ..] = slope {
        *by_x = (*by_x - 1.0) / x;
    }
    log_density
}

impl Distribution for Lognormal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mu, sigma) = parameters(args)?;
        let z: f64 = StandardNormal.sample(rng);
        Ok(Value::Number(outcome::positive(exp(mu + sigma.times(z)))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (mu, sigma) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match sigma {
            Positive::Plain(sigma) => log_density(x, mu, sigma),
            Positive::Log(log_sigma) => score_by_log(x, &[mu, log_sigma], &mut []),
        })
    }

    /// That of the normal law at log x, less log x.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let log_x = law.outcome().log();
            Some(normal::formula(log_x, law.argument(0), law.argument(1).positive()?) - log_x)
        })
    }

    /// That of the normal law at log x.
    fn tail_recipe(&self, side: Side, arguments: &[Option<f64>]) -> Option<Recipe> {
        Recipe::write(arguments, None, |law| {
            let sd = law.argument(1);
            let z = (law.outcome().log() - law.argument(0)) * sd.power(-1.0);
            Some((side.sign() * z).curve(Curve::LogNormalCdf) + sd.wall())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 1, link: Link::Log, score: Score::Scalar(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
