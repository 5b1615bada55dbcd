//! CSV with a header line.
//!
//! The type of a column follows from its cells: numbers if all are numbers, booleans if all
//! are `true` or `false` (in any case), else texts. A column most of whose cells are numbers (or
//! booleans) is no text, though: it is set aside, and a program that uses it hears of the first
//! cell that does not fit (`cells.rs`). One pass does it; a column that began with numbers and
//! turned out to be texts is read again in a second pass. Blanks around numbers, booleans and column
//! names do not count; a text is kept as it is. Cost: linear in the file; in memory are only the
//! columns (and the file, if it is a pipe).

use std::io::{self, BufReader, Read};
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};
use smidgen_value::{Column, Missing, Symbol, Table};

use super::cells::{Cells, NotUtf8, Verdict, is_inexact, is_missing, number};
use super::error::{CellPlace, Problem};
use super::growing::Growing;
use super::holes::Holes;
use super::pipe;
use super::plan::{From, Plan};
use super::reading::{Counted, Opened, Reading, room_for};
use super::{TableOptions, refuse_empty};

pub(super) fn read(
    path: &Path,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    let input = Input::new(path, reading)?;
    let plan = Plan::new(read_header(&input)?, options)?;
    input.room_for(plan.targets.iter().map(|target| target.columns().len()).sum())?;
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    File { input, plan, name: &file }.read()
}

/// A text with a header, which is part of a file of this name.
pub(super) fn read_bytes(
    name: &str,
    bytes: Vec<u8>,
    options: &TableOptions,
    reading: Reading,
) -> Result<Table, Problem> {
    let input = Input { source: Source::Bytes(bytes), reading };
    let plan = Plan::new(read_header(&input)?, options)?;
    File { input, plan, name }.read()
}

// ---------------------------------------------------------------- the bytes

/// Something that can be read more than once.
struct Input<'a> {
    source: Source,
    reading: Reading<'a>,
}

enum Source {
    File(Opened),
    /// What came through a pipe.
    Bytes(Vec<u8>),
}

type Records<'a> = Reader<io::Chain<Counted<'a, Box<dyn Read + 'a>>, &'static [u8]>>;

impl<'a> Input<'a> {
    fn new(path: &Path, reading: Reading<'a>) -> Result<Input<'a>, Problem> {
        let source = match Opened::new(path) {
            Err(Problem::NotAFile) => Source::Bytes(pipe::read(path, reading)?),
            opened => Source::File(opened?),
        };
        Ok(Input { source, reading })
    }

    fn open(&self) -> Result<Box<dyn Read + '_>, Problem> {
        Ok(match &self.source {
            Source::File(opened) => Box::new(opened.rewound()?),
            Source::Bytes(bytes) => Box::new(bytes.as_slice()),
        })
    }

    fn size(&self) -> u64 {
        match &self.source {
            Source::File(opened) => opened.size,
            Source::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// An error if so many columns have no room, by the number of lines that the first piece of the file promises.
    fn room_for(&self, columns: usize) -> Result<(), Problem> {
        const PIECE: u64 = 1 << 16;
        if self.size() < 64 * PIECE {
            return Ok(());
        }
        let mut piece = Vec::new();
        self.open()?.take(PIECE).read_to_end(&mut piece).map_err(Problem::Io)?;
        let lines = piece.iter().filter(|byte| **byte == b'\n').count().max(1);
        let rows = u128::from(self.size() / PIECE) * lines as u128;
        room_for(rows * 8 * columns as u128)
    }

    fn records(&self) -> Result<Records<'_>, Problem> {
        self.reading.begin(self.size());
        let bytes = Counted { inner: self.open()?, bytes: 0, reading: self.reading };
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).buffer_capacity(1 << 18);
        // With a newline at the very end, every record ends in one.
        Ok(builder.from_reader(bytes.chain(&b"\n"[..])))
    }

    /// The line on which the record begins that was read from this byte on. Only for
    /// messages: the file is read up to there once more.
    fn line(&self, start: u64) -> Result<u64, Problem> {
        let mut line = 1;
        for (at, byte) in BufReader::new(self.open()?).bytes().enumerate() {
            let byte = byte.map_err(Problem::Io)?;
            if at as u64 >= start && !matches!(byte, b'\r' | b'\n') {
                break;
            }
            line += u64::from(byte == b'\n');
        }
        Ok(line)
    }
}

fn next(records: &mut Records, record: &mut ByteRecord) -> Result<bool, Problem> {
    records.read_byte_record(record).map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => Problem::Io(error),
        other => Problem::Io(io::Error::other(format!("{other:?}"))),
    })
}

