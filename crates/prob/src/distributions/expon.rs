//! f(x) = rate e^(-rate x) for x >= 0.

use rand_distr::{Distribution as _, Exp1};
use smidgen_value::math::{exp, ln};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::cumulative::Side;
use crate::positive::{Positive, times_exp};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct Expon;

static SPEC: Spec = Spec {
    name: "expon",
    aliases: &["exponential"],
    parameters: "rate",
    arity: Arity::exactly(1),
    summary: "A waiting time when events come at this rate",
    example: "(expon 1)",
};

fn parameters(args: Args<'_>) -> Result<Positive, ArgumentError> {
    Positive::read(args, 0, "a positive rate")
}

fn log_density(x: f64, rate: f64) -> f64 {
    if x >= 0.0 && x.is_finite() { ln(rate) - rate * x } else { f64::NEG_INFINITY }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let rate = args[0];
    if !(arguments::is_positive(rate)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || [-rate, 1.0 / rate - x]);
    log_density(x, rate)
}

/// The same with the logarithm of the rate in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let log_rate = args[0];
    if !(x >= 0.0 && x.is_finite() && log_rate.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let t = times_exp(x, log_rate);
    wanted(slope, || [-exp(log_rate), 1.0 - t]);
    log_rate - t
}

impl Distribution for Expon {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let rate = parameters(args)?;
        let waiting: f64 = Exp1.sample(rng);
        Ok(Value::Number(match rate {
            Positive::Plain(rate) => (waiting / rate).min(f64::MAX),
            Positive::Log(log_rate) => outcome::finite(times_exp(waiting, -log_rate)),
        }))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let rate = parameters(args)?;
        let x = outcome::number(x);
        Ok(match rate {
            Positive::Plain(rate) => log_density(x, rate),
            Positive::Log(log_rate) => score_by_log(x, &[log_rate], &mut []),
        })
    }

    /// log rate - rate x
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let rate = law.argument(0).positive()?;
            Some(rate.log() - law.outcome() * rate.power(1.0))
        })
    }

    /// -rate x above, for x from 0 on.
    fn tail_recipe(&self, side: Side, arguments: &[Option<f64>]) -> Option<Recipe> {
        Recipe::write(arguments, None, |law| {
            let (x, rate) = (law.outcome(), law.argument(0));
            let log_above = -(x * rate) + x.wall() + rate.wall();
            Some(match side {
                Side::Above => log_above,
                Side::Below => log_above.curve(Curve::Log1mExp),
            })
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
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
