//! The rows of plates as the trace sees them: their log densities, by their program or, where that comes to no finite
//! number, one by one from the text ([`interpret`]); and outcomes drawn anew ([`predict`]).

pub(crate) mod interpret;
pub(crate) mod predict;
pub(crate) mod walk;

use std::sync::{MutexGuard, PoisonError};

use smidgen_value::Value;

use super::Trace;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::plate::{Plate, PlateScratch, Unclear};

impl Trace {
    pub(crate) fn desk(&self) -> MutexGuard<'_, PlateScratch> {
        // What is on it is of no use to anybody but who wrote it.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets so many threads share a scan of all rows of a plate. What they find does not depend on it.
    pub fn set_threads(&self, threads: usize) {
        self.desk().threads = threads;
    }

    /// log p of all rows of a plate, given the values of its arguments.
    pub(crate) fn plate_log_density(
        &self,
        plate: &Plate,
        nodes: &[NodeId],
        values: &[&Value],
    ) -> Result<f64, EvalError> {
        let mut desk = self.desk();
        let mut numbers = std::mem::take(&mut desk.numbers);
        let fits = plate.flatten(values, &mut numbers);
        let total = if fits { plate.total(&mut desk, &numbers) } else { Err(Unclear(0..0)) };
        desk.numbers = numbers;
        drop(desk);
        let Err(Unclear(places)) = total else { return Ok(total.unwrap_or(0.0)) };
        // What is unclear first, since it decides most often; then everything.
        for place in places.chain(0..plate.rows()) {
            let row = plate.members.row(place) as usize;
            if plate.interpret(self, nodes, values, row)? == f64::NEG_INFINITY {
                return Ok(f64::NEG_INFINITY);
            }
        }
        let mut total = 0.0;
        for place in 0..plate.rows() {
            total += plate.interpret(self, nodes, values, plate.members.row(place) as usize)?;
        }
        Ok(total)
    }

    /// log p of some rows of a plate, given the values of its arguments. Where those were proposed,
    /// one that is out of its domain makes the row impossible.
    pub(crate) fn plate_log_densities(
        &self,
        plate: &Plate,
        (nodes, values): (&[NodeId], &[&Value]),
        rows: &[u32],
        proposed: bool,
        out: &mut [f64],
    ) -> Result<(), EvalError> {
        let mut desk = self.desk();
        let mut numbers = std::mem::take(&mut desk.numbers);
        let fits = plate.flatten(values, &mut numbers);
        let computed = fits && plate.log_densities(&mut desk, &numbers, rows, out).is_ok();
        desk.numbers = numbers;
        drop(desk);
        if !computed {
            for (out, row) in out.iter_mut().zip(rows) {
                *out = match plate.interpret(self, nodes, values, *row as usize) {
                    Err(error) if proposed && error.rejects() => f64::NEG_INFINITY,
                    log_p => log_p?,
                };
            }
        }
        Ok(())
    }
}
