//! Printing.

use std::fmt;

use super::{Value, with_stack};

/// Parts of a value that are printed. A value may hold one part many times over, and then has more of them than
/// anybody could read.
const SHOWN_PARTS: usize = 1 << 22;

/// Program text that evaluates to the same value, where such text exists and is not endless.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self, f, &mut { SHOWN_PARTS })
    }
}

/// The first few parts of a value, which are all that a short line can hold.
pub(super) struct Beginning<'a>(pub &'a Value);

impl fmt::Display for Beginning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.0, f, &mut 64)
    }
}

fn show(value: &Value, f: &mut fmt::Formatter<'_>, left: &mut usize) -> fmt::Result {
    if *left == 0 {
        return Ok(());
    }
    *left -= 1;
    if *left == 0 {
        return f.write_str("...");
    }
    match value {
        Value::Nil => f.write_str("(list)"),
        Value::Bool(b) => write!(f, "{b}"),
        Value::Number(x) => write_number(f, *x),
        Value::Linked(link, eta) => write_number(f, link.number(*eta)),
        Value::Symbol(name) => write!(f, "{name}"),
        Value::Text(text) => write!(f, "{text:?}"),
        Value::Pair(_) => {
            f.write_str("(list")?;
            let mut link = value;
            while let Value::Pair(pair) = link
                && *left > 0
            {
                f.write_str(" ")?;
                with_stack(|| show(&pair.first, f, left))?;
                link = &pair.rest;
            }
            if !matches!(link, Value::Nil) && *left > 0 {
                f.write_str(" . ")?;
                with_stack(|| show(link, f, left))?;
            }
            f.write_str(")")
        }
        Value::Array(items) => {
            f.write_str("(array")?;
            for item in items.iter() {
                if *left == 0 {
                    break;
                }
                f.write_str(" ")?;
                with_stack(|| show(item, f, left))?;
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
                if *left == 0 {
                    break;
                }
                f.write_str(" (array ")?;
                with_stack(|| show(key, f, left))?;
                f.write_str(" ")?;
                with_stack(|| show(value, f, left))?;
                f.write_str(")")?;
            }
            f.write_str(")")
        }
        Value::Procedure(inner) | Value::Environment(inner) => f.write_str(&inner.shown_as),
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
