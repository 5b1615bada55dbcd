//! Analytic functions of one number, each in one place with its derivatives up to a high order and with bounds of them: what
//! Taylor polynomials are made of, and bounds of what they leave out.
//!
//! A bound comes from the ends of an interval and from the extremes inside, which are known numbers ([`extremes`]); it is
//! a true enclosure, whatever rounding does: samplers that rely on it are exact only if it holds.
//!
//! * [`interval`]; [`extremes`]: where derivatives are largest and least;
//! * [`powers`], [`circular`], [`logistic`], [`squares`], [`gamma`], [`rising`], [`normal`], [`complement`], [`bessel`]: the
//!   functions, by family; [`cumulants`]: derivatives of log integrals.

mod bessel;
mod circular;
mod complement;
mod cumulants;
mod extremes;
mod gamma;
mod interval;
mod logistic;
mod normal;
mod powers;
mod rising;
mod squares;

use smidgen_value::math;

pub(crate) use bessel::value_and_slope as log_scaled_bessel;
pub use interval::Interval;

use crate::support::{turns, wrap};
use extremes::Extremes;
use interval::larger;

/// The highest order of derivatives.
pub const MOST_ORDER: usize = 7;

/// One order more tells what rounding may have done to the last.
const ORDERS: usize = MOST_ORDER + 2;

/// A range is widened by this part of its size, far more than derivatives are wrong by.
const WIDENING: f64 = 1e-9;

/// Where a derivative vanishes, its rounding is that of the orders around it.
const NOISE: f64 = 1e-11;

/// An analytic function of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    Exp,
    /// e^x - 1
    Expm1,
    Log,
    /// log(1 + x)
    Log1p,
    Reciprocal,
    Square,
    Sqrt,
    /// x^p with a fixed exponent.
    Power(f64),
    Sin,
    Cos,
    Tan,
    /// 1 / (1 + e^-x)
    Logistic,
    /// log(x / (1 - x))
    Logit,
    /// log of the logistic curve
    LogLogistic,
    /// log(1 + x^2)
    Log1pSquare,
    /// log Gamma(x), for x > 0
    LogGamma,
    /// log Gamma(e^x + k) - log Gamma(e^x) with a fixed count k: the logarithm of e^x (e^x + 1) ... (e^x + k - 1)
    LogRising(f64),
    /// The normal distribution function.
    NormalCdf,
    LogNormalCdf,
    /// log(1 - e^x), for x < 0
    Log1mExp,
    /// log(1 - exp(-e^x))
    Log1mExpExp,
    /// log(e^-x I_0(x)), with a modified Bessel function, for x >= 0
    LogScaledBessel,
    /// Away from its kink only.
    Abs,
    /// The angle from -pi to pi that points the same way; away from its jumps only.
    Wrap,
    /// 0 from 0 on and -inf below: keeps a bound from reaching over the edge of a law's domain.
    Wall,
}

use Curve::{
    Abs, Cos, Exp, Expm1, Log, Log1mExp, Log1mExpExp, Log1p, Log1pSquare, LogGamma, LogLogistic,
    LogNormalCdf, LogRising, LogScaledBessel, Logistic, Logit, NormalCdf, Power, Reciprocal, Sin,
    Sqrt, Square, Tan, Wall, Wrap,
};

/// Curves of one kind, one for each number that a row may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CurveFamily {
    /// [`Curve::Power`], by the exponent.
    Power,
    /// [`Curve::LogRising`], by the count.
    LogRising,
}

impl CurveFamily {
    pub fn member(self, number: f64) -> Curve {
        match self {
            CurveFamily::Power => Power(number),
            CurveFamily::LogRising => LogRising(number),
        }
    }
}

impl Curve {
    pub fn value(self, x: f64) -> f64 {
        let mut out = [0.0];
        self.derivatives(x, &mut out);
        out[0]
    }

    /// out[k] = f^(k)(x), up to order [`MOST_ORDER`]. Outside of the domain they are not finite, or mean nothing.
    pub fn derivatives(self, x: f64, out: &mut [f64]) {
        debug_assert!(out.len() <= ORDERS, "derivatives up to order {MOST_ORDER}");
        match self {
            Exp => powers::exponential(math::exp(x), x, out),
            Expm1 => powers::exponential(math::expm1(x), x, out),
            Log => powers::logarithm(math::ln(x), x, out),
            Log1p => powers::logarithm(math::ln_1p(x), 1.0 + x, out),
            Reciprocal => powers::reciprocal(x, out),
            Square => powers::square(x, out),
            Sqrt => powers::power(math::sqrt(x), 0.5, x, out),
            Power(p) => powers::power(math::pow(x, p), p, x, out),
            Sin => circular::sine(0, x, out),
            Cos => circular::sine(1, x, out),
            Tan => circular::tangent(x, out),
            Logistic => logistic::derivatives(x, out),
            Logit => logistic::of_inverse(x, out),
            LogLogistic => logistic::of_logarithm(x, out),
            Log1pSquare => squares::log_1p_square(x, out),
            LogGamma => gamma::log_gamma(x, out),
            LogRising(k) => rising::log_rising(k, x, out),
            NormalCdf => normal::cdf(x, out),
            LogNormalCdf => normal::log_cdf(x, out),
            Log1mExp => complement::log_1m_exp(x, out),
            Log1mExpExp => complement::log_1m_exp_exp(x, out),
            LogScaledBessel => bessel::log_scaled(x, out),
            Abs => powers::line(x.abs(), if x == 0.0 { 0.0 } else { x.signum() }, out),
            Wrap => powers::line(wrap(x), 1.0, out),
            Wall => powers::line(if x >= 0.0 { 0.0 } else { f64::NEG_INFINITY }, 0.0, out),
        }
    }

