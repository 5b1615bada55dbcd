//! Tables from files. The extension names the format; one file of this folder per format.
//!
//! A table is read whole and then owns its columns: nothing that happens to the file afterwards
//! matters. The exception are large Arrow files, whose columns of doubles are looked through and then
//! used where they lie, in the mapped file (`columnar/lent.rs`).
//!
//! `growing.rs` holds columns of unknown length, `holes.rs` their missing cells; `plan.rs` and `selection.rs` say which columns the table
//! gets; `columnar` has every format but CSV, and can be left out of a build.

mod cells;
#[cfg(feature = "columnar")]
mod columnar;
mod csv;
mod error;
mod follow;
mod given;
mod growing;
mod holes;
mod pipe;
mod plan;
mod reading;
mod selection;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use smidgen_value::Table;

pub use error::DataError;
pub use follow::{Follower, Window};
pub use given::bind_vectors;
pub use reading::{Progress, Reading};
pub use selection::{ColumnSelection, VectorColumn};

#[cfg(feature = "columnar")]
pub use columnar::table_of_batches;

use error::Problem;

/// How a file becomes a table, beyond what the file itself says.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// Groups of numeric columns that are bound as one column of vectors.
    pub vectors: Vec<VectorColumn>,
    /// Columns of a CSV that are text, whatever their cells look like.
    pub texts: Vec<String>,
    /// The arrays of an archive that belong to the table; all if it is empty.
    pub arrays: Vec<String>,
}

/// Reads a whole table into memory.
pub fn read_table(path: &Path, options: &TableOptions) -> Result<Table, DataError> {
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    read_table_with(path, options, Reading { progress: &progress, stop: &stop })
}

/// The same; it can be watched and stopped from another thread.
pub fn read_table_with(
    path: &Path,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, DataError> {
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let table = match extension.as_deref() {
        Some("csv") => csv::read(path, options, reading),
        Some(extension) if COLUMNAR.contains(&extension) => {
            read_columnar(extension, path, options, reading)
        }
        _ => Err(Problem::Format),
    };
    let stopped = || reading.stop.load(std::sync::atomic::Ordering::Relaxed);
    table.map_err(|problem| if stopped() { Problem::Interrupted } else { problem }.of(path))
}

/// Extensions of files that need decoders of other people.
const COLUMNAR: [&str; 8] = ["parquet", "pq", "arrow", "arrows", "feather", "ipc", "npy", "npz"];

#[cfg(feature = "columnar")]
use columnar::read as read_columnar;

#[cfg(feature = "columnar")]
use columnar::messages;

/// Messages of streams in a build that reads none: they are refused before.
#[cfg(not(feature = "columnar"))]
mod messages {
    use smidgen_value::Table;

    use super::error::Problem;
    use super::follow::End;
    use super::{Reading, TableOptions};

    pub fn whole(_: &[u8]) -> Vec<End> {
        Vec::new()
    }

    pub fn read(_: &[u8], _: &[u8], _: &TableOptions, _: Reading) -> Result<Table, Problem> {
        Err(Problem::LeftOut)
    }

    pub fn keep_dictionaries(_: &mut Vec<u8>, _: &[u8]) {}
}

#[cfg(not(feature = "columnar"))]
fn read_columnar(_: &str, _: &Path, _: &TableOptions, _: Reading) -> Result<Table, Problem> {
    Err(Problem::LeftOut)
}

/// The name of the thread in which decoders of other people run. They may panic on a damaged
/// file; that is reported as an error, and a panic hook need not speak of it.
pub const DECODER: &str = "decoder of tables";

/// A table without rows is a mistake more often than not, and a silent one.
fn refuse_empty(rows: usize) -> Result<(), Problem> {
    if rows == 0 { Err(Problem::NoRows) } else { Ok(()) }
}
