//! Columns from Arrow's record batches, for Arrow and Parquet alike.
//!
//! Numbers of every width become doubles, null and NaN missing cells. Lists of numbers become vectors if all
//! have one length. A column of any other type (dates, decimals, structures), with a whole number
//! beyond 2^53, or with lists of several lengths is set aside until a program asks for it.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, PrimitiveArray, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};
use smidgen_value::{Column, Symbol, Table};

use super::lent::Doubles;
use crate::source::error::{CellPlace, Problem};
use crate::source::growing::{Growing, GrowingTexts};
use crate::source::holes::Holes;
use crate::source::plan::{From, Plan};
use crate::source::{TableOptions, refuse_empty};

/// Enough to keep decoders busy, and few enough to stay in the cache.
pub(super) const ROWS_AT_ONCE: usize = 1 << 16;

pub(super) struct Batches {
    plan: Plan,
    growth: Vec<Growth>,
    /// The missing cells of each.
    holes: Vec<Holes>,
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
    /// From a column of lists; the width is known from the first list on, `leading` rows have none before it.
    Lists {
        data: Doubles,
        width: Option<usize>,
        leading: usize,
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
        let holes = growth.iter().map(|_| Holes::default()).collect();
        Ok(Batches { plan, growth, holes, rows: 0, unusable: Vec::new() })
    }

