//! Equality, order and hash of values.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHashSet;

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
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => compare_numbers(*a, *b),
            _ => Comparison::default().compare(self, other),
        }
    }
}

/// Where a value of another type stands.
fn rank(value: &Value) -> u8 {
    use Value::*;
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

/// Containers that a comparison has looked into before it begins to remember which were equal: a value that
/// holds the same part many times over would otherwise be walked as often as that part can be reached.
const UNREMEMBERED: usize = 1 << 12;

/// One comparison of two values.
#[derive(Default)]
struct Comparison {
    looked_into: usize,
    /// Pairs of shared containers that were found to be equal.
    equal: FxHashSet<(usize, usize)>,
}

impl Comparison {
    fn compare(&mut self, a: &Value, b: &Value) -> Ordering {
        use Value::*;
        match (a, b) {
            (Number(a), Number(b)) => compare_numbers(*a, *b),
            (Symbol(a), Symbol(b)) if a == b => Ordering::Equal,
            (Symbol(a), Symbol(b)) => a.as_str().cmp(b.as_str()),
            (Text(a), Text(b)) => a.cmp(b),
            (Pair(_), Pair(_)) => self.lists(a, b),
            (Array(a), Array(b)) => self.shared(a, b, |this| this.slices(a, b)),
            (Vector(a), Vector(b)) => compare_slices(a, b),
            (Matrix(a), Matrix(b)) => (a.rows(), a.cols())
                .cmp(&(b.rows(), b.cols()))
                .then_with(|| compare_slices(a.as_slice(), b.as_slice())),
            (Dict(a), Dict(b)) => self.shared(a, b, |this| this.entries(&a.entries, &b.entries)),
            (Procedure(a), Procedure(b)) | (Environment(a), Environment(b)) => compare_opaque(a, b),
            _ => match (a.as_number(), b.as_number()) {
                (Some(a), Some(b)) => compare_numbers(a, b),
                _ => rank(a).cmp(&rank(b)),
            },
        }
    }

    /// Looks into two containers unless they are known to be equal.
    fn shared<T>(
        &mut self,
        a: &Arc<T>,
        b: &Arc<T>,
        look: impl FnOnce(&mut Comparison) -> Ordering,
    ) -> Ordering {
        let places = (Arc::as_ptr(a).addr(), Arc::as_ptr(b).addr());
        if places.0 == places.1 || self.equal.contains(&places) {
            return Ordering::Equal;
        }
        self.looked_into += 1;
        let order = with_stack(|| look(self));
        let is_shared = Arc::strong_count(a) > 1 && Arc::strong_count(b) > 1;
        if order.is_eq() && is_shared && self.looked_into > UNREMEMBERED {
            self.equal.insert(places);
        }
        order
    }

    fn slices(&mut self, a: &[Value], b: &[Value]) -> Ordering {
        for (x, y) in a.iter().zip(b) {
            let order = self.compare(x, y);
            if order.is_ne() {
                return order;
            }
        }
        a.len().cmp(&b.len())
    }

    fn entries(&mut self, a: &[(Value, Value)], b: &[(Value, Value)]) -> Ordering {
        for ((key, value), (other_key, other)) in a.iter().zip(b) {
            let order = self.compare(key, other_key).then_with(|| self.compare(value, other));
            if order.is_ne() {
                return order;
            }
        }
        a.len().cmp(&b.len())
    }

    fn lists(&mut self, mut a: &Value, mut b: &Value) -> Ordering {
        loop {
            match (a, b) {
                (Value::Pair(x), Value::Pair(y)) => {
                    if Arc::ptr_eq(x, y) {
                        return Ordering::Equal;
                    }
                    let order = self.firsts(&x.first, &y.first);
                    if order.is_ne() {
                        return order;
                    }
                    (a, b) = (&x.rest, &y.rest);
                }
                _ => return with_stack(|| self.compare(a, b)),
            }
        }
    }

    /// The first elements of two links, which may be lists themselves.
    fn firsts(&mut self, a: &Value, b: &Value) -> Ordering {
        match (a, b) {
            (Value::Pair(x), Value::Pair(y)) => self.shared(x, y, |this| this.lists(a, b)),
            _ => self.compare(a, b),
        }
    }
}

/// Parts of a value that count for its hash. Equal values have equal parts in the same order, so what comes later
/// may be left out, and a value that holds a part many times over is not walked for ever.
const HASHED_PARTS: usize = 1 << 16;

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_parts(self, state, &mut { HASHED_PARTS });
    }
}

fn hash_number<H: Hasher>(x: f64, state: &mut H) {
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

fn hash_parts<H: Hasher>(value: &Value, state: &mut H, left: &mut usize) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    match value {
        Value::Nil => state.write_u8(1),
        Value::Bool(_) | Value::Number(_) | Value::Linked(..) => {
            let number = value.as_number();
            hash_number(number.expect("numbers, probabilities and booleans are numeric"), state);
        }
        Value::Symbol(name) => name.hash(state),
        Value::Text(text) => text.hash(state),
        Value::Pair(_) => {
            let mut link = value;
            while let Value::Pair(pair) = link
                && *left > 0
            {
                with_stack(|| hash_parts(&pair.first, state, left));
                link = &pair.rest;
            }
            with_stack(|| hash_parts(link, state, left));
        }
        Value::Array(items) => with_stack(|| {
            state.write_usize(items.len());
            items.iter().for_each(|item| hash_parts(item, state, left));
        }),
        Value::Vector(xs) => xs.iter().for_each(|x| hash_number(*x, state)),
        Value::Matrix(m) => m.as_slice().iter().for_each(|x| hash_number(*x, state)),
        Value::Dict(dict) => with_stack(|| {
            state.write_usize(dict.entries.len());
            for (key, value) in &dict.entries {
                hash_parts(key, state, left);
                hash_parts(value, state, left);
            }
        }),
        Value::Procedure(p) | Value::Environment(p) => match p.origin {
            Origin::Language => p.shown_as.hash(state),
            Origin::Program { text, creation } => (text, creation).hash(state),
        },
    }
}
