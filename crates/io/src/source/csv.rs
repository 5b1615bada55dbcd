//! CSV with a header line.
//!
//! The type of a column follows from its cells: numbers if all are numbers, booleans if all
//! are `true` or `false` (in any case), else texts. One pass does it: the first cell proposes a
//! type, and a column that breaks its promise is read again as text in a second pass. Blanks
//! around numbers, booleans and column names do not count; a text is kept as it is.
//! Cost: linear in the file; in memory are only the columns (and the file, if it is a pipe).

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use csv::{ByteRecord, Reader, ReaderBuilder};
use smidgen_value::{Column, Symbol, Table};

use super::error::{DataError, Place, Problem};
use super::selection::select;
use super::{TableOptions, VectorColumn};

pub(super) fn read(path: &Path, options: &TableOptions) -> Result<Table, DataError> {
    let read = || {
        let input = Input::new(path)?;
        let plan = Plan::new(&input, &options.vectors)?;
        plan.read(&input)
    };
    read().map_err(|problem| problem.of(path))
}

// ---------------------------------------------------------------- the bytes

/// Something that can be read more than once.
enum Input<'a> {
    File {
        path: &'a Path,
        size: u64,
    },
    /// What came through a pipe.
    Bytes(Vec<u8>),
}

impl Input<'_> {
    fn new(path: &Path) -> Result<Input<'_>, Problem> {
        let metadata = std::fs::metadata(path).map_err(Problem::Io)?;
        if metadata.is_dir() {
            return Err(Problem::Directory);
        }
        if metadata.is_file() {
            return Ok(Input::File { path, size: metadata.len() });
        }
        std::fs::read(path).map(Input::Bytes).map_err(Problem::Io)
    }

    fn open(&self) -> Result<Box<dyn Read + '_>, Problem> {
        Ok(match self {
            Input::File { path, .. } => Box::new(File::open(path).map_err(Problem::Io)?),
            Input::Bytes(bytes) => Box::new(bytes.as_slice()),
        })
    }

    fn size(&self) -> u64 {
        match self {
            Input::File { size, .. } => *size,
            Input::Bytes(bytes) => bytes.len() as u64,
        }
    }

    fn records(&self) -> Result<Reader<impl Read>, Problem> {
        // With a newline at the very end, every record ends in one.
        let bytes = self.open()?.chain(&b"\n"[..]);
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).buffer_capacity(1 << 18);
        Ok(builder.from_reader(bytes))
    }

    /// The line on which the record begins that was read from this byte on. Only for
    /// messages: the file is read up to there once more.
    fn line(&self, record: &ByteRecord) -> Result<u64, Problem> {
        let start = record.position().map_or(0, |position| position.byte());
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

fn next(records: &mut Reader<impl Read>, record: &mut ByteRecord) -> Result<bool, Problem> {
    records.read_byte_record(record).map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => Problem::Io(error),
        other => Problem::Io(io::Error::other(format!("{other:?}"))),
    })
}

// ---------------------------------------------------------------- the header

/// Which columns there are and where they go.
struct Plan {
    header: Vec<String>,
    /// Name and columns of each vector.
    vectors: Vec<(Symbol, Vec<usize>)>,
    /// The columns that stay single.
    singles: Vec<usize>,
}

impl Plan {
    fn new(input: &Input, vectors: &[VectorColumn]) -> Result<Plan, Problem> {
        let header = read_header(input)?;
        let mut selected = Vec::new();
        for vector in vectors {
            selected.push((vector.name, select(vector, &header)?));
        }
        let single = |column: &usize| !selected.iter().any(|(_, places)| places.contains(column));
        let singles: Vec<usize> = (0..header.len()).filter(single).collect();
        let mut names: HashSet<Symbol> =
            singles.iter().map(|&column| Symbol::new(&header[column])).collect();
        for (name, _) in &selected {
            if !names.insert(*name) {
                return Err(Problem::TakenName { vector: name.to_string() });
            }
        }
        Ok(Plan { header, vectors: selected, singles })
    }
}

