//! NumPy's own files. A `.npy` file holds one array: in one dimension it is a column of numbers `x`,
//! in two a column of vectors `x`; fields of a structured array are columns by their names. A `.npz`
//! file is an archive of arrays with equal first dimensions, which are columns by their names.

mod array;
mod layout;
mod literal;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use smidgen_value::{Symbol, Table};
use zip::ZipArchive;
use zip::result::ZipError;

use self::array::{NumpyArray, damaged};
use super::batches::{Batches, ROWS_AT_ONCE};
use crate::source::TableOptions;
use crate::source::error::Problem;
use crate::source::reading::{Opened, Reading};

/// The column of an array that has no name.
const PLAIN: &str = "x";

const BYTES_AT_ONCE: usize = 1 << 22;

pub(super) fn read_array(
    path: &Path,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    let opened = Opened::new(path)?;
    let array = NumpyArray::open(BufReader::new(opened.rewound()?))?;
    if !array.layout.is_table() {
        return Err(Problem::Shape { shape: array.layout.shape });
    }
    let (fields, unusable) = array.columns(PLAIN);
    if let (true, Some((_, kind))) = (fields.is_empty(), unusable.first()) {
        return Err(damaged(format!("it holds {kind}")));
    }
    array.check_size(opened.size)?;
    Together { arrays: vec![array], fields, unusable }.read(options, reading)
}

pub(super) fn read_archive(
    path: &Path,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    let opened = Opened::new(path)?;
    if opened.size == 0 {
        return Err(Problem::CutOff);
    }
    let shared = Shared { file: Arc::new(opened.file), at: 0, size: opened.size };
    let archive = ZipArchive::new(shared.clone()).map_err(|error| match error {
        // The directory stands at the end.
        ZipError::InvalidArchive(_) if shared.clone().begins_like_an_archive() => Problem::CutOff,
        other => archive_error(other),
    })?;
    let entries = archive.len();
    let mut handles = vec![archive; entries];
    let (mut arrays, mut fields, mut unusable) = (Vec::new(), Vec::new(), Vec::new());
    let mut first: Option<(String, usize)> = None;
    for (i, handle) in handles.iter_mut().enumerate() {
        let entry = handle.by_index(i).map_err(archive_error)?;
        let entry_name = entry.name().map_err(archive_error)?.into_owned();
        let name = entry_name.strip_suffix(".npy").unwrap_or(&entry_name);
        if !options.arrays.is_empty() && !options.arrays.iter().any(|wanted| wanted == name) {
            continue;
        }
        let size = entry.size();
        let array = NumpyArray::open(entry)?;
        let (columns, others) = array.columns(name);
        if !array.layout.is_table() {
            unusable
                .push((name.to_owned(), format!("an array of the shape {:?}", array.layout.shape)));
            continue;
        }
        unusable.extend(others);
        if columns.is_empty() {
            continue;
        }
        array.check_size(size)?;
        let this = (name.to_owned(), array.layout.rows());
        match &first {
            Some(first) if first.1 != this.1 => {
                return Err(Problem::Lengths { first: first.clone(), other: this });
            }
            Some(_) => {}
            None => first = Some(this),
        }
        fields.extend(columns);
        arrays.push(array);
    }
    Together { arrays, fields, unusable }.read(options, reading)
}

fn archive_error(error: ZipError) -> Problem {
    match error {
        ZipError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => Problem::CutOff,
        ZipError::Io(error) => Problem::Io(error),
        other => damaged(other.to_string()),
    }
}

/// Arrays of equal length that are read side by side.
struct Together<R> {
    arrays: Vec<NumpyArray<R>>,
    fields: Vec<Field>,
    /// Columns that a table cannot have, and what they hold.
    unusable: Vec<(String, String)>,
}

impl<R: Read> Together<R> {
    fn read(mut self, options: &TableOptions, reading: Reading) -> Result<Table, Problem> {
        let schema = Arc::new(Schema::new(self.fields));
        let mut batches = Batches::new(&schema, options)?;
        for (name, kind) in self.unusable {
            let reason = format!(
                "it holds {kind}; a table can have numbers, booleans, texts and vectors of numbers"
            );
            batches.set_aside(Symbol::new(&name), reason);
        }
        let rows = self.arrays.first().map_or(0, |array| array.layout.rows());
        let record = self.arrays.iter().map(|array| array.layout.record).max().unwrap_or(1);
        let at_once = (BYTES_AT_ONCE / record).clamp(1, ROWS_AT_ONCE);
        reading.begin(rows as u64);
        let mut done = 0;
        while done < rows {
            let now = at_once.min(rows - done);
            let mut columns = Vec::new();
            for array in &mut self.arrays {
                columns.append(&mut array.next(now)?);
            }
            let batch = RecordBatch::try_new(schema.clone(), columns);
            batches.push(&batch.map_err(|error| damaged(error.to_string()))?)?;
            reading.advance(now as u64)?;
            done += now;
        }
        self.arrays.into_iter().try_for_each(NumpyArray::finish)?;
        batches.finish()
    }
}

/// One open file with a place of its own for every reader.
#[derive(Clone)]
struct Shared {
    file: Arc<File>,
    at: u64,
    size: u64,
}

impl Shared {
    fn begins_like_an_archive(mut self) -> bool {
        let mut start = [0; 4];
        self.read_exact(&mut start).is_ok() && start == *b"PK\x03\x04"
    }
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
