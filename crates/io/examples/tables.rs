//! How fast tables are read, and what they cost in memory.
//!
//! `tables write FOLDER ROWS` writes two features and a label in every format;
//! `tables read FILE` reads one, and shows rows per second and resident memory. One process
//! per file, so that peaks do not mix.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::builder::{FixedSizeListBuilder, Float64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use smidgen_io::{TableOptions, read_table};
use smidgen_value::Rng;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder, rows] => write(Path::new(folder), rows.parse()?),
        ["read", file] => read(Path::new(file)),
        _ => Err("tables write FOLDER ROWS, or tables read FILE".into()),
    }
}

fn read(path: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let table = read_table(path, &TableOptions::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let rows = table.rows() as f64;
    println!(
        "{}: {rows} rows in {seconds:.2} s, {:.2} million rows/s; data as f64 {:.0} MB, {}",
        path.display(),
        rows / seconds / 1e6,
        rows * 24.0 / 1e6,
        memory()?
    );
    Ok(())
}

/// The highest and the present resident memory, and what of it is no part of a file, as Linux
/// tells it.
fn memory() -> Result<String, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let megabytes = |key: &str| -> Option<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
    };
    let [peak, now, own] =
        ["VmHWM:", "VmRSS:", "RssAnon:"].map(|key| megabytes(key).unwrap_or(0.0));
    Ok(format!("peak {peak:.0} MB, now {now:.0} MB, of them {own:.0} MB in no file"))
}

fn write(folder: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    let file = |name: &str| -> PathBuf { folder.join(name) };
    let mut rng = Rng::from_seed(1);
    let a: Vec<f64> = (0..rows).map(|_| rng.uniform()).collect();
    let b: Vec<f64> = (0..rows).map(|_| rng.uniform() - 0.5).collect();
    let label: Vec<bool> = (0..rows).map(|_| rng.below(2) == 1).collect();

    let mut csv = BufWriter::new(File::create(file("t.csv"))?);
    writeln!(csv, "a,b,label")?;
    for i in 0..rows {
        writeln!(csv, "{},{:.5},{}", a[i], b[i], u8::from(label[i]))?;
    }
    csv.flush()?;

    let mut npy = BufWriter::new(File::create(file("t.npy"))?);
    npy.write_all(&npy_header(rows))?;
    for i in 0..rows {
        for x in [a[i], b[i], f64::from(u8::from(label[i]))] {
            npy.write_all(&x.to_le_bytes())?;
        }
    }
    npy.flush()?;

    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Float64Array::from(a))),
        ("b", Arc::new(Float64Array::from(b))),
        ("label", Arc::new(BooleanArray::from(label))),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let vectors =
        RecordBatch::try_from_iter([("x", vectors(&batch)), ("label", batch.column(2).clone())])?;
    let snappy = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let target = File::create(file("vectors.parquet"))?;
    let mut writer = ArrowWriter::try_new(target, vectors.schema(), Some(snappy))?;
    writer.write(&vectors)?;
    writer.close()?;
    for (name, compression) in [
        ("plain.parquet", Compression::UNCOMPRESSED),
        ("snappy.parquet", Compression::SNAPPY),
        ("zstd.parquet", Compression::ZSTD(Default::default())),
    ] {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let schema = batch.schema();
        let mut writer = ArrowWriter::try_new(File::create(file(name))?, schema, Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
    }
    for (name, step) in [("one.arrow", rows), ("many.arrow", 1 << 16)] {
        let mut writer = FileWriter::try_new_buffered(File::create(file(name))?, &batch.schema())?;
        for start in (0..rows).step_by(step.max(1)) {
            writer.write(&batch.slice(start, step.min(rows - start)))?;
        }
        writer.finish()?;
    }
    Ok(())
}

/// The first two columns as lists of two.
fn vectors(batch: &RecordBatch) -> ArrayRef {
    let mut lists = FixedSizeListBuilder::new(Float64Builder::new(), 2);
    let reals = [0, 1].map(|i| batch.column(i).as_primitive::<Float64Type>().values().clone());
    for i in 0..batch.num_rows() {
        reals.iter().for_each(|column| lists.values().append_value(column[i]));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// The first bytes of an array of doubles with three columns.
fn npy_header(rows: usize) -> Vec<u8> {
    let mut text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 3), }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}
