//! Functions of one or two numbers with their derivatives, over many numbers at once.
//!
//! The function is chosen outside the loop over the numbers, so that the loops of the cheap ones
//! are vectorised. Values are those of the procedure, to the bit.
//!
//! At a kink (`abs` at 0, a tie of `min` or `max`) one of the slopes to either side, or a number
//! between them, is taken. Where a slope is infinite (`sqrt` at 0), a result that nothing depends
//! on still passes 0 on, not 0 times infinity.

use smidgen_value::link::logit;
use smidgen_value::{Link, math};

use super::Curve;
use crate::support::wrap;

/// A function of one or two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elementary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Min,
    Max,
    Pow,
    Atan2,
    Hypot,
    /// `-` of one number, and `negate`.
    Negate,
    /// `/` of one number.
    Reciprocal,
    Abs,
    Exp,
    Expm1,
    Log,
    Log1p,
    Square,
    Sqrt,
    Sin,
    Cos,
    Tan,
    Logistic,
    Logit,
    LogLogistic,
    /// The angle from -pi to pi that points the same way; no procedure of the language.
    Wrap,
}

use Elementary::{
    Abs, Add, Atan2, Cos, Divide, Exp, Expm1, Hypot, Log, Log1p, LogLogistic, Logistic, Logit, Max,
    Min, Multiply, Negate, Pow, Reciprocal, Sin, Sqrt, Square, Subtract, Tan, Wrap,
};

impl Elementary {
    /// Number of arguments.
    pub fn arity(self) -> usize {
        match self {
            Add | Subtract | Multiply | Divide | Min | Max | Pow | Atan2 | Hypot => 2,
            Negate | Reciprocal | Abs | Exp | Expm1 | Log | Log1p | Square | Sqrt | Sin | Cos
            | Tan | Logistic | Logit | LogLogistic | Wrap => 1,
        }
    }

    /// What its argument is to its result, where a law reads that better than the result.
    pub fn link(self) -> Option<Link> {
        match self {
            Logistic => Some(Link::LogOdds),
            Exp => Some(Link::Log),
            _ => None,
        }
    }

    /// The function that gives a link's argument back.
    pub fn inverse_of(link: Link) -> Elementary {
        match link {
            Link::LogOdds => Logit,
            Link::Log => Log,
        }
    }

    /// The function that a link is the inverse of.
    pub fn of_link(link: Link) -> Elementary {
        match link {
            Link::LogOdds => Logistic,
            Link::Log => Exp,
        }
    }

    /// As an analytic function of one number. (`Negate` is none: it is a product, as sums and differences are sums.)
    pub fn curve(self) -> Option<Curve> {
        Some(match self {
            Reciprocal => Curve::Reciprocal,
            Abs => Curve::Abs,
            Exp => Curve::Exp,
            Expm1 => Curve::Expm1,
            Log => Curve::Log,
            Log1p => Curve::Log1p,
            Square => Curve::Square,
            Sqrt => Curve::Sqrt,
            Sin => Curve::Sin,
            Cos => Curve::Cos,
            Tan => Curve::Tan,
            Logistic => Curve::Logistic,
            Logit => Curve::Logit,
            LogLogistic => Curve::LogLogistic,
            Wrap => Curve::Wrap,
            Negate | Add | Subtract | Multiply | Divide | Min | Max | Pow | Atan2 | Hypot => {
                return None;
            }
        })
    }

    /// out[i] = f(a[i], b[i]); a function of one number ignores `b`.
    // Inlined for certain, so that whoever calls it decides for which processor its loops are compiled.
    #[inline(always)]
    pub fn value(self, a: &[f64], b: &[f64], out: &mut [f64]) {
        match self {
            Add => binary(a, b, out, |a, b| a + b),
            Subtract => binary(a, b, out, |a, b| a - b),
            Multiply => binary(a, b, out, |a, b| a * b),
            Divide => binary(a, b, out, |a, b| a / b),
            Min => binary(a, b, out, |a, b| if is_min(a, b) { a } else { b }),
            Max => binary(a, b, out, |a, b| if is_max(a, b) { a } else { b }),
            Pow => binary(a, b, out, math::pow),
            Atan2 => binary(a, b, out, math::atan2),
            Hypot => binary(a, b, out, math::hypot),
            Negate => unary(a, out, |a| -a),
            Reciprocal => unary(a, out, |a| 1.0 / a),
            Abs => unary(a, out, f64::abs),
            Exp => unary(a, out, math::exp),
            Expm1 => unary(a, out, math::expm1),
            Log => unary(a, out, math::ln),
            Log1p => unary(a, out, math::ln_1p),
            Square => unary(a, out, |a| a * a),
            Sqrt => unary(a, out, math::sqrt),
            Sin => unary(a, out, math::sin),
            Cos => unary(a, out, math::cos),
            Tan => unary(a, out, math::tan),
            Logistic => unary(a, out, math::logistic),
            Logit => unary(a, out, logit),
            LogLogistic => unary(a, out, math::log_logistic),
            Wrap => unary(a, out, wrap),
        }
    }

