//! Numbers known through a link: a probability by its log odds, a positive number by its logarithm.
//!
//! A double close to 1 has lost the digits of 1 - p, and e^-800 is no double at all; η keeps everything that a
//! law makes of them.

use crate::math;

/// How a number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// A probability p by η = log(p / (1 - p)).
    LogOdds,
    /// A positive number by its logarithm.
    Log,
}

impl Link {
    pub const ALL: [Link; 2] = [Link::LogOdds, Link::Log];

    /// The number, as near as a double comes.
    #[inline]
    pub fn number(self, eta: f64) -> f64 {
        match self {
            Link::LogOdds => math::logistic(eta),
            Link::Log => math::exp(eta),
        }
    }

    /// η of a number; NaN if it has none.
    #[inline]
    pub fn of(self, number: f64) -> f64 {
        match self {
            Link::LogOdds => logit(number),
            Link::Log => math::ln(number),
        }
    }
}

/// log(p / (1 - p)); NaN outside [0, 1].
pub fn logit(p: f64) -> f64 {
    if p < 0.25 {
        math::ln(p) - math::ln_1p(-p)
    } else if p < 0.75 {
        // 2p - 1 is exact here, so nothing is lost around the zero at 1/2.
        math::ln_1p((2.0 * p - 1.0) / (1.0 - p))
    } else {
        // 1 - p is exact here.
        math::ln(p / (1.0 - p))
    }
}
