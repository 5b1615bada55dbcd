//! Columns from Arrow's record batches, for Arrow and Parquet alike.
//!
//! Numbers of every width become doubles; a whole number beyond 2^53 that is no double is an error,
//! and so is a missing cell or a NaN. Lists of numbers become vectors if all have one length. A
//! column of any other type (dates, decimals, structures) is set aside until a program asks for it.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Schema};
use smidgen_value::{Column, Symbol, Table};

use super::lent::Doubles;
use crate::source::error::{CellPlace, Problem};
use crate::source::growing::{Growing, GrowingTexts};
use crate::source::plan::{From, Plan};
use crate::source::{TableOptions, refuse_empty};

/// Enough to keep decoders busy, and few enough to stay in the cache.
pub(super) const ROWS_AT_ONCE: usize = 1 << 16;

pub(super) struct Batches {
    plan: Plan,
    growth: Vec<Growth>,
    rows: usize,
    /// Columns that are not even decoded, and why.
    unusable: Vec<(Symbol, String)>,
}

/// Is told how many more rows are done, and may stop the reading.
type Watch<'a> = &'a mut dyn FnMut(usize) -> Result<(), Problem>;

/// A column of the table while it is read.
enum Growth {
    Reals(Doubles),
    Booleans(Growing<bool>),
    Texts(GrowingTexts),
    /// From a column of lists; the width is known from the first row on.
    Lists {
        data: Doubles,
        width: Option<usize>,
    },
    /// From several columns.
    Several(Growing<f64>),
    Unusable(String),
}

impl Batches {
    pub fn new(schema: &Schema, options: &TableOptions) -> Result<Batches, Problem> {
        let header = schema.fields().iter().map(|field| field.name().clone()).collect();
        let plan = Plan::new(header, options)?;
        let kind = |column: usize| schema.field(column).data_type();
        let mut growth = Vec::new();
        for target in &plan.targets {
            growth.push(match &target.from {
                From::Single { column, as_text } => {
                    let begun = begin(kind(*column));
                    if *as_text && !matches!(begun, Growth::Texts(_)) {
                        let (column, found) = (target.name.to_string(), in_words(kind(*column)));
                        return Err(Problem::NotText { column, found });
                    }
                    begun
                }
                From::Several(columns) => {
                    let vector = target.name.to_string();
                    for &column in columns {
                        if !is_numeric(kind(column)) {
                            let found = in_words(kind(column));
                            let column = plan.header[column].clone();
                            return Err(Problem::NotNumericType { column, vector, found });
                        }
                    }
                    Growth::Several(Growing::new())
                }
            });
        }
        Ok(Batches { plan, growth, rows: 0, unusable: Vec::new() })
    }

    /// Remembers a column of the file that is in no batch.
    pub fn set_aside(&mut self, name: Symbol, reason: String) {
        self.unusable.push((name, reason));
    }

