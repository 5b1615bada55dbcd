//! Independent applications with known parameters, summarised so that a change of the
//! parameters costs O(1):
//!
//! * `make_suff_stat_bernoulli(p)`: log p(x_1..x_n) = k log p + (n - k) log(1 - p), k the
//!   number of `true`;
//! * `make_suff_stat_poisson(rate)`: S log rate - n rate - sum_i log x_i!, S = sum_i x_i;
//! * `make_suff_stat_normal(mean, sd)`: -n log(sd sqrt(2 pi)) - (Q + n (m - mean)^2) / (2 sd^2),
//!   m the average and Q the sum of squares about it.
//!
//! The uncollapsed makers of the conjugate families use the same statistics; they only read
//! their parameters elsewhere (from the latent value).

use smidgen_value::math::{self, HALF_LN_2PI};
use smidgen_value::{ArgumentError, Rng, Value};

use super::counted::{Law, Made, Summary, admit_number, counted};
use super::draw;
use super::wide::Wide;
use crate::arguments;
use crate::chance::{Chance, times};
use crate::distributions::poisson::rate;
use crate::procedure::{Args, Arity, Spec};
use crate::support::Support;

// ---------------------------------------------------------------- booleans

/// How often `true` and `false` came up.
#[derive(Clone, Default)]
pub struct Coins {
    pub heads: usize,
    pub tails: usize,
    outside: usize,
}

/// 1 and 0 are as good as `true` and `false`.
#[inline]
pub fn as_coin(x: &Value) -> Option<bool> {
    match x.as_number()? {
        1.0 => Some(true),
        0.0 => Some(false),
        _ => None,
    }
}

impl Coins {
    fn tally(&mut self, x: &Value) -> &mut usize {
        match as_coin(x) {
            Some(true) => &mut self.heads,
            Some(false) => &mut self.tails,
            None => &mut self.outside,
        }
    }

    pub fn all_inside(&self) -> bool {
        self.outside == 0
    }
}

impl Summary for Coins {
    const EXACT: bool = true;

    fn add(&mut self, x: &Value) {
        *self.tally(x) += 1;
    }

    fn remove(&mut self, x: &Value) {
        *self.tally(x) -= 1;
    }

    fn count(&self) -> usize {
        self.heads + self.tails + self.outside
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        as_coin(x).map(Value::Bool).ok_or("a boolean")
    }
}

pub fn enumerate_coins() -> Option<Vec<Value>> {
    Some(vec![Value::TRUE, Value::FALSE])
}

/// Coins of known weight; the weight is the first parameter.
#[derive(Clone)]
pub struct IndependentCoins;

impl Law<Coins> for IndependentCoins {
    fn sample(&self, _: &Coins, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::Bool(Chance::read(params, 0)?.draw(rng)))
    }

    fn log_predictive(&self, x: &Value, _: &Coins, params: Args<'_>) -> Result<f64, ArgumentError> {
        let p = Chance::read(params, 0)?;
        Ok(as_coin(x).map_or(f64::NEG_INFINITY, |heads| p.log_of(heads)))
    }

    fn log_marginal(&self, seen: &Coins, params: Args<'_>) -> Result<f64, ArgumentError> {
        let p = Chance::read(params, 0)?;
        if !seen.all_inside() {
            return Ok(f64::NEG_INFINITY);
        }
        Ok(times(seen.heads as f64, p.ln()) + times(seen.tails as f64, p.ln_complement()))
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        arguments::probability(params, 0)?;
        Ok(Support::Booleans)
    }

    fn enumerate(&self, _: &Coins, params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        Ok(match Chance::read(params, 0)?.possible() {
            [false, _] => Some(vec![Value::FALSE]),
            [_, false] => Some(vec![Value::TRUE]),
            _ => enumerate_coins(),
        })
    }
}

