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
    pub fn hull(a: f64, b: f64) -> Interval {
        Interval { lo: a.min(b), hi: a.max(b) }
    }

    pub fn with(self, x: f64) -> Interval {
        Interval { lo: self.lo.min(x), hi: self.hi.max(x) }
    }

    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// The largest size of a number in it.
    pub fn magnitude(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// Longer at both ends by `slack`.
    pub fn widened(self, slack: f64) -> Interval {
        Interval { lo: self.lo - slack, hi: self.hi + slack }
    }

    pub fn is_finite(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }
}
