//! Messages of an Arrow stream that goes on being written.

use std::io::Cursor;

use arrow_ipc::MessageHeader;
use smidgen_value::Table;

use super::{arrow, decoded};
use crate::folder::frames;
use crate::source::TableOptions;
use crate::source::error::Problem;
use crate::source::follow::End;
use crate::source::reading::Reading;

/// Where whole messages end.
pub fn whole(bytes: &[u8]) -> Vec<End> {
    let mut ends = Vec::new();
    each(bytes, |_, message| {
        ends.push(End { at: message.end as usize, rows: message.rows as usize });
    });
    ends
}

/// The rows of whole messages, behind the schema and dictionaries.
pub fn read(
    head: &[u8],
    bytes: &[u8],
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    decoded("Arrow", || arrow::read_messages(head, bytes, options, reading))
}

/// Later messages may be read with the dictionaries among these.
pub fn keep_dictionaries(head: &mut Vec<u8>, bytes: &[u8]) {
    each(bytes, |place, message| {
        if message.kind == MessageHeader::DictionaryBatch {
            head.extend_from_slice(&bytes[place..message.end as usize]);
        }
    });
}

fn each(bytes: &[u8], mut show: impl FnMut(usize, frames::Message)) {
    let mut place = 0;
    while let Some(message) =
        frames::message(&mut Cursor::new(bytes), place as u64, bytes.len() as u64)
    {
        let end = message.end as usize;
        show(place, message);
        place = end;
    }
}
