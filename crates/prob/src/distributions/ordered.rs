//! f(x) = n! prod D(x_i) for x_1 < ... < x_n: n independent draws of a continuous law D, in increasing order. Cut
//! points, or the means of a mixture.

use smidgen_value::math::ln_gamma;
use smidgen_value::{ArgumentError, Rng, Value};

use super::autoregressive::{is_length, length};
use super::outcome;
use crate::law::{self, Inner};
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::{Support, is_ordered};

pub struct Ordered;

static SPEC: Spec = Spec {
    name: "ordered",
    aliases: &[],
    parameters: "D n args ...",
    arity: Arity::at_least(2),
    summary: "An increasing vector: n independent draws of (D args ...), sorted",
    example: "(ordered normal 3 0 2)",
};

/// Where such vectors start; none for a law that has an upper end or whose lower end may move.
fn low(inner: Inner, support: &Support) -> Option<f64> {
    if !inner.law.support_arguments().is_empty() {
        return None;
    }
    match support {
        Support::Reals => Some(f64::NEG_INFINITY),
        Support::Interval { low, high } if *high == f64::INFINITY => Some(*low),
        _ => None,
    }
}

fn parameters<'a>(args: Args<'a>) -> Result<(Inner, usize, f64, Args<'a>), ArgumentError> {
    let inner = Inner::read(args, 0, args.len() - 2)?;
    let len = length(args, 1)?;
    let support = inner.support(&args[2..]).map_err(|error| error.after(2))?;
    let expected = "a distribution of all real numbers, or of all positive ones";
    let low = low(inner, &support);
    let low = low.ok_or_else(|| ArgumentError::wrong_type(0, expected, args[0]))?;
    Ok((inner, len, low, &args[2..]))
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let Some(numbers) = law::singles(args) else { return f64::NEG_INFINITY };
    let inner = Inner::numbered(numbers[0], numbers.len() - 2);
    let Some(inner) = inner.filter(|_| is_length(numbers[1])) else { return f64::NEG_INFINITY };
    let len = numbers[1] as usize;
    if !is_ordered(x, len, f64::NEG_INFINITY) {
        return f64::NEG_INFINITY;
    }
    let wanted = law::wants_slopes(x_slope, slopes);
    let mut total = ln_gamma(len as f64 + 1.0);
    for (i, x) in x.iter().enumerate() {
        let (log_density, inner_slopes) = inner.slopes(*x, &numbers[2..], wanted);
        if log_density == f64::NEG_INFINITY || log_density.is_nan() {
            return f64::NEG_INFINITY;
        }
        total += log_density;
        if wanted {
            if let Some(slope) = x_slope.get_mut(i) {
                *slope += inner_slopes[0];
            }
            law::add(&mut slopes[2..], 1.0, &inner_slopes[1..]);
        }
    }
    total
}

impl Distribution for Ordered {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (inner, len, low, rest) = parameters(args)?;
        // Two draws may be the same double, once in a while.
        for _ in 0..100 {
            let mut x = Vec::with_capacity(len);
            for _ in 0..len {
                let drawn = inner.sample(rest, rng).map_err(|error| error.after(2))?;
                x.push(outcome::number(&drawn));
            }
            x.sort_by(f64::total_cmp);
            if is_ordered(&x, len, low) {
                return Ok(Value::vector(x));
            }
        }
        Err(ArgumentError::other(
            "the distribution draws the same number again and again".to_owned(),
        ))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (inner, len, low, rest) = parameters(args)?;
        let Some(x) = outcome::reals(x).filter(|x| is_ordered(x, len, low)) else {
            return Ok(f64::NEG_INFINITY);
        };
        let mut total = ln_gamma(len as f64 + 1.0);
        for x in x {
            total += inner.log_density(*x, rest).map_err(|error| error.after(2))?;
        }
        Ok(total)
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (_, len, low, _) = parameters(args)?;
        Ok(Support::Ordered { len, low })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0, 1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }
}