    /// Adds out_slope[i] * df/da at (a[i], b[i]) to a_slope[i]. `out` is what `value` gave.
    #[inline(always)]
    pub fn pull_first(
        self,
        a: &[f64],
        b: &[f64],
        out: &[f64],
        out_slope: &[f64],
        a_slope: &mut [f64],
    ) {
        let one = One { a, out, out_slope };
        let two = Two { a, b, out, out_slope };
        match self {
            Add => add(out_slope, a_slope),
            Subtract => add(out_slope, a_slope),
            Multiply => two.pull(a_slope, |_, b, _, g| g * b),
            Divide => two.pull(a_slope, |_, b, _, g| math::xovery(g, b)),
            Min => two.pull(a_slope, |a, b, _, g| if is_min(a, b) { g } else { 0.0 }),
            Max => two.pull(a_slope, |a, b, _, g| if is_max(a, b) { g } else { 0.0 }),
            Pow => two.pull(a_slope, |a, b, out, g| times(g, power_by_base(a, b, out))),
            Atan2 => two.pull(a_slope, |a, b, _, g| g * over_square_of_norm(b, a)),
            Hypot => two.pull(a_slope, |a, _, out, g| g * math::xovery(a, out)),
            Negate => one.pull(a_slope, |_, _, g| -g),
            Reciprocal => one.pull(a_slope, |_, out, g| -times(times(g, out), out)),
            Abs => one.pull(a_slope, |a, _, g| signed(g, a)),
            Exp => one.pull(a_slope, |_, out, g| times(g, out)),
            // Not out + 1, which has no digits left far below 0.
            Expm1 => one.pull(a_slope, |a, _, g| times(g, math::exp(a))),
            Log => one.pull(a_slope, |a, _, g| math::xovery(g, a)),
            Log1p => one.pull(a_slope, |a, _, g| math::xovery(g, 1.0 + a)),
            Square => one.pull(a_slope, |a, _, g| g * (2.0 * a)),
            Sqrt => one.pull(a_slope, |_, out, g| math::xovery(0.5 * g, out)),
            Sin => one.pull(a_slope, |a, _, g| g * math::cos(a)),
            Cos => one.pull(a_slope, |a, _, g| -g * math::sin(a)),
            Tan => one.pull(a_slope, |_, out, g| g * (1.0 + out * out)),
            // From the value p itself: the log probability of a failure has the slope -1/(1 - p),
            // and the product of both is then exact although 1 - p has lost digits.
            Logistic => one.pull(a_slope, |_, out, g| g * (out * (1.0 - out))),
            Logit => one.pull(a_slope, |a, _, g| math::xovery(g, a * (1.0 - a))),
            LogLogistic => one.pull(a_slope, |a, _, g| g * math::logistic(-a)),
            Wrap => add(out_slope, a_slope),
        }
    }

    /// Likewise for the second argument; nothing if there is none.
    #[inline(always)]
    pub fn pull_second(
        self,
        a: &[f64],
        b: &[f64],
        out: &[f64],
        out_slope: &[f64],
        b_slope: &mut [f64],
    ) {
        let two = Two { a, b, out, out_slope };
        match self {
            Add => add(out_slope, b_slope),
            Subtract => two.pull(b_slope, |_, _, _, g| -g),
            Multiply => two.pull(b_slope, |a, _, _, g| g * a),
            Divide => two.pull(b_slope, |_, b, out, g| -math::xovery(times(g, out), b)),
            Min => two.pull(b_slope, |a, b, _, g| if is_min(a, b) { 0.0 } else { g }),
            Max => two.pull(b_slope, |a, b, _, g| if is_max(a, b) { 0.0 } else { g }),
            Pow => two.pull(b_slope, |a, _, out, g| times(g, power_by_exponent(a, out))),
            Atan2 => two.pull(b_slope, |a, b, _, g| -g * over_square_of_norm(a, b)),
            Hypot => two.pull(b_slope, |_, b, out, g| g * math::xovery(b, out)),
            Negate | Reciprocal | Abs | Exp | Expm1 | Log | Log1p | Square | Sqrt | Sin | Cos
            | Tan | Logistic | Logit | LogLogistic | Wrap => {}
        }
    }
}

