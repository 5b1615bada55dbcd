//! Numbers known through a link.

use super::{Value, with_stack};
use crate::Link;

/// Up to these log odds, in size, a probability is a plain number: beyond, 1 - p would have lost five and more
/// of its digits.
const PLAIN_LOG_ODDS: f64 = 12.0;

impl Value {
    /// The number that a link knows as η: 1/(1 + e^-η), or e^η. A plain one if a double has all its digits.
    #[inline]
    pub fn linked(link: Link, eta: f64) -> Value {
        Value::linked_number(link, eta, link.number(eta))
    }

    /// The same where the number has been computed.
    #[inline]
    pub fn linked_number(link: Link, eta: f64, number: f64) -> Value {
        let is_plain = match link {
            Link::LogOdds => eta.abs() <= PLAIN_LOG_ODDS,
            Link::Log => number.is_normal(),
        };
        match is_plain && !cfg!(feature = "all_linked") || !eta.is_finite() {
            true => Value::Number(number),
            false => Value::Linked(link, eta),
        }
    }

    /// A probability by its log odds.
    #[inline]
    pub fn probability(log_odds: f64) -> Value {
        Value::linked(Link::LogOdds, log_odds)
    }

    /// The value as something to be kept: its numbers are plain ones. What is equal is then the same, so
    /// that a key or an outcome does not depend on which of several equal values came first.
    pub fn plain(&self) -> Value {
        if let Value::Linked(link, eta) = self {
            return Value::Number(link.number(*eta));
        }
        if !self.holds_linked() {
            return self.clone();
        }
        let list = |items: &[Value]| items.iter().map(Value::plain).collect::<Vec<Value>>();
        with_stack(|| match self {
            Value::Array(items) => Value::array(list(items)),
            Value::Pair(pair) => match self.elements() {
                Some(items) => Value::list(list(&items)),
                None => Value::pair(pair.first.plain(), pair.rest.plain()),
            },
            Value::Dict(dict) => {
                Value::dict(dict.entries().iter().map(|(key, value)| (key.plain(), value.plain())))
            }
            other => other.clone(),
        })
    }

    /// Whether some number in it is known through a link.
    pub fn holds_linked(&self) -> bool {
        match self {
            Value::Linked(..) => true,
            Value::Array(items) => with_stack(|| items.iter().any(Value::holds_linked)),
            Value::Dict(dict) => with_stack(|| {
                dict.entries().iter().any(|(key, value)| key.holds_linked() || value.holds_linked())
            }),
            Value::Pair(_) => {
                let mut link = self;
                while let Value::Pair(pair) = link {
                    if with_stack(|| pair.first.holds_linked()) {
                        return true;
                    }
                    link = &pair.rest;
                }
                with_stack(|| link.holds_linked())
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    fn hash(value: &Value) -> u64 {
        rustc_hash::FxBuildHasher.hash_one(value)
    }

    #[test]
    fn log_odds_count_as_their_number() {
        let odds = |eta| Value::Linked(Link::LogOdds, eta);
        let (far, farther) = (odds(40.0), odds(41.0));
        assert!(Value::linked(Link::LogOdds, 800.0).is_identical(&odds(800.0)));
        assert!(matches!(Value::linked(Link::LogOdds, f64::INFINITY), Value::Number(1.0)));
        assert!(far == farther && far == Value::TRUE && hash(&far) == hash(&Value::Number(1.0)));
        assert!(!far.is_identical(&farther) && !far.is_identical(&Value::Number(1.0)));
        assert_eq!((far.to_string(), far.truth()), ("1".to_owned(), Some(true)));
        assert_eq!(odds(-800.0).truth(), Some(false));
        assert!(odds(-13.0) > odds(-14.0) && odds(-13.0) < Value::TRUE);
        let kept = Value::list([Value::array(vec![far]), Value::dict([(farther, Value::Nil)])]);
        assert!(kept.holds_linked() && !kept.plain().holds_linked() && kept == kept.plain());
    }

    #[test]
    fn logarithms_count_as_their_number() {
        let log = |eta| Value::Linked(Link::Log, eta);
        let (low, lower) = (Value::linked(Link::Log, -800.0), Value::linked(Link::Log, -900.0));
        assert!(low.is_identical(&log(-800.0)) && low == lower && low == Value::Number(0.0));
        assert!(!low.is_identical(&lower) && !low.is_identical(&Value::Number(0.0)));
        assert!(Value::linked(Link::Log, 710.0) == Value::Number(f64::INFINITY));
        assert!(matches!(Value::linked(Link::Log, 710.0), Value::Linked(Link::Log, 710.0)));
        if !cfg!(feature = "all_linked") {
            assert!(matches!(Value::linked(Link::Log, -700.0), Value::Number(_)));
        }
        assert!(matches!(Value::linked(Link::Log, f64::NEG_INFINITY), Value::Number(0.0)));
        // The same number by another link is not the same.
        assert!(!log(-800.0).is_identical(&Value::Linked(Link::LogOdds, -800.0)));
    }
}
