//! x_t = x_(t-1) + sd e_t with normal noise e, from a start that comes before the first number.

use smidgen_value::{ArgumentError, Rng, Value};

use super::autoregressive::{Law, Slopes, is_length, length};
use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct RandomWalk;

static SPEC: Spec = Spec {
    name: "random_walk",
    aliases: &[],
    parameters: "n sd [start]",
    arity: Arity::between(2, 3),
    summary: "A vector of n numbers, each the one before plus a normal step of this sd; the first is a step from start (0 if not given)",
    example: "(random_walk 5 0.3)",
};

fn parameters(args: Args<'_>) -> Result<Law<'static>, ArgumentError> {
    let len = length(args, 0)?;
    let sd = arguments::positive(args, 1, "a positive standard deviation")?;
    let level = if args.len() > 2 { arguments::finite(args, 2, "a finite start")? } else { 0.0 };
    Ok(Law { len, coefficients: &[1.0], sd, level })
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let level = args.get(2).map_or(0.0, |start| start[0]);
    let law = Law { len: args[0][0] as usize, coefficients: &[1.0], sd: args[1][0], level };
    if !(is_length(args[0][0]) && law.is_valid()) {
        return f64::NEG_INFINITY;
    }
    let log_density = law.log_density(x);
    if log_density > f64::NEG_INFINITY {
        let (sd, rest) = slopes[1..].split_first_mut().expect("an sd");
        let level: &mut [f64] = rest.first_mut().map_or(&mut [], |slope| slope);
        law.add_slopes(x, x_slope, Slopes { coefficients: &mut [], sd, level });
    }
    log_density
}

impl Distribution for RandomWalk {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::vector(parameters(args)?.draw(rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let law = parameters(args)?;
        Ok(outcome::reals(x).map_or(f64::NEG_INFINITY, |x| law.log_density(x)))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::Vectors { len: parameters(args)?.len })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }
}
