//! Values with marks in place of numbers: templates of what differs from lane to lane.

use smidgen_value::{Matrix, Value};

use super::Register;
use super::marked::{self, Marked};

/// Calls `f` with the numbers of a template in order, marked or not.
pub(super) fn each_number(value: &Value, f: &mut dyn FnMut(f64)) {
    match value {
        Value::Number(x) => f(*x),
        Value::Vector(xs) => xs.iter().for_each(|x| f(*x)),
        Value::Matrix(m) => m.as_slice().iter().for_each(|x| f(*x)),
        Value::Linked(..) | Value::Bool(_) => f(value.as_number().unwrap_or(f64::NAN)),
        other => {
            if let Some(items) = other.elements() {
                items.iter().for_each(|item| each_number(item, f));
            }
        }
    }
}

/// Calls `f` with the registers of a template in order.
pub(crate) fn each_register(value: &Value, f: &mut dyn FnMut(Register)) {
    each_number(value, &mut |x| {
        if let Marked::Local(register) = marked::read(x) {
            f(register);
        }
    });
}

/// A template with what its registers stand for.
pub(crate) fn fill_in(template: &Value, number: &dyn Fn(Register) -> Value) -> Value {
    let plain = |x: f64| match marked::read(x) {
        Marked::Local(register) => number(register).as_number().unwrap_or(f64::NAN),
        _ => x,
    };
    match template {
        Value::Number(x) => match marked::read(*x) {
            Marked::Local(register) => number(register),
            _ => Value::Number(*x),
        },
        Value::Vector(xs) => Value::vector(xs.iter().map(|x| plain(*x)).collect::<Vec<_>>()),
        Value::Matrix(m) => {
            let entries = m.as_slice().iter().map(|x| plain(*x)).collect();
            Value::matrix(Matrix::new(m.rows(), m.cols(), entries))
        }
        Value::Array(items) => {
            Value::array(items.iter().map(|item| fill_in(item, number)).collect())
        }
        Value::Pair(pair) => Value::pair(fill_in(&pair.first, number), fill_in(&pair.rest, number)),
        other => other.clone(),
    }
}

/// A template with other registers, asked for one by one.
pub(crate) fn renamed(template: &Value, name: &mut dyn FnMut(Register) -> f64) -> Value {
    let mut number = |x: f64| match marked::read(x) {
        Marked::Local(register) => name(register),
        _ => x,
    };
    match template {
        Value::Number(x) => Value::Number(number(*x)),
        Value::Vector(xs) => Value::vector(xs.iter().map(|x| number(*x)).collect::<Vec<_>>()),
        Value::Matrix(m) => {
            let entries = m.as_slice().iter().map(|x| number(*x)).collect();
            Value::matrix(Matrix::new(m.rows(), m.cols(), entries))
        }
        Value::Array(items) => Value::array(items.iter().map(|item| renamed(item, name)).collect()),
        Value::Pair(pair) => {
            let first = renamed(&pair.first, name);
            Value::pair(first, renamed(&pair.rest, name))
        }
        other => other.clone(),
    }
}
