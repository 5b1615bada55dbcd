//! A law of numbers of which everything below lo is seen as lo and everything above hi as hi: P(lo) = P(X <= lo),
//! P(hi) = P(X >= hi), and the law's own density between.

use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::between::Between;
use super::outcome;
use crate::cumulative::Side;
use crate::law;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::recipe::write::Term;
use crate::support::Support;

pub struct Censor;

static SPEC: Spec = Spec {
    name: "censor",
    aliases: &[],
    parameters: "D lo hi args ...",
    arity: Arity::at_least(3),
    summary: "A draw from (D args ...), seen as lo if it lies below and as hi if it lies above; -inf and inf are no ends",
    example: "(censor normal -1 2 0.5 1)",
};

/// What is seen: an end with all that lies beyond it, or the number itself.
enum Seen {
    Beyond(Side, f64),
    Itself,
    Nothing,
}

fn seen(between: &Between, x: f64) -> Seen {
    if x == between.low {
        Seen::Beyond(Side::Below, x)
    } else if x == between.high {
        // The point itself belongs to it.
        let from = if between.is_discrete { x.ceil() - 1.0 } else { x };
        Seen::Beyond(Side::Above, from)
    } else if between.low < x && x < between.high {
        Seen::Itself
    } else {
        Seen::Nothing
    }
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let Some(between) = Between::of_numbers(args).filter(|_| x[0].is_finite()) else {
        return f64::NEG_INFINITY;
    };
    let wanted = law::wants_slopes(x_slope, slopes);
    match seen(&between, x[0]) {
        Seen::Nothing => f64::NEG_INFINITY,
        Seen::Itself => {
            let (log_inner, inner_slopes) = between.inner.slopes(x[0], &between.args, wanted);
            if wanted && log_inner > f64::NEG_INFINITY {
                if let Some(slope) = x_slope.first_mut() {
                    *slope += inner_slopes[0];
                }
                law::add(&mut slopes[3..], 1.0, &inner_slopes[1..]);
            }
            if log_inner.is_nan() { f64::NEG_INFINITY } else { log_inner }
        }
        Seen::Beyond(side, from) => match between.part(side, from, wanted) {
            Some((log_p, part_slopes)) => {
                if wanted && log_p > f64::NEG_INFINITY {
                    // The observed end and the end move together or not at all: what moves are the law's arguments.
                    law::add(&mut slopes[3..], 1.0, &part_slopes[1..]);
                }
                log_p
            }
            None => f64::NEG_INFINITY,
        },
    }
}

impl Distribution for Censor {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let between = Between::read(args)?;
        let drawn = between.inner.sample(&args[3..], rng).map_err(|error| error.after(3))?;
        Ok(Value::Number(outcome::number(&drawn).clamp(between.low, between.high)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let between = Between::read(args)?;
        let x = outcome::number(x);
        if !x.is_finite() {
            return Ok(f64::NEG_INFINITY);
        }
        match seen(&between, x) {
            Seen::Nothing => Ok(f64::NEG_INFINITY),
            Seen::Itself => {
                between.inner.log_density(x, &args[3..]).map_err(|error| error.after(3))
            }
            Seen::Beyond(side, from) => {
                Ok(between.part(side, from, false).map_or(f64::NEG_INFINITY, |(log_p, _)| log_p))
            }
        }
    }

    /// At an end the log probability of what lies beyond it, elsewhere log D(x).
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        let inner = law::numbered(*arguments.first()?.as_ref()?)?;
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let x = law.outcome();
            let args: Vec<Term<'_>> = (3..arguments.len()).map(|i| law.argument(i)).collect();
            let mut seen = law.density(inner, x, &args)?;
            for (place, side) in [(1, Side::Below), (2, Side::Above)] {
                if !law.known(place).is_some_and(f64::is_infinite) {
                    let end = law.argument(place);
                    seen = x.equals(end).either(law.tail(inner, side, end, &args)?, seen);
                }
            }
            Some(seen)
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let between = Between::read(args)?;
        let low = between.low.max(between.own.0.min(between.high));
        let high = between.high.min(between.own.1.max(between.low));
        let is_whole = |x: f64| x.is_infinite() || x.fract() == 0.0;
        Ok(match between.is_discrete && is_whole(low) && is_whole(high) {
            true => Support::Integers { low, high },
            false => Support::Mixed { low, high },
        })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[1, 2]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_coin(x)
    }
}
