//! f(x) = 1 / (hi - lo) between lo and hi.

use smidgen_value::math::{LN_2, ln};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct UniformContinuous;

static SPEC: Spec = Spec {
    name: "uniform_continuous",
    aliases: &["uniform"],
    parameters: "lo hi",
    arity: Arity::exactly(2),
    summary: "A real number between lo and hi, all equally likely",
    example: "(uniform_continuous 0 1)",
};

#[inline]
fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    let low = arguments::finite(args, 0, "a finite lower end")?;
    let high = arguments::finite(args, 1, "a finite upper end")?;
    if low < high {
        Ok((low, high))
    } else {
        Err(ArgumentError::domain(
            1,
            "an upper end above the lower one (the range is empty)",
            args[1],
        ))
    }
}

#[inline]
fn log_length(low: f64, high: f64) -> f64 {
    let length = high - low;
    if length.is_finite() { ln(length) } else { ln(0.5 * high - 0.5 * low) + LN_2 }
}

#[inline]
fn log_density(x: f64, low: f64, high: f64) -> f64 {
    if low <= x && x <= high { -log_length(low, high) } else { f64::NEG_INFINITY }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (low, high) = (args[0], args[1]);
    if !(low.is_finite() && high.is_finite() && low < high) {
        return f64::NEG_INFINITY;
    }
    let density = 1.0 / (high - low);
    wanted(slope, || [0.0, density, -density]);
    log_density(x, low, high)
}

impl Distribution for UniformContinuous {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (low, high) = parameters(args)?;
        let u = rng.uniform();
        // Not low + u (high - low), which overflows for ends of opposite sign.
        let x = low * (1.0 - u) + high * u;
        Ok(Value::Number(x.clamp(low, high)))
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (low, high) = parameters(args)?;
        let x = outcome::number(x);
        Ok(log_density(x, low, high))
    }

    /// -log(hi - lo), as long as both ends stay where they are of x.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (x, low, high) = (law.outcome(), law.argument(0), law.argument(1));
            Some((x - low).wall() + (high - x).wall() - (high - low).log())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (low, high) = parameters(args)?;
        Ok(Support::Interval { low, high })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0, 1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
