//! What is wrong with a data file, in one or two sentences.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A table that cannot be read: which file, where in it, and why.
#[derive(Debug)]
pub struct DataError {
    path: PathBuf,
    problem: Problem,
}

/// The row counts data rows from 1, the line counts lines of the file from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub row: usize,
    pub line: u64,
}

#[derive(Debug)]
pub(super) enum Problem {
    Io(io::Error),
    Directory,
    Format,
    Empty,
    HeaderNotUtf8,
    Separator { header: String },
    UnnamedColumn { position: usize },
    DuplicateColumn { name: String },
    Ragged { place: Place, cells: usize, columns: usize },
    Missing { place: Place, column: String, cell: String },
    BlankLine { place: Place, column: String },
    OpenQuote { place: Place },
    NotUtf8 { place: Place, column: String },
    NotNumeric { place: Place, column: String, vector: String, cell: String },
    NoMatch { vector: String, pattern: String, columns: Vec<String> },
    UnknownColumn { vector: String, column: String, columns: Vec<String> },
    RepeatedColumn { vector: String, column: String },
    EmptyVector { vector: String },
    TakenName { vector: String },
}

impl Problem {
    pub fn of(self, path: &Path) -> DataError {
        DataError { path: path.to_owned(), problem: self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} (line {})", self.row, self.line)
    }
}

/// The first few names, in backquotes.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.problem {
            Problem::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("there is no such file")
            }
            Problem::Io(error) => write!(f, "cannot read the file: {error}"),
            Problem::Directory => f.write_str("this is a directory; a table is read from a file"),
            Problem::Format => f.write_str(
                "the extension names no format that can be read; tables are read from CSV files \
                 (.csv) with a header line",
            ),
            Problem::Empty => {
                f.write_str("the file is empty; its first line should name the columns")
            }
            Problem::HeaderNotUtf8 => {
                f.write_str("the header line is not UTF-8 text; save the file as CSV in UTF-8")
            }
            Problem::Separator { header } => write!(
                f,
                "the header is the single column {header:?}; columns are separated by commas"
            ),
            Problem::UnnamedColumn { position } => {
                write!(f, "column {position} has no name in the header line")
            }
            Problem::DuplicateColumn { name } => {
                write!(f, "the header line names the column `{name}` twice")
            }
            Problem::Ragged { place, cells, columns } => {
                write!(f, "{place} has {cells} cells, but the header names {columns} columns")
            }
            Problem::Missing { place, column, cell } => {
                write!(f, "{place} has no value in column `{column}`")?;
                if !cell.is_empty() {
                    write!(f, " ({cell:?} stands for a missing one)")?;
                }
                f.write_str("; remove such rows or fill them in")
            }
            Problem::BlankLine { place, column } => {
                write!(
                    f,
                    "the line before {place} is blank, so column `{column}` has no value there"
                )
            }
            Problem::OpenQuote { place } => {
                write!(f, "{place}: a quote (\") is opened and not closed before the file ends")
            }
            Problem::NotUtf8 { place, column } => {
                write!(f, "{place}, column `{column}`: the cell is not UTF-8 text")
            }
            Problem::NotNumeric { place, column, vector, cell } => write!(
                f,
                "{place}, column `{column}`: expected a number, because the column is part of the \
                 vector `{vector}`, found {cell:?}"
            ),
            Problem::NoMatch { vector, pattern, columns } => write!(
                f,
                "no column matches {pattern:?} for the vector `{vector}`; the columns are {}",
                list(columns)
            ),
            Problem::UnknownColumn { vector, column, columns } => write!(
                f,
                "there is no column `{column}` for the vector `{vector}`; the columns are {}",
                list(columns)
            ),
            Problem::RepeatedColumn { vector, column } => {
                write!(f, "the vector `{vector}` lists the column `{column}` twice")
            }
            Problem::EmptyVector { vector } => write!(f, "the vector `{vector}` lists no columns"),
            Problem::TakenName { vector } => write!(
                f,
                "the vector `{vector}` has the name of another column; give it a different name"
            ),
        }
    }
}

impl std::error::Error for DataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            _ => None,
        }
    }
}
