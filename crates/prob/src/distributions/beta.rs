//! f(x) = x^(a - 1) (1 - x)^(b - 1) / B(a, b) between 0 and 1.

use smidgen_value::math::{
    digamma_difference, ln, ln_1p, ln_beta, logistic, xlog1py, xlogy, xovery,
};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::gamma;
use super::outcome;
use super::saddle_point::log_binomial;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::Curve;
use crate::support::Support;

pub struct Beta;

static SPEC: Spec = Spec {
    name: "beta",
    aliases: &[],
    parameters: "a b",
    arity: Arity::exactly(2),
    summary: "A number between 0 and 1 with mean a / (a + b)",
    example: "(beta 2 2)",
};

#[inline]
fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "a positive first shape")?,
        arguments::positive(args, 1, "a positive second shape")?,
    ))
}

#[inline]
pub(crate) fn draw(a: f64, b: f64, rng: &mut Rng) -> f64 {
    let x = if a < 1.0 || b < 1.0 {
        // Gamma draws of small shape leave the range of doubles, their logarithms do not, but of the smallest shapes. Then
        // all that is left of the law are its ends.
        let (first, second) = (gamma::draw_log(a, rng), gamma::draw_log(b, rng));
        match first == f64::NEG_INFINITY && second == f64::NEG_INFINITY {
            true => f64::from(u8::from(rng.uniform() * (a + b) < a)),
            false => logistic(first - second),
        }
    } else {
        let (first, second) = (gamma::draw(a, 1.0, rng), gamma::draw(b, 1.0, rng));
        1.0 / (1.0 + second / first)
    };
    outcome::inside_unit(x)
}

#[inline]
pub(crate) fn log_density(x: f64, a: f64, b: f64) -> f64 {
    if !(0.0..=1.0).contains(&x) {
        f64::NEG_INFINITY
    } else if a.min(b) < 10.0 || x == 0.0 || x == 1.0 {
        xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - ln_beta(a, b)
    } else {
        log_binomial(a - 1.0, b - 1.0, x) + ln((a - 1.0) + b)
    }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (a, b) = (args[0], args[1]);
    if !(arguments::is_positive(a) && arguments::is_positive(b)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        [
            xovery(a - 1.0, x) - xovery(b - 1.0, 1.0 - x),
            ln(x) + digamma_difference(a, b),
            ln_1p(-x) + digamma_difference(b, a),
        ]
    });
    log_density(x, a, b)
}

impl Distribution for Beta {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (a, b) = parameters(args)?;
        Ok(Value::Number(draw(a, b, rng)))
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (a, b) = parameters(args)?;
        let x = outcome::number(x);
        Ok(log_density(x, a, b))
    }

    /// (a - 1) log x + (b - 1) log(1 - x) - log B(a, b)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (x, a, b) = (law.outcome(), law.argument(0), law.argument(1));
            let powers = (a - 1.0) * x.log() + (b - 1.0) * (-x).curve(Curve::Log1p);
            Some(powers + (a + b).log_gamma() - a.log_gamma() - b.log_gamma())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::UNIT_INTERVAL)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
