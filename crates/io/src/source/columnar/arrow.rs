//! Arrow IPC files (also known as Feather version 2) and streams, batch by batch.
//!
//! Both are read through the decoders that take bytes from us, never through readers that
//! allocate what a damaged file asks for: a block must lie inside the file, and what a compressed
//! buffer claims to unfold to must be possible.
//!
//! A file whose rows are one batch is mapped, unless it is small, and what lies there as a table needs
//! it stays there (`lent.rs`). Where mapping is not possible, it is read like the others.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, Footer, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::ArrowError;
use bytes::Bytes;
use smidgen_mapped::Mapped;
use smidgen_value::{Lender, Table};

use super::batches::Batches;
use crate::folder::frames;
use crate::source::TableOptions;
use crate::source::error::Problem;
use crate::source::reading::{Opened, Reading};

/// The first bytes of a file.
const MAGIC: &[u8] = b"ARROW1";
/// The first bytes of a message, and so of a stream.
const MESSAGE: &[u8] = &[0xff; 4];

/// Smaller files are read: there is nothing to gain, and what happens to them later does not matter.
const MAPPED_FROM: u64 = 1 << 20;

pub(super) fn read(
    path: &Path,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    let opened = Opened::new(path)?;
    reading.begin(opened.size);
    if opened.begins_with(MAGIC)? {
        read_file(path, &opened, options, reading)
    } else if opened.begins_with(MESSAGE)? {
        read_stream(&opened, options, reading)
    } else if opened.begins_with(b"FEA1")? {
        Err(damaged("it is Feather version 1; write version 2"))
    } else if opened.size < 8 {
        Err(Problem::CutOff)
    } else {
        Err(damaged("it does not begin like one"))
    }
}

fn read_file(
    path: &Path,
    opened: &Opened,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    if !opened.ends_with(MAGIC)? {
        return Err(Problem::CutOff);
    }
    let tail = opened.bytes(opened.size.saturating_sub(10), 10)?;
    let tail: [u8; 10] = tail.try_into().map_err(|_| Problem::CutOff)?;
    let length = read_footer_length(tail).map_err(decoder)? as u64;
    let start = opened.size.checked_sub(10 + length).ok_or_else(|| damaged("no footer"))?;
    let footer = opened.bytes(start, length)?;
    let footer: Footer = root_as_footer(&footer).map_err(|error| damaged(&error.to_string()))?;
    let schema = footer.schema().ok_or_else(|| damaged("it has no schema"))?;
    let schema = Arc::new(fb_to_schema(schema));
    let mut batches = Batches::new(&schema, options)?;
    let mut decoder_of_file = FileDecoder::new(schema, footer.version());
    let is_one = footer.recordBatches().is_some_and(|blocks| blocks.len() == 1);
    let mapped = match is_one && opened.size >= MAPPED_FROM {
        true => map(path, opened)?,
        false => None,
    };
    let home = mapped.clone().map(|mapped| Buffer::from(Bytes::from_owner(mapped)));
    for block in footer.dictionaries().iter().flatten() {
        let bytes = read_block(opened, home.as_ref(), block)?;
        decoder_of_file.read_dictionary(block, &bytes).map_err(decoder)?;
    }
    for block in footer.recordBatches().iter().flatten() {
        let bytes = read_block(opened, home.as_ref(), block)?;
        let batch = decoder_of_file.read_record_batch(block, &bytes).map_err(decoder)?;
        match (batch, &home) {
            (Some(batch), Some(home)) => {
                // Only now is the file really read, some rows at a time.
                let bytes_of_row = bytes.len() / batch.num_rows().max(1);
                let watch = &mut |rows: usize| reading.advance((rows * bytes_of_row) as u64);
                batches.push_only(&batch, home, watch)?;
            }
            (Some(batch), None) => {
                batches.push(&batch)?;
                reading.advance(bytes.len() as u64)?;
            }
            (None, _) => {}
        }
    }
    let table = batches.finish()?;
    Ok(match mapped {
        Some(mapped) if table.is_lent() => table.with_lender(Arc::new(mapped)),
        _ => table,
    })
}

/// A file in which columns lie.
#[derive(Clone, Debug)]
struct Home(Arc<Mapped>);

