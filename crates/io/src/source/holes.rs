//! The missing cells of a column while it is read.

use std::sync::Arc;

use smidgen_value::Missing;
use smidgen_value::missing::Part;

use super::plan::Target;

#[derive(Default)]
pub(super) struct Holes {
    /// Their rows, counted from 0, in order.
    rows: Vec<u32>,
    /// By column, if several make one vector.
    parts: Vec<Vec<u32>>,
    /// The byte where the first of these rows starts, in a text file.
    start: u64,
}

impl Holes {
    /// A cell of this row, counted from 0; of the vector's column `part`.
    pub fn push(&mut self, row: usize, part: Option<usize>, start: u64) {
        // A table has fewer rows than 2^32, or else it is not of this world.
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        if self.rows.is_empty() {
            self.start = start;
        }
        if self.rows.last() != Some(&row) {
            self.rows.push(row);
        }
        if let Some(part) = part {
            self.parts.resize_with(self.parts.len().max(part + 1), Vec::new);
            self.parts[part].push(row);
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The first of them, with the byte where its row starts.
    pub fn first(&self) -> Option<(usize, u64)> {
        self.rows.first().map(|row| (*row as usize, self.start))
    }

    /// Puts the columns of a vector that were read apart in the order of rows.
    #[cfg(feature = "columnar")]
    pub fn sort(&mut self) {
        self.rows.sort_unstable();
        self.rows.dedup();
    }

    /// All of them among so many rows; `first` says where the first is.
    pub fn finish(self, target: &Target, header: &[String], rows: usize, first: String) -> Missing {
        let mut missing = Missing::new(mask(&self.rows, rows), first);
        missing.parts = target
            .columns()
            .iter()
            .enumerate()
            .filter(|_| target.is_vector())
            .map(|(k, &column)| Part {
                name: smidgen_value::Symbol::new(&header[column]),
                mask: self.parts.get(k).filter(|p| !p.is_empty()).map(|part| mask(part, rows)),
                law: None,
            })
            .collect();
        missing
    }
}

fn mask(of: &[u32], rows: usize) -> Arc<[bool]> {
    let mut mask = vec![false; rows];
    of.iter().for_each(|&row| mask[row as usize] = true);
    mask.into()
}
