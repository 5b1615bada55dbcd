//! What was found about growth, as a page, as a table for a terminal and as JSON.

use serde_json::json;
use smidgen::report::number::{amount, count, percent, significant, times};
use smidgen::report::page::Page;
use smidgen::report::plot::{Axis, Colour, Mark, Plot, Point, Shape};
use smidgen::report::table::{Cell, Table, wrapped};

use super::{FIXED, Measured, PROGRAM, Row, SublinearityFindings};
use crate::grown::{BATCH, EPSILON};
use crate::output::{Folder, Picture, marks};
use crate::{Error, Options};

pub fn text(found: &SublinearityFindings) -> String {
    let mut text = String::new();
    for (heading, table) in tables(found) {
        text += &format!("{heading}\n{}\n", table.text());
    }
    for sentence in sentences(found) {
        text += &wrapped(&sentence, 0);
    }
    text
}

fn tables(found: &SublinearityFindings) -> [(String, Table); 2] {
    [
        (format!("proposal of sd {FIXED}, as in the paper"), table(found, |row| row.fixed)),
        ("proposal scaled to the posterior".to_owned(), table(found, |row| row.scaled)),
    ]
}

fn table(found: &SublinearityFindings, of: fn(&Row) -> Measured) -> Table {
    let mut table = Table::new(&[
        "rows",
        "sd",
        "expected",
        "sections",
        "share",
        "exact, µs",
        "subsampled, µs",
        "speed-up",
        "accepted",
        "spread",
    ]);
    for row in &found.rows {
        let m = of(row);
        let number = |text: String| Cell::Number(text);
        table.row(vec![
            Cell::Number(count(row.rows as u64)),
            number(significant(m.drift, 2)),
            number(amount(m.expected)),
            number(amount(m.sections)),
            number(percent(m.sections / row.rows as f64)),
            number(significant(m.exact, 3)),
            number(significant(m.subsampled, 3)),
            number(times(m.exact / m.subsampled)),
            number(percent(m.accepted)),
            number(significant(m.spread, 2)),
        ]);
    }
    table
}

/// What the numbers come to.
fn sentences(found: &SublinearityFindings) -> Vec<String> {
    let Some((first, last)) = found.rows.first().zip(found.rows.last()) else { return Vec::new() };
    let grown = last.rows as f64 / first.rows as f64;
    let [fixed, scaled] = [last.fixed, last.scaled];
    let pays = found.rows.iter().find(|row| row.fixed.subsampled < row.fixed.exact);
    let from = match pays {
        Some(row) => format!(
            "with the fixed proposal a subsampled transition is faster than an exact one from {} rows on",
            count(row.rows as u64)
        ),
        None => "a subsampled transition is nowhere faster than an exact one".to_owned(),
    };
    vec![
        format!(
            "Fixed proposal (the paper's): {} times the data, {} times the sections; at {} rows {} of them are read, \
             and a transition is {} times as fast as an exact one.",
            amount(grown),
            amount(fixed.sections / first.fixed.sections),
            count(last.rows as u64),
            percent(fixed.sections / last.rows as f64),
            significant(fixed.exact / fixed.subsampled, 2),
        ),
        format!(
            "That is the regime of a walk towards the posterior, not of sampling from it: at {} rows {} of the exact \
             proposals are accepted, and the draws of the subsampled chain lie {} posterior standard deviations from the mode \
             where they should lie 1.",
            count(last.rows as u64),
            percent(fixed.exact_accepted),
            significant(fixed.spread, 2),
        ),
        format!(
            "Proposal scaled to the posterior: {} of all rows are read at {} rows, {} at {}. Subsampling then saves a constant \
             factor of the reading, and a transition takes {} times as long as an exact one at {} rows.",
            percent(first.scaled.sections / first.rows as f64),
            count(first.rows as u64),
            percent(scaled.sections / last.rows as f64),
            count(last.rows as u64),
            significant(scaled.subsampled / scaled.exact, 2),
            count(last.rows as u64),
        ),
        format!(
            "An exact scan reads rows one after the other, {} ns a row here; a subsampled transition jumps, {} ns a row at {} rows. \
             So {from}.",
            significant(1e3 * fixed.exact / last.rows as f64, 2),
            significant(1e3 * fixed.subsampled / fixed.sections, 2),
            count(last.rows as u64),
        ),
    ]
}

