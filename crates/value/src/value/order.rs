//! Equality, order and hash of values.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Opaque, Origin, Value, with_stack};

impl PartialEq for Value {
    #[inline]
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Value::Symbol(a), Value::Symbol(b)) => a == b,
            _ => self.cmp(other) == Ordering::Equal,
        }
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Numbers by size with -0 = 0 and all NaN equal and last.
fn compare_numbers(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn compare_slices(a: &[f64], b: &[f64]) -> Ordering {
    let first_difference =
        a.iter().zip(b).map(|(x, y)| compare_numbers(*x, *y)).find(|o| o.is_ne());
    first_difference.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Procedures and environments have identity but no content: by the words they are shown as, then by their
/// texts, then in order of creation, so that the order is the same in every run.
fn compare_opaque(a: &Arc<Opaque>, b: &Arc<Opaque>) -> Ordering {
    if Arc::ptr_eq(a, b) {
        return Ordering::Equal;
    }
    let order = (&a.shown_as, a.origin).cmp(&(&b.shown_as, b.origin));
    match (order, a.origin) {
        // Only what is made aside, and never meets another of its kind, may share its number.
        (Ordering::Equal, Origin::Program { .. }) => {
            Arc::as_ptr(a).cast::<u8>().cmp(&Arc::as_ptr(b).cast::<u8>())
        }
        _ => order,
    }
}

/// A total order over all values: by type, then by content.
impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        use Value::*;
        fn rank(value: &Value) -> u8 {
            match value {
                Bool(_) | Number(_) | Linked(..) => 0,
                Text(_) => 1,
                Symbol(_) => 2,
                Nil => 3,
                Pair(_) => 4,
                Array(_) => 5,
                Vector(_) => 6,
                Matrix(_) => 7,
                Dict(_) => 8,
                Procedure(_) => 9,
                Environment(_) => 10,
            }
        }
        match (self, other) {
            (Number(a), Number(b)) => compare_numbers(*a, *b),
            (Symbol(a), Symbol(b)) if a == b => Ordering::Equal,
            (Symbol(a), Symbol(b)) => a.as_str().cmp(b.as_str()),
            (Text(a), Text(b)) => a.cmp(b),
            (Pair(_), Pair(_)) => compare_lists(self, other),
            (Array(a), Array(b)) => with_stack(|| a.as_slice().cmp(b.as_slice())),
            (Vector(a), Vector(b)) => compare_slices(a, b),
            (Matrix(a), Matrix(b)) => (a.rows(), a.cols())
                .cmp(&(b.rows(), b.cols()))
                .then_with(|| compare_slices(a.as_slice(), b.as_slice())),
            (Dict(a), Dict(b)) => with_stack(|| a.entries.cmp(&b.entries)),
            (Procedure(a), Procedure(b)) | (Environment(a), Environment(b)) => compare_opaque(a, b),
            _ => match (self.as_number(), other.as_number()) {
                (Some(a), Some(b)) => compare_numbers(a, b),
                _ => rank(self).cmp(&rank(other)),
            },
        }
    }
}

fn compare_lists(mut a: &Value, mut b: &Value) -> Ordering {
    loop {
        match (a, b) {
            (Value::Pair(x), Value::Pair(y)) => {
                let order = with_stack(|| x.first.cmp(&y.first));
                if order.is_ne() {
                    return order;
                }
                (a, b) = (&x.rest, &y.rest);
            }
            _ => return with_stack(|| a.cmp(b)),
        }
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        fn number<H: Hasher>(x: f64, state: &mut H) {
            // Equal numbers hash alike: -0 as 0, every NaN as one.
            let canonical = if x == 0.0 {
                0.0
            } else if x.is_nan() {
                f64::NAN
            } else {
                x
            };
            state.write_u64(canonical.to_bits());
        }
        match self {
            Value::Nil => state.write_u8(1),
            Value::Bool(_) | Value::Number(_) | Value::Linked(..) => {
                number(
                    self.as_number().expect("numbers, probabilities and booleans are numeric"),
                    state,
                );
            }
            Value::Symbol(name) => name.hash(state),
            Value::Text(text) => text.hash(state),
            Value::Pair(_) => {
                let mut link = self;
                while let Value::Pair(pair) = link {
                    with_stack(|| pair.first.hash(state));
                    link = &pair.rest;
                }
                with_stack(|| link.hash(state));
            }
            Value::Array(items) => with_stack(|| items.as_slice().hash(state)),
            Value::Vector(xs) => xs.iter().for_each(|x| number(*x, state)),
            Value::Matrix(m) => m.as_slice().iter().for_each(|x| number(*x, state)),
            Value::Dict(dict) => with_stack(|| dict.entries.hash(state)),
            Value::Procedure(p) | Value::Environment(p) => match p.origin {
                Origin::Language => p.shown_as.hash(state),
                Origin::Program { text, creation } => (text, creation).hash(state),
            },
        }
    }
}
