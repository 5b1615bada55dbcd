//! The tables of a run: estimates with their errors and diagnostics, and what the kernels did.

use smidgen_draws::{Approximation, KernelReport};

use super::Material;
use super::findings::verdict;
use crate::number::{count, exponent, fixed, percent, significant};
use crate::table::{Cell, Table};

fn number(text: impl Into<String>) -> Cell {
    Cell::Number(text.into())
}

/// Down to the second digit of its error, where that can be written without a power of ten.
fn rounded(x: f64, error: f64) -> String {
    if !(1e-6..1e6).contains(&error) || x.abs() > 1e9 {
        return significant(x, 4);
    }
    fixed(x, (1 - exponent(error, 2)).max(0) as usize)
}

/// Estimates of some quantities.
pub(super) fn summary(material: &Material, places: &[usize]) -> Table {
    let mut table = Table::new(&[
        "quantity", "mean", "mcse", "sd", "5%", "50%", "95%", "ess bulk", "ess tail", "r_hat", "",
    ]);
    for &place in places {
        let row = &material.rows[place];
        let estimate = |x: f64| rounded(x, row.mcse);
        // Of a long run only mean and sd are those of all draws.
        let mark = if row.is_sample { "~" } else { "" };
        let about = |text: String| number(format!("{mark}{text}"));
        table.row(vec![
            Cell::Text(row.name.clone()),
            number(estimate(row.mean)),
            about(significant(row.mcse, 2)),
            number(significant(row.sd, 3)),
            about(estimate(row.q5)),
            about(estimate(row.q50)),
            about(estimate(row.q95)),
            about(fixed(row.ess_bulk, 0)),
            about(fixed(row.ess_tail, 0)),
            about(fixed(row.r_hat, 3)),
            Cell::Verdict(verdict(material, place)),
        ]);
    }
    table
}

fn rate(part: u64, whole: u64) -> String {
    percent(part as f64 / whole as f64)
}

/// What the kernels did after warm-up, over all chains.
pub(super) fn kernels(kernels: &[KernelReport]) -> Table {
    let mut table = Table::new(&[
        "kernel",
        "transitions",
        "accepted",
        "changed",
        "sections",
        "used",
        "evaluator",
    ]);
    for k in kernels {
        // Conditional draws are not accepted or rejected, but may draw the same value.
        let proposed = k.transitions.saturating_sub(k.drawn);
        table.row(vec![
            Cell::Text(k.kernel.clone()),
            number(count(k.transitions)),
            number(rate(k.accepted.saturating_sub(k.changed), proposed)),
            number(rate(k.changed, k.drawn)),
            number(count(k.sections_used)),
            number(rate(k.sections_used, k.population)),
            Cell::Text(k.evaluator.clone()),
        ]);
    }
    table
}

/// What a table has no place for.
pub(super) fn kernel_notes(kernels: &[KernelReport]) -> Vec<String> {
    let mut notes = Vec::new();
    for k in kernels {
        notes.extend(k.note.iter().map(|note| format!("{}: {note}", k.kernel)));
        let errors = k.approximation.iter().map(decision_error);
        notes.extend(errors.map(|text| format!("{}: {text}", k.kernel)));
    }
    notes
}

fn decision_error(found: &Approximation) -> String {
    if found.audits == 0 {
        return "how often its decisions err is not known, since none was audited.".to_owned();
    }
    format!(
        "its decisions err in about {} of cases by theory; of {} audited ones {} differed from the \
         exact decision (95% interval {} to {}); {} of {} read every section.",
        percent(found.predicted_error),
        count(found.audits),
        count(found.wrongly_accepted + found.wrongly_rejected),
        percent(found.interval.0),
        percent(found.interval.1),
        count(found.exhausted),
        count(found.decisions)
    )
}
