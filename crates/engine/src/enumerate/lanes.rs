//! All candidates of a row at once: the program of a shape run over its lanes.
//!
//! A lane says nothing (NaN) where something in it has another form, is stale or is not finite; such a
//! candidate is weighed on boxed values ([`super::boxed`]).

use smallvec::SmallVec;
use smidgen_value::Value;

use super::cell::{Cell, Copied};
use super::columns::ClusterColumns;
use super::kept::Root;
use super::plan::{CandidateRole, Plan, Planned, score};
use super::written::{CandidateProgram, RowPlace};
use crate::id::NodeId;
use crate::program::Source;
use crate::program::predict::Student;
use crate::program::run::{Block, Linear};
use crate::trace::Trace;

/// What is to be weighed.
pub(super) struct Lineup<'a> {
    pub candidates: &'a [Value],
    /// The candidate that is the current state, if it is to be weighed by what stays when it goes.
    pub current: Option<usize>,
    /// Makers that have lost an application of the current state.
    pub left: &'a [NodeId],
    /// Whether the nodes carry marks of this choice's scaffold.
    pub is_marked: bool,
}

impl ClusterColumns {
    /// Σ_A and the observed applications of T_k of all candidates, for the row that was loaded, after
    /// the columns were prepared. NaN where a lane says nothing.
    pub(super) fn weigh(
        &mut self,
        trace: &Trace,
        planned: Planned<'_>,
        lineup: &Lineup<'_>,
        log_absorbed: &mut [f64],
    ) {
        if !self.is_finite
            || !self.distinct
            || !lineup.is_marked && self.reads_any(&planned.plan.target)
        {
            return;
        }
        self.run(lineup.candidates.len());
        if !self.written.predictions.is_empty() {
            let students = self.admitted();
            self.predict_boxed(trace, planned.plan, lineup, &students);
            if let Some(current) = lineup.current {
                self.predict_without_one(trace, planned.plan, current, &students);
            }
        }
        self.sum_terms(log_absorbed);
        if !lineup.is_marked && lineup.left.is_empty() {
            return;
        }
        let lanes = log_absorbed.len();
        for cells in self.cells.chunks_exact(self.stride) {
            for (log_absorbed, cell) in log_absorbed.iter_mut().zip(&cells[..lanes]) {
                if !cell.counts(trace, lineup) {
                    *log_absorbed = f64::NAN;
                }
            }
        }
    }

    /// The sum of the terms in each lane, NaN where that or something on the way is not finite, or where numbers do
    /// not fit.
    fn sum_terms(&self, out: &mut [f64]) {
        let CandidateProgram { program, checked, .. } = &self.written;
        self.store.sum_checked([&program.terms, checked], &self.misfits, out);
    }

    /// Computes all lanes.
    fn run(&mut self, candidates: usize) {
        let ClusterColumns { written, store, row, .. } = self;
        let program = &written.program;
        let lanes = written.lanes(candidates);
        for leaf in &program.leaves {
            let Source::Global(first) = leaf.source else { continue };
            if leaf.register == u32::MAX {
                continue;
            }
            for k in 0..leaf.len {
                store.lanes_mut(leaf.register + k, lanes).fill(row[(first + k) as usize]);
            }
        }
        let weights = |leaf: u32| {
            let leaf = &program.leaves[leaf as usize];
            match leaf.source {
                Source::Global(first) => &row[first as usize..(first + leaf.len) as usize],
                _ => &[],
            }
        };
        let linear = Linear { weights: &weights, data: &|_| Block::Lanes(&[]) };
        store.run(program, lanes, &linear);
    }

    /// Predictives that are read from statistics, one at a time: where these offer no numbers, or the outcome
    /// is too large for them.
    fn predict_boxed(
        &mut self,
        trace: &Trace,
        plan: &Plan,
        lineup: &Lineup<'_>,
        students: &[Option<Student>],
    ) {
        let ClusterColumns { written, store, stride, cells, .. } = self;
        for (prediction, student) in written.predictions.iter().zip(students) {
            if student.is_some() {
                continue;
            }
            let typed = RowPlace::Operand(prediction.typed).value(trace, plan);
            for k in (0..lineup.candidates.len()).filter(|k| Some(*k) != lineup.current) {
                let cell = &cells[prediction.lookup * *stride + k];
                let log_p = match (cell.applied(), &cell.copied) {
                    (Some(maker), _) => {
                        score(trace, maker, typed, prediction.maker, CandidateRole::Other)
                    }
                    // It was read when it was made.
                    (None, Copied::Aside(_)) if prediction.student.is_none() => continue,
                    _ => None,
                };
                store.put(prediction.term, k, log_p.unwrap_or(f64::NAN));
            }
        }
    }

    /// The current state's applications are counted: each is scored given the others.
    fn predict_without_one(
        &mut self,
        trace: &Trace,
        plan: &Plan,
        current: usize,
        students: &[Option<Student>],
    ) {
        let ClusterColumns { written, store, stride, cells, .. } = self;
        for (prediction, student) in written.predictions.iter().zip(students) {
            let by_numbers =
                student.and_then(|student| student.without_one(store, prediction.term, current));
            let maker = cells[prediction.lookup * *stride + current].applied();
            let log_p = by_numbers.or_else(|| {
                let typed = RowPlace::Operand(prediction.typed).value(trace, plan);
                score(trace, maker?, typed, prediction.maker, CandidateRole::Current)
            });
            store.put(prediction.term, current, log_p.unwrap_or(f64::NAN));
        }
    }

    /// By prediction: its numbers, if there are some and the outcome is one that they are for.
    fn admitted(&self) -> SmallVec<[Option<Student>; 2]> {
        let admitted = |student: &Student| Student::admits(self.uniform(student.x));
        self.written.predictions.iter().map(|p| p.student.filter(admitted)).collect()
    }

    /// The numbers of a leaf that is the same for all lanes.
    fn uniform(&self, leaf: u32) -> &[f64] {
        let leaf = &self.written.program.leaves[leaf as usize];
        match leaf.source {
            Source::Global(first) => &self.row[first as usize..(first + leaf.len) as usize],
            _ => &[],
        }
    }

    /// The makers that a candidate applies.
    pub(super) fn makers(&self, k: usize) -> impl Iterator<Item = NodeId> {
        let cell = move |lookup: usize| &self.cells[lookup * self.stride + k];
        let predictions = self.written.predictions.iter();
        predictions.filter_map(move |prediction| cell(prediction.lookup).applied())
    }
}

impl Cell {
    /// Whether the numbers in the lane are those of the candidate.
    #[inline]
    fn counts(&self, trace: &Trace, lineup: &Lineup<'_>) -> bool {
        let maker = self.applied();
        if !self.fits || maker.is_some_and(|maker| lineup.left.contains(&maker)) {
            return false;
        }
        if !lineup.is_marked {
            return true;
        }
        if maker.is_some_and(|maker| trace.role(maker).is_some()) {
            return false;
        }
        match self.root {
            Some(Root::Node(family, id)) => trace.role(id).is_none() && !trace.is_transient(family),
            Some(Root::Constant(family)) => !trace.is_transient(family),
            Some(Root::Absent) => true,
            None => false,
        }
    }
}
