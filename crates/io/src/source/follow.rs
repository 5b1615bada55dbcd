//! Tables that go on being written: a CSV up to its last whole line, or a folder whose files are read in the order of their names.
//!
//! Only what is new is parsed. What was read before must stay as it was: its bytes are summed again by blocks of
//! [`BLOCK`] bytes whenever the file has changed, and a block that differs is an error that names its rows. (So a look at a
//! file that has grown reads its bytes once, and parses the new ones; a look at one that has not reads its length.)

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use smidgen_value::{Column, Symbol, Table};

use super::error::Problem;
use super::reading::Reading;
use super::{DataError, TableOptions, csv, read_table_with};
use crate::folder::sums::Sums;

/// Bytes of a block of a text, about.
const BLOCK: usize = 1 << 20;

/// A table and where its next rows come from.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    options: TableOptions,
    source: Source,
    rows: usize,
    /// Columns of texts, whose new cells may look like something else.
    texts: Vec<String>,
}

#[derive(Debug)]
enum Source {
    Lines { header: Vec<u8>, blocks: Vec<Block>, length: u64, stamp: Stamp },
    Folder(Vec<Piece>),
}

/// Bytes of a text that were read, with the number of rows that end in them.
#[derive(Debug)]
struct Block {
    bytes: usize,
    sum: u64,
    rows: usize,
}

/// A file of a folder.
#[derive(Debug)]
struct Piece {
    path: PathBuf,
    stamp: Stamp,
    sum: u64,
    rows: usize,
}

/// What changes when a file is written to.
type Stamp = (u64, Option<SystemTime>);

/// What is wrong with a table that is followed, in one sentence.
pub type Followed<T> = Result<T, String>;

impl Follower {
    /// The table as it is now.
    pub fn open(
        path: &Path,
        options: &TableOptions,
        reading: Reading,
    ) -> Followed<(Follower, Table)> {
        let is_folder = path.is_dir();
        let is_csv = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        if !is_folder && !is_csv {
            let shown = path.display();
            return Err(format!(
                "{shown}: a table that is followed is a CSV, or a folder of files that are added one by one"
            ));
        }
        let source = match is_folder {
            true => Source::Folder(Vec::new()),
            false => Source::Lines {
                header: Vec::new(),
                blocks: Vec::new(),
                length: 0,
                stamp: (0, None),
            },
        };
        let (path, options) = (path.to_owned(), options.clone());
        let mut follower = Follower { path, options, source, rows: 0, texts: Vec::new() };
        match follower.next(reading)? {
            Some(table) => Ok((follower, table)),
            None => Err(format!("{}: there are no rows yet", follower.path.display())),
        }
    }

    /// The rows that have come since; None if there are none.
    pub fn next(&mut self, reading: Reading) -> Followed<Option<Table>> {
        let mut options = self.options.clone();
        options.texts.extend(self.texts.iter().cloned());
        let found = match &mut self.source {
            Source::Lines { .. } => self.lines(&options, reading)?,
            Source::Folder(_) => self.files(&options, reading)?,
        };
        if let Some(table) = &found {
            self.rows += table.rows();
            let is_text = |name: &&Symbol| matches!(table.column(**name), Some(Column::Texts(_)));
            if self.texts.is_empty() {
                self.texts = table.names().iter().filter(is_text).map(Symbol::to_string).collect();
            }
        }
        Ok(found)
    }