fn read_header(input: &Input) -> Result<Vec<String>, Problem> {
    let mut records = input.records()?;
    let mut record = ByteRecord::new();
    if !next(&mut records, &mut record)? {
        return Err(Problem::Empty);
    }
    let mut names: Vec<String> = Vec::new();
    for name in &record {
        let name = std::str::from_utf8(name).map_err(|_| Problem::HeaderNotUtf8)?.trim();
        names.push(name.to_owned());
    }
    match names.as_slice() {
        [header] if header.contains([';', '\t']) => {
            Err(Problem::Separator { header: header.clone() })
        }
        _ => Ok(names),
    }
}

// ---------------------------------------------------------------- the rows

struct File<'a> {
    input: Input<'a>,
    plan: Plan,
    name: &'a str,
}

/// A column of the table while it is read.
enum Growth {
    Cells(Box<Cells>),
    Vector(Growing<f64>, Holes),
}

impl File<'_> {
    fn read(&self) -> Result<Table, Problem> {
        let mut growth: Vec<Growth> = self.plan.targets.iter().map(|t| begin(&t.from)).collect();
        let rows = self.each_row(|row| {
            let targets = self.plan.targets.iter().zip(&mut growth);
            for (target, growth) in targets {
                match (&target.from, growth) {
                    (From::Single { column, .. }, Growth::Cells(cells)) => {
                        row.put(*column, cells)?
                    }
                    (From::Several(columns), Growth::Vector(data, holes)) => {
                        row.put_vector(target.name, columns, data, holes)?;
                    }
                    _ => unreachable!("a single column grows cells, several a vector"),
                }
            }
            Ok(())
        })?;
        refuse_empty(rows)?;
        let (mut columns, mut unusable, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let mut missing: Vec<(Symbol, Missing)> = Vec::new();
        for (target, mut growth) in self.plan.targets.iter().zip(growth) {
            let place = columns.len();
            let (name, holes) = (target.name, growth.holes());
            match growth {
                Growth::Vector(data, _) => {
                    let width = target.columns().len();
                    let column = Column::Vectors { data: data.finish().into(), width };
                    columns.push((name, Some(column)));
                }
                Growth::Cells(cells) => match cells.verdict() {
                    Verdict::Column(cells) => columns.push((name, Some(cells))),
                    Verdict::ReadAgain => {
                        again.push((place, target.columns()[0]));
                        columns.push((name, None));
                    }
                    Verdict::Odd { expected, row, start, cell } => {
                        unusable.push((name, self.odd(name, expected, (row, start), &cell)?));
                        continue;
                    }
                    Verdict::Inexact { row, start, cell } => {
                        unusable.push((name, self.inexact(name, (row, start), &cell)?));
                        continue;
                    }
                },
            }
            if let Some((row, start)) = holes.first() {
                let place = CellPlace { row: row + 1, line: Some(self.input.line(start)?) };
                let first = format!("{}: {place}", self.name);
                missing.push((name, holes.finish(target, &self.plan.header, rows, first)));
            }
        }
        for ((place, _), texts) in again.iter().zip(self.read_texts(&again, rows)?) {
            columns[*place].1 = Some(texts);
        }
        let finished = |column: Option<Column>| column.expect("missing columns were read again");
        let columns = columns.into_iter().map(|(name, column)| (name, finished(column))).collect();
        Ok(Table::with_rows(rows, columns).with_unusable(unusable).with_missing(missing))
    }

    /// Why a column cannot be used most of whose cells are of one type, and this one is not.
    fn odd(
        &self,
        column: Symbol,
        expected: &str,
        (row, start): (usize, u64),
        cell: &str,
    ) -> Result<String, Problem> {
        let place = CellPlace { row, line: Some(self.input.line(start)?) };
        Ok(format!(
            "{}: {place}: expected a {expected}, as in most rows, found {cell:?}; correct the file, or \
             write (text {column}) in the table directive to read the column as text",
            self.name
        ))
    }

    /// Why a column cannot be used in which a number is not what a double holds.
    fn inexact(
        &self,
        column: Symbol,
        (row, start): (usize, u64),
        cell: &str,
    ) -> Result<String, Problem> {
        let place = CellPlace { row, line: Some(self.input.line(start)?) };
        Ok(format!(
            "{}: {place}: {}; write (text {column}) in the table directive to read the column as text",
            self.name,
            not_exact(cell)
        ))
    }

    /// The second pass, over the columns that need it.
    fn read_texts(&self, again: &[(usize, usize)], rows: usize) -> Result<Vec<Column>, Problem> {
        if again.is_empty() {
            return Ok(Vec::new());
        }
        let mut texts: Vec<Cells> = again.iter().map(|_| Cells::texts()).collect();
        let rows_now = self.each_row(|row| {
            again
                .iter()
                .zip(&mut texts)
                .try_for_each(|((_, column), cells)| row.put(*column, cells))
        })?;
        if rows_now != rows {
            return Err(Problem::Changed);
        }
        let column = |cells: Cells| match cells.verdict() {
            Verdict::Column(column) => column,
            _ => unreachable!("what is read as texts is a column of texts"),
        };
        Ok(texts.into_iter().map(column).collect())
    }

    /// Shows every row to `body`; says how many there were.
    fn each_row(
        &self,
        mut body: impl FnMut(&Row) -> Result<(), Problem>,
    ) -> Result<usize, Problem> {
        let columns = self.plan.header.len();
        let mut records = self.input.records()?;
        let mut record = ByteRecord::new();
        next(&mut records, &mut record)?;
        let mut number = 0;
        while next(&mut records, &mut record)? {
            number += 1;
            let row = Row { file: self, record: &record, number };
            if row.swallows_the_end(records.position().byte())? {
                return Err(Problem::OpenQuote { place: row.place()? });
            }
            if record.len() != columns {
                let cells = record.len();
                return Err(Problem::Ragged { place: row.place()?, cells, columns });
            }
            if record.len() == 1 && row.follows_a_blank_line(records.position().line()) {
                let column = self.plan.header[0].clone();
                return Err(Problem::BlankLine { place: row.place()?, column });
            }
            body(&row)?;
        }
        match records.get_ref().get_ref().0.bytes < self.input.size() {
            true => Err(Problem::Changed),
            false => Ok(number),
        }
    }
}

