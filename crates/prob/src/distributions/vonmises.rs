//! f(x) = exp(kappa cos(x - mu)) / (2 pi I_0(kappa)) on the circle, x from -pi to pi.

use smidgen_value::math::{HALF_LN_2PI, PI, atan2, cos, hypot, ln, sin};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::collapsed::draw::standard_normal;
use crate::procedure::{Args, Arity, Distribution, Score, Spec, wanted};
use crate::recipe::Recipe;
use crate::smooth::{Curve, log_scaled_bessel};
use crate::support::{Support, wrap};

pub struct Vonmises;

static SPEC: Spec = Spec {
    name: "vonmises",
    aliases: &[],
    parameters: "mu kappa",
    arity: Arity::exactly(2),
    summary: "An angle in (-pi, pi] around mu, the more concentrated the larger kappa",
    example: "(vonmises 0 2)",
};

fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::finite(args, 0, "a finite mean angle")?,
        arguments::number_where(args, 1, "a non-negative (zero or positive) concentration", |x| {
            x >= 0.0 && x.is_finite()
        })?,
    ))
}

/// From here on the law is a normal one of variance 1 / kappa: the next term, of size 1 / kappa, is below rounding.
const NORMAL_FROM: f64 = 1e16;

/// An angle around 0, by Best and Fisher's (1979) rejection from the wrapped Cauchy law with
/// parameter rho, in terms of 1 - rho and 1 - cos so that no kappa is too small or too large.
fn draw(kappa: f64, rng: &mut Rng) -> f64 {
    if kappa > NORMAL_FROM {
        return standard_normal(rng) / kappa.sqrt();
    }
    let root = hypot(1.0, 2.0 * kappa);
    let tau = 1.0 + root;
    let kappa_over_rho = (tau.sqrt() + 2f64.sqrt()) * tau / (2.0 * tau.sqrt());
    let rho = kappa / kappa_over_rho;
    let gap = if kappa < 1.0 {
        1.0 - rho
    } else {
        ((2.0 * tau).sqrt() - 1.0 - 1.0 / (root + 2.0 * kappa)) / (2.0 * kappa)
    };
    loop {
        let half_angle = 0.5 * PI * rng.open_uniform();
        let (s, c) = (sin(half_angle), cos(half_angle));
        let one_minus_cosine = 2.0 * gap * gap * s * s / (gap * gap + 4.0 * rho * c * c);
        let weight = 0.5 * kappa_over_rho * gap * gap + kappa * one_minus_cosine;
        let u = rng.open_uniform();
        if weight * (2.0 - weight) > u || ln(weight / u) + 1.0 >= weight {
            let angle = 2.0 * atan2(one_minus_cosine.sqrt(), (2.0 - one_minus_cosine).sqrt());
            return if rng.coin() { angle } else { -angle };
        }
    }
}

fn log_density(x: f64, mu: f64, kappa: f64) -> f64 {
    if !(-PI..=PI).contains(&x) {
        return f64::NEG_INFINITY;
    }
    let half_sine = sin(0.5 * (x - mu));
    let (log_bessel, _) = log_scaled_bessel(kappa);
    // In this order nothing is infinite that is not so in the end.
    -2.0 * (kappa * half_sine) * half_sine - 2.0 * HALF_LN_2PI - log_bessel
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (mu, kappa) = (args[0], args[1]);
    if !(mu.is_finite() && kappa >= 0.0 && kappa.is_finite()) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || {
        let (sine, half_sine) = (sin(x - mu), sin(0.5 * (x - mu)));
        let (_, by_kappa) = log_scaled_bessel(kappa);
        [-kappa * sine, kappa * sine, -2.0 * half_sine * half_sine - by_kappa]
    });
    log_density(x, mu, kappa)
}

impl Distribution for Vonmises {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mu, kappa) = parameters(args)?;
        Ok(Value::Number(wrap(wrap(mu) + draw(kappa, rng))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (mu, kappa) = parameters(args)?;
        let x = outcome::number(x);
        Ok(log_density(x, mu, kappa))
    }

    /// kappa (cos(x - mu) - 1) - log(e^-kappa I_0(kappa)) - log(2 pi)
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (x, mu, kappa) = (law.outcome(), law.argument(0), law.argument(1));
            let turn = kappa * ((x - mu).curve(Curve::Cos) - 1.0);
            Some(turn - kappa.curve(Curve::LogScaledBessel) - 2.0 * HALF_LN_2PI)
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::Circle)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
