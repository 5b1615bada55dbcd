//! Numbers that stand for registers.
//!
//! While a block is compiled, values of the language carry, in place of numbers that depend on the
//! block, *marks*: NaNs whose payload names a register. Procedures that only arrange values
//! (`array`, `lookup`, `transpose`, ...) are then simply run, and the marks show where each number
//! went.

use smidgen_prob::law;
use smidgen_value::{Matrix, Value};

use super::Register;

const LOCAL: u64 = 0x7FFD_ABCC_0000_0000;
const GLOBAL: u64 = 0x7FFD_ABCD_0000_0000;
const WORD: u64 = 0xFFFF_FFFF_0000_0000;

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Marked {
    Number(f64),
    /// A register of the program at hand.
    Local(Register),
    /// A register of the global part.
    Global(Register),
}

pub(crate) fn local(register: Register) -> f64 {
    f64::from_bits(LOCAL | u64::from(register))
}

pub(crate) fn global(register: Register) -> f64 {
    f64::from_bits(GLOBAL | u64::from(register))
}

pub(crate) fn read(x: f64) -> Marked {
    let bits = x.to_bits();
    match bits & WORD {
        LOCAL => Marked::Local(bits as u32),
        GLOBAL => Marked::Global(bits as u32),
        _ => Marked::Number(x),
    }
}

pub(crate) fn is_marked(x: f64) -> bool {
    !matches!(read(x), Marked::Number(_))
}

/// Whether some number in a value is marked.
pub(crate) fn has_marks(value: &Value) -> bool {
    match value {
        Value::Number(x) => is_marked(*x),
        Value::Vector(xs) => xs.iter().any(|x| is_marked(*x)),
        Value::Matrix(m) => m.as_slice().iter().any(|x| is_marked(*x)),
        Value::Array(items) => items.iter().any(has_marks),
        Value::Pair(_) => match value.elements() {
            Some(items) => items.iter().any(has_marks),
            // Not a list: a plain pair.
            None => match value {
                Value::Pair(pair) => has_marks(&pair.first) || has_marks(&pair.rest),
                _ => false,
            },
        },
        Value::Dict(dict) => dict.entries().iter().any(|(_, value)| has_marks(value)),
        _ => false,
    }
}

/// Looks at all numbers of a value, whatever else it holds.
pub(crate) fn visit(value: &Value, look: &mut dyn FnMut(f64)) {
    match value {
        Value::Number(x) => look(*x),
        Value::Vector(xs) => xs.iter().for_each(|x| look(*x)),
        Value::Matrix(m) => m.as_slice().iter().for_each(|x| look(*x)),
        Value::Array(items) => items.iter().for_each(|item| visit(item, look)),
        Value::Pair(pair) => {
            visit(&pair.first, look);
            visit(&pair.rest, look);
        }
        Value::Dict(dict) => dict.entries().iter().for_each(|(_, value)| visit(value, look)),
        _ => {}
    }
}

/// The value with its marks replaced. None for one that holds marks where this cannot be done.
pub(crate) fn replace(value: &Value, with: &dyn Fn(f64) -> f64) -> Option<Value> {
    if !has_marks(value) {
        return Some(value.clone());
    }
    Some(match value {
        Value::Number(x) => Value::Number(with(*x)),
        Value::Vector(xs) => Value::vector(xs.iter().map(|x| with(*x)).collect::<Vec<_>>()),
        Value::Matrix(m) => {
            let entries = m.as_slice().iter().map(|x| with(*x)).collect();
            Value::matrix(Matrix::new(m.rows(), m.cols(), entries))
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| replace(item, with));
            Value::array(items.collect::<Option<Vec<_>>>()?)
        }
        other => {
            let items = other.elements()?;
            Value::list(items.iter().map(|item| replace(item, with)).collect::<Option<Vec<_>>>()?)
        }
    })
}

/// The same of a value as it stands in the trace: none if it holds a number that is more than a double.
pub(crate) fn plain_numbers(value: &Value, out: &mut Vec<f64>) -> bool {
    !value.holds_linked() && numbers(value, out)
}

/// All numbers of a value in order, if it holds nothing else.
pub(crate) fn numbers(value: &Value, out: &mut Vec<f64>) -> bool {
    match value {
        Value::Number(x) => out.push(*x),
        Value::Linked(link, eta) => out.push(link.number(*eta)),
        Value::Bool(b) => out.push(f64::from(u8::from(*b))),
        Value::Vector(xs) => out.extend_from_slice(xs),
        Value::Matrix(m) => out.extend_from_slice(m.as_slice()),
        Value::Array(_) | Value::Pair(_) | Value::Nil => match value.elements() {
            Some(items) => return items.iter().all(|item| numbers(item, out)),
            None => return false,
        },
        // A law as an argument of another.
        value => match law::number(value) {
            Some(number) => out.push(number),
            None => return false,
        },
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_told_from_numbers() {
        assert_eq!(read(local(7)), Marked::Local(7));
        assert_eq!(read(global(u32::MAX)), Marked::Global(u32::MAX));
        for x in [0.0, -1.5, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(read(x), Marked::Number(x));
        }
        assert!(!is_marked(f64::NAN));
        assert!(!is_marked(-f64::NAN));
    }

    #[test]
    fn marks_travel_through_containers() {
        let vector = Value::vector(vec![1.0, local(3)]);
        assert!(has_marks(&Value::array(vec![Value::Nil, vector.clone()])));
        let mut found = Vec::new();
        assert!(numbers(&Value::list(vec![vector, Value::Bool(true)]), &mut found));
        assert_eq!(read(found[1]), Marked::Local(3));
        assert_eq!((found[0], found[2]), (1.0, 1.0));
    }
}
