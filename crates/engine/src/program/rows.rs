//! Rows of one shape: the terms of a density that run the same program on different leaves, evaluated
//! together in blocks that fit the cache.

mod builder;
mod gathered;
mod picked;
mod records;

use std::sync::OnceLock;

use smallvec::SmallVec;
use smidgen_value::{Reals, Rng, Value};

use super::cells::{Cells, Pick, copy_entries};
use super::links;
use super::marked;
use super::run::{Block, Linear, Sides, Store, Undrawn};
use super::wide::{SUMS, SideBySide, Sum, TOGETHER};
use super::{Leaf, Op, Program, Register, Source};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::Values;

pub(crate) use builder::RowsBuilder;
pub(crate) use picked::{OfRow, Product};
use records::Records;

/// Rows of a block: at most so many where they are copies, and where they are read in place.
pub(crate) const BLOCK: usize = 64;
pub(crate) const LARGEST_BLOCK: usize = 256;

/// Numbers of a block that stay close to the processor.
const CLOSE: usize = 2048;

/// Rows of a block, where their number is free.
fn large_block(registers: u32) -> usize {
    let mut rows = LARGEST_BLOCK;
    while rows > BLOCK && rows * registers as usize > CLOSE {
        rows /= 2;
    }
    rows
}

/// Columns of at most so many numbers are copied for scans.
const MOST_COPIED: usize = 1 << 22;

/// The cells of a column, [`TOGETHER`] rows side by side; zeros fill up the last of them.
fn side_by_side(rows: Reals<'_>) -> Vec<SideBySide> {
    let width = rows.width;
    let groups = (rows.data.len() / width).div_ceil(TOGETHER);
    let mut data = vec![SideBySide([0.0; TOGETHER]); groups * width];
    for (group, cells) in data.chunks_exact_mut(width).zip(rows.data.chunks(TOGETHER * width)) {
        for (l, row) in cells.chunks_exact(width).enumerate() {
            for (cells, x) in group.iter_mut().zip(row) {
                cells.0[l] = *x;
            }
        }
    }
    data
}

/// Rows of a block of a density that has so many registers: as many as the first cache holds with their slopes.
fn block(registers: u32) -> usize {
    const NUMBERS: usize = 1536;
    (NUMBERS / registers.max(1) as usize / 8 * 8).clamp(BLOCK, 4 * BLOCK)
}

/// The leaves of all rows at one place of the program.
#[derive(Clone)]
pub(crate) enum Column {
    /// The same registers of the global part for every row.
    Uniform(Register),
    /// Registers of the global part side by side, from this one on: one for each row.
    Run(Register),
    /// Registers of the global part, row by row.
    Gather(Vec<Register>),
    /// Numbers: entry k of row i at ((i / stride)·len + k)·stride + i % stride.
    Data(Vec<f64>),
    /// The same numbers for every row.
    Constant(Vec<f64>),
    /// Cells of a table, where they are.
    Cells(Cells),
    /// Brought into the lanes from outside.
    Lanes,
}

/// A number that another move may change.
struct Live {
    leaf: u32,
    row: u32,
    node: NodeId,
    first: u32,
}

pub(crate) struct Rows {
    program: Program,
    columns: Vec<Column>,
    live: Vec<Live>,
    count: usize,
    /// Leaves that have to be copied into registers.
    copied: Vec<bool>,
    stride: usize,
    /// Cells that are read in place, by leaf, once they have been put side by side for scans.
    side_by_side: Vec<OnceLock<Vec<SideBySide>>>,
    records: Records,
}

/// Writes the numbers of a row. Whether they are other ones.
fn put(data: &mut [f64], len: usize, stride: usize, row: usize, xs: &[f64]) -> bool {
    let start = (row / stride) * len * stride + row % stride;
    let mut changed = false;
    for (k, x) in xs.iter().enumerate().take(len) {
        let before = std::mem::replace(&mut data[start + k * stride], *x);
        changed |= before.to_bits() != x.to_bits();
    }
    changed
}

