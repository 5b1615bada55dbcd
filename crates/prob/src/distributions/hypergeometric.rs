//! P(k) = C(good, k) C(bad, n - k) / C(good + bad, n): how many good ones are among n, drawn without
//! replacement from so many good and bad ones.

use smidgen_value::math::exp;
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use super::saddle_point::log_trials;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct Hypergeometric;

static SPEC: Spec = Spec {
    name: "hypergeometric",
    aliases: &[],
    parameters: "n good bad",
    arity: Arity::exactly(3),
    summary: "How many good ones are among n that are drawn without replacement from so many good and bad ones",
    example: "(hypergeometric 5 6 7)",
};

/// More values than this are not enumerated.
const MOST_ENUMERATED: f64 = 100_000.0;

#[derive(Clone, Copy)]
struct Urn {
    n: f64,
    good: f64,
    bad: f64,
}

impl Urn {
    fn read(args: Args<'_>) -> Result<Urn, ArgumentError> {
        let n = arguments::count(args, 0, "a number of draws (a whole number from 0 on)")? as f64;
        let good =
            arguments::count(args, 1, "how many are good (a whole number from 0 on)")? as f64;
        let bad = arguments::count(args, 2, "how many are bad (a whole number from 0 on)")? as f64;
        if n <= good + bad {
            Ok(Urn { n, good, bad })
        } else {
            Err(ArgumentError::domain(0, "no more draws than there are (out of range)", args[0]))
        }
    }

    fn of(args: &[f64]) -> Option<Urn> {
        let (n, good, bad) = (args[0], args[1], args[2]);
        let valid = args.iter().all(|x| arguments::is_count(*x)) && n <= good + bad;
        valid.then_some(Urn { n, good, bad })
    }

    fn least(self) -> f64 {
        (self.n - self.bad).max(0.0)
    }

    fn most(self) -> f64 {
        self.n.min(self.good)
    }

    /// Binomial probabilities with the same p, whatever it is, in the place of the three choices; with p = n / all of them are
    /// near their middle.
    fn log_mass(self, k: f64) -> f64 {
        let Urn { n, good, bad } = self;
        if !(outcome::is_count(k) && self.least() <= k && k <= self.most()) {
            return f64::NEG_INFINITY;
        }
        let all = good + bad;
        if all == 0.0 || self.least() == self.most() {
            return 0.0;
        }
        let p = n / all;
        let good = log_trials(k, good - k, p);
        let bad = log_trials(n - k, bad - (n - k), p);
        (good + bad - log_trials(n, all - n, p)).min(0.0)
    }

    /// P(k + 1) / P(k)
    fn ratio(self, k: f64) -> f64 {
        let Urn { n, good, bad } = self;
        (good - k) / (k + 1.0) * ((n - k) / (bad - n + k + 1.0))
    }
}

/// Nothing in it moves.
fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    slope.fill(0.0);
    Urn::of(args).map_or(f64::NEG_INFINITY, |urn| urn.log_mass(x))
}

impl Distribution for Hypergeometric {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    /// Inversion from the mode outwards, to the likelier side first: as many steps as a few standard deviations.
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let urn = Urn::read(args)?;
        let (least, most) = (urn.least(), urn.most());
        let mode = ((urn.n + 1.0) * ((urn.good + 1.0) / (urn.good + urn.bad + 2.0))).floor();
        let mode = mode.clamp(least, most);
        let at_mode = exp(urn.log_mass(mode));
        // A search that has come to both ends has lost its last digits and begins anew.
        'search: loop {
            let mut rest = rng.uniform() - at_mode;
            let (mut up, mut down) = (mode, mode);
            let (mut p_up, mut p_down) = (at_mode, at_mode);
            if rest < 0.0 {
                return Ok(Value::Number(mode));
            }
            while up < most || down > least {
                let next_up = if up < most { p_up * urn.ratio(up) } else { 0.0 };
                let next_down = if down > least { p_down / urn.ratio(down - 1.0) } else { 0.0 };
                if next_up >= next_down {
                    (up, p_up) = (up + 1.0, next_up);
                    rest -= next_up;
                    if rest < 0.0 {
                        return Ok(Value::Number(up));
                    }
                } else {
                    (down, p_down) = (down - 1.0, next_down);
                    rest -= next_down;
                    if rest < 0.0 {
                        return Ok(Value::Number(down));
                    }
                }
                if next_up.max(next_down) < 1e-18 * at_mode {
                    continue 'search;
                }
            }
        }
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        Ok(Urn::read(args)?.log_mass(outcome::number(x)))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let urn = Urn::read(args)?;
        Ok(Support::Integers { low: urn.least(), high: urn.most() })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0, 1, 2]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }

    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let urn = Urn::read(args)?;
        let (least, most) = (urn.least(), urn.most());
        if most - least > MOST_ENUMERATED {
            return Ok(None);
        }
        Ok(Some((0..=(most - least) as usize).map(|k| Value::Number(least + k as f64)).collect()))
    }
}
