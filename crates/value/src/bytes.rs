//! Things as bytes, and back to the very bits: what checkpoints and files of states are made of.
//!
//! Numbers are little-endian, a list is its length and its items, a value is a tag and what it holds. Nothing is
//! believed: a length is checked against what is left before anything is allocated, and what does not fit gives None.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use crate::{Link, Matrix, State, Symbol, Value};

/// Bytes that are read.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    left: &'a [u8],
    depth: usize,
}

/// Values within values.
const DEEPEST: usize = 1000;

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { left: bytes, depth: 0 }
    }

    /// How many bytes are left.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(n)?;
        self.left = left;
        Some(taken)
    }

    /// A number of things of which each takes so many bytes at least.
    pub fn count(&mut self, each: usize) -> Option<usize> {
        let n = usize::try_from(u64::take(self)?).ok()?;
        (n.checked_mul(each)? <= self.left.len()).then_some(n)
    }

    fn text(&mut self) -> Option<&'a str> {
        let n = self.count(1)?;
        std::str::from_utf8(self.bytes(n)?).ok()
    }

    fn reals(&mut self, n: usize) -> Option<Vec<f64>> {
        (0..n).map(|_| f64::take(self)).collect()
    }
}

/// What can be written as bytes and read back.
pub trait Bytes: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut Input<'_>) -> Option<Self>;
}

/// [`Bytes`] of a struct, field by field. All fields have to be named: who adds one decides here what becomes of it.
#[macro_export]
macro_rules! bytes_of_fields {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl $crate::bytes::Bytes for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let $type { $($field),* } = self;
                $($crate::bytes::Bytes::put($field, out);)*
            }

            fn take(from: &mut $crate::bytes::Input<'_>) -> Option<Self> {
                Some($type { $($field: $crate::bytes::Bytes::take(from)?),* })
            }
        }
    };
}

macro_rules! bytes_of_numbers {
    ($($type:ty),*) => {$(
        impl Bytes for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn take(from: &mut Input<'_>) -> Option<Self> {
                from.bytes(size_of::<$type>())?.try_into().ok().map(<$type>::from_le_bytes)
            }
        }
    )*};
}

bytes_of_numbers!(u8, u32, u64, u128, i64);

impl Bytes for f64 {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_bits().put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        u64::take(from).map(f64::from_bits)
    }
}

impl Bytes for usize {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u64).put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        u64::take(from)?.try_into().ok()
    }
}

impl Bytes for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Bytes for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_text(self, out);
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        from.text().map(str::to_owned)
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    text.len().put(out);
    out.extend(text.as_bytes());
}

impl<T: Bytes> Bytes for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        self.iter().for_each(|item| item.put(out));
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        // Every item takes a byte at least.
        let n = from.count(1)?;
        (0..n).map(|_| T::take(from)).collect()
    }
}

impl<T: Bytes> Bytes for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.iter().for_each(|item| item.put(out));
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        match bool::take(from)? {
            true => T::take(from).map(Some),
            false => Some(None),
        }
    }
}

impl<T: Bytes, E: Bytes> Bytes for Result<T, E> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_ok().put(out);
        match self {
            Ok(item) => item.put(out),
            Err(item) => item.put(out),
        }
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        match bool::take(from)? {
            true => T::take(from).map(Ok),
            false => E::take(from).map(Err),
        }
    }
}

impl<T: Bytes, const N: usize> Bytes for [T; N] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|item| item.put(out));
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        let items: Option<Vec<T>> = (0..N).map(|_| T::take(from)).collect();
        items?.try_into().ok()
    }
}

impl Bytes for () {
    fn put(&self, _: &mut Vec<u8>) {}

    fn take(_: &mut Input<'_>) -> Option<Self> {
        Some(())
    }
}

impl<A: Bytes, B: Bytes> Bytes for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

impl<K: Bytes + Ord, V: Bytes> Bytes for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        Vec::<(K, V)>::take(from).map(|entries| entries.into_iter().collect())
    }
}

/// In the order of the keys: equal maps are equal bytes.
impl<K, V, S> Bytes for HashMap<K, V, S>
where
    K: Bytes + Ord + Hash,
    V: Bytes,
    S: BuildHasher + Default,
{
    fn put(&self, out: &mut Vec<u8>) {
        let mut entries: Vec<(&K, &V)> = self.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        entries.len().put(out);
        for (key, value) in entries {
            key.put(out);
            value.put(out);
        }
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        Vec::<(K, V)>::take(from).map(|entries| entries.into_iter().collect())
    }
}

impl<K: Bytes + Ord + Hash, S: BuildHasher + Default> Bytes for HashSet<K, S> {
    fn put(&self, out: &mut Vec<u8>) {
        let mut items: Vec<&K> = self.iter().collect();
        items.sort();
        items.len().put(out);
        items.into_iter().for_each(|item| item.put(out));
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        Vec::<K>::take(from).map(|items| items.into_iter().collect())
    }
}

impl Bytes for Matrix {
    fn put(&self, out: &mut Vec<u8>) {
        self.rows().put(out);
        self.cols().put(out);
        self.as_slice().iter().for_each(|x| x.put(out));
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        let (rows, cols) = (usize::take(from)?, usize::take(from)?);
        let n = rows.checked_mul(cols)?;
        if n.checked_mul(8)? > from.len() {
            return None;
        }
        Some(Matrix::new(rows, cols, from.reals(n)?))
    }
}

