//! Printing.

use std::fmt;

use super::{Value, with_stack};

/// Program text that evaluates to the same value, where such text exists.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("(list)"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Number(x) => write_number(f, *x),
            Value::Linked(link, eta) => write_number(f, link.number(*eta)),
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
