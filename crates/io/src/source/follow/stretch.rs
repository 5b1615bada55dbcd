//! A file that grows at its end: lines of a CSV, messages of an Arrow stream.
//!
//! What every piece needs to be read (the header, or the schema and dictionaries) is kept as its *head*; a piece is parsed
//! behind it, as a small file of its own.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use smidgen_value::Table;

use super::{End, Followed, Gathered, Look, Stamp, changed, note_texts, stamp_of, sum_of};
use crate::folder::sums::Sums;
use crate::source::error::Problem;
use crate::source::reading::Reading;
use crate::source::{TableOptions, csv, messages};

/// Bytes that are summed together, about.
const BLOCK: usize = 1 << 20;
/// Bytes that are parsed together where few of the rows may stay.
const PIECE: u64 = 64 << 20;

#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    Lines,
    Messages,
}

#[derive(Debug)]
pub(super) struct Stretch {
    format: Format,
    head: Vec<u8>,
    blocks: Vec<Block>,
    /// How far it was read, and as what the file stood there.
    length: u64,
    stamp: Option<Stamp>,
}

/// Bytes that were read, with the number of rows that end in them.
#[derive(Debug)]
struct Block {
    bytes: usize,
    sum: u64,
    rows: usize,
}

impl Stretch {
    pub fn new(format: Format) -> Stretch {
        Stretch { format, head: Vec::new(), blocks: Vec::new(), length: 0, stamp: None }
    }

    pub fn position(&self) -> u64 {
        self.length
    }

    pub fn next(&mut self, options: &mut TableOptions, look: &Look) -> Followed<Option<Table>> {
        let shown = look.path.display();
        let failed = |error: std::io::Error| format!("{shown}: {error}");
        let now = stamp_of(look.path)?;
        if look.upto.is_none() && self.stamp == Some(now) {
            return Ok(None);
        }
        let mut file = File::open(look.path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if size < self.length.max(look.upto.unwrap_or(0)) {
            let rows =
                if look.upto.is_some() { "rows".into() } else { format!("{} rows", look.before) };
            return Err(format!("{shown} has become shorter than the {rows} that were read"));
        }
        self.check(&mut file, look.path)?;
        let mut gathered = Gathered::default();
        let (end, mut rows) = (look.upto.unwrap_or(size), look.before);
        while let Some(piece) = self.piece(&mut file, end, look.window.is_some()).map_err(failed)? {
            let read = self.parse(&piece.bytes, options, look);
            let table = match read {
                Err(Problem::NoRows) => break,
                read => read.map_err(|problem| {
                    let after =
                        if rows > 0 { format!(", counted from row {rows}") } else { String::new() };
                    format!("{}{after}", problem.of(look.path))
                })?,
            };
            if rows == 0 {
                note_texts(options, &table);
            }
            rows += table.rows();
            self.pass(&piece, table.rows());
            gathered.add(look, table).map_err(|problem| format!("{shown}: {problem}"))?;
        }
        // More may have come meanwhile, or be there beyond the position.
        self.stamp = (size == now.0 && look.upto.is_none()).then_some(now);
        Ok(gathered.table(look))
    }

    /// What was read is what it was; the file is left at its end.
    fn check(&self, file: &mut File, path: &Path) -> Followed<()> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut first = 0;
        for block in &self.blocks {
            if sum_of(file, block.bytes as u64).map_err(failed)? != Some(block.sum) {
                return Err(changed(path, first, block.rows));
            }
            first += block.rows;
        }
        Ok(())
    }

    /// The next bytes that make something whole; None if there are none. Where few of the rows may stay, not too many at once.
    fn piece(
        &mut self,
        file: &mut File,
        end: u64,
        is_short: bool,
    ) -> std::io::Result<Option<Piece>> {
        let rest = end.saturating_sub(self.length);
        let mut most = if is_short { PIECE.min(rest) } else { rest };
        let mut bytes = Vec::new();
        loop {
            file.take(most - bytes.len() as u64).read_to_end(&mut bytes)?;
            // What begins the file is needed to read all that comes.
            let begins = match self.length {
                0 => self.format.head(&bytes),
                _ => Some(0),
            };
            let ends = begins.map_or(Vec::new(), |begins| self.format.ends(&bytes[begins..]));
            if let (Some(begins), Some(last)) = (begins, ends.last().map(|end| end.at)) {
                if begins > 0 {
                    self.head = bytes[..begins].to_vec();
                }
                let beyond = bytes.len() - begins - last;
                std::io::Seek::seek_relative(file, -(beyond as i64))?;
                bytes.truncate(begins + last);
                return Ok(Some(Piece { bytes, begins, ends }));
            }
            if (bytes.len() as u64) < most || most == rest {
                return Ok(None);
            }
            most = (2 * most).min(rest);
        }
    }

    fn parse(&self, bytes: &[u8], options: &TableOptions, look: &Look) -> Result<Table, Problem> {
        let begins = if self.length == 0 { self.head.len() } else { 0 };
        self.format.parse(look.path, &self.head, &bytes[begins..], options, look.reading)
    }

    /// This piece was read.
    fn pass(&mut self, piece: &Piece, rows: usize) {
        self.length += piece.bytes.len() as u64;
        add_blocks(&mut self.blocks, piece);
        // Lines without cells are no rows: the counts of blocks are for messages, and the last has the rest.
        let counted: usize = piece.ends.iter().map(|end| end.rows).sum();
        if let Some(last) = self.blocks.last_mut() {
            last.rows = (last.rows + rows).saturating_sub(counted);
        }
        if let Format::Messages = self.format {
            messages::keep_dictionaries(&mut self.head, &piece.bytes[piece.begins..]);
        }
    }
}

/// Bytes that are parsed together; the first of them may be the head of the file.
struct Piece {
    bytes: Vec<u8>,
    begins: usize,
    ends: Vec<End>,
}

impl Format {
    /// Where the head of a file ends.
    fn head(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Format::Lines => line_ends(bytes).next(),
            Format::Messages => messages::whole(bytes).first().map(|end| end.at),
        }
    }

    fn ends(self, bytes: &[u8]) -> Vec<End> {
        match self {
            Format::Lines => line_ends(bytes).map(|at| End { at, rows: 1 }).collect(),
            Format::Messages => messages::whole(bytes),
        }
    }

    fn parse(
        self,
        path: &Path,
        head: &[u8],
        bytes: &[u8],
        options: &TableOptions,
        reading: Reading,
    ) -> Result<Table, Problem> {
        match self {
            Format::Lines => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                csv::read_bytes(&name, [head, bytes].concat(), options, reading)
            }
            Format::Messages => messages::read(head, bytes, options, reading),
        }
    }
}

/// Where whole lines end; a line break inside quotes ends none.
fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut is_quoted = false;
    bytes.iter().enumerate().filter_map(move |(at, byte)| {
        is_quoted ^= *byte == b'"';
        (*byte == b'\n' && !is_quoted).then_some(at + 1)
    })
}

/// Sums of new bytes, cut where something whole ends.
fn add_blocks(blocks: &mut Vec<Block>, piece: &Piece) {
    let (mut begin, mut rows) = (0, 0);
    for (k, end) in piece.ends.iter().enumerate() {
        rows += end.rows;
        let end = piece.begins + end.at;
        if end - begin >= BLOCK || k + 1 == piece.ends.len() {
            let sum = Sums::of(&piece.bytes[begin..end]).quick();
            blocks.push(Block { bytes: end - begin, sum, rows });
            (begin, rows) = (end, 0);
        }
    }
}
