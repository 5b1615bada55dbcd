//! Parquet and Arrow files, batch by batch. How the draws came about is in the metadata of their
//! Arrow schema.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use smidgen_draws::Run;
use smidgen_value::Value;

use super::{Chains, Header, from_rows, json, opened};
use crate::sink::WARMUP;
use crate::source::DECODER;

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// In a thread of its own: the decoders may panic on a damaged file.
pub(super) fn read(path: &Path) -> Result<Run, String> {
    let failed = || "the file is damaged: its decoder failed".to_owned();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(DECODER.to_owned());
        let running = thread.spawn_scoped(scope, || decode(path)).map_err(|e| e.to_string())?;
        running.join().unwrap_or_else(|_| Err(failed()))
    })
}

fn decode(path: &Path) -> Result<Run, String> {
    let file = opened(path)?;
    let parquet = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet"));
    let (schema, batches) = if parquet { parquet_batches(file)? } else { arrow_batches(file)? };
    let header = Header::new(schema.fields().iter().map(|field| field.name().clone()))?;
    let (mut chains, mut warmup) = (Chains::new(&header), Chains::new(&header));
    let mut first = 0;
    for batch in batches {
        let batch = batch.map_err(damaged)?;
        rows(&batch, &header, [&mut chains, &mut warmup], first)?;
        first += batch.num_rows();
    }
    with_story(from_rows(chains, warmup), schema.metadata())
}

fn damaged(error: impl std::fmt::Display) -> String {
    format!("the file is damaged: {error}")
}

fn parquet_batches(file: File) -> Result<(arrow_schema::SchemaRef, Batches), String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
    let schema = builder.schema().clone();
    Ok((schema, Box::new(builder.build().map_err(damaged)?)))
}

fn arrow_batches(file: File) -> Result<(arrow_schema::SchemaRef, Batches), String> {
    let reader = FileReader::try_new(file, None).map_err(damaged)?;
    Ok((reader.schema(), Box::new(reader)))
}

fn rows(
    batch: &RecordBatch,
    header: &Header,
    [chains, warmup]: [&mut Chains; 2],
    first: usize,
) -> Result<(), String> {
    let numbers = |name: &str, place: Option<usize>| match place {
        None => Ok(None),
        Some(place) => match batch.column(place).data_type() {
            DataType::Int64 => Ok(Some(batch.column(place).as_primitive::<Int64Type>())),
            other => Err(format!("column `{name}`: {other} where Int64 is expected")),
        },
    };
    let labels = numbers("chain", header.chain)?;
    let warm = numbers(WARMUP, header.warmup)?;
    let mut columns = HashMap::new();
    for (place, name) in &header.quantities {
        match batch.column(*place).data_type() {
            DataType::Float64 => {
                columns.insert(*place, batch.column(*place).as_primitive::<Float64Type>());
            }
            other => return Err(format!("column `{name}`: {other} where Float64 is expected")),
        }
    }
    for row in 0..batch.num_rows() {
        let wrong = |problem: String| format!("row {}: {problem}", first + row + 1);
        let chain = labels.map_or(Some(0), |labels| u64::try_from(labels.value(row)).ok());
        let chain = chain.ok_or_else(|| wrong("column `chain`: a negative number".to_owned()))?;
        let cell = |place: usize| {
            let column = columns[&place];
            column.is_valid(row).then(|| Value::Number(column.value(row)))
        };
        let is_warm = warm.is_some_and(|warm| warm.value(row) == 1);
        let into = if is_warm { &mut *warmup } else { &mut *chains };
        into.push(chain, |place, _| Ok(cell(place))).map_err(wrong)?;
    }
    Ok(())
}

fn with_story(run: Run, story: &HashMap<String, String>) -> Result<Run, String> {
    let text = |key: &str| story.get(key).cloned().unwrap_or_default();
    let parsed = |key: &str| match story.get(key) {
        Some(text) => serde_json::from_str(text).map_err(|e| format!("metadata `{key}`: {e}")),
        None => Ok(serde_json::Value::Array(Vec::new())),
    };
    Ok(Run {
        seed: text("seed").parse().unwrap_or(0),
        kernels: json::kernels(&parsed("kernels")?)?,
        warnings: json::warnings(&parsed("warnings")?)?,
        program: text("program"),
        version: text("version"),
        ..run
    })
}
