//! Clusters that are not there: what memo tables do not have for a candidate is made aside, and its numbers
//! are put into the candidate's lane for the row at hand. It is drawn from the streams that a whole proposal
//! for the candidate would draw from.

use smallvec::SmallVec;
use smidgen_value::Value;

use super::columns::ClusterColumns;
use super::dry_run::{Bench, DryRun, Task};
use crate::trace::Trace;

impl DryRun {
    /// Makes the families that memo tables do not have for a candidate, and gives it their numbers; tells how
    /// many choices that makes. None if they do not fit.
    pub(super) fn make_aside(
        &mut self,
        trace: &mut Trace,
        task: Task<'_>,
        columns: &mut ClusterColumns,
        (absent, k): (&[usize], usize),
    ) -> Option<usize> {
        let lookups = &task.plan.shape.lookups;
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        self.make_again(trace, task, (absent, k), &mut values)?;
        if values.len() < absent.len() {
            values.clear();
            self.begin(task.plan, task.principal, (task.seed, k));
            let key = self.candidates[k].clone();
            for lookup in absent.iter().map(|lookup| &lookups[*lookup]) {
                let asks = task.plan.plan.target[lookup.asks as usize];
                let key = std::slice::from_ref(&key);
                let mut bench = Bench { dry_run: self, plan: task.plan };
                values.push(bench.expand(trace, asks, None, |bench, trace| {
                    bench.make_family(trace, lookup.memo, key, None)
                })?);
            }
        }
        let plan = task.plan.plan;
        for (lookup, value) in absent.iter().zip(&values) {
            columns.put_aside(plan, (*lookup, k), value, &self.brush).then_some(())?;
        }
        Some(self.brush.choices)
    }

    /// The same for bodies that are known from before; fewer values if some are not.
    fn make_again(
        &mut self,
        trace: &Trace,
        task: Task<'_>,
        (absent, k): (&[usize], usize),
        values: &mut SmallVec<[Value; 4]>,
    ) -> Option<()> {
        let DryRun { brush, candidates, .. } = self;
        let shape = task.plan.shape;
        if shape.tagged {
            return Some(());
        }
        brush.begin((task.seed, k as u64));
        let key = std::slice::from_ref(&candidates[k]);
        for lookup in absent.iter().map(|lookup| &shape.lookups[*lookup]) {
            let Some(made) = brush.make_again(trace, lookup.memo, key) else { break };
            values.push(made?);
        }
        Some(())
    }
}
