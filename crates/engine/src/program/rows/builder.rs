//! Rows of one shape from the leaves of their terms: what is the same for all is kept once, what stands side by side is read where
//! it stands, and everything else is copied into columns.

use super::records::Records;
use super::{Column, Live, Rows, block, put, read_in_place};
use crate::error::EvalError;
use crate::program::{Leaf, Program, Register, Source, Values};

/// Collects rows of one shape.
pub(crate) struct RowsBuilder {
    program: Program,
    sources: Vec<Vec<Source>>,
    count: usize,
}

impl RowsBuilder {
    pub(crate) fn new(program: &Program) -> RowsBuilder {
        let sources = program.leaves.iter().map(|_| Vec::new()).collect();
        RowsBuilder { program: program.clone(), sources, count: 0 }
    }

    pub(crate) fn add(&mut self, leaves: &[Leaf]) {
        for (column, leaf) in self.sources.iter_mut().zip(leaves) {
            column.push(leaf.source.clone());
        }
        self.count += 1;
    }

    /// The runs of registers of the global part that rows read as one leaf.
    pub(crate) fn runs(&self) -> Vec<(Register, u32)> {
        let leaves = self.program.leaves.iter().zip(&self.sources).filter(|(leaf, _)| leaf.len > 1);
        let run = |(leaf, source): (&Leaf, &Source)| match source {
            Source::Global(first) => Some((*first, leaf.len)),
            _ => None,
        };
        leaves
            .flat_map(|(leaf, sources)| sources.iter().filter_map(move |s| run((leaf, s))))
            .collect()
    }

    /// Gives registers of the global part other names, by the first of each run and its length.
    pub(crate) fn rename(&mut self, name: impl Fn((Register, u32)) -> Register) {
        let leaves = self.program.leaves.iter().zip(&mut self.sources);
        for (leaf, sources) in leaves.filter(|(leaf, _)| leaf.len > 0) {
            for source in sources {
                if let Source::Global(first) = source {
                    *first = name((*first, leaf.len));
                }
            }
        }
    }

    /// Rows in the order of the registers that they read: those that stand side by side are read where they stand.
    fn sort(&mut self) {
        let is_global = |column: &&Vec<Source>| matches!(column.first(), Some(Source::Global(_)));
        let keys: Vec<&Vec<Source>> = self.sources.iter().filter(is_global).collect();
        let key = |row: usize| keys.iter().map(move |column| global(&column[row]));
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_by(|a, b| key(*a).cmp(key(*b)));
        for column in &mut self.sources {
            *column = order.iter().map(|row| column[*row].clone()).collect();
        }
    }

    pub(crate) fn finish(mut self, values: &mut dyn Values) -> Result<Rows, EvalError> {
        self.sort();
        let RowsBuilder { mut program, sources, count } = self;
        let stride = count.min(block(program.registers));
        let mut live = Vec::new();
        let mut columns = Vec::with_capacity(sources.len());
        for (number, (leaf, sources)) in program.leaves.iter().zip(&sources).enumerate() {
            columns.push(column(number as u32, leaf.len as usize, sources, stride, &mut live));
        }
        let copied = read_in_place(&mut program, &columns);
        let (side_by_side, records) = (Vec::new(), Records::default());
        let mut rows =
            Rows { program, columns, live, count, copied, stride, side_by_side, records };
        rows.refresh(values)?;
        Ok(rows)
    }
}

fn column(
    number: u32,
    len: usize,
    sources: &[Source],
    stride: usize,
    live: &mut Vec<Live>,
) -> Column {
    if let Some(Source::Global(first)) = sources.first() {
        let registers: Vec<Register> = sources.iter().map(global).collect();
        if registers.iter().all(|register| register == first) {
            return Column::Uniform(*first);
        }
        let side_by_side = |(register, next): (&Register, Register)| *register == next;
        return match len == 1 && registers.iter().zip(*first..).all(side_by_side) {
            true => Column::Run(*first),
            false => Column::Gather(registers),
        };
    }
    if let Some(Source::Number(x)) = sources.first()
        && sources.iter().all(|s| matches!(s, Source::Number(y) if x.to_bits() == y.to_bits()))
    {
        return Column::Constant(vec![*x]);
    }
    let blocks = sources.len().div_ceil(stride);
    let mut data = vec![0.0; blocks * stride * len];
    for (row, source) in sources.iter().enumerate() {
        match source {
            Source::Number(x) => drop(put(&mut data, len, stride, row, &[*x])),
            Source::Vector(xs) => drop(put(&mut data, len, stride, row, xs)),
            Source::Live(node, first) => {
                live.push(Live { leaf: number, row: row as u32, node: *node, first: *first });
            }
            Source::Global(_) | Source::Input(_) | Source::Cell(_) => {
                unreachable!("rows of one shape")
            }
        }
    }
    Column::Data(data)
}

fn global(source: &Source) -> Register {
    match source {
        Source::Global(register) => *register,
        _ => unreachable!("rows of one shape have leaves of one kind"),
    }
}