    /// A batch may be as large as its file; converted numbers are held for some rows only.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), Problem> {
        self.push_watched(batch, &mut |_| Ok(()))
    }

    /// The same; says after some rows how many they were.
    fn push_watched(&mut self, batch: &RecordBatch, watch: Watch) -> Result<(), Problem> {
        (0..batch.num_rows()).step_by(ROWS_AT_ONCE).try_for_each(|start| {
            let part = batch.slice(start, ROWS_AT_ONCE.min(batch.num_rows() - start));
            self.push_part(&part)?;
            watch(part.num_rows())
        })
    }

    /// Columns of the only batch that lie in memory as the table needs them will not be copied.
    pub fn lend(&mut self, batch: &RecordBatch) {
        for (target, growth) in self.plan.targets.iter().zip(&mut self.growth) {
            let From::Single { column, .. } = &target.from else { continue };
            if let Growth::Reals(data) | Growth::Lists { data, .. } = growth
                && let Some(lent) = Doubles::in_place(batch.column(*column))
            {
                *data = lent;
            }
        }
    }

    /// The only batch of a file, decoded from memory that stays: columns that lie there as the
    /// table needs them are not copied. `watch` is told of the rows, and may stop it.
    pub fn push_only(
        &mut self,
        batch: &RecordBatch,
        home: &[u8],
        watch: Watch,
    ) -> Result<(), Problem> {
        for (target, growth) in self.plan.targets.iter().zip(&mut self.growth) {
            let From::Single { column, .. } = &target.from else { continue };
            if let Growth::Reals(data) | Growth::Lists { data, .. } = growth
                && let Some(lent) = Doubles::lent(batch.column(*column), home)
            {
                *data = lent;
            }
        }
        self.push_watched(batch, watch)
    }

    fn push_part(&mut self, batch: &RecordBatch) -> Result<(), Problem> {
        for (target, growth) in self.plan.targets.iter().zip(&mut self.growth) {
            let part = |column: usize| Part {
                array: batch.column(column),
                name: &self.plan.header[column],
                before: self.rows,
            };
            match &target.from {
                From::Single { column, .. } => part(*column).put(growth)?,
                From::Several(columns) => {
                    let Growth::Several(data) = growth else {
                        unreachable!("several columns grow one vector")
                    };
                    let reals: Vec<Cow<[f64]>> =
                        columns.iter().map(|&c| part(c).reals()).collect::<Result<_, _>>()?;
                    for row in 0..batch.num_rows() {
                        reals.iter().for_each(|column| data.push(column[row]));
                    }
                }
            }
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    /// The table, if it has as many rows as its file promises.
    pub fn finish_with(self, promised: usize) -> Result<Table, Problem> {
        if self.rows == promised { self.finish() } else { Err(Problem::CutOff) }
    }

    pub fn finish(self) -> Result<Table, Problem> {
        refuse_empty(self.rows)?;
        let (mut columns, mut unusable) = (Vec::new(), self.unusable);
        for (target, growth) in self.plan.targets.iter().zip(self.growth) {
            let column = match growth {
                Growth::Reals(cells) => Column::Reals(cells.finish()),
                Growth::Booleans(cells) => Column::Booleans(cells.finish()),
                Growth::Texts(texts) => texts.finish(),
                Growth::Lists { data, width } => {
                    let width = width.expect("the first row has a width");
                    Column::Vectors { data: data.finish(), width }
                }
                Growth::Several(data) => {
                    let width = data.len() / self.rows;
                    Column::Vectors { data: data.finish().into(), width }
                }
                Growth::Unusable(reason) => {
                    unusable.push((target.name, reason));
                    continue;
                }
            };
            columns.push((target.name, column));
        }
        Ok(table(self.rows, columns)?.with_unusable(unusable))
    }
}

/// A damaged file may have columns of different lengths.
pub(super) fn table(rows: usize, columns: Vec<(Symbol, Column)>) -> Result<Table, Problem> {
    match columns.iter().all(|(_, column)| column.len() == rows) {
        true => Ok(Table::with_rows(rows, columns)),
        false => Err(Problem::CutOff),
    }
}

// ---------------------------------------------------------------- types

fn begin(kind: &DataType) -> Growth {
    match kind {
        DataType::Boolean => Growth::Booleans(Growing::new()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Growth::Texts(GrowingTexts::default())
        }
        DataType::Dictionary(_, values) => begin(values),
        // All cells are missing, which the first batch shows.
        DataType::Null => Growth::Reals(Doubles::new()),
        kind if is_numeric(kind) => Growth::Reals(Doubles::new()),
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item)
            if is_numeric(item.data_type()) =>
        {
            Growth::Lists { data: Doubles::new(), width: None }
        }
        other => Growth::Unusable(format!(
            "it holds {}; a table can have numbers, booleans, texts, and lists of numbers of one \
             length",
            in_words(other)
        )),
    }
}

