//! What the default kernel chose for each choice, and why.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smidgen_engine::{EvalError, NodeId, Scaffold};
use smidgen_lang::Span;

use super::chain::PARTICLES;
use super::plan::{Class, Plan};
use crate::block::{Block, Scope, Target};
use crate::explain::{Explanation, Look, blocks};

/// Places of the program that are named for one class.
const NAMED: usize = 6;

/// `walled`: choices that walls hold together. `by_reference`: how the joint block is moved by a reference, or why it is not.
pub(super) fn explain(
    plan: &mut Plan,
    walled: &[Vec<NodeId>],
    by_reference: Option<Result<String, String>>,
    look: &mut Look<'_>,
) -> Result<Explanation, EvalError> {
    let target = Target { scope: Scope::Default, block: Block::Each };
    let mut explanation = blocks::explain(look, &target, &mut |_, _, _| Ok(()))?;
    explanation.target = match plan.has_others() {
        true => "every random choice: the joint block, then the others in turn".to_owned(),
        false => "every random choice, jointly".to_owned(),
    };
    let mut classes: BTreeMap<Class, Vec<NodeId>> = BTreeMap::new();
    let unlisted = unlisted(plan, look)?;
    for (_, id) in look.trace.choices_by_address() {
        let class = match unlisted.get(&id) {
            Some(class) => *class,
            None => plan.class(look.trace, id)?,
        };
        let class = match class {
            Class::Line | Class::Integer if decides(look, id) => Class::Other,
            class => class,
        };
        classes.entry(class).or_default().push(id);
    }
    for (class, choices) in &classes {
        let (kernel, why) = match (class, &by_reference) {
            (Class::Smooth, Some(Ok(_))) => {
                ("reference_mh, jointly", "continuous, above many rows; nuts now and then")
            }
            _ => words(*class),
        };
        let names = named(look, choices);
        explanation.notes.push(format!("{kernel}: {names} ({why})"));
        match &by_reference {
            Some(Ok(how)) if *class == Class::Smooth => explanation.notes.push(how.clone()),
            Some(Err(why)) if *class == Class::Smooth => {
                explanation.notes.push(format!("not by reference_mh: {why}"));
            }
            _ => {}
        }
        if *class == Class::Particles {
            explanation.notes.push(particles(plan));
        }
        if *class == Class::Smooth && plan.is_hierarchical {
            explanation.notes.push(
                "nuts once more in standardised coordinates, (x - location) / scale: a location or scale in the block depends on others of its choices".to_owned(),
            );
        }
    }
    for group in walled {
        let names = named(look, group);
        explanation.notes.push(format!("also together: {names} (a hard constraint holds them)"));
    }
    if plan.has_others() && !plan.smooth.is_empty() {
        let note = "several rounds a sweep, if the warm-up finds that the joint block and the others, which move given each other, are slow";
        explanation.notes.push(note.to_owned());
    }
    let mut reasons: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for excluded in &plan.excluded {
        reasons.entry(&excluded.reason).or_default().push(excluded.choice);
    }
    for (reason, choices) in reasons {
        let names = named(look, &choices);
        explanation.notes.push(format!("not in the joint block: {names}, because {reason}"));
    }
    Ok(explanation)
}

/// How choices of chains are moved that could be drawn from their conditional law but for what their values
/// are now: too many, of infinite density, or some that would have to be made.
fn unlisted(plan: &mut Plan, look: &mut Look<'_>) -> Result<FxHashMap<NodeId, Class>, EvalError> {
    let mut found = FxHashMap::default();
    for chain in &mut plan.chains {
        let class = chain.class(look.trace)?;
        if class != Class::Chain {
            found.extend(chain.choices.iter().map(|id| (*id, class)));
        }
    }
    Ok(found)
}

/// Whether a choice decides what exists: then it is moved by proposals, not by slices.
fn decides(look: &mut Look<'_>, id: NodeId) -> bool {
    let mut scaffold = Scaffold::new();
    scaffold.build(look.trace, &[id]);
    scaffold.restructured(look.trace).is_some()
}

/// How particles move chains.
fn particles(plan: &Plan) -> String {
    let short = plan.chains.iter().filter(|chain| chain.is_short_sighted()).count();
    let past = match short {
        0 => "the path may change its past at every step (ancestor sampling)".to_owned(),
        _ => format!("{short} without ancestor sampling: every choice hangs on many earlier ones"),
    };
    format!("chains by {PARTICLES} particles, {past}; then each choice once by itself")
}

fn words(class: Class) -> (&'static str, &'static str) {
    match class {
        Class::Smooth => ("nuts, jointly", "continuous, with a gradient"),
        Class::Members => ("reference_mh, one by one", "above many members that come and go"),
        Class::Tall => ("subsampled_mh", "many local sections"),
        Class::Chain => (
            "whole chains, by forward filtering and backward sampling",
            "a few values each, and each hangs on the one before",
        ),
        Class::Particles => (
            "pgibbs, whole chains",
            "each hangs on the one before; neither a gradient nor a few values",
        ),
        Class::Idle => {
            ("drawn forward after each sweep, in no block", "no observation depends on it")
        }
        Class::Finite => ("gibbs, one by one", "a few values"),
        Class::Line => ("slice_doubling, one by one", "a single real number"),
        Class::Integer => {
            ("slices over the integers, one by one", "a whole number with many values")
        }
        Class::Other => (
            "mh, one by one, from the prior and by walks",
            "neither a gradient nor a few values, or it decides what exists",
        ),
    }
}

/// Choices by the places of the program that made them: "mu, theta (8 times)".
pub(super) fn named(look: &Look<'_>, choices: &[NodeId]) -> String {
    let mut places: Vec<(Span, String, usize)> = Vec::new();
    for id in choices {
        let (procedure, span) = look.trace.origin(*id);
        match places.iter_mut().find(|(known, ..)| *known == span) {
            Some((.., count)) => *count += 1,
            None => {
                let name =
                    look.names.get(id).map_or_else(|| procedure.to_owned(), |n| n.to_string());
                places.push((span, name, 1));
            }
        }
    }
    let shown: Vec<String> = places
        .iter()
        .take(NAMED)
        .map(|(_, name, count)| match count {
            1 => name.clone(),
            _ => format!("{name} ({count} choices)"),
        })
        .collect();
    let more = places.len().saturating_sub(NAMED);
    match more {
        0 => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}
