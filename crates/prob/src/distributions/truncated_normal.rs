//! The normal law restricted to an interval: f(x) = phi(z) / (sd (Phi(b) - Phi(a))) with
//! z = (x - mean) / sd and a, b likewise for the ends. Either end may be infinite.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{HALF_LN_2PI, exp, expm1, ln, ln_1p};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::normal_tail::{
    Between, between_around_zero, log_mass_around_zero, log_mass_from, mean_beyond,
};
use super::{normal, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::recipe::write::{self, Term};
use crate::smooth::Curve;
use crate::support::Support;

pub struct TruncatedNormal;

static SPEC: Spec = Spec {
    name: "truncated_normal",
    aliases: &[],
    parameters: "mean sd lo hi",
    arity: Arity::exactly(4),
    summary: "A normal draw with this mean and sd, given that it lies between lo and hi",
    example: "(truncated_normal 0 1 0 2)",
};

struct Parameters {
    mean: f64,
    sd: f64,
    low: f64,
    high: f64,
}

/// The interval in standard units, seen from its end nearer to the mean.
enum Interval {
    /// The mean lies inside; the ends.
    Around { a: f64, b: f64 },
    /// The mean lies outside: the near end is `a` >= 0 away, to the left if `rising` and to
    /// the right otherwise.
    Beyond { a: f64, width: f64, rising: bool },
}

impl Parameters {
    fn read(args: Args<'_>) -> Result<Parameters, ArgumentError> {
        let mean = arguments::finite(args, 0, "a finite mean")?;
        let sd = arguments::positive(args, 1, "a positive standard deviation")?;
        let low = arguments::number_where(args, 2, "a lower end", |x| !x.is_nan())?;
        let high = arguments::number(args, 3)?;
        if low < high {
            Ok(Parameters { mean, sd, low, high })
        } else {
            let expected = "an upper end above the lower one (the range is empty)";
            Err(ArgumentError::domain(3, expected, args[3]))
        }
    }

    fn read_and_place(args: Args<'_>) -> Result<(Parameters, Interval), ArgumentError> {
        let parameters = Parameters::read(args)?;
        let expected = "a standard deviation in reach of the range";
        let place = parameters.place();
        let place = place.ok_or_else(|| ArgumentError::domain(1, expected, args[1]))?;
        Ok((parameters, place))
    }

    /// None if the interval is beyond the range of doubles in standard units.
    fn place(&self) -> Option<Interval> {
        let (a, b) = ((self.low - self.mean) / self.sd, (self.high - self.mean) / self.sd);
        let width = (self.high - self.low) / self.sd;
        if a > 1e150 || b < -1e150 || width < f64::MIN_POSITIVE {
            return None;
        }
        Some(if a >= 0.0 {
            Interval::Beyond { a, width, rising: false }
        } else if b <= 0.0 {
            Interval::Beyond { a: -b, width, rising: true }
        } else {
            Interval::Around { a, b }
        })
    }

    fn log_density(&self, x: f64, place: &Interval) -> f64 {
        let Parameters { mean, sd, low, high } = *self;
        if !(low <= x && x <= high && x.is_finite()) {
            return f64::NEG_INFINITY;
        }
        let log_standard = match *place {
            Interval::Around { a, b } => {
                let z = (x - mean) / sd;
                -0.5 * z * z - HALF_LN_2PI - log_mass_around_zero(a, b)
            }
            Interval::Beyond { a, width, rising } => {
                let t = if rising { high - x } else { x - low } / sd;
                -t * (a + 0.5 * t) - log_mass_from(a, width)
            }
        };
        log_standard - ln(sd)
    }

    /// With E the expectation and f(lo), f(hi) the density at the ends in standard units, and times
    /// sd, the derivatives are -z, z - E z, z^2 - E z^2, f(lo) and -f(hi). Beyond the mean they are
    /// taken from the near end at a: with t = z - a nothing large is subtracted.
    fn standard_slopes(&self, x: f64, place: &Interval) -> [f64; 5] {
        let Parameters { mean, sd, low, high } = *self;
        match *place {
            Interval::Around { a, b } => {
                let z = (x - mean) / sd;
                let Between { at_low, at_high, mean, mean_square } = between_around_zero(a, b);
                [-z, z - mean, z * z - mean_square, at_low, -at_high]
            }
            Interval::Beyond { a, width, rising } => {
                let t = if rising { high - x } else { x - low } / sd;
                let near = exp(-log_mass_from(a, width));
                let far = exp(-width * (a + 0.5 * width)) * near;
                let flow = if far == 0.0 { 0.0 } else { width * far };
                let step = t - mean_beyond(a, width);
                let by_sd = t * (a + t) + a * step + flow - 1.0;
                // To the left of the mean everything but the sd is mirrored.
                if rising {
                    [a + t, -step, by_sd, far, -near]
                } else {
                    [-(a + t), step, by_sd, near, -far]
                }
            }
        }
    }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let [mean, sd, low, high] = [args[0], args[1], args[2], args[3]];
    let parameters = Parameters { mean, sd, low, high };
    if !(mean.is_finite() && arguments::is_positive(sd) && low < high) {
        return f64::NEG_INFINITY;
    }
    let Some(place) = parameters.place() else {
        return f64::NEG_INFINITY;
    };
    wanted(slope, || parameters.standard_slopes(x, &place).map(|slope| slope / sd));
    parameters.log_density(x, &place)
}

/// log P(X > end) for a normal X, which is log P(X < mean) for one around the end.
fn log_above<'w>(end: Term<'w>, mean: Term<'w>, sd: write::Positive<'w>) -> Term<'w> {
    ((mean - end) * sd.power(-1.0)).curve(Curve::LogNormalCdf)
}

