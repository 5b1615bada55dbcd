//! The draws of a chain as they come: what is new in its streams since somebody last looked.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use arrow_ipc::reader::StreamReader;

use super::chain::stream_name;
use super::columns::{self, BESIDE, Row};
use super::frames;
use super::{Directory, Disk};
use crate::source::DECODER;

/// Bytes that are read at a look.
const MOST: usize = 8 << 20;

pub struct Tail {
    folder: PathBuf,
    chain: usize,
    /// The stream at hand, how much of it was read, and how it begins.
    number: usize,
    place: u64,
    beginning: Vec<u8>,
    names: Vec<String>,
}

/// What some bytes of a stream hold: rows, how many bytes those took, and its columns.
type Read = (Vec<Row>, u64, Option<arrow_schema::SchemaRef>);

impl Tail {
    pub fn new(folder: &Path, chain: usize) -> Tail {
        let (beginning, names) = Default::default();
        Tail { folder: folder.to_owned(), chain, number: 0, place: 0, beginning, names }
    }

    /// The quantities, once there are draws.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The rows that are new.
    pub fn read(&mut self) -> Vec<Row> {
        let disk = Directory { path: self.folder.clone() };
        let mut all = Vec::new();
        loop {
            let name = stream_name(self.chain, self.number);
            let new = disk.read_at(&name, self.place, MOST).unwrap_or_default();
            let known = self.beginning.len() as u64;
            let mut bytes = self.beginning.clone();
            bytes.extend_from_slice(&new);
            let (rows, taken, schema) = decoded(bytes);
            if let Some(schema) = schema.filter(|_| self.beginning.is_empty()) {
                self.beginning = columns::beginning(&schema).unwrap_or_default();
                let own = schema.fields().iter().skip(BESIDE);
                self.names = own.map(|field| field.name().clone()).collect();
                self.place += taken;
            } else {
                self.place += taken.saturating_sub(known);
            }
            let is_new = !rows.is_empty();
            all.extend(rows);
            let next = stream_name(self.chain, self.number + 1);
            let goes_on = matches!(disk.length(&next), Ok(Some(_)));
            match goes_on && !is_new {
                true => {
                    self.number += 1;
                    (self.place, self.beginning) = Default::default();
                }
                false => return all,
            }
        }
    }
}

/// In a thread of its own: the decoder may panic on damage.
fn decoded(mut bytes: Vec<u8>) -> Read {
    let length = bytes.len() as u64;
    bytes.truncate(frames::whole(&mut Cursor::new(&bytes), length) as usize);
    let read = move || -> Read {
        let Ok(mut reader) = StreamReader::try_new(Cursor::new(bytes), None) else {
            return Default::default();
        };
        let schema = reader.schema();
        let (mut rows, mut taken) = (Vec::new(), reader.get_ref().position());
        while let Some(Ok(batch)) = reader.next() {
            rows.extend(columns::rows_of(&batch).unwrap_or_default());
            taken = reader.get_ref().position();
        }
        (rows, taken, Some(schema))
    };
    let thread = std::thread::Builder::new().name(DECODER.to_owned()).spawn(read);
    thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
}
