//! Predictive draws of the rows of a plate: an outcome for each, from its law given the nodes around the plate as they are.

use smidgen_value::{Rng, Value};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::plate::{Plate, PlateScratch, begin};
use crate::trace::Trace;
use crate::trace::node::Op;

impl Plate {
    /// Outcomes of all rows, drawn by the program: the very draws that they would be one by one. None if it cannot draw them.
    fn draw(
        &self,
        scratch: &mut PlateScratch,
        values: &[&Value],
        rng: &mut Rng,
    ) -> Option<Vec<Value>> {
        let program = &*self.program;
        let mut numbers = Vec::new();
        let (globals, store) = scratch.parts();
        if !self.flatten(values, &mut numbers) || !begin(&program.prelude, globals, &numbers) {
            return None;
        }
        program.rows.fit(store);
        program.rows.begin(store, &globals.values);
        let (n, stride) = (self.rows(), program.rows.stride());
        let mut drawn = Vec::with_capacity(n);
        for start in (0..n).step_by(stride) {
            let (pick, lanes) = (self.members.pick(start), stride.min(n - start));
            program.rows.load(store, &globals.values, pick, lanes);
            let outcomes = program.rows.sample(store, &globals.values, (pick, lanes), rng).ok()?;
            for lane in 0..lanes {
                let entries = outcomes[lane..].iter().step_by(lanes).copied();
                let value = match outcomes.len() / lanes {
                    1 => Value::Number(outcomes[lane]),
                    _ => Value::vector(entries.collect::<Vec<_>>()),
                };
                drawn.push(program.distribution.admit(&value).ok()?);
            }
        }
        Some(drawn)
    }
}

/// An outcome drawn for a row.
#[derive(Clone, Debug)]
pub struct DrawnRow {
    pub plate: NodeId,
    pub row: u32,
    pub value: Value,
}

impl Trace {
    /// An outcome for each row of each plate, from its law given the values around it as they are.
    pub fn draw_rows(&mut self, rng: &mut Rng) -> Result<Vec<DrawnRow>, EvalError> {
        let mut all = Vec::new();
        for id in self.live_nodes().collect::<Vec<_>>() {
            if matches!(self.node(id).op, Op::Plate(_)) {
                self.refresh_arguments(id)?;
                self.draw_plate(id, rng, &mut all)?;
            }
        }
        Ok(all)
    }

    fn draw_plate(
        &self,
        id: NodeId,
        rng: &mut Rng,
        all: &mut Vec<DrawnRow>,
    ) -> Result<(), EvalError> {
        let Op::Plate(plate) = &self.node(id).op else { return Ok(()) };
        let nodes = self.parents(id);
        self.with_args(id, |values| {
            let rows = (0..plate.rows()).map(|place| plate.members.row(place));
            let before = rng.place();
            if let Some(drawn) = plate.draw(&mut self.desk(), values, rng) {
                let drawn = rows.zip(drawn).map(|(row, value)| DrawnRow { plate: id, row, value });
                all.extend(drawn);
                return Ok(());
            }
            rng.go_back(before);
            for row in rows {
                let value = plate.draw_row(self, &nodes, values, row as usize, rng)?;
                all.push(DrawnRow { plate: id, row, value });
            }
            Ok(())
        })
    }
}
