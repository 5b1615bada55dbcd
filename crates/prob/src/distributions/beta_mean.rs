//! f(x) = x^(a - 1) (1 - x)^(b - 1) / B(a, b) between 0 and 1, with a = mu kappa and
//! b = (1 - mu) kappa: the beta law by its mean mu and its size kappa.

use smidgen_value::math::{digamma_difference, ln, ln_1p, logistic, xovery};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::{beta, outcome};
use crate::arguments;
use crate::chance::Chance;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::{Recipe, write};
use crate::smooth::Curve;
use crate::support::Support;

pub struct BetaMean;

static SPEC: Spec = Spec {
    name: "beta_mean",
    aliases: &[],
    parameters: "mu kappa",
    arity: Arity::exactly(2),
    summary: "A number between 0 and 1 with mean mu, the more concentrated the larger kappa: beta with the shapes mu kappa and (1 - mu) kappa",
    example: "(beta_mean 0.3 10)",
};

/// The two shapes.
type Shapes = [f64; 2];

/// The mean and what is left to 1.
fn halves(mean: Chance) -> [f64; 2] {
    match mean {
        Chance::Plain(mu) => [mu, 1.0 - mu],
        Chance::LogOdds(log_odds) => [logistic(log_odds), logistic(-log_odds)],
    }
}

/// None unless both shapes are positive doubles.
fn shapes(mean: Chance, kappa: f64) -> Option<Shapes> {
    let shapes = halves(mean).map(|share| share * kappa);
    shapes.iter().all(|shape| arguments::is_positive(*shape)).then_some(shapes)
}

fn parameters(args: Args<'_>) -> Result<Shapes, ArgumentError> {
    let mean = Chance::read(args, 0)?;
    let kappa = arguments::positive(args, 1, "a positive size kappa")?;
    let expected = "a mean between 0 and 1, a probability that is neither";
    shapes(mean, kappa).ok_or_else(|| ArgumentError::domain(0, expected, args[0]))
}

/// The derivatives with respect to x and to each shape.
fn slopes(x: f64, [a, b]: Shapes) -> [f64; 3] {
    [
        xovery(a - 1.0, x) - xovery(b - 1.0, 1.0 - x),
        ln(x) + digamma_difference(a, b),
        ln_1p(-x) + digamma_difference(b, a),
    ]
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (mean, kappa) = (Chance::Plain(args[0]), args[1]);
    let Some(shapes) = shapes(mean, kappa).filter(|_| arguments::is_probability(args[0])) else {
        return f64::NEG_INFINITY;
    };
    wanted(slope, || {
        let ([by_x, by_a, by_b], [mu, rest]) = (slopes(x, shapes), halves(mean));
        [by_x, kappa * (by_a - by_b), mu * by_a + rest * by_b]
    });
    beta::log_density(x, shapes[0], shapes[1])
}

/// The same with the log odds in place of the mean.
fn score_by_odds(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (mean, kappa) = (Chance::LogOdds(args[0]), args[1]);
    let Some(shapes) = shapes(mean, kappa) else { return f64::NEG_INFINITY };
    wanted(slope, || {
        let ([by_x, by_a, by_b], [mu, rest]) = (slopes(x, shapes), halves(mean));
        [by_x, kappa * mu * rest * (by_a - by_b), mu * by_a + rest * by_b]
    });
    beta::log_density(x, shapes[0], shapes[1])
}

impl Distribution for BetaMean {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let [a, b] = parameters(args)?;
        Ok(Value::Number(beta::draw(a, b, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let [a, b] = parameters(args)?;
        Ok(beta::log_density(outcome::number(x), a, b))
    }

    /// (a - 1) log x + (b - 1) log(1 - x) - log B(a, b)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let (x, mean, kappa) = (law.outcome(), law.argument(0).chance()?, law.argument(1));
            let (mu, rest) = match mean {
                write::Chance::Plain(mu) => (mu, 1.0 - mu),
                write::Chance::LogOdds(log_odds) => {
                    (log_odds.curve(Curve::Logistic), (-log_odds).curve(Curve::Logistic))
                }
            };
            let (a, b) = (mu * kappa, rest * kappa);
            let powers = (a - 1.0) * x.log() + (b - 1.0) * (-x).curve(Curve::Log1p);
            Some(powers + kappa.log_gamma() - a.log_gamma() - b.log_gamma())
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 0, link: Link::LogOdds, score: Score::Scalar(score_by_odds) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::UNIT_INTERVAL)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
