//! f(x) = sum over k of w_k D_k(x) / sum of w: one of several laws of numbers, by weights.

use std::borrow::Cow;

use smidgen_value::math::{exp, ln, logsumexp};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::categorical::total_and_least;
use super::outcome;
use crate::arguments;
use crate::law::{self, Inner, Numbers};
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::recipe::write::Term;
use crate::support::Support;

pub struct Mixture;

static SPEC: Spec = Spec {
    name: "mixture",
    aliases: &[],
    parameters: "weights D1 args1 ...",
    arity: Arity::at_least(3),
    summary: "A draw from one of the distributions D1, D2, ..., each followed by the list of its arguments, chosen with probability proportional to its weight",
    example: "(mixture (vector 0.3 0.7) normal (list 0 1) normal (list 3 0.5))",
};

/// Laws of numbers with their arguments, and their weights.
struct Parts<'a> {
    weights: Cow<'a, [f64]>,
    total: f64,
    laws: Vec<(Inner, Vec<Value>)>,
}

/// The sum of the weights, which have to be as many as laws, not negative and not all zero.
fn total(weights: &[f64], laws: usize) -> Option<f64> {
    let (total, least) = total_and_least(weights);
    (weights.len() == laws && least >= 0.0 && arguments::is_positive(total)).then_some(total)
}

