//! Parquet, Arrow and NumPy files. All come as record batches of Arrow, and `batches.rs` takes the
//! columns from there. `memory.rs` takes batches that are in memory already, `messages.rs` those of a stream that goes on
//! being written.

mod arrow;
mod batches;
mod lent;
mod memory;
pub(super) mod messages;
mod numpy;
mod parquet;

use std::panic::AssertUnwindSafe;
use std::path::Path;

use smidgen_value::Table;

use crate::source::error::Problem;
use crate::source::reading::Reading;
use crate::source::{DECODER, TableOptions};

pub use memory::table_of_batches;

pub(super) fn read(
    extension: &str,
    path: &Path,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    match extension {
        "parquet" | "pq" => decoded("Parquet", || parquet::read(path, options, reading)),
        "npy" => decoded("NumPy", || numpy::read_array(path, options, reading)),
        "npz" => decoded("NumPy archive", || numpy::read_archive(path, options, reading)),
        _ => decoded("Arrow", || arrow::read(path, options, reading)),
    }
}

/// Runs a decoder that may panic on a damaged file.
fn decoded(
    format: &'static str,
    read: impl FnOnce() -> Result<Table, Problem> + Send,
) -> Result<Table, Problem> {
    let damaged = |reason: String| Problem::Damaged { format, reason };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(DECODER.to_owned());
        let running = thread.spawn_scoped(scope, AssertUnwindSafe(read)).map_err(Problem::Io)?;
        running.join().unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Err(damaged(text.unwrap_or_else(|| "its decoder failed".to_owned())))
        })
    })
}