/// A procedure has no bytes: it is written as nothing, and who must not lose one asks beforehand.
impl Bytes for Value {
    fn put(&self, out: &mut Vec<u8>) {
        let items = |tag: u8, items: &[Value], out: &mut Vec<u8>| {
            out.push(tag);
            items.len().put(out);
            items.iter().for_each(|item| item.put(out));
        };
        match self {
            Value::Nil | Value::Procedure(_) | Value::Environment(_) => out.push(0),
            Value::Bool(b) => out.push(1 + u8::from(*b)),
            Value::Number(x) => {
                out.push(3);
                x.put(out);
            }
            Value::Linked(link, x) => {
                out.push(4);
                (*link == Link::Log).put(out);
                x.put(out);
            }
            Value::Symbol(name) => {
                out.push(5);
                put_text(name.as_str(), out);
            }
            Value::Text(text) => {
                out.push(6);
                put_text(text, out);
            }
            Value::Vector(xs) => {
                out.push(7);
                xs.len().put(out);
                xs.iter().for_each(|x| x.put(out));
            }
            Value::Matrix(m) => {
                out.push(8);
                m.put(out);
            }
            Value::Array(array) => items(9, array, out),
            Value::Pair(pair) => match self.elements() {
                Some(list) => items(10, &list, out),
                None => items(12, &[pair.first.clone(), pair.rest.clone()], out),
            },
            Value::Dict(dict) => {
                let flat = dict.entries().iter().flat_map(|(k, v)| [k.clone(), v.clone()]);
                items(11, &flat.collect::<Vec<_>>(), out);
            }
        }
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        if from.depth > DEEPEST {
            return None;
        }
        Some(match u8::take(from)? {
            0 => Value::Nil,
            1 => Value::FALSE,
            2 => Value::TRUE,
            3 => Value::Number(f64::take(from)?),
            4 => {
                let link = if bool::take(from)? { Link::Log } else { Link::LogOdds };
                Value::Linked(link, f64::take(from)?)
            }
            5 => Value::Symbol(Symbol::new(from.text()?)),
            6 => Value::text(from.text()?),
            7 => {
                let n = from.count(8)?;
                Value::vector(from.reals(n)?)
            }
            8 => Value::matrix(Matrix::take(from)?),
            tag @ 9..=12 => {
                from.depth += 1;
                let items = Vec::<Value>::take(from)?;
                from.depth -= 1;
                match (tag, items.as_slice()) {
                    (9, _) => Value::array(items),
                    (10, _) => Value::list(items),
                    (11, _) => {
                        let pair = |pair: &[Value]| (pair[0].clone(), pair[1].clone());
                        Value::dict(items.chunks_exact(2).map(pair))
                    }
                    (_, [first, rest]) => Value::pair(first.clone(), rest.clone()),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}

impl Bytes for State {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        self.addresses().iter().for_each(|address| address.put(out));
        self.values().iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut Input<'_>) -> Option<Self> {
        let n = from.count(9)?;
        let addresses: Option<Vec<u64>> = (0..n).map(|_| u64::take(from)).collect();
        let values: Option<Vec<Value>> = (0..n).map(|_| Value::take(from)).collect();
        State::from_parts(Arc::from(addresses?), values?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Learnt {
        step: f64,
        scales: Vec<f64>,
        names: BTreeMap<u64, Option<String>>,
    }
    bytes_of_fields!(Learnt { step, scales, names });

    #[test]
    fn what_is_put_is_taken_and_damage_neither_panics_nor_allocates() {
        let names = [(3, None), (9, Some("ü".to_owned()))].into();
        let learnt = Learnt { step: -0.0, scales: vec![1.5, f64::MIN_POSITIVE], names };
        let mut bytes = Vec::new();
        learnt.put(&mut bytes);
        let mut input = Input::new(&bytes);
        let back = Learnt::take(&mut input).expect("just written");
        assert!(input.is_empty() && back == learnt && back.step.is_sign_negative());
        for n in 0..bytes.len() {
            assert!(Learnt::take(&mut Input::new(&bytes[..n])).is_none(), "cut at {n}");
            let mut changed = bytes.clone();
            changed[n] = 0xFF;
            let _ = Learnt::take(&mut Input::new(&changed));
        }
    }

    #[test]
    fn maps_are_written_in_order() {
        let bytes = |keys: &[u64]| {
            let map: HashMap<u64, bool> = keys.iter().map(|k| (*k, true)).collect();
            let mut out = Vec::new();
            map.put(&mut out);
            out
        };
        assert_eq!(bytes(&[5, 1, 99, 7]), bytes(&[99, 7, 5, 1]));
    }

    #[test]
    fn values_come_back_to_the_bit() {
        let improper = Value::pair(1.0.into(), 2.0.into());
        let values = vec![
            Value::Nil,
            Value::TRUE,
            (-0.0).into(),
            Value::Linked(Link::Log, -800.0),
            Value::symbol("a"),
            Value::text("ü"),
            Value::vector([1.0, f64::NAN]),
            Value::matrix(Matrix::new(1, 2, vec![1.0, -0.0])),
            Value::array(vec![Value::list([1.0.into(), Value::FALSE]), improper]),
            Value::dict([(Value::text("k"), 2.0.into())]),
        ];
        let choices = values.into_iter().enumerate().map(|(k, v)| (3 * k as u64, v)).collect();
        let state = State::new(choices).expect("distinct addresses");
        let mut bytes = Vec::new();
        state.put(&mut bytes);
        let back = State::take(&mut Input::new(&bytes)).expect("just written");
        assert_eq!(format!("{:?}", back.values()), format!("{:?}", state.values()));
        assert_eq!(back.addresses(), state.addresses());
    }
}