    fn lines(&mut self, options: &TableOptions, reading: Reading) -> Followed<Option<Table>> {
        let Source::Lines { header, blocks, length, stamp } = &mut self.source else {
            return Ok(None);
        };
        let shown = self.path.display();
        let now = stamp_of(&self.path)?;
        if now == *stamp {
            return Ok(None);
        }
        let bytes = fs::read(&self.path).map_err(|error| format!("{shown}: {error}"))?;
        if (bytes.len() as u64) < *length {
            return Err(format!(
                "{shown} has become shorter than the {} rows that were read",
                self.rows
            ));
        }
        let (mut at, mut first) = (0, 0);
        for block in blocks.iter() {
            if Sums::of(&bytes[at..at + block.bytes]).quick() != block.sum {
                return Err(changed(&self.path, first, block.rows));
            }
            at += block.bytes;
            first += block.rows;
        }
        if header.is_empty() {
            let Some(end) = whole_lines(&bytes).first().copied() else { return Ok(None) };
            *header = bytes[..end].to_vec();
        }
        let from = at.max(header.len());
        let ends = whole_lines(&bytes[from..]);
        let Some(end) = ends.last().copied() else {
            *stamp = now;
            return Ok(None);
        };
        let mut text = header.clone();
        text.extend_from_slice(&bytes[from..from + end]);
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        let table = match csv::read_bytes(&name, text, options, reading) {
            Ok(table) => table,
            Err(Problem::NoRows) => return Ok(None),
            Err(problem) => {
                let after = if self.rows > 0 {
                    format!(", counted from row {}", self.rows)
                } else {
                    String::new()
                };
                return Err(format!("{}{after}", problem.of(&self.path)));
            }
        };
        // The header belongs to the first block.
        let begins = if at == 0 { 0 } else { from };
        add_blocks(blocks, &bytes[begins..from + end], from - begins, &ends);
        // Lines without cells are no rows: the counts of blocks are for messages, and the last has the rest.
        let counted: usize = blocks.iter().map(|block| block.rows).sum();
        if let Some(last) = blocks.last_mut() {
            last.rows = (last.rows + self.rows + table.rows()).saturating_sub(counted);
        }
        (*length, *stamp) = ((from + end) as u64, now);
        Ok(Some(table))
    }

    fn files(&mut self, options: &TableOptions, reading: Reading) -> Followed<Option<Table>> {
        let Source::Folder(known) = &mut self.source else { return Ok(None) };
        let shown = self.path.display();
        let entries = fs::read_dir(&self.path).map_err(|error| format!("{shown}: {error}"))?;
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| format!("{shown}: {error}"))?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            // Files that are being written are called otherwise until they are whole.
            let is_hidden =
                name.is_none_or(|name| name.starts_with(['.', '_']) || name.ends_with(".tmp"));
            if path.is_file() && !is_hidden {
                paths.push(path);
            }
        }
        paths.sort();
        let mut first = 0;
        for piece in known.iter_mut() {
            if !paths.contains(&piece.path) {
                return Err(format!(
                    "{} is gone, which had {} rows from row {first} on",
                    piece.path.display(),
                    piece.rows
                ));
            }
            let now = stamp_of(&piece.path)?;
            if now != piece.stamp {
                if sum_of(&piece.path)? != piece.sum {
                    return Err(changed(&piece.path, first, piece.rows));
                }
                piece.stamp = now;
            }
            first += piece.rows;
        }
        let last = known.last().map(|piece| piece.path.clone());
        let mut parts: Vec<Arc<Table>> = Vec::new();
        let mut pieces = Vec::new();
        for path in paths {
            if known.iter().any(|piece| piece.path == path) {
                continue;
            }
            if last.as_ref().is_some_and(|last| path < *last) {
                return Err(format!(
                    "{} has come before files that were read: the order of the rows is that of the names",
                    path.display()
                ));
            }
            let (stamp, sum) = (stamp_of(&path)?, sum_of(&path)?);
            let table =
                read_table_with(&path, options, reading).map_err(|e: DataError| e.to_string())?;
            pieces.push(Piece { rows: table.rows(), path: path.clone(), stamp, sum });
            let part = match parts.last() {
                Some(before) => {
                    before.continued_by(&table).map_err(|e| format!("{}: {e}", path.display()))?
                }
                None => table,
            };
            parts.push(Arc::new(part));
        }
        known.extend(pieces);
        Ok(match parts.as_slice() {
            [] => None,
            [only] => Some((**only).clone()),
            parts => Some(Table::joined(parts)),
        })
    }
}

fn changed(path: &Path, first: usize, rows: usize) -> String {
    let last = (first + rows).saturating_sub(1);
    format!("{} is not what it was, in rows {first} to {last}", path.display())
}

fn stamp_of(path: &Path) -> Followed<Stamp> {
    let metadata = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((metadata.len(), metadata.modified().ok()))
}

fn sum_of(path: &Path) -> Followed<u64> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Sums::of(&bytes).quick())
}