pub static MAKE_SUFF_STAT_BERNOULLI: Made = Made {
    spec: &Spec {
        name: "make_suff_stat_bernoulli",
        aliases: &[],
        parameters: "p",
        arity: Arity::exactly(1),
        summary: "A coin of weight p whose weight can move in O(1), however often it was thrown",
        example: "((make_suff_stat_bernoulli 0.3))",
    },
    check: |args| arguments::probability(args, 0).map(drop),
    empty: |params| {
        arguments::probability(params, 0)?;
        Ok(counted(Coins::default(), IndependentCoins))
    },
    latent: None,
};

// ---------------------------------------------------------------- counts

/// Number, sum and sum of log factorials of counts.
///
/// The log factorials are summed as whole multiples of 2^-52, so that taking a value out again
/// restores the sum exactly and counts need no snapshots.
#[derive(Clone, Default)]
pub struct Events {
    pub n: usize,
    sum: u128,
    log_factorials: i128,
    outside: usize,
}

const LOG_FACTORIAL_UNITS: f64 = (1u64 << 52) as f64;

/// A whole number from 0 on that a sum can hold.
#[inline]
pub fn as_count(x: &Value) -> Option<f64> {
    x.as_number().filter(|x| *x >= 0.0 && x.fract() == 0.0 && *x < 9.0e18)
}

#[inline]
pub fn log_factorial(x: f64) -> f64 {
    if x < 2.0 { 0.0 } else { math::ln_gamma(x + 1.0) }
}

fn log_factorial_units(x: f64) -> i128 {
    (log_factorial(x) * LOG_FACTORIAL_UNITS).round() as i128
}

impl Events {
    pub fn sum(&self) -> f64 {
        self.sum as f64
    }

    /// sum_i log x_i!
    pub fn log_factorials(&self) -> f64 {
        self.log_factorials as f64 / LOG_FACTORIAL_UNITS
    }

    pub fn all_inside(&self) -> bool {
        self.outside == 0
    }
}

impl Summary for Events {
    const EXACT: bool = true;

    fn add(&mut self, x: &Value) {
        match as_count(x) {
            Some(x) => {
                self.n += 1;
                self.sum += x as u128;
                self.log_factorials += log_factorial_units(x);
            }
            None => self.outside += 1,
        }
    }

    fn remove(&mut self, x: &Value) {
        match as_count(x) {
            Some(x) => {
                self.n -= 1;
                self.sum -= x as u128;
                self.log_factorials -= log_factorial_units(x);
            }
            None => self.outside -= 1,
        }
    }

    fn count(&self) -> usize {
        self.n + self.outside
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        admit_number(x)
    }
}

/// Poisson counts of known rate; the rate is the first parameter.
#[derive(Clone)]
pub struct IndependentEvents;

impl Law<Events> for IndependentEvents {
    fn sample(&self, _: &Events, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::Number(draw::poisson(rate(params)?, rng)))
    }

    fn log_predictive(
        &self,
        x: &Value,
        _: &Events,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let rate = rate(params)?;
        Ok(match as_count(x) {
            Some(x) => math::xlogy(x, rate) - rate - log_factorial(x),
            None => f64::NEG_INFINITY,
        })
    }

    fn log_marginal(&self, seen: &Events, params: Args<'_>) -> Result<f64, ArgumentError> {
        let rate = rate(params)?;
        if !seen.all_inside() {
            return Ok(f64::NEG_INFINITY);
        }
        Ok(math::xlogy(seen.sum(), rate) - seen.n as f64 * rate - seen.log_factorials())
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        rate(params)?;
        Ok(Support::COUNTS)
    }
}

pub static MAKE_SUFF_STAT_POISSON: Made = Made {
    spec: &Spec {
        name: "make_suff_stat_poisson",
        aliases: &[],
        parameters: "rate",
        arity: Arity::exactly(1),
        summary: "Poisson counts whose rate can move in O(1), however many were drawn",
        example: "((make_suff_stat_poisson 4))",
    },
    check: |args| rate(args).map(drop),
    empty: |params| {
        rate(params)?;
        Ok(counted(Events::default(), IndependentEvents))
    },
    latent: None,
};

// ---------------------------------------------------------------- reals

