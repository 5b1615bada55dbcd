//! P(k) = Phi(c_k - eta) - Phi(c_(k-1) - eta) with the normal distribution function Phi, c_(-1) = -inf and
//! the last c inf: an ordered category from 0 on.

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::math::{HALF_LN_2PI, exp};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::normal_tail::log_mass;
use super::ordered_category::{self, Between, Curve};
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::recipe::write::{Term, log_difference};
use crate::smooth;
use crate::support::Support;

pub struct OrderedProbit;

static SPEC: Spec = Spec {
    name: "ordered_probit",
    aliases: &[],
    parameters: "eta cuts",
    arity: Arity::exactly(2),
    summary: "The index, from 0 on, of the stretch between increasing cut points into which eta plus standard normal noise falls",
    example: "(ordered_probit 0.3 (vector -1 0.5 2))",
};

struct Normal;

/// log of the normal density.
fn log_phi(z: f64) -> f64 {
    -0.5 * z * z - HALF_LN_2PI
}

impl Curve for Normal {
    fn log_mass(between: Between) -> f64 {
        log_mass(between.low, between.high, between.width)
    }

    fn slopes(between: Between, log_mass: f64) -> [f64; 2] {
        [-exp(log_phi(between.low) - log_mass), exp(log_phi(between.high) - log_mass)]
    }

    fn noise(rng: &mut Rng) -> f64 {
        StandardNormal.sample(rng)
    }
}

impl Distribution for OrderedProbit {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        ordered_category::sample::<Normal>(args, rng)
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        ordered_category::log_density::<Normal>(x, args)
    }

    /// Each category is between two cuts; the first and the last are on one side of one.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (k, eta) = (law.outcome(), law.argument(0));
            let sides: Vec<[Term<'_>; 2]> = (1..arguments.len())
                .map(|i| [law.argument(i) - eta, eta - law.argument(i)])
                .map(|ends| ends.map(|z| z.curve(smooth::Curve::LogNormalCdf)))
                .collect();
            let mut seen = sides.last()?[1];
            for (place, cut) in sides.iter().enumerate().rev() {
                let own = match place.checked_sub(1) {
                    Some(before) => log_difference(sides[before], *cut),
                    None => cut[0],
                };
                seen = k.equals(law.number(place as f64)).either(own, seen);
            }
            Some(seen)
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(ordered_category::score::<Normal>))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        ordered_category::support(args)
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        super::outcome::admit_number(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        ordered_category::enumerate::<Normal>(args)
    }
}
