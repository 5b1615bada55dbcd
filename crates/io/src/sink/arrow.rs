//! Arrow IPC file format (also known as Feather version 2), one record batch per chain. How
//! the draws came about is in the metadata of the schema. Also the batches for Parquet.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use serde_json::json;
use smidgen_draws::Run;

use super::{Problem, Rows, WARMUP};
use crate::json::kernels_to_json;

pub(super) fn write(file: File, rows: &Rows, run: &Run) -> Result<File, Problem> {
    let schema = Arc::new(schema(rows).with_metadata(metadata(run)));
    let mut writer = FileWriter::try_new(BufWriter::new(file), &schema).map_err(encoder)?;
    for chain in 0..rows.lengths.len() {
        writer.write(&batch(&schema, rows, chain)?).map_err(encoder)?;
    }
    let buffer = writer.into_inner().map_err(encoder)?;
    buffer.into_inner().map_err(|error| Problem::Io(error.into_error()))
}

fn encoder(error: ArrowError) -> Problem {
    match error {
        ArrowError::IoError(_, error) => Problem::Io(error),
        other => Problem::Encoder(other.into()),
    }
}

/// What a file says about its run, beside the draws. Kernels and warnings are JSON text.
pub(super) fn metadata(run: &Run) -> HashMap<String, String> {
    let entries = [
        ("program", run.program.clone()),
        ("seed", run.seed.to_string()),
        ("kernels", kernels_to_json(&run.kernels).to_string()),
        ("warnings", json!(run.warnings).to_string()),
        ("version", run.version.clone()),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

pub(super) fn schema(rows: &Rows) -> Schema {
    let mut fields = vec![
        Field::new("chain", DataType::Int64, false),
        Field::new("draw", DataType::Int64, false),
    ];
    if rows.warmup.is_some() {
        fields.push(Field::new(WARMUP, DataType::Int64, false));
    }
    fields.extend(rows.scalars.iter().map(|s| Field::new(&s.name, DataType::Float64, true)));
    Schema::new(fields)
}

/// The rows of one chain.
pub(super) fn batch(
    schema: &Arc<Schema>,
    rows: &Rows,
    chain: usize,
) -> Result<RecordBatch, Problem> {
    let length = rows.lengths[chain];
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_value(chain as i64, length)),
        Arc::new(Int64Array::from_iter_values(
            (0..length).map(|row| rows.draw(chain, row).0 as i64),
        )),
    ];
    if rows.warmup.is_some() {
        let warm = (0..length).map(|row| i64::from(rows.draw(chain, row).1));
        columns.push(Arc::new(Int64Array::from_iter_values(warm)));
    }
    for scalar in &rows.scalars {
        let draws = scalar.chains.get(chain).map_or(&[][..], Vec::as_slice);
        columns.push(if draws.len() == length {
            Arc::new(Float64Array::from_iter_values(draws.iter().copied()))
        } else {
            Arc::new(Float64Array::from_iter((0..length).map(|draw| draws.get(draw).copied())))
        });
    }
    RecordBatch::try_new(schema.clone(), columns).map_err(encoder)
}
