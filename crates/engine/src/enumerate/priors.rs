//! The values that a choice can take, and their log prior densities while it is not counted in any statistics.

use smidgen_prob::relist;
use smidgen_value::Value;

use super::dry_run::DryRun;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::proposal::Choice;

impl DryRun {
    /// Finds the values that the choice can take and their log prior densities, while it is not counted.
    /// Gives the place of the current value, if it is among them, and its log prior density.
    pub(super) fn read_priors(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
    ) -> Option<(Option<usize>, f64)> {
        let DryRun { candidates, log_priors, .. } = self;
        if !trace.has_fault(Fault::StaleArguments) {
            trace.refresh_arguments(id).ok()?;
        }
        let current = match trace.numbers[id.index()] {
            x if x.is_nan() => trace.node(id).value.clone(),
            x => Value::Number(x),
        };
        let Some(maker) = self.own_maker else {
            relist(candidates, Choice { trace, node: id }.enumerate().ok()?);
            log_priors.clear();
            for value in candidates.iter() {
                log_priors.push(trace.log_density_at(id, value).ok()?);
            }
            return match place(candidates, &current) {
                Some(place) => Some((Some(place), log_priors[place])),
                None => Some((None, trace.log_density_at(id, &current).ok()?)),
            };
        };
        trace.refresh_arguments(maker).ok()?;
        if !trace.statistics(maker).is_exact() {
            return None;
        }
        trace.with_uncounted(maker, &current, |trace, params| {
            let statistics = trace.statistics(maker);
            let finite = statistics.enumerate_weighed(&current, params, candidates, log_priors);
            if !finite.ok()? {
                return None;
            }
            match place(candidates, &current) {
                Some(place) => Some((Some(place), log_priors[place])),
                None => Some((None, statistics.log_predictive(&current, params).ok()?)),
            }
        })
    }
}

/// Where a value stands among the candidates.
fn place(candidates: &[Value], value: &Value) -> Option<usize> {
    let Value::Number(sought) = value else {
        return candidates.iter().position(|candidate| candidate == value);
    };
    candidates.iter().position(|candidate| match candidate {
        Value::Number(x) => x == sought,
        other => other == value,
    })
}
