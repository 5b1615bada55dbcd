//! A comparison for the terminal: the sentences, the tables of what differs most, the findings, and
//! the verdict in the last line.

use super::{Comparison, QuantityComparison, most_different, tables, words};
use crate::number::count;
use crate::table::{Table, wrapped};

/// More rows than this are for the page.
const ROWS: usize = 16;

/// At most 100 columns wide, ending in the verdict.
pub fn comparison_text(comparison: &Comparison) -> String {
    let c = comparison;
    let mut text = wrapped(&words::title(c), 2) + "\n";
    for sentence in words::sentences(c) {
        text += &wrapped(&format!("* {sentence}"), 2);
    }
    let shown = most_different(&c.quantities, ROWS);
    let quantities = || shown.iter().map(|&place| &c.quantities[place]);
    block(&mut text, "Posterior", &tables::moments(quantities()));
    let differences = tables::differences(quantities());
    block(
        &mut text,
        "Differences (shift of the mean in exact sd; z in standard errors)",
        &differences,
    );
    if shown.len() < c.quantities.len() {
        text += &format!(
            "These {} of {} quantities differ most; the page and the JSON have all.\n",
            shown.len(),
            count(c.quantities.len() as u64)
        );
    }
    block(&mut text, "Decisions", &tables::decisions(c));
    block(&mut text, "Sections read per transition", &tables::sections(c));
    let names: Vec<&String> = quantities().map(|q: &QuantityComparison| &q.name).collect();
    let rates = c.speed.ess_per_second.iter();
    let rates = rates.filter(|rate| c.quantities.len() <= ROWS || names.contains(&&rate.0));
    block(&mut text, "Effective draws per second", &tables::speed(rates.take(ROWS)));
    let findings = words::findings(c);
    if !findings.is_empty() {
        text += "\nFindings\n";
    }
    for finding in findings {
        text += &wrapped(&format!("{} {}", finding.verdict, finding.text), 5);
    }
    let mut notes = c.warnings.clone();
    for (label, kernel) in c.approximate() {
        // What a finding says need not be said again.
        let said = |text: &&String| c.findings.iter().any(|f| f.text.contains(text.as_str()));
        let new = kernel.normality.iter().filter(|text| !said(text));
        notes.extend(new.map(|text| format!("{label}: {text}")));
    }
    if !notes.is_empty() {
        text += "\nNotes\n";
    }
    for note in notes {
        text += &wrapped(&format!("* {note}"), 2);
    }
    text += "\n";
    text += &wrapped(&format!("{}: {}.", c.verdict, words::verdict(c)), 6);
    text
}

fn block(text: &mut String, title: &str, table: &Table) {
    if !table.rows.is_empty() {
        *text += &format!("\n{title}\n\n{}", table.text());
    }
}
