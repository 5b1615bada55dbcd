//! Rows of a density one by one and in any order: what each reads, and their numbers in columns of their own; and their products
//! with the weights of many points.

use std::borrow::Cow;
use std::sync::OnceLock;

use smidgen_prob::smooth::Elementary;
use smidgen_value::Column as Numbers;

use super::records::Records;
use super::{BLOCK, Column, Rows};
use crate::program::cells::{Cells, Pick};
use crate::program::run::{Block, NO_LINEAR, Store};
use crate::program::wide::{SideBySide, TOGETHER};
use crate::program::{Leaf, Op, Program, Register, Step};

/// What a leaf reads in one row.
pub(crate) enum OfRow<'a> {
    /// Registers of the global part, from this one on.
    Global(Register),
    Numbers(Cow<'a, [f64]>),
}

/// A product of weights and data that are read in place, with a number that is the same for all rows added.
pub(crate) struct Product {
    pub out: Register,
    /// Where the weights begin in the global part, and how many they are.
    pub weights: Register,
    pub len: u32,
    /// Where the number stands in the global part.
    pub plus: Option<Register>,
    /// The leaf of the data.
    pub data: u32,
}

impl Rows {
    /// The same in blocks of [`BLOCK`] rows, for readings that rely on it.
    pub(crate) fn in_small_blocks(self) -> Rows {
        Rows { stride: BLOCK, ..self }
    }

