//! What speaks against the draws: numbers that are none, chains that disagree, few effective draws,
//! quantities that never change, a single chain. What is said about R-hat and effective draws are
//! the words of `smidgen-draws`.

use smidgen_draws::{Scalar, SummaryRow, advice, summarise_run};

use super::{Material, RunPage, constant};
use crate::number::{count, fixed, plural, significant};
use crate::{Finding, Verdict};

/// Beyond this, chains are about different things.
const APART: f64 = 1.1;
/// With fewer draws in a chain, diagnostics say nothing.
const LEAST_DRAWS: usize = 20;

pub(super) fn findings(page: &RunPage, material: &Material) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |verdict, text| found.push(Finding { verdict, text });
    let Material { scalars, rows, .. } = material;
    let apart: Vec<&SummaryRow> = rows.iter().filter(|row| row.r_hat > APART).collect();
    if !apart.is_empty() {
        let worst = apart.iter().max_by(|a, b| a.r_hat.total_cmp(&b.r_hat)).expect("there is one");
        let (name, r_hat) = (&worst.name, fixed(worst.r_hat, 2));
        let text = "the chains have not come together";
        add(Verdict::Fail, format!("{text}: R-hat of `{name}` is {r_hat}, and should be 1."));
    }
    for text in advice(rows) {
        let verdict = if text.contains("(nan)") { Verdict::Fail } else { Verdict::Warn };
        add(verdict, text);
    }
    never_changing(page, scalars, &mut add);
    let infinite = scalars.iter().filter(|s| s.chains.iter().flatten().any(|x| x.is_infinite()));
    if let Some(names) = listed(infinite.map(name)) {
        add(Verdict::Warn, format!("some draws of {names} are infinite; plots leave them out."));
    }
    let lengths = lengths(scalars);
    let fewest = lengths.iter().copied().filter(|&n| n > 0).min().unwrap_or(0);
    if fewest < LEAST_DRAWS && !scalars.is_empty() {
        let draws = plural(fewest as u64, "draw");
        let text = format!("only {draws} in a chain: too few for R-hat and effective draws.");
        add(Verdict::Warn, text);
    }
    if lengths.len() == 1 {
        let text = "only one chain: whether another would agree is not known.";
        add(Verdict::Warn, text.to_owned());
    }
    if lengths.iter().any(|&n| n != lengths[0]) {
        let most = lengths.iter().max().copied().unwrap_or(0);
        let text = format!(
            "chains differ in length, from {} to {} draws: was the run interrupted?",
            count(lengths.iter().min().copied().unwrap_or(0) as u64),
            count(most as u64)
        );
        add(Verdict::Warn, text);
    }
    // Runs keep the advice about all of their quantities, of which the page may show some.
    let said = advice(&summarise_run(page.run));
    for warning in page.run.warnings.iter().filter(|warning| !said.contains(warning)) {
        add(Verdict::Warn, warning.clone());
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    found
}

/// A run knows which of its quantities are constants and which are stuck, and says so among its
/// warnings; of draws without their story only that they do not change can be said.
fn never_changing(page: &RunPage, scalars: &[Scalar], add: &mut impl FnMut(Verdict, String)) {
    let still =
        |s: &&Scalar| constant(&s.chains).is_none() && smidgen_draws::stuck::never_moved(&s.chains);
    if let Some(names) = listed(scalars.iter().filter(still).map(name)) {
        let text = "stays at one value in each chain, and not at the same one: the chains have not come together";
        add(Verdict::Fail, format!("{names} {text}."));
    }
    if !page.run.kernels.is_empty() {
        return;
    }
    let value = |s: &Scalar| {
        let x = constant(&s.chains)?;
        Some((s.name.clone(), format!(" (always {})", significant(x, 4))))
    };
    if let Some(names) = listed(scalars.iter().filter_map(value)) {
        let text = "never changed; if it should, no kernel moves it";
        add(Verdict::Warn, format!("{names} {text}."));
    }
    let partly = |s: &&Scalar| {
        let frozen = |c: &Vec<f64>| c.len() >= LEAST_DRAWS && c.iter().all(|x| *x == c[0]);
        !smidgen_draws::stuck::never_moved(&s.chains) && s.chains.iter().any(frozen)
    };
    if let Some(names) = listed(scalars.iter().filter(partly).map(name)) {
        let text = "did not move in one chain or more, while others did";
        add(Verdict::Warn, format!("{names} {text}."));
    }
}

/// A name without a remark.
fn name(scalar: &Scalar) -> (String, String) {
    (scalar.name.clone(), String::new())
}

/// The first few names with their remarks, and how many more there are.
fn listed(names: impl Iterator<Item = (String, String)>) -> Option<String> {
    const SHOWN: usize = 3;
    let names: Vec<String> = names.map(|(name, remark)| format!("`{name}`{remark}")).collect();
    let first = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        _ if names.is_empty() => None,
        0 => Some(first),
        more => Some(format!("{first} and {}", plural(more as u64, "other"))),
    }
}

/// Draws of each chain.
pub(super) fn lengths(scalars: &[Scalar]) -> Vec<usize> {
    let chains = scalars.iter().map(|s| s.chains.len()).max().unwrap_or(0);
    let length =
        |c: usize| scalars.iter().filter_map(|s| s.chains.get(c)).map(Vec::len).max().unwrap_or(0);
    (0..chains).map(length).collect()
}

/// What is to be said about one quantity alone.
pub(super) fn verdict(material: &Material, place: usize) -> Verdict {
    let (scalar, row) = (&material.scalars[place], &material.rows[place]);
    let apart =
        constant(&scalar.chains).is_none() && smidgen_draws::stuck::never_moved(&scalar.chains);
    if row.r_hat > APART || row.q50.is_nan() || apart {
        Verdict::Fail
    } else if row.disagrees() || row.has_few() || material.suspicious[place] {
        Verdict::Warn
    } else {
        Verdict::Pass
    }
}

/// A sentence for the top of the page.
pub(super) fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "Nothing was found that speaks against these draws.",
        Verdict::Warn => "There is something to look at before these draws are used.",
        Verdict::Fail => "These draws should not be used as they are.",
    }
}
