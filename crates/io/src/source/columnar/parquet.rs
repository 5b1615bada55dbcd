//! Parquet, some ten thousand rows at a time; compressed by Snappy, gzip, LZ4 or Zstandard.

use std::path::Path;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use smidgen_value::Table;

use super::batches::{Batches, ROWS_AT_ONCE};
use crate::source::TableOptions;
use crate::source::error::Problem;
use crate::source::reading::{Opened, Reading, room_for};

pub(super) fn read(
    path: &Path,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    let opened = Opened::new(path)?;
    if opened.size < 12 {
        return Err(Problem::CutOff);
    }
    let whole = opened.ends_with(b"PAR1")?;
    let cut_off = |error: ParquetError| if whole { decoder(error) } else { Problem::CutOff };
    if !opened.begins_with(b"PAR1")? {
        let reason = "it does not begin like one".to_owned();
        return Err(Problem::Damaged { format: "Parquet", reason });
    }
    let builder = ParquetRecordBatchReaderBuilder::try_new(opened.file).map_err(cut_off)?;
    let total = builder.metadata().file_metadata().num_rows();
    reading.begin(u64::try_from(total).unwrap_or(0));
    let mut batches = Batches::new(builder.schema(), options)?;
    // Mostly doubles. A file that claims too much is found out by its end.
    room_for(u128::try_from(total).unwrap_or(0) * 8 * batches.columns() as u128)?;
    for batch in builder.with_batch_size(ROWS_AT_ONCE).build().map_err(decoder)? {
        let batch = batch.map_err(|error| decoder(error.into()))?;
        batches.push(&batch)?;
        reading.advance(batch.num_rows() as u64)?;
    }
    batches.finish_with(usize::try_from(total).unwrap_or(usize::MAX))
}

fn decoder(error: ParquetError) -> Problem {
    let reason = error.to_string();
    match error {
        ParquetError::EOF(_) => Problem::CutOff,
        _ if reason.contains("Disabled feature") => Problem::Compression { reason },
        _ => Problem::Damaged { format: "Parquet", reason },
    }
}
