//! Values that take the place of what a program observes, in the order of its observations: those of a loop row by
//! row, and in a row one after the other.

use std::ops::Range;
use std::sync::Arc;

use smidgen_lang::Span;
use smidgen_lang::core::{Expr, ExprKind, ExprRef};
use smidgen_value::{Column, Symbol, Value};

#[derive(Clone)]
pub struct Simulated {
    values: Arc<[Value]>,
    next: usize,
}

impl Simulated {
    pub fn new(values: Arc<[Value]>) -> Simulated {
        Simulated { values, next: 0 }
    }

    /// What the next observation sees.
    pub fn next(&mut self) -> Value {
        self.next += 1;
        self.values.get(self.next - 1).cloned().unwrap_or_default()
    }

    pub fn skip(&mut self, n: usize) {
        self.next += n;
    }

    /// For a loop with so many observations in a round: the expressions of what each of them sees, as cells of
    /// columns. None if it is neither numbers, booleans nor vectors of one length.
    pub fn columns(&self, each: usize, rows: &Range<i64>, span: Span) -> Option<Vec<ExprRef>> {
        let first = usize::try_from(rows.start).ok()?;
        let end = usize::try_from(rows.end).ok().filter(|end| *end >= first)?;
        let outcome = |k: usize| {
            let of = |row: usize| self.values.get(self.next + (row - first) * each + k);
            let values = (0..end).map(|row| of(row.max(first))).collect::<Option<Vec<&Value>>>()?;
            let column = column(&values)?;
            let name = Symbol::new("row.simulated");
            let kind = ExprKind::Cell { column, depth: 0, slot: 0, name };
            Some(ExprRef::new(Expr { kind, span }))
        };
        (0..each).map(outcome).collect()
    }
}

fn column(values: &[&Value]) -> Option<Column> {
    let booleans = values.iter().map(|value| match value {
        Value::Bool(b) => Some(*b),
        _ => None,
    });
    if let Some(booleans) = booleans.collect::<Option<Vec<bool>>>() {
        return Some(Column::Booleans(booleans.into()));
    }
    let numbers = values.iter().map(|value| match value {
        Value::Bool(_) => None,
        value => value.as_number(),
    });
    if let Some(numbers) = numbers.collect::<Option<Vec<f64>>>() {
        return Some(Column::Reals(numbers.into()));
    }
    let vectors = values.iter().map(|value| match value {
        Value::Vector(xs) => Some(xs.as_slice()),
        _ => None,
    });
    let vectors = vectors.collect::<Option<Vec<&[f64]>>>()?;
    let width = vectors.first()?.len();
    let fits = vectors.iter().all(|xs| xs.len() == width);
    fits.then(|| Column::Vectors { data: vectors.concat().into(), width })
}
