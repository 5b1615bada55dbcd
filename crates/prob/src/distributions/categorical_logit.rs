//! P(i) = e^η_i / sum of e^η: `categorical` by the logarithms η of its weights, up to a constant.

use std::borrow::Cow;

use smidgen_value::math::{exp, logsumexp};
use smidgen_value::{ArgumentError, Rng, Value};

use super::{categorical, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct CategoricalLogit;

static SPEC: Spec = Spec {
    name: "categorical_logit",
    aliases: &[],
    parameters: "logits",
    arity: Arity::exactly(1),
    summary: "An index from 0 on, with probability proportional to the exponential of its entry",
    example: "(categorical_logit (array 0.5 -1 2))",
};

/// The logits, and the logarithm of the sum of their exponentials.
fn parameters<'a>(args: Args<'a>) -> Result<(Cow<'a, [f64]>, f64), ArgumentError> {
    let logits = arguments::reals(args, 0)?;
    let log_total = logsumexp(&logits);
    if log_total.is_finite() {
        Ok((logits, log_total))
    } else {
        let expected = "logits of which one at least is finite and none is infinitely large";
        Err(ArgumentError::domain(0, expected, args[0]))
    }
}

impl Distribution for CategoricalLogit {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (logits, log_total) = parameters(args)?;
        let mut rest = rng.uniform();
        let mut index = None;
        for (i, logit) in logits.iter().enumerate().filter(|(_, x)| **x > f64::NEG_INFINITY) {
            // Should rounding leave a rest, it is the last possible index.
            index = Some(i);
            rest -= exp(logit - log_total);
            if rest < 0.0 {
                break;
            }
        }
        Ok(Value::Number(index.expect("one is finite") as f64))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (logits, _) = parameters(args)?;
        let nothing: &mut [f64] = &mut [];
        Ok(categorical::score_by_log(&[outcome::number(x)], &[&logits], &mut [], &mut [nothing]))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(categorical::score_by_log))
    }

    fn linked_form_of(&self) -> Option<&'static dyn Distribution> {
        Some(&categorical::Categorical)
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::Finite(self.enumerate(args)?.unwrap_or_default()))
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn most_values(&self, args: Args<'_>) -> Option<usize> {
        match args.first()? {
            Value::Vector(logits) => Some(logits.len()),
            Value::Array(logits) => Some(logits.len()),
            _ => None,
        }
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let (logits, log_total) = parameters(args)?;
        let possible = (0..logits.len()).filter(|i| logits[*i] - log_total > f64::NEG_INFINITY);
        Ok(Some(possible.map(|i| Value::Number(i as f64)).collect()))
    }
}
