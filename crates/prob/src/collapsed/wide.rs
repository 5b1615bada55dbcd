//! Sums in twice the working precision.
//!
//! A sum of squares that forgets values as well as learning them must not remember their
//! rounding errors: one large value, added and removed again, would leave its last bits behind.
//! An unevaluated pair of doubles (about 32 decimal digits) makes the residue negligible, and
//! with it the difference `sum of squares - n mean^2` keeps its digits wherever the origin lies.

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wide {
    high: f64,
    low: f64,
}

/// a + b and its rounding error, exactly.
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// The same for |a| >= |b|.
#[inline]
fn renormalise(a: f64, b: f64) -> Wide {
    let high = a + b;
    Wide { high, low: b - (high - a) }
}

impl Wide {
    #[inline]
    pub fn new(x: f64) -> Wide {
        Wide { high: x, low: 0.0 }
    }

    /// a b, exactly.
    #[inline]
    pub fn product(a: f64, b: f64) -> Wide {
        let high = a * b;
        Wide { high, low: a.mul_add(b, -high) }
    }

    #[inline]
    pub fn plus(self, other: Wide) -> Wide {
        let (high, high_error) = two_sum(self.high, other.high);
        let (low, low_error) = two_sum(self.low, other.low);
        let step = renormalise(high, high_error + low);
        renormalise(step.high, step.low + low_error)
    }

    #[inline]
    pub fn minus(self, other: Wide) -> Wide {
        self.plus(Wide { high: -other.high, low: -other.low })
    }

    #[inline]
    pub fn times(self, other: Wide) -> Wide {
        let exact = Wide::product(self.high, other.high);
        renormalise(exact.high, exact.low + (self.high * other.low + self.low * other.high))
    }

    #[inline]
    pub fn over(self, divisor: f64) -> Wide {
        let quotient = self.high / divisor;
        let rest = self.minus(Wide::product(quotient, divisor));
        renormalise(quotient, rest.value() / divisor)
    }

    #[inline]
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_visitor_leaves_nothing_behind() {
        let mut sum = Wide::new(0.1);
        let visitor = Wide::product(1e8 + 0.3, 1e8 + 0.3);
        sum = sum.plus(visitor).plus(Wide::new(0.2)).minus(visitor);
        assert!((sum.value() - 0.3).abs() < 1e-15, "{sum:?}");
        let plain = 0.1 + visitor.value() + 0.2 - visitor.value();
        assert!((plain - 0.3).abs() > 1e-3, "plain doubles do lose it: {plain}");
    }

    #[test]
    fn differences_of_squares_keep_their_digits() {
        // 1e8 + (0, 1, 2): sum of squares about the mean is 2.
        let xs = [1e8, 1e8 + 1.0, 1e8 + 2.0];
        let sum = xs.iter().fold(Wide::default(), |s, x| s.plus(Wide::new(*x)));
        let squares = xs.iter().fold(Wide::default(), |s, x| s.plus(Wide::product(*x, *x)));
        assert_eq!(squares.minus(sum.times(sum).over(3.0)).value(), 2.0);
    }
}
