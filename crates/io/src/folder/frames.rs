//! How far an Arrow stream is whole, by the heads of its messages alone. The decoder makes room for whatever a head claims before it
//! looks whether that is there: four damaged bytes, and it fills two gigabytes with zeros. So it is given only what is there.
//!
//! A message is `FF FF FF FF`, the length of its head, the head, which says how long the body is, and the body. Bodies that claim
//! to unfold are none of ours.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{MessageHeader, root_as_message};

const CONTINUES: [u8; 4] = [0xFF; 4];

/// A message that is there as a whole.
pub(crate) struct Message {
    /// Where its head ends, and where it ends itself.
    pub body: u64,
    pub end: u64,
    pub kind: MessageHeader,
    /// Of a batch.
    pub rows: u64,
    unfolds: bool,
}

/// The length of the whole messages among so many bytes.
pub fn whole(stream: &mut (impl Read + Seek), length: u64) -> u64 {
    measured(stream, length).0
}

/// How many rows the whole messages among so many bytes say they have: only heads are read.
pub fn rows(stream: &mut (impl Read + Seek), length: u64) -> u64 {
    measured(stream, length).1
}

fn measured(stream: &mut (impl Read + Seek), length: u64) -> (u64, u64) {
    let (mut place, mut rows) = (0, 0u64);
    while let Some(message) = message(stream, place, length).filter(|message| !message.unfolds) {
        (place, rows) = (message.end, rows.saturating_add(message.rows));
    }
    (place, rows)
}

/// The message that begins here, if all of it is among so many bytes; none after the mark of the end.
pub(crate) fn message(stream: &mut (impl Read + Seek), place: u64, length: u64) -> Option<Message> {
    let rest = length.checked_sub(place)?.checked_sub(8)?;
    stream.seek(SeekFrom::Start(place)).ok()?;
    let mut start = [0; 8];
    stream.read_exact(&mut start).ok()?;
    let (mark, size) = start.split_at(4);
    let size = u64::from(u32::from_le_bytes(size.try_into().ok()?));
    if mark != CONTINUES || size == 0 || size > rest {
        return None;
    }
    let mut head = vec![0; size as usize];
    stream.read_exact(&mut head).ok()?;
    let message = root_as_message(&head).ok()?;
    let batch = message.header_as_record_batch();
    let rows = batch.map_or(0, |batch| u64::try_from(batch.length()).unwrap_or(0));
    let unfolds = batch.is_some_and(|batch| batch.compression().is_some());
    let length =
        u64::try_from(message.bodyLength()).ok().filter(|length| *length <= rest - size)?;
    let body = place + 8 + size;
    Some(Message { body, end: body + length, kind: message.header_type(), rows, unfolds })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use arrow_array::{Float64Array, RecordBatch};
    use arrow_ipc::reader::StreamReader;
    use arrow_ipc::writer::StreamWriter;

    use super::*;

    fn stream() -> Vec<u8> {
        let numbers = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0])) as _;
        let batch = RecordBatch::try_from_iter([("x", numbers)]).expect("a batch");
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
        (0..3).for_each(|_| writer.write(&batch).expect("written"));
        writer.get_ref().clone()
    }

    fn rows_of(bytes: &[u8]) -> usize {
        let whole = whole(&mut Cursor::new(bytes), bytes.len() as u64) as usize;
        let Ok(reader) = StreamReader::try_new(Cursor::new(&bytes[..whole]), None) else {
            return 0;
        };
        let found: usize = reader.map_while(Result::ok).map(|batch| batch.num_rows()).sum();
        // The heads say as much.
        assert_eq!(rows(&mut Cursor::new(bytes), bytes.len() as u64), found as u64);
        found
    }

    #[test]
    fn a_stream_that_is_cut_off_has_its_whole_messages() {
        let bytes = stream();
        assert_eq!(rows_of(&bytes), 9);
        let mut before = 0;
        for length in 0..bytes.len() {
            let now = rows_of(&bytes[..length]);
            assert!(now >= before && now < 9, "{length}");
            before = now;
        }
        assert_eq!(before, 6);
    }

    /// Found by fuzzing: what a damaged head claims is not there, so nobody makes room for it.
    #[test]
    fn what_a_head_claims_is_not_believed() {
        let bytes = stream();
        for place in 0..bytes.len() - 4 {
            for claim in [u32::MAX, 0x7FFF_FFFF, 0x3939_3939] {
                let mut damaged = bytes.clone();
                damaged[place..place + 4].copy_from_slice(&claim.to_le_bytes());
                let whole = whole(&mut Cursor::new(&damaged), damaged.len() as u64);
                assert!(whole <= damaged.len() as u64, "{place}");
            }
        }
    }
}
