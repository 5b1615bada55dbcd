//! Parquet, compressed with zstd. How the draws came about is in the key-value metadata of
//! the file, and once more in the metadata of its Arrow schema: readers that find such a
//! schema (pyarrow, pandas) show only the latter.

use std::fs::File;
use std::sync::Arc;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use smidgen_draws::Run;

use super::arrow::{batch, metadata, schema};
use super::{Problem, Rows};

pub(super) fn write(file: File, rows: &Rows, run: &Run) -> Result<File, Problem> {
    let mut entries: Vec<(String, String)> = metadata(run).into_iter().collect();
    entries.sort();
    let entries = entries.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(entries))
        .build();
    let schema = Arc::new(schema(rows).with_metadata(metadata(run)));
    let mut writer =
        ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(encoder)?;
    for chain in 0..rows.lengths.len() {
        writer.write(&batch(&schema, rows, chain)?).map_err(encoder)?;
    }
    writer.into_inner().map_err(encoder)
}

fn encoder(error: ParquetError) -> Problem {
    Problem::Encoder(error.into())
}
