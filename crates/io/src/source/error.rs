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

/// The row counts data rows from 1, the line counts lines of a text file from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellPlace {
    pub row: usize,
    pub line: Option<u64>,
}

#[derive(Debug)]
#[cfg_attr(not(feature = "columnar"), allow(dead_code))]
pub(super) enum Problem {
    Io(io::Error),
    Interrupted,
    Directory,
    NotAFile,
    /// There is not so much of it.
    Memory {
        megabytes: u64,
    },
    /// Such as `/dev/zero`.
    Device,
    /// More came through a pipe than is kept.
    Endless {
        longest: usize,
    },
    Format,
    /// This build does not read the format.
    #[cfg_attr(feature = "columnar", allow(dead_code))]
    LeftOut,
    /// The file is shorter now than it was when it was opened.
    Changed,
    /// The file ends too early.
    CutOff,
    /// The file is not what its extension says, or its bytes are wrong, in the decoder's words.
    Damaged {
        format: &'static str,
        reason: String,
    },
    /// The decoder knows the compression but was built without it.
    Compression {
        reason: String,
    },
    Empty,
    NoColumns,
    NoRows,
    HeaderNotUtf8,
    Separator {
        header: String,
    },
    UnnamedColumn {
        position: usize,
    },
    DuplicateColumn {
        name: String,
    },
    Ragged {
        place: CellPlace,
        cells: usize,
        columns: usize,
    },
    BlankLine {
        place: CellPlace,
        column: String,
    },
    OpenQuote {
        place: CellPlace,
    },
    NotUtf8 {
        place: CellPlace,
        column: String,
    },
    NotNumeric {
        place: CellPlace,
        column: String,
        reason: String,
    },
    /// A column of another type in a file that knows types.
    NotNumericType {
        column: String,
        vector: String,
        found: String,
    },
    NotText {
        column: String,
        found: String,
    },
    /// A whole number that no double holds exactly.
    TooLarge {
        place: CellPlace,
        column: String,
        number: String,
    },
    /// Lists of different lengths in one column.
    ListLength {
        place: CellPlace,
        column: String,
        found: usize,
        expected: usize,
    },
    EmptyList {
        place: CellPlace,
        column: String,
    },
    /// Arrays of an archive.
    Lengths {
        first: (String, usize),
        other: (String, usize),
    },
    /// An array that is no table.
    Shape {
        shape: Vec<usize>,
    },
    NoMatch {
        vector: String,
        pattern: String,
        columns: Vec<String>,
    },
    UnknownColumn {
        vector: String,
        column: String,
        columns: Vec<String>,
    },
    UnknownText {
        column: String,
        columns: Vec<String>,
    },
    RepeatedColumn {
        vector: String,
        column: String,
    },
    EmptyVector {
        vector: String,
    },
    TakenName {
        vector: String,
    },
}

impl Problem {
    /// Whether the rest of the table is sound.
    #[cfg(feature = "columnar")]
    pub fn is_of_one_column(&self) -> bool {
        matches!(
            self,
            Problem::TooLarge { .. } | Problem::ListLength { .. } | Problem::EmptyList { .. }
        )
    }

    pub fn of(self, path: &Path) -> DataError {
        DataError { path: path.to_owned(), problem: self }
    }
}

impl fmt::Display for CellPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "row {} (line {line})", self.row),
            None => write!(f, "row {} (row.index {})", self.row, self.row - 1),
        }
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
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("there is no such file")
            }
            Problem::Io(error) => write!(f, "cannot read the file: {error}"),
            Problem::Directory => f.write_str("this is a directory; a table is read from a file"),
            Problem::Format => f.write_str(
                "the extension names no format that can be read; tables are read from .csv (with a \
                 header line), .parquet, .arrow (or .feather, .ipc), .npy and .npz files",
            ),
            Problem::LeftOut => f.write_str(
                "this smidgen was built without the feature `columnar`, which reads such files",
            ),
            Problem::Interrupted => f.write_str("reading was interrupted"),
            Problem::Memory { megabytes } => write!(
                f,
                "the table takes about {megabytes} MB of memory, and there is not so much; a part of its rows or \
                 columns may do, or an uncompressed .arrow file, which is read where it lies"
            ),
            Problem::Device => write!(f, "this is a device, no file"),
            Problem::Endless { longest } => write!(
                f,
                "more than {} MiB came through a pipe; write it into a file and read that",
                longest >> 20
            ),
            Problem::NotAFile => {
                f.write_str("this is no regular file; only a CSV can be read from a pipe")
            }
            Problem::Changed => f.write_str("the file became shorter while it was read"),
            Problem::CutOff => {
                f.write_str("the file is cut off: it ends before its data do; copy it again")
            }
            Problem::Damaged { format, reason } => {
                write!(f, "this is no {format} file, or it is damaged: {reason}")
            }
            Problem::Compression { reason } => write!(
                f,
                "the file is compressed in a way that is not supported ({reason}); snappy, gzip, \
                 lz4 and zstd are"
            ),
            Problem::NoColumns => f.write_str("the file has no columns"),
            Problem::NoRows => f.write_str("the table has no rows, so there is nothing to observe"),
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
                write!(f, "column {position} has no name")
            }
            Problem::DuplicateColumn { name } => {
                write!(f, "the file names the column `{name}` twice")
            }
            Problem::Ragged { place, cells, columns } => {
                write!(f, "{place} has {cells} cells, but the header names {columns} columns")
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
            Problem::NotNumeric { place, column, reason } => {
                write!(f, "{place}, column `{column}`: {reason}")
            }
            Problem::NotNumericType { column, vector, found } => write!(
                f,
                "column `{column}`: expected numbers, because the column is part of the vector \
                 `{vector}`, found {found}"
            ),
            Problem::NotText { column, found } => write!(
                f,
                "column `{column}`: expected text, because of (text {column}), found {found}; only \
                 CSV files leave that open"
            ),
            Problem::TooLarge { place, column, number } => write!(
                f,
                "{place}, column `{column}`: the number {number} is beyond 2^53, and numbers of \
                 that size are not exact; write it as text, or smaller"
            ),
            Problem::ListLength { place, column, found, expected } => write!(
                f,
                "{place}, column `{column}`: the list has {found} elements, in the rows before \
                 {expected}; the vectors of a column have one length"
            ),
            Problem::EmptyList { place, column } => {
                write!(f, "{place}, column `{column}`: the list is empty")
            }
            Problem::Lengths { first, other } => write!(
                f,
                "the array `{}` has {} rows, the array `{}` has {}; arrays that form a table have \
                 equal first dimensions",
                first.0, first.1, other.0, other.1
            ),
            Problem::Shape { shape } => write!(
                f,
                "the array has the shape {shape:?}; a table is made from one dimension (numbers) or \
                 two (vectors)"
            ),
            Problem::UnknownText { column, columns } => write!(
                f,
                "there is no column `{column}` to read as text; the columns are {}",
                list(columns)
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
