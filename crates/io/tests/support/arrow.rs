//! Arrow files for tests.

use std::fs::File;
use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

pub type Columns = Vec<(&'static str, ArrayRef)>;

pub fn batch(columns: Columns) -> RecordBatch {
    let nullable = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(nullable).expect("columns of equal length")
}

pub fn arrow_file(path: &Path, batches: &[RecordBatch], compression: Option<CompressionType>) {
    let options = IpcWriteOptions::default().try_with_compression(compression).expect("known");
    let file = File::create(path).expect("a file");
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(file, &schema, options).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("written"));
    writer.finish().expect("written");
}

pub fn stream_file(path: &Path, batches: &[RecordBatch]) {
    let file = File::create(path).expect("a file");
    let mut writer = StreamWriter::try_new(file, &batches[0].schema()).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("written"));
    writer.finish().expect("written");
}