fn begin(from: &From) -> Growth {
    match from {
        From::Single { as_text: true, .. } => Growth::Cells(Box::new(Cells::texts())),
        From::Single { as_text: false, .. } => Growth::Cells(Box::new(Cells::new())),
        From::Several(_) => Growth::Vector(Growing::new(), Holes::default()),
    }
}

impl Growth {
    /// The cells that were not there.
    fn holes(&mut self) -> Holes {
        match self {
            Growth::Cells(cells) => cells.take_holes(),
            Growth::Vector(_, holes) => std::mem::take(holes),
        }
    }
}

/// What is wrong with a number that no double holds.
fn not_exact(cell: &str) -> String {
    match cell.bytes().all(|c| c.is_ascii_digit() || c == b'-' || c == b'+') {
        true => format!("the number {cell} is beyond 2^53, and numbers of that size are not exact"),
        false => format!("the number {cell} is beyond what a double holds (1.8e308)"),
    }
}

/// One data row.
struct Row<'a> {
    file: &'a File<'a>,
    record: &'a ByteRecord,
    /// Counted from 1.
    number: usize,
}

impl Row<'_> {
    fn start(&self) -> u64 {
        self.record.position().map_or(0, |position| position.byte())
    }

    fn place(&self) -> Result<CellPlace, Problem> {
        Ok(CellPlace { row: self.number, line: Some(self.file.input.line(self.start())?) })
    }

    /// A quote that is never closed makes the rest of the file, up to the newline that
    /// [`Input::records`] appends, part of the last cell.
    fn swallows_the_end(&self, byte_after: u64) -> Result<bool, Problem> {
        let ends_in_newline = self.record.iter().next_back().is_some_and(|c| c.ends_with(b"\n"));
        if !ends_in_newline || byte_after <= self.file.input.size() {
            return Ok(false);
        }
        let mut quotes = 0u64;
        for byte in BufReader::new(self.file.input.open()?).bytes() {
            quotes += u64::from(byte.map_err(Problem::Io)? == b'"');
        }
        Ok(!quotes.is_multiple_of(2))
    }

    /// Blank lines between rows are skipped. In a file of one column, though, a blank line is
    /// how an empty cell looks.
    fn follows_a_blank_line(&self, line_after: u64) -> bool {
        let line_before = self.record.position().map_or(0, |position| position.line());
        let inside = self.record[0].iter().filter(|&&byte| byte == b'\n').count() as u64;
        line_after - line_before > 1 + inside
    }

    fn put(&self, column: usize, cells: &mut Cells) -> Result<(), Problem> {
        let cell = &self.record[column];
        cells.push(cell, || (self.number, self.start())).or_else(|NotUtf8| {
            let (place, column) = (self.place()?, self.file.plan.header[column].clone());
            Err(Problem::NotUtf8 { place, column })
        })
    }

    fn put_vector(
        &self,
        name: Symbol,
        columns: &[usize],
        data: &mut Growing<f64>,
        holes: &mut Holes,
    ) -> Result<(), Problem> {
        for (part, &i) in columns.iter().enumerate() {
            let bytes = &self.record[i];
            let problem = match number(bytes) {
                Some(x) if is_inexact(x, bytes) => Some(not_exact(&shown(bytes))),
                Some(x) => {
                    data.push(x);
                    None
                }
                None if is_missing(bytes) => {
                    holes.push(self.number - 1, Some(part), self.start());
                    data.push(f64::NAN);
                    None
                }
                None => Some(format!(
                    "expected a number, because the column is part of the vector `{name}`, found {:?}",
                    shown(bytes)
                )),
            };
            if let Some(reason) = problem {
                let (place, column) = (self.place()?, self.file.plan.header[i].clone());
                return Err(Problem::NotNumeric { place, column, reason });
            }
        }
        Ok(())
    }
}

fn shown(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).trim().to_owned()
}
