//! Fresh evaluation: a trace that was moved about is the trace that the program, run from its text with
//! the same choices, brings about.
//!
//! The choices of the one, observed ones included, are given to the other by their addresses before its
//! first directive ([`Choices::give`]); then the same directives are run. A choice that is asked for and
//! was not given is an error there: the structures differ. At the end [`same`] compares what exists, all
//! values to the bit, and the log joint densities. Nothing is written to the trace that is looked at: stale values are
//! refreshed in a copy.

use rustc_hash::FxHashMap;
use smidgen_value::{State, Value};

use super::dump::dump_without_history;
use crate::model::Model;
use crate::trace::Trace;
use crate::trace::script::Given;

/// How far two log joint densities may lie apart, relative to 1 and to their size: statistics that are kept step by
/// step round otherwise than those of a fresh run.
const TOLERANCE: f64 = 1e-8;

/// The values of all random choices by their addresses.
pub struct Choices(FxHashMap<u64, Value>);

impl Choices {
    /// None if two choices that differ share an address, so that no run can be told which is which.
    pub fn of(trace: &Trace) -> Option<Choices> {
        let mut values: FxHashMap<u64, Value> = FxHashMap::default();
        for id in trace.live_nodes().filter(|id| trace.node(*id).is_random()) {
            let node = trace.node(id);
            let other = values.insert(node.address, node.value.clone());
            if other.is_some_and(|other| !other.is_identical(&node.value)) {
                return None;
            }
        }
        Some(Choices(values))
    }

    /// The same but for a choice that takes another value.
    pub fn put(&mut self, address: u64, value: Value) {
        self.0.insert(address, value);
    }

    /// What the model evaluates from now on takes its choices from these instead of drawing.
    pub fn give(self, model: &mut Model) {
        let state = State::new(self.0.into_iter().collect()).expect("an address has one value");
        model.trace_mut().given = Some(Box::new(Given { state, is_whole: true }));
    }
}

/// Whether two models hold the same: nodes and families by their addresses, values, log joint density.
pub fn same(moved: &Model, fresh: &Model) -> Result<(), String> {
    let (mut moved, mut fresh) = (moved.copy(0), fresh.copy(0));
    let (a, b) = (refreshed(&mut moved)?, refreshed(&mut fresh)?);
    if a != b {
        let only = |a: &[String], b: &[String]| {
            let lines: Vec<String> =
                a.iter().filter(|line| b.binary_search(line).is_err()).cloned().collect();
            lines.join("\n  ")
        };
        return Err(format!(
            "a run from the text differs. The trace has\n  {}\nthe run\n  {}",
            only(&a, &b),
            only(&b, &a)
        ));
    }
    let joint = |model: &mut Model| model.log_joint().map_err(|error| error.to_string());
    let (a, b) = (joint(&mut moved)?, joint(&mut fresh)?);
    // Relative to the smaller of the two: −∞ is close to nothing else.
    let close = a == b || (a - b).abs() <= TOLERANCE * (1.0 + a.abs().min(b.abs()));
    if close {
        Ok(())
    } else {
        Err(format!("the log joint density is {a}, of a run from the text {b}"))
    }
}

fn refreshed(model: &mut Model) -> Result<Vec<String>, String> {
    let trace = model.trace_mut();
    for id in trace.live_nodes().collect::<Vec<_>>() {
        trace.refresh(id).map_err(|error| error.to_string())?;
    }
    Ok(dump_without_history(trace))
}
