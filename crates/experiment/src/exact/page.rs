//! What was found about exact draws, as a page, as tables for a terminal and as JSON.

use serde_json::json;
use smidgen::report::number::{amount, count, fixed, percent, seconds, significant, times};
use smidgen::report::page::Page;
use smidgen::report::plot::{Axis, Colour, Mark, Plot, Point, Shape as Symbol};
use smidgen::report::table::{Cell, Table, wrapped};

use super::{Bias, Estimate, ExactFindings, Kernel, Measured, PROGRAM, Row, Shape, WANTED};
use crate::grown::{BATCH, EPSILON};
use crate::output::{Folder, Picture, marks};
use crate::{Error, Options};

pub fn text(found: &ExactFindings) -> String {
    let mut text = String::new();
    for (heading, table) in [
        ("reference_mh", reference(found)),
        ("the other kernels", others(found)),
        ("other shapes of data", shapes(found)),
    ] {
        text += &format!("{heading}\n{}\n", table.text());
    }
    for sentence in sentences(found) {
        text += &wrapped(&sentence, 0);
    }
    text
}

fn number(text: String) -> Cell {
    Cell::Number(text)
}

fn estimate(of: Option<Estimate>) -> Cell {
    Cell::Number(of.map_or("–".to_owned(), Estimate::text))
}

impl Estimate {
    /// With the digits that its error leaves.
    fn text(self) -> String {
        let decimals = if self.error < 0.005 { 3 } else { 2 };
        format!("{} ± {}", fixed(self.value, decimals), fixed(self.error, decimals))
    }
}

fn duration(time: Option<f64>) -> Cell {
    Cell::Number(time.map_or("–".to_owned(), seconds))
}

fn reference(found: &ExactFindings) -> Table {
    let mut table = Table::new(&[
        "rows",
        "read",
        "accepted",
        "µs",
        "ESS/move",
        "ESS/s",
        "prepared",
        "scans",
        "shift, sd",
        "sd ratio",
    ]);
    for row in &found.rows {
        let m = row.of(Kernel::Reference);
        table.row(vec![
            number(count(row.rows as u64)),
            number(significant(m.rows_per_move, 2)),
            number(percent(m.accepted)),
            number(significant(1e6 * m.each, 2)),
            number(significant(m.ess_per_move(), 2)),
            number(amount(m.ess_per_second)),
            duration(m.preparation),
            number(times(row.scans())),
            estimate(m.bias.map(|bias| bias.shift)),
            estimate(m.bias.map(|bias| bias.sd_ratio)),
        ]);
    }
    table
}

fn others(found: &ExactFindings) -> Table {
    let mut table = Table::new(&[
        "kernel",
        "rows",
        "read",
        "accepted",
        "µs",
        "ESS/s",
        "warm-up",
        "shift, sd",
        "sd ratio",
    ]);
    for kernel in Kernel::ALL.into_iter().filter(|kernel| *kernel != Kernel::Reference) {
        for row in &found.rows {
            let m = row.of(kernel);
            table.row(vec![
                Cell::Text(kernel.name().to_owned()),
                number(count(row.rows as u64)),
                number(amount(m.rows_per_move)),
                number(percent(m.accepted)),
                number(amount(1e6 * m.each)),
                number(amount(m.ess_per_second)),
                duration(m.preparation),
                estimate(m.bias.map(|bias| bias.shift)),
                estimate(m.bias.map(|bias| bias.sd_ratio)),
            ]);
        }
    }
    table
}

fn shapes(found: &ExactFindings) -> Table {
    let mut table = Table::new(&[
        "rows",
        "features",
        "read",
        "accepted",
        "prepared",
        "ESS/s",
        "nuts, ESS/s",
        "ratio",
    ]);
    for shape in &found.shapes {
        let m = &shape.reference;
        table.row(vec![
            number(count(shape.rows as u64)),
            number(count(shape.features as u64)),
            number(amount(m.rows_per_move)),
            number(percent(m.accepted)),
            duration(m.preparation),
            number(amount(m.ess_per_second)),
            number(amount(shape.nuts.ess_per_second)),
            number(times(shape.gain())),
        ]);
    }
    table
}

