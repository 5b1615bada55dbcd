//! Slice sampling of one number (Neal 2003), given nothing but its log density f.
//!
//! From x0, a level y = f(x0) − e with e ~ Exp(1) is drawn; {x : f(x) > y} is the slice. An interval
//! around x0 is found by *stepping out* in steps of the width w, at most m of them, split at random
//! between left and right (without the split the interval would not be as likely from the new
//! point as from x0); or by *doubling*, at most k times, to a side drawn at random. Then points are
//! drawn from the interval, which *shrinks* towards x0 at each one outside the slice. A point found
//! by doubling has to pass a check: would doubling from there have come to the same interval?
//!
//! On a circle the interval is one full turn that ends at a uniform place, and the density is that of the angle.
//!
//! Every loop ends whatever the numbers: widths are too small to change a number of 10¹⁶, or too large to
//! be doubled, and then the interval is what it is. How often an interval is doubled at most depends on
//! the width alone, so it is the same from every point of it.
//!
//! Outside the support the density is 0: nothing is asked there, and the interval to draw from ends
//! at the support's ends.

use smidgen_engine::EvalError;
use smidgen_value::Rng;

/// A log density, up to a constant.
pub type LogDensity<'a> = dyn FnMut(f64) -> Result<f64, EvalError> + 'a;

/// Beyond these no point is looked for, so that widths stay finite.
const FARTHEST: f64 = f64::MAX / 8.0;

#[derive(Clone, Copy, Debug)]
pub struct Slice {
    pub x0: f64,
    /// log f at x0, lowered by a draw from Exp(1).
    pub level: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub left: f64,
    pub right: f64,
}

impl Interval {
    fn width(self) -> f64 {
        self.right - self.left
    }

    /// Of this width, with x0 at a uniform place in it.
    pub(super) fn around(x0: f64, width: f64, rng: &mut Rng) -> Interval {
        let width = width.min(FARTHEST);
        let left = x0 - width * rng.uniform();
        Interval { left, right: left + width }
    }
}

impl Slice {
    /// Draws the level. `support`: the ends of what is possible.
    pub fn through(x0: f64, log_density: f64, support: (f64, f64), rng: &mut Rng) -> Slice {
        let (low, high) = (support.0.max(-FARTHEST), support.1.min(FARTHEST));
        Slice { x0, level: log_density + rng.log_uniform(), low, high }
    }

    /// Whether x lies in the slice.
    fn holds(&self, x: f64, f: &mut LogDensity<'_>) -> Result<bool, EvalError> {
        Ok(self.low <= x && x <= self.high && f(x)? > self.level)
    }

    /// Stepping out: `max_steps` limits the interval to so many widths.
    pub fn step_out(
        &self,
        width: f64,
        max_steps: u64,
        f: &mut LogDensity<'_>,
        rng: &mut Rng,
    ) -> Result<Interval, EvalError> {
        let interval = Interval::around(self.x0, width, rng);
        let to_the_left = ((max_steps as f64 * rng.uniform()) as u64).min(max_steps - 1);
        self.step_out_from(interval, (to_the_left, max_steps - 1 - to_the_left), f)
    }

    /// At most so many steps to the left and to the right.
    pub fn step_out_from(
        &self,
        mut interval: Interval,
        (to_the_left, to_the_right): (u64, u64),
        f: &mut LogDensity<'_>,
    ) -> Result<Interval, EvalError> {
        let width = interval.width();
        // A step that is lost in rounding is never more than lost, however many follow.
        for _ in 0..to_the_left {
            if interval.left - width == interval.left || !self.holds(interval.left, f)? {
                break;
            }
            interval.left -= width;
        }
        for _ in 0..to_the_right {
            if interval.right + width == interval.right || !self.holds(interval.right, f)? {
                break;
            }
            interval.right += width;
        }
        Ok(interval)
    }

    /// Doubling, at most `max_doublings` times.
    pub fn double(
        &self,
        width: f64,
        max_doublings: u64,
        f: &mut LogDensity<'_>,
        rng: &mut Rng,
    ) -> Result<Doubled, EvalError> {
        let interval = Interval::around(self.x0, width, rng);
        let inside = (self.holds(interval.left, f)?, self.holds(interval.right, f)?);
        let mut found = Doubled { interval, inside, doublings: 0 };
        let mut whole = width;
        while found.doublings < max_doublings && whole < FARTHEST {
            if !found.inside.0 && !found.inside.1 {
                break;
            }
            if rng.coin() {
                found.interval.left -= whole;
                found.inside.0 = self.holds(found.interval.left, f)?;
            } else {
                found.interval.right += whole;
                found.inside.1 = self.holds(found.interval.right, f)?;
            }
            found.doublings += 1;
            whole *= 2.0;
        }
        Ok(found)
    }

    /// Draws from the interval until a point lies in the slice and is `acceptable`; x0 if the
    /// interval shrinks to nothing.
    pub fn shrink(
        &self,
        interval: Interval,
        f: &mut LogDensity<'_>,
        rng: &mut Rng,
        acceptable: &mut dyn FnMut(f64, &mut LogDensity<'_>) -> Result<bool, EvalError>,
    ) -> Result<f64, EvalError> {
        let (mut left, mut right) = (interval.left.max(self.low), interval.right.min(self.high));
        while left < right {
            let x = left + rng.uniform() * (right - left);
            if x == self.x0 || (self.holds(x, f)? && acceptable(x, f)?) {
                return Ok(x);
            }
            match x < self.x0 {
                true => left = x,
                false => right = x,
            }
        }
        Ok(self.x0)
    }
}

/// An interval found by doubling.
#[derive(Clone, Copy, Debug)]
pub struct Doubled {
    pub interval: Interval,
    /// Whether its ends lie in the slice.
    inside: (bool, bool),
    /// How often the first interval was doubled.
    doublings: u64,
}

impl Doubled {
    /// Whether doubling from x could have come to this interval: on the way down to x, no half
    /// that x0 does not share may have both ends outside the slice, where doubling would have
    /// stopped.
    pub fn is_acceptable(
        &self,
        x: f64,
        slice: &Slice,
        f: &mut LogDensity<'_>,
    ) -> Result<bool, EvalError> {
        let (mut interval, mut inside, mut apart) = (self.interval, self.inside, false);
        for _ in 0..self.doublings {
            let middle = interval.left + 0.5 * interval.width();
            // Nothing lies between the ends any more.
            if middle <= interval.left || middle >= interval.right {
                break;
            }
            apart |= (slice.x0 < middle) != (x < middle);
            if x < middle {
                interval.right = middle;
                inside.1 = slice.holds(middle, f)?;
            } else {
                interval.left = middle;
                inside.0 = slice.holds(middle, f)?;
            }
            if apart && !inside.0 && !inside.1 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
