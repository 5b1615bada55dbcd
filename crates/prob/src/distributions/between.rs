//! A law of numbers between two ends: what `truncate` and `censor` share.
//!
//! With F the distribution function, the mass of [lo, hi] is F(hi) - F(lo), of a discrete law F(hi) - F(lo - 1). It is taken from the side
//! on which the two are small, so that it keeps its digits deep in either tail.

use smidgen_value::math::exp;
use smidgen_value::{ArgumentError, Value};

use crate::arguments;
use crate::cumulative::{self, Side, log_complement, log_probability};
use crate::law::{self, Inner, Numbers};
use crate::procedure::Args;
use crate::support::Support;

pub struct Between {
    pub inner: Inner,
    pub low: f64,
    pub high: f64,
    pub args: Numbers,
    pub is_discrete: bool,
    /// The ends of the law itself.
    pub own: (f64, f64),
}

/// A log probability with the slopes of the point and of the law's arguments.
type Part = (f64, Numbers);

/// The mass, and its slopes: of the lower end, of the upper end, of the law's arguments.
pub struct Mass {
    pub log: f64,
    pub by_low: f64,
    pub by_high: f64,
    pub by_args: Numbers,
}

impl Between {
    pub fn read(args: Args<'_>) -> Result<Between, ArgumentError> {
        let inner = Inner::read(args, 0, args.len() - 3)?;
        let low = arguments::number_where(args, 1, "a lower end (-inf for none)", |x| !x.is_nan())?;
        let high = arguments::number(args, 2)?;
        if low.is_nan() || high.is_nan() || low >= high {
            let expected = "an upper end above the lower one (the range is empty; inf for none)";
            return Err(ArgumentError::domain(2, expected, args[2]));
        }
        let support = inner.support(&args[3..]).map_err(|error| error.after(3))?;
        let numbers: Result<Numbers, _> =
            (3..args.len()).map(|i| arguments::number(args, i)).collect();
        let between = match cumulative::is_known(inner, &support) {
            true => Between::new(inner, (low, high), numbers?, &support),
            false => None,
        };
        between.ok_or_else(|| {
            let expected = "a distribution of numbers with a distribution function";
            ArgumentError::wrong_type(0, expected, args[0])
        })
    }

    fn new(
        inner: Inner,
        (low, high): (f64, f64),
        args: Numbers,
        support: &Support,
    ) -> Option<Between> {
        let is_discrete = matches!(support, Support::Integers { .. });
        let own = match support {
            Support::Reals => (f64::NEG_INFINITY, f64::INFINITY),
            Support::Interval { low, high } | Support::Integers { low, high } => (*low, *high),
            _ => return None,
        };
        Some(Between { inner, low, high, args, is_discrete, own })
    }

    /// As a score knows it.
    pub fn of_numbers(args: &[&[f64]]) -> Option<Between> {
        let numbers = law::singles(args)?;
        let inner = Inner::numbered(*numbers.first()?, numbers.len().checked_sub(3)?)?;
        let (low, high) = (numbers[1], numbers[2]);
        if low.is_nan() || high.is_nan() || low >= high {
            return None;
        }
        let args: Numbers = numbers[3..].into();
        let values: Vec<Value> = args.iter().map(|x| Value::Number(*x)).collect();
        let support = inner.support(&values.iter().collect::<Vec<_>>()).ok()?;
        Between::new(inner, (low, high), args, &support)
    }

    pub fn part(&self, side: Side, x: f64, wanted: bool) -> Option<Part> {
        log_probability(self.inner, side, x, &self.args, wanted)
    }

    /// The least and the largest value there is.
    pub fn ends(&self) -> (f64, f64) {
        let (low, high) = (self.low.max(self.own.0), self.high.min(self.own.1));
        if self.is_discrete { (low.ceil(), high.floor()) } else { (low, high) }
    }

    /// Where the distribution function has nothing of the mass yet.
    pub fn before(&self) -> f64 {
        if self.is_discrete && self.low.is_finite() { self.low.ceil() - 1.0 } else { self.low }
    }

    pub fn log_mass(&self) -> Option<f64> {
        self.mass(false).map(|mass| mass.log)
    }

    /// None if there is no such mass.
    pub fn mass(&self, wanted: bool) -> Option<Mass> {
        let (from, to) = (self.before(), self.high);
        let (below, _) = self.part(Side::Below, from, false)?;
        // From the side on which less lies beyond the nearer end.
        let side = if below < -0.7 { Side::Below } else { Side::Above };
        let (near, far) = if side == Side::Below { (to, from) } else { (from, to) };
        let (log_near, near_slopes) = self.part(side, near, wanted)?;
        let (log_far, far_slopes) = self.part(side, far, wanted)?;
        let log = if log_far == f64::NEG_INFINITY {
            log_near
        } else {
            log_near + log_complement((log_far - log_near).min(0.0))
        };
        if log.is_nan() || log == f64::NEG_INFINITY {
            return None;
        }
        if !wanted {
            return Some(Mass { log, by_low: 0.0, by_high: 0.0, by_args: Numbers::new() });
        }
        let (near_share, far_share) = (exp(log_near - log), exp(log_far - log));
        let slope = |i: usize| {
            let far = if far_share == 0.0 { 0.0 } else { far_share * far_slopes[i] };
            near_share * near_slopes[i] - far
        };
        let (by_near, by_far) = (
            near_share * near_slopes[0],
            if far_share == 0.0 { 0.0 } else { -far_share * far_slopes[0] },
        );
        // The ends of a discrete law do not move.
        let still = if self.is_discrete { 0.0 } else { 1.0 };
        let (by_low, by_high) =
            if side == Side::Below { (by_far, by_near) } else { (by_near, by_far) };
        let by_args = (1..=self.args.len()).map(slope).collect();
        Some(Mass { log, by_low: still * by_low, by_high: still * by_high, by_args })
    }
}
