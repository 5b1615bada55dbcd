//! What directives show, as text and as JSON.

use smidgen::draws::{self, Approximation, Draws, KernelReport, Quantity, Run, SummaryRow};
use smidgen::io::value_to_json;
use smidgen::lang::syntax::{Directive, DirectiveKind};
use smidgen::lang::{SourceMap, Span, printer};
use smidgen::outcome::Inferred;
use smidgen::value::Value;
use smidgen::{Outcome, OutcomeKind};

// ---------------------------------------------------------------- JSON

/// The line of an outcome, if it has one.
pub fn json_line(outcome: &Outcome) -> Option<String> {
    let (directive, label, kind) = (outcome.directive, &outcome.label, outcome.kind.name());
    let object = match &outcome.kind {
        OutcomeKind::Assume { .. } => return None,
        OutcomeKind::Infer(inferred) => {
            let total = inferred.total();
            let collected = inferred.draws.iter();
            let draws: serde_json::Map<_, _> = collected
                .map(|(name, values)| (name.clone(), values.iter().map(value_to_json).collect()))
                .collect();
            let mut object = serde_json::json!({
                "directive": directive, "label": label, "kind": kind,
                "transitions": total.transitions, "accepted": total.accepted,
                "sections": total.sections_used, "draws": draws,
            });
            if let Some(log_p) = inferred.log_marginal_likelihood {
                object["log_marginal_likelihood"] = value_to_json(&Value::Number(log_p));
            }
            object
        }
        shown => {
            let value = shown.value().as_ref().map(value_to_json);
            serde_json::json!({
                "directive": directive, "label": label, "kind": kind, "value": value,
            })
        }
    };
    Some(object.to_string())
}

// ---------------------------------------------------------------- text

/// The text of an outcome: `name = value`, or what an inference did.
pub fn text(outcome: &Outcome, directive: &Directive, sources: &SourceMap) -> String {
    if let OutcomeKind::Infer(inferred) = &outcome.kind {
        return inference(inferred);
    }
    let name = match &outcome.kind {
        OutcomeKind::Assume { name, .. } => Some(name.clone()),
        kind => outcome.label.clone().or_else(|| subject(directive, kind.name(), sources)),
    };
    let name = name.unwrap_or_else(|| outcome.kind.name().to_owned());
    let value = outcome.kind.value().unwrap_or(Value::Nil);
    format!("{name} = {value}\n")
}

/// What a shown value is of, when there is no label: the expression's text. A loop over several
/// directives of the same kind does not tell which of them it was.
fn subject(directive: &Directive, kind: &str, sources: &SourceMap) -> Option<String> {
    let mut found = Vec::new();
    subjects(directive, kind, &mut found);
    match found.as_slice() {
        [one] => Some(printer::squeeze(sources.text(*one))),
        _ => None,
    }
}

fn subjects(directive: &Directive, wanted: &str, found: &mut Vec<Span>) {
    let (kind, span) = match &directive.kind {
        DirectiveKind::Predict { expr } => ("predict", expr.span),
        DirectiveKind::Sample { expr } => ("sample", expr.span),
        DirectiveKind::Force { expr, .. } => ("force", expr.span),
        DirectiveKind::Report { label } => ("report", label.span),
        DirectiveKind::For { body, .. } => {
            return body.iter().for_each(|inner| subjects(inner, wanted, found));
        }
        _ => return,
    };
    if kind == wanted && directive.label.is_none() {
        found.push(span);
    }
}

fn inference(inferred: &Inferred) -> String {
    let mut text = String::new();
    for kernel in &inferred.kernels {
        text.push_str(&format!("infer {}\n", kernel_lines(kernel)));
    }
    if let Some(log_p) = inferred.log_marginal_likelihood {
        text.push_str(&format!("log marginal likelihood (estimate) = {}\n", Value::Number(log_p)));
    }
    let mut collected = Draws::default();
    for (name, values) in &inferred.draws {
        collected.add(Quantity::new(name.clone(), vec![values.clone()]));
    }
    if !inferred.draws.is_empty() {
        text.push_str(&summary_of(&draws::summarise(&collected), &collected));
    }
    text
}

/// A kernel, its transitions, acceptance, and sections used of the population; if its decisions
/// may err, a second line says what is known about that.
pub fn kernel_lines(kernel: &KernelReport) -> String {
    let transitions = kernel.transitions;
    let plural = if transitions == 1 { "" } else { "s" };
    let mut text = format!("{}: {transitions} transition{plural}", kernel.kernel);
    let (drawn, proposed) = (kernel.drawn, transitions - kernel.drawn);
    if proposed > 0 {
        let accepted = percent(kernel.accepted - kernel.changed, proposed);
        match drawn {
            0 => text.push_str(&format!(", {accepted} accepted")),
            _ => text.push_str(&format!(", {accepted} of {proposed} proposals accepted")),
        }
    }
    if drawn > 0 {
        let changed = percent(kernel.changed, drawn);
        match proposed {
            0 => text.push_str(&format!(", {changed} changed a value")),
            _ => {
                text.push_str(&format!(", {changed} of {drawn} conditional draws changed a value"))
            }
        }
    }
    if kernel.population > 0 {
        let (used, all) = (kernel.sections_used, kernel.population);
        text.push_str(&format!(", {used} of {all} sections used ({})", percent(used, all)));
    }
    if let Some(note) = &kernel.note {
        text.push_str(&format!("\n  {note}"));
    }
    if let Some(found) = &kernel.approximation {
        text.push_str(&format!("\n  {}", decision_error(found)));
    }
    text
}

/// The estimated error of a decision, in words.
fn decision_error(found: &Approximation) -> String {
    if found.audits == 0 {
        return "decision error unknown: no decision was audited (more transitions, or 'audit 0.05)".to_owned();
    }
    let wrong = found.wrongly_accepted + found.wrongly_rejected;
    format!(
        "decision error about {:.1}% (theory, at {} audited decisions); {wrong} of them differed from the exact decision (95% interval {:.1}% to {:.1}%)",
        100.0 * found.predicted_error,
        found.audits,
        100.0 * found.interval.0,
        100.0 * found.interval.1,
    )
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole as f64)
}

/// The table of all draws that are numbers, and what became of the others.
pub fn summary(run: &Run) -> String {
    summary_of(&draws::summarise_run(run), &run.draws)
}

fn summary_of(rows: &[SummaryRow], draws: &Draws) -> String {
    let mut text = if rows.is_empty() { String::new() } else { draws::table(rows) };
    for (name, reason) in draws.unflattened() {
        text.push_str(&format!("{name}: {reason}\n"));
    }
    text
}

/// Prints a text as a whole, with a line end.
pub fn line(text: &str) -> Result<(), crate::failure::Failure> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", text.trim_end_matches('\n'))?;
    out.flush()?;
    Ok(())
}

/// Lines of a table of predictions.
const MOST_LINES: usize = 40;

/// The table of the first predictions, and how many there are.
pub fn spread(draws: &Draws) -> String {
    let scalars = draws.scalars();
    let rows: Vec<_> = scalars.iter().take(MOST_LINES).map(draws::summarise_scalar).collect();
    let mut text = if rows.is_empty() { String::new() } else { draws::table(&rows) };
    if scalars.len() > MOST_LINES {
        let more = scalars.len() - MOST_LINES;
        text.push_str(&format!("... and {more} more; --out FILE has all of them\n"));
    }
    for (name, reason) in draws.unflattened() {
        text.push_str(&format!("{name}: {reason}\n"));
    }
    if text.is_empty() {
        text.push_str("nothing to predict: the program observes nothing\n");
    }
    text
}
