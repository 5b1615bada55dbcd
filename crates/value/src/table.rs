//! Named columns of equal length: the data that programs observe. Shared by all chains,
//! never copied into a trace.
//!
//! A column is one contiguous buffer that a reader has filled or found in a file, and nobody
//! changes: 8 bytes per number, 1 per truth value, 4 per text beside one copy of each distinct
//! word. Code that goes over many rows takes the buffer ([`Column::reals`], [`Column::booleans`], [`Column::texts`]); a
//! value of the language is made for a cell only when somebody asks for that cell.

use std::fmt;
use std::sync::Arc;

use crate::missing::{Missing, MissingRule};
use crate::{Buffer, Symbol, Value, Vector};

#[derive(Clone, Debug)]
pub enum Column {
    Reals(Buffer<f64>),
    Booleans(Arc<[bool]>),
    Texts(Texts),
    /// Row i is `data[i * width .. (i + 1) * width]`.
    Vectors {
        data: Buffer<f64>,
        width: usize,
    },
}

/// Texts by number: cell i is `words[codes[i]]`. Words stand in the order of their first cells.
#[derive(Clone, Debug)]
pub struct Texts {
    codes: Arc<[u32]>,
    words: Arc<[Arc<String>]>,
}

impl Texts {
    /// # Panics
    /// If a code has no word.
    pub fn new(codes: Arc<[u32]>, words: Arc<[Arc<String>]>) -> Texts {
        let known = |code: &u32| (*code as usize) < words.len();
        assert!(codes.iter().all(known), "every code has its word");
        Texts { codes, words }
    }

    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    pub fn words(&self) -> &[Arc<String>] {
        &self.words
    }
}

/// Numbers of a column, row by row: row i is `data[i * width .. (i + 1) * width]`.
#[derive(Clone, Copy, Debug)]
pub struct Reals<'a> {
    pub data: &'a [f64],
    pub width: usize,
}

impl<'a> Reals<'a> {
    /// # Panics
    /// If there is no such row.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.width..(i + 1) * self.width]
    }
}

impl Column {
    pub fn len(&self) -> usize {
        match self {
            Column::Reals(xs) => xs.len(),
            Column::Booleans(xs) => xs.len(),
            Column::Texts(texts) => texts.codes.len(),
            Column::Vectors { data, width } => data.len().checked_div(*width).unwrap_or(0),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of its cells, in the order given.
    fn take(&self, rows: &[usize]) -> Column {
        match self {
            Column::Reals(xs) => {
                Column::Reals(rows.iter().map(|i| xs[*i]).collect::<Vec<_>>().into())
            }
            Column::Booleans(xs) => Column::Booleans(rows.iter().map(|i| xs[*i]).collect()),
            Column::Vectors { data, width } => {
                let cells = rows.iter().flat_map(|i| &data[i * width..(i + 1) * width]);
                Column::Vectors { data: cells.copied().collect::<Vec<_>>().into(), width: *width }
            }
            Column::Texts(texts) => {
                // Words stand in the order of their first cells here too.
                let (mut places, mut words) = (vec![u32::MAX; texts.words.len()], Vec::new());
                let mut code = |old: u32| {
                    let place = &mut places[old as usize];
                    if *place == u32::MAX {
                        *place = words.len() as u32;
                        words.push(texts.words[old as usize].clone());
                    }
                    *place
                };
                let codes = rows.iter().map(|i| code(texts.codes[*i])).collect();
                Column::Texts(Texts { codes, words: words.into() })
            }
        }
    }

    /// The numbers of a column of numbers (width 1) or of vectors.
    pub fn reals(&self) -> Option<Reals<'_>> {
        match self {
            Column::Reals(data) => Some(Reals { data, width: 1 }),
            Column::Vectors { data, width } => Some(Reals { data, width: *width }),
            Column::Booleans(_) | Column::Texts(_) => None,
        }
    }

    pub fn booleans(&self) -> Option<&[bool]> {
        if let Column::Booleans(cells) = self { Some(cells) } else { None }
    }

    pub fn texts(&self) -> Option<&Texts> {
        if let Column::Texts(texts) = self { Some(texts) } else { None }
    }

    /// The cell in row `i`, without copying data.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn cell(&self, i: usize) -> Value {
        match self {
            Column::Reals(xs) => Value::Number(xs[i]),
            Column::Booleans(xs) => Value::Bool(xs[i]),
            Column::Texts(texts) => Value::Text(texts.words[texts.codes[i] as usize].clone()),
            Column::Vectors { data, width } => {
                Value::Vector(Arc::new(Vector::view(data.clone(), i * width, *width)))
            }
        }
    }

