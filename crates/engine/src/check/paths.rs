//! What single parts of the engine say about densities, for tests that hold every path against the trace.

use smidgen_value::Value;

use crate::error::EvalError;
use crate::section::programs::Programs;
use crate::trace::Trace;
use crate::trace::node::Op;

/// How the rows of plates are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowReading {
    /// One after the other, from the program's text.
    Text,
    /// Side by side, as sections of plates are.
    Lanes,
}

/// An unobserved random choice and its log density.
#[derive(Clone, Debug)]
pub struct ChoiceDensity {
    pub address: u64,
    pub value: Value,
    /// Given its arguments; of a draw from a made procedure, given all its other applications.
    pub log_p: f64,
    /// Whether it is such a draw.
    pub is_draw: bool,
}

/// The log density of each unobserved choice.
pub fn choice_log_densities(trace: &mut Trace) -> Result<Vec<ChoiceDensity>, EvalError> {
    let mut found = Vec::with_capacity(trace.choices().len());
    for id in trace.choices().to_vec() {
        trace.refresh_arguments(id)?;
        let savepoint = trace.savepoint();
        let maker = match trace.node(id).op {
            Op::Draw(maker) => Some(maker),
            _ => None,
        };
        if let Some(maker) = maker {
            trace.refresh_arguments(maker)?;
            let value = trace.node(id).value.clone();
            trace.uncount(maker, &value);
        }
        let log_p = trace.log_density(id);
        trace.rollback_to(savepoint);
        let (address, value) = (trace.address(id), trace.node(id).value.clone());
        found.push(ChoiceDensity { address, value, log_p: log_p?, is_draw: maker.is_some() });
    }
    Ok(found)
}

/// The log joint density, with the rows of plates read in a given way. None if there is no plate.
pub fn log_joint_by_rows(trace: &mut Trace, reading: RowReading) -> Result<Option<f64>, EvalError> {
    let is_plate = |trace: &Trace, id| matches!(trace.node(id).op, Op::Plate(_));
    let ids: Vec<_> = trace.live_nodes().collect();
    if !ids.iter().any(|id| is_plate(trace, *id)) {
        return Ok(None);
    }
    let mut total = 0.0;
    for id in ids {
        trace.refresh_arguments(id)?;
        total += match &trace.node(id).op {
            Op::Plate(plate) => {
                let (nodes, rows) = (trace.parents(id), 0..plate.rows());
                let rows: Vec<u32> = rows.map(|place| plate.members.row(place)).collect();
                trace.with_args(id, |values: &[&Value]| match reading {
                    RowReading::Text => rows
                        .iter()
                        .map(|row| match plate.interpret(trace, &nodes, values, *row as usize) {
                            // An observation with a parameter out of its domain cannot be.
                            Err(error) if error.rejects() => Ok(f64::NEG_INFINITY),
                            log_p => log_p,
                        })
                        .sum::<Result<f64, EvalError>>(),
                    RowReading::Lanes => {
                        let mut log_p = vec![0.0; rows.len()];
                        let args = (&nodes[..], values);
                        trace.plate_log_densities(plate, args, &rows, true, &mut log_p)?;
                        Ok(log_p.iter().sum())
                    }
                })?
            }
            Op::Random(_) => trace.log_density(id)?,
            Op::Maker(made) => {
                let is_latent = made.maker.latent().is_some();
                let latent = if is_latent { trace.log_density(id)? } else { 0.0 };
                latent + trace.log_marginal(id)?
            }
            _ => 0.0,
        };
    }
    Ok(Some(total))
}

/// From now on sections of all kinds that a partition has found are weighed node by node.
pub fn weigh_sections_one_by_one(trace: &mut Trace) {
    let kinds = trace.sections.kinds.len();
    trace.side.get_mut::<Programs>().forgo(kinds);
}
