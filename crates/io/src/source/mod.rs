//! Tables from files. The extension names the format; one file of this folder per format.

mod csv;
mod error;
mod selection;

use std::path::Path;

use smidgen_value::Table;

pub use error::DataError;
pub use selection::{ColumnSelection, VectorColumn};

use error::Problem;

/// How a file becomes a table, beyond what the file itself says.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// Groups of numeric columns that are bound as one column of vectors.
    pub vectors: Vec<VectorColumn>,
}

/// Reads a whole table into memory.
pub fn read_table(path: &Path, options: &TableOptions) -> Result<Table, DataError> {
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        Some("csv") => csv::read(path, options),
        _ => Err(Problem::Format.of(path)),
    }
}
