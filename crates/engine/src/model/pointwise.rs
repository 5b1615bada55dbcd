//! The log likelihood of single observations.
//!
//! log p(y_i | what it depends on), for every row of a loop by itself, whether the rows are one plate or nodes of
//! their own. Observed draws from a collapsed procedure have none: what they share is integrated out, so that their
//! joint density is no product of terms.

use super::Model;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::node::Op;
use crate::trace::observe::Referent;

impl Model {
    /// The number that the record of the next directive will have.
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// The log density of what an observation has seen: of a loop that was observed at once every row with its
    /// number, in any order; otherwise a single one, without a number.
    pub fn log_likelihood_of(
        &mut self,
        number: u64,
        each: &mut dyn FnMut(Option<u32>, f64),
    ) -> Result<(), EvalError> {
        let place = self.records.binary_search_by_key(&number, |record| record.number);
        let Ok(place) = place else { return Ok(()) }; // forgotten
        let record = &self.records[place];
        if let Some(plates) = record.plates.clone() {
            return plates.nodes().try_for_each(|id| self.log_likelihood_of_plate(id, each));
        }
        let Referent::Choice(id) = self.trace.referent(&record.root) else { return Ok(()) };
        if let Op::Draw(maker) = self.trace.node(id).op {
            let name = self.trace.maker_name(maker);
            let message = format!(
                "what {name} made has no log likelihood by observation: its draws share what is integrated out"
            );
            let hint = "use an uncollapsed procedure (make_uc_...), or choices that the program makes itself";
            return Err(EvalError::other(self.trace.node(id).origin, message).hint(hint));
        }
        self.trace.refresh_arguments(id)?;
        each(None, self.trace.log_density(id)?);
        Ok(())
    }

    fn log_likelihood_of_plate(
        &mut self,
        id: NodeId,
        each: &mut dyn FnMut(Option<u32>, f64),
    ) -> Result<(), EvalError> {
        if !self.trace.node(id).is_live() {
            return Ok(());
        }
        self.trace.refresh_arguments(id)?;
        let trace = &self.trace;
        let Op::Plate(plate) = &trace.node(id).op else { return Ok(()) };
        let nodes = trace.parents(id);
        let rows: Vec<u32> = (0..plate.rows()).map(|place| plate.members.row(place)).collect();
        let mut log_p = vec![0.0; rows.len()];
        trace.with_args(id, |values| {
            trace.plate_log_densities(plate, (&nodes, values), &rows, true, &mut log_p)
        })?;
        rows.iter().zip(log_p).for_each(|(row, log_p)| each(Some(*row), log_p));
        Ok(())
    }
}
