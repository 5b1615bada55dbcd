//! The draws of one chain on their way to the disk.
//!
//! Rows are gathered into batches of 64 KiB or one second and appended to an Arrow stream, where others can read them. A commit
//! makes them safe and then writes a checkpoint that says how long the streams are and what their sums are. Who goes on
//! from a checkpoint cuts off what lies beyond, and compares it with what is drawn again.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_ipc::writer::StreamWriter;
use smidgen_value::Value;
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::bytes_of_fields;

use super::checkpoint::{self, Checkpoint};
use super::columns::{self, Kind, Row};
use super::disk::Disk;
use super::patience::{Patience, Trouble};
use super::sums::Sums;

const BATCH: usize = 64 << 10;
const EVERY: Duration = Duration::from_secs(1);
/// Bytes that are not safe yet, at most: they are kept in case they have to be written again.
const UNSAFE: usize = 1 << 20;
/// Bytes of draws beyond a checkpoint that are compared with what is drawn again.
const COMPARED: u64 = 64 << 20;

/// What a checkpoint says about a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    pub length: u64,
    pub quick: u64,
    pub crc: u32,
    pub kinds: Vec<Kind>,
}

bytes_of_fields!(Committed { length, quick, crc, kinds });

/// What a checkpoint says about all streams of a chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Out {
    pub rows: u64,
    pub streams: Vec<Committed>,
}

bytes_of_fields!(Out { rows, streams });

pub const OUT: &[u8; 4] = b"OUT ";

/// The name of a stream: a change of shape begins another.
pub fn stream_name(chain: usize, number: usize) -> String {
    match number {
        0 => format!("chain-{chain}.arrows"),
        number => format!("chain-{chain}.{number}.arrows"),
    }
}

/// All streams of a chain.
pub fn streams(disk: &dyn Disk, chain: usize) -> Result<Vec<Vec<u8>>, Trouble> {
    let mut all = Vec::new();
    for number in 0.. {
        let name = stream_name(chain, number);
        let read = disk.read(&name).map_err(|error| Trouble::new(disk.shown(&name), &error))?;
        let Some(bytes) = read else { break };
        all.push(bytes);
    }
    Ok(all)
}

/// A file that grows.
struct Stream {
    name: String,
    kinds: Vec<Kind>,
    writer: StreamWriter<Vec<u8>>,
    sums: Sums,
    /// How much of it is safe, and what comes after that.
    safe: u64,
    since: Vec<u8>,
}

pub struct ChainWriter {
    disk: Arc<dyn Disk>,
    patience: Patience,
    chain: usize,
    names: Vec<String>,
    rows: Vec<Row>,
    bytes: usize,
    flushed: Instant,
    /// Rows that were written.
    written: u64,
    streams: Vec<Committed>,
    now: Option<Stream>,
    /// What lay beyond the checkpoint.
    expected: VecDeque<Row>,
    /// Whether a row was drawn again otherwise.
    differs: bool,
}