    /// The different cells in ascending order: numbers as a vector, others as an array. None for vectors.
    pub fn levels(&self) -> Option<Value> {
        match self {
            Column::Reals(xs) => {
                let mut levels = xs.to_vec();
                levels.sort_unstable_by(f64::total_cmp);
                // -0 and 0 are one number.
                levels.dedup();
                Some(Value::vector(levels))
            }
            Column::Booleans(xs) => {
                let has = |wanted: bool| xs.contains(&wanted).then_some(Value::Bool(wanted));
                Some(Value::array([has(false), has(true)].into_iter().flatten().collect()))
            }
            Column::Texts(texts) => {
                let mut used = vec![false; texts.words.len()];
                texts.codes.iter().for_each(|code| used[*code as usize] = true);
                let words = texts.words.iter().zip(used).filter(|(_, used)| *used);
                let mut words: Vec<Value> =
                    words.map(|(word, _)| Value::Text(word.clone())).collect();
                words.sort();
                words.dedup();
                Some(Value::array(words))
            }
            Column::Vectors { .. } => None,
        }
    }

    /// Whether both are the same data in memory.
    pub fn is_same(&self, other: &Column) -> bool {
        match (self, other) {
            (Column::Reals(a), Column::Reals(b)) => a.is_same(b),
            (Column::Booleans(a), Column::Booleans(b)) => Arc::ptr_eq(a, b),
            (Column::Texts(a), Column::Texts(b)) => Arc::ptr_eq(&a.codes, &b.codes),
            (Column::Vectors { data: a, width: v }, Column::Vectors { data: b, width: w }) => {
                a.is_same(b) && v == w
            }
            _ => false,
        }
    }

    /// Whether the cells lie in something else, such as a mapped file.
    pub fn is_lent(&self) -> bool {
        match self {
            Column::Reals(data) | Column::Vectors { data, .. } => data.is_lent(),
            Column::Booleans(_) | Column::Texts(_) => false,
        }
    }

    /// The whole column as one value: a vector of numbers, else an array of cells.
    pub fn to_value(&self) -> Value {
        match self {
            Column::Reals(xs) => Value::Vector(Arc::new(Vector::new(xs.clone()))),
            _ => Value::array((0..self.len()).map(|i| self.cell(i)).collect()),
        }
    }
}

/// Where columns lie that the table does not own.
pub trait Lender: fmt::Debug + Send + Sync {
    /// What has happened there, if the cells may no longer be what they were; in one sentence.
    fn trouble(&self) -> Option<String>;
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    names: Vec<Symbol>,
    columns: Vec<Column>,
    rows: usize,
    /// Columns that the file has and a program cannot use, with the reason.
    unusable: Vec<(Symbol, String)>,
    /// Columns with cells that hold nothing.
    missing: Vec<(Symbol, Missing)>,
    rule: MissingRule,
    /// What the program calls the table.
    called: Option<Symbol>,
    lender: Option<Arc<dyn Lender>>,
    /// Where its rows are the continuation of others: the number of the first.
    first: usize,
    /// The numbers of its rows then, as cells.
    numbers: Option<Column>,
}

impl Table {
    /// # Panics
    /// If the columns differ in length (a reader has checked its input before).
    pub fn new(columns: Vec<(Symbol, Column)>) -> Table {
        let rows = columns.first().map_or(0, |(_, c)| c.len());
        Table::with_rows(rows, columns)
    }

    /// A table whose number of rows is known even if it has no columns.
    ///
    /// # Panics
    /// If a column has another length.
    pub fn with_rows(rows: usize, columns: Vec<(Symbol, Column)>) -> Table {
        assert!(columns.iter().all(|(_, c)| c.len() == rows), "columns have equal length");
        let (names, columns) = columns.into_iter().unzip();
        Table { names, columns, rows, ..Table::default() }
    }

    /// A table of as many rows from the same place, with these columns instead.
    ///
    /// # Panics
    /// If a column has another length.
    pub fn with_columns(&self, columns: Vec<(Symbol, Column)>) -> Table {
        let Table { unusable, lender, .. } = self.clone();
        Table { unusable, lender, ..Table::with_rows(self.rows, columns) }
    }

    /// The same table, with the reasons why further columns of its file cannot be used.
    pub fn with_unusable(mut self, unusable: Vec<(Symbol, String)>) -> Table {
        self.unusable = unusable;
        self
    }

    /// The same table, in some of whose columns cells hold nothing.
    ///
    /// # Panics
    /// If it knows of more or fewer cells than a column has.
    pub fn with_missing(mut self, missing: Vec<(Symbol, Missing)>) -> Table {
        assert!(missing.iter().all(|(_, cells)| cells.mask.len() == self.rows));
        self.missing = missing;
        self
    }

    /// The same table, with what the program says about missing cells.
    pub fn with_rule(mut self, called: Symbol, rule: MissingRule) -> Table {
        (self.called, self.rule) = (Some(called), rule);
        self
    }

