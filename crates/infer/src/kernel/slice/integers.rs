//! Slice sampling of one whole number: the doubling of [`super::neal`] on the integers.
//!
//! From n0, a level y = f(n0) − e with e ~ Exp(1) is drawn. The interval {n0} is doubled, to a side drawn at
//! random, until neither of its ends lies in the slice {n : f(n) > y}. A number is drawn from it evenly; one
//! that is outside the slice, or from which doubling would have ended earlier (a half without n0 has
//! both ends outside), makes the interval end beside it, and another is drawn. It ends at n0 at the latest.
//! Intervals are of 1, 2, 4, … numbers and halve without rounding, so the check is exact: all intervals
//! that n0 and the new number share are as likely from either, and so is what was drawn from them.
//!
//! Whole numbers above 2⁵³ have gaps between them: they are left as they are, and never come to.

use smidgen_engine::EvalError;
use smidgen_value::Rng;

use super::neal::LogDensity;

/// Up to here doubles hold every whole number.
pub const LARGEST: f64 = (1u64 << 53) as f64;

/// After these an interval holds all of them.
const MOST_DOUBLINGS: u32 = 54;

/// A slice through a whole number.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    pub n0: i64,
    /// log f at n0, lowered by a draw from Exp(1).
    pub level: f64,
    low: i64,
    high: i64,
}

/// An interval found by doubling, both ends included.
#[derive(Clone, Copy, Debug)]
pub struct Doubled {
    left: i64,
    right: i64,
    /// Whether its ends lie in the slice.
    inside: (bool, bool),
    doublings: u32,
}

impl Whole {
    /// Draws the level. `support`: the first and the last number that is possible.
    pub fn through(n0: i64, log_density: f64, support: (f64, f64), rng: &mut Rng) -> Whole {
        let (low, high) = (support.0.max(-LARGEST) as i64, support.1.min(LARGEST) as i64);
        Whole { n0, level: log_density + rng.log_uniform(), low, high }
    }

    fn holds(&self, n: i64, f: &mut LogDensity<'_>) -> Result<bool, EvalError> {
        Ok(self.low <= n && n <= self.high && f(n as f64)? > self.level)
    }

    pub fn double(&self, f: &mut LogDensity<'_>, rng: &mut Rng) -> Result<Doubled, EvalError> {
        let n0 = self.n0;
        let mut found = Doubled { left: n0, right: n0, inside: (true, true), doublings: 0 };
        while (found.inside.0 || found.inside.1) && found.doublings < MOST_DOUBLINGS {
            let numbers = found.right - found.left + 1;
            if rng.coin() {
                found.left -= numbers;
                found.inside.0 = self.holds(found.left, f)?;
            } else {
                found.right += numbers;
                found.inside.1 = self.holds(found.right, f)?;
            }
            found.doublings += 1;
        }
        Ok(found)
    }

    /// Draws from the interval until a number lies in the slice and is `acceptable`.
    pub fn shrink(
        &self,
        found: &Doubled,
        f: &mut LogDensity<'_>,
        rng: &mut Rng,
        acceptable: &mut dyn FnMut(i64, &mut LogDensity<'_>) -> Result<bool, EvalError>,
    ) -> Result<i64, EvalError> {
        let (mut left, mut right) = (found.left.max(self.low), found.right.min(self.high));
        while left <= right {
            let numbers = (right - left + 1) as f64;
            let n = (left + (rng.uniform() * numbers) as i64).min(right);
            if n == self.n0 || (self.holds(n, f)? && acceptable(n, f)?) {
                return Ok(n);
            }
            match n < self.n0 {
                true => left = n + 1,
                false => right = n - 1,
            }
        }
        Ok(self.n0)
    }
}

impl Doubled {
    /// Whether doubling from n could have come to this interval.
    pub fn is_acceptable(
        &self,
        n: i64,
        slice: &Whole,
        f: &mut LogDensity<'_>,
    ) -> Result<bool, EvalError> {
        let Doubled { mut left, mut right, mut inside, .. } = *self;
        let mut apart = false;
        for _ in 0..self.doublings {
            let middle = left + (right - left + 1) / 2;
            apart |= (slice.n0 < middle) != (n < middle);
            if n < middle {
                right = middle - 1;
                inside.1 = slice.holds(right, f)?;
            } else {
                left = middle;
                inside.0 = slice.holds(left, f)?;
            }
            if apart && !inside.0 && !inside.1 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The next number; x0 itself if it is beyond [`LARGEST`].
pub fn draw(
    x0: f64,
    log_density: f64,
    support: (f64, f64),
    f: &mut LogDensity<'_>,
    rng: &mut Rng,
) -> Result<f64, EvalError> {
    if x0.abs() > LARGEST {
        return Ok(x0);
    }
    let slice = Whole::through(x0 as i64, log_density, support, rng);
    let found = slice.double(f, rng)?;
    let check = &mut |n, f: &mut LogDensity<'_>| found.is_acceptable(n, &slice, f);
    Ok(slice.shrink(&found, f, rng, check)? as f64)
}