fn is_numeric(kind: &DataType) -> bool {
    kind.is_integer() || matches!(kind, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

fn in_words(kind: &DataType) -> String {
    match kind {
        kind if is_numeric(kind) => "numbers".to_owned(),
        DataType::Boolean => "booleans".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "texts".to_owned(),
        DataType::Dictionary(_, values) => in_words(values),
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => {
            format!("lists of {}", in_words(item.data_type()))
        }
        DataType::Date32 | DataType::Date64 => "dates".to_owned(),
        DataType::Timestamp(..) => "points in time".to_owned(),
        DataType::Time32(_) | DataType::Time64(_) => "times of day".to_owned(),
        DataType::Struct(_) => "structures".to_owned(),
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            "bytes".to_owned()
        }
        other => format!("values of the type {other}"),
    }
}

// ---------------------------------------------------------------- cells

/// The part of a column that is in one batch.
struct Part<'a> {
    array: &'a ArrayRef,
    name: &'a str,
    /// Rows in earlier batches.
    before: usize,
}

impl<'a> Part<'a> {
    fn place(&self, row: usize) -> CellPlace {
        CellPlace { row: self.before + row + 1, line: None }
    }

    fn missing(&self, row: usize, cell: &str) -> Problem {
        let (place, column) = (self.place(row), self.name.to_owned());
        Problem::Missing { place, column, cell: cell.to_owned() }
    }

