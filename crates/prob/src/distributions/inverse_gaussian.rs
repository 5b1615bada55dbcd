//! f(x) = sqrt(lambda / (2 pi x^3)) exp(-lambda (x - mu)^2 / (2 mu^2 x)), for x > 0: when a
//! Brownian motion with drift first comes to a level. Mean mu, variance mu^3 / lambda.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{HALF_LN_2PI, ln, sqrt};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct InverseGaussian;

static SPEC: Spec = Spec {
    name: "inverse_gaussian",
    aliases: &["wald"],
    parameters: "mu lambda",
    arity: Arity::exactly(2),
    summary: "A positive number with mean mu and variance mu^3 / lambda: when a Brownian motion first comes to a level",
    example: "(inverse_gaussian 1 3)",
};

fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "a positive mean")?,
        arguments::positive(args, 1, "a positive shape lambda")?,
    ))
}

fn log_density(x: f64, mu: f64, lambda: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let away = (x - mu) / mu;
    let square =
        if away.abs() > 1e100 { away * (away * (lambda / x)) } else { away * away * (lambda / x) };
    0.5 * ln(lambda) - 1.5 * ln(x) - HALF_LN_2PI - 0.5 * square
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (mu, lambda) = (args[0], args[1]);
    if !(arguments::is_positive(mu) && arguments::is_positive(lambda)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        let away = (x - mu) / mu;
        [
            (-1.5 - 0.5 * lambda * away * (1.0 / mu + 1.0 / x)) / x,
            lambda * away / mu / mu,
            0.5 / lambda - 0.5 * away * away / x,
        ]
    });
    log_density(x, mu, lambda)
}

impl Distribution for InverseGaussian {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// Michael, Schucany and Haas (1976): lambda (x - mu)^2 / (mu^2 x) is the square of a normal
    /// number; of the two roots, the smaller with probability mu / (mu + x). Neither is found by a
    /// difference.
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mu, lambda) = parameters(args)?;
        let z: f64 = StandardNormal.sample(rng);
        let w = 0.5 * z * z * mu / lambda;
        let factor = 1.0 + w + sqrt(w) * sqrt(2.0 + w);
        let is_smaller = rng.uniform() * (1.0 + 1.0 / factor) < 1.0;
        let x = if is_smaller { mu / factor } else { mu * factor };
        Ok(Value::Number(outcome::positive(x)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (mu, lambda) = parameters(args)?;
        Ok(log_density(outcome::number(x), mu, lambda))
    }

    /// (log lambda - 3 log x - log(2 pi) - lambda (x - mu)^2 mu^-2 x^-1) / 2
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (x, mu, lambda) = (law.outcome(), law.argument(0), law.argument(1));
            let square = lambda * ((x - mu).square() * mu.power(-2.0) * x.power(-1.0));
            let constant = 0.5 * lambda.log() - 1.5 * x.log() - HALF_LN_2PI;
            Some(constant - 0.5 * square + mu.wall())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