/// Where whole lines end; a line break inside quotes ends none.
fn whole_lines(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut is_quoted = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => ends.push(at + 1),
            _ => {}
        }
    }
    ends
}

/// Sums of new bytes, cut at ends of lines, which are counted from byte `skipped` on.
fn add_blocks(blocks: &mut Vec<Block>, bytes: &[u8], skipped: usize, ends: &[usize]) {
    let (mut begin, mut rows) = (0, 0);
    for (k, end) in ends.iter().enumerate() {
        rows += 1;
        let end = skipped + end;
        if end - begin >= BLOCK || k + 1 == ends.len() {
            let sum = Sums::of(&bytes[begin..end]).quick();
            blocks.push(Block { bytes: end - begin, sum, rows });
            (begin, rows) = (end, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::Progress;

    fn file(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("smidgen-follow-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for a test");
        folder.join(name)
    }

    fn add(path: &Path, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).expect("a file");
        file.write_all(text.as_bytes()).expect("room for a line");
    }

    fn xs(table: &Table) -> Vec<f64> {
        let column = table.column(Symbol::new("x")).and_then(Column::reals);
        column.expect("a column of numbers").data.to_vec()
    }

    #[test]
    fn a_csv_is_read_up_to_its_last_whole_line() {
        let path = file("lines.csv");
        let _ = fs::remove_file(&path);
        let (progress, stop) = (Progress::default(), AtomicBool::new(false));
        let reading = Reading { progress: &progress, stop: &stop };
        let options = TableOptions::default();
        add(&path, "x,w\n1,a\n2,\"b\nb\"\n3,");
        let (mut follower, table) = Follower::open(&path, &options, reading).expect("two rows");
        assert_eq!(xs(&table), [1.0, 2.0]);
        assert!(follower.next(reading).expect("nothing new").is_none());
        // The rest of a line; a text that looks like a number; a line break inside quotes.
        add(&path, "7\n4,\"c\n");
        let new = follower.next(reading).expect("a row").expect("a row");
        assert_eq!(xs(&new), [3.0]);
        assert!(matches!(new.column(Symbol::new("w")), Some(Column::Texts(_))));
        add(&path, "d\"\n5,e\n");
        assert_eq!(xs(&follower.next(reading).expect("two rows").expect("two rows")), [4.0, 5.0]);
        add(&path, "6,");
        assert!(follower.next(reading).expect("half a row").is_none());
        // What was read before has changed.
        let text = fs::read_to_string(&path).expect("the file").replace("3,7", "3,8");
        fs::write(&path, format!("{text}f\n")).expect("the file");
        let error = follower.next(reading).expect_err("row 2 is another one");
        assert!(error.contains("is not what it was, in rows 2 to 2"), "{error}");
    }

    #[test]
    fn a_folder_is_read_in_the_order_of_names() {
        let folder = file("pieces");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let (progress, stop) = (Progress::default(), AtomicBool::new(false));
        let reading = Reading { progress: &progress, stop: &stop };
        let options = TableOptions::default();
        add(&folder.join("b.csv"), "x\n3\n4\n");
        add(&folder.join("a.csv"), "x\n1\n2\n");
        let (mut follower, table) = Follower::open(&folder, &options, reading).expect("two files");
        assert_eq!(xs(&table), [1.0, 2.0, 3.0, 4.0]);
        add(&folder.join("c.csv.tmp"), "x\n5");
        assert!(follower.next(reading).expect("nothing new").is_none());
        add(&folder.join("c.csv"), "x\n5\n");
        assert_eq!(xs(&follower.next(reading).expect("a file").expect("a row")), [5.0]);
        fs::write(folder.join("b.csv"), "x\n3\n5\n9\n").expect("a file");
        let error = follower.next(reading).expect_err("it was written to");
        assert!(error.contains("in rows 2 to 3"), "{error}");
        fs::write(folder.join("b.csv"), "x\n3\n4\n").expect("a file");
        add(&folder.join("aa.csv"), "x\n1\n");
        let error = follower.next(reading).expect_err("it comes in between");
        assert!(error.contains("has come before files"), "{error}");
    }
}
