//! The cells of one CSV column, whose type is not known before they are all read.
//!
//! A column is of the type that all its cells have. If they differ, it is text, unless more than
//! half of its cells are of one other type: then the rest are more likely mistakes. Missing cells have no type.

use smidgen_value::Column;

use super::growing::{Growing, GrowingTexts};
use super::holes::Holes;

pub(super) struct Cells {
    data: Data,
    /// How many cells of each kind; kept from the second kind on, and for texts.
    counts: [usize; 3],
    /// The first cell of each kind: its row, the byte where the row starts, and the cell.
    firsts: [Option<(usize, u64, String)>; 3],
    /// The first number that a double does not hold, likewise.
    inexact: Option<(usize, u64, String)>,
    holes: Holes,
    /// Missing cells before the first that has a type.
    leading: usize,
}

enum Data {
    Unread,
    Reals(Growing<f64>),
    Booleans(Growing<bool>),
    /// Texts whose first cell is no number and no boolean.
    Texts(GrowingTexts),
    /// Texts because the program says so.
    Declared(GrowingTexts),
    /// Began as numbers or booleans; of the rest only the kinds are counted.
    Mixed,
}

enum Kind {
    Number(f64),
    Boolean(bool),
    Word,
}

impl Kind {
    fn index(&self) -> usize {
        match self {
            Kind::Number(_) => NUMBERS,
            Kind::Boolean(_) => BOOLEANS,
            Kind::Word => WORDS,
        }
    }
}

const NUMBERS: usize = 0;
const BOOLEANS: usize = 1;
const WORDS: usize = 2;

/// A cell that is no UTF-8 text.
pub(super) struct NotUtf8;

/// What a column turned out to be.
pub(super) enum Verdict {
    Column(Column),
    /// A column of texts that began as something else.
    ReadAgain,
    /// Most cells are of one type, this one is not.
    Odd {
        expected: &'static str,
        row: usize,
        start: u64,
        cell: String,
    },
    /// A number that a double does not hold.
    Inexact {
        row: usize,
        start: u64,
        cell: String,
    },
}

impl Cells {
    pub fn new() -> Cells {
        Cells {
            data: Data::Unread,
            counts: [0; 3],
            firsts: [const { None }; 3],
            inexact: None,
            holes: Holes::default(),
            leading: 0,
        }
    }

    /// All cells are texts, whatever they look like.
    pub fn texts() -> Cells {
        Cells { data: Data::Declared(GrowingTexts::default()), ..Cells::new() }
    }

    /// `place` gives the row, counted from 1, and the byte where it starts.
    pub fn push(&mut self, cell: &[u8], place: impl Fn() -> (usize, u64)) -> Result<(), NotUtf8> {
        // The common case first: a number in a column of numbers.
        if let (Data::Reals(cells), Some(x)) = (&mut self.data, number(cell)) {
            cells.push(x);
            self.look_at(x, cell, &place);
            return Ok(());
        }
        if is_missing(cell) {
            self.push_missing(place());
            return Ok(());
        }
        if let Data::Declared(texts) = &mut self.data {
            texts.push(std::str::from_utf8(cell).or(Err(NotUtf8))?);
            return Ok(());
        }
        let kind = kind(cell);
        if let Data::Unread = self.data {
            self.begin(&kind);
            self.note_first(&kind, cell, &place);
        }
        if let Kind::Number(x) = kind {
            self.look_at(x, cell, &place);
        }
        match (&mut self.data, &kind) {
            (Data::Booleans(cells), Kind::Boolean(b)) => cells.push(*b),
            (Data::Reals(cells), Kind::Number(x)) => cells.push(*x),
            (Data::Texts(texts), _) => {
                texts.push(std::str::from_utf8(cell).or(Err(NotUtf8))?);
                self.count(&kind, cell, place);
            }
            _ => {
                if std::str::from_utf8(cell).is_err() {
                    return Err(NotUtf8);
                }
                self.leave_type();
                self.count(&kind, cell, place);
            }
        }
        Ok(())
    }

    fn push_missing(&mut self, (row, start): (usize, u64)) {
        self.holes.push(row - 1, None, start);
        match &mut self.data {
            Data::Unread => self.leading += 1,
            Data::Reals(cells) => cells.push(f64::NAN),
            Data::Booleans(cells) => cells.push(false),
            Data::Texts(texts) | Data::Declared(texts) => texts.push_missing(),
            Data::Mixed => {}
        }
    }

