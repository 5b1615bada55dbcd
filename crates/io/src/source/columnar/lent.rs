//! Numbers of a column that are copied while it is read, or used where they lie.
//!
//! A column can be used where it lies if it holds doubles or lists of them, if all of it is in one
//! batch, and if the batch is a part of something that stays: a mapped file. Arrow then has the very
//! buffer that a column of the table needs (lists of one length are row-major). It is
//! looked through all the same.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use smidgen_value::Buffer;

use crate::source::growing::Growing;

pub(super) enum Doubles {
    Growing(Growing<f64>),
    /// All of them.
    Lent(Buffer<f64>),
}

impl Doubles {
    pub fn new() -> Doubles {
        Doubles::Growing(Growing::new())
    }

    /// All doubles of an array that lies in `home`. None if it does not: a decoder makes a new
    /// buffer of what is compressed or not aligned.
    pub fn lent(array: &ArrayRef, home: &[u8]) -> Option<Doubles> {
        let doubles = doubles(array)?;
        let Range { start, end } = doubles.inner().as_slice().as_ptr_range();
        let home = home.as_ptr_range();
        let lies_in_it = home.start <= start && end <= home.end;
        lies_in_it.then(|| Doubles::Lent(Buffer::lent(doubles)))
    }

    /// All doubles of an array, where they lie. None if it holds something else.
    pub fn in_place(array: &ArrayRef) -> Option<Doubles> {
        doubles(array).map(|doubles| Doubles::Lent(Buffer::lent(doubles)))
    }

    /// The next ones.
    pub fn extend(&mut self, items: &[f64]) {
        match self {
            Doubles::Growing(growing) => growing.extend(items),
            Doubles::Lent(_) => {}
        }
    }

    pub fn finish(self) -> Buffer<f64> {
        match self {
            Doubles::Growing(growing) => growing.finish().into(),
            Doubles::Lent(all) => all,
        }
    }
}

/// The doubles of a column, or of all its lists.
fn doubles(array: &ArrayRef) -> Option<ScalarBuffer<f64>> {
    let values = match array.data_type() {
        DataType::Float64 => array.clone(),
        DataType::FixedSizeList(_, length) => {
            let lists = array.as_fixed_size_list();
            let length = usize::try_from(*length).ok()?;
            let start = usize::try_from(lists.value_offset(0)).ok()?;
            lists.values().slice(start, length.checked_mul(lists.len())?)
        }
        DataType::List(_) => list_values::<i32>(array),
        DataType::LargeList(_) => list_values::<i64>(array),
        _ => return None,
    };
    Some(values.as_primitive_opt::<Float64Type>()?.values().clone())
}

fn list_values<O: OffsetSizeTrait>(array: &ArrayRef) -> ArrayRef {
    let lists = array.as_list::<O>();
    let (start, end) = (lists.offsets()[0].as_usize(), lists.offsets()[lists.len()].as_usize());
    lists.values().slice(start, end - start)
}
