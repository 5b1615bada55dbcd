//! P(k) = p (1 - p)^k, the number of failures before the first success.

use rand_distr::{Distribution as _, Exp1};
use smidgen_value::math::{ln, ln_1p, xlog1py, xovery};
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct Geometric;

static SPEC: Spec = Spec {
    name: "geometric",
    aliases: &[],
    parameters: "p",
    arity: Arity::exactly(1),
    summary: "The number of failures before the first success, each trial succeeding with probability p",
    example: "(geometric 0.3)",
};

/// A probability of success without which no success would ever come.
pub(crate) fn positive_probability(args: Args<'_>, i: usize) -> Result<f64, ArgumentError> {
    let expected = "a positive probability (above 0, at most 1)";
    arguments::number_where(args, i, expected, is_positive_probability)
}

pub(crate) fn is_positive_probability(p: f64) -> bool {
    p > 0.0 && p <= 1.0
}

fn log_mass(k: f64, p: f64) -> f64 {
    if outcome::is_count(k) { xlog1py(k, -p) + ln(p) } else { f64::NEG_INFINITY }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let p = args[0];
    if !(is_positive_probability(p)) {
        return f64::NEG_INFINITY;
    }
    slope.copy_from_slice(&[0.0, 1.0 / p - xovery(x, 1.0 - p)]);
    log_mass(x, p)
}

impl Distribution for Geometric {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let p = positive_probability(args, 0)?;
        let waiting: f64 = Exp1.sample(rng);
        Ok(Value::Number(outcome::finite((waiting / -ln_1p(-p)).floor())))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let p = positive_probability(args, 0)?;
        let k = outcome::number(x);
        Ok(log_mass(k, p))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        positive_probability(args, 0)?;
        Ok(Support::COUNTS)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let p = positive_probability(args, 0)?;
        Ok((p == 1.0).then(|| vec![Value::Number(0.0)]))
    }
}
