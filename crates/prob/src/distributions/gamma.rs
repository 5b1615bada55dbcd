//! f(x) = rate^shape x^(shape - 1) e^(-rate x) / Gamma(shape) for x > 0.

use rand_distr::Distribution as _;
use smidgen_value::math::{digamma, exp, ln, xovery};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use super::saddle_point::log_gamma_kernel;
use crate::arguments;
use crate::positive::{Positive, times_exp};
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::recipe::write::{self, Term};
use crate::support::Support;

pub struct Gamma;

static SPEC: Spec = Spec {
    name: "gamma",
    aliases: &[],
    parameters: "shape rate",
    arity: Arity::exactly(2),
    summary: "A positive number with mean shape / rate",
    example: "(gamma 2 1)",
};

#[inline]
fn parameters(args: Args<'_>) -> Result<(f64, Positive), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "a positive shape")?,
        Positive::read(args, 1, "a positive rate")?,
    ))
}

#[inline]
pub(crate) fn draw(shape: f64, rate: f64, rng: &mut Rng) -> f64 {
    outcome::positive(if shape < 1.0 {
        exp(draw_log(shape, rng) - ln(rate))
    } else {
        draw_large(shape, rng) / rate
    })
}

/// The logarithm of a draw with rate 1, which for a small shape may be far below that of the
/// smallest double.
#[inline]
pub(crate) fn draw_log(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        ln(draw_large(shape + 1.0, rng)) + rng.log_uniform() / shape
    } else {
        ln(draw_large(shape, rng))
    }
}

#[inline]
fn draw_large(shape: f64, rng: &mut Rng) -> f64 {
    rand_distr::Gamma::new(shape, 1.0).expect("a positive shape").sample(rng)
}

#[inline]
pub(crate) fn log_density(x: f64, shape: f64, rate: f64) -> f64 {
    if !(x >= 0.0 && x.is_finite()) {
        return f64::NEG_INFINITY;
    }
    if x == 0.0 {
        // The limit from the right.
        return match shape {
            1.0 => ln(rate),
            _ if shape < 1.0 => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        };
    }
    let t = rate * x;
    let log_t = if t.is_normal() { ln(t) } else { ln(rate) + ln(x) };
    log_gamma_kernel(shape - 1.0, shape, t, log_t) + ln(rate)
}

#[inline]
pub(crate) fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (shape, rate) = (args[0], args[1]);
    if !(arguments::is_positive(shape) && arguments::is_positive(rate)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        [xovery(shape - 1.0, x) - rate, ln(rate) + ln(x) - digamma(shape), shape / rate - x]
    });
    log_density(x, shape, rate)
}

/// The same with the logarithm of the rate in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (shape, log_rate) = (args[0], args[1]);
    if !(x >= 0.0 && x.is_finite() && arguments::is_positive(shape) && log_rate.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let (t, log_t) = (times_exp(x, log_rate), ln(x) + log_rate);
    wanted(slope, || [xovery(shape - 1.0, x) - exp(log_rate), log_t - digamma(shape), shape - t]);
    if x == 0.0 {
        // The limit from the right.
        return match shape {
            1.0 => log_rate,
            _ if shape < 1.0 => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        };
    }
    log_gamma_kernel(shape - 1.0, shape, t, log_t) + log_rate
}

/// shape log(rate x) - log x - rate x - log Gamma(shape)
pub(crate) fn formula<'w>(x: Term<'w>, shape: Term<'w>, rate: write::Positive<'w>) -> Term<'w> {
    let log_x = x.log();
    shape * (log_x + rate.log()) - log_x - x * rate.power(1.0) - shape.log_gamma()
}

impl Distribution for Gamma {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        // Draws by a rate that is no double would be none either.
        let (shape, _) = parameters(args)?;
        let rate = arguments::positive(args, 1, "a positive rate")?;
        Ok(Value::Number(draw(shape, rate, rng)))
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (shape, rate) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match rate {
            Positive::Plain(rate) => log_density(x, shape, rate),
            Positive::Log(log_rate) => score_by_log(x, &[shape, log_rate], &mut []),
        })
    }

    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            Some(formula(law.outcome(), law.argument(0), law.argument(1).positive()?))
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
