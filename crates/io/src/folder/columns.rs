//! Draws as columns of an Arrow stream: a number is a double, a truth a boolean, a vector a list of fixed length, and everything
//! else its JSON as text. A quantity that changes its shape is text from then on, in another file.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use smidgen_draws::Online;
use smidgen_value::Value;
use smidgen_value::bytes::{Bytes, Input};

use super::frames;
use crate::json::{json_to_value, value_to_json};
use crate::source::DECODER;

/// The columns beside those of the quantities.
pub const DRAW: &str = "draw";
pub const EPOCH: &str = "epoch";
pub const WARM: &str = "warmup__";
pub const BESIDE: usize = 3;

/// One draw.
#[derive(Clone, Debug)]
pub struct Row {
    pub draw: u64,
    pub epoch: u32,
    pub is_warmup: bool,
    pub values: Vec<Value>,
}

/// How a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Truth,
    Vector(usize),
    Text,
}

impl Bytes for Kind {
    fn put(&self, out: &mut Vec<u8>) {
        let (tag, length) = match self {
            Kind::Number => (0, 0),
            Kind::Truth => (1, 0),
            Kind::Vector(length) => (2, *length),
            Kind::Text => (3, 0),
        };
        out.push(tag);
        length.put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<Kind> {
        let (tag, length) = (u8::take(from)?, usize::take(from)?);
        match tag {
            0 => Some(Kind::Number),
            1 => Some(Kind::Truth),
            2 => Some(Kind::Vector(length)),
            3 => Some(Kind::Text),
            _ => None,
        }
    }
}

/// Longer vectors are text: a list of fixed length is meant for few.
const LONGEST: usize = 1 << 20;

impl Kind {
    pub fn of(value: &Value) -> Kind {
        match value {
            Value::Number(_) | Value::Linked(..) => Kind::Number,
            Value::Bool(_) => Kind::Truth,
            Value::Vector(xs) if (1..=LONGEST).contains(&xs.len()) => Kind::Vector(xs.len()),
            _ => Kind::Text,
        }
    }

    /// The kind of values of both kinds.
    pub fn with(self, other: Kind) -> Kind {
        if self == other { self } else { Kind::Text }
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::Number => DataType::Float64,
            Kind::Truth => DataType::Boolean,
            Kind::Vector(length) => {
                let item = Arc::new(Field::new("item", DataType::Float64, true));
                DataType::FixedSizeList(item, length as i32)
            }
            Kind::Text => DataType::Utf8,
        }
    }

    fn column<'v>(self, values: impl Iterator<Item = &'v Value>) -> ArrayRef {
        match self {
            Kind::Number => {
                let number = |value: &Value| value.as_number().unwrap_or(f64::NAN);
                Arc::new(Float64Array::from_iter_values(values.map(number)))
            }
            Kind::Truth => Arc::new(values.map(|value| value.truth()).collect::<BooleanArray>()),
            Kind::Vector(length) => {
                let mut lists = FixedSizeListBuilder::new(Float64Builder::new(), length as i32);
                for value in values {
                    if let Value::Vector(xs) = value {
                        lists.values().append_slice(xs);
                    }
                    lists.append(true);
                }
                Arc::new(lists.finish())
            }
            Kind::Text => {
                let text = |value: &Value| value_to_json(value).to_string();
                Arc::new(StringArray::from_iter_values(values.map(text)))
            }
        }
    }
}

pub fn schema(names: &[String], kinds: &[Kind]) -> SchemaRef {
    let beside = [(DRAW, DataType::Int64), (EPOCH, DataType::Int32), (WARM, DataType::Boolean)];
    let beside = beside.map(|(name, of)| Field::new(name, of, false));
    let own = names.iter().zip(kinds).map(|(name, kind)| Field::new(name, kind.data_type(), true));
    Arc::new(Schema::new(beside.into_iter().chain(own).collect::<Vec<_>>()))
}

pub fn batch(schema: &SchemaRef, kinds: &[Kind], rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    let draws = rows.iter().map(|row| row.draw as i64);
    let epochs = rows.iter().map(|row| row.epoch as i32);
    let warm: BooleanArray = rows.iter().map(|row| Some(row.is_warmup)).collect();
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(draws)),
        Arc::new(Int32Array::from_iter_values(epochs)),
        Arc::new(warm),
    ];
    for (k, kind) in kinds.iter().enumerate() {
        columns.push(kind.column(rows.iter().map(|row| &row.values[k])));
    }
    RecordBatch::try_new(schema.clone(), columns)
}

/// The bytes with which a stream of these columns begins.
pub fn beginning(schema: &SchemaRef) -> Result<Vec<u8>, ArrowError> {
    let writer = StreamWriter::try_new(Vec::new(), schema)?;
    Ok(writer.get_ref().clone())
}

/// The rows of a batch, or why it has none.
pub fn rows_of(batch: &RecordBatch) -> Result<Vec<Row>, String> {
    chosen_rows(batch, |_, _| true)
}