/// Lets products of uniform weights and data read both where they are. Says which leaves have to
/// be copied all the same.
fn read_in_place(program: &mut Program, columns: &[Column]) -> Vec<bool> {
    let leaf_at = |program: &Program, register: Register, len: u32| {
        let found = program.leaves.iter().position(|l| l.register == register && l.len == len);
        found.map(|k| k as u32)
    };
    for k in 0..program.steps.len() {
        if let Op::Dot { a, b, len } = program.steps[k].op
            && let (Some(weights), Some(data)) =
                (leaf_at(program, a, len), leaf_at(program, b, len))
            && matches!(columns[weights as usize], Column::Uniform(_))
            && is_in_place(&columns[data as usize])
        {
            program.steps[k].op = Op::Linear { weights, data };
        }
    }
    let copied = program.tidy();
    program.find_still();
    copied
}

fn is_in_place(column: &Column) -> bool {
    match column {
        Column::Data(_) => true,
        Column::Cells(cells) => cells.rows().is_some(),
        Column::Uniform(_)
        | Column::Run(_)
        | Column::Gather(_)
        | Column::Constant(_)
        | Column::Lanes => false,
    }
}

impl Rows {
    /// Rows that read cells of tables and registers of the global part.
    pub(crate) fn over_cells(program: Program, cells: &[Cells]) -> Rows {
        Rows::over(program, |number| Column::Cells(cells[number as usize].clone()))
    }

    /// Rows whose leaves are brought into the lanes from outside.
    pub(crate) fn over_lanes(program: Program) -> Rows {
        Rows::over(program, |_| Column::Lanes)
    }

    fn over(mut program: Program, cell: impl Fn(u32) -> Column) -> Rows {
        let column = |leaf: &Leaf| match &leaf.source {
            Source::Global(register) => Column::Uniform(*register),
            Source::Number(x) => Column::Constant(vec![*x]),
            Source::Vector(xs) => Column::Constant(xs.to_vec()),
            Source::Cell(number) => cell(*number),
            Source::Input(_) | Source::Live(..) => unreachable!("a row reads no such thing"),
        };
        let columns: Vec<Column> = program.leaves.iter().map(column).collect();
        let copied = read_in_place(&mut program, &columns);
        let stride = large_block(program.registers);
        let side_by_side = columns.iter().map(|_| OnceLock::new()).collect();
        let (live, count, records) = (Vec::new(), 0, Records::default());
        Rows { program, columns, live, count, copied, stride, side_by_side, records }
    }

    /// The registers of those leaves; [`Register::MAX`] for one that nothing reads.
    pub(crate) fn lanes_of_leaves(&self) -> impl Iterator<Item = Register> {
        let leaves = self.program.leaves.iter().zip(&self.columns);
        leaves.filter(|(_, c)| matches!(c, Column::Lanes)).map(|(leaf, _)| leaf.register)
    }

    /// What they are evaluated on.
    pub(crate) fn store(&self) -> Store {
        Store::new(&self.program, self.stride)
    }

