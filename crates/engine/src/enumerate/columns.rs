//! The candidates of one shape in lanes: what clusters have stands in columns of the program's registers,
//! which are kept from one step to the next.
//!
//! A number is copied when it has changed and only then: values are known by their address, statistics by
//! their stamp. What a row brings is read for every row. A cluster that is not there gets, for the row at
//! hand, the numbers of what was made for it aside. [`super::lanes`] computes with them.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use smidgen_value::Value;

use super::brush::BrushEvaluator;
use super::cell::{AsOf, Cell, Copied};
use super::kept::{MemoRootCache, Root, maker_of};
use super::plan::{Plan, Planned};
use super::shape::Lookup;
use super::written::CandidateProgram;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::Source;
use crate::program::run::Store;
use crate::trace::Trace;
use crate::trace::node::Op;

/// Numbers in the registers of one program at most.
const MOST: usize = 1 << 24;

pub(super) struct ClusterColumns {
    pub(super) written: CandidateProgram,
    pub(super) store: Store,
    /// Lanes that there is room for.
    pub(super) stride: usize,
    /// The candidates whose numbers stand in the lanes, and the list that they were compared with last.
    keys: Vec<Value>,
    list: Arc<Vec<Value>>,
    /// What look-up i has for candidate k at i·stride + k.
    pub(super) cells: Vec<Cell>,
    as_of: Option<AsOf>,
    /// By cell: 0, or NaN where it does not fit, for sums over lanes.
    pub(super) misfits: Vec<f64>,
    /// Nodes that clusters' values are read from.
    nodes: FxHashSet<NodeId>,
    /// Candidates for which some table has nothing.
    pub(super) absent: SmallVec<[usize; 4]>,
    /// Whether no two predictions are made from one maker, nor one from that of the choice.
    pub(super) distinct: bool,
    /// The numbers of the row at hand.
    pub(super) row: Vec<f64>,
    pub(super) numbers: Vec<f64>,
    /// What is the same in all lanes, and whether that is finite for the row at hand.
    pub(super) uniform: Store,
    pub(super) is_finite: bool,
}

impl ClusterColumns {
    pub(super) fn new(written: CandidateProgram) -> ClusterColumns {
        let store = Store::new(&written.program, 0);
        ClusterColumns {
            written,
            store,
            stride: 0,
            keys: Vec::new(),
            list: Arc::default(),
            cells: Vec::new(),
            misfits: Vec::new(),
            as_of: None,
            nodes: FxHashSet::default(),
            absent: SmallVec::new(),
            distinct: false,
            row: Vec::new(),
            numbers: Vec::new(),
            uniform: Store::default(),
            is_finite: true,
        }
    }

    /// Brings the numbers of the clusters up to date. False if there are too many.
    pub(super) fn prepare(
        &mut self,
        trace: &Trace,
        Planned { plan, shape }: Planned<'_>,
        candidates: &Arc<Vec<Value>>,
        roots: &mut MemoRootCache,
    ) -> bool {
        if candidates.len() > self.stride && !self.make_room(candidates.len(), shape.lookups.len())
        {
            return false;
        }
        let now = AsOf::now(trace, plan.own_maker);
        let known = Arc::ptr_eq(&self.list, candidates)
            || self.keys.len() >= candidates.len()
                && self.keys.iter().zip(candidates.iter()).all(|(a, b)| is_same(a, b));
        self.list.clone_from(candidates);
        if known && self.as_of.as_ref() == Some(&now) {
            return true;
        }
        let before = self.as_of.replace(now);
        let (memo_edits, own_maker) = (trace.memo_edits, plan.own_maker);
        let same_tables = before
            .is_some_and(|as_of| (as_of.memo_edits, as_of.own_maker) == (memo_edits, own_maker));
        self.bring_up_to_date(trace, &shape.lookups, candidates, roots, known && same_tables);
        true
    }

    fn make_room(&mut self, candidates: usize, lookups: usize) -> bool {
        let stride = candidates.next_multiple_of(8);
        if stride * self.written.program.registers as usize > MOST {
            return false;
        }
        self.stride = stride;
        self.store.fit(&self.written.program, stride);
        for leaf in self.written.program.leaves.iter().filter(|leaf| leaf.register != u32::MAX) {
            let numbers = match &leaf.source {
                Source::Number(x) => std::slice::from_ref(x),
                Source::Vector(xs) => &xs[..],
                _ => continue,
            };
            for (k, x) in numbers.iter().enumerate() {
                self.store.lanes_mut(leaf.register + k as u32, stride).fill(*x);
            }
        }
        self.keys.clear();
        self.list = Arc::default();
        self.cells.clear();
        self.cells.resize_with(lookups * stride, Cell::default);
        self.misfits.clear();
        self.misfits.resize(lookups * stride, f64::NAN);
        self.as_of = None;
        true
    }

