//! Rows that are picked at random lie far apart in memory, and each of their columns is another trip there. A copy in which all
//! cells of a row stand together, in one line of the cache where they fit, takes one trip instead.
//!
//! It is made once as many rows have been picked as there are, so that it costs no more than what was read; of columns that
//! are small it would be of no use, of large ones it would take too much memory.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use smidgen_value::Reals;

use super::{Column, MOST_COPIED};
use crate::program::cells::{Cells, Pick};

/// Fewer numbers stay close to the processor.
const NEAR: usize = 1 << 16;

/// Numbers of a line of the cache, and its bytes.
const LINE: usize = 8;
const LINE_BYTES: usize = 64;

#[derive(Default)]
pub(super) struct Records {
    /// Rows picked so far.
    picked: AtomicUsize,
    /// None if it does not pay.
    copy: OnceLock<Option<Copy>>,
}

struct Copy {
    data: Vec<f64>,
    /// Where the first record begins: at a line.
    first: usize,
    /// Numbers of a record.
    width: usize,
    /// Where the cells of a leaf begin in a record; none for a leaf that is no cell.
    offsets: Vec<Option<usize>>,
}

impl Records {
    /// Notes that so many rows have been picked, and makes the copy when it is time.
    #[inline]
    pub(super) fn picked(&self, rows: usize, columns: &[Column]) {
        if self.copy.get().is_none() {
            let picked = self.picked.fetch_add(rows, Ordering::Relaxed) + rows;
            if picked > length(columns) {
                self.copy.get_or_init(|| Copy::of(columns));
            }
        }
    }

    /// The cells of a leaf in rows that are picked, the first of each where the row begins.
    #[inline]
    pub(super) fn of_leaf(&self, leaf: usize, pick: Pick<'_>) -> Option<Reals<'_>> {
        let (Pick::These(_), Some(Some(copy))) = (pick, self.copy.get()) else { return None };
        let offset = copy.offsets[leaf]?;
        Some(Reals { data: &copy.data[copy.first + offset..], width: copy.width })
    }
}

/// The number of rows.
fn length(columns: &[Column]) -> usize {
    let rows = |column: &Column| match column {
        Column::Cells(Cells::Column(cells)) => Some(cells.len()),
        _ => None,
    };
    columns.iter().find_map(rows).unwrap_or(0)
}

impl Copy {
    fn of(columns: &[Column]) -> Option<Copy> {
        let (mut offsets, mut numbers) = (Vec::new(), 0);
        for column in columns {
            let width = match column {
                Column::Cells(cells @ Cells::Column(_)) => Some(cells.width()?),
                _ => None,
            };
            offsets.push(width.map(|_| numbers));
            numbers += width.unwrap_or(0);
        }
        let width = match numbers <= LINE {
            true => numbers.next_power_of_two(),
            false => numbers.next_multiple_of(LINE),
        };
        let (rows, cells) = (length(columns), offsets.iter().flatten().count());
        if cells < 2 || rows * width < NEAR || rows * width > MOST_COPIED {
            return None;
        }
        // One more, so that whole records can be read from any of its cells on.
        let mut data = vec![0.0; (rows + 1) * width + LINE];
        let first = data.as_ptr().align_offset(LINE_BYTES).min(LINE);
        let mut room = vec![0.0; rows];
        for (column, offset) in columns.iter().zip(&offsets) {
            let (Column::Cells(cells), Some(offset)) = (column, offset) else { continue };
            for k in 0..cells.width()? {
                cells.copy(k, Pick::From(0), &mut room);
                let places = data[first + offset + k..].iter_mut().step_by(width);
                places.zip(&room).for_each(|(place, x)| *place = *x);
            }
        }
        Some(Copy { data, first, width, offsets })
    }
}