impl Shape {
    /// Effective draws per second over those of `nuts`.
    fn gain(&self) -> f64 {
        self.reference.ess_per_second / self.nuts.ess_per_second
    }
}

/// What the numbers come to.
fn sentences(found: &ExactFindings) -> Vec<String> {
    let Some((first, last)) = found.rows.first().zip(found.rows.last()) else { return Vec::new() };
    let rows = count(last.rows as u64);
    let [least, most] = [first, last].map(|row| row.of(Kernel::Reference));
    let speed = |kernel: Kernel| amount(last.of(kernel).ess_per_second);
    let mut sentences = vec![
        format!(
            "From {} to {rows} rows, a move of reference_mh reads first {} rows, then {}; {} and {} of the proposals are accepted. A \
             transition of nuts reads every row {} times at {rows} rows, one of mh once, one of subsampled_mh {} of them.",
            count(first.rows as u64),
            significant(least.rows_per_move, 2),
            significant(most.rows_per_move, 2),
            percent(least.accepted),
            percent(most.accepted),
            significant(last.of(Kernel::Nuts).rows_per_move / last.rows as f64, 2),
            percent(last.of(Kernel::Subsampled).rows_per_move / last.rows as f64),
        ),
        format!(
            "Effective draws per second at {rows} rows: reference_mh {}, nuts {}, mh {}, subsampled_mh {}.",
            speed(Kernel::Reference),
            speed(Kernel::Nuts),
            speed(Kernel::Walk),
            speed(Kernel::Subsampled),
        ),
    ];
    if let Some(preparation) = most.preparation {
        sentences.push(format!(
            "It is paid for before the first draw: {} at {rows} rows, as much as {} scans. {WANTED} effective draws \
             from nothing take {}, by nuts with its warm-up {}.",
            seconds(preparation),
            times(last.scans()),
            seconds(most.seconds_to_wanted()),
            seconds(last.of(Kernel::Nuts).seconds_to_wanted()),
        ));
    }
    sentences.extend(bias(found));
    sentences
}

/// How far the two kernels that read less than everything are from the posterior.
fn bias(found: &ExactFindings) -> Option<String> {
    let sigmas = |shift: &Estimate| shift.value.abs() / shift.error;
    let worst = |kernel: Kernel| {
        let all = found.rows.iter().filter_map(|row| row.of(kernel).bias);
        let shifts = all.map(|bias| bias.shift).filter(|shift| sigmas(shift).is_finite());
        shifts.max_by(|a, b| sigmas(a).total_cmp(&sigmas(b))).map(Estimate::text)
    };
    let last = found.rows.last()?;
    let width = |kernel: Kernel| last.of(kernel).bias.map(|bias| bias.sd_ratio.text());
    Some(format!(
        "The most significant shift of a mean, in posterior standard deviations: reference_mh {}, subsampled_mh {} (of {} \
         comparisons the largest is about two standard errors by chance alone). Standard deviation over the right one at {} rows: \
         reference_mh {}, subsampled_mh {}.",
        worst(Kernel::Reference)?,
        worst(Kernel::Subsampled)?,
        3 * found.rows.len(),
        count(last.rows as u64),
        width(Kernel::Reference)?,
        width(Kernel::Subsampled)?,
    ))
}

const LIMITS: [&str; 4] = [
    "Few rows: where a scan takes a few microseconds there is little to save by not reading. What is gained over nuts is then \
     that of a law that fits, not of rows that are left out.",
    "Many coordinates in a row: the bounds grow with the third power of a row's length in posterior standard \
     deviations, so that with dozens of coordinates a great many rows may object to a move. All rows are then weighed, many proposals \
     by one pass: still exact, no longer sublinear; and the fewer rows for each coordinate, the fewer proposals are accepted.",
    "Far from normal (not measured here): proposals come from one normal law around one mode. With several modes, a ridge or heavy \
     tails few of them are accepted. nuts follows the shape of the posterior, this does not.",
    "A handful of draws: preparation reads all rows some dozens of times, and its fixed part counts for small data.",
];