    /// An interval that holds f^(k) on all of [lo, hi]; None if there is no finite one, or if [lo, hi] leaves the domain.
    pub fn range(self, k: usize, lo: f64, hi: f64) -> Option<Interval> {
        let mut ranges = [Interval::point(0.0); MOST_ORDER + 1];
        self.ranges(lo, hi, &mut ranges[..=k]).then(|| ranges[k])
    }

    /// The ranges of f, f', f'', ... in one go; false if one of them is None.
    pub fn ranges(self, lo: f64, hi: f64, out: &mut [Interval]) -> bool {
        if !(lo.is_finite() && hi.is_finite() && lo <= hi && self.is_analytic_on(lo, hi)) {
            return false;
        }
        if let LogRising(k) = self {
            return rising::ranges(k, lo, hi, out);
        }
        // One order more than wanted, see `NOISE`.
        let orders = out.len() + 1;
        let (mut at_lo, mut at_hi) = ([0.0; ORDERS], [0.0; ORDERS]);
        self.derivatives(lo, &mut at_lo[..orders]);
        self.derivatives(hi, &mut at_hi[..orders]);
        let extremes = self.extremes();
        let mut below = 0.0;
        for (k, range) in out.iter_mut().enumerate() {
            let mut exact = Interval::hull(at_lo[k], at_hi[k]);
            for (x, value) in extremes[k] {
                if lo < *x && *x < hi {
                    exact = exact.with(*value);
                }
            }
            if self.has_other_extremes() {
                exact = self.reach(k, exact, lo, hi);
            }
            let above = larger(at_lo[k + 1].abs(), at_hi[k + 1].abs());
            let size = exact.magnitude();
            // The smallest normal double stands for what is lost below it; what is 0 throughout stays 0.
            let least = if size > 0.0 { f64::MIN_POSITIVE } else { 0.0 };
            let noise = if above < below { above } else { below };
            *range = exact.widened(WIDENING * size + NOISE * noise + least);
            below = size;
            if !range.is_finite() {
                return false;
            }
        }
        true
    }

    /// Whether [lo, hi], with finite ends, lies in the domain, within one branch.
    fn is_analytic_on(self, lo: f64, hi: f64) -> bool {
        match self {
            Exp | Expm1 | Square | Sin | Cos | Logistic | LogLogistic | Log1pSquare | NormalCdf
            | LogNormalCdf | Log1mExpExp => true,
            Log | Sqrt | LogGamma => lo > 0.0,
            Log1p => lo > -1.0,
            Reciprocal => lo > 0.0 || hi < 0.0,
            Power(p) if p.fract() != 0.0 => lo > 0.0,
            Power(p) => p >= 0.0 || lo > 0.0 || hi < 0.0,
            Tan => circular::tangent_branch(lo, hi).is_some(),
            Logit => lo > 0.0 && hi < 1.0,
            Abs => lo >= 0.0 || hi <= 0.0,
            Wrap => turns(lo) == turns(hi),
            Log1mExp => hi < 0.0,
            Wall | LogScaledBessel => lo >= 0.0,
            LogRising(k) => rising::has_ranges(k),
        }
    }

    /// Whether there are extremes that depend on the interval or on the order in another way than by a table.
    fn has_other_extremes(self) -> bool {
        matches!(self, Sin | Cos | Tan | Logit | Square | Power(_))
    }

    /// What f^(k) reaches on [lo, hi] then, given the hull of its values at the ends.
    fn reach(self, k: usize, ends: Interval, lo: f64, hi: f64) -> Interval {
        let with = |x: f64| if lo < x && x < hi { ends.with(self.derivative(k, x)) } else { ends };
        match self {
            Sin => circular::sine_range(k, ends, lo, hi),
            Cos => circular::sine_range(k + 1, ends, lo, hi),
            Tan if k % 2 == 1 => circular::tangent_branch(lo, hi).map_or(ends, with),
            Logit if k % 2 == 1 => with(0.5),
            // Monotone on either side of 0.
            Square | Power(_) => with(0.0),
            _ => ends,
        }
    }

    fn derivative(self, k: usize, x: f64) -> f64 {
        let mut out = [0.0; ORDERS];
        self.derivatives(x, &mut out[..=k]);
        out[k]
    }

    /// Of curves with a table of them.
    fn extremes(self) -> &'static Extremes {
        match self {
            Logistic => &extremes::LOGISTIC,
            LogLogistic => &extremes::LOG_LOGISTIC,
            Log1pSquare => &extremes::LOG_1P_SQUARE,
            LogGamma => &extremes::LOG_GAMMA,
            NormalCdf => &extremes::NORMAL_CDF,
            LogNormalCdf => &extremes::LOG_NORMAL_CDF,
            Log1mExpExp => &extremes::LOG_1M_EXP_EXP,
            LogScaledBessel => &extremes::LOG_SCALED_BESSEL,
            Exp | Expm1 | Log | Log1p | Reciprocal | Square | Sqrt | Power(_) | Sin | Cos | Tan
            | Logit | Log1mExp | LogRising(_) | Abs | Wrap | Wall => &extremes::NONE,
        }
    }
}
