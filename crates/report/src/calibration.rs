//! Calibration as a page and as text: the verdict first, then the ranks of every quantity.
//!
//! A rank plot has the counts of the ranks in bins; in the grey band 99 of 100 counts lie if all is right. Beside
//! it, the difference between the ranks' distribution function and the uniform one, with the band of the
//! Kolmogorov-Smirnov test at 99%.

use smidgen_draws::calibration::{FALSE_ALARM, RankTest, Ranks};

use crate::number::plural;
use crate::page::{Figure, Page};
use crate::plot::{Axis, Colour, Mark, Plot};
use crate::table::{Cell, Table};
use crate::{Finding, Verdict};

/// What a page about calibration is made of.
#[derive(Clone, Debug, Default)]
pub struct CalibrationPage {
    pub file: String,
    pub program: String,
    pub ranks: Vec<Ranks>,
    /// Worst first.
    pub tests: Vec<RankTest>,
    /// The probability of ranks as bad as these if all is right.
    pub p: f64,
    pub simulations: usize,
    pub thin: usize,
    pub failed: usize,
    pub failure: Option<String>,
    pub is_correlated: bool,
    pub seed: u64,
    pub version: String,
}

const HEIGHT: f64 = 130.0;
/// More quantities than this are in the table only.
const PLOTTED: usize = 24;

/// The verdict and the reasons for it.
pub fn calibration_verdict(page: &CalibrationPage) -> (Verdict, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut find = |verdict, text| findings.push(Finding { verdict, text });
    if page.tests.is_empty() {
        find(
            Verdict::Fail,
            "Nothing was ranked: no number is recorded in every simulation.".to_owned(),
        );
    } else if page.p < FALSE_ALARM {
        let bad = page.tests.iter().filter(|t| t.p * page.tests.len() as f64 <= FALSE_ALARM);
        let bad: Vec<String> =
            bad.take(5).map(|test| format!("{} ({})", test.name, test.words())).collect();
        find(
            Verdict::Fail,
            format!(
                "The ranks are not uniform ({}): the sampler does not draw from the posterior of this program. Worst: {}.",
                if page.p < 1e-16 {
                    "p below 1e-16".to_owned()
                } else {
                    format!("p = {:.2e}", page.p)
                },
                bad.join(", ")
            ),
        );
        if page.is_correlated {
            find(
                Verdict::Warn,
                "The draws are strongly correlated, which alone pushes ranks to both ends: raise --thin, or the kernel does not move.".to_owned(),
            );
        }
    } else {
        find(
            Verdict::Pass,
            format!(
                "The ranks of {} are as uniform as {} can tell (p = {:.2}).",
                plural(page.ranks.len() as u64, "quantity").replace("quantitys", "quantities"),
                plural(page.simulations as u64, "simulation"),
                page.p
            ),
        );
    }
    if page.failed > 0 {
        let first = page.failure.clone().unwrap_or_default();
        find(
            Verdict::Warn,
            format!(
                "{} of {} simulations came to an error and are not counted; the first: {first}",
                page.failed, page.simulations
            ),
        );
    }
    let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or_default();
    (verdict, findings)
}

fn table(page: &CalibrationPage) -> Table {
    let mut table = Table::new(&["", "p", "shift", "spread", "looks like"]);
    for test in &page.tests {
        let alarm = test.p * page.tests.len() as f64 <= FALSE_ALARM;
        let looks = if alarm { test.words() } else { "uniform" };
        table.row(vec![
            Cell::Text(test.name.clone()),
            Cell::Number(format!("{:.3}", test.p)),
            Cell::Number(format!("{:+.2}", test.shift)),
            Cell::Number(format!("{:+.2}", test.spread)),
            Cell::Text(looks.to_owned()),
        ]);
    }
    table
}

/// For a terminal: the table, the reasons, and the verdict as the last line.
pub fn calibration_text(page: &CalibrationPage) -> String {
    let (verdict, findings) = calibration_verdict(page);
    let mut text = table(page).text();
    text.push('\n');
    for finding in findings {
        text.push_str(&format!("{}\n", finding.text));
    }
    text.push_str(&format!("{verdict}\n"));
    text
}

/// For other programs: the verdict, and the ranks of every quantity.
pub fn calibration_json(page: &CalibrationPage) -> serde_json::Value {
    let (verdict, findings) = calibration_verdict(page);
    let ranks = |name: &str| page.ranks.iter().find(|ranks| ranks.name == name);
    let quantities: Vec<_> = (page.tests.iter())
        .map(|test| {
            serde_json::json!({
                "name": test.name, "p": test.p, "shift": test.shift, "spread": test.spread,
                "ranks": ranks(&test.name).map(|ranks| &ranks.ranks),
            })
        })
        .collect();
    let findings: Vec<String> = findings.into_iter().map(|finding| finding.text).collect();
    serde_json::json!({
        "verdict": verdict.word(), "p": page.p, "findings": findings, "seed": page.seed,
        "simulations": page.simulations, "failed": page.failed, "thin": page.thin,
        "draws": page.ranks.first().map(|ranks| ranks.most), "quantities": quantities,
    })
}

