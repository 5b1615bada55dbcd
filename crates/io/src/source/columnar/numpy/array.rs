//! An array of a `.npy` file, some rows at a time, as columns of Arrow: from there on it is checked
//! and stored like everything else (`batches.rs`).

use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeListArray, PrimitiveArray, StringArray};
use arrow_schema::{DataType, Field as ArrowField};

use super::layout::{Field, Kind, Layout, Scalar};
use crate::source::error::{CellPlace, Problem};
use crate::source::reading::room_for;

/// No header needs more.
const MAX_HEADER: usize = 1 << 20;

pub(super) struct NumpyArray<R> {
    input: R,
    pub layout: Layout,
    /// Rows that were handed out.
    done: usize,
    /// All bytes, where rows are not contiguous.
    all: Option<Vec<u8>>,
    pub header_size: u64,
}

pub(super) fn damaged(reason: impl Into<String>) -> Problem {
    Problem::Damaged { format: "NumPy", reason: reason.into() }
}

fn input_error(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Problem::CutOff,
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => damaged(error.to_string()),
        _ => Problem::Io(error),
    }
}

impl<R: Read> NumpyArray<R> {
    pub fn open(mut input: R) -> Result<NumpyArray<R>, Problem> {
        let mut start = [0; 8];
        input.read_exact(&mut start).map_err(input_error)?;
        let [magic @ .., major, _] = start;
        if magic != *b"\x93NUMPY" {
            return Err(damaged("it does not begin like one"));
        }
        let length_size = if major == 1 { 2 } else { 4 };
        let mut length = [0; 4];
        input.read_exact(&mut length[..length_size]).map_err(input_error)?;
        let length = u32::from_le_bytes(length) as usize;
        if !(1..=3).contains(&major) || length > MAX_HEADER {
            return Err(damaged("its header cannot be read"));
        }
        let mut header = vec![0; length];
        input.read_exact(&mut header).map_err(input_error)?;
        // Latin-1 before version 3; names beyond ASCII are the only difference.
        let header = match String::from_utf8(header) {
            Ok(text) => text,
            Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
        };
        let layout =
            Layout::parse(&header).ok_or_else(|| damaged("its header cannot be understood"))?;
        let header_size = (8 + length_size + length) as u64;
        Ok(NumpyArray { input, layout, done: 0, all: None, header_size })
    }

    /// An error if there are not as many bytes as the header promises.
    pub fn check_size(&self, size: u64) -> Result<(), Problem> {
        let needed = (self.layout.rows() as u128) * (self.layout.record as u128);
        match needed + u128::from(self.header_size) <= u128::from(size) {
            true => room_for(needed),
            false => Err(Problem::CutOff),
        }
    }

    /// The columns that it gives, an array without fields under the name `name`, and those that
    /// cannot be used.
    pub fn columns(&self, name: &str) -> (Vec<ArrowField>, Vec<(String, String)>) {
        let (mut columns, mut unusable) = (Vec::new(), Vec::new());
        for field in &self.layout.fields {
            let name = field.name.as_deref().unwrap_or(name);
            match field.scalar.data_type() {
                Some(kind) => columns.push(ArrowField::new(name, wide(kind, field.width), false)),
                None => unusable.push((name.to_owned(), field.scalar.in_words())),
            }
        }
        (columns, unusable)
    }

    /// The next rows, all columns of them.
    pub fn next(&mut self, rows: usize) -> Result<Vec<ArrayRef>, Problem> {
        let layout = &self.layout;
        let bytes: Vec<u8>;
        let block = if layout.fortran {
            if self.all.is_none() {
                let size = layout.rows().checked_mul(layout.record).ok_or(Problem::CutOff)?;
                self.all = Some(read(&mut self.input, size)?);
            }
            let bytes = self.all.as_deref().unwrap_or_default();
            Block { bytes, first: self.done, layout, rows }
        } else {
            bytes = read(&mut self.input, rows * layout.record)?;
            Block { bytes: &bytes, first: self.done, layout, rows }
        };
        let usable = layout.fields.iter().filter(|field| field.scalar.data_type().is_some());
        let arrays = usable.map(|field| block.array(field)).collect::<Result<_, _>>()?;
        self.done += rows;
        Ok(arrays)
    }

    /// Reads to the end, where an archive compares its check sum.
    pub fn finish(mut self) -> Result<(), Problem> {
        io::copy(&mut self.input, &mut io::sink()).map_err(input_error).map(|_| ())
    }
}

/// Memory grows with what is there, not with what is claimed.
fn read(input: &mut impl Read, size: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    input.take(size as u64).read_to_end(&mut bytes).map_err(input_error)?;
    if bytes.len() == size { Ok(bytes) } else { Err(Problem::CutOff) }
}

fn wide(kind: DataType, width: Option<usize>) -> DataType {
    match width {
        None => kind,
        Some(width) => DataType::new_fixed_size_list(kind, saturated(width), false),
    }
}

fn saturated(width: usize) -> i32 {
    i32::try_from(width).unwrap_or(i32::MAX)
}