    /// Of the table.
    pub fn columns(&self) -> usize {
        self.plan.targets.len()
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
                && has_no_nulls(batch.column(*column))
                && let Some(lent) = Doubles::lent(batch.column(*column), home)
            {
                *data = lent;
            }
        }
        self.push_watched(batch, watch)
    }

    fn push_part(&mut self, batch: &RecordBatch) -> Result<(), Problem> {
        let columns = self.plan.targets.iter().zip(self.growth.iter_mut().zip(&mut self.holes));
        for (target, (growth, holes)) in columns {
            let part = |column: usize| Part {
                array: batch.column(column),
                name: &self.plan.header[column],
                before: self.rows,
            };
            match &target.from {
                From::Single { column, .. } => match part(*column).put(growth, holes) {
                    // A column that nobody may need does not spoil the others.
                    Err(problem) if problem.is_of_one_column() => {
                        *growth = Growth::Unusable(problem.to_string());
                        *holes = Holes::default();
                    }
                    result => result?,
                },
                From::Several(columns) => {
                    let Growth::Several(data) = growth else {
                        unreachable!("several columns grow one vector")
                    };
                    let mut reals: Vec<Cow<[f64]>> = Vec::with_capacity(columns.len());
                    for (k, &column) in columns.iter().enumerate() {
                        reals.push(part(column).reals(&mut |row| holes.push(row, Some(k), 0))?);
                    }
                    holes.sort();
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
        let mut missing = Vec::new();
        let parts = self.growth.into_iter().zip(self.holes);
        for (target, (growth, holes)) in self.plan.targets.iter().zip(parts) {
            let column = match growth {
                Growth::Reals(cells) => Column::Reals(cells.finish()),
                Growth::Booleans(cells) => Column::Booleans(cells.finish()),
                Growth::Texts(texts) => texts.finish(),
                // Not a single list is there.
                Growth::Lists { width: None, leading, .. } => {
                    let mut data = Doubles::new();
                    data.extend(&vec![f64::NAN; leading]);
                    Column::Vectors { data: data.finish(), width: 1 }
                }
                Growth::Lists { data, width: Some(width), .. } => {
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
            if let Some((row, _)) = holes.first() {
                let first = CellPlace { row: row + 1, line: None }.to_string();
                let holes = holes.finish(target, &self.plan.header, self.rows, first);
                missing.push((target.name, holes));
            }
        }
        Ok(table(self.rows, columns)?.with_unusable(unusable).with_missing(missing))
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
        // All cells are missing.
        DataType::Null => Growth::Reals(Doubles::new()),
        kind if is_numeric(kind) => Growth::Reals(Doubles::new()),
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item)
            if is_numeric(item.data_type()) =>
        {
            Growth::Lists { data: Doubles::new(), width: None, leading: 0 }
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

    fn put(&self, growth: &mut Growth, holes: &mut Holes) -> Result<(), Problem> {
        let mut hole = |row: usize| holes.push(row, None, 0);
        match growth {
            Growth::Unusable(_) => {}
            Growth::Reals(cells) => cells.extend(&self.reals(&mut hole)?),
            Growth::Booleans(cells) => {
                let (array, nulls) = (self.plain()?, self.nulls(self.array));
                let bits = array.as_boolean_opt().ok_or_else(type_changed)?;
                for (row, bit) in bits.values().iter().enumerate() {
                    let is_missing = is_null(&nulls, row);
                    cells.push(bit && !is_missing);
                    if is_missing {
                        hole(self.before + row);
                    }
                }
            }
            Growth::Texts(texts) => self.put_texts(texts, &mut hole)?,
            Growth::Lists { data, width, leading } => {
                self.put_lists(data, width, leading, &mut hole)?;
            }
            Growth::Several(_) => unreachable!("a single column is no group"),
        }
        Ok(())
    }

    /// Where the array has no cell.
    fn nulls(&self, array: &dyn Array) -> Option<NullBuffer> {
        array.logical_nulls().filter(|nulls| nulls.null_count() > 0)
    }

    /// The values of a dictionary in place of its keys; any value where a cell is missing.
    fn plain(&self) -> Result<ArrayRef, Problem> {
        let Some(dictionary) = self.array.as_any_dictionary_opt() else {
            return Ok(self.array.clone());
        };
        if dictionary.values().is_empty() {
            return Ok(arrow_array::new_null_array(
                dictionary.values().data_type(),
                self.array.len(),
            ));
        }
        let keys = dictionary.normalized_keys();
        let keys = arrow_array::UInt64Array::from_iter_values(keys.iter().map(|&k| k as u64));
        arrow_select::take::take(dictionary.values(), &keys, None)
            .map_err(|error| damaged(&error.to_string()))
    }

    /// One number for each row; NaN where there is none, which `hole` is told.
    fn reals(&self, hole: &mut dyn FnMut(usize)) -> Result<Cow<'a, [f64]>, Problem> {
        if self.array.data_type() == &DataType::Null {
            (0..self.array.len()).for_each(|row| hole(self.before + row));
            return Ok(Cow::Owned(vec![f64::NAN; self.array.len()]));
        }
        let nulls = self.nulls(self.array);
        if self.array.as_any_dictionary_opt().is_some() {
            let plain = self.plain()?;
            let numbers = self.numbers(&plain, &nulls, 1, hole)?;
            return Ok(Cow::Owned(numbers.into_owned()));
        }
        self.numbers(self.array, &nulls, 1, hole)
    }

    /// The numbers of an array, `width` of them in each row.
    fn numbers<'b>(
        &self,
        array: &'b ArrayRef,
        nulls: &Option<NullBuffer>,
        width: usize,
        hole: &mut dyn FnMut(usize),
    ) -> Result<Cow<'b, [f64]>, Problem> {
        macro_rules! converted {
            ($type:ty) => {
                Cow::Owned(primitive::<$type>(array)?.iter().map(|&x| f64::from(x)).collect())
            };
        }
        macro_rules! whole {
            ($type:ty) => {{
                let cells = primitive::<$type>(array)?;
                let is_exact = |(i, x): (usize, &_)| is_null(nulls, i) || is_exact(i128::from(*x));
                self.exact(cells, width, is_exact)?;
                Cow::Owned(cells.iter().map(|&x| x as f64).collect())
            }};
        }
        let mut reals: Cow<[f64]> = match array.data_type() {
            DataType::Float64 => Cow::Borrowed(primitive::<Float64Type>(array)?),
            DataType::Float32 => converted!(Float32Type),
            DataType::Float16 => converted!(Float16Type),
            DataType::Int8 => converted!(Int8Type),
            DataType::Int16 => converted!(Int16Type),
            DataType::Int32 => converted!(Int32Type),
            DataType::UInt8 => converted!(UInt8Type),
            DataType::UInt16 => converted!(UInt16Type),
            DataType::UInt32 => converted!(UInt32Type),
            DataType::Int64 => whole!(Int64Type),
            DataType::UInt64 => whole!(UInt64Type),
            _ => return Err(type_changed()),
        };
        if nulls.is_some() {
            let cells = reals.to_mut().iter_mut().enumerate();
            cells.filter(|(i, _)| is_null(nulls, *i)).for_each(|(_, x)| *x = f64::NAN);
        }
        let missing = reals.iter().enumerate().filter(|(_, x)| x.is_nan());
        missing.for_each(|(i, _)| hole(self.before + i / width));
        Ok(reals)
    }

    fn exact<T: Copy + std::fmt::Display>(
        &self,
        cells: &[T],
        width: usize,
        is_exact: impl Fn((usize, &T)) -> bool,
    ) -> Result<(), Problem> {
        let Some(at) = cells.iter().enumerate().position(|cell| !is_exact(cell)) else {
            return Ok(());
        };
        let (place, column) = (self.place(at / width), self.name.to_owned());
        Err(Problem::TooLarge { place, column, number: cells[at].to_string() })
    }

    fn put_texts(
        &self,
        texts: &mut GrowingTexts,
        hole: &mut dyn FnMut(usize),
    ) -> Result<(), Problem> {
        let (array, nulls) = (self.plain()?, self.nulls(self.array));
        let mut put = |row: usize, text: Option<&str>| match text {
            Some(text) if !is_null(&nulls, row) => texts.push(text),
            _ => {
                texts.push_missing();
                hole(self.before + row);
            }
        };
        let each = |(row, text)| put(row, text);
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().enumerate().for_each(each),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().enumerate().for_each(each),
            DataType::Utf8View => array.as_string_view().iter().enumerate().for_each(each),
            _ => return Err(type_changed()),
        }
        Ok(())
    }

    fn put_lists(
        &self,
        data: &mut Doubles,
        width: &mut Option<usize>,
        leading: &mut usize,
        hole: &mut dyn FnMut(usize),
    ) -> Result<(), Problem> {
        if self.array.is_empty() {
            return Ok(());
        }
        if let Some(nulls) = self.nulls(self.array) {
            return self.put_some_lists(&nulls, data, width, leading, hole);
        }
        let values = self.values_of_lists(width)?;
        let width = width.expect("the length of the first list is known");
        data.extend(&vec![f64::NAN; std::mem::take(leading) * width]);
        let nulls = self.nulls(&values);
        data.extend(&self.numbers(&values, &nulls, width, hole)?);
        Ok(())
    }

    /// All numbers of the lists, which have one length.
    fn values_of_lists(&self, width: &mut Option<usize>) -> Result<ArrayRef, Problem> {
        match self.array.data_type() {
            DataType::FixedSizeList(_, length) => {
                let lists = self.array.as_fixed_size_list();
                let length = usize::try_from(*length).map_err(|_| type_changed())?;
                self.check_length(0, length, width)?;
                let start = usize::try_from(lists.value_offset(0)).map_err(|_| type_changed())?;
                Ok(lists.values().slice(start, length * lists.len()))
            }
            DataType::List(_) => self.list_values::<i32>(width),
            DataType::LargeList(_) => self.list_values::<i64>(width),
            _ => Err(type_changed()),
        }
    }

    /// Where some lists are missing: one by one.
    fn put_some_lists(
        &self,
        nulls: &NullBuffer,
        data: &mut Doubles,
        width: &mut Option<usize>,
        leading: &mut usize,
        hole: &mut dyn FnMut(usize),
    ) -> Result<(), Problem> {
        for row in 0..self.array.len() {
            if nulls.is_null(row) {
                hole(self.before + row);
                match *width {
                    Some(width) => data.extend(&vec![f64::NAN; width]),
                    None => *leading += 1,
                }
                continue;
            }
            let array = &self.array.slice(row, 1);
            let one = Part { array, name: self.name, before: self.before + row };
            one.put_lists(data, width, leading, hole)?;
        }
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

fn is_null(nulls: &Option<NullBuffer>, i: usize) -> bool {
    nulls.as_ref().is_some_and(|nulls| nulls.is_null(i))
}

/// Whether every cell is there, and every number of its lists.
fn has_no_nulls(array: &ArrayRef) -> bool {
    let inner = match array.data_type() {
        DataType::FixedSizeList(..) => Some(array.as_fixed_size_list().values()),
        DataType::List(_) => Some(array.as_list::<i32>().values()),
        DataType::LargeList(_) => Some(array.as_list::<i64>().values()),
        _ => None,
    };
    array.logical_null_count() == 0 && inner.is_none_or(|inner| inner.logical_null_count() == 0)
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