/// Number, sum and sum of squares of reals.
#[derive(Clone, Default)]
pub struct Moments {
    pub n: usize,
    sum: Wide,
    squares: Wide,
    outside: usize,
}

/// The reals that can be squared and summed.
pub const LARGEST: f64 = 1e150;

#[inline]
pub fn as_real(x: &Value) -> Option<f64> {
    x.as_number().filter(|x| x.abs() <= LARGEST)
}

impl Moments {
    /// The average less `origin`.
    pub fn mean_from(&self, origin: f64) -> f64 {
        if self.n == 0 {
            return 0.0;
        }
        self.sum.over(self.n as f64).minus(Wide::new(origin)).value()
    }

    /// The sum of squares about the average.
    pub fn scatter(&self) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        self.squares.minus(self.sum.times(self.sum).over(self.n as f64)).value().max(0.0)
    }

    pub fn all_inside(&self) -> bool {
        self.outside == 0
    }
}

impl Summary for Moments {
    const EXACT: bool = false;

    fn add(&mut self, x: &Value) {
        match as_real(x) {
            Some(x) => {
                self.n += 1;
                self.sum = self.sum.plus(Wide::new(x));
                self.squares = self.squares.plus(Wide::product(x, x));
            }
            None => self.outside += 1,
        }
    }

    fn remove(&mut self, x: &Value) {
        match as_real(x) {
            Some(_) if self.n == 1 => {
                *self = Moments { outside: self.outside, ..Moments::default() }
            }
            Some(x) => {
                self.n -= 1;
                self.sum = self.sum.minus(Wide::new(x));
                self.squares = self.squares.minus(Wide::product(x, x));
            }
            None => self.outside -= 1,
        }
    }

    fn count(&self) -> usize {
        self.n + self.outside
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        admit_number(x)
    }
}

/// Normal reals of known mean and sd, which `read` finds in the parameters.
#[derive(Clone)]
pub struct IndependentNormals {
    pub read: fn(Args<'_>) -> Result<(f64, f64), ArgumentError>,
}

impl Law<Moments> for IndependentNormals {
    fn sample(&self, _: &Moments, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mean, sd) = (self.read)(params)?;
        Ok(Value::Number(draw::normal(mean, sd, rng)))
    }

    fn log_predictive(
        &self,
        x: &Value,
        _: &Moments,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let (mean, sd) = (self.read)(params)?;
        Ok(match as_real(x) {
            Some(x) => {
                let z = (x - mean) / sd;
                -HALF_LN_2PI - math::ln(sd) - 0.5 * z * z
            }
            None => f64::NEG_INFINITY,
        })
    }

    fn log_marginal(&self, seen: &Moments, params: Args<'_>) -> Result<f64, ArgumentError> {
        let (mean, sd) = (self.read)(params)?;
        if !seen.all_inside() {
            return Ok(f64::NEG_INFINITY);
        }
        let n = seen.n as f64;
        let z = seen.mean_from(mean) / sd;
        Ok(-n * (HALF_LN_2PI + math::ln(sd)) - 0.5 * (seen.scatter() / sd / sd + n * z * z))
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        (self.read)(params)?;
        Ok(Support::Reals)
    }
}

fn mean_and_sd(params: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    let mean = arguments::finite(params, 0, "a finite mean")?;
    Ok((mean, arguments::positive(params, 1, "a positive sd")?))
}

pub static MAKE_SUFF_STAT_NORMAL: Made = Made {
    spec: &Spec {
        name: "make_suff_stat_normal",
        aliases: &[],
        parameters: "mean sd",
        arity: Arity::exactly(2),
        summary: "Normal draws whose mean and sd can move in O(1), however many were drawn",
        example: "((make_suff_stat_normal 0 1))",
    },
    check: |args| mean_and_sd(args).map(drop),
    empty: |params| {
        mean_and_sd(params)?;
        Ok(counted(Moments::default(), IndependentNormals { read: mean_and_sd }))
    },
    latent: None,
};