/// The rows of a batch whose draw and epoch are wanted.
pub fn chosen_rows(
    batch: &RecordBatch,
    is_wanted: impl Fn(u64, u32) -> bool,
) -> Result<Vec<Row>, String> {
    let typed = |place: usize, wanted: &DataType| {
        let column = batch.columns().get(place).filter(|column| column.data_type() == wanted);
        column.ok_or_else(|| "it has not the columns of a run".to_owned())
    };
    let draws = typed(0, &DataType::Int64)?.as_primitive::<Int64Type>();
    let epochs = typed(1, &DataType::Int32)?.as_primitive::<Int32Type>();
    let warm = typed(2, &DataType::Boolean)?.as_boolean();
    let is_taken = |k: &usize| is_wanted(draws.value(*k) as u64, epochs.value(*k) as u32);
    let row = |k: usize| {
        let columns = batch.columns()[BESIDE..].iter();
        Ok(Row {
            draw: draws.value(k) as u64,
            epoch: epochs.value(k) as u32,
            is_warmup: warm.value(k),
            values: columns.map(|column| cell(column, k)).collect::<Result<_, String>>()?,
        })
    };
    (0..batch.num_rows()).filter(is_taken).map(row).collect()
}

/// Which rows of a batch are draws of an epoch; those of the warm-up are none.
fn counted(batch: &RecordBatch, epoch: u32) -> Option<impl Fn(usize) -> bool> {
    let beside = |place: usize| batch.columns().get(place);
    let epochs = beside(1)?.as_primitive_opt::<Int32Type>()?;
    let warm = beside(2)?.as_boolean_opt()?;
    Some(move |k: usize| !warm.value(k) && epochs.value(k) as u32 == epoch)
}

/// How many draws of an epoch a batch has.
pub fn draws_in(batch: &RecordBatch, epoch: u32) -> u64 {
    let Some(counts) = counted(batch, epoch) else { return 0 };
    (0..batch.num_rows()).filter(|k| counts(*k)).count() as u64
}

/// Adds up the draws of a batch, column by column and entry by entry: None from there on where there are no numbers, or not always
/// as many. Rows of the warm-up and of other epochs are left out.
pub fn add_up(batch: &RecordBatch, epoch: u32, sums: &mut [Option<Vec<Online>>]) {
    let Some(counts) = counted(batch, epoch) else { return };
    for (column, sums) in batch.columns()[BESIDE..].iter().zip(sums) {
        let numbers: Option<(ArrayRef, usize)> = match column.data_type() {
            _ if column.null_count() > 0 => None,
            DataType::Float64 => Some((column.clone(), 1)),
            DataType::Boolean => {
                let numbers =
                    column.as_boolean().iter().map(|truth| f64::from(truth == Some(true)));
                Some((Arc::new(Float64Array::from_iter_values(numbers)) as ArrayRef, 1))
            }
            DataType::FixedSizeList(item, width) if *item.data_type() == DataType::Float64 => {
                Some((column.as_fixed_size_list().values().clone(), *width as usize))
            }
            _ => None,
        };
        let is_same = |(_, width): &(ArrayRef, usize)| {
            sums.as_ref().is_some_and(|sums| sums.is_empty() || sums.len() == *width)
        };
        let (Some((numbers, width)), Some(own)) = (numbers.filter(is_same), sums.as_mut()) else {
            *sums = None;
            continue;
        };
        own.resize_with(width, Online::default);
        let numbers = numbers.as_primitive::<Float64Type>().values();
        let rows = numbers.chunks(width.max(1)).take(batch.num_rows()).enumerate();
        for (_, row) in rows.filter(|(k, _)| counts(*k)) {
            own.iter_mut().zip(row).for_each(|(online, x)| online.push(*x));
        }
    }
}

fn cell(column: &ArrayRef, row: usize) -> Result<Value, String> {
    if column.is_null(row) {
        return Ok(Value::Nil);
    }
    Ok(match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into(),
        DataType::Boolean => column.as_boolean().value(row).into(),
        DataType::FixedSizeList(item, _) if *item.data_type() == DataType::Float64 => {
            let list = column.as_fixed_size_list().value(row);
            Value::vector(list.as_primitive::<Float64Type>().values().to_vec())
        }
        DataType::Utf8 => {
            let text = column.as_string::<i32>().value(row);
            let json = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
            json_to_value(&json)?
        }
        other => return Err(format!("a column of {other}")),
    })
}

/// Whether a value that was read is the one that is drawn again, to the bit.
pub fn is_same(read: &Value, drawn: &Value) -> bool {
    let bits = |xs: &[f64]| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    match (read, drawn) {
        (Value::Number(a), b) => b.as_number().is_some_and(|b| a.to_bits() == b.to_bits()),
        (Value::Vector(a), Value::Vector(b)) => bits(a) == bits(b),
        (a, b) => value_to_json(a) == value_to_json(b),
    }
}

/// The whole batches that bytes of a stream hold, in a thread of its own: the decoder may panic on damage.
pub fn decoded(mut bytes: Vec<u8>) -> Vec<RecordBatch> {
    let length = bytes.len() as u64;
    bytes.truncate(frames::whole(&mut Cursor::new(&bytes), length) as usize);
    let thread = std::thread::Builder::new().name(DECODER.to_owned());
    let decode = move || match StreamReader::try_new(Cursor::new(bytes), None) {
        Ok(reader) => reader.map_while(Result::ok).collect(),
        Err(_) => Vec::new(),
    };
    thread.spawn(decode).ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
}
