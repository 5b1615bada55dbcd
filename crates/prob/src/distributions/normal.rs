//! f(x) = exp(-z^2 / 2) / (sd sqrt(2 pi)) with z = (x - mean) / sd.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{HALF_LN_2PI, ln};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::cumulative::Side;
use crate::positive::{Positive, times_exp};
use crate::procedure::{Args, Arity, Distribution, Family, Linked, Scalar, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::recipe::write::{self, Term};
use crate::smooth::Curve;
use crate::support::Support;

pub struct Normal;

static SPEC: Spec = Spec {
    name: "normal",
    aliases: &[],
    parameters: "mean sd",
    arity: Arity::exactly(2),
    summary: "A real number with this mean and standard deviation, normally distributed",
    example: "(normal 0 1)",
};

#[inline]
fn parameters(args: Args<'_>) -> Result<(f64, Positive), ArgumentError> {
    Ok((
        arguments::finite(args, 0, "a finite mean")?,
        Positive::read(args, 1, "a positive standard deviation")?,
    ))
}

#[inline]
pub(crate) fn log_density(x: f64, mean: f64, sd: f64) -> f64 {
    if !x.is_finite() {
        return f64::NEG_INFINITY;
    }
    let z = (x - mean) / sd;
    -0.5 * z * z - ln(sd) - HALF_LN_2PI
}

/// The log density of plain numbers, see [`Score`].
#[inline]
pub fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (mean, sd) = (args[0], args[1]);
    if !(mean.is_finite() && arguments::is_positive(sd)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        let (z, per_sd) = ((x - mean) / sd, 1.0 / sd);
        [-z * per_sd, z * per_sd, (z * z - 1.0) * per_sd]
    });
    log_density(x, mean, sd)
}

/// The same with log sd in place of sd.
#[inline]
pub fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (mean, log_sd) = (args[0], args[1]);
    if !(x.is_finite() && mean.is_finite() && log_sd.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let z = times_exp(x - mean, -log_sd);
    wanted(slope, || {
        let pull = times_exp(z, -log_sd);
        [-pull, pull, z * z - 1.0]
    });
    -0.5 * z * z - log_sd - HALF_LN_2PI
}

/// -(x - mean)^2 sd^-2 / 2 - log sd - log(2 pi)/2
pub(crate) fn formula<'w>(x: Term<'w>, mean: Term<'w>, sd: write::Positive<'w>) -> Term<'w> {
    -0.5 * ((x - mean).square() * sd.power(-2.0)) - sd.log() - HALF_LN_2PI
}

/// A draw for each mean and sd. False if some are out of their domain: NaN stands for their draws.
pub fn sample_all(mean: &[f64], sd: &[f64], out: &mut [f64], rng: &mut Rng) -> bool {
    let is_within = |(mean, sd): (&f64, &f64)| mean.is_finite() & arguments::is_positive(*sd);
    if mean.iter().zip(sd).fold(true, |all, both| all & is_within(both)) {
        let mut all = true;
        for ((out, mean), sd) in out.iter_mut().zip(mean).zip(sd) {
            let z: f64 = StandardNormal.sample(rng);
            *out = outcome::finite(mean + sd * z);
            all &= !out.is_nan();
        }
        return all;
    }
    let mut all = true;
    for ((out, mean), sd) in out.iter_mut().zip(mean).zip(sd) {
        *out = match mean.is_finite() && arguments::is_positive(*sd) {
            true => {
                let z: f64 = StandardNormal.sample(rng);
                outcome::finite(mean + sd * z)
            }
            false => f64::NAN,
        };
        all &= !out.is_nan();
    }
    all
}

impl Distribution for Normal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    #[inline]
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mean, sd) = parameters(args)?;
        let z: f64 = StandardNormal.sample(rng);
        Ok(Value::Number(outcome::finite(mean + sd.times(z))))
    }

    #[inline]
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (mean, sd) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match sd {
            Positive::Plain(sd) => log_density(x, mean, sd),
            Positive::Log(log_sd) => score_by_log(x, &[mean, log_sd], &mut []),
        })
    }

    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            Some(formula(law.outcome(), law.argument(0), law.argument(1).positive()?))
        })
    }

    /// log Φ of z below, of -z above.
    fn tail_recipe(&self, side: Side, arguments: &[Option<f64>]) -> Option<Recipe> {
        Recipe::write(arguments, None, |law| {
            let sd = law.argument(1);
            let z = side.sign() * ((law.outcome() - law.argument(0)) * sd.power(-1.0));
            Some(z.curve(Curve::LogNormalCdf) + sd.wall())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn scalar(&self) -> Option<Scalar> {
        #[inline]
        fn in_domain(args: &[f64]) -> Option<(f64, f64)> {
            let [mean, sd] = *args else { return None };
            (mean.is_finite() && sd > 0.0 && sd.is_finite()).then_some((mean, sd))
        }
        Some(Scalar {
            sample: |args, rng| {
                let (mean, sd) = in_domain(args)?;
                let z: f64 = StandardNormal.sample(rng);
                Some(outcome::finite(mean + sd * z))
            },
            log_density: |x, args| in_domain(args).map(|(mean, sd)| log_density(x, mean, sd)),
        })
    }

    fn family(&self) -> Family {
        Family::Normal
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 1, link: Link::Log, score: Score::Scalar(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::Reals)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
