//! Rows of one shape: the terms of a density that run the same tape on different leaves, evaluated
//! together in blocks that fit the cache.

use smidgen_value::Value;

use super::marked;
use super::run::{Linear, Store};
use super::tape::{Leaf, Op, Register, Source, Tape};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;

/// Rows of a block.
const BLOCK: usize = 64;

/// The leaves of all rows at one place of the tape.
enum Column {
    /// The same registers of the global part for every row.
    Uniform(Register),
    /// Registers of the global part, row by row.
    Gather(Vec<Register>),
    /// Numbers: entry k of row i at ((i / stride)·len + k)·stride + i % stride.
    Data(Vec<f64>),
}

/// A number that another move may change.
struct Live {
    leaf: u32,
    row: u32,
    node: NodeId,
    first: u32,
}

pub(super) struct Rows {
    tape: Tape,
    columns: Vec<Column>,
    live: Vec<Live>,
    count: usize,
    /// Leaves that have to be copied into registers.
    copied: Vec<bool>,
    store: Store,
}

/// Collects rows of one shape.
pub(super) struct RowsBuilder {
    tape: Tape,
    sources: Vec<Vec<Source>>,
    count: usize,
}

impl RowsBuilder {
    pub(super) fn new(tape: &Tape) -> RowsBuilder {
        let sources = tape.leaves.iter().map(|_| Vec::new()).collect();
        RowsBuilder { tape: tape.clone(), sources, count: 0 }
    }

    pub(super) fn add(&mut self, leaves: &[Leaf]) {
        for (column, leaf) in self.sources.iter_mut().zip(leaves) {
            column.push(leaf.source.clone());
        }
        self.count += 1;
    }

