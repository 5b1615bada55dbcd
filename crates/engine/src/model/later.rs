//! Predictions that wait until they are recorded.
//!
//! `[predict (size (unique (map z (range 0 200))))]` stands below every z: kept in the trace, it would be computed by each of their
//! moves, and for each value that a move weighs. What only computes something from what is there is evaluated when it is
//! recorded instead, as `--record` is. The numbers are the same if it can neither stop the program nor bring anything about: if all
//! that was made for it is functions that have a value for whatever they are given ([`crate::total`]), and branches whose both sides
//! are that. The rows of memoised
//! procedures that it asks for stay with it, so what exists is the same too.

use smidgen_value::{Rng, Value};

use super::{Code, Model, Predicted, RecordKind};
use crate::error::EvalError;
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::smooth::branch;
use crate::trace::eval::Evaluation;
use crate::trace::journal::{Edit, Savepoint};
use crate::trace::node::Op;

/// What became of a prediction that may wait.
pub enum Prediction {
    Kept(Predicted),
    /// Of this number and with this value now.
    Waits {
        number: u64,
        value: Value,
    },
}

impl Model {
    /// As [`Model::predict`], but what can wait leaves the trace again. Whoever asks evaluates the expression when it is wanted.
    pub fn predict_later(
        &mut self,
        code: Code<'_>,
        label: Option<String>,
        rng: &mut Rng,
    ) -> Result<Prediction, EvalError> {
        self.check_label(label.as_deref(), code.expr.span)?;
        let savepoint = self.trace.savepoint();
        let (family, root, ..) =
            self.persist(rng, |model, rng| model.evaluate(code, rng, false, None))?;
        let value = self.trace.settled_value(&root).clone();
        let number = self.next_number;
        if !self.only_computes(savepoint) {
            self.record(label, RecordKind::Predict, root.clone(), family, code.expr);
            return Ok(Prediction::Kept(Predicted { number, root, value }));
        }
        let rows = self.trace.families[family.index()].requests.iter().map(|(_, row)| *row);
        let rows: Vec<FamilyId> = rows.collect();
        self.trace.rollback_to(savepoint);
        let mut cx = Evaluation::of_directive(rng, FamilyId::NONE, false);
        let (family, root) = self.trace.in_new_family(
            &mut cx,
            (Default::default(), self.next_address),
            |trace, cx| {
                for row in rows {
                    trace.acquire(row);
                    trace.note_request(row, cx);
                }
                Ok(Operand::Constant(Value::Nil))
            },
        )?;
        // Addresses go on as if it were kept.
        self.next_address += u64::from(family.is_none());
        self.record(label, RecordKind::Predict, root, family, code.expr);
        Ok(Prediction::Waits { number, value })
    }

    /// Whether something was made since then, and all of it is functions that cannot stop, and branches between such functions.
    fn only_computes(&mut self, since: Savepoint) -> bool {
        let mut made: Vec<NodeId> = Vec::new();
        let is_harmless = |edit: &Edit| match edit {
            Edit::NodeAdded(id) => {
                made.push(*id);
                true
            }
            // Rows that are made for it hold choices of their own.
            Edit::FamilyAdded(family) => self.trace.families[family.index()].memo.is_none(),
            Edit::Acquired(_) | Edit::Requested(_) | Edit::Value(..) => true,
            _ => false,
        };
        let is_harmless = self.trace.edits(since).iter().all(is_harmless);
        let trace = &mut self.trace;
        let mut computes = |id: &NodeId| match &trace.node(*id).op {
            Op::Function(_) => trace.is_total(*id),
            Op::Structure(_) => branch::is_plain(trace, *id),
            _ => false,
        };
        is_harmless && !made.is_empty() && made.iter().all(&mut computes)
    }
}