pub fn page(found: &ExactFindings, options: &Options, folder: &Folder) -> Result<Page, Error> {
    let mut page = Page::new("Exact draws that read almost no rows", None);
    page.paragraph(
        "A logistic regression with two features, whose data grow. A subsampled test has to read a constant share of the rows as \
         soon as proposals are as narrow as the posterior, and decides wrongly now and then. reference_mh reads fewer rows the more \
         there are, and is exact: around the mode every row is a polynomial of second order, whose sum is known, and a \
         remainder with a known bound; only rows that are drawn in proportion to their bounds may object to a move.",
    );
    page.section("In short").list(&sentences(found));
    page.section("As the data grow");
    folder.pictures(
        &mut page,
        &[
            curves(
                found,
                "rows",
                ["Rows read", "rows read per move"],
                |_, m| m.rows_per_move,
                "Every kernel but one reads more rows where there are more.",
            ),
            curves(
                found,
                "ess",
                ["Effective draws", "effective draws per second"],
                |_, m| m.ess_per_second,
                "The least over weights and their squares; preparation and warm-up are not counted.",
            ),
            curves(
                found,
                "wanted",
                ["From nothing", &format!("seconds to {WANTED} effective draws")],
                |_, m| m.seconds_to_wanted(),
                "Preparation and warm-up are counted: for reference_mh they are nearly all of it.",
            ),
        ],
    )?;
    folder.pictures(
        &mut page,
        &[
            biases(
                found,
                "shift",
                ["Shift", "shift of a mean, posterior sds"],
                |bias| bias.shift,
                "Of the weight with the largest, with two standard errors either side: a kernel that makes few draws in its \
                 time knows its mean badly.",
            ),
            biases(
                found,
                "sd-ratio",
                ["Width", "standard deviation over the right one"],
                |bias| bias.sd_ratio,
                "Of the weight that is farthest off. Above 1 the posterior is too wide.",
            ),
        ],
    )?;
    page.heading("reference_mh");
    page.table(&reference(found));
    page.note(
        "Read: rows per move; µs: of a move, recording included. ESS: effective draws, the least over weights and their squares. \
         Prepared: the time before the first draw; scans: over that of an exact transition of mh, which reads all rows once. Shift and sd ratio: \
         the mean and the standard deviation farthest from those by quadrature, in posterior standard deviations and as a \
         ratio, with their standard errors. Times are processor time; a dash stands where the clock's steps are too coarse.",
    );
    page.heading("The other kernels");
    page.table(&others(found));
    page.note(
        "mh and subsampled_mh walk with 2.38/√3 posterior standard deviations. A transition of nuts reads all rows for every gradient. \
         Where a kernel made few draws in its time, the standard errors are large, and the shifts say little.",
    );
    page.section("When it pays less, or not at all").list(&LIMITS.map(str::to_owned));
    page.table(&shapes(found));
    page.note("reference_mh beside nuts; ratio: effective draws per second, preparation and warm-up not counted.");
    page.note("The default kernel looks at all of this in its warm-up, and takes nuts where that is better; `smidgen explain` says why.");
    page.section("How this was made");
    page.facts(&[
        ("program", "exact.smg, from the mode of the posterior".to_owned()),
        ("subsampled_mh", format!("batch {BATCH}, epsilon {EPSILON}")),
        ("posterior", "by quadrature around the mode, 125 or 343 points".to_owned()),
        ("seed", options.seed.to_string()),
        ("version", format!("smidgen {}", env!("CARGO_PKG_VERSION"))),
    ]);
    page.folded_text("The program", PROGRAM);
    Ok(page)
}