pub fn page(
    found: &SublinearityFindings,
    options: &Options,
    folder: &Folder,
) -> Result<Page, Error> {
    let mut page = Page::new("Sublinearity: a transition as the data grow", None);
    page.paragraph(
        "The paper (section 4.1) runs subsampled Metropolis-Hastings on a logistic regression with two features and a \
         fixed proposal, and finds that the sections read by a transition, and its time, grow more slowly than the data. \
         Here the same is measured with smidgen, beside exact transitions, and once more with a proposal that follows \
         the posterior.",
    );
    page.section("In short").list(&sentences(found));
    page.section("As in the paper: a proposal of fixed width");
    folder.pictures(
        &mut page,
        &[
            scatter(found),
            sections(found, "sections-fixed", "Sections, fixed proposal", |row| row.fixed, true),
            clock(found, "time-fixed", "Time, fixed proposal", |row| row.fixed),
        ],
    )?;
    let [fixed, scaled] = tables(found);
    page.table(&fixed.1);
    page.note(
        "Expected: by the dynamic programme of the sequential test, at proposals from states of the chain. Spread: root mean \
         square distance of the draws from the posterior mode in posterior standard deviations; it is 1 for a chain that is right \
         and has settled. Times are processor time.",
    );
    page.section("A proposal that follows the posterior");
    page.paragraph(
        "The posterior narrows like 1/√N. A proposal that is to be accepted now and then has to narrow as well; then the mean log \
         weight of a row is of the order of 1/N, its spread of the order of 1/√N, and no test can decide from fewer than a \
         constant share of the rows. Plain subsampling saves a constant factor of the reading, not an order.",
    );
    folder.pictures(
        &mut page,
        &[
            sections(
                found,
                "sections-scaled",
                "Sections, scaled proposal",
                |row| row.scaled,
                false,
            ),
            clock(found, "time-scaled", "Time, scaled proposal", |row| row.scaled),
        ],
    )?;
    page.table(&scaled.1);
    page.section("What to use");
    page.list(&[
        "To sample a posterior that fits an exact scan: (nuts ...), or (mh ...) with 'adapt true. They are exact, and a scan in order is the \
         fastest way to read rows."
            .to_owned(),
        "Subsampled transitions pay where most proposals are clearly bad or clearly good: on the way to the posterior, or with wide \
         proposals on many rows. See what they do to the posterior with `smidgen compare`."
            .to_owned(),
    ]);
    page.section("How this was made");
    page.facts(&[
        ("program", "bayeslr.smg, from the mode of the posterior".to_owned()),
        ("batch, epsilon", format!("{BATCH}, {EPSILON}")),
        ("seed", options.seed.to_string()),
        ("version", format!("smidgen {}", env!("CARGO_PKG_VERSION"))),
    ]);
    page.folded_text("The program", PROGRAM);
    Ok(page)
}

fn scatter(found: &SublinearityFindings) -> Picture {
    let mut plot =
        Plot::new("Data", Axis::new("first feature"), Axis::new("second feature"), 230.0);
    plot.description = "The two features of some rows, by label".to_owned();
    let of = |label: f64| {
        let rows = found.sample.x.chunks_exact(2).zip(&found.sample.y).take(250);
        let points = rows.filter(|(_, y)| **y == label);
        points.map(|(x, _)| Point { x: x[0], y: x[1], ..Point::default() }).collect()
    };
    plot.named("label 1", Colour::First, Mark::Points(Shape::Disc, of(1.0)));
    plot.named("label 0", Colour::Second, Mark::Points(Shape::Ring, of(0.0)));
    Picture::new("data", plot, "The first 250 rows; the features are standard normal.")
}

type Points = Vec<(f64, f64)>;

fn points(found: &SublinearityFindings, of: impl Fn(&Row) -> f64) -> Points {
    found.rows.iter().map(|row| (row.rows as f64, of(row))).collect()
}

fn sections(
    found: &SublinearityFindings,
    file: &'static str,
    title: &str,
    of: fn(&Row) -> Measured,
    with_pair: bool,
) -> Picture {
    let y = Axis::log("sections read per transition");
    let mut plot = Plot::new(title, Axis::log("rows"), y, 230.0);
    plot.named("all rows", Colour::Neutral, Mark::Dashed(points(found, |row| row.rows as f64)));
    if with_pair {
        let pair = Mark::Dashed(points(found, |row| row.fixed_pair));
        plot.named("expected, one pair", Colour::Third, pair);
    }
    let measured = points(found, |row| of(row).sections);
    plot.named("expected, chain", Colour::First, Mark::Line(points(found, |row| of(row).expected)));
    plot.named("measured", Colour::Second, marks(Shape::Disc, &measured));
    let caption = match with_pair {
        true => {
            "One pair: the same current and proposed weights at every number of rows, as the paper plots it; the \
             proposals of the chain itself are harder to decide."
        }
        false => "Parallel to the dashed line: a constant share of the rows.",
    };
    Picture::new(file, plot, caption)
}

fn clock(
    found: &SublinearityFindings,
    file: &'static str,
    title: &str,
    of: fn(&Row) -> Measured,
) -> Picture {
    let y = Axis::log("microseconds per transition");
    let mut plot = Plot::new(title, Axis::log("rows"), y, 230.0);
    let [exact, subsampled] =
        [points(found, |row| of(row).exact), points(found, |row| of(row).subsampled)];
    let linear = found.rows.first().map_or(1.0, |row| of(row).subsampled / row.rows as f64);
    let line = points(found, |row| linear * row.rows as f64);
    plot.named("linear", Colour::Neutral, Mark::Dashed(line));
    plot.add(Colour::First, marks(Shape::Disc, &exact)).named(
        "exact",
        Colour::First,
        Mark::Line(exact),
    );
    plot.add(Colour::Second, marks(Shape::Disc, &subsampled));
    plot.named("subsampled", Colour::Second, Mark::Line(subsampled));
    Picture::new(file, plot, "Processor time of one transition; below the other line is faster.")
}

pub fn json(found: &SublinearityFindings, options: &Options) -> serde_json::Value {
    let measured = |m: &Measured| {
        json!({
            "drift": m.drift,
            "expected_sections": m.expected,
            "sections": m.sections,
            "exact_us": m.exact,
            "subsampled_us": m.subsampled,
            "exact_accepted": m.exact_accepted,
            "accepted": m.accepted,
            "spread": m.spread,
        })
    };
    let row = |row: &Row| {
        json!({
            "rows": row.rows,
            "expected_sections_of_one_pair": row.fixed_pair,
            "fixed": measured(&row.fixed),
            "scaled": measured(&row.scaled),
        })
    };
    json!({
        "experiment": "sublinearity",
        "version": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "batch": BATCH,
        "epsilon": EPSILON,
        "rows": found.rows.iter().map(row).collect::<Vec<_>>(),
    })
}
