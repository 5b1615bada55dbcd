//! P(0) = p, P(k) = (1 - p) D(k) / (1 - D(0)) for k > 0: zeros by a coin, other counts by a law D without its zero.

use smidgen_value::math::exp;
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use super::zero_inflated::{Numbers, parameters, with_zero};
use crate::chance::Chance;
use crate::law::{self, Inner};
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::recipe::write::Term;
use crate::smooth::Curve;
use crate::support::Support;

pub struct Hurdle;

static SPEC: Spec = Spec {
    name: "hurdle",
    aliases: &[],
    parameters: "D p args ...",
    arity: Arity::at_least(2),
    summary: "0 with probability p, otherwise a count drawn from (D args ...) given that it is not 0",
    example: "(hurdle poisson 0.3 4)",
};

/// A law whose draws are 0 more often than this is inverted, others are asked again.
const MOSTLY_ZERO: f64 = 0.8;

/// How far the inversion goes before it gives up and asks.
const FARTHEST: u32 = 10_000;

/// log(1 - e^log_p), for the probability p of a zero.
fn log_rest(log_p: f64) -> f64 {
    if log_p == f64::NEG_INFINITY {
        0.0
    } else if log_p < 0.0 {
        Curve::Log1mExp.value(log_p)
    } else {
        f64::NEG_INFINITY
    }
}

/// log of D(k) / (1 - D(0)), for k > 0.
fn log_above(log_inner: f64, log_zero: f64) -> f64 {
    let log_rest = log_rest(log_zero);
    let is_possible = log_inner > f64::NEG_INFINITY && log_rest > f64::NEG_INFINITY;
    if is_possible { (log_inner - log_rest).min(0.0) } else { f64::NEG_INFINITY }
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let Some(Numbers { inner, p, args }) = Numbers::read(args) else { return f64::NEG_INFINITY };
    let chance = Chance::Plain(p);
    let wanted = law::wants_slopes(x_slope, slopes);
    let (log_zero, zero_slopes) = inner.slopes(0.0, &args, wanted);
    if log_zero.is_nan() || (log_zero == f64::NEG_INFINITY && !inner.is_valid(&args)) {
        return f64::NEG_INFINITY;
    }
    if x[0] == 0.0 {
        if let Some(slope) = slopes[1].first_mut() {
            *slope += 1.0 / p;
        }
        return chance.ln();
    }
    let (log_inner, inner_slopes) = inner.slopes(x[0], &args, wanted);
    let log_above = log_above(log_inner, log_zero);
    if log_above > f64::NEG_INFINITY && wanted {
        if let Some(slope) = slopes[1].first_mut() {
            *slope -= 1.0 / (1.0 - p);
        }
        law::add(&mut slopes[2..], 1.0, &inner_slopes[1..]);
        law::add(&mut slopes[2..], exp(log_zero - log_rest(log_zero)), &zero_slopes[1..]);
    }
    chance.ln_complement() + log_above
}

/// A draw of the inner law that is not 0.
fn draw_above(inner: Inner, args: Args<'_>, rng: &mut Rng) -> Result<f64, ArgumentError> {
    let log_zero = inner.log_density(0.0, args)?;
    if log_rest(log_zero) == f64::NEG_INFINITY {
        let expected = "a distribution that draws more than 0";
        return Err(ArgumentError::domain(0, expected, &Value::symbol(inner.law.spec().name)));
    }
    if exp(log_zero) > MOSTLY_ZERO {
        let mut rest = rng.uniform();
        for k in 1..FARTHEST {
            rest -= exp(log_above(inner.log_density(f64::from(k), args)?, log_zero));
            if rest < 0.0 {
                return Ok(f64::from(k));
            }
        }
    }
    loop {
        let k = outcome::number(&inner.sample(args, rng)?);
        if k > 0.0 {
            return Ok(k);
        }
    }
}

impl Distribution for Hurdle {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (inner, p, rest) = parameters(args)?;
        if p.draw(rng) {
            return Ok(Value::Number(0.0));
        }
        draw_above(inner, rest, rng).map(Value::Number).map_err(|error| error.after(2))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (inner, p, rest) = parameters(args)?;
        let x = outcome::number(x);
        if x == 0.0 {
            return Ok(p.ln());
        }
        let log_density = |x: f64| inner.log_density(x, rest).map_err(|error| error.after(2));
        Ok(p.ln_complement() + log_above(log_density(x)?, log_density(0.0)?))
    }

    /// For 0 log p, else log(1 - p) + log D(k) - log(1 - D(0)).
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        let inner = law::numbered(*arguments.first()?.as_ref()?)?;
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (k, p) = (law.outcome(), law.argument(1));
            let args: Vec<Term<'_>> = (2..arguments.len()).map(|i| law.argument(i)).collect();
            let log_rest = law.density(inner, law.number(0.0), &args)?.curve(Curve::Log1mExp);
            let above = (-p).curve(Curve::Log1p) + law.density(inner, k, &args)? - log_rest;
            Some(k.equals(law.number(0.0)).either(p.log(), above))
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
        &[0, 2, 3, 4]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_coin(x)
    }
}
