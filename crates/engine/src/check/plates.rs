//! Plates: their rows as a program computes them are the rows as the text says.

use smidgen_value::Value;

use super::{Check, ensure, named};
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::Op;

/// Rows of each plate that are looked at.
const ROWS: usize = 64;

pub(super) fn check_plates(trace: &Trace) -> Check {
    for id in trace.live_nodes() {
        let node = trace.node(id);
        let Op::Plate(plate) = &node.op else { continue };
        let fresh = |arg: &Operand| arg.node().is_some_and(|parent| !trace.is_stale(parent));
        ensure(node.constrained && plate.rows() > 0, || {
            format!("a plate is observed and has rows: {}", named(trace, id))
        })?;
        if !node.args.iter().all(|arg| fresh(&arg.operand)) {
            continue;
        }
        let nodes = trace.parents(id);
        let values: Vec<&Value> =
            node.args.iter().map(|arg| trace.settled_value(&arg.operand)).collect();
        let rows: Vec<u32> =
            (0..plate.rows().min(ROWS)).map(|place| plate.members.row(place)).collect();
        let mut found = vec![0.0; rows.len()];
        let computed = trace.plate_log_densities(plate, (&nodes, &values), &rows, true, &mut found);
        for (row, found) in rows.iter().zip(&found) {
            let wanted = plate.interpret(trace, &nodes, &values, *row as usize);
            let (Ok(()), Ok(wanted)) = (&computed, wanted) else { continue };
            // Relative to the smaller of the two: −∞ is close to nothing else.
            let size = 1.0 + wanted.abs().min(found.abs());
            let close = *found == wanted || (found - wanted).abs() <= 1e-9 * size;
            ensure(close, || {
                format!("row {row} of {} is {found}, its text says {wanted}", named(trace, id))
            })?;
        }
    }
    Ok(())
}