    fn refuse_missing(&self, array: &dyn Array, width: usize) -> Result<(), Problem> {
        let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
            return Ok(());
        };
        let first = (0..nulls.len()).find(|&i| nulls.is_null(i)).unwrap_or(0);
        Err(self.missing(first / width, ""))
    }

    fn put(&self, growth: &mut Growth) -> Result<(), Problem> {
        match growth {
            Growth::Unusable(_) => {}
            Growth::Reals(cells) => cells.extend(&self.reals()?),
            Growth::Booleans(cells) => {
                let array = self.plain()?;
                let bits = array.as_boolean_opt().ok_or_else(type_changed)?;
                bits.values().iter().for_each(|bit| cells.push(bit));
            }
            Growth::Texts(texts) => self.put_texts(texts)?,
            Growth::Lists { data, width } => self.put_lists(data, width)?,
            Growth::Several(_) => unreachable!("a single column is no group"),
        }
        Ok(())
    }

    /// The array without missing cells; the values of a dictionary in place of its keys.
    fn plain(&self) -> Result<ArrayRef, Problem> {
        self.refuse_missing(self.array, 1)?;
        let Some(dictionary) = self.array.as_any_dictionary_opt() else {
            return Ok(self.array.clone());
        };
        if dictionary.is_empty() {
            return Ok(dictionary.values().slice(0, 0));
        }
        let keys = dictionary.normalized_keys();
        let keys = arrow_array::UInt64Array::from_iter_values(keys.iter().map(|&k| k as u64));
        arrow_select::take::take(dictionary.values(), &keys, None)
            .map_err(|error| damaged(&error.to_string()))
    }

    fn reals(&self) -> Result<Cow<'a, [f64]>, Problem> {
        self.refuse_missing(self.array, 1)?;
        if self.array.as_any_dictionary_opt().is_some() {
            let plain = self.plain()?;
            return Ok(Cow::Owned(self.numbers(&plain, 1)?.into_owned()));
        }
        self.numbers(self.array, 1)
    }

    /// The numbers of an array without missing cells, `width` of them in each row.
    fn numbers<'b>(&self, array: &'b ArrayRef, width: usize) -> Result<Cow<'b, [f64]>, Problem> {
        macro_rules! converted {
            ($type:ty) => {
                Cow::Owned(primitive::<$type>(array)?.iter().map(|&x| f64::from(x)).collect())
            };
        }
        let reals: Cow<[f64]> = match array.data_type() {
            DataType::Float64 => Cow::Borrowed(primitive::<Float64Type>(array)?),
            DataType::Float32 => converted!(Float32Type),
            DataType::Float16 => converted!(Float16Type),
            DataType::Int8 => converted!(Int8Type),
            DataType::Int16 => converted!(Int16Type),
            DataType::Int32 => converted!(Int32Type),
            DataType::UInt8 => converted!(UInt8Type),
            DataType::UInt16 => converted!(UInt16Type),
            DataType::UInt32 => converted!(UInt32Type),
            DataType::Int64 => {
                let cells = primitive::<Int64Type>(array)?;
                self.exact(cells, width, |x| is_exact(i128::from(x)))?;
                Cow::Owned(cells.iter().map(|&x| x as f64).collect())
            }
            DataType::UInt64 => {
                let cells = primitive::<UInt64Type>(array)?;
                self.exact(cells, width, |x| is_exact(i128::from(x)))?;
                Cow::Owned(cells.iter().map(|&x| x as f64).collect())
            }
            _ => return Err(type_changed()),
        };
        match reals.iter().position(|x| x.is_nan()) {
            Some(at) => Err(self.missing(at / width, "NaN")),
            None => Ok(reals),
        }
    }

    fn exact<T: Copy + std::fmt::Display>(
        &self,
        cells: &[T],
        width: usize,
        is_exact: impl Fn(T) -> bool,
    ) -> Result<(), Problem> {
        let Some(at) = cells.iter().position(|&x| !is_exact(x)) else { return Ok(()) };
        let (place, column) = (self.place(at / width), self.name.to_owned());
        Err(Problem::TooLarge { place, column, number: cells[at].to_string() })
    }

    fn put_texts(&self, texts: &mut GrowingTexts) -> Result<(), Problem> {
        let array = self.plain()?;
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().flatten().for_each(|t| texts.push(t)),
            DataType::LargeUtf8 => {
                array.as_string::<i64>().iter().flatten().for_each(|t| texts.push(t));
            }
            DataType::Utf8View => {
                array.as_string_view().iter().flatten().for_each(|t| texts.push(t));
            }
            _ => return Err(type_changed()),
        }
        Ok(())
    }

    fn put_lists(&self, data: &mut Doubles, width: &mut Option<usize>) -> Result<(), Problem> {
        self.refuse_missing(self.array, 1)?;
        if self.array.is_empty() {
            return Ok(());
        }
        let values = match self.array.data_type() {
            DataType::FixedSizeList(_, length) => {
                let lists = self.array.as_fixed_size_list();
                let length = usize::try_from(*length).map_err(|_| type_changed())?;
                self.check_length(0, length, width)?;
                let start = usize::try_from(lists.value_offset(0)).map_err(|_| type_changed())?;
                lists.values().slice(start, length * lists.len())
            }
            DataType::List(_) => self.list_values::<i32>(width)?,
            DataType::LargeList(_) => self.list_values::<i64>(width)?,
            _ => return Err(type_changed()),
        };
        let width = width.expect("the length of the first list is known");
        self.refuse_missing(&values, width)?;
        data.extend(&self.numbers(&values, width)?);
        Ok(())
    }

    fn list_values<O: OffsetSizeTrait>(
        &self,
        width: &mut Option<usize>,
    ) -> Result<ArrayRef, Problem> {
        let lists = self.array.as_list::<O>();
        for (row, length) in lists.offsets().lengths().enumerate() {
            self.check_length(row, length, width)?;
        }
        let (start, end) = (lists.value_offsets()[0].as_usize(), lists.offsets()[lists.len()]);
        Ok(lists.values().slice(start, end.as_usize() - start))
    }

    fn check_length(
        &self,
        row: usize,
        found: usize,
        width: &mut Option<usize>,
    ) -> Result<(), Problem> {
        let expected = *width.get_or_insert(found);
        let (place, column) = (self.place(row), self.name.to_owned());
        if found == 0 {
            return Err(Problem::EmptyList { place, column });
        }
        match found == expected {
            true => Ok(()),
            false => Err(Problem::ListLength { place, column, found, expected }),
        }
    }
}

/// Whether a double holds this whole number.
pub(super) fn is_exact(x: i128) -> bool {
    x.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS
}

fn primitive<T: arrow_array::types::ArrowPrimitiveType>(
    array: &ArrayRef,
) -> Result<&[T::Native], Problem> {
    let array: Option<&PrimitiveArray<T>> = array.as_primitive_opt();
    array.map(|array| &array.values()[..]).ok_or_else(type_changed)
}

/// The decoder gave an array of another type than its schema says.
fn type_changed() -> Problem {
    damaged("the type of a column differs from its schema")
}

fn damaged(reason: &str) -> Problem {
    Problem::Damaged { format: "Parquet or Arrow", reason: reason.to_owned() }
}