impl<'a> Parts<'a> {
    fn read(args: Args<'a>) -> Result<Parts<'a>, ArgumentError> {
        let weights = arguments::reals(args, 0)?;
        if args.len().is_multiple_of(2) {
            let message = "each distribution is followed by the list of its arguments".to_owned();
            return Err(ArgumentError::other(message));
        }
        let mut laws = Vec::with_capacity(args.len() / 2);
        for i in (1..args.len()).step_by(2) {
            let arguments = arguments::elements(args, i + 1)?;
            laws.push((Inner::read(args, i, arguments.len())?, arguments));
        }
        if weights.len() != laws.len() {
            return Err(ArgumentError::other(format!(
                "the dimensions differ: {} weights for {} distributions",
                weights.len(),
                laws.len()
            )));
        }
        let expected = "non-negative weights of which some are positive";
        let total = total(&weights, laws.len())
            .ok_or_else(|| ArgumentError::domain(0, expected, args[0]))?;
        Ok(Parts { weights, total, laws })
    }

    /// Something of each law that has a weight; an error names the list of arguments.
    fn each<T>(
        &self,
        ask: impl Fn(usize, Inner, Args<'_>) -> Result<T, ArgumentError>,
    ) -> Result<Vec<T>, ArgumentError> {
        let laws = self.laws.iter().enumerate();
        let asked = laws.map(|(k, (inner, values))| {
            let args: Vec<&Value> = values.iter().collect();
            ask(k, *inner, &args).map_err(|error| error.of(2 + 2 * k))
        });
        asked.collect()
    }

    fn support(&self) -> Result<Support, ArgumentError> {
        let supports = self.each(|_, inner, args| inner.support(args))?;
        let mut hull: Option<Support> = None;
        for support in supports {
            let joined = match hull {
                None => Some(support),
                Some(hull) => joined(hull, support),
            };
            let message = "all distributions are of whole numbers, or all of real ones".to_owned();
            hull = Some(joined.ok_or_else(|| ArgumentError::other(message))?);
        }
        Ok(hull.expect("one law at least"))
    }
}

/// The least support of its kind that holds both.
fn joined(a: Support, b: Support) -> Option<Support> {
    use Support::{Circle, Integers, Interval, Reals};
    let ends = |support: &Support| match support {
        Interval { low, high } => (*low, *high),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    match (&a, &b) {
        (Integers { low, high }, Integers { low: other_low, high: other_high }) => {
            Some(Integers { low: low.min(*other_low), high: high.max(*other_high) })
        }
        (Circle, Circle) => Some(Circle),
        (Reals | Interval { .. }, Reals | Interval { .. }) => {
            let ((low, high), (other_low, other_high)) = (ends(&a), ends(&b));
            match (low.min(other_low), high.max(other_high)) {
                (f64::NEG_INFINITY, f64::INFINITY) => Some(Reals),
                (low, high) => Some(Interval { low, high }),
            }
        }
        _ => None,
    }
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let weights = args[0];
    let laws = args.len() / 2;
    let Some(total) = total(weights, laws) else { return f64::NEG_INFINITY };
    let wanted = law::wants_slopes(x_slope, slopes);
    let mut logs = Numbers::new();
    let mut inner_slopes: Vec<Numbers> = Vec::new();
    for (k, weight) in weights.iter().enumerate() {
        let inner =
            args[1 + 2 * k].first().and_then(|n| Inner::numbered(*n, args[2 + 2 * k].len()));
        let Some(inner) = inner else { return f64::NEG_INFINITY };
        let (log_density, slopes) = inner.slopes(x[0], args[2 + 2 * k], wanted);
        if log_density == f64::NEG_INFINITY && !inner.is_valid(args[2 + 2 * k]) {
            return f64::NEG_INFINITY;
        }
        logs.push(ln(weight / total) + log_density);
        inner_slopes.push(slopes);
    }
    let log_density = logsumexp(&logs);
    if !(wanted && log_density > f64::NEG_INFINITY) {
        return log_density;
    }
    for (k, inner_slopes) in inner_slopes.iter().enumerate() {
        let share = exp(logs[k] - log_density);
        if share > 0.0
            && let Some(slope) = x_slope.first_mut()
        {
            *slope += share * inner_slopes[0];
        }
        for (slope, inner) in slopes[2 + 2 * k].iter_mut().zip(&inner_slopes[1..]) {
            if share > 0.0 {
                *slope += share * inner;
            }
        }
        if let Some(slope) = slopes[0].get_mut(k) {
            let ratio = if weights[k] > 0.0 { share / weights[k] } else { 0.0 };
            *slope += ratio - 1.0 / total;
        }
    }
    log_density
}

impl Distribution for Mixture {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let parts = Parts::read(args)?;
        parts.support()?;
        let mut rest = rng.uniform() * parts.total;
        let mut chosen = 0;
        for (k, weight) in parts.weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            // Should rounding leave a rest, it is the last possible one.
            chosen = k;
            rest -= weight;
            if rest < 0.0 {
                break;
            }
        }
        let (inner, values) = &parts.laws[chosen];
        let drawn = inner.sample(&values.iter().collect::<Vec<_>>(), rng);
        let drawn = drawn.map_err(|error| error.of(2 + 2 * chosen))?;
        Ok(Value::Number(outcome::number(&drawn)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let parts = Parts::read(args)?;
        let x = outcome::number(x);
        let logs = parts.each(|k, inner, args| {
            Ok(ln(parts.weights[k] / parts.total) + inner.log_density(x, args)?)
        })?;
        Ok(logsumexp(&logs))
    }

    /// log Σ w_k D_k(x) - log Σ w_k
    fn sized_recipe(
        &self,
        arguments: &[Option<f64>],
        sizes: &[usize],
        link: Option<Link>,
    ) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let laws = *sizes.first()?;
            let mut next = laws;
            let (mut total, mut log_sum) = (law.number(0.0), law.number(f64::NEG_INFINITY));
            for k in 0..laws {
                let count = *sizes.get(2 + 2 * k)?;
                let inner = law::numbered(law.known(next)?)?;
                let args = next + 1..next + 1 + count;
                next = args.end;
                let args: Vec<Term<'_>> = args.map(|i| law.argument(i)).collect();
                let weight = law.argument(k);
                total = total + weight;
                log_sum = log_sum.log_add(weight.log() + law.density(inner, law.outcome(), &args)?);
            }
            Some(log_sum - total.log())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Parts::read(args)?.support()
    }

    fn support_arguments(&self) -> &'static [usize] {
        // The ends of a uniform law, say.
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_coin(x)
    }
}