    /// What the program calls it, for messages.
    pub fn called(&self) -> &'static str {
        self.called.map_or("table", |name| name.as_str())
    }

    /// The same table; the procedure of this name gives the missing cells of a column, or of a part of a vector. None
    /// if no cell is missing there.
    pub fn with_law(&self, column: Symbol, law: Symbol) -> Option<Table> {
        let mut table = self.clone();
        let slots = table.missing.iter_mut().flat_map(|(name, cells)| cells.laws(*name));
        let (_, slot) = { slots }.find(|(name, _)| *name == column)?;
        *slot = Some(law);
        Some(table)
    }

    pub fn rule(&self) -> MissingRule {
        self.rule
    }

    /// The missing cells of a column; None if all cells are there.
    pub fn missing(&self, name: Symbol) -> Option<&Missing> {
        self.missing.iter().find(|(n, _)| *n == name).map(|(_, cells)| cells)
    }

    /// Columns with missing cells.
    pub fn with_holes(&self) -> &[(Symbol, Missing)] {
        &self.missing
    }

    /// The same table, some of whose columns are lent.
    pub fn with_lender(mut self, lender: Arc<dyn Lender>) -> Table {
        self.lender = Some(lender);
        self
    }

    /// Whether a column lies in something else.
    pub fn is_lent(&self) -> bool {
        self.columns.iter().any(Column::is_lent)
    }

    /// Why the cells may no longer be what they were.
    pub fn trouble(&self) -> Option<String> {
        self.lender.as_ref()?.trouble()
    }

    /// Some of its rows, in the order given. What is said about missing cells is left behind: there must be none.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn take(&self, rows: &[usize]) -> Table {
        let each =
            self.names().iter().filter_map(|name| Some((*name, self.column(*name)?.take(rows))));
        Table::with_rows(rows.len(), each.collect())
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of its first row: not 0 if others came before, see [`Table::continuing`].
    pub fn first_row(&self) -> usize {
        self.first
    }

    /// The numbers of its rows, if they do not begin at 0.
    pub fn numbers(&self) -> Option<&Column> {
        self.numbers.as_ref()
    }

    pub fn names(&self) -> &[Symbol] {
        &self.names
    }

    pub fn column(&self, name: Symbol) -> Option<&Column> {
        self.names.iter().position(|n| *n == name).map(|i| &self.columns[i])
    }

    /// Whether the file has a column of this name, usable or not.
    pub fn has(&self, name: Symbol) -> bool {
        self.column(name).is_some() || self.unusable(name).is_some()
    }

    /// Why there is no column of this name, although the file has one.
    pub fn unusable(&self, name: Symbol) -> Option<&str> {
        self.unusable.iter().find(|(n, _)| *n == name).map(|(_, reason)| reason.as_str())
    }
}

mod growing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_as_buffers_and_as_cells() {
        let reals = Column::Reals([1.0, 2.0].into());
        let vectors = Column::Vectors { data: [1.0, 2.0, 3.0, 4.0].into(), width: 2 };
        let words = ["a", "b"].map(|word| Arc::new(word.to_owned()));
        let texts = Column::Texts(Texts::new(Arc::new([1, 0]), Arc::new(words)));
        let booleans = Column::Booleans(Arc::new([true, false]));
        assert_eq!(reals.reals().map(|r| (r.width, r.row(1))), Some((1, &[2.0][..])));
        assert_eq!(vectors.reals().map(|r| (r.width, r.row(1))), Some((2, &[3.0, 4.0][..])));
        assert_eq!(vectors.cell(1), Value::vector([3.0, 4.0]));
        assert_eq!(texts.cell(0), Value::text("b"));
        assert_eq!(texts.texts().map(|t| t.codes().to_vec()), Some(vec![1, 0]));
        assert_eq!(booleans.booleans(), Some(&[true, false][..]));
        assert!(texts.reals().is_none() && booleans.reals().is_none());
        let columns = [("r", reals), ("v", vectors), ("t", texts), ("b", booleans)];
        let columns = columns.map(|(name, column)| (Symbol::new(name), column)).to_vec();
        let unusable = vec![(Symbol::new("date"), "a date".to_owned())];
        let table = Table::new(columns).with_unusable(unusable);
        assert_eq!((table.rows(), table.names().len()), (2, 4));
        assert_eq!(table.unusable(Symbol::new("date")), Some("a date"));
        assert_eq!(table.unusable(Symbol::new("r")), None);
    }

    #[test]
    fn rows_are_taken_in_the_order_given_with_words_of_their_own() {
        let words = ["a", "b", "c"].map(|word| Arc::new(word.to_owned()));
        let columns = vec![
            (Symbol::new("x"), Column::Reals([1.0, 2.0, 3.0].into())),
            (
                Symbol::new("v"),
                Column::Vectors { data: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into(), width: 2 },
            ),
            (Symbol::new("t"), Column::Texts(Texts::new(Arc::new([0, 1, 2]), Arc::new(words)))),
            (Symbol::new("b"), Column::Booleans(Arc::new([true, false, true]))),
        ];
        let table = Table::new(columns);
        let rows = [2, 1, 2];
        let taken = table.take(&rows);
        assert_eq!(taken.rows(), 3);
        for name in table.names() {
            let (from, to) = (table.column(*name).expect("it"), taken.column(*name).expect("it"));
            for (k, row) in rows.iter().enumerate() {
                assert_eq!(to.cell(k), from.cell(*row), "{name}");
            }
        }
        let texts = taken.column(Symbol::new("t")).and_then(Column::texts).expect("texts");
        let words: Vec<&str> = texts.words().iter().map(|word| word.as_str()).collect();
        assert_eq!((texts.codes(), words), (&[0, 1, 0][..], vec!["c", "b"]));
        assert_eq!(table.take(&[]).rows(), 0);
    }
}