    fn bring_up_to_date(
        &mut self,
        trace: &Trace,
        lookups: &[Lookup],
        candidates: &[Value],
        roots: &mut MemoRootCache,
        same_roots: bool,
    ) {
        let mut makers_differ = !same_roots;
        for (k, key) in candidates.iter().enumerate() {
            let is_new = self.keys.get(k).is_none_or(|known| !is_same(known, key));
            if is_new {
                self.keys.truncate(k);
                self.keys.push(key.clone());
                let (own, x) = (self.written.own, key.as_number());
                own.into_iter().for_each(|own| self.store.put(own, k, x.unwrap_or(f64::NAN)));
            }
            for (i, lookup) in lookups.iter().enumerate() {
                let at = i * self.stride + k;
                if is_new || !same_roots {
                    let cell = &mut self.cells[at];
                    cell.root = roots.root(trace, (lookup.table as usize, k), lookup.memo, key);
                    cell.maker = None;
                }
                makers_differ |= self.refresh(trace, i, k);
            }
        }
        // Further ones may be out of date.
        self.keys.truncate(candidates.len());
        if !same_roots {
            self.absent.clear();
            for k in 0..candidates.len() {
                let mut cells = self.cells.chunks_exact(self.stride);
                if cells.any(|cells| matches!(cells[k].root, Some(Root::Absent))) {
                    self.absent.push(k);
                }
            }
        }
        if makers_differ {
            self.note_nodes(lookups.len(), candidates.len());
        }
    }

    /// Copies the numbers of one cell, if they have changed. Whether they come from another maker now.
    #[inline]
    fn refresh(&mut self, trace: &Trace, lookup: usize, k: usize) -> bool {
        let at = lookup * self.stride + k;
        let maker_before = self.cells[at].applied();
        self.set_fits(at, false);
        let cell = &mut self.cells[at];
        let Some(root @ (Root::Node(..) | Root::Constant(_))) = cell.root else {
            return maker_before.is_some();
        };
        // That of a constant stays as long as the table.
        let known = if let Root::Constant(_) = root { cell.maker } else { None };
        if known.is_none() {
            let Some(value) = root.value(trace) else { return maker_before.is_some() };
            cell.maker = maker_of(value);
            if cell.maker.is_none() {
                match &cell.copied {
                    Copied::Value(known) if is_same(known, value) => self.set_fits(at, true),
                    _ => self.put_value(lookup, k, value),
                }
                return maker_before.is_some();
            }
        }
        let Some(maker) = cell.maker else { return true };
        let Op::Maker(made) = &trace.node(maker).op else { return true };
        match cell.copied {
            Copied::Statistics { maker: known, stamp } if (known, stamp) == (maker, made.stamp) => {
                self.set_fits(at, true);
            }
            _ => self.copy_statistics(trace, lookup, k, maker, made.stamp),
        }
        maker_before != self.cells[at].applied()
    }

    #[inline]
    fn set_fits(&mut self, at: usize, fits: bool) {
        self.cells[at].fits = fits;
        self.misfits[at] = if fits { 0.0 } else { f64::NAN };
    }

    /// Whether the value of a cluster is read from one of these nodes.
    #[inline]
    pub(super) fn reads_any(&self, nodes: &[NodeId]) -> bool {
        nodes.iter().any(|id| self.nodes.contains(id))
    }

    /// The numbers of a value into a lane, if it has the form that the program was written for.
    fn put_value(&mut self, lookup: usize, k: usize, value: &Value) {
        let ClusterColumns { written, store, numbers, .. } = self;
        let mut fits = !written.predictions.iter().any(|prediction| prediction.lookup == lookup);
        for found in written.found.iter().filter(|found| found.lookup == lookup) {
            numbers.clear();
            fits &= found.form.numbers(value, numbers);
            put(store, found.register, k, numbers);
        }
        let at = lookup * self.stride + k;
        self.cells[at].copied = if fits { Copied::Value(value.clone()) } else { Copied::Nothing };
        self.set_fits(at, fits);
    }

    #[cold]
    fn copy_statistics(
        &mut self,
        trace: &Trace,
        lookup: usize,
        k: usize,
        maker: NodeId,
        stamp: u64,
    ) {
        let node = trace.node(maker);
        let Op::Maker(made) = &node.op else { return };
        let is_fixed = node.args.iter().all(|arg| matches!(arg.operand, Operand::Constant(_)));
        let ClusterColumns { written, store, numbers, .. } = self;
        let mut fits = !written.found.iter().any(|found| found.lookup == lookup);
        for prediction in written.predictions.iter().filter(|p| p.lookup == lookup) {
            fits &= std::ptr::addr_eq(made.maker, prediction.maker);
            let Some(student) = &prediction.student else { continue };
            numbers.clear();
            let read = |params: &[&Value]| made.statistics.student(params, numbers);
            let may_read = fits && is_fixed && made.maker.latent().is_none();
            let dimension = if may_read { trace.with_params(maker, read) } else { None };
            fits &= dimension == Some(student.dimension as usize);
            if fits {
                put(store, student.numbers, k, numbers);
            }
        }
        let at = lookup * self.stride + k;
        self.cells[at].copied =
            if fits { Copied::Statistics { maker, stamp } } else { Copied::Nothing };
        self.set_fits(at, fits);
    }

