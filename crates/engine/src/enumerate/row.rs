//! What a row brings to the program of its candidates: numbers that are the same for all lanes.
//!
//! Where all of them but the outcomes are constants, they are kept beside the plan: they lie together, so memory
//! is asked once for them, not for every vector on its own.

use super::columns::ClusterColumns;
use super::plan::{KeptRow, Plan};
use super::written::RowPlace;
use crate::program::form::Form;
use crate::trace::Trace;

impl ClusterColumns {
    /// Reads what a row brings; false if it has another form than the program was written for, which is the
    /// one of this number.
    pub(super) fn load(&mut self, trace: &Trace, plan: &Plan, program: u32) -> bool {
        let loaded = self.load_numbers(trace, plan, program);
        if let (true, Some(uniform)) = (loaded, &self.written.uniform) {
            self.is_finite = uniform.compute(&mut self.uniform, &mut self.row);
        }
        loaded
    }

    fn load_numbers(&mut self, trace: &Trace, plan: &Plan, program: u32) -> bool {
        match plan.row.get() {
            Some(kept) if kept.program == program => {
                self.row.clear();
                self.row.extend_from_slice(&kept.numbers);
                self.load_outcomes(trace, plan)
            }
            _ => {
                let loaded = self.load_all(trace, plan);
                if loaded && plan.row.get().is_none() && self.is_constant(plan) {
                    let kept = KeptRow { program, numbers: self.row.as_slice().into() };
                    plan.row.get_or_init(|| kept);
                }
                loaded
            }
        }
    }

    fn load_all(&mut self, trace: &Trace, plan: &Plan) -> bool {
        self.row.clear();
        let ClusterColumns { written, row, .. } = self;
        written.row.iter().all(|leaf| leaf.form.numbers(leaf.place.value(trace, plan), row))
            && written
                .pinned
                .iter()
                .all(|pinned| pinned.place.value(trace, plan).is_identical(&pinned.value))
    }

    /// Whether what a row brings stays as it is, but for outcomes.
    fn is_constant(&self, plan: &Plan) -> bool {
        let is_constant = |place: RowPlace, may_change: bool| match place {
            RowPlace::Operand(at) => plan.operands[at as usize].constant().is_some(),
            RowPlace::Outcome(_) => may_change,
        };
        self.written.row.iter().all(|leaf| is_constant(leaf.place, true))
            && self.written.pinned.iter().all(|pinned| is_constant(pinned.place, false))
    }

    fn load_outcomes(&mut self, trace: &Trace, plan: &Plan) -> bool {
        let ClusterColumns { written, row, numbers, .. } = self;
        for leaf in &written.row {
            let RowPlace::Outcome(place) = leaf.place else { continue };
            let (first, id) = (leaf.first as usize, plan.absorbing[place as usize]);
            match (leaf.form, trace.numbers[id.index()]) {
                (Form::Number, x) if !x.is_nan() => row[first] = x,
                (form, _) => {
                    numbers.clear();
                    if !form.numbers(&trace.node(id).value, numbers) {
                        return false;
                    }
                    row[first..first + numbers.len()].copy_from_slice(numbers);
                }
            }
        }
        true
    }
}
