//! f(x) = Gamma((df + 1)/2) / (Gamma(df/2) sqrt(df pi) scale) (1 + z^2 / df)^(-(df + 1)/2) with
//! z = (x - loc) / scale.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{LN_PI, digamma_difference, exp, ln, ln_1p, ln_gamma_ratio};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::gamma;
use super::outcome;
use crate::arguments;
use crate::positive::{Positive, times_exp};
use crate::procedure::{
    Args, Arity, Distribution, Family, Linked, Score, SharedTerm, Spec, wanted,
};
use crate::recipe::Recipe;
use crate::recipe::write::{self, Term};
use crate::smooth::Curve;
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

fn parameters(args: Args<'_>) -> Result<(f64, f64, Positive), ArgumentError> {
    let df = arguments::positive(args, 0, "positive degrees of freedom")?;
    let loc = if args.len() > 1 { arguments::finite(args, 1, "a finite location")? } else { 0.0 };
    let scale = match args.len() {
        3 => Positive::read(args, 2, "a positive scale")?,
        _ => Positive::Plain(1.0),
    };
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
    log_kernel(
        df,
        ln(scale),
        log_1p_square(distance / scale, df, || ln(distance.abs()) - ln(scale)),
    )
}

fn log_kernel(df: f64, log_scale: f64, log_1p_square: f64) -> f64 {
    constant(df) + log_rest(df, log_scale, log_1p_square)
}

/// What hangs on df alone.
fn constant(df: f64) -> f64 {
    ln_gamma_ratio(0.5 * df, 0.5) - 0.5 * (ln(df) + LN_PI)
}

/// Its derivative: for many degrees of freedom the terms cancel.
fn constant_slope(df: f64) -> f64 {
    0.5 * (digamma_difference(0.5 * df, 0.5) - 1.0 / df)
}

fn log_rest(df: f64, log_scale: f64, log_1p_square: f64) -> f64 {
    -log_scale - (0.5 * df + 0.5) * log_1p_square
}

/// log(1 + z^2 / df), also when the square overflows: from log |z|.
fn log_1p_square(z: f64, df: f64, log_z: impl Fn() -> f64) -> f64 {
    let square = z * z / df;
    if square < 1e20 { ln_1p(square) } else { 2.0 * log_z() - ln(df) }
}

/// The derivatives of [`log_density`] with respect to the distance, to df and to the scale.
pub(crate) fn slopes(distance: f64, df: f64, scale: f64) -> [f64; 3] {
    let z = distance / scale;
    let log_1p_square = log_1p_square(z, df, || ln(distance.abs()) - ln(scale));
    let [pull, by_df, by_log] = standard_slopes(z, df, log_1p_square);
    [pull / scale, constant_slope(df) + by_df, by_log / scale]
}

/// The same with respect to z, to df and to the logarithm of the scale, without that of the constant.
fn standard_slopes(z: f64, df: f64, log_1p_square: f64) -> [f64; 3] {
    let square = z * z / df;
    // square / (1 + square), also when the square overflows.
    let share = if square < 1.0 { square / (1.0 + square) } else { 1.0 / (1.0 + 1.0 / square) };
    let pull = if z == 0.0 { 0.0 } else { -(df + 1.0) * share / z };
    let kernel = (df + 1.0) / df * share - log_1p_square;
    [pull, 0.5 * kernel, (df + 1.0) * share - 1.0]
}

/// As [`log_density`], with the logarithm of the scale in its place, and the derivatives with respect to the distance, to df and to
/// that logarithm.
pub(crate) fn by_log(distance: f64, df: f64, log_scale: f64, slope: &mut [f64]) -> f64 {
    let log_rest = rest_by_log(distance, df, log_scale, slope);
    if log_rest == f64::NEG_INFINITY {
        return log_rest;
    }
    if let Some(slope) = slope.get_mut(1) {
        *slope += constant_slope(df);
    }
    constant(df) + log_rest
}