    /// The same rows with their numbers in columns, so that any of them can be picked. None if they read different
    /// registers of the global part, or lanes from outside.
    pub(crate) fn with_own_cells(&self) -> Option<Rows> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (k, column) in self.columns.iter().enumerate() {
            columns.push(match column {
                Column::Data(data) => Column::Cells(self.as_cells(k, data)),
                Column::Uniform(first) => Column::Uniform(*first),
                Column::Constant(numbers) => Column::Constant(numbers.clone()),
                Column::Cells(cells) => Column::Cells(cells.clone()),
                Column::Run(_) | Column::Gather(_) | Column::Lanes => return None,
            });
        }
        let (program, copied) = (self.program.clone(), self.copied.clone());
        let side_by_side = columns.iter().map(|_| OnceLock::new()).collect();
        let (live, count, stride) = (Vec::new(), self.count, BLOCK);
        let records = Records::default();
        Some(Rows { program, columns, live, count, copied, stride, side_by_side, records })
    }

    fn as_cells(&self, leaf: usize, data: &[f64]) -> Cells {
        let (width, stride) = (self.program.leaves[leaf].len as usize, self.stride);
        let mut cells = Vec::with_capacity(self.count * width);
        for row in 0..self.count {
            let start = (row / stride) * width * stride + row % stride;
            cells.extend((0..width).map(|k| data[start + k * stride]));
        }
        let data = cells.into();
        Cells::Column(match self.copied[leaf] && width == 1 {
            true => Numbers::Reals(data),
            false => Numbers::Vectors { data, width },
        })
    }

    /// What a leaf reads in one row. None if that is brought from outside.
    pub(crate) fn of_row(&self, leaf: usize, row: usize) -> Option<OfRow<'_>> {
        let width = self.program.leaves[leaf].len as usize;
        Some(match &self.columns[leaf] {
            Column::Uniform(first) => OfRow::Global(*first),
            Column::Run(first) => OfRow::Global(first + row as Register),
            Column::Gather(registers) => OfRow::Global(registers[row]),
            Column::Constant(numbers) => OfRow::Numbers(Cow::Borrowed(numbers)),
            Column::Data(data) => {
                let start = (row / self.stride) * width * self.stride + row % self.stride;
                let numbers = (0..width).map(|k| data[start + k * self.stride]);
                OfRow::Numbers(Cow::Owned(numbers.collect()))
            }
            Column::Cells(_) | Column::Lanes => return None,
        })
    }

    /// The leaves, and where they are; one that nothing copies has no register.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (&Leaf, &Column)> {
        self.program.leaves.iter().zip(&self.columns)
    }

    /// The products of weights and data read in place.
    pub(crate) fn products(&self) -> impl Iterator<Item = Product> {
        self.program.steps.iter().filter_map(|step| match step.op {
            Op::Linear { weights, data } => match self.columns[weights as usize] {
                Column::Uniform(first) => {
                    let len = self.program.leaves[weights as usize].len;
                    let (out, plus) = match self.added_to(step.out) {
                        Some((out, number)) => (out, Some(number)),
                        None => (step.out, None),
                    };
                    Some(Product { out, weights: first, len, plus, data })
                }
                _ => None,
            },
            _ => None,
        })
    }

    /// The sum of a product that nothing else reads with a number that is the same for all rows, and where that stands in the
    /// global part.
    fn added_to(&self, product: Register) -> Option<(Register, Register)> {
        let is_reader = |step: &&Step| {
            let mut reads = Vec::new();
            step.op.reads(&mut reads);
            reads.contains(&product)
        };
        let mut readers = self.program.steps.iter().filter(is_reader);
        let (Some(step), None) = (readers.next(), readers.next()) else { return None };
        let other = match step.op {
            Op::Elementary(Elementary::Add, a, b) if a == product => b,
            Op::Elementary(Elementary::Add, a, _) => a,
            _ => return None,
        };
        let number = self.leaves().find_map(|(leaf, column)| match column {
            Column::Uniform(first) => {
                let place = other.checked_sub(leaf.register).filter(|place| *place < leaf.len);
                place.map(|place| first + place)
            }
            _ => None,
        });
        number.filter(|_| !self.program.terms.contains(&product)).map(|at| (step.out, at))
    }

    /// Whether a register is read from the rows.
    pub(crate) fn is_of_rows(&self, register: Register) -> bool {
        self.copied().any(|(leaf, column)| {
            let is_of_leaf = register.checked_sub(leaf.register).is_some_and(|k| k < leaf.len);
            is_of_leaf && matches!(column, Column::Cells(_) | Column::Data(_))
        })
    }

    /// The data of a leaf that is read in place, side by side.
    pub(crate) fn tiles_of_block<'a>(
        &'a self,
        leaf: u32,
        pick: Pick<'_>,
        lanes: usize,
        room: &'a mut Vec<SideBySide>,
    ) -> &'a [SideBySide] {
        let (len, stride) = (self.program.leaves[leaf as usize].len as usize, self.stride);
        let cells = len * lanes.div_ceil(TOGETHER);
        if let Some(tiles) = self.block_side_by_side(pick, leaf) {
            return &tiles[..cells];
        }
        room.resize(cells, SideBySide([0.0; TOGETHER]));
        let first = |l: usize| l / TOGETHER * len;
        match self.block(pick, leaf) {
            Block::Rows(rows, pick) => {
                for l in 0..lanes {
                    let row = match pick {
                        Pick::From(start) => rows.row(start + l),
                        Pick::These(these) => rows.row(these[l] as usize),
                    };
                    let cells = room[first(l)..].iter_mut();
                    cells.zip(&row[..len]).for_each(|(cell, x)| cell.0[l % TOGETHER] = *x);
                }
            }
            Block::Lanes(data) => {
                for (k, column) in data.chunks_exact(stride).enumerate() {
                    for (l, x) in column[..lanes].iter().enumerate() {
                        room[first(l) + k].0[l % TOGETHER] = *x;
                    }
                }
            }
            Block::Together(_) => unreachable!("a block of rows as they are"),
        }
        room
    }

    /// The program without those products, for rows in whose registers they stand already.
    pub(crate) fn program_after_products(&self) -> Program {
        let known: Vec<Register> = self.products().map(|product| product.out).collect();
        let mut program = self.program.clone();
        program
            .steps
            .retain(|step| !matches!(step.op, Op::Linear { .. }) && !known.contains(&step.out));
        program
    }

    /// Computes the registers of the rows loaded last, which read cells alone. What cannot be computed is NaN.
    pub(crate) fn run(&self, store: &mut Store, lanes: usize) {
        for step in &self.program.steps {
            store.step(step, lanes, &NO_LINEAR);
        }
    }
}
