//! x_t - mean = sum over k of c_k (x_(t-k) - mean) + sd e_t with normal noise e: an autoregression of as
//! many lags as there are coefficients. Everything before the first number is at the mean.

use std::borrow::Cow;

use smidgen_value::{ArgumentError, Rng, Value};

use super::autoregressive::{Law, Slopes, is_length, length};
use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct Ar;

static SPEC: Spec = Spec {
    name: "ar",
    aliases: &[],
    parameters: "n coefficients sd [mean]",
    arity: Arity::between(3, 4),
    summary: "A vector of n numbers, each made of those before by the coefficients (of the last first) plus normal noise of this sd; all around mean (0 if not given), where what comes before the first number is",
    example: "(ar 5 (vector 0.5 0.2) 1)",
};

struct Parameters<'a> {
    len: usize,
    coefficients: Cow<'a, [f64]>,
    sd: f64,
    level: f64,
}

impl<'a> Parameters<'a> {
    fn read(args: Args<'a>) -> Result<Parameters<'a>, ArgumentError> {
        let len = length(args, 0)?;
        let coefficients = arguments::reals(args, 1)?;
        if !coefficients.iter().all(|c| c.is_finite()) {
            return Err(ArgumentError::domain(1, "a vector of finite numbers", args[1]));
        }
        let sd = arguments::positive(args, 2, "a positive standard deviation")?;
        let level = if args.len() > 3 { arguments::finite(args, 3, "a finite mean")? } else { 0.0 };
        Ok(Parameters { len, coefficients, sd, level })
    }

    fn law(&self) -> Law<'_> {
        let Parameters { len, sd, level, .. } = *self;
        Law { len, coefficients: &self.coefficients, sd, level }
    }
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let level = args.get(3).map_or(0.0, |mean| mean[0]);
    let law = Law { len: args[0][0] as usize, coefficients: args[1], sd: args[2][0], level };
    if !(is_length(args[0][0]) && law.is_valid()) {
        return f64::NEG_INFINITY;
    }
    let log_density = law.log_density(x);
    if log_density > f64::NEG_INFINITY
        && let [_, coefficients, sd, rest @ ..] = slopes
    {
        let level: &mut [f64] = rest.first_mut().map_or(&mut [], |slope| slope);
        law.add_slopes(x, x_slope, Slopes { coefficients, sd, level });
    }
    log_density
}

impl Distribution for Ar {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::vector(Parameters::read(args)?.law().draw(rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let parameters = Parameters::read(args)?;
        Ok(outcome::reals(x).map_or(f64::NEG_INFINITY, |x| parameters.law().log_density(x)))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::Vectors { len: Parameters::read(args)?.len })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }
}
