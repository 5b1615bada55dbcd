//! P(0) = p + (1 - p) D(0), P(k) = (1 - p) D(k): counts of a law D with extra zeros.

use smidgen_value::math::{exp, logsumexp};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::chance::Chance;
use crate::law::{self, Inner};
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::recipe::write::Term;
use crate::smooth::Curve;
use crate::support::Support;

pub struct ZeroInflated;

static SPEC: Spec = Spec {
    name: "zero_inflated",
    aliases: &[],
    parameters: "D p args ...",
    arity: Arity::at_least(2),
    summary: "0 with probability p, otherwise a count drawn from (D args ...), which may be 0 as well",
    example: "(zero_inflated poisson 0.3 4)",
};

/// The law of counts, the probability, and the arguments of the law.
pub(crate) fn parameters<'a>(args: Args<'a>) -> Result<(Inner, Chance, Args<'a>), ArgumentError> {
    let inner = Inner::read(args, 0, args.len() - 2)?;
    let p = Chance::Plain(arguments::probability(args, 1)?);
    let support = inner.support(&args[2..]).map_err(|error| error.after(2))?;
    if !is_of_counts(&support) {
        return Err(ArgumentError::wrong_type(0, "a distribution of counts", args[0]));
    }
    Ok((inner, p, &args[2..]))
}

fn is_of_counts(support: &Support) -> bool {
    matches!(support, Support::Integers { low, .. } if *low >= 0.0)
}

/// What a score reads.
pub(crate) struct Numbers {
    pub inner: Inner,
    pub p: f64,
    pub args: law::Numbers,
}

impl Numbers {
    pub fn read(args: &[&[f64]]) -> Option<Numbers> {
        let numbers = law::singles(args)?;
        let (number, p) = (*numbers.first()?, *numbers.get(1)?);
        let inner = Inner::numbered(number, numbers.len() - 2)?;
        arguments::is_probability(p).then(|| Numbers { inner, p, args: numbers[2..].into() })
    }
}

/// log(p + (1 - p) e^log_zero)
fn log_zero(p: Chance, log_zero: f64) -> f64 {
    logsumexp(&[p.ln(), p.ln_complement() + log_zero]).min(0.0)
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let Some(Numbers { inner, p, args }) = Numbers::read(args) else { return f64::NEG_INFINITY };
    let chance = Chance::Plain(p);
    let wanted = law::wants_slopes(x_slope, slopes);
    let (log_inner, inner_slopes) = inner.slopes(x[0], &args, wanted);
    let is_possible = match log_inner == f64::NEG_INFINITY {
        true => x[0] == 0.0 && inner.is_valid(&args),
        false => !log_inner.is_nan(),
    };
    if !is_possible {
        return f64::NEG_INFINITY;
    }
    let (log_mass, weight, by_p) = if x[0] == 0.0 {
        let log_mass = log_zero(chance, log_inner);
        let weight = exp(chance.ln_complement() + log_inner - log_mass);
        (log_mass, weight, exp(-log_mass) - exp(log_inner - log_mass))
    } else {
        (chance.ln_complement() + log_inner, 1.0, -1.0 / (1.0 - p))
    };
    if wanted {
        if let Some(slope) = slopes[1].first_mut() {
            *slope += by_p;
        }
        law::add(&mut slopes[2..], weight, &inner_slopes[1..]);
    }
    log_mass
}

impl Distribution for ZeroInflated {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (inner, p, rest) = parameters(args)?;
        if p.draw(rng) {
            return Ok(Value::Number(0.0));
        }
        let drawn = inner.sample(rest, rng).map_err(|error| error.after(2))?;
        Ok(Value::Number(outcome::number(&drawn)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (inner, p, rest) = parameters(args)?;
        let x = outcome::number(x);
        let log_inner = inner.log_density(x, rest).map_err(|error| error.after(2))?;
        Ok(if x == 0.0 { log_zero(p, log_inner) } else { p.ln_complement() + log_inner })
    }

    /// For 0 log(p + (1 - p) D(0)), else log(1 - p) + log D(k).
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        let inner = law::numbered(*arguments.first()?.as_ref()?)?;
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (k, p) = (law.outcome(), law.argument(1));
            let args: Vec<Term<'_>> = (2..arguments.len()).map(|i| law.argument(i)).collect();
            let log_rest = (-p).curve(Curve::Log1p);
            let log_zero = log_rest + law.density(inner, law.number(0.0), &args)?;
            let above = log_rest + law.density(inner, k, &args)?;
            Some(k.equals(law.number(0.0)).either(p.log().log_add(log_zero), above))
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (inner, _, rest) = parameters(args)?;
        with_zero(inner.support(rest)?)
    }

    fn support_arguments(&self) -> &'static [usize] {
        // The number of trials of a binomial law, say.
        &[0, 2, 3, 4]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_coin(x)
    }
}

/// The counts of a law, and 0.
pub(crate) fn with_zero(support: Support) -> Result<Support, ArgumentError> {
    match support {
        Support::Integers { high, .. } => Ok(Support::Integers { low: 0.0, high }),
        other => Ok(other),
    }
}
