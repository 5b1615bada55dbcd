//! The one value type of the language.
//!
//! * There is one kind of number, a double: `1` and `1.0` are the same value. Counts, indices
//!   and labels are whole doubles, exact to 2^53.
//! * `true` equals `1` and `false` equals `0`, also as a key, so a coin may be summed, compared
//!   and memoised on without conversion. They keep their own type and print as words.
//! * A probability that a link function gave remembers its log odds where the number itself has too few
//!   digits: near 1, where the distance from 1 is lost, and below the smallest double.
//! * Lists are chains of pairs (`rest` is free); arrays, vectors and matrices are contiguous.
//! * A value is 16 bytes; whatever is larger is shared behind an `Arc`.
//! * Nesting may be deep (a list built by recursion): dropping, comparing, hashing and printing
//!   never overflow the stack.

mod linked;
mod order;
mod show;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{Link, Matrix, Symbol, Vector};

#[derive(Debug, Default)]
pub enum Value {
    /// The empty list.
    #[default]
    Nil,
    Bool(bool),
    Number(f64),
    /// A number by what a link makes of it: a probability near 0 or 1 by its log odds, a positive number that is
    /// no normal double by its logarithm. A double would lose what a law makes of it. Counts as
    /// that number wherever it is not asked for as a probability or a positive number. Made by [`Value::linked`].
    Linked(Link, f64),
    Symbol(Symbol),
    Text(Arc<String>),
    Pair(Arc<Pair>),
    Array(Arc<Array>),
    Vector(Arc<Vector>),
    Matrix(Arc<Matrix>),
    Dict(Arc<Dict>),
    /// A procedure; what is inside belongs to the engine. Equal only to itself.
    Procedure(Arc<Opaque>),
    /// An environment; likewise.
    Environment(Arc<Opaque>),
}

const _: () = assert!(size_of::<Value>() == 16);

/// Numbers and truths, by far the most frequent, are copied on the spot; everything else in one place.
impl Clone for Value {
    #[inline]
    fn clone(&self) -> Value {
        match self {
            Value::Number(x) => Value::Number(*x),
            Value::Bool(truth) => Value::Bool(*truth),
            other => other.clone_any(),
        }
    }
}

/// A link of a list (or a plain pair, when `rest` is no list).
#[derive(Debug)]
pub struct Pair {
    pub first: Value,
    pub rest: Value,
}

/// Elements of any type, contiguous.
#[derive(Debug)]
pub struct Array(Vec<Value>);

impl Array {
    pub fn as_slice(&self) -> &[Value] {
        &self.0
    }
}

impl std::ops::Deref for Array {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        &self.0
    }
}

/// Keys in order of insertion.
#[derive(Debug, Default)]
pub struct Dict {
    entries: Vec<(Value, Value)>,
    places: FxHashMap<Value, usize>,
}

impl Dict {
    /// Later entries win over earlier ones with an equal key.
    pub fn new(entries: impl IntoIterator<Item = (Value, Value)>) -> Dict {
        let mut dict = Dict::default();
        for (key, value) in entries {
            match dict.places.get(&key) {
                Some(&place) => dict.entries[place].1 = value,
                None => {
                    dict.places.insert(key.clone(), dict.entries.len());
                    dict.entries.push((key, value));
                }
            }
        }
        dict
    }

    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.places.get(key).map(|&place| &self.entries[place].1)
    }

    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }
}

/// Something only the engine can open, with the words to show for it.
pub struct Opaque {
    pub inner: Box<dyn Any + Send + Sync>,
    pub shown_as: String,
    pub origin: Origin,
}

/// Where an opaque value comes from: what it is ordered by among those shown alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The language. Two that are shown alike are the same.
    Language,
    /// The program: the number of the text that it is made from, then its number in order of creation.
    Program { text: u64, creation: u64 },
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown_as)
    }
}

/// Room for a few more frames of a recursion over a nested value.
fn with_stack<R>(recurse: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 << 10, 1 << 20, recurse)
}

// ---------------------------------------------------------------- building and taking apart

impl Value {
    pub const TRUE: Value = Value::Bool(true);
    pub const FALSE: Value = Value::Bool(false);

    pub fn symbol(name: &str) -> Value {
        Value::Symbol(Symbol::new(name))
    }

    pub fn text(text: impl Into<String>) -> Value {
        Value::Text(Arc::new(text.into()))
    }

    pub fn pair(first: Value, rest: Value) -> Value {
        Value::Pair(Arc::new(Pair { first, rest }))
    }

    pub fn list(items: impl IntoIterator<Item = Value, IntoIter: DoubleEndedIterator>) -> Value {
        items.into_iter().rev().fold(Value::Nil, |rest, first| Value::pair(first, rest))
    }

    pub fn array(items: Vec<Value>) -> Value {
        Value::Array(Arc::new(Array(items)))
    }

    pub fn vector(items: impl Into<Vec<f64>>) -> Value {
        Value::Vector(Arc::new(Vector::new(items.into())))
    }

    pub fn matrix(matrix: Matrix) -> Value {
        Value::Matrix(Arc::new(matrix))
    }