    /// After roots or makers have changed.
    fn note_nodes(&mut self, lookups: usize, candidates: usize) {
        let own_maker = self.as_of.as_ref().and_then(|as_of| as_of.own_maker);
        self.nodes.clear();
        let mut makers: Vec<NodeId> = own_maker.into_iter().collect();
        for i in 0..lookups {
            let asks = self.written.predictions.iter().filter(|p| p.lookup == i).count();
            for cell in &self.cells[i * self.stride..][..candidates] {
                if let Some(Root::Node(_, id)) = cell.root {
                    self.nodes.insert(id);
                }
                makers.extend(
                    cell.applied().into_iter().flat_map(|maker| std::iter::repeat_n(maker, asks)),
                );
            }
        }
        makers.sort_unstable();
        self.distinct = makers.windows(2).all(|pair| pair[0] != pair[1]);
    }

    /// A choice has moved in place from one candidate to another, and nothing else has happened since the
    /// trace was as it was `before`: only the numbers of these two may be others.
    pub(super) fn moved(&mut self, trace: &Trace, plan: &Plan, before: &AsOf, keys: [&Value; 2]) {
        if self.as_of.as_ref() != Some(before) {
            return;
        }
        self.as_of = None;
        if self.reads_any(&plan.target) {
            return;
        }
        let lookups = self.cells.len() / self.stride;
        let mut makers_differ = false;
        for key in keys {
            let Some(k) = self.keys.iter().position(|known| is_same(known, key)) else { return };
            for lookup in 0..lookups {
                makers_differ |= self.refresh(trace, lookup, k);
            }
        }
        self.as_of = Some(AsOf::now(trace, plan.own_maker));
        if makers_differ {
            self.note_nodes(lookups, self.keys.len());
        }
    }

    /// The look-ups that have nothing for a candidate. What was made aside for it before does not count any more.
    pub(super) fn absent_lookups(&mut self, k: usize) -> SmallVec<[usize; 4]> {
        let mut absent = SmallVec::new();
        for (lookup, at) in (k..self.cells.len()).step_by(self.stride).enumerate() {
            if let Some(Root::Absent) = self.cells[at].root {
                self.set_fits(at, false);
                absent.push(lookup);
            }
        }
        absent
    }

    /// Takes what was made aside for a candidate instead of what the table does not have. False if it does not
    /// fit.
    pub(super) fn put_aside(
        &mut self,
        plan: &Plan,
        (lookup, k): (usize, usize),
        value: &Value,
        brush: &BrushEvaluator,
    ) -> bool {
        let at = lookup * self.stride + k;
        let Some(maker) = maker_of(value) else {
            self.put_value(lookup, k, value);
            return self.cells[at].fits;
        };
        let is_known =
            matches!(&self.cells[at].copied, Copied::Aside(known) if known.is_identical(value));
        let ClusterColumns { written, store, numbers, .. } = self;
        let mut fits = BrushEvaluator::is_aside(maker)
            && !written.found.iter().any(|found| found.lookup == lookup)
            && written.predictions.iter().filter(|p| p.lookup == lookup).count() == 1;
        for prediction in written.predictions.iter().filter(|p| p.lookup == lookup) {
            if !fits {
                break;
            }
            match &prediction.student {
                None => {
                    let observed = plan.operands[prediction.observed as usize].constant();
                    let read = observed.and_then(|observed| brush.read(maker, observed));
                    fits = read.is_some();
                    let log_p = read.map_or(f64::NAN, |(_, log_p)| log_p);
                    store.put(prediction.term, k, log_p);
                }
                Some(_) if is_known => {}
                Some(student) => {
                    numbers.clear();
                    let dimension = brush.student(maker, prediction.maker, numbers);
                    fits = dimension == Some(student.dimension as usize);
                    if fits {
                        put(store, student.numbers, k, numbers);
                    }
                }
            }
        }
        self.cells[at].copied = if fits { Copied::Aside(value.clone()) } else { Copied::Nothing };
        self.set_fits(at, fits);
        fits
    }
}

/// Whether both hold the same numbers, as far as that is seen at once.
#[inline]
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.to_bits() == b.to_bits(),
        (Value::Vector(a), Value::Vector(b)) => Arc::ptr_eq(a, b),
        (Value::Matrix(a), Value::Matrix(b)) => Arc::ptr_eq(a, b),
        (Value::Array(a), Value::Array(b)) => Arc::ptr_eq(a, b),
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Symbol(a), Value::Symbol(b)) => a == b,
        _ => false,
    }
}

/// Number j into the lane of register j.
fn put(store: &mut Store, first: u32, k: usize, numbers: &[f64]) {
    for (j, x) in numbers.iter().enumerate() {
        store.put(first + j as u32, k, *x);
    }
}
