//! P(k) = F(c_k - eta) - F(c_(k-1) - eta) with F(t) = 1 / (1 + e^-t), c_(-1) = -inf and the last c
//! inf: an ordered category from 0 on. With a above b,
//!
//! log(F(a) - F(b)) = log F(a) + log F(-b) + log(1 - e^(b - a)),
//!
//! which loses nothing however far out they are.

use smidgen_value::math::{expm1, ln, ln_1p, log_logistic, logistic};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::ordered_category::{self, Between, Curve};
use crate::cumulative::log_complement;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::recipe::Recipe;
use crate::recipe::write::Term;
use crate::smooth;
use crate::support::Support;

pub struct OrderedLogistic;

static SPEC: Spec = Spec {
    name: "ordered_logistic",
    aliases: &[],
    parameters: "eta cuts",
    arity: Arity::exactly(2),
    summary: "The index, from 0 on, of the stretch between increasing cut points into which eta plus logistic noise falls",
    example: "(ordered_logistic 0.3 (vector -1 0.5 2))",
};

struct Logistic;

impl Curve for Logistic {
    fn log_mass(between: Between) -> f64 {
        let Between { low, high, width } = between;
        let sides = log_logistic(high) + log_logistic(-low);
        if width == f64::INFINITY { sides } else { sides + log_complement(-width) }
    }

    fn slopes(between: Between, _: f64) -> [f64; 2] {
        let Between { low, high, width } = between;
        let both = 1.0 / expm1(width);
        [-logistic(low) - both, logistic(-high) + both]
    }

    fn noise(rng: &mut Rng) -> f64 {
        let u = rng.open_uniform();
        ln(u) - ln_1p(-u)
    }
}

impl Distribution for OrderedLogistic {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        ordered_category::sample::<Logistic>(args, rng)
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        ordered_category::log_density::<Logistic>(x, args)
    }

    /// With L the logistic curve, L(a) - L(b) = L(a) L(-b) (1 - e^(b - a)).
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            law.unlinked()?;
            let (k, eta) = (law.outcome(), law.argument(0));
            let cuts: Vec<Term<'_>> = (1..arguments.len()).map(|i| law.argument(i)).collect();
            let curve = smooth::Curve::LogLogistic;
            let mut seen = (eta - *cuts.last()?).curve(curve);
            for (place, cut) in cuts.iter().enumerate().rev() {
                let mut own = (*cut - eta).curve(curve);
                if place > 0 {
                    let gap = cuts[place - 1] - *cut;
                    own = own
                        + (eta - cuts[place - 1]).curve(curve)
                        + gap.curve(smooth::Curve::Log1mExp);
                }
                seen = k.equals(law.number(place as f64)).either(own, seen);
            }
            Some(seen)
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(ordered_category::score::<Logistic>))
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
        ordered_category::enumerate::<Logistic>(args)
    }
}
