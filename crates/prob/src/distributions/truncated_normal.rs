//! The normal law restricted to an interval: f(x) = phi(z) / (sd (Phi(b) - Phi(a))) with
//! z = (x - mean) / sd and a, b likewise for the ends. Either end may be infinite.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{HALF_LN_2PI, exp, expm1, ln, ln_1p};
use smidgen_value::{ArgumentError, Rng, Value};

use super::normal_tail::{log_mass_around_zero, log_mass_from};
use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
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
enum Place {
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

    fn place(&self, args: Args<'_>) -> Result<Place, ArgumentError> {
        let (a, b) = ((self.low - self.mean) / self.sd, (self.high - self.mean) / self.sd);
        let width = (self.high - self.low) / self.sd;
        if a > 1e150 || b < -1e150 || width < f64::MIN_POSITIVE {
            // Beyond the range of doubles in standard units.
            return Err(ArgumentError::domain(
                1,
                "a standard deviation in reach of the range",
                args[1],
            ));
        }
        Ok(if a >= 0.0 {
            Place::Beyond { a, width, rising: false }
        } else if b <= 0.0 {
            Place::Beyond { a: -b, width, rising: true }
        } else {
            Place::Around { a, b }
        })
    }
}

impl Distribution for TruncatedNormal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let parameters = Parameters::read(args)?;
        let Parameters { mean, sd, low, high } = parameters;
        let x = match parameters.place(args)? {
            Place::Around { a, b } => mean + sd * draw_around(a, b, rng),
            Place::Beyond { a, width, rising: false } => low + sd * draw_beyond(a, width, rng),
            Place::Beyond { a, width, rising: true } => high - sd * draw_beyond(a, width, rng),
        };
        Ok(Value::Number(outcome::finite(x.clamp(low, high))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let parameters = Parameters::read(args)?;
        let Parameters { mean, sd, low, high } = parameters;
        let place = parameters.place(args)?;
        let x = outcome::number(x);
        if !(low <= x && x <= high && x.is_finite()) {
            return Ok(f64::NEG_INFINITY);
        }
        let log_standard = match place {
            Place::Around { a, b } => {
                let z = (x - mean) / sd;
                -0.5 * z * z - HALF_LN_2PI - log_mass_around_zero(a, b)
            }
            Place::Beyond { a, width, rising } => {
                let t = if rising { high - x } else { x - low } / sd;
                -t * (a + 0.5 * t) - log_mass_from(a, width)
            }
        };
        Ok(log_standard - ln(sd))
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
