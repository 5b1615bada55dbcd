//! f(x) = Gamma((df + 1)/2) / (Gamma(df/2) sqrt(df pi) scale) (1 + z^2 / df)^(-(df + 1)/2) with
//! z = (x - loc) / scale.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{LN_PI, digamma_difference, exp, ln, ln_1p, ln_gamma_ratio};
use smidgen_value::{ArgumentError, Rng, Value};

use super::gamma;
use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct StudentT;

static SPEC: Spec = Spec {
    name: "student_t",
    aliases: &[],
    parameters: "df [loc scale]",
    arity: Arity::between(1, 3),
    summary: "Student's t with df degrees of freedom, moved to loc (0 if not given) and stretched by scale (1 if not given)",
    example: "(student_t 4)",
};

fn parameters(args: Args<'_>) -> Result<(f64, f64, f64), ArgumentError> {
    let df = arguments::positive(args, 0, "positive degrees of freedom")?;
    let loc = if args.len() > 1 { arguments::finite(args, 1, "a finite location")? } else { 0.0 };
    let scale =
        if args.len() > 2 { arguments::positive(args, 2, "a positive scale")? } else { 1.0 };
    Ok((df, loc, scale))
}

/// A draw with location 0 and scale 1.
pub(crate) fn draw(df: f64, rng: &mut Rng) -> f64 {
    let z: f64 = StandardNormal.sample(rng);
    let half_df = 0.5 * df;
    outcome::finite(z * exp(0.5 * (ln(half_df) - gamma::draw_log(half_df, rng))))
}

/// At a distance from the location.
pub(crate) fn log_density(distance: f64, df: f64, scale: f64) -> f64 {
    if !distance.is_finite() {
        return f64::NEG_INFINITY;
    }
    let half_df = 0.5 * df;
    ln_gamma_ratio(half_df, 0.5)
        - 0.5 * (ln(df) + LN_PI)
        - ln(scale)
        - (half_df + 0.5) * log_1p_square(distance, scale, df)
}

/// log(1 + z^2 / df) for z = distance / scale, also when the square overflows.
fn log_1p_square(distance: f64, scale: f64, df: f64) -> f64 {
    let z = distance / scale;
    let square = z * z / df;
    if square < 1e20 { ln_1p(square) } else { 2.0 * (ln(distance.abs()) - ln(scale)) - ln(df) }
}

/// The derivatives of [`log_density`] with respect to the distance, to df and to the scale.
pub(crate) fn slopes(distance: f64, df: f64, scale: f64) -> [f64; 3] {
    let z = distance / scale;
    let square = z * z / df;
    // square / (1 + square), also when the square overflows.
    let share = if square < 1.0 { square / (1.0 + square) } else { 1.0 / (1.0 + 1.0 / square) };
    let pull = if z == 0.0 { 0.0 } else { -(df + 1.0) * share / z };
    // For many degrees of freedom all terms with respect to them cancel in pairs.
    let constant = digamma_difference(0.5 * df, 0.5) - 1.0 / df;
    let kernel = (df + 1.0) / df * share - log_1p_square(distance, scale, df);
    [pull / scale, 0.5 * (constant + kernel), ((df + 1.0) * share - 1.0) / scale]
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let df = args[0];
    let loc = args.get(1).copied().unwrap_or(0.0);
    let scale = args.get(2).copied().unwrap_or(1.0);
    if !(arguments::is_positive(df) && loc.is_finite() && arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    let [by_distance, by_df, by_scale] = slopes(x - loc, df, scale);
    let all = [by_distance, by_df, -by_distance, by_scale];
    slope.copy_from_slice(&all[..slope.len()]);
    log_density(x - loc, df, scale)
}

impl Distribution for StudentT {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (df, loc, scale) = parameters(args)?;
        Ok(Value::Number(outcome::finite(loc + scale * draw(df, rng))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (df, loc, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(log_density(x - loc, df, scale))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::Reals)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
