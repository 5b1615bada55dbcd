//! A state of a program: the value of every free choice, by its address.
//!
//! Addresses say where in the program's run a choice stands and hang on nothing else, so a program that is run
//! again with these values comes to the same trace. States of one structure share their list of addresses: a
//! state of n choices then costs n values, not more.

use std::sync::Arc;

use crate::Value;

/// Addresses in rising order, each with its value. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct State {
    addresses: Arc<[u64]>,
    values: Arc<[Value]>,
}

impl State {
    /// None if an address occurs twice with different values: no run could tell which is which.
    pub fn new(mut choices: Vec<(u64, Value)>) -> Option<State> {
        choices.sort_by_key(|(address, _)| *address);
        let clash =
            |pair: &[(u64, Value)]| pair[0].0 == pair[1].0 && !pair[0].1.is_identical(&pair[1].1);
        if choices.windows(2).any(clash) {
            return None;
        }
        choices.dedup_by_key(|(address, _)| *address);
        let (addresses, values): (Vec<u64>, Vec<Value>) = choices.into_iter().unzip();
        Some(State { addresses: addresses.into(), values: values.into() })
    }

    /// From what [`State::addresses`] and [`State::values`] gave. None if they do not belong together.
    pub fn from_parts(addresses: Arc<[u64]>, values: Vec<Value>) -> Option<State> {
        let fits = addresses.len() == values.len() && addresses.is_sorted_by(|a, b| a < b);
        fits.then(|| State { addresses, values: values.into() })
    }

    /// Shares the list of addresses with another state, if it is the same.
    pub fn like(mut self, other: &State) -> State {
        if self.addresses == other.addresses {
            self.addresses = other.addresses.clone();
        }
        self
    }

    pub fn get(&self, address: u64) -> Option<&Value> {
        self.addresses.binary_search(&address).ok().map(|place| &self.values[place])
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn addresses(&self) -> &Arc<[u64]> {
        &self.addresses
    }

    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Whether both have the same choices with the very same values.
    pub fn is_identical(&self, other: &State) -> bool {
        self.addresses == other.addresses
            && self.values.iter().zip(other.values.iter()).all(|(a, b)| a.is_identical(b))
    }

    /// About how much memory it takes, without a list of addresses that it shares with `other`.
    pub fn bytes(&self, other: Option<&State>) -> usize {
        let shared = other.is_some_and(|other| Arc::ptr_eq(&self.addresses, &other.addresses));
        let own = if shared { 0 } else { 8 * self.addresses.len() };
        own + self.values.iter().map(bytes).sum::<usize>()
    }
}

fn bytes(value: &Value) -> usize {
    let behind = match value {
        Value::Vector(xs) => 8 * xs.len(),
        Value::Matrix(m) => 8 * m.as_slice().len(),
        Value::Text(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Pair(_) => value.elements().map_or(32, |items| items.iter().map(bytes).sum()),
        Value::Dict(dict) => dict.entries().iter().map(|(k, v)| bytes(k) + bytes(v)).sum(),
        _ => return size_of::<Value>(),
    };
    size_of::<Value>() + 32 + behind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_unique() {
        let state = State::new(vec![(7, 1.0.into()), (3, true.into()), (7, 1.0.into())]);
        let state = state.expect("equal values may share an address");
        assert_eq!(state.addresses().as_ref(), [3, 7]);
        assert!(state.get(7).is_some_and(|value| value.is_identical(&1.0.into())));
        assert!(state.get(4).is_none());
        assert!(State::new(vec![(7, 1.0.into()), (7, 2.0.into())]).is_none());
        let other = State::new(vec![(3, false.into()), (7, 2.0.into())]).expect("distinct");
        let other = other.like(&state);
        assert!(Arc::ptr_eq(other.addresses(), state.addresses()) && !other.is_identical(&state));
        assert!(State::from_parts(state.addresses().clone(), vec![Value::Nil]).is_none());
    }
}