/// The same without the constant.
fn rest_by_log(distance: f64, df: f64, log_scale: f64, slope: &mut [f64]) -> f64 {
    if !(distance.is_finite() && arguments::is_positive(df) && log_scale.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let z = times_exp(distance, -log_scale);
    let log_1p_square = log_1p_square(z, df, || ln(distance.abs()) - log_scale);
    wanted(slope, || {
        let [pull, by_df, by_log] = standard_slopes(z, df, log_1p_square);
        let is_far = z.is_infinite();
        let pull = if is_far { -(df + 1.0) / distance } else { times_exp(pull, -log_scale) };
        [pull, by_df, by_log]
    });
    log_rest(df, log_scale, log_1p_square)
}

/// The same with the logarithm of the scale in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    from_distance(by_log, x, args, slope)
}

/// The same without what hangs on df alone.
pub fn rest_score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    from_distance(rest_by_log, x, args, slope)
}

fn from_distance(
    of: fn(f64, f64, f64, &mut [f64]) -> f64,
    x: f64,
    args: &[f64],
    slope: &mut [f64],
) -> f64 {
    let (df, loc, log_scale) = (args[0], args[1], args[2]);
    let mut all = [0.0; 3];
    let room = if slope.is_empty() { &mut [][..] } else { &mut all[..] };
    let log_density = of(x - loc, df, log_scale, room);
    wanted(slope, || [all[0], all[1], -all[0], all[2]]);
    log_density
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let log_rest = rest_score(x, args, slope);
    if log_rest == f64::NEG_INFINITY {
        return log_rest;
    }
    if let Some(slope) = slope.get_mut(1) {
        *slope += constant_slope(args[0]);
    }
    constant(args[0]) + log_rest
}

/// The same without what hangs on df alone.
fn rest_score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let df = args[0];
    let loc = args.get(1).copied().unwrap_or(0.0);
    let scale = args.get(2).copied().unwrap_or(1.0);
    let distance = x - loc;
    let is_valid = arguments::is_positive(df) && loc.is_finite() && arguments::is_positive(scale);
    if !(is_valid && distance.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let (z, log_scale) = (distance / scale, ln(scale));
    let log_1p_square = log_1p_square(z, df, || ln(distance.abs()) - log_scale);
    wanted(slope, || {
        let [pull, by_df, by_log] = standard_slopes(z, df, log_1p_square);
        [pull / scale, by_df, -pull / scale, by_log / scale]
    });
    log_rest(df, log_scale, log_1p_square)
}

/// At a distance from the location: log Gamma((df + 1)/2) - log Gamma(df/2) - log(df pi)/2 - log scale
/// - (df + 1)/2 log(1 + z^2 / df).
pub(crate) fn formula<'w>(
    distance: Term<'w>,
    df: Term<'w>,
    scale: write::Positive<'w>,
) -> Term<'w> {
    let half_df = 0.5 * df;
    let constant =
        (half_df + 0.5).log_gamma() - half_df.log_gamma() - 0.5 * (df.log() + LN_PI) - scale.log();
    let z = distance * df.power(-0.5) * scale.power(-1.0);
    constant - (half_df + 0.5) * z.curve(Curve::Log1pSquare)
}

impl Distribution for StudentT {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (df, loc, scale) = parameters(args)?;
        Ok(Value::Number(outcome::finite(loc + scale.times(draw(df, rng)))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (df, loc, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => log_density(x - loc, df, scale),
            Positive::Log(log_scale) => by_log(x - loc, df, log_scale, &mut []),
        })
    }

    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let distance = law.outcome() - law.argument_or(1, 0.0);
            Some(formula(distance, law.argument(0), law.argument_or(2, 1.0).positive()?))
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn family(&self) -> Family {
        Family::Student
    }

    fn shared_term(&self, link: Option<Link>) -> Option<SharedTerm> {
        let rest = if link.is_some() { rest_score_by_log } else { rest_score };
        Some(SharedTerm { place: 0, of: |df| [constant(df), constant_slope(df)], rest })
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 2, link: Link::Log, score: Score::Scalar(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::Reals)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
