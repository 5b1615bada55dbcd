//! The options of a table directive on a table that is in memory already: `(vector x a b)` puts columns of numbers side by
//! side, a copy of 8 bytes a cell. The columns themselves stay, since nothing is copied for them.

use std::path::Path;

use smidgen_value::{Column, Symbol, Table};

use super::error::Problem;
use super::selection::select;
use super::{DataError, TableOptions, VectorColumn};

/// The table with the vectors that the options name. Errors speak of the table by `name`.
///
/// ```
/// use smidgen_io::{ColumnSelection, TableOptions, VectorColumn, bind_vectors};
/// use smidgen_value::{Column, Symbol, Table, Value};
///
/// let column = |xs: [f64; 2]| Column::Reals(xs.into());
/// let table = Table::new(vec![(Symbol::new("a"), column([1.0, 2.0])), (Symbol::new("b"), column([3.0, 4.0]))]);
/// let both = ColumnSelection::List(vec!["a".to_owned(), "b".to_owned()]);
/// let vectors = vec![VectorColumn { name: Symbol::new("x"), columns: both }];
/// let options = TableOptions { vectors, ..TableOptions::default() };
/// let bound = bind_vectors("t", &table, &options).unwrap();
/// assert_eq!(bound.column(Symbol::new("x")).unwrap().cell(1), Value::vector([2.0, 4.0]));
/// ```
pub fn bind_vectors(name: &str, table: &Table, options: &TableOptions) -> Result<Table, DataError> {
    bind(table, options).map_err(|problem| problem.of(Path::new(&format!("the table {name}"))))
}

fn bind(table: &Table, options: &TableOptions) -> Result<Table, Problem> {
    let header: Vec<String> = table.names().iter().map(Symbol::to_string).collect();
    let column = |place: usize| table.column(table.names()[place]).expect("names have columns");
    for text in &options.texts {
        match header.iter().position(|name| name == text).map(column) {
            Some(Column::Texts(_)) => {}
            Some(other) => {
                let (column, found) = (text.clone(), kind(other).to_owned());
                return Err(Problem::NotText { column, found });
            }
            None => return Err(Problem::UnknownText { column: text.clone(), columns: header }),
        }
    }
    let mut columns: Vec<(Symbol, Column)> = Vec::new();
    // Whoever gives a table may have made the vector already, as an array of two dimensions has.
    let is_made =
        |vector: &&VectorColumn| matches!(table.column(vector.name), Some(Column::Vectors { .. }));
    for vector in options.vectors.iter().filter(|vector| !is_made(vector)) {
        let places = select(vector, &header)?;
        let other = header.iter().position(|name| *name == vector.name.as_str());
        let is_taken = other.is_some_and(|place| !places.contains(&place));
        if is_taken || columns.iter().any(|(name, _)| *name == vector.name) {
            return Err(Problem::TakenName { vector: vector.name.to_string() });
        }
        let mut parts = Vec::with_capacity(places.len());
        for place in places {
            match column(place) {
                Column::Reals(cells) => parts.push(cells),
                other => {
                    let (column, vector) = (header[place].clone(), vector.name.to_string());
                    let found = kind(other).to_owned();
                    return Err(Problem::NotNumericType { column, vector, found });
                }
            }
        }
        let mut data = Vec::with_capacity(table.rows() * parts.len());
        for row in 0..table.rows() {
            data.extend(parts.iter().map(|part| part[row]));
        }
        columns.push((vector.name, Column::Vectors { data: data.into(), width: parts.len() }));
    }
    let is_hidden = |name: &Symbol| columns.iter().any(|(vector, _)| vector == name);
    let singles: Vec<(Symbol, Column)> = (0..header.len())
        .map(|place| (table.names()[place], column(place).clone()))
        .filter(|(name, _)| !is_hidden(name))
        .collect();
    Ok(table.with_columns(singles.into_iter().chain(columns).collect()))
}

fn kind(column: &Column) -> &'static str {
    match column {
        Column::Reals(_) => "numbers",
        Column::Booleans(_) => "truth values",
        Column::Texts(_) => "text",
        Column::Vectors { .. } => "vectors",
    }
}