impl Distribution for TruncatedNormal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (Parameters { mean, sd, low, high }, place) = Parameters::read_and_place(args)?;
        let x = match place {
            Interval::Around { a, b } => mean + sd * draw_around(a, b, rng),
            Interval::Beyond { a, width, rising: false } => low + sd * draw_beyond(a, width, rng),
            Interval::Beyond { a, width, rising: true } => high - sd * draw_beyond(a, width, rng),
        };
        Ok(Value::Number(outcome::finite(x.clamp(low, high))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (parameters, place) = Parameters::read_and_place(args)?;
        Ok(parameters.log_density(outcome::number(x), &place))
    }

    /// That of the normal law, less the log of what lies between the ends, which for two finite ends a < b is that of what lies
    /// above a, plus log(1 - r) with the ratio r of what lies above b to it: no term cancels.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (x, mean, sd) = (law.outcome(), law.argument(0), law.argument(1).positive()?);
            let ends = [(2, f64::NEG_INFINITY), (3, f64::INFINITY)];
            let [low, high] =
                ends.map(|(i, open)| (law.known(i) != Some(open)).then(|| law.argument(i)));
            let normal = normal::formula(x, mean, sd);
            Some(match (low, high) {
                (None, None) => normal,
                (Some(low), None) => normal - log_above(low, mean, sd) + (x - low).wall(),
                (None, Some(high)) => normal - log_above(mean, high, sd) + (high - x).wall(),
                (Some(low), Some(high)) => {
                    let log_all = log_above(low, mean, sd);
                    let log_ratio = log_above(high, mean, sd) - log_all;
                    let log_mass = log_all + log_ratio.curve(Curve::Log1mExp);
                    normal - log_mass + (x - low).wall() + (high - x).wall()
                }
            })
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let Parameters { low, high, .. } = Parameters::read(args)?;
        Ok(Support::Interval { low, high })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[2, 3]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}

/// A standard normal draw in (a, b), for a < 0 < b.
fn draw_around(a: f64, b: f64, rng: &mut Rng) -> f64 {
    if b - a > 1.0 {
        // At least a third of all normal draws.
        loop {
            let z: f64 = StandardNormal.sample(rng);
            if a <= z && z <= b {
                return z;
            }
        }
    }
    loop {
        let z = a + (b - a) * rng.uniform();
        if rng.log_uniform() <= -0.5 * z * z {
            return z;
        }
    }
}

/// How far beyond a >= 0 a standard normal draw in (a, a + `width`) lies.
fn draw_beyond(a: f64, width: f64, rng: &mut Rng) -> f64 {
    if width * (a + 0.5 * width) <= 1.0 {
        loop {
            let t = width * rng.uniform();
            if rng.log_uniform() <= -t * (a + 0.5 * t) {
                return t;
            }
        }
    }
    // Robert (1995): an exponential proposal of the best rate, itself cut at the far end.
    let rate = 0.5 * (a + (a * a + 4.0).sqrt());
    let p_reach = -expm1(-rate * width);
    loop {
        let t = -ln_1p(-p_reach * rng.uniform()) / rate;
        let miss = t - 1.0 / rate;
        if rng.uniform() < exp(-0.5 * miss * miss) {
            return t;
        }
    }
}
