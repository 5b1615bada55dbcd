//! f(x) = D(x) / P(lo <= X <= hi) for lo <= x <= hi: a law of numbers given that the draw lies between two ends.

use smidgen_value::math::{ln, logsumexp};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::between::Between;
use super::outcome;
use crate::cumulative::{Side, at_log};
use crate::law;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::recipe::write::Term;
use crate::support::Support;

pub struct Truncate;

static SPEC: Spec = Spec {
    name: "truncate",
    aliases: &[],
    parameters: "D lo hi args ...",
    arity: Arity::at_least(3),
    summary: "A draw from (D args ...), given that it lies from lo to hi; -inf and inf are no ends",
    example: "(truncate normal -1 2 0.5 1)",
};

fn parameters(args: Args<'_>) -> Result<(Between, f64), ArgumentError> {
    let between = Between::read(args)?;
    let expected = "ends between which the distribution has any probability (a range in its reach)";
    match between.log_mass() {
        Some(log_mass) => Ok((between, log_mass)),
        None => Err(ArgumentError::domain(1, expected, args[1])),
    }
}

fn is_inside(between: &Between, x: f64) -> bool {
    between.low <= x && x <= between.high
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let Some(between) = Between::of_numbers(args).filter(|between| is_inside(between, x[0])) else {
        return f64::NEG_INFINITY;
    };
    let wanted = law::wants_slopes(x_slope, slopes);
    let Some(mass) = between.mass(wanted) else { return f64::NEG_INFINITY };
    let (log_inner, inner_slopes) = between.inner.slopes(x[0], &between.args, wanted);
    if log_inner == f64::NEG_INFINITY || log_inner.is_nan() {
        return f64::NEG_INFINITY;
    }
    if wanted {
        if let Some(slope) = x_slope.first_mut() {
            *slope += inner_slopes[0];
        }
        law::add(&mut slopes[1..3], -1.0, &[mass.by_low, mass.by_high]);
        law::add(&mut slopes[3..], 1.0, &inner_slopes[1..]);
        law::add(&mut slopes[3..], -1.0, &mass.by_args);
    }
    log_inner - mass.log
}

impl Distribution for Truncate {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// The quantile of an even number between those of the ends, on the side on which they are small.
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (between, log_mass) = parameters(args)?;
        let (low, high) = between.ends();
        let ask = |side: Side, x: f64| between.part(side, x, false).map_or(0.0, |(log_p, _)| log_p);
        let below = ask(Side::Below, between.before());
        let share = ln(rng.open_uniform()) + log_mass;
        let (side, beyond) = match below < -0.7 {
            true => (Side::Below, below),
            false => (Side::Above, ask(Side::Above, between.high)),
        };
        let log_p = logsumexp(&[beyond, share]).min(0.0);
        let x = at_log(between.inner, side, log_p, &between.args).unwrap_or(low);
        Ok(Value::Number(outcome::finite(x.clamp(low, high))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (between, log_mass) = parameters(args)?;
        let x = outcome::number(x);
        if !is_inside(&between, x) {
            return Ok(f64::NEG_INFINITY);
        }
        let log_inner = between.inner.log_density(x, &args[3..]);
        Ok(log_inner.map_err(|error| error.after(3))? - log_mass)
    }

    /// log D(x) less the log probability of what lies between the ends.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        let inner = law::numbered(*arguments.first()?.as_ref()?)?;
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let args: Vec<Term<'_>> = (3..arguments.len()).map(|i| law.argument(i)).collect();
            let log_inner = law.density(inner, law.outcome(), &args)?;
            let ends = [law.argument(1), law.argument(2)];
            let log_mass = match (law.known(1), law.known(2)) {
                (Some(f64::NEG_INFINITY), Some(f64::INFINITY)) => return Some(log_inner),
                (Some(f64::NEG_INFINITY), _) => law.tail(inner, Side::Below, ends[1], &args)?,
                (_, Some(f64::INFINITY)) => law.tail(inner, Side::Above, ends[0], &args)?,
                _ => law.between(inner, ends, &args)?,
            };
            // An end that moves may leave the outcome outside.
            let x = law.outcome();
            let walls =
                [(1, x - ends[0]), (2, ends[1] - x)].map(|(i, inside)| match law.known(i) {
                    Some(_) => law.number(0.0),
                    None => inside.wall(),
                });
            Some(log_inner - log_mass + walls[0] + walls[1])
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (between, _) = parameters(args)?;
        Ok(match (between.is_discrete, between.ends()) {
            (true, (low, high)) => Support::Integers { low, high },
            (false, (f64::NEG_INFINITY, f64::INFINITY)) => Support::Reals,
            (false, (low, high)) => Support::Interval { low, high },
        })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[1, 2]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_coin(x)
    }
}
