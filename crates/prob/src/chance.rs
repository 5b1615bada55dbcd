//! A probability as laws read it: a number p, or log odds η with p = 1/(1 + e^-η).
//!
//! log p = -log(1 + e^-η) and log(1 - p) = -log(1 + e^η) keep their digits however large η is, where
//! the number p would have become 1 or 0.

use smidgen_value::math::{ln, ln_1p, ln_gamma, ln_gamma_ratio, log_logistic, logistic};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use crate::arguments;
use crate::distributions::saddle_point::log_binomial;
use crate::procedure::Args;

#[derive(Clone, Copy)]
pub enum Chance {
    Plain(f64),
    LogOdds(f64),
}

/// Beyond these log odds, in size, the smaller of p and 1 - p is no normal double.
const NORMAL: f64 = 700.0;

impl Chance {
    /// Argument `i`, a probability.
    #[inline]
    pub fn read(args: Args<'_>, i: usize) -> Result<Chance, ArgumentError> {
        match args[i] {
            Value::Linked(Link::LogOdds, log_odds) => Ok(Chance::LogOdds(*log_odds)),
            _ => arguments::probability(args, i).map(Chance::Plain),
        }
    }

    /// log p
    #[inline]
    pub fn ln(self) -> f64 {
        match self {
            Chance::Plain(p) => ln(p),
            Chance::LogOdds(log_odds) => log_logistic(log_odds),
        }
    }

    /// log(1 - p)
    #[inline]
    pub fn ln_complement(self) -> f64 {
        match self {
            Chance::Plain(p) => ln_1p(-p),
            Chance::LogOdds(log_odds) => log_logistic(-log_odds),
        }
    }

    /// log p for a success, log(1 - p) for a failure.
    #[inline]
    pub fn log_of(self, success: bool) -> f64 {
        if success { self.ln() } else { self.ln_complement() }
    }

    /// Whether a success, and whether a failure can happen.
    pub fn possible(self) -> [bool; 2] {
        match self {
            Chance::Plain(p) => [p > 0.0, p < 1.0],
            Chance::LogOdds(_) => [true, true],
        }
    }

    #[inline]
    pub fn draw(self, rng: &mut Rng) -> bool {
        let u = rng.uniform();
        match self {
            Chance::Plain(p) => u < p,
            // The same with the digits of 1 - p: u is a multiple of 2^-53, so 1 - u is exact.
            Chance::LogOdds(log_odds) if log_odds > 0.0 => 1.0 - u > logistic(-log_odds),
            Chance::LogOdds(log_odds) => u < logistic(log_odds),
        }
    }
}

/// log of Gamma(k + m + 1) / (Gamma(k + 1) Gamma(m + 1)) p^k (1 - p)^m with log odds η of p, for k and m not
/// below zero.
pub fn log_binomial_by_odds(k: f64, m: f64, log_odds: f64) -> f64 {
    if k == 0.0 {
        times(m, log_logistic(-log_odds))
    } else if m == 0.0 {
        times(k, log_logistic(log_odds))
    } else if log_odds.abs() > NORMAL {
        // However far apart the two are.
        let (large, small) = if k > m { (k, m) } else { (m, k) };
        let choices = ln_gamma_ratio(large + 1.0, small) - ln_gamma(small + 1.0);
        choices + times(k, log_logistic(log_odds)) + times(m, log_logistic(-log_odds))
    } else if log_odds > 0.0 {
        // Of the two sides the rarer one, whose probability has all its digits.
        log_binomial(m, k, logistic(-log_odds))
    } else {
        log_binomial(k, m, logistic(log_odds))
    }
}

/// n log p, 0 for no n.
pub fn times(n: f64, log_p: f64) -> f64 {
    if n == 0.0 { 0.0 } else { n * log_p }
}

/// The derivative of k log p + m log(1 - p) with respect to the log odds.
pub fn slope_by_odds(k: f64, m: f64, log_odds: f64) -> f64 {
    k * logistic(-log_odds) - m * logistic(log_odds)
}
