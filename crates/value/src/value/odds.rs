//! Probabilities by their log odds.

use super::{Value, with_stack};
use crate::math;

/// Up to these log odds, in size, a probability is a plain number: beyond, 1 - p would have lost five and more
/// of its digits.
const PLAIN_LOG_ODDS: f64 = if cfg!(feature = "all_odds") { -1.0 } else { 12.0 };

impl Value {
    /// 1/(1 + e^-η)
    #[inline]
    pub fn probability(log_odds: f64) -> Value {
        match log_odds.abs() <= PLAIN_LOG_ODDS || !log_odds.is_finite() {
            true => Value::Number(math::logistic(log_odds)),
            false => Value::Odds(log_odds),
        }
    }

    /// The value as something to be kept: its probabilities are plain numbers. What is equal is then the same, so
    /// that a key or an outcome does not depend on which of several equal values came first.
    pub fn plain(&self) -> Value {
        if let Value::Odds(_) = self {
            return self.as_number().map_or(Value::Nil, Value::Number);
        }
        if !self.holds_odds() {
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

    /// Whether some number in it is a probability by its log odds.
    pub fn holds_odds(&self) -> bool {
        match self {
            Value::Odds(_) => true,
            Value::Array(items) => with_stack(|| items.iter().any(Value::holds_odds)),
            Value::Dict(dict) => with_stack(|| {
                dict.entries().iter().any(|(key, value)| key.holds_odds() || value.holds_odds())
            }),
            Value::Pair(_) => {
                let mut link = self;
                while let Value::Pair(pair) = link {
                    if with_stack(|| pair.first.holds_odds()) {
                        return true;
                    }
                    link = &pair.rest;
                }
                with_stack(|| link.holds_odds())
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
        let (far, farther) = (Value::Odds(40.0), Value::Odds(41.0));
        assert!(matches!(Value::probability(800.0), Value::Odds(800.0)));
        assert!(matches!(Value::probability(f64::INFINITY), Value::Number(1.0)));
        assert!(far == farther && far == Value::TRUE && hash(&far) == hash(&Value::Number(1.0)));
        assert!(!far.is_identical(&farther) && !far.is_identical(&Value::Number(1.0)));
        assert_eq!((far.to_string(), far.truth()), ("1".to_owned(), Some(true)));
        assert_eq!(Value::Odds(-800.0).truth(), Some(false));
        assert!(Value::Odds(-13.0) > Value::Odds(-14.0) && Value::Odds(-13.0) < Value::TRUE);
        let kept = Value::list([Value::array(vec![far]), Value::dict([(farther, Value::Nil)])]);
        assert!(kept.holds_odds() && !kept.plain().holds_odds() && kept == kept.plain());
    }
}
