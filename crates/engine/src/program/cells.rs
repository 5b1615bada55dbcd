//! Cells of tables as leaves: read where they are, whichever rows are asked for.

use smidgen_value::{Column, Reals};

/// Which rows stand in the lanes.
#[derive(Clone, Copy)]
pub(crate) enum Pick<'a> {
    /// One after the other, from this one on.
    From(usize),
    /// These.
    These(&'a [u32]),
}

impl Pick<'_> {
    /// The row in a lane.
    #[inline(always)]
    pub(crate) fn row(self, lane: usize) -> usize {
        match self {
            Pick::From(start) => start + lane,
            Pick::These(rows) => rows[lane] as usize,
        }
    }

    /// The first row.
    pub(crate) fn first(self) -> usize {
        match self {
            Pick::From(start) => start,
            Pick::These(rows) => rows.first().map_or(0, |row| *row as usize),
        }
    }
}

/// What a leaf reads in each row.
#[derive(Clone, Debug)]
pub(crate) enum Cells {
    Column(Column),
    /// The number of the row.
    Index,
}

impl Cells {
    /// Number of registers of a cell; none if it holds no numbers.
    pub(crate) fn width(&self) -> Option<usize> {
        match self {
            Cells::Index | Cells::Column(Column::Reals(_) | Column::Booleans(_)) => Some(1),
            Cells::Column(Column::Vectors { width, .. }) => Some(*width),
            Cells::Column(Column::Texts(_)) => None,
        }
    }

    /// Whole cells as slices, if they are vectors.
    pub(crate) fn rows(&self) -> Option<Reals<'_>> {
        match self {
            Cells::Column(column @ Column::Vectors { .. }) => column.reals(),
            _ => None,
        }
    }

    /// Whether both read the same.
    pub(crate) fn is_same(&self, other: &Cells) -> bool {
        match (self, other) {
            (Cells::Index, Cells::Index) => true,
            (Cells::Column(a), Cells::Column(b)) => a.is_same(b),
            _ => false,
        }
    }

    /// Entry k of the cell in each of the rows.
    #[inline(always)]
    pub(crate) fn copy(&self, k: usize, pick: Pick<'_>, out: &mut [f64]) {
        match self {
            Cells::Index => fill(pick, out, |row| row as f64),
            Cells::Column(Column::Reals(xs)) => {
                let xs = xs.as_slice();
                match pick {
                    Pick::From(start) => out.copy_from_slice(&xs[start..start + out.len()]),
                    Pick::These(_) => fill(pick, out, |row| xs[row]),
                }
            }
            Cells::Column(Column::Booleans(xs)) => {
                fill(pick, out, |row| f64::from(u8::from(xs[row])));
            }
            Cells::Column(Column::Vectors { data, width }) => {
                copy_entries(Reals { data: data.as_slice(), width: *width }, k, pick, out);
            }
            Cells::Column(Column::Texts(_)) => unreachable!("texts are no numbers"),
        }
    }
}

/// Entry k of the vector in each of the rows.
#[inline(always)]
pub(crate) fn copy_entries(vectors: Reals<'_>, k: usize, pick: Pick<'_>, out: &mut [f64]) {
    let (entries, width) = (&vectors.data[k..], vectors.width);
    fill(pick, out, |row| entries[row * width]);
}

#[inline(always)]
fn fill(pick: Pick<'_>, out: &mut [f64], cell: impl Fn(usize) -> f64) {
    match pick {
        Pick::From(start) => {
            out.iter_mut().enumerate().for_each(|(l, out)| *out = cell(start + l));
        }
        Pick::These(rows) => {
            out.iter_mut().zip(rows).for_each(|(out, row)| *out = cell(*row as usize));
        }
    }
}