impl AsRef<[u8]> for Home {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Lender for Home {
    fn trouble(&self) -> Option<String> {
        self.0.is_changed().then(|| {
            let path = self.0.path().display();
            format!("{path} was changed while its rows were in use: do not trust these results")
        })
    }
}

/// The whole file where it lies; None if that is not possible.
fn map(path: &Path, opened: &Opened) -> Result<Option<Home>, Problem> {
    let file = opened.file.try_clone().map_err(Problem::Io)?;
    let Ok(mapped) = Mapped::new(file, path) else { return Ok(None) };
    match (mapped.len() as u64) < opened.size {
        true => Err(Problem::Changed),
        false => Ok(Some(Home(Arc::new(mapped)))),
    }
}

/// A message and its body.
fn read_block(opened: &Opened, home: Option<&Buffer>, block: &Block) -> Result<Buffer, Problem> {
    let outside = || damaged("a block lies outside the file");
    let start = u64::try_from(block.offset()).map_err(|_| outside())?;
    let head = u64::try_from(block.metaDataLength()).map_err(|_| outside())?;
    let body = u64::try_from(block.bodyLength()).map_err(|_| outside())?;
    let length = head.checked_add(body).ok_or_else(outside)?;
    if start.checked_add(length).is_none_or(|end| end > opened.size) {
        return Err(outside());
    }
    let bytes = match home {
        // A file that is mapped as a whole has a size that memory can have.
        Some(home) => home.slice_with_length(start as usize, length as usize),
        None => Buffer::from_vec(opened.bytes(start, length)?),
    };
    check_unfolding(&bytes, head as usize)?;
    Ok(bytes)
}

/// Before the decoder makes room for it: what a compressed buffer claims to hold. No
/// compression that Arrow knows makes a buffer more than 2^16 times smaller.
fn check_unfolding(block: &[u8], head: usize) -> Result<(), Problem> {
    let skipped = if block.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = block.get(skipped..head).ok_or_else(|| damaged("a block is too short"))?;
    let message = root_as_message(message).map_err(|error| damaged(&error.to_string()))?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => None,
    };
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(()) };
    for buffer in batch.buffers().iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok().and_then(|at| at.checked_add(head));
        let length = usize::try_from(buffer.length()).unwrap_or(usize::MAX);
        let claim = start.and_then(|start| block.get(start..)?.first_chunk::<8>());
        let (Some(claim), true) = (claim, length > 8) else { continue };
        let claim = i64::from_le_bytes(*claim);
        if claim > i64::try_from(length).unwrap_or(i64::MAX).saturating_mul(1 << 16) {
            return Err(damaged("a buffer claims an impossible size"));
        }
    }
    Ok(())
}

fn read_stream(
    opened: &Opened,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    /// What a writer puts at the end of a stream. Without it, part of the data may be lost.
    const END: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    let mut stream = Stream::default();
    let file = opened.rewound()?;
    loop {
        let mut bytes = Vec::new();
        file.take(1 << 22).read_to_end(&mut bytes).map_err(Problem::Io)?;
        if bytes.is_empty() {
            break;
        }
        reading.advance(bytes.len() as u64)?;
        stream.add(bytes, options)?;
    }
    stream.decoder.finish().map_err(|_| Problem::CutOff)?;
    if !opened.ends_with(END)? {
        return Err(Problem::CutOff);
    }
    stream.batches.ok_or(Problem::NoRows)?.finish()
}

/// A stream that comes in pieces.
#[derive(Default)]
struct Stream {
    decoder: StreamDecoder,
    batches: Option<Batches>,
}

impl Stream {
    fn add(&mut self, bytes: Vec<u8>, options: &TableOptions) -> Result<(), Problem> {
        let mut buffer = Buffer::from_vec(bytes);
        while !buffer.is_empty() {
            let Some(batch) = self.decoder.decode(&mut buffer).map_err(decoder)? else {
                continue;
            };
            if self.batches.is_none() {
                self.batches = Some(Batches::new(&batch.schema(), options)?);
            }
            if let Some(batches) = &mut self.batches {
                batches.push(&batch)?;
            }
        }
        Ok(())
    }
}

/// Whole messages of a stream, behind those that are needed to read them: the schema, and dictionaries.
pub(super) fn read_messages(
    head: &[u8],
    bytes: &[u8],
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    let mut stream = Stream::default();
    stream.add(head.to_vec(), options)?;
    let (mut place, all) = (0, bytes.len() as u64);
    while let Some(message) = frames::message(&mut Cursor::new(bytes), place, all) {
        let own = &bytes[place as usize..message.end as usize];
        check_unfolding(own, (message.body - place) as usize)?;
        stream.add(own.to_vec(), options)?;
        reading.advance(own.len() as u64)?;
        place = message.end;
    }
    stream.batches.ok_or(Problem::NoRows)?.finish()
}

fn decoder(error: ArrowError) -> Problem {
    damaged(&error.to_string())
}

fn damaged(reason: &str) -> Problem {
    Problem::Damaged { format: "Arrow", reason: reason.to_owned() }
}