/// Some rows of an array.
struct Block<'a> {
    bytes: &'a [u8],
    /// The number of the first row.
    first: usize,
    layout: &'a Layout,
    rows: usize,
}

impl Block<'_> {
    fn array(&self, field: &Field) -> Result<ArrayRef, Problem> {
        let plain = self.plain_array(field)?;
        let Some(width) = field.width else { return Ok(plain) };
        let item = Arc::new(ArrowField::new_list_field(plain.data_type().clone(), false));
        let lists = FixedSizeListArray::try_new(item, saturated(width), plain, None);
        lists.map(|lists| Arc::new(lists) as ArrayRef).map_err(|error| damaged(error.to_string()))
    }

    /// The elements of a field, row by row.
    fn plain_array(&self, field: &Field) -> Result<ArrayRef, Problem> {
        let scalar = field.scalar;
        Ok(match (scalar.kind, scalar.size) {
            (Kind::Boolean, _) => {
                let bits: BooleanArray = self.elements(field).map(|b| Some(b[0] != 0)).collect();
                Arc::new(bits)
            }
            (Kind::Signed, 1) => self.numbers::<Int8Type, 1>(field, i8::from_le_bytes),
            (Kind::Signed, 2) => self.numbers::<Int16Type, 2>(field, i16::from_le_bytes),
            (Kind::Signed, 4) => self.numbers::<Int32Type, 4>(field, i32::from_le_bytes),
            (Kind::Signed, _) => self.numbers::<Int64Type, 8>(field, i64::from_le_bytes),
            (Kind::Unsigned, 1) => self.numbers::<UInt8Type, 1>(field, u8::from_le_bytes),
            (Kind::Unsigned, 2) => self.numbers::<UInt16Type, 2>(field, u16::from_le_bytes),
            (Kind::Unsigned, 4) => self.numbers::<UInt32Type, 4>(field, u32::from_le_bytes),
            (Kind::Unsigned, _) => self.numbers::<UInt64Type, 8>(field, u64::from_le_bytes),
            (Kind::Float, 2) => {
                type Half = <Float16Type as ArrowPrimitiveType>::Native;
                self.numbers::<Float16Type, 2>(field, Half::from_le_bytes)
            }
            (Kind::Float, 4) => self.numbers::<Float32Type, 4>(field, f32::from_le_bytes),
            (Kind::Float, _) => self.numbers::<Float64Type, 8>(field, f64::from_le_bytes),
            (Kind::Bytes | Kind::Unicode, _) => self.texts(field)?,
            (Kind::Other(_), _) => unreachable!("only usable fields are read"),
        })
    }

    fn elements(&self, field: &Field) -> impl Iterator<Item = &[u8]> {
        let (size, width) = (field.scalar.size, field.elements());
        let (stride, total) = (self.layout.record, self.layout.rows());
        (0..self.rows).flat_map(move |row| {
            (0..width).map(move |j| {
                let at = match self.layout.fortran {
                    true => (j * total + self.first + row) * size,
                    false => row * stride + field.offset + j * size,
                };
                &self.bytes[at..at + size]
            })
        })
    }

    fn numbers<T: ArrowPrimitiveType, const N: usize>(
        &self,
        field: &Field,
        number: fn([u8; N]) -> T::Native,
    ) -> ArrayRef {
        let big = field.scalar.big_endian;
        let convert = |bytes: &[u8]| {
            let mut bytes: [u8; N] = bytes.try_into().expect("an element has its size");
            if big {
                bytes.reverse();
            }
            number(bytes)
        };
        let packed = !self.layout.fortran && self.layout.record == N * field.elements();
        let mut numbers: Vec<T::Native> = Vec::with_capacity(self.rows * field.elements());
        match packed {
            true => numbers.extend(self.bytes.chunks_exact(N).map(convert)),
            false => numbers.extend(self.elements(field).map(convert)),
        }
        Arc::new(PrimitiveArray::<T>::from_iter_values(numbers))
    }

    fn texts(&self, field: &Field) -> Result<ArrayRef, Problem> {
        let mut texts: Vec<String> = Vec::with_capacity(self.rows);
        for (at, bytes) in self.elements(field).enumerate() {
            let text = text(bytes, field.scalar).ok_or_else(|| {
                let row = self.first + at / field.elements() + 1;
                let column = field.name.clone().unwrap_or_else(|| super::PLAIN.to_owned());
                Problem::NotUtf8 { place: CellPlace { row, line: None }, column }
            })?;
            texts.push(text);
        }
        Ok(Arc::new(StringArray::from(texts)))
    }
}

fn text(bytes: &[u8], scalar: Scalar) -> Option<String> {
    if scalar.kind == Kind::Bytes {
        let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        return String::from_utf8(bytes[..end].to_vec()).ok();
    }
    let code = |bytes: &[u8]| {
        let bytes: [u8; 4] = bytes.try_into().expect("a character has four bytes");
        if scalar.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    let codes: Vec<u32> = bytes.chunks_exact(4).map(code).collect();
    let end = codes.iter().rposition(|&code| code != 0).map_or(0, |last| last + 1);
    codes[..end].iter().map(|&code| char::from_u32(code)).collect()
}
