//! What the tables of a session hold, as sums over blocks of rows: two runs on the same data have the same, and where they
//! differ they say in which rows.

use smidgen_io::folder::sums::Sums;
use smidgen_value::{Column, Table};

/// Rows of a block.
pub const BLOCK: usize = 65_536;

/// The contents of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    pub name: String,
    pub rows: usize,
    pub columns: Vec<String>,
    /// A sum for each block of rows, over all columns.
    pub blocks: Vec<u64>,
}

impl Contents {
    pub fn of(name: &str, table: &Table) -> Contents {
        let rows = table.rows();
        let columns: Vec<String> = table.names().iter().map(|name| name.to_string()).collect();
        let block = |first: usize| {
            let mut sums = Sums::default();
            let rows = first..(first + BLOCK).min(rows);
            for name in table.names() {
                if let Some(column) = table.column(*name) {
                    add(&mut sums, column, rows.clone());
                }
            }
            sums.quick()
        };
        let blocks = (0..rows).step_by(BLOCK).map(block).collect();
        Contents { name: name.to_owned(), rows, columns, blocks }
    }

    /// How a table differs from what it was; None if it does not.
    pub fn difference(&self, now: &Contents) -> Option<String> {
        let name = &self.name;
        if self.columns != now.columns {
            let (then, now) = (self.columns.join(", "), now.columns.join(", "));
            return Some(format!("the table `{name}` had the columns {then}, now it has {now}"));
        }
        let same = self.blocks.iter().zip(&now.blocks).take_while(|(then, now)| then == now);
        let same = same.count();
        let is_whole = |contents: &Contents| same * BLOCK >= contents.rows;
        if self.rows == now.rows && is_whole(self) {
            return None;
        }
        let first = same * BLOCK;
        let last = (first + BLOCK).min(self.rows.min(now.rows)).saturating_sub(1);
        Some(match now.rows > self.rows && same >= self.rows / BLOCK {
            true => format!(
                "the table `{name}` had {} rows, now it has {}; --restart-from begins a new run where this one stood",
                self.rows, now.rows
            ),
            false if self.rows != now.rows && first > last => {
                format!("the table `{name}` had {} rows, now it has {}", self.rows, now.rows)
            }
            false => format!("the table `{name}` is not what it was, in rows {first} to {last}"),
        })
    }
}

fn add(sums: &mut Sums, column: &Column, rows: std::ops::Range<usize>) {
    if let Some(reals) = column.reals() {
        for row in rows {
            reals.row(row).iter().for_each(|x| sums.add(&x.to_bits().to_le_bytes()));
        }
    } else if let Some(truths) = column.booleans() {
        truths[rows].iter().for_each(|truth| sums.add(&[u8::from(*truth)]));
    } else {
        for row in rows {
            let text = column.cell(row).to_string();
            sums.add(&(text.len() as u64).to_le_bytes());
            sums.add(text.as_bytes());
        }
    }
}