    fn look_at(&mut self, x: f64, cell: &[u8], place: &impl Fn() -> (usize, u64)) {
        if self.inexact.is_none() && is_inexact(x, cell) {
            let (row, start) = place();
            self.inexact = Some((row, start, String::from_utf8_lossy(cell).trim().to_owned()));
        }
    }

    pub fn take_holes(&mut self) -> Holes {
        std::mem::take(&mut self.holes)
    }

    fn begin(&mut self, kind: &Kind) {
        let leading = std::mem::take(&mut self.leading);
        self.data = match kind {
            Kind::Number(_) => Data::Reals(blank(leading, f64::NAN)),
            Kind::Boolean(_) => Data::Booleans(blank(leading, false)),
            Kind::Word => {
                let mut texts = GrowingTexts::default();
                (0..leading).for_each(|_| texts.push_missing());
                Data::Texts(texts)
            }
        };
    }

    /// From now on kinds are only counted.
    fn leave_type(&mut self) {
        match &self.data {
            Data::Reals(cells) => self.counts[NUMBERS] = cells.len() - self.holes.len(),
            Data::Booleans(cells) => self.counts[BOOLEANS] = cells.len() - self.holes.len(),
            _ => return,
        }
        self.data = Data::Mixed;
    }

    fn count(&mut self, kind: &Kind, cell: &[u8], place: impl Fn() -> (usize, u64)) {
        self.counts[kind.index()] += 1;
        self.note_first(kind, cell, &place);
    }

    fn note_first(&mut self, kind: &Kind, cell: &[u8], place: &impl Fn() -> (usize, u64)) {
        let first = &mut self.firsts[kind.index()];
        if first.is_none() {
            let (row, start) = place();
            *first = Some((row, start, String::from_utf8_lossy(cell).trim().to_owned()));
        }
    }

    pub fn verdict(self) -> Verdict {
        let total: usize = self.counts.iter().sum();
        let mixed = matches!(self.data, Data::Mixed | Data::Texts(_));
        for (kind, expected) in [(NUMBERS, "number"), (BOOLEANS, "boolean")] {
            if mixed && 2 * self.counts[kind] > total {
                let others = self.firsts.into_iter().enumerate().filter(|(i, _)| *i != kind);
                let first = others.filter_map(|(_, first)| first).min_by_key(|(row, ..)| *row);
                let (row, start, cell) = first.expect("a mixed column has cells of other kinds");
                return Verdict::Odd { expected, row, start, cell };
            }
        }
        match self.data {
            // Not a single cell is there.
            Data::Unread => {
                Verdict::Column(Column::Reals(blank(self.leading, f64::NAN).finish().into()))
            }
            Data::Reals(_) if let Some((row, start, cell)) = self.inexact => {
                Verdict::Inexact { row, start, cell }
            }
            Data::Reals(cells) => Verdict::Column(Column::Reals(cells.finish().into())),
            Data::Booleans(cells) => Verdict::Column(Column::Booleans(cells.finish())),
            Data::Texts(texts) | Data::Declared(texts) => Verdict::Column(texts.finish()),
            Data::Mixed => Verdict::ReadAgain,
        }
    }
}

fn blank<T: Copy>(cells: usize, value: T) -> Growing<T> {
    let mut growing = Growing::new();
    (0..cells).for_each(|_| growing.push(value));
    growing
}

fn kind(cell: &[u8]) -> Kind {
    match (number(cell), boolean(cell)) {
        (Some(x), _) => Kind::Number(x),
        (_, Some(b)) => Kind::Boolean(b),
        _ => Kind::Word,
    }
}

/// A number; `nan` is none (it stands for a missing one), `inf` is.
pub(super) fn number(cell: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(cell.trim_ascii()).ok()?;
    text.parse().ok().filter(|x: &f64| !x.is_nan())
}

/// Whether the cell says more than its double: a whole number beyond 2^53, written out, or one beyond all doubles.
pub(super) fn is_inexact(x: f64, cell: &[u8]) -> bool {
    const WHOLE: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    // 2^53 + 1 reads as 2^53.
    if x.abs() < WHOLE {
        return false;
    }
    let digits = cell.trim_ascii();
    let digits = digits.strip_prefix(b"-").or(digits.strip_prefix(b"+")).unwrap_or(digits);
    let is_whole = digits.iter().all(u8::is_ascii_digit);
    let beyond = x.is_infinite() && digits.first().is_some_and(|c| !c.is_ascii_alphabetic());
    beyond || is_whole && (x.abs() > WHOLE || digits != b"9007199254740992")
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
pub(super) fn is_missing(cell: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [b"", b"na", b"n/a", b"nan", b"-nan", b"+nan", b"null", b"?"];
    let cell = cell.trim_ascii();
    WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}
