//! What nodes hold beside a value: tables of memoised procedures, statistics of made ones.

use smidgen_prob::Statistics;
use smidgen_value::Value;

use super::Trace;
use super::journal::Edit;
use super::node::{Made, MemoTable, Op};
use crate::id::NodeId;

impl Trace {
    pub(crate) fn memo(&self, id: NodeId) -> &MemoTable {
        match &self.node(id).op {
            Op::Memo(table) => table,
            _ => unreachable!("a memoised procedure names its memo node"),
        }
    }

    pub(crate) fn memo_mut(&mut self, id: NodeId) -> &mut MemoTable {
        self.memo_edits += 1;
        match &mut self.node_mut(id).op {
            Op::Memo(table) => table,
            _ => unreachable!("a memoised procedure names its memo node"),
        }
    }

    pub fn statistics(&self, maker: NodeId) -> &dyn Statistics {
        match &self.node(maker).op {
            Op::Maker(made) => &*made.statistics,
            _ => unreachable!("a made procedure names its maker"),
        }
    }

    pub(crate) fn statistics_mut(&mut self, maker: NodeId) -> &mut dyn Statistics {
        &mut *self.made_mut(maker).statistics
    }

    /// What a maker made, to be changed.
    pub(crate) fn made_mut(&mut self, maker: NodeId) -> &mut Made {
        let stamp = self.next_stamp();
        match &mut self.node_mut(maker).op {
            Op::Maker(made) => {
                made.stamp = stamp;
                made
            }
            _ => unreachable!("a made procedure names its maker"),
        }
    }

    /// See [`Made::stamp`].
    pub(crate) fn next_stamp(&mut self) -> u64 {
        self.stamps += 1;
        self.stamps
    }

    /// Calls `f` with the parameters of what a maker made: its arguments, or its latent value.
    pub(crate) fn with_params<R>(&self, maker: NodeId, f: impl FnOnce(&[&Value]) -> R) -> R {
        match &self.node(maker).op {
            Op::Maker(made) if made.maker.latent().is_some() => f(&[&self.node(maker).value]),
            _ => self.with_args(maker, f),
        }
    }

    /// Calls `f` with the parameters of what a maker made while one of its applications is not counted. Its
    /// statistics are exact: nothing has changed afterwards, also not their stamp.
    pub(crate) fn with_uncounted<R>(
        &mut self,
        maker: NodeId,
        value: &Value,
        f: impl FnOnce(&Trace, &[&Value]) -> R,
    ) -> R {
        self.unstamped(maker).remove(value);
        let result = self.with_params(maker, |params| f(self, params));
        self.unstamped(maker).add(value);
        result
    }

    fn unstamped(&mut self, maker: NodeId) -> &mut dyn Statistics {
        match &mut self.node_mut(maker).op {
            Op::Maker(made) => &mut *made.statistics,
            _ => unreachable!("a made procedure names its maker"),
        }
    }

    /// Counts an application in the statistics of its maker.
    pub(crate) fn count(&mut self, maker: NodeId, value: &Value) {
        self.journal_statistics(maker, || Edit::Counted(maker, value.clone()));
        self.statistics_mut(maker).add(value);
    }

    pub(crate) fn uncount(&mut self, maker: NodeId, value: &Value) {
        self.journal_statistics(maker, || Edit::Uncounted(maker, value.clone()));
        self.statistics_mut(maker).remove(value);
    }

    fn journal_statistics(&mut self, maker: NodeId, inverse: impl FnOnce() -> Edit) {
        let statistics = self.statistics(maker);
        let edit = match statistics.is_exact() {
            true => inverse(),
            false => Edit::Statistics(maker, statistics.copy()),
        };
        self.journal.push(edit);
    }
}