fn read_header(input: &Input) -> Result<Vec<String>, Problem> {
    let mut records = input.records()?;
    let mut record = ByteRecord::new();
    if !next(&mut records, &mut record)? {
        return Err(Problem::Empty);
    }
    let mut names: Vec<String> = Vec::new();
    for (i, name) in record.iter().enumerate() {
        let name = std::str::from_utf8(name).map_err(|_| Problem::HeaderNotUtf8)?.trim();
        if name.is_empty() {
            return Err(Problem::UnnamedColumn { position: i + 1 });
        }
        names.push(name.to_owned());
    }
    if let [header] = names.as_slice()
        && header.contains([';', '\t'])
    {
        return Err(Problem::Separator { header: header.clone() });
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(twice) => Err(Problem::DuplicateColumn { name: twice.clone() }),
        None => Ok(names),
    }
}

// ---------------------------------------------------------------- the cells

/// The cells of one column so far.
enum Cells {
    Unread,
    Reals(Vec<f64>),
    Booleans(Vec<bool>),
    Texts(Texts),
    /// Began as numbers or booleans and turned out to be texts: to be read again.
    Mixed,
}

/// Equal texts of a column are stored once.
#[derive(Default)]
struct Texts {
    cells: Vec<Arc<String>>,
    known: HashSet<Arc<String>>,
    /// Room for the text that is looked up.
    cell: String,
}

enum BadCell {
    Missing,
    NotUtf8,
}

impl Cells {
    fn push(&mut self, cell: &[u8]) -> Result<(), BadCell> {
        if matches!(self, Cells::Unread) {
            *self = match (number(cell), boolean(cell)) {
                (Some(_), _) => Cells::Reals(Vec::new()),
                (_, Some(_)) => Cells::Booleans(Vec::new()),
                _ => Cells::Texts(Texts::default()),
            };
        }
        match self {
            Cells::Reals(cells) => {
                if let Some(x) = number(cell) {
                    cells.push(x);
                    return Ok(());
                }
            }
            Cells::Booleans(cells) => {
                if let Some(b) = boolean(cell) {
                    cells.push(b);
                    return Ok(());
                }
            }
            _ => {}
        }
        if is_missing(cell) {
            return Err(BadCell::Missing);
        }
        match self {
            Cells::Texts(texts) => texts.push(std::str::from_utf8(cell).or(Err(BadCell::NotUtf8))?),
            _ => *self = Cells::Mixed,
        }
        Ok(())
    }

    fn into_column(self) -> Column {
        match self {
            Cells::Unread => Column::Reals(Arc::new([])),
            Cells::Reals(cells) => Column::Reals(cells.into()),
            Cells::Booleans(cells) => Column::Booleans(cells.into()),
            Cells::Texts(texts) => Column::Texts(texts.cells.into()),
            Cells::Mixed => unreachable!("mixed columns are read again as texts"),
        }
    }
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.cell.clear();
        self.cell.push_str(text);
        let text = match self.known.get(&self.cell) {
            Some(known) => known.clone(),
            None => {
                let new = Arc::new(self.cell.clone());
                self.known.insert(new.clone());
                new
            }
        };
        self.cells.push(text);
    }
}

/// A number; `nan` is none (it stands for a missing one), `inf` is.
fn number(cell: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(cell.trim_ascii()).ok()?;
    text.parse().ok().filter(|x: &f64| !x.is_nan())
}

