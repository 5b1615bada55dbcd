//! Named columns of equal length: the data that programs observe. Shared by all chains,
//! never copied into a trace.

use std::sync::Arc;

use crate::{Symbol, Value, Vector};

#[derive(Clone, Debug)]
pub enum Column {
    Reals(Arc<[f64]>),
    Booleans(Arc<[bool]>),
    Texts(Arc<[Arc<String>]>),
    /// Row i is `data[i * width .. (i + 1) * width]`.
    Vectors {
        data: Arc<[f64]>,
        width: usize,
    },
}

impl Column {
    pub fn len(&self) -> usize {
        match self {
            Column::Reals(xs) => xs.len(),
            Column::Booleans(xs) => xs.len(),
            Column::Texts(xs) => xs.len(),
            Column::Vectors { data, width } => data.len().checked_div(*width).unwrap_or(0),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell in row `i`, without copying data.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn cell(&self, i: usize) -> Value {
        match self {
            Column::Reals(xs) => Value::Number(xs[i]),
            Column::Booleans(xs) => Value::Bool(xs[i]),
            Column::Texts(xs) => Value::Text(xs[i].clone()),
            Column::Vectors { data, width } => {
                Value::Vector(Arc::new(Vector::view(data.clone(), i * width, *width)))
            }
        }
    }

    /// Whether both are the same data in memory.
    pub fn is_same(&self, other: &Column) -> bool {
        match (self, other) {
            (Column::Reals(a), Column::Reals(b)) => Arc::ptr_eq(a, b),
            (Column::Booleans(a), Column::Booleans(b)) => Arc::ptr_eq(a, b),
            (Column::Texts(a), Column::Texts(b)) => Arc::ptr_eq(a, b),
            (Column::Vectors { data: a, width: v }, Column::Vectors { data: b, width: w }) => {
                Arc::ptr_eq(a, b) && v == w
            }
            _ => false,
        }
    }

    /// The whole column as one value: a vector of numbers, else an array of cells.
    pub fn to_value(&self) -> Value {
        match self {
            Column::Reals(xs) => Value::Vector(Arc::new(Vector::new(xs.clone()))),
            _ => Value::array((0..self.len()).map(|i| self.cell(i)).collect()),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    names: Vec<Symbol>,
    columns: Vec<Column>,
    rows: usize,
}

impl Table {
    /// # Panics
    /// If the columns differ in length (a reader has checked its input before).
    pub fn new(columns: Vec<(Symbol, Column)>) -> Table {
        let rows = columns.first().map_or(0, |(_, c)| c.len());
        assert!(columns.iter().all(|(_, c)| c.len() == rows), "columns have equal length");
        let (names, columns) = columns.into_iter().unzip();
        Table { names, columns, rows }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn names(&self) -> &[Symbol] {
        &self.names
    }

    pub fn column(&self, name: Symbol) -> Option<&Column> {
        self.names.iter().position(|n| *n == name).map(|i| &self.columns[i])
    }
}