    pub(super) fn finish(self, trace: &mut Trace) -> Result<Rows, EvalError> {
        let RowsBuilder { mut tape, sources, count } = self;
        let stride = count.min(BLOCK);
        let mut live = Vec::new();
        let mut columns = Vec::with_capacity(sources.len());
        for (number, (leaf, sources)) in tape.leaves.iter().zip(&sources).enumerate() {
            columns.push(column(number as u32, leaf.len as usize, sources, stride, &mut live));
        }
        let copied = read_in_place(&mut tape, &columns);
        let store = Store::new(&tape, stride);
        let mut rows = Rows { tape, columns, live, count, copied, store };
        rows.refresh(trace)?;
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
        return match registers.iter().all(|register| register == first) {
            true => Column::Uniform(*first),
            false => Column::Gather(registers),
        };
    }
    let blocks = sources.len().div_ceil(stride);
    let mut data = vec![0.0; blocks * stride * len];
    for (row, source) in sources.iter().enumerate() {
        match source {
            Source::Number(x) => put(&mut data, len, stride, row, &[*x]),
            Source::Vector(xs) => put(&mut data, len, stride, row, xs),
            Source::Live(node, first) => {
                live.push(Live { leaf: number, row: row as u32, node: *node, first: *first });
            }
            Source::Global(_) | Source::Input(_) => unreachable!("rows of one shape"),
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

fn put(data: &mut [f64], len: usize, stride: usize, row: usize, xs: &[f64]) {
    let start = (row / stride) * len * stride + row % stride;
    for (k, x) in xs.iter().enumerate().take(len) {
        data[start + k * stride] = *x;
    }
}

/// Lets products of uniform weights and data read both where they are. Says which leaves have to
/// be copied all the same.
fn read_in_place(tape: &mut Tape, columns: &[Column]) -> Vec<bool> {
    let leaf_at = |tape: &Tape, register: Register, len: u32| {
        let found = tape.leaves.iter().position(|l| l.register == register && l.len == len);
        found.map(|k| k as u32)
    };
    for k in 0..tape.steps.len() {
        if let Op::Dot { a, b, len } = tape.steps[k].op
            && let (Some(weights), Some(data)) = (leaf_at(tape, a, len), leaf_at(tape, b, len))
            && matches!(columns[weights as usize], Column::Uniform(_))
            && matches!(columns[data as usize], Column::Data(_))
        {
            tape.steps[k].op = Op::Linear { weights, data };
        }
    }
    tape.tidy()
}

impl Rows {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether other moves may change what the rows read.
    pub(super) fn is_live(&self) -> bool {
        !self.live.is_empty()
    }

    /// Reads the numbers that may have changed. False if a value no longer has the same form.
    pub(super) fn refresh(&mut self, trace: &mut Trace) -> Result<bool, EvalError> {
        let stride = self.store.stride();
        let mut xs = Vec::new();
        for live in &self.live {
            let leaf = &self.tape.leaves[live.leaf as usize];
            let Column::Data(data) = &mut self.columns[live.leaf as usize] else {
                unreachable!("live numbers are data")
            };
            let (row, len) = (live.row as usize, leaf.len as usize);
            if let Value::Number(x) = trace.value(live.node)? {
                put(data, len, stride, row, &[*x]);
                continue;
            }
            xs.clear();
            let value = trace.value(live.node)?;
            if !marked::numbers(value, &mut xs) || xs.len() < live.first as usize + len {
                return Ok(false);
            }
            put(data, len, stride, row, &xs[live.first as usize..]);
        }
        Ok(true)
    }

    /// Σ of the terms of all rows; adds the slopes of the global registers.
    pub(super) fn evaluate(&mut self, globals: &[f64], slopes: &mut [f64]) -> f64 {
        let Rows { tape, columns, count, copied, store, .. } = self;
        let (stride, wide) = (store.stride(), store.wide);
        for ((leaf, column), _) in
            tape.leaves.iter().zip(columns.iter()).zip(copied.iter()).filter(|(_, copied)| **copied)
        {
            if let Column::Uniform(first) = column {
                for k in 0..leaf.len {
                    let value = globals[(first + k) as usize];
                    store.lanes_mut(leaf.register + k, stride).fill(value);
                }
            }
        }
        let mut total = 0.0;
        for block in 0..count.div_ceil(stride) {
            let start = block * stride;
            let lanes = stride.min(*count - start);
            for ((leaf, column), copied) in
                tape.leaves.iter().zip(columns.iter()).zip(copied.iter())
            {
                let len = leaf.len as usize;
                match column {
                    Column::Data(data) if *copied => {
                        let block = &data[start * len..(start + stride) * len];
                        for (k, xs) in block.chunks_exact(stride).enumerate() {
                            let lanes_of = store.lanes_mut(leaf.register + k as u32, lanes);
                            lanes_of.copy_from_slice(&xs[..lanes]);
                        }
                    }
                    Column::Gather(registers) => {
                        for k in 0..leaf.len {
                            let out = store.lanes_mut(leaf.register + k, lanes);
                            for (out, first) in out.iter_mut().zip(&registers[start..]) {
                                *out = globals[(first + k) as usize];
                            }
                        }
                    }
                    _ => {}
                }
            }
            let weights = |leaf: u32| match &columns[leaf as usize] {
                Column::Uniform(first) => {
                    let first = *first as usize;
                    &globals[first..first + tape.leaves[leaf as usize].len as usize]
                }
                _ => unreachable!("weights are uniform"),
            };
            let data = |leaf: u32| match &columns[leaf as usize] {
                Column::Data(data) => {
                    let len = tape.leaves[leaf as usize].len as usize;
                    &data[start * len..(start + stride) * len]
                }
                _ => unreachable!("what weights multiply is data"),
            };
            let linear = Linear { weights: &weights, data: &data };
            let log_p = store.forward(tape, lanes, &linear);
            if log_p == f64::NEG_INFINITY {
                return log_p;
            }
            total += log_p;
            store.slopes.fill(0.0);
            store.backward(tape, lanes, &linear, &mut |leaf, out_slope, data| {
                let Column::Uniform(first) = &columns[leaf as usize] else { return };
                let (first, len) = (*first as usize, tape.leaves[leaf as usize].len as usize);
                wide.pull_linear(out_slope, data, stride, &mut slopes[first..first + len]);
            });
            for ((leaf, column), copied) in
                tape.leaves.iter().zip(columns.iter()).zip(copied.iter())
            {
                for k in 0..leaf.len {
                    match column {
                        Column::Uniform(first) if *copied => {
                            let slope = store.slope(leaf.register + k, lanes);
                            slopes[(first + k) as usize] += slope.iter().sum::<f64>();
                        }
                        Column::Gather(registers) => {
                            let slope = store.slope(leaf.register + k, lanes);
                            for (slope, first) in slope.iter().zip(&registers[start..]) {
                                slopes[(first + k) as usize] += slope;
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        total
    }
}