fn arrow(error: arrow_schema::ArrowError) -> io::Error {
    match error {
        arrow_schema::ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

impl ChainWriter {
    /// For a chain that begins, or goes on from what a checkpoint says. What lies beyond is cut off.
    pub fn open(
        disk: Arc<dyn Disk>,
        patience: Patience,
        chain: usize,
        names: Vec<String>,
        from: Option<&Out>,
    ) -> Result<ChainWriter, Trouble> {
        let from = from.cloned().unwrap_or_default();
        let mut writer = ChainWriter {
            disk,
            patience,
            chain,
            names,
            rows: Vec::new(),
            bytes: 0,
            flushed: Instant::now(),
            written: from.rows,
            streams: from.streams,
            now: None,
            expected: VecDeque::new(),
            differs: false,
        };
        writer.cut_off().map_err(|error| Trouble::new(writer.shown(), &error))?;
        Ok(writer)
    }

    /// The names of the columns, if they were not known when it was opened.
    pub fn set_names(&mut self, names: Vec<String>) {
        self.names = names;
    }

    /// The stream that is written now.
    fn shown(&self) -> String {
        self.disk.shown(&stream_name(self.chain, self.streams.len().saturating_sub(1)))
    }

    fn cut_off(&mut self) -> io::Result<()> {
        let mut number = self.streams.len();
        // The last stream may go on beyond the checkpoint.
        if let Some(last) = self.streams.pop() {
            number -= 1;
            let name = stream_name(self.chain, number);
            let schema = columns::schema(&self.names, &last.kinds);
            let sums = check(&*self.disk, &name, &last)?;
            let length = self.disk.length(&name)?.unwrap_or(0);
            let tail = (length - last.length).min(COMPARED) as usize;
            let mut bytes = columns::beginning(&schema).map_err(arrow)?;
            bytes.extend(self.disk.read_at(&name, last.length, tail)?);
            self.expect(bytes);
            self.disk.cut(&name, last.length)?;
            let mut writer = StreamWriter::try_new(Vec::new(), &schema).map_err(arrow)?;
            writer.get_mut().clear();
            let (safe, since) = (last.length, Vec::new());
            self.now = Some(Stream { name, kinds: last.kinds, writer, sums, safe, since });
            number += 1;
        }
        // Others begin after it.
        for number in number.. {
            let name = stream_name(self.chain, number);
            let Some(length) = self.disk.length(&name)? else { break };
            let bytes = self.disk.read_at(&name, 0, length.min(COMPARED) as usize)?;
            self.expect(bytes);
            self.disk.remove(&name)?;
        }
        self.disk.sync_names()
    }

    fn expect(&mut self, bytes: Vec<u8>) {
        for batch in columns::decoded(bytes) {
            self.expected.extend(columns::rows_of(&batch).unwrap_or_default());
        }
    }

    /// A draw was made.
    pub fn push(&mut self, row: Row) -> Result<(), Trouble> {
        if let Some(expected) = self.expected.pop_front() {
            self.compare(&expected, &row)?;
        }
        self.bytes += row.values.iter().map(size).sum::<usize>();
        self.rows.push(row);
        if self.bytes >= BATCH || self.flushed.elapsed() >= EVERY {
            self.flush()?;
        }
        Ok(())
    }

    fn compare(&mut self, expected: &Row, row: &Row) -> Result<(), Trouble> {
        let same = expected.draw == row.draw
            && expected.epoch == row.epoch
            && expected.is_warmup == row.is_warmup
            && expected.values.len() == row.values.len()
            && expected.values.iter().zip(&row.values).all(|(a, b)| columns::is_same(a, b));
        if same {
            return Ok(());
        }
        self.differs = true;
        let place = expected.values.iter().zip(&row.values);
        let place = place.enumerate().find(|(_, (a, b))| !columns::is_same(a, b));
        let what = place.map_or_else(String::new, |(k, (a, b))| {
            format!(": `{}` was {} and is now {}", self.names[k], a.brief(), b.brief())
        });
        Err(Trouble::message(format!(
            "{}: draw {} of chain {} is not what it was when the run was interrupted{what}; the draws up to there are kept",
            self.shown(),
            row.draw,
            self.chain
        )))
    }

    /// Writes what was gathered, where others can read it.
    pub fn flush(&mut self) -> Result<(), Trouble> {
        self.flushed = Instant::now();
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        let Some(first) = rows.first() else { return Ok(()) };
        let mut kinds: Vec<Kind> = match &self.now {
            Some(stream) => stream.kinds.clone(),
            None => first.values.iter().map(Kind::of).collect(),
        };
        for row in &rows {
            for (kind, value) in kinds.iter_mut().zip(&row.values) {
                *kind = if *kind == Kind::Text { Kind::Text } else { kind.with(Kind::of(value)) };
            }
        }
        if self.now.as_ref().is_none_or(|stream| stream.kinds != kinds) {
            self.begin(kinds)?;
        }
        let Some(stream) = &mut self.now else { return Ok(()) };
        let schema = columns::schema(&self.names, &stream.kinds);
        let wrote = columns::batch(&schema, &stream.kinds, &rows)
            .and_then(|batch| stream.writer.write(&batch));
        wrote.map_err(|error| Trouble::new(self.disk.shown(&stream.name), &arrow(error)))?;
        self.written += rows.len() as u64;
        stream.append(&*self.disk, &self.patience)?;
        if stream.since.len() > UNSAFE {
            stream.sync(&*self.disk, &self.patience)?;
        }
        Ok(())
    }

    /// Begins another stream; the one before is made safe.
    fn begin(&mut self, kinds: Vec<Kind>) -> Result<(), Trouble> {
        self.close_stream()?;
        let name = stream_name(self.chain, self.streams.len());
        let schema = columns::schema(&self.names, &kinds);
        let writer = StreamWriter::try_new(Vec::new(), &schema);
        let writer = writer.map_err(|error| Trouble::new(self.disk.shown(&name), &arrow(error)))?;
        let (sums, since) = (Sums::default(), Vec::new());
        self.now = Some(Stream { name, kinds, writer, sums, safe: 0, since });
        Ok(())
    }

    fn close_stream(&mut self) -> Result<(), Trouble> {
        let Some(mut stream) = self.now.take() else { return Ok(()) };
        stream.sync(&*self.disk, &self.patience)?;
        self.streams.push(stream.committed());
        Ok(())
    }

    /// Makes all draws safe, and a checkpoint of these sections after them.
    pub fn commit(&mut self, mut sections: Vec<([u8; 4], Vec<u8>)>) -> Result<(), Trouble> {
        self.flush()?;
        let mut streams = self.streams.clone();
        if let Some(stream) = &mut self.now {
            stream.sync(&*self.disk, &self.patience)?;
            streams.push(stream.committed());
        }
        let mut out = Vec::new();
        Out { rows: self.written, streams }.put(&mut out);
        sections.push((*OUT, out));
        let bytes = Checkpoint::new(sections).encode();
        let name = self.disk.shown(&checkpoint::name(self.chain));
        self.patience.until(&name, || checkpoint::write(&*self.disk, self.chain, &bytes))
    }

    /// Ends the stream for readers that wait for its end.
    pub fn finish(&mut self) -> Result<(), Trouble> {
        self.flush()?;
        let Some(stream) = &mut self.now else { return Ok(()) };
        stream
            .writer
            .finish()
            .map_err(|error| Trouble::new(self.disk.shown(&stream.name), &arrow(error)))?;
        stream.append(&*self.disk, &self.patience)?;
        stream.sync(&*self.disk, &self.patience)
    }
}

impl Stream {
    fn committed(&self) -> Committed {
        let (quick, crc) = (self.sums.quick(), self.sums.crc());
        Committed { length: self.safe, quick, crc, kinds: self.kinds.clone() }
    }

    /// Appends what the writer has made since.
    fn append(&mut self, disk: &dyn Disk, patience: &Patience) -> Result<(), Trouble> {
        let new = std::mem::take(self.writer.get_mut());
        self.sums.add(&new);
        self.since.extend_from_slice(&new);
        let mut is_first = true;
        patience.until(&disk.shown(&self.name), || {
            if std::mem::replace(&mut is_first, false) {
                return disk.append(&self.name, &new);
            }
            self.again(disk)
        })
    }

    /// What was half written is cut off and written again.
    fn again(&self, disk: &dyn Disk) -> io::Result<()> {
        if disk.length(&self.name)?.is_some() {
            disk.cut(&self.name, self.safe)?;
        }
        disk.append(&self.name, &self.since)
    }

    /// After a sync that failed nobody knows what is on the disk: then it is all written again.
    fn sync(&mut self, disk: &dyn Disk, patience: &Patience) -> Result<(), Trouble> {
        if self.since.is_empty() {
            return Ok(());
        }
        let mut is_first = true;
        patience.until(&disk.shown(&self.name), || {
            if !std::mem::replace(&mut is_first, false) {
                self.again(disk)?;
            }
            disk.sync(&self.name)
        })?;
        if self.safe == 0 {
            // The name is new as well.
            patience.until(&disk.shown(&self.name), || disk.sync_names())?;
        }
        self.safe += self.since.len() as u64;
        self.since.clear();
        Ok(())
    }
}

/// The sums of a stream, if it begins as the checkpoint says.
fn check(disk: &dyn Disk, name: &str, committed: &Committed) -> io::Result<Sums> {
    const PIECE: u64 = 1 << 20;
    let mut sums = Sums::default();
    let mut place = 0;
    while place < committed.length {
        let most = PIECE.min(committed.length - place) as usize;
        let bytes = match disk.length(name)? {
            Some(_) => disk.read_at(name, place, most)?,
            None => Vec::new(),
        };
        if bytes.is_empty() {
            break;
        }
        sums.add(&bytes);
        place += bytes.len() as u64;
    }
    if place < committed.length || sums.quick() != committed.quick || sums.crc() != committed.crc {
        let message = "the draws are not those that the checkpoint was made after: the file was changed or is damaged";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(sums)
}

/// Checks all streams of a chain against its checkpoint.
pub fn check_streams(disk: &dyn Disk, chain: usize, out: &Out) -> Result<(), Trouble> {
    for (number, committed) in out.streams.iter().enumerate() {
        let name = stream_name(chain, number);
        check(disk, &name, committed).map_err(|error| Trouble::new(disk.shown(&name), &error))?;
    }
    Ok(())
}

/// What a checkpoint says about the streams.
pub fn out_of(checkpoint: &Checkpoint) -> Option<Out> {
    Out::take(&mut Input::new(checkpoint.section(OUT)?))
}

fn size(value: &Value) -> usize {
    match value {
        Value::Vector(xs) => 8 * xs.len(),
        Value::Number(_) | Value::Linked(..) | Value::Bool(_) => 8,
        _ => 64,
    }
}