/// A page that needs no other file.
pub fn calibration_html(of: &CalibrationPage) -> String {
    let (verdict, findings) = calibration_verdict(of);
    let mut page = Page::new(&format!("Calibration of {}", of.file), Some(verdict));
    page.findings(&findings);
    page.section("Ranks");
    page.note(
        "Parameters were drawn from the prior, data from the program given them, and the posterior \
         sampled; each truth is ranked among its draws. Ranks are uniform if the sampler draws from \
         the posterior. Hills: the draws are too wide; a valley: too narrow; a slope: too low or too high. \
         Grey is where counts (99 of 100) and the whole curve (with probability 0.99) lie if all is right.",
    );
    let order = |test: &RankTest| of.ranks.iter().find(|ranks| ranks.name == test.name);
    let shown: Vec<&Ranks> = of.tests.iter().filter_map(order).take(PLOTTED).collect();
    let figures: Vec<Figure> =
        shown.iter().flat_map(|ranks| [histogram(ranks), curve(ranks)]).collect();
    page.narrow_figures(&figures);
    if shown.len() < of.ranks.len() {
        page.note(&format!("Shown are the {} worst of {}.", shown.len(), of.ranks.len()));
    }
    page.table(&table(of));
    page.note(
        "p is the smallest of three p-values times three: of a chi-squared test over 8 bins, of the \
         mean rank (shift, in standard errors) and of the spread of the ranks. The verdict counts all \
         quantities and has a false-alarm probability of at most 1%.",
    );
    page.section("How this was made");
    let draws = of.ranks.first().map_or(0, |ranks| ranks.most);
    page.facts(&[
        ("program", of.file.clone()),
        ("simulations", of.simulations.to_string()),
        ("draws", format!("{draws} per simulation, {} applications of the kernel each", of.thin)),
        ("seed", of.seed.to_string()),
        ("version", format!("smidgen {}", of.version)),
    ]);
    if !of.program.is_empty() {
        page.folded_text("The program", &of.program);
    }
    page.html()
}

fn histogram(ranks: &Ranks) -> Figure {
    let n = ranks.ranks.len() as f64;
    let bins = ((n / 12.0) as usize).clamp(4, 20).min(ranks.most + 1);
    let counts = ranks.counts(bins);
    // A bin has as many ranks as fall into it.
    let all = Ranks { ranks: (0..=ranks.most).collect(), ..ranks.clone() }.counts(bins);
    let share = |bin: usize| all[bin] as f64 / (ranks.most as f64 + 1.0);
    let x = Axis::new("rank of the truth").range(0.0, 1.0);
    let y = Axis::new("").from_zero();
    let mut plot = Plot::new(&format!("ranks of {}", ranks.name), x, y, HEIGHT).narrow();
    let edge = |bin: usize| bin as f64 / bins as f64;
    let band = |bin: usize| {
        let (mean, sd) = (n * share(bin), (n * share(bin) * (1.0 - share(bin))).sqrt());
        [edge(bin), edge(bin + 1)].map(|x| (x, (mean - 2.58 * sd).max(0.0), mean + 2.58 * sd))
    };
    let band: Vec<_> = (0..bins).flat_map(band).collect();
    let bars = counts.iter().enumerate();
    let bars = bars.map(|(bin, c)| ((edge(bin), edge(bin + 1)), (0.0, *c as f64))).collect();
    // Behind the bars, whose colour it would change.
    plot.add(Colour::Neutral, Mark::Band(band));
    plot.add(Colour::nth(0), Mark::Boxes(bars));
    Figure::new(plot.svg(), "")
}

fn curve(ranks: &Ranks) -> Figure {
    let n = ranks.ranks.len() as f64;
    let values = ranks.most as f64 + 1.0;
    let mut counts = vec![0usize; ranks.most + 1];
    ranks.ranks.iter().for_each(|rank| counts[*rank] += 1);
    let mut below = 0;
    let mut points = vec![(0.0, 0.0)];
    for (rank, count) in counts.iter().enumerate() {
        below += count;
        let x = (rank as f64 + 1.0) / values;
        points.push((x, below as f64 / n - x));
    }
    let reach = 1.63 / n.sqrt();
    let most = points.iter().map(|(_, y)| y.abs()).fold(1.2 * reach, f64::max);
    let x = Axis::new("rank of the truth").range(0.0, 1.0);
    let y = Axis::new("").range(-1.05 * most, 1.05 * most);
    let title = format!("ranks of {}: curve minus uniform", ranks.name);
    let mut plot = Plot::new(&title, x, y, HEIGHT).narrow();
    plot.add(Colour::Neutral, Mark::Band([0.0, 1.0].map(|x| (x, -reach, reach)).to_vec()));
    plot.add(Colour::nth(0), Mark::Line(points));
    Figure::new(plot.svg(), "")
}
