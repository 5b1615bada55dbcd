//! A comparison as a page: what it comes to first, then the posterior, the decisions, the cost.

use super::{Comparison, QuantityComparison, most_different, plots, tables, words};
use crate::number::{count, plural, seconds};
use crate::page::{Figure, Page};
use crate::table::Table;

/// Of more quantities than this, those that differ most are listed; the rest is folded away.
const LISTED: usize = 20;
/// More quantities than this are in the tables only.
const PLOTTED: usize = 12;

/// A page that needs no other file.
pub fn comparison_html(comparison: &Comparison) -> String {
    let c = comparison;
    let mut page = Page::new(&words::title(c), Some(c.verdict));
    page.paragraph(&format!("{}.", words::capital(&words::verdict(c))));
    if !c.findings.is_empty() {
        page.findings(&words::findings(c));
    }
    page.section("In short").list(&words::sentences(c));
    if !c.warnings.is_empty() {
        page.heading("Warnings").list(&c.warnings);
    }
    posterior(&mut page, c);
    decisions(&mut page, c);
    cost(&mut page, c);
    page.section("How this was made");
    page.facts(&[
        ("program", c.file.clone()),
        ("approximate", c.approximate_kernel.clone()),
        ("exact", c.exact_kernel.clone()),
        ("chains", count(c.chains as u64)),
        ("warm-up", format!("{} per chain", count(c.warmup as u64))),
        ("draws", format!("{} per chain", count(c.draws as u64))),
        ("seed", c.seed.to_string()),
        ("version", format!("smidgen {}", c.version)),
    ]);
    if !c.program.is_empty() {
        page.folded_text("The program", &c.program);
    }
    page.html()
}

fn posterior(page: &mut Page, c: &Comparison) {
    page.section("Posterior");
    if c.quantities.is_empty() {
        page.paragraph("No numeric quantity was recorded.");
        return;
    }
    let shown = most_different(&c.quantities, LISTED);
    let quantities = || shown.iter().map(|&place| &c.quantities[place]);
    let all = |page: &mut Page, summary: &str, table: &Table| {
        if shown.len() < c.quantities.len() {
            page.folded_table(summary, table);
        }
    };
    page.table(&tables::differences(quantities()));
    let summary = format!("Differences of all {} quantities", c.quantities.len());
    all(page, &summary, &tables::differences(c.quantities.iter()));
    page.note(
        "Shift is the approximate minus the exact mean in exact standard deviations; z counts Monte \
         Carlo standard errors, so that chance alone rarely gives more than 3; KS p is of the \
         two-sample Kolmogorov-Smirnov test on thinned draws.",
    );
    page.table(&tables::moments(quantities()));
    let summary = format!("Moments of all {} quantities", c.quantities.len());
    all(page, &summary, &tables::moments(c.quantities.iter()));
    densities(page, c);
}

fn densities(page: &mut Page, c: &Comparison) {
    page.heading("Densities");
    page.note(
        "The closer the dashed curve follows the filled one, the less the approximation matters. \
         Curves are kernel estimates, which smooth hard bounds; bars are probabilities of whole \
         numbers.",
    );
    let shown = most_different(&c.quantities, PLOTTED);
    if shown.len() < c.quantities.len() {
        let left = (c.quantities.len() - shown.len()) as u64;
        let more = if left == 1 { "1 more is" } else { &format!("{} more are", count(left)) };
        page.note(&format!(
            "Shown are the {} quantities that differ most; {more} in the tables only.",
            shown.len()
        ));
    }
    let figures = |of: fn(&QuantityComparison) -> Figure| -> Vec<Figure> {
        shown.iter().map(|&place| of(&c.quantities[place])).collect()
    };
    page.figures(&figures(plots::densities));
    page.heading("Traces");
    page.note(
        "Chains that have settled wander over the same range, above and below; long flat stretches \
         are a chain that is stuck.",
    );
    page.figures(&figures(plots::traces));
}

fn decisions(page: &mut Page, c: &Comparison) {
    page.section("Decisions");
    let exactly = c.labels().into_iter().zip(&c.kernels);
    for text in exactly.filter_map(|(label, kernel)| words::fallback(&label, kernel)) {
        page.paragraph(&text);
    }
    let kernels = c.approximate();
    if kernels.is_empty() {
        page.paragraph("No kernel ran approximately, so there is no decision to compare.");
        return;
    }
    if kernels.iter().any(|(label, k)| *label != k.kernel) {
        let facts: Vec<_> = kernels.iter().map(|(l, k)| (l.as_str(), k.kernel.clone())).collect();
        page.facts(&facts);
    }
    page.table(&tables::decisions(c));
    page.note(
        "Checked transitions were decided a second time, exactly and with the same random number; \
         \"wrong yes\" were accepted where the exact test rejects, \"wrong no\" the other way round.",
    );
    let mut figures = Vec::new();
    if kernels.iter().any(|(_, k)| k.shadow > 0 || !k.predicted_error.is_nan()) {
        figures.push(plots::disagreements(&kernels));
    }
    let with_pairs = || kernels.iter().filter(|(_, k)| !k.pairs.is_empty());
    for (label, kernel) in with_pairs() {
        figures.extend([plots::pairs(label, kernel), plots::pair_errors(label, kernel)]);
    }
    page.figures(&figures);
    for (label, kernel) in with_pairs() {
        let summary = format!("Repeated decisions of {label} in numbers");
        page.folded_table(&summary, &tables::pairs(kernel));
    }
    for (label, kernel) in kernels.iter().filter(|(_, k)| !k.normality.is_empty()) {
        page.heading(&format!("Normality of batch means, {label}")).list(&kernel.normality);
    }
}

fn cost(page: &mut Page, c: &Comparison) {
    page.section("Cost");
    let kernels = c.approximate();
    page.paragraph(&format!(
        "The exact run took {}, the approximate one {}, for {} of {} draws each.",
        seconds(c.speed.exact_seconds),
        seconds(c.speed.approximate_seconds),
        plural(c.chains as u64, "chain"),
        count(c.draws as u64)
    ));
    let mut figures = Vec::new();
    if !kernels.is_empty() {
        page.table(&tables::sections(c));
        figures.push(plots::sections(&kernels));
    }
    let rates = &c.speed.ess_per_second;
    if !rates.is_empty() {
        page.heading("Effective draws per second").table(&tables::speed(rates.iter()));
        let mut figure = plots::rates(&rates.iter().take(PLOTTED).collect::<Vec<_>>());
        if rates.len() > PLOTTED {
            figure.caption += &format!(" The first {PLOTTED} of {} are shown.", rates.len());
        }
        figures.push(figure);
    }
    page.figures(&figures);
}