    pub fn dict(entries: impl IntoIterator<Item = (Value, Value)>) -> Value {
        Value::Dict(Arc::new(Dict::new(entries)))
    }

    /// `0`, `0.0` and `false` are false, other numbers and `true` are true; nothing else is either.
    #[inline]
    pub fn truth(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            Value::Number(x) => Some(*x != 0.0),
            Value::Linked(link, eta) => Some(link.number(*eta) != 0.0),
            _ => None,
        }
    }

    /// A number, with `true` as 1 and `false` as 0.
    #[inline]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(x) => Some(*x),
            Value::Bool(b) => Some(f64::from(u8::from(*b))),
            Value::Linked(link, eta) => Some(link.number(*eta)),
            _ => None,
        }
    }

    #[inline(never)]
    fn clone_any(&self) -> Value {
        match self {
            Value::Nil => Value::Nil,
            Value::Bool(truth) => Value::Bool(*truth),
            Value::Number(x) => Value::Number(*x),
            Value::Linked(link, x) => Value::Linked(*link, *x),
            Value::Symbol(name) => Value::Symbol(*name),
            Value::Text(text) => Value::Text(text.clone()),
            Value::Pair(pair) => Value::Pair(pair.clone()),
            Value::Array(items) => Value::Array(items.clone()),
            Value::Vector(numbers) => Value::Vector(numbers.clone()),
            Value::Matrix(matrix) => Value::Matrix(matrix.clone()),
            Value::Dict(entries) => Value::Dict(entries.clone()),
            Value::Procedure(procedure) => Value::Procedure(procedure.clone()),
            Value::Environment(environment) => Value::Environment(environment.clone()),
        }
    }

    /// A whole number.
    #[inline]
    pub fn as_integer(&self) -> Option<i64> {
        let x = self.as_number()?;
        let whole = x as i64;
        (whole as f64 == x && x.abs() < 9.0e15).then_some(whole)
    }

    pub fn as_procedure(&self) -> Option<&Arc<Opaque>> {
        match self {
            Value::Procedure(p) => Some(p),
            _ => None,
        }
    }

    /// The elements of a list, array or vector, in order.
    pub fn elements(&self) -> Option<Vec<Value>> {
        match self {
            Value::Nil => Some(Vec::new()),
            Value::Array(items) => Some(items.to_vec()),
            Value::Vector(xs) => Some(xs.iter().copied().map(Value::Number).collect()),
            Value::Pair(_) => {
                let mut items = Vec::new();
                let mut link = self;
                while let Value::Pair(pair) = link {
                    items.push(pair.first.clone());
                    link = &pair.rest;
                }
                matches!(link, Value::Nil).then_some(items)
            }
            _ => None,
        }
    }

    /// A list, array or vector of numbers as plain numbers.
    pub fn to_reals(&self) -> Option<Vec<f64>> {
        match self {
            Value::Vector(xs) => Some(xs.to_vec()),
            Value::Array(items) => items.iter().map(Value::as_number).collect(),
            _ => self.elements()?.iter().map(Value::as_number).collect(),
        }
    }

    /// Whether nothing can tell the two apart, unlike equality, for which `true` is 1 and -0 is
    /// 0. May be false for equal containers.
    #[inline]
    pub fn is_identical(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a.to_bits() == b.to_bits(),
            _ => self.is_identically_built(other),
        }
    }

    fn is_identically_built(&self, other: &Value) -> bool {
        let bits = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
        };
        match (self, other) {
            (Value::Linked(by, a), Value::Linked(other, b)) => {
                by == other && a.to_bits() == b.to_bits()
            }
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Nil, Value::Nil) => true,
            (Value::Symbol(a), Value::Symbol(b)) => a == b,
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Vector(a), Value::Vector(b)) => bits(a, b),
            (Value::Matrix(a), Value::Matrix(b)) => {
                (a.rows(), a.cols()) == (b.rows(), b.cols()) && bits(a.as_slice(), b.as_slice())
            }
            (Value::Pair(a), Value::Pair(b)) => Arc::ptr_eq(a, b),
            (Value::Array(a), Value::Array(b)) => Arc::ptr_eq(a, b),
            (Value::Dict(a), Value::Dict(b)) => Arc::ptr_eq(a, b),
            (Value::Procedure(a), Value::Procedure(b))
            | (Value::Environment(a), Value::Environment(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The type in the language's words, with its article: "a number".
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Nil => "the empty list",
            Value::Bool(_) => "a boolean",
            Value::Number(_) | Value::Linked(..) => "a number",
            Value::Symbol(_) => "a symbol",
            Value::Text(_) => "a string",
            Value::Pair(_) => "a list",
            Value::Array(_) => "an array",
            Value::Vector(_) => "a vector",
            Value::Matrix(_) => "a matrix",
            Value::Dict(_) => "a dictionary",
            Value::Procedure(_) => "a procedure",
            Value::Environment(_) => "an environment",
        }
    }

    /// The printed form, cut to one short line: for messages.
    pub fn brief(&self) -> String {
        let full = match self {
            // A long container is not printed whole only to be cut.
            Value::Vector(xs) if xs.len() > 20 => format!("of {} numbers", xs.len()),
            Value::Array(xs) if xs.len() > 20 => format!("of {} elements", xs.len()),
            Value::Matrix(m) if m.rows() * m.cols() > 30 => {
                format!("of {} x {}", m.rows(), m.cols())
            }
            _ => show::Beginning(self).to_string(),
        };
        if full.chars().count() <= 60 {
            return full;
        }
        full.chars().take(57).chain("...".chars()).collect()
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Value {
        Value::Number(x)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

// ---------------------------------------------------------------- dropping without recursion

/// Empties nested containers with a work list instead of the call stack.
fn drop_nested(mut pending: Vec<Value>) {
    while let Some(value) = pending.pop() {
        match value {
            Value::Pair(link) => {
                if let Some(mut pair) = Arc::into_inner(link) {
                    pending.push(std::mem::take(&mut pair.first));
                    pending.push(std::mem::take(&mut pair.rest));
                }
            }
            Value::Array(items) => {
                if let Some(mut items) = Arc::into_inner(items) {
                    pending.append(&mut items.0);
                }
            }
            _ => {}
        }
    }
}

fn is_nested(value: &Value) -> bool {
    matches!(value, Value::Pair(_) | Value::Array(_))
}

impl Drop for Pair {
    fn drop(&mut self) {
        if is_nested(&self.first) || is_nested(&self.rest) {
            drop_nested(vec![std::mem::take(&mut self.first), std::mem::take(&mut self.rest)]);
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if self.0.iter().any(is_nested) {
            drop_nested(std::mem::take(&mut self.0));
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
    fn numbers_and_booleans_are_equal_keys() {
        for (a, b) in [(Value::Number(1.0), Value::TRUE), (Value::Number(-0.0), Value::FALSE)] {
            assert_eq!(a, b);
            assert_eq!(hash(&a), hash(&b));
        }
        assert_ne!(Value::Number(2.0), Value::TRUE);
        assert_eq!(Value::Number(f64::NAN), Value::Number(f64::NAN));
    }

    #[test]
    fn identity_is_stricter_than_equality() {
        let empty = |rows, cols| Value::matrix(Matrix::new(rows, cols, Vec::new()));
        assert!(!empty(0, 0).is_identical(&empty(0, 1)));
        assert!(!Value::TRUE.is_identical(&Value::Number(1.0)));
        assert!(!Value::Number(0.0).is_identical(&Value::Number(-0.0)));
        assert!(Value::Number(f64::NAN).is_identical(&Value::Number(f64::NAN)));
        assert!(Value::vector([1.0, 2.0]).is_identical(&Value::vector([1.0, 2.0])));
    }

    #[test]
    fn deep_nesting_neither_drops_nor_compares_by_recursion() {
        let deep = |depth: usize| {
            let mut value = Value::Number(1.0);
            for i in 0..depth {
                value = if i % 2 == 0 { Value::array(vec![value]) } else { Value::list([value]) };
            }
            value
        };
        let (a, b) = (deep(200_000), deep(200_000));
        assert_eq!(a, b);
        assert_eq!(hash(&a), hash(&b));
        assert!(a.to_string().len() > 200_000);
        let long = Value::list((0..300_000).map(|i| Value::Number(f64::from(i))));
        assert_eq!(long.elements().map(|e| e.len()), Some(300_000));
    }

    #[test]
    fn a_value_that_holds_a_part_many_times_over_is_not_walked_for_ever() {
        // 2^60 leaves in sixty arrays, and the same in lists.
        let grown = |step: fn(Value) -> Value| (0..60).fold(Value::Number(1.0), |v, _| step(v));
        let array: fn(Value) -> Value = |v| Value::array(vec![v.clone(), v]);
        let list: fn(Value) -> Value = |v| Value::list([v.clone(), v]);
        let dict: fn(Value) -> Value = |v| Value::dict([(0.0.into(), v.clone()), (1.0.into(), v)]);
        for step in [array, list, dict] {
            let (a, b) = (grown(step), grown(step));
            assert!(a == b && hash(&a) == hash(&b));
            assert!(a < grown(step).max(step(a.clone())) || a > step(a.clone()));
            assert!(a.to_string().contains("...") && a.brief().len() <= 60);
        }
    }

    #[test]
    fn values_print_as_programs() {
        let value = Value::list([
            Value::Number(1.0),
            Value::Number(-2.5),
            Value::TRUE,
            Value::text("a\"b"),
            Value::vector([1e-7, 3.0]),
        ]);
        assert_eq!(value.to_string(), r#"(list 1 -2.5 true "a\"b" (vector 1e-7 3))"#);
    }

    #[test]
    fn a_dictionary_keeps_insertion_order_and_the_last_value() {
        let (a, b) = (Value::symbol("a"), Value::symbol("b"));
        let dict =
            Dict::new([(b.clone(), 1.0.into()), (a.clone(), 2.0.into()), (b.clone(), 3.0.into())]);
        assert_eq!(dict.get(&b), Some(&Value::Number(3.0)));
        assert_eq!(dict.entries().iter().map(|(k, _)| k.clone()).collect::<Vec<_>>(), [b, a]);
    }
}
