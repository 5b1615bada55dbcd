//! The one value type of the language.
//!
//! * There is one kind of number, a double: `1` and `1.0` are the same value. Counts, indices
//!   and labels are whole doubles, exact to 2^53.
//! * `true` equals `1` and `false` equals `0`, also as a key, so a coin may be summed, compared
//!   and memoised on without conversion. They keep their own type and print as words.
//! * Lists are chains of pairs (`rest` is free); arrays, vectors and matrices are contiguous.
//! * A value is 16 bytes; whatever is larger is shared behind an `Arc`.
//! * Nesting may be deep (a list built by recursion): dropping, comparing, hashing and printing
//!   never overflow the stack.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{Matrix, Symbol, Vector};

#[derive(Clone, Debug, Default)]
pub enum Value {
    /// The empty list.
    #[default]
    Nil,
    Bool(bool),
    Number(f64),
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
            _ => None,
        }
    }

    /// A number, with `true` as 1 and `false` as 0.
    #[inline]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(x) => Some(*x),
            Value::Bool(b) => Some(f64::from(u8::from(*b))),
            _ => None,
        }
    }

    /// A whole number.
    pub fn as_integer(&self) -> Option<i64> {
        self.as_number().filter(|x| x.fract() == 0.0 && x.abs() < 9.0e15).map(|x| x as i64)
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
    pub fn is_identical(&self, other: &Value) -> bool {
        let bits = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
        };
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a.to_bits() == b.to_bits(),
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
            Value::Number(_) => "a number",
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
            _ => self.to_string(),
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

// ---------------------------------------------------------------- equality, order, hash

impl PartialEq for Value {
    #[inline]
    fn eq(&self, other: &Value) -> bool {
        if let (Value::Number(a), Value::Number(b)) = (self, other) {
            return a == b || (a.is_nan() && b.is_nan());
        }
        self.cmp(other) == Ordering::Equal
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

/// A total order over all values: by type, then by content. Procedures and environments,
/// which have identity but no content, come in an arbitrary but consistent order.
impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        use Value::*;
        fn rank(value: &Value) -> u8 {
            match value {
                Bool(_) | Number(_) => 0,
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
            (Procedure(a), Procedure(b)) | (Environment(a), Environment(b)) => {
                Arc::as_ptr(a).cast::<u8>().cmp(&Arc::as_ptr(b).cast::<u8>())
            }
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
            Value::Bool(_) | Value::Number(_) => {
                number(self.as_number().expect("numbers and booleans are numeric"), state);
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
            Value::Procedure(p) | Value::Environment(p) => {
                Arc::as_ptr(p).cast::<u8>().hash(state);
            }
        }
    }
}

// ---------------------------------------------------------------- printing

/// Program text that evaluates to the same value, where such text exists.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("(list)"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Number(x) => write_number(f, *x),
            Value::Symbol(name) => write!(f, "{name}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Pair(_) => {
                f.write_str("(list")?;
                let mut link = self;
                while let Value::Pair(pair) = link {
                    f.write_str(" ")?;
                    with_stack(|| pair.first.fmt(f))?;
                    link = &pair.rest;
                }
                if !matches!(link, Value::Nil) {
                    f.write_str(" . ")?;
                    with_stack(|| link.fmt(f))?;
                }
                f.write_str(")")
            }
            Value::Array(items) => {
                f.write_str("(array")?;
                for item in items.iter() {
                    f.write_str(" ")?;
                    with_stack(|| item.fmt(f))?;
                }
                f.write_str(")")
            }
            Value::Vector(xs) => {
                f.write_str("(vector")?;
                write_numbers(f, xs)?;
                f.write_str(")")
            }
            Value::Matrix(m) => {
                f.write_str("(matrix (list")?;
                for i in 0..m.rows() {
                    f.write_str(" (list")?;
                    write_numbers(f, m.row(i))?;
                    f.write_str(")")?;
                }
                f.write_str("))")
            }
            Value::Dict(dict) => {
                f.write_str("(dict")?;
                for (key, value) in dict.entries() {
                    with_stack(|| write!(f, " (array {key} {value})"))?;
                }
                f.write_str(")")
            }
            Value::Procedure(inner) | Value::Environment(inner) => f.write_str(&inner.shown_as),
        }
    }
}

fn write_numbers(f: &mut fmt::Formatter<'_>, xs: &[f64]) -> fmt::Result {
    for x in xs {
        f.write_str(" ")?;
        write_number(f, *x)?;
    }
    Ok(())
}

fn write_number(f: &mut fmt::Formatter<'_>, x: f64) -> fmt::Result {
    if x != 0.0 && !(1e-5..1e16).contains(&x.abs()) && x.is_finite() {
        write!(f, "{x:e}")
    } else {
        write!(f, "{x}")
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