/// Functions of one or two numbers, by name.
pub(super) fn find(name: &str) -> Option<Elementary> {
    Some(match name {
        "-" => Subtract,
        "/" => Divide,
        "abs" => Abs,
        "negate" => Negate,
        "exp" => Exp,
        "expm1" => Expm1,
        "log" => Log,
        "log1p" => Log1p,
        "pow" => Pow,
        "square" => Square,
        "sqrt" => Sqrt,
        "sin" => Sin,
        "cos" => Cos,
        "tan" => Tan,
        "atan2" => Atan2,
        "hypot" => Hypot,
        "logistic" => Logistic,
        "logit" => Logit,
        "log_logistic" => LogLogistic,
        _ => return None,
    })
}

/// Functions of any number of numbers, by name. `min` and `max` of one container are the chain of
/// its entries.
pub(super) fn chain(name: &str) -> Option<Elementary> {
    match name {
        "+" => Some(Add),
        "*" => Some(Multiply),
        "min" => Some(Min),
        "max" => Some(Max),
        _ => None,
    }
}

#[inline(always)]
fn unary(a: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
    for (out, a) in out.iter_mut().zip(a) {
        *out = f(*a);
    }
}

#[inline(always)]
fn binary(a: &[f64], b: &[f64], out: &mut [f64], f: impl Fn(f64, f64) -> f64) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = f(*a, *b);
    }
}

#[inline(always)]
fn add(out_slope: &[f64], slope: &mut [f64]) {
    for (slope, g) in slope.iter_mut().zip(out_slope) {
        *slope += g;
    }
}

/// What a function of one number was given, and the slope of its result.
struct One<'a> {
    a: &'a [f64],
    out: &'a [f64],
    out_slope: &'a [f64],
}

impl One<'_> {
    /// slope[i] += f(a[i], out[i], out_slope[i])
    #[inline(always)]
    fn pull(&self, slope: &mut [f64], f: impl Fn(f64, f64, f64) -> f64) {
        let given = self.a.iter().zip(self.out).zip(self.out_slope);
        for (slope, ((a, out), g)) in slope.iter_mut().zip(given) {
            *slope += f(*a, *out, *g);
        }
    }
}

struct Two<'a> {
    a: &'a [f64],
    b: &'a [f64],
    out: &'a [f64],
    out_slope: &'a [f64],
}

impl Two<'_> {
    /// slope[i] += f(a[i], b[i], out[i], out_slope[i])
    #[inline(always)]
    fn pull(&self, slope: &mut [f64], f: impl Fn(f64, f64, f64, f64) -> f64) {
        let given = self.a.iter().zip(self.b).zip(self.out.iter().zip(self.out_slope));
        for (slope, ((a, b), (out, g))) in slope.iter_mut().zip(given) {
            *slope += f(*a, *b, *out, *g);
        }
    }
}

/// Whether the minimum is `a`; it is `b` at a tie, and whichever is NaN.
#[inline(always)]
fn is_min(a: f64, b: f64) -> bool {
    a.is_nan() || a < b
}

#[inline(always)]
fn is_max(a: f64, b: f64) -> bool {
    a.is_nan() || a > b
}

/// g d, and 0 for a g of 0 even if d is infinite.
#[inline(always)]
fn times(g: f64, d: f64) -> f64 {
    if g == 0.0 { 0.0 } else { g * d }
}

/// g times the sign of a
#[inline(always)]
fn signed(g: f64, a: f64) -> f64 {
    if a > 0.0 {
        g
    } else if a < 0.0 {
        -g
    } else {
        0.0
    }
}

/// b a^(b - 1), where `out` is a^b.
#[inline(always)]
fn power_by_base(a: f64, b: f64, out: f64) -> f64 {
    if b == 0.0 {
        0.0
    } else if a != 0.0 && out.is_normal() {
        b * (out / a)
    } else {
        b * math::pow(a, b - 1.0)
    }
}

/// a^b log a, where `out` is a^b. For a < 0 only whole exponents have a power, and nothing moves
/// between them.
#[inline(always)]
fn power_by_exponent(a: f64, out: f64) -> f64 {
    if a > 0.0 && out != 0.0 { out * math::ln(a) } else { 0.0 }
}

/// x / (x^2 + y^2) without overflow, 0 at the origin.
#[inline(always)]
fn over_square_of_norm(x: f64, y: f64) -> f64 {
    let norm = math::hypot(x, y);
    math::xovery(math::xovery(x, norm), norm)
}
