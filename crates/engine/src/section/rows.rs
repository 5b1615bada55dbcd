//! Log weights of the rows of a plate, each of which is a section.

use smallvec::SmallVec;
use smidgen_value::Value;

use super::Evaluator;
use super::component::is_deterministic;
use crate::error::EvalError;
use crate::id::NodeId;
use crate::plate::Members;
use crate::trace::Trace;
use crate::trace::node::Op;

/// What the nodes around a plate are on both sides.
pub(super) struct MovedPlate {
    plate: NodeId,
    nodes: SmallVec<[NodeId; 4]>,
    before: Vec<Value>,
    /// None if one of them cannot be computed after the move.
    after: Option<Vec<Value>>,
    /// What the rows read of both, if that can be computed.
    globals: Option<[Vec<f64>; 2]>,
}

impl Evaluator {
    /// The log weights of rows of a plate.
    pub(crate) fn plate_log_weights(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        places: &[u32],
        weights: &mut [f64],
    ) -> Result<(), EvalError> {
        let known = self.plates.iter().position(|moved| moved.plate == id);
        let moved = match known {
            Some(k) => k,
            None => self.move_plate(trace, id)?,
        };
        let Evaluator { plates, rows, log_before, touched, .. } = self;
        let moved = &plates[moved];
        let Op::Plate(plate) = &trace.node(id).op else { unreachable!("asked for a plate") };
        *touched += places.len() as u64;
        let Some(after) = &moved.after else {
            weights.fill(f64::NEG_INFINITY);
            return Ok(());
        };
        // Mostly the places are the rows.
        let rows = match &plate.members {
            Members::Range(range) if range.start == 0 => places,
            members => {
                rows.clear();
                rows.extend(places.iter().map(|place| members.row(*place as usize)));
                rows
            }
        };
        if let Some([before, after]) = &moved.globals {
            let mut desk = trace.desk();
            if plate.log_ratios(&mut desk, [before, after], rows, weights) {
                return Ok(());
            }
        }
        log_before.clear();
        log_before.resize(places.len(), 0.0);
        let values: SmallVec<[&Value; 4]> = after.iter().collect();
        trace.plate_log_densities(plate, (&moved.nodes, &values), rows, true, weights)?;
        let values: SmallVec<[&Value; 4]> = moved.before.iter().collect();
        trace.plate_log_densities(plate, (&moved.nodes, &values), rows, false, log_before)?;
        for (weight, before) in weights.iter_mut().zip(log_before) {
            *weight = match *before == f64::NEG_INFINITY {
                true if *weight > f64::NEG_INFINITY => f64::INFINITY,
                true => *weight,
                false => *weight - *before,
            };
        }
        Ok(())
    }

    /// Finds what a move has made of the nodes around a plate.
    fn move_plate(&mut self, trace: &mut Trace, id: NodeId) -> Result<usize, EvalError> {
        let nodes = trace.parents(id);
        let (mut before, mut after) = (Vec::new(), Some(Vec::new()));
        for node in &nodes {
            if self.global(*node).is_none() && is_deterministic(trace.node(*node)) {
                self.move_hub(trace, *node)?;
            }
            let (old, new) = match self.global(*node) {
                Some(moved) => (moved.before.clone(), moved.after.clone()),
                None => (trace.node(*node).value.clone(), Some(trace.node(*node).value.clone())),
            };
            before.push(old);
            after = after.zip(new).map(|(mut values, new)| {
                values.push(new);
                values
            });
        }
        let Op::Plate(plate) = &trace.node(id).op else { unreachable!("asked for a plate") };
        let mut desk = trace.desk();
        let mut globals = |values: &[Value]| {
            let values: SmallVec<[&Value; 4]> = values.iter().collect();
            plate.globals(&mut desk, &values)
        };
        let old = globals(&before);
        let globals = old.zip(after.as_deref().and_then(globals)).map(<[Vec<f64>; 2]>::from);
        self.plates.push(MovedPlate { plate: id, nodes, before, after, globals });
        Ok(self.plates.len() - 1)
    }
}
