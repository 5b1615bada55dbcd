//! A closed interval of numbers.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub lo: f64,
    pub hi: f64,
}

impl Interval {
    pub const fn point(x: f64) -> Interval {
        Interval { lo: x, hi: x }
    }

    /// The least interval with both numbers.
    #[inline]
    pub fn hull(a: f64, b: f64) -> Interval {
        if a < b { Interval { lo: a, hi: b } } else { Interval { lo: b, hi: a } }
    }

    /// The least one that also holds `x`.
    #[inline]
    pub fn with(self, x: f64) -> Interval {
        let lo = if x < self.lo { x } else { self.lo };
        Interval { lo, hi: larger(x, self.hi) }
    }

    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// The largest size of a number in it.
    #[inline]
    pub fn magnitude(self) -> f64 {
        larger(-self.lo, self.hi)
    }

    /// Longer at both ends by `slack`.
    pub fn widened(self, slack: f64) -> Interval {
        Interval { lo: self.lo - slack, hi: self.hi + slack }
    }

    /// Not so if an end is NaN.
    #[inline]
    pub fn is_finite(self) -> bool {
        self.hi - self.lo < f64::INFINITY
    }
}

/// The larger one, or `b` if one is NaN: a single instruction, where `f64::max` is several.
#[inline(always)]
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
