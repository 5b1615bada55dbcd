//! Tables that go on being written: a CSV up to its last whole line, an Arrow stream up to its last whole message, or a folder whose
//! files are read in the order of their names.
//!
//! Only what is new is parsed. What was read before must stay as it was: its bytes are summed again, in pieces, whenever the
//! file has changed, and a piece that differs is an error that names its rows. (So a look at a file that has grown reads its
//! bytes once, and parses the new ones; a look at one that has not reads its length.)
//!
//! How far a table was read is a *position*, bytes of a file or files of a folder. Who comes back to a position reads the rows that
//! were there then, however far the file goes meanwhile.

mod files;
mod stretch;
mod window;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use smidgen_value::{Column, Symbol, Table};

use super::TableOptions;
use super::error::Problem;
use super::reading::Reading;
use crate::folder::sums::Sums;
use files::Files;
use stretch::{Format, Stretch};
pub use window::Window;

/// A table and where its next rows come from.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    options: TableOptions,
    window: Option<Window>,
    source: Source,
    /// Rows that have come.
    rows: usize,
}

#[derive(Debug)]
enum Source {
    Stretch(Stretch),
    Files(Files),
}

/// One look at a table.
struct Look<'a> {
    path: &'a Path,
    reading: Reading<'a>,
    /// The position that it does not go beyond.
    upto: Option<u64>,
    /// Rows that came before.
    before: usize,
    window: Option<Window>,
}

/// Where something whole ends among bytes, and the rows in it.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub at: usize,
    pub rows: usize,
}

/// What changes when a file is written to.
type Stamp = (u64, Option<SystemTime>);

/// What is wrong with a table that is followed, in one sentence.
pub type Followed<T> = Result<T, String>;

impl Follower {
    /// The table as it is now, or as it was when it had come to a position.
    pub fn open(
        path: &Path,
        options: &TableOptions,
        window: Option<Window>,
        upto: Option<u64>,
        reading: Reading,
    ) -> Followed<(Follower, Table)> {
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let source = match extension.as_deref() {
            Some("arrows") if !crate::COLUMNAR => {
                return Err(Problem::LeftOut.of(path).to_string());
            }
            _ if path.is_dir() => Source::Files(Files::default()),
            Some("csv") => Source::Stretch(Stretch::new(Format::Lines)),
            Some("arrows") => Source::Stretch(Stretch::new(Format::Messages)),
            _ => {
                let shown = path.display();
                return Err(format!(
                    "{shown}: a table that is followed is a .csv, an .arrows stream, or a folder of files that are added one by one"
                ));
            }
        };
        let (path, options) = (path.to_owned(), options.clone());
        let mut follower = Follower { path, options, window, source, rows: 0 };
        match follower.next(upto, reading)? {
            Some(table) => Ok((follower, table)),
            None => Err(format!("{}: there are no rows yet", follower.path.display())),
        }
    }

    /// The rows that have come since, up to a position if one is given; None if there are none. Those that have left the
    /// window already are left out in front.
    pub fn next(&mut self, upto: Option<u64>, reading: Reading) -> Followed<Option<Table>> {
        let Follower { path, options, window, source, rows } = self;
        let look = Look { path, reading, upto, before: *rows, window: *window };
        let found = match source {
            Source::Stretch(stretch) => stretch.next(options, &look)?,
            Source::Files(files) => files.next(options, &look)?,
        };
        self.rows += found.as_ref().map_or(0, |table| table.first_row() + table.rows());
        Ok(found)
    }

    /// How far it was read.
    pub fn position(&self) -> u64 {
        match &self.source {
            Source::Stretch(stretch) => stretch.position(),
            Source::Files(files) => files.position(),
        }
    }
}

/// Rows of one look, put together piece by piece; of those that will not stay none is kept for long.
#[derive(Default)]
struct Gathered {
    parts: Vec<Arc<Table>>,
}

impl Gathered {
    fn add(&mut self, look: &Look, piece: Table) -> Followed<()> {
        let part = match self.parts.last() {
            Some(before) => before.continued_by(&piece)?,
            None => piece,
        };
        let Some(window) = look.window else {
            self.parts.push(Arc::new(part));
            return Ok(());
        };
        let first = window.first(look.before + part.first_row() + part.rows());
        let part = part.from_row(first.saturating_sub(look.before));
        self.parts.retain(|old| look.before + old.first_row() + old.rows() > first);
        self.parts.push(Arc::new(part));
        Ok(())
    }

    fn table(self, look: &Look) -> Option<Table> {
        let last = self.parts.last()?;
        let end = look.before + last.first_row() + last.rows();
        let first = look.window.map_or(0, |window| window.first(end).saturating_sub(look.before));
        match self.parts.as_slice() {
            [only] => Some(only.from_row(first)),
            parts => Some(Table::joined(parts).from_row(first)),
        }
    }
}

/// Columns that are texts in the first rows stay that, whatever later cells look like.
fn note_texts(options: &mut TableOptions, table: &Table) {
    let is_text = |name: &&Symbol| matches!(table.column(**name), Some(Column::Texts(_)));
    options.texts.extend(table.names().iter().filter(is_text).map(Symbol::to_string));
}

fn changed(path: &Path, first: usize, rows: usize) -> String {
    let last = (first + rows).saturating_sub(1);
    format!("{} is not what it was, in rows {first} to {last}", path.display())
}

fn stamp_of(path: &Path) -> Followed<Stamp> {
    let metadata = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// The sum of the next bytes of a file, which go through little memory; None if there are fewer.
fn sum_of(file: &mut File, bytes: u64) -> std::io::Result<Option<u64>> {
    const PIECE: usize = 1 << 20;
    let (mut sums, mut left) = (Sums::default(), bytes);
    let mut piece = vec![0; PIECE.min(usize::try_from(bytes).unwrap_or(PIECE))];
    while left > 0 {
        let most = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = file.read(&mut piece[..most])?;
        if read == 0 {
            return Ok(None);
        }
        sums.add(&piece[..read]);
        left -= read as u64;
    }
    Ok(Some(sums.quick()))
}

#[cfg(test)]
mod tests;
