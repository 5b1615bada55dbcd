//! A run as a page: whether it can be trusted first, then the estimates, the plots, the kernels,
//! and the program.

use super::findings::{findings, in_words, lengths};
use super::{Material, Names, Picture, RunPage, RunReport, pairs, plots, tables, vectors};
use crate::Verdict;
use crate::number::{count, plural};
use crate::page::{Figure, Page};

/// Of more quantities than this, those that look worst are listed; the rest is folded away.
const LISTED: usize = 40;
/// More quantities than this are in the table only, or if they were asked for by name, than the second.
const PLOTTED: usize = 12;
const PLOTTED_BY_NAME: usize = 40;

pub(super) fn write(of: &RunPage, material: &Material) -> RunReport {
    let findings = findings(of, material);
    let verdict = findings.iter().map(|f| f.verdict).fold(Verdict::Pass, Verdict::and);
    let mut writer = Writer {
        of,
        material,
        page: Page::new(&of.title, Some(verdict)),
        figures: Vec::new(),
        names: Names::default(),
    };
    writer.page.paragraph(in_words(verdict));
    if !findings.is_empty() {
        writer.page.findings(&findings);
    }
    writer.page.paragraph(&size(material));
    if let Some(long) = &of.run.long {
        let every = count(long.every as u64);
        writer.page.note(&format!(
            "Of these draws every {every}th is shown. Mean and sd are those of all; what begins with ~ comes from sums over batches of all draws, \
             or from those that are shown."
        ));
    }
    writer.estimates();
    writer.plots();
    writer.kernels();
    writer.origin();
    RunReport { html: writer.page.html(), figures: writer.figures }
}

/// "4 chains of 1000 draws; 3 quantities."
fn size(material: &Material) -> String {
    let lengths = material.made.clone().unwrap_or_else(|| lengths(&material.scalars));
    let (least, most) = (lengths.iter().min().copied(), lengths.iter().max().copied());
    let draws = match (least.unwrap_or(0) as u64, most.unwrap_or(0) as u64) {
        (least, most) if least == most => plural(most, "draw"),
        (least, most) => format!("{} to {}", count(least), plural(most, "draw")),
    };
    let (shown, all) = (material.rows.len() as u64, material.all as u64);
    let numbers = match shown == all {
        true => plural(all, "number"),
        false => format!("{} of {}", count(shown), plural(all, "number")),
    };
    format!("{} of {draws}; {numbers} in each draw.", plural(lengths.len() as u64, "chain"))
}

struct Writer<'a> {
    of: &'a RunPage<'a>,
    material: &'a Material,
    page: Page,
    figures: Vec<Picture>,
    names: Names,
}

impl Writer<'_> {
    /// Keeps figures as pictures of their own.
    fn keep(&mut self, named: Vec<(String, Figure)>) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (name, figure) in named {
            let name = self.names.new_name(&name);
            self.figures.push(Picture { name, svg: figure.svg.clone() });
            figures.push(figure);
        }
        figures
    }

    fn estimates(&mut self) {
        let (page, material) = (&mut self.page, self.material);
        page.section("Estimates");
        if material.rows.is_empty() {
            page.paragraph("There is nothing that is a number in every draw.");
        } else {
            let listed = material.worst(LISTED);
            page.table(&tables::summary(material, &listed));
            let all: Vec<usize> = (0..material.rows.len()).collect();
            if listed.len() < all.len() {
                page.note(&format!(
                    "These {} look worst (largest r_hat, fewest effective draws).",
                    listed.len()
                ));
                let summary = format!("All {}", plural(all.len() as u64, "number"));
                page.folded_table(&summary, &tables::summary(material, &all));
            }
            page.note(
                "mcse is the Monte Carlo standard error of the mean. ess counts how many independent \
                 draws would be as good, for the middle (bulk) and for the 5% and 95% quantiles \
                 (tail); fewer than 100 per chain are too few. r_hat compares the chains, and is \
                 1 where they agree, at most 1.01.",
            );
        }
        let left_out = self.of.run.draws.unflattened();
        if !left_out.is_empty() && self.of.only.is_empty() {
            let line = |(name, reason): (String, String)| format!("{name}: {reason}");
            page.heading("Left out").list(&left_out.into_iter().map(line).collect::<Vec<_>>());
        }
    }

    fn plots(&mut self) {
        let scalars = &self.material.scalars;
        if scalars.is_empty() {
            return;
        }
        let vectors = vectors::figures(scalars);
        if !vectors.is_empty() {
            let figures = self.keep(vectors);
            self.page.section("Vectors").figures(&figures);
        }
        let most = if self.of.only.is_empty() { PLOTTED } else { PLOTTED_BY_NAME };
        let shown = self.material.worst(most);
        self.page.section("Plots");
        if shown.len() < scalars.len() {
            self.page.paragraph(&format!(
                "Shown are the {} that look worst (largest r_hat, fewest effective draws); {} more \
                 are in the table only. `smidgen report --only NAME` shows others.",
                shown.len(),
                count((scalars.len() - shown.len()) as u64)
            ));
        }
        self.page.note(
            "Traces of chains that have settled wander over the same range, without trend and \
             without long flat stretches. Densities show each chain over the area of all draws. Ranks \
             count, among all draws, where those of a chain stand, relative to an even share: \
             steps that leave the grey band tell chains apart (the band is for independent draws). \
             Autocorrelation should fall to 0 soon.",
        );
        for place in &shown {
            let s = &scalars[*place];
            let named = plots::all(s).into_iter();
            let named =
                named.map(|(word, figure)| (format!("{} {word}", s.name), figure)).collect();
            let figures = self.keep(named);
            self.page.heading(&s.name).narrow_figures(&figures);
        }
        let blocks = pairs::blocks(scalars, &shown);
        if blocks.is_empty() {
            return;
        }
        self.page.section("Pairs").note(&format!(
            "At most about {} draws of all chains are shown, evenly spaced; correlations are of all.",
            pairs::POINTS
        ));
        for block in blocks {
            let figures = self.keep(pairs::figures(scalars, &block));
            self.page.narrow_figures(&figures);
        }
    }

    fn kernels(&mut self) {
        let kernels = &self.of.run.kernels;
        if kernels.is_empty() {
            return;
        }
        self.page.section("Kernels").table(&tables::kernels(kernels));
        self.page.note(
            "Accepted are proposals, changed are draws from a conditional law that gave another \
             value; sections are the parts of the data that were read, of those that an exact \
             scan would read. Warm-up is not counted.",
        );
        let notes = tables::kernel_notes(kernels);
        if !notes.is_empty() {
            self.page.list(&notes);
        }
    }

    fn origin(&mut self) {
        let run = self.of.run;
        let mut facts: Vec<(&str, String)> =
            self.of.facts.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        if !run.version.is_empty() {
            facts.push(("version", format!("smidgen {}", run.version)));
        }
        if !facts.is_empty() || !run.program.is_empty() {
            self.page.section("How this was made");
        }
        if !facts.is_empty() {
            self.page.facts(&facts);
        }
        if !run.program.is_empty() {
            self.page.heading("The program").text(&run.program);
        }
    }
}