/// The same look of a kernel in every figure.
fn look(kernel: Kernel) -> (Colour, Symbol) {
    match kernel {
        Kernel::Reference => (Colour::First, Symbol::Disc),
        Kernel::Walk => (Colour::Second, Symbol::Square),
        Kernel::Nuts => (Colour::Third, Symbol::Triangle),
        Kernel::Subsampled => (Colour::Fourth, Symbol::Ring),
    }
}

fn line(kernel: Kernel, points: Vec<(f64, f64)>) -> Mark {
    match kernel {
        Kernel::Reference | Kernel::Nuts => Mark::Line(points),
        Kernel::Walk => Mark::Dashed(points),
        Kernel::Subsampled => Mark::Dotted(points),
    }
}

/// Something of each kernel against the number of rows.
fn curves(
    found: &ExactFindings,
    file: &'static str,
    [title, label]: [&str; 2],
    of: fn(&Row, &Measured) -> f64,
    caption: &str,
) -> Picture {
    let mut plot = Plot::new(title, Axis::log("rows"), Axis::log(label), 230.0);
    for kernel in Kernel::ALL {
        let point = |row: &Row| (row.rows as f64, of(row, row.of(kernel)));
        let points: Vec<(f64, f64)> = found.rows.iter().map(point).collect();
        let (colour, symbol) = look(kernel);
        plot.add(colour, marks(symbol, &points));
        plot.named(kernel.name(), colour, line(kernel, points));
    }
    Picture::new(file, plot, caption)
}

/// A bias of each kernel against the number of rows, with two standard errors either side.
fn biases(
    found: &ExactFindings,
    file: &'static str,
    [title, label]: [&str; 2],
    of: fn(&Bias) -> Estimate,
    caption: &str,
) -> Picture {
    let mut plot = Plot::new(title, Axis::log("rows"), Axis::new(label), 230.0);
    for (k, kernel) in Kernel::ALL.into_iter().enumerate() {
        let (colour, symbol) = look(kernel);
        let point = |row: &Row| {
            let Estimate { value, error } = of(&row.of(kernel).bias?);
            // Side by side, so that none hides another.
            let aside = 1.0 + 0.12 * (k as f64 - 1.5);
            let y_interval = Some((value - 2.0 * error, value + 2.0 * error));
            let point =
                Point { x: row.rows as f64 * aside, y: value, y_interval, x_interval: None };
            error.is_finite().then_some(point)
        };
        let points = found.rows.iter().filter_map(point).collect();
        plot.named(kernel.name(), colour, Mark::Points(symbol, points));
    }
    Picture::new(file, plot, caption)
}

pub fn json(found: &ExactFindings, options: &Options) -> serde_json::Value {
    let estimate = |of: Estimate| json!({ "value": of.value, "error": of.error });
    let measured = |m: &Measured| {
        json!({
            "kernel": m.kernel.name(),
            "moves": m.moves,
            "rows_per_move": m.rows_per_move,
            "accepted": m.accepted,
            "us_per_move": 1e6 * m.each,
            "preparation_s": m.preparation,
            "least_ess": m.ess,
            "least_ess_per_second": m.ess_per_second,
            "shift_sd": m.bias.map(|bias| estimate(bias.shift)),
            "sd_ratio": m.bias.map(|bias| estimate(bias.sd_ratio)),
        })
    };
    let row = |row: &Row| {
        json!({
            "rows": row.rows,
            "preparation_scans": row.scans(),
            "kernels": row.kernels.iter().map(measured).collect::<Vec<_>>(),
        })
    };
    let shape = |shape: &Shape| {
        json!({
            "rows": shape.rows,
            "features": shape.features,
            "kernels": [measured(&shape.reference), measured(&shape.nuts)],
        })
    };
    json!({
        "experiment": "exact",
        "version": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "batch": BATCH,
        "epsilon": EPSILON,
        "rows": found.rows.iter().map(row).collect::<Vec<_>>(),
        "shapes": found.shapes.iter().map(shape).collect::<Vec<_>>(),
    })
}