fn boolean(cell: &[u8]) -> Option<bool> {
    let cell = cell.trim_ascii();
    if cell.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if cell.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// The ways in which files say that a value is not there.
fn is_missing(cell: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [b"", b"na", b"n/a", b"nan", b"-nan", b"+nan", b"null", b"?"];
    let cell = cell.trim_ascii();
    WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

fn shown(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).trim().to_owned()
}

impl Plan {
    fn read(&self, input: &Input) -> Result<Table, Problem> {
        let mut cells: Vec<Cells> = self.singles.iter().map(|_| Cells::Unread).collect();
        let mut vectors: Vec<Vec<f64>> = self.vectors.iter().map(|_| Vec::new()).collect();
        self.each_row(input, |row| {
            row.put(&self.singles, &mut cells)?;
            for ((name, columns), data) in self.vectors.iter().zip(&mut vectors) {
                row.put_vector(*name, columns, data)?;
            }
            Ok(())
        })?;
        self.read_mixed(input, &mut cells)?;
        let singles = self.singles.iter().zip(cells);
        let singles =
            singles.map(|(&i, cells)| (i, Symbol::new(&self.header[i]), cells.into_column()));
        let vectors = self.vectors.iter().zip(vectors).map(|((name, columns), data)| {
            let column = Column::Vectors { data: data.into(), width: columns.len() };
            (columns[0], *name, column)
        });
        // In the order of the file; a vector stands where its first column stood.
        let mut columns: Vec<(usize, Symbol, Column)> = singles.chain(vectors).collect();
        columns.sort_by_key(|(place, _, _)| *place);
        Ok(Table::new(columns.into_iter().map(|(_, name, column)| (name, column)).collect()))
    }

    /// The second pass, over the columns that need it.
    fn read_mixed(&self, input: &Input, cells: &mut [Cells]) -> Result<(), Problem> {
        let is_mixed = |i: &usize| matches!(cells[*i], Cells::Mixed);
        let mixed: Vec<usize> = (0..cells.len()).filter(is_mixed).collect();
        if mixed.is_empty() {
            return Ok(());
        }
        let columns: Vec<usize> = mixed.iter().map(|&i| self.singles[i]).collect();
        let mut texts: Vec<Cells> = mixed.iter().map(|_| Cells::Texts(Texts::default())).collect();
        self.each_row(input, |row| row.put(&columns, &mut texts))?;
        for (i, texts) in mixed.into_iter().zip(texts) {
            cells[i] = texts;
        }
        Ok(())
    }

    fn each_row(
        &self,
        input: &Input,
        mut body: impl FnMut(&Row) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut records = input.records()?;
        let mut record = ByteRecord::new();
        next(&mut records, &mut record)?;
        let mut number = 0;
        while next(&mut records, &mut record)? {
            number += 1;
            let row = Row { plan: self, input, record: &record, number };
            if row.swallows_the_end(records.position().byte())? {
                return Err(Problem::OpenQuote { place: row.place()? });
            }
            if record.len() != self.header.len() {
                let (cells, columns) = (record.len(), self.header.len());
                return Err(Problem::Ragged { place: row.place()?, cells, columns });
            }
            if record.len() == 1 && row.follows_a_blank_line(records.position().line()) {
                let column = self.header[0].clone();
                return Err(Problem::BlankLine { place: row.place()?, column });
            }
            body(&row)?;
        }
        Ok(())
    }
}

/// One data row.
struct Row<'a> {
    plan: &'a Plan,
    input: &'a Input<'a>,
    record: &'a ByteRecord,
    /// Counted from 1.
    number: usize,
}

impl Row<'_> {
    fn place(&self) -> Result<Place, Problem> {
        Ok(Place { row: self.number, line: self.input.line(self.record)? })
    }

    /// A quote that is never closed makes the rest of the file, up to the newline that
    /// [`Input::records`] appends, part of the last cell.
    fn swallows_the_end(&self, byte_after: u64) -> Result<bool, Problem> {
        let ends_in_newline = self.record.iter().next_back().is_some_and(|c| c.ends_with(b"\n"));
        if !ends_in_newline || byte_after <= self.input.size() {
            return Ok(false);
        }
        let mut quotes = 0u64;
        for byte in BufReader::new(self.input.open()?).bytes() {
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

    fn put(&self, columns: &[usize], cells: &mut [Cells]) -> Result<(), Problem> {
        for (&column, cells) in columns.iter().zip(cells) {
            let cell = &self.record[column];
            if let Err(bad) = cells.push(cell) {
                let (place, name) = (self.place()?, self.plan.header[column].clone());
                return Err(match bad {
                    BadCell::Missing => Problem::Missing { place, column: name, cell: shown(cell) },
                    BadCell::NotUtf8 => Problem::NotUtf8 { place, column: name },
                });
            }
        }
        Ok(())
    }

    fn put_vector(
        &self,
        name: Symbol,
        columns: &[usize],
        data: &mut Vec<f64>,
    ) -> Result<(), Problem> {
        for &i in columns {
            let cell = &self.record[i];
            let Some(x) = number(cell) else {
                let (place, column) = (self.place()?, self.plan.header[i].clone());
                let cell_shown = shown(cell);
                return Err(if is_missing(cell) {
                    Problem::Missing { place, column, cell: cell_shown }
                } else {
                    let vector = name.to_string();
                    Problem::NotNumeric { place, column, vector, cell: cell_shown }
                });
            };
            data.push(x);
        }
        Ok(())
    }
}
