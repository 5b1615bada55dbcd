//! What a subsampled transition would read, and why not less.

use smidgen_engine::EvalError;

use super::{Policy, SubsampledMh};
use crate::acceptance::Exactness;
use crate::austerity::Schedule;
use crate::explain::predict::{GROWTH, Test, predict};
use crate::explain::{Explanation, Look, advice, blocks};
use crate::trial;

pub fn explain(kernel: &mut SubsampledMh, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
    let target = kernel.target.clone();
    let (test, by_kind) = test(&kernel.policy);
    let is_exact = matches!(kernel.policy, Policy::Exact);
    let SubsampledMh { proposer, partition, .. } = kernel;
    let mut explanation = blocks::explain(look, &target, &mut |look, principals, block| {
        block.reads_sections =
            block.refusal.is_none() && !is_exact && block.population > test.schedule.first;
        let worth_a_trial = block.population > test.schedule.first.min(trial::FEW);
        if block.refusal.is_none()
            && worth_a_trial
            && partition.find(look.trace, principals).is_ok()
        {
            let found = predict(look, principals, partition, &mut **proposer, test)?;
            block.prediction = Some(found);
        }
        block.advice = advice::subsampled(block, &test, by_kind);
        Ok(())
    })?;
    match &kernel.policy {
        Policy::Trial(_) => explanation.notes.push(
            "auto is on trial at this state: decisions are exact until it has seen enough of them to choose batch and epsilon".to_owned(),
        ),
        Policy::Test { test, .. } if test.exactness() == Exactness::Exact => {
            explanation.notes.push("epsilon 0: every decision reads all sections".to_owned());
        }
        Policy::Test { .. } | Policy::Exact => {}
    }
    if by_kind {
        explanation.notes.push("the prediction is for draws from all sections alike; 'stratified reads less if the kinds differ".to_owned());
    }
    Ok(explanation)
}

/// How decisions are made now, and whether sections are drawn by kind.
fn test(policy: &Policy) -> (Test, bool) {
    match policy {
        Policy::Test { test, schedule, epsilon } => {
            let by_kind = test.requirements().strata;
            (Test { schedule: *schedule, epsilon: *epsilon }, by_kind)
        }
        Policy::Trial(_) | Policy::Exact => {
            (Test { schedule: Schedule::new(trial::FEW, GROWTH), epsilon: 0.0 }, false)
        }
    }
}
