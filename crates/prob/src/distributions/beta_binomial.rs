//! P(k) = C(n, k) B(k + a, n - k + b) / B(a, b): the successes in n trials whose probability of
//! success is one draw from a beta law.

use smidgen_value::math::{LN_2, digamma_difference, ln, ln_gamma_ratio};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::saddle_point::{log_binomial, log_trials};
use super::{beta, binomial, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::support::Support;

pub struct BetaBinomial;

static SPEC: Spec = Spec {
    name: "beta_binomial",
    aliases: &[],
    parameters: "n a b",
    arity: Arity::exactly(3),
    summary: "The number of successes in n trials that succeed with a probability drawn from (beta a b)",
    example: "(beta_binomial 10 2 3)",
};

fn parameters(args: Args<'_>) -> Result<(f64, f64, f64), ArgumentError> {
    let n = arguments::count(args, 0, "a number of trials (a whole number from 0 on)")?;
    Ok((
        n as f64,
        arguments::positive(args, 1, "a positive first shape")?,
        arguments::positive(args, 2, "a positive second shape")?,
    ))
}

/// Shapes so many times as large as the number of trials: T below would be the small difference of huge numbers.
const DWARFS: f64 = 1e12;

/// With T(x, y) = Gamma(x + y + 1) / (Gamma(x + 1) Gamma(y + 1)) p^x q^y it is
///
/// T(k, n - k) T(a, b) / T(k + a, n - k + b) ab (n + a + b) / ((a + b) (k + a) (n - k + b)),
///
/// whatever p: with p = (k + a) / (n + a + b), near which all three are, none is far from the result.
pub(crate) fn log_mass(k: f64, n: f64, a: f64, b: f64) -> f64 {
    if !(outcome::is_count(k) && k <= n) {
        return f64::NEG_INFINITY;
    }
    if n == 0.0 {
        return 0.0;
    }
    let m = n - k;
    if a + b > DWARFS * (n + 1.0) {
        // C(n, k) a (a + 1) ... (a + k - 1) b (b + 1) ... / ((a + b) (a + b + 1) ...)
        let choices = log_trials(k, m, 0.5) + n * LN_2;
        return (choices + ln_gamma_ratio(a, k) + ln_gamma_ratio(b, m) - ln_gamma_ratio(a + b, n))
            .min(0.0);
    }
    let (x, y) = (k + a, m + b);
    let (p, q) = (x / (x + y), y / (x + y));
    let all = if p <= q {
        log_trials(k, m, p) + log_binomial(a, b, p) - log_binomial(x, y, p)
    } else {
        log_trials(m, k, q) + log_binomial(b, a, q) - log_binomial(y, x, q)
    };
    (all + ln(a / x) + ln(b / y) + ln((x + y) / (a + b))).min(0.0)
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (n, a, b) = (args[0], args[1], args[2]);
    if !(arguments::is_count(n) && arguments::is_positive(a) && arguments::is_positive(b)) {
        return f64::NEG_INFINITY;
    }
    let log_mass = log_mass(x, n, a, b);
    if log_mass > f64::NEG_INFINITY {
        wanted(slope, || {
            let both = digamma_difference(a + b, n);
            [0.0, 0.0, digamma_difference(a, x) - both, digamma_difference(b, n - x) - both]
        });
    }
    log_mass
}

impl Distribution for BetaBinomial {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (n, a, b) = parameters(args)?;
        Ok(Value::Number(draw(n, a, b, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (n, a, b) = parameters(args)?;
        Ok(log_mass(outcome::number(x), n, a, b))
    }

    /// log C(n, k) + log B(k + a, n - k + b) - log B(a, b)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (k, n, a, b) = (law.outcome(), law.argument(0), law.argument(1), law.argument(2));
            let choices = n.log_factorial() - k.log_factorial() - (n - k).log_factorial();
            let after = (k + a).log_gamma() + (n - k + b).log_gamma() - (n + (a + b)).log_gamma();
            let before = a.log_gamma() + b.log_gamma() - (a + b).log_gamma();
            Some(choices + after - before)
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (n, ..) = parameters(args)?;
        Ok(Support::Integers { low: 0.0, high: n })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let (n, ..) = parameters(args)?;
        Ok(binomial::counts_to(n))
    }
}

pub(crate) fn draw(n: f64, a: f64, b: f64, rng: &mut Rng) -> f64 {
    binomial::draw(n, beta::draw(a, b, rng), rng)
}