    /// Makes a store of other rows fit these.
    pub(crate) fn fit(&self, store: &mut Store) {
        store.fit(&self.program, self.stride);
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether other moves may change what the rows read.
    pub(crate) fn is_live(&self) -> bool {
        !self.live.is_empty()
    }

    /// Reads the numbers that may have changed. Whether some have; none if a value no longer has the
    /// same form.
    pub(crate) fn refresh(&mut self, values: &mut dyn Values) -> Result<Option<bool>, EvalError> {
        let stride = self.stride;
        let mut changed = false;
        let mut xs = Vec::new();
        for live in &self.live {
            let leaf = &self.program.leaves[live.leaf as usize];
            let Column::Data(data) = &mut self.columns[live.leaf as usize] else {
                unreachable!("live numbers are data")
            };
            let (row, len) = (live.row as usize, leaf.len as usize);
            if let Some(link) = links::at_place(live.first) {
                let eta = links::eta_of(values.value(live.node)?, link);
                changed |= put(data, len, stride, row, &[eta]);
                continue;
            }
            if let Value::Number(x) = values.value(live.node)? {
                changed |= put(data, len, stride, row, &[*x]);
                continue;
            }
            xs.clear();
            let value = values.value(live.node)?;
            if !marked::plain_numbers(value, &mut xs) || xs.len() < live.first as usize + len {
                return Ok(None);
            }
            changed |= put(data, len, stride, row, &xs[live.first as usize..]);
        }
        Ok(Some(changed))
    }

    /// Σ of the terms of all rows; adds the slopes of the global registers.
    pub(crate) fn evaluate(&self, store: &mut Store, globals: &[f64], slopes: &mut [f64]) -> f64 {
        self.begin(store, globals);
        let mut total = 0.0;
        for start in (0..self.count).step_by(self.stride) {
            let (pick, lanes) = (Pick::From(start), self.stride.min(self.count - start));
            self.load(store, globals, pick, lanes);
            let log_p = self.value_for_slopes(store, globals, pick, lanes);
            if log_p == f64::NEG_INFINITY {
                return log_p;
            }
            total += log_p;
            self.pull(store, globals, (pick, lanes), slopes);
        }
        total
    }

    /// Σ of the terms of all rows, without slopes; −∞ as soon as something cannot be computed.
    pub(crate) fn total(&self, store: &mut Store, globals: &[f64]) -> f64 {
        self.begin(store, globals);
        let mut total = 0.0;
        for start in (0..self.count).step_by(self.stride) {
            let (pick, lanes) = (Pick::From(start), self.stride.min(self.count - start));
            self.load(store, globals, pick, lanes);
            total += self.value(store, globals, pick, lanes);
        }
        total
    }

    /// Lets all lanes know the registers that are the same for every row.
    pub(crate) fn begin(&self, store: &mut Store, globals: &[f64]) {
        for (leaf, column) in self.copied() {
            let numbers = match column {
                Column::Uniform(first) => &globals[*first as usize..],
                Column::Constant(numbers) => numbers,
                _ => continue,
            };
            let numbers = &numbers[..leaf.len as usize];
            if self.stride == 1 {
                store.one_lane_mut(leaf.register, leaf.len).copy_from_slice(numbers);
                continue;
            }
            for (k, x) in numbers.iter().enumerate() {
                store.lanes_mut(leaf.register + k as u32, self.stride).fill(*x);
            }
        }
    }

    /// The number of rows that are evaluated on both sides of a move at a time.
    pub(crate) fn rows_on_both_sides(&self) -> usize {
        self.stride / 2
    }

    /// The number of rows that are evaluated at a time.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Leaves that have to be copied into registers.
    fn copied(&self) -> impl Iterator<Item = (&Leaf, &Column)> {
        self.copied_by_number().map(|(_, leaf, column)| (leaf, column))
    }

    /// The same with their numbers.
    fn copied_by_number(&self) -> impl Iterator<Item = (usize, &Leaf, &Column)> {
        let leaves = self.program.leaves.iter().zip(&self.columns).zip(&self.copied).enumerate();
        leaves
            .filter(|(_, (_, copied))| **copied)
            .map(|(number, ((leaf, column), _))| (number, leaf, column))
    }

    /// Brings what differs from row to row into the lanes.
    pub(crate) fn load(&self, store: &mut Store, globals: &[f64], pick: Pick<'_>, lanes: usize) {
        for (number, leaf, column) in self.copied_by_number() {
            self.load_leaf((number, leaf, column), store, globals, (pick, lanes));
        }
    }

    fn load_leaf(
        &self,
        (number, leaf, column): (usize, &Leaf, &Column),
        store: &mut Store,
        globals: &[f64],
        (pick, lanes): (Pick<'_>, usize),
    ) {
        let (len, stride) = (leaf.len as usize, self.stride);
        match column {
            Column::Data(data) => {
                let start = pick.first();
                let block = &data[start * len..(start + stride) * len];
                for (k, xs) in block.chunks_exact(stride).enumerate() {
                    let lanes_of = store.lanes_mut(leaf.register + k as u32, lanes);
                    lanes_of.copy_from_slice(&xs[..lanes]);
                }
            }
            Column::Cells(cells) => {
                let records = self.records.of_leaf(number, pick);
                for k in 0..leaf.len {
                    let out = store.lanes_mut(leaf.register + k, lanes);
                    match records {
                        Some(rows) => copy_entries(rows, k as usize, pick, out),
                        None => cells.copy(k as usize, pick, out),
                    }
                }
            }
            Column::Run(first) => {
                let first = *first as usize + pick.first();
                let out = store.lanes_mut(leaf.register, lanes);
                out.copy_from_slice(&globals[first..first + lanes]);
            }
            Column::Gather(registers) => {
                for k in 0..leaf.len {
                    let out = store.lanes_mut(leaf.register + k, lanes);
                    for (lane, out) in out.iter_mut().enumerate() {
                        *out = globals[(registers[pick.row(lane)] + k) as usize];
                    }
                }
            }
            Column::Uniform(_) | Column::Constant(_) | Column::Lanes => {}
        }
    }

    /// Asks with what products of weights and data read in place.
    fn with_linear<R>(
        &self,
        globals: &[f64],
        pick: Pick<'_>,
        ask: impl FnOnce(&Linear<'_>) -> R,
    ) -> R {
        let weights = |leaf: u32| self.weights(globals, leaf);
        let data = |leaf: u32| self.block(pick, leaf);
        ask(&Linear { weights: &weights, data: &data })
    }

    /// The sum of the terms of the rows loaded last; −∞ as soon as something cannot be computed.
    pub(crate) fn value(
        &self,
        store: &mut Store,
        globals: &[f64],
        pick: Pick<'_>,
        lanes: usize,
    ) -> f64 {
        self.with_linear(globals, pick, |linear| store.value(&self.program, lanes, linear))
    }

    /// Adds the terms of the rows loaded last to a sum. False if something cannot be computed.
    pub(crate) fn add_terms(
        &self,
        store: &mut Store,
        globals: &[f64],
        (pick, lanes): (Pick<'_>, usize),
        sum: &mut Sum,
    ) -> bool {
        let weights = |leaf: u32| self.weights(globals, leaf);
        let data = |leaf: u32| match self.block_side_by_side(pick, leaf) {
            Some(block) => Block::Together(block),
            None => self.block(pick, leaf),
        };
        let linear = Linear { weights: &weights, data: &data };
        store.add_terms(&self.program, lanes, &linear, sum)
    }

    /// The cells of rows from a copy of their column in which they stand side by side. Scans read it
    /// faster than the rows, of which every sum has to be added up across a register. None where it
    /// does not pay, or would take too much memory; that depends on the column alone, so that a scan always
    /// takes the same way.
    fn block_side_by_side(&self, pick: Pick<'_>, leaf: u32) -> Option<&[SideBySide]> {
        let (Pick::From(start), Column::Cells(cells)) = (pick, &self.columns[leaf as usize]) else {
            return None;
        };
        let rows = cells.rows()?;
        let is_worth_it = rows.width >= SUMS && rows.data.len() <= MOST_COPIED;
        if !is_worth_it || start % TOGETHER != 0 {
            return None;
        }
        let copy = self.side_by_side[leaf as usize].get_or_init(|| side_by_side(rows));
        copy.get(start / TOGETHER * rows.width..)
    }

    /// The terms of rows after a move minus those before it, row by row, given the global part on both sides; rows whose
    /// leaves are brought into the lanes stand there. False if some row has to be computed otherwise.
    pub(crate) fn log_ratios(
        &self,
        store: &mut Store,
        [before, after]: [&[f64]; 2],
        pick: Pick<'_>,
        out: &mut [f64],
    ) -> bool {
        let (lanes, sides) = (out.len(), Sides::of(out.len()));
        if let Pick::These(_) = pick {
            self.records.picked(lanes, &self.columns);
        }
        for (number, leaf, column) in self.copied_by_number() {
            self.load_leaf((number, leaf, column), store, before, (pick, lanes));
            for k in 0..leaf.len {
                let register = leaf.register + k;
                let both = match column {
                    Column::Uniform(first) => {
                        [before, after].map(|side| side[(first + k) as usize])
                    }
                    Column::Constant(numbers) => {
                        store.lanes_mut(register, sides.side).fill(numbers[k as usize]);
                        continue;
                    }
                    Column::Data(_) | Column::Cells(_) | Column::Lanes => {
                        store.fill_up(register, sides);
                        continue;
                    }
                    Column::Run(_) | Column::Gather(_) => {
                        unreachable!("rows with registers of their own")
                    }
                };
                store.fill_sides(register, sides, both);
            }
        }
        let data = |leaf: u32| self.block(pick, leaf);
        let weights = |leaf: u32| self.weights(before, leaf);
        let weights_after = |leaf: u32| self.weights(after, leaf);
        let linear = [
            &Linear { weights: &weights, data: &data },
            &Linear { weights: &weights_after, data: &data },
        ];
        store.log_ratios(&self.program, sides, linear, out)
    }

    /// The same with all that [`Rows::pull`] needs.
    pub(crate) fn value_for_slopes(
        &self,
        store: &mut Store,
        globals: &[f64],
        pick: Pick<'_>,
        lanes: usize,
    ) -> f64 {
        let program = &self.program;
        self.with_linear(globals, pick, |linear| store.value_for_slopes(program, lanes, linear))
    }

    /// Draws the outcome of the one density of the rows loaded last, lane by lane; entry k of lane l at k·lanes + l.
    pub(crate) fn sample(
        &self,
        store: &mut Store,
        globals: &[f64],
        (pick, lanes): (Pick<'_>, usize),
        rng: &mut Rng,
    ) -> Result<Vec<f64>, Undrawn> {
        let program = &self.program;
        self.with_linear(globals, pick, |linear| store.sample(program, lanes, linear, rng))?;
        let densities = self.program.steps.iter().filter_map(|step| match &step.op {
            Op::Density(op) => Some(op),
            _ => None,
        });
        let [op] = densities.collect::<SmallVec<[_; 2]>>()[..] else { return Err(Undrawn) };
        Ok(op.x().iter().flat_map(|x| store.lanes(*x, lanes)).copied().collect())
    }

    /// Adds the slopes of the global registers that come from the rows evaluated last.
    pub(crate) fn pull(
        &self,
        store: &mut Store,
        globals: &[f64],
        (pick, lanes): (Pick<'_>, usize),
        slopes: &mut [f64],
    ) {
        let Rows { program, columns, stride, .. } = self;
        let (stride, wide) = (*stride, store.wide);
        store.clear_slopes_of(program);
        let weights = |leaf: u32| self.weights(globals, leaf);
        let data = |leaf: u32| self.block(pick, leaf);
        let linear = Linear { weights: &weights, data: &data };
        store.pull(program, lanes, &linear, &mut |leaf, out_slope, data| {
            let Column::Uniform(first) = &columns[leaf as usize] else { return };
            let (first, len) = (*first as usize, program.leaves[leaf as usize].len as usize);
            let slopes = &mut slopes[first..first + len];
            match data {
                Block::Lanes(data) => wide.pull_linear(out_slope, data, stride, slopes),
                Block::Rows(rows, pick) => wide.pull_rows(out_slope, rows, pick, slopes),
                Block::Together(_) => unreachable!("slopes are those of rows"),
            }
        });
        for (leaf, column) in self.copied() {
            if let (1, Column::Uniform(first)) = (stride, column) {
                let slopes = &mut slopes[*first as usize..][..leaf.len as usize];
                wide.add(store.slopes_of_one_lane(leaf.register, leaf.len), slopes);
                continue;
            }
            for k in 0..leaf.len {
                match column {
                    Column::Uniform(first) => {
                        let slope = store.slope(leaf.register + k, lanes);
                        slopes[(first + k) as usize] += wide.sum(slope);
                    }
                    Column::Run(first) => {
                        let first = *first as usize + pick.first();
                        let slope = store.slope(leaf.register, lanes);
                        wide.add(slope, &mut slopes[first..first + lanes]);
                    }
                    Column::Gather(registers) => {
                        let slope = store.slope(leaf.register + k, lanes);
                        for (lane, slope) in slope.iter().enumerate() {
                            slopes[(registers[pick.row(lane)] + k) as usize] += slope;
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Term k of the rows evaluated last.
    pub(crate) fn term<'s>(&self, store: &'s Store, k: usize, lanes: usize) -> &'s [f64] {
        store.lanes(self.program.terms[k], lanes)
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// The terms of the rows evaluated last, row by row.
    pub(crate) fn terms(&self, store: &Store, out: &mut [f64]) {
        let lanes = out.len();
        out.fill(0.0);
        for term in &self.program.terms {
            for (out, x) in out.iter_mut().zip(store.lanes(*term, lanes)) {
                *out += x;
            }
        }
    }

    fn weights<'a>(&self, globals: &'a [f64], leaf: u32) -> &'a [f64] {
        match &self.columns[leaf as usize] {
            Column::Uniform(first) => {
                let first = *first as usize;
                &globals[first..first + self.program.leaves[leaf as usize].len as usize]
            }
            _ => unreachable!("weights are uniform"),
        }
    }

    fn block<'a>(&'a self, pick: Pick<'a>, leaf: u32) -> Block<'a> {
        match &self.columns[leaf as usize] {
            Column::Data(data) => {
                let (start, len) = (pick.first(), self.program.leaves[leaf as usize].len as usize);
                Block::Lanes(&data[start * len..(start + self.stride) * len])
            }
            Column::Cells(cells) => {
                let rows = self.records.of_leaf(leaf as usize, pick).or_else(|| cells.rows());
                Block::Rows(rows.expect("only whole rows are read in place"), pick)
            }
            _ => unreachable!("what weights multiply is data"),
        }
    }
}
