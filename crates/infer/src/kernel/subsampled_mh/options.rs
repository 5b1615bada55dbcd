//! The kernel as it is written: batch, epsilon and the options.

use smidgen_lang::Diagnostic;
use smidgen_value::Value;

use super::variates::ControlVariates;
use super::{AUDIT, Policy, SubsampledMh};
use crate::acceptance::{AcceptanceTest, Exact, Stratified, StudentT};
use crate::austerity::Schedule;
use crate::kernel::Kernel;
use crate::proposer;
use crate::spec::{AUTO, Argument, Arguments};
use crate::trial::Trial;

pub(super) fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, Diagnostic> {
    let proposer = proposer::read(arguments)?;
    let audit = match arguments.option("audit") {
        Some(argument) => probability(argument)?,
        None => AUDIT,
    };
    let mut kernel = SubsampledMh::new(arguments.target.clone(), proposer, policy(arguments)?);
    kernel.audit = audit;
    kernel.variates = match arguments.option("control_variates") {
        None => None,
        Some(given) => {
            let order = given.value.as_integer().filter(|order| (0..=2).contains(order));
            let order =
                order.ok_or_else(|| given.error("an order of control variates: 0, 1 or 2"))?;
            (order > 0).then(|| ControlVariates::new(order as usize))
        }
    };
    Ok(Box::new(kernel))
}

/// Options that have a meaning whoever chooses batch and epsilon.
const WITH_AUTO: [&str; 4] = ["drift", "adapt", "audit", "control_variates"];

fn policy(arguments: &Arguments<'_>) -> Result<Policy, Diagnostic> {
    let [batch, epsilon] = &arguments.positional[..] else {
        unreachable!("the reader has counted the positional arguments")
    };
    let is_auto = |argument: &Argument<'_>| matches!(&argument.value, Value::Symbol(name) if name.as_str() == AUTO);
    if is_auto(batch) || is_auto(epsilon) {
        if !is_auto(batch) || !is_auto(epsilon) {
            let given = if is_auto(batch) { epsilon } else { batch };
            return Err(given.error("auto (batch and epsilon are both auto, or both given)"));
        }
        if let Some((name, option)) =
            arguments.options.iter().find(|(name, _)| !WITH_AUTO.contains(name))
        {
            let message = format!("'{name} has no meaning with auto: the trial chooses");
            return Err(Diagnostic::error(option.syntax.span, message));
        }
        return Ok(Policy::Trial(Trial::default()));
    }
    let batch = whole(batch, "a batch (a whole number, at least 1)")?;
    let in_range = |epsilon: &f64| (0.0..=0.5).contains(epsilon);
    let level = epsilon.value.as_number().filter(in_range);
    let level = level.ok_or_else(|| epsilon.error("an epsilon from 0 to 0.5"))?;
    let min_batches = match arguments.option("min_batches") {
        Some(argument) => whole(argument, "a number of batches before the first look, at least 1")?,
        None => 1,
    };
    let growth = match arguments.option("growth") {
        Some(argument) => {
            let growth = argument.value.as_number().filter(|g| (1.0..=1e6).contains(g));
            growth.ok_or_else(|| argument.error("a growth of the batches, at least 1"))?
        }
        None => 1.0,
    };
    let schedule = Schedule { first: batch.saturating_mul(min_batches), batch, growth };
    let name = arguments.option("test").map(|argument| (argument, argument.value.to_string()));
    let test: Box<dyn AcceptanceTest> = match name.as_ref().map(|(_, name)| name.as_str()) {
        _ if level == 0.0 => Box::new(Exact),
        None | Some("student_t") => Box::new(StudentT::new(schedule, level)),
        Some("stratified") => Box::new(Stratified::new(schedule, level)),
        Some(_) => {
            let argument = name.expect("matched above").0;
            return Err(argument.error("a test: 'student_t or 'stratified"));
        }
    };
    Ok(Policy::Test { test, schedule, epsilon: level })
}

fn whole(argument: &Argument<'_>, wanted: &str) -> Result<usize, Diagnostic> {
    let n = argument.value.as_integer().and_then(|n| usize::try_from(n).ok());
    n.filter(|n| *n >= 1).ok_or_else(|| argument.error(wanted))
}

fn probability(argument: &Argument<'_>) -> Result<f64, Diagnostic> {
    let p = argument.value.as_number().filter(|p| (0.0..=1.0).contains(p));
    p.ok_or_else(|| argument.error("a share of decisions, from 0 to 1"))
}
