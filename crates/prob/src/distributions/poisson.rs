//! P(k) = rate^k e^-rate / k!; at rate 0 all mass is at 0.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{HALF_LN_2PI, exp, ln, ln_gamma};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use super::saddle_point::{deviance, stirling_error};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct Poisson;

static SPEC: Spec = Spec {
    name: "poisson",
    aliases: &[],
    parameters: "rate",
    arity: Arity::exactly(1),
    summary: "The number of events in a unit of time when they come at this rate",
    example: "(poisson 4)",
};

pub(crate) fn rate(args: Args<'_>) -> Result<f64, ArgumentError> {
    arguments::number_where(args, 0, "a rate of 0 or a positive one", is_rate)
}

fn is_rate(rate: f64) -> bool {
    rate >= 0.0 && rate.is_finite()
}

pub(crate) fn draw(rate: f64, rng: &mut Rng) -> f64 {
    if rate > 1e17 {
        // Doubles this large are further apart than the normal law is from the exact one.
        let z: f64 = StandardNormal.sample(rng);
        return outcome::finite((rate + rate.sqrt() * z).round());
    }
    if rate == 0.0 {
        return 0.0;
    }
    rand_distr::Poisson::new(rate).expect("a positive rate").sample(rng)
}

pub(crate) fn log_mass(k: f64, rate: f64) -> f64 {
    if !outcome::is_count(k) {
        f64::NEG_INFINITY
    } else if k == 0.0 {
        -rate
    } else if k < 16.0 {
        k * ln(rate) - rate - ln_gamma(k + 1.0)
    } else {
        -HALF_LN_2PI - 0.5 * ln(k) - stirling_error(k) - deviance(k, rate, 0.0)
    }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let rate = args[0];
    if !is_rate(rate) {
        return f64::NEG_INFINITY;
    }
    // No 0/0 at rate 0.
    let relative = if x == 0.0 { 0.0 } else { x / rate };
    wanted(slope, || [0.0, relative - 1.0]);
    log_mass(x, rate)
}

/// The same with the logarithm of the rate in its place.
pub(crate) fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let log_rate = args[0];
    if log_rate.is_nan() || log_rate == f64::INFINITY || !outcome::is_count(x) {
        return f64::NEG_INFINITY;
    }
    let rate = exp(log_rate);
    wanted(slope, || [0.0, x - rate]);
    if x >= 16.0 && rate.is_normal() {
        // The terms below would cancel.
        log_mass(x, rate)
    } else if x == 0.0 {
        -rate
    } else {
        x * log_rate - rate - ln_gamma(x + 1.0)
    }
}

impl Distribution for Poisson {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        // A rate below all doubles draws 0; one beyond them draws no double.
        Ok(Value::Number(draw(rate(args)?, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let x = outcome::number(x);
        if let Value::Linked(Link::Log, log_rate) = args[0] {
            return Ok(score_by_log(x, &[*log_rate], &mut []));
        }
        Ok(log_mass(x, rate(args)?))
    }

    /// k log rate - rate - log k!
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (k, rate) = (law.outcome(), law.argument(0).positive()?);
            Some(k * rate.log() - rate.power(1.0) - k.log_factorial())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 0, link: Link::Log, score: Score::Scalar(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        if !matches!(args[0], Value::Linked(Link::Log, _)) {
            rate(args)?;
        }
        Ok(Support::COUNTS)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
