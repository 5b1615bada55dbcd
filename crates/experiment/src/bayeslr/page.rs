//! What was found about the regression, as a page, as a table for a terminal and as JSON.

use serde_json::json;
use smidgen::report::density::{density, drawable_sorted, view};
use smidgen::report::number::{amount, count, percent, seconds, significant};
use smidgen::report::page::Page;
use smidgen::report::plot::{Axis, Colour, Mark, Plot, Point, Shape};
use smidgen::report::table::{Cell, Table, wrapped};

use super::{BATCH, BayesLrFindings, DRIFT, Moment, PROGRAM, RISKS, SETTLING, Setting};
use crate::output::{Folder, Picture};
use crate::timing::TICK;
use crate::{Error, Options};

pub fn text(found: &BayesLrFindings) -> String {
    let mut text = format!("{}\n", table(found).text());
    for sentence in sentences(found) {
        text += &wrapped(&sentence, 0);
    }
    text
}

fn table(found: &BayesLrFindings) -> Table {
    let risks = RISKS.map(|risk| format!("s to {risk:e}"));
    let mut table = Table::new(&[
        "kernel",
        "moves/s",
        "rows read",
        "accepted",
        "sd ratio",
        "ESS/s",
        &risks[0],
        &risks[1],
        "last risk",
    ]);
    for s in &found.settings {
        let number = |text: String| Cell::Number(text);
        let time = |at: Option<f64>| Cell::Number(at.map_or("-".to_owned(), |t| significant(t, 2)));
        table.row(vec![
            Cell::Text(s.name.clone()),
            number(amount(s.transitions_per_second)),
            number(if s.epsilon.is_some() { percent(s.read) } else { "-".to_owned() }),
            number(percent(s.accepted)),
            number(significant(s.sd_ratio[0], 3)),
            number(significant(s.ess_per_second, 2)),
            time(s.seconds_to[0]),
            time(s.seconds_to[1]),
            number(s.moments.last().map_or("-".to_owned(), |m| format!("{:.1e}", m.risk))),
        ]);
    }
    table
}

fn exact(found: &BayesLrFindings) -> &Setting {
    &found.settings[0]
}

/// What the numbers come to.
fn sentences(found: &BayesLrFindings) -> Vec<String> {
    let exact = exact(found);
    let mut sentences = Vec::new();
    let subsampled = || found.settings.iter().filter(|s| s.epsilon.is_some_and(|e| e > 0.0));
    let ratios: Vec<String> = subsampled()
        .map(|s| {
            let faster = s.transitions_per_second / exact.transitions_per_second;
            let wide = significant(s.sd_ratio[0], 3);
            format!("{}: {} times the transitions, sd ratio {wide}", s.name, significant(faster, 2))
        })
        .collect();
    sentences.push(format!(
        "Against exact MH ({} transitions per second, sd ratio {}): {}.",
        amount(exact.transitions_per_second),
        significant(exact.sd_ratio[0], 3),
        ratios.join("; ")
    ));
    for (k, risk) in RISKS.iter().enumerate() {
        let told = |s: &Setting| s.seconds_to[k].map(|t| format!("{} {}", s.name, seconds(t)));
        let times: Vec<String> = found.settings.iter().filter_map(told).collect();
        let never: Vec<&str> = found
            .settings
            .iter()
            .filter(|s| s.seconds_to[k].is_none())
            .map(|s| s.name.as_str())
            .collect();
        let mut sentence = match times.is_empty() {
            true => format!("Risk {risk:e} was not reached"),
            false => format!("Risk {risk:e} was reached after: {}", times.join(", ")),
        };
        if !never.is_empty() && !times.is_empty() {
            sentence += &format!("; not reached by {}", never.join(", "));
        }
        sentences.push(sentence + ".");
    }
    sentences.push(format!(
        "The predictive mean of the exact posterior gets {} of the {} test images wrong.",
        percent(found.reference.error),
        count(found.features.test.y.len() as u64)
    ));
    sentences
}

/// What a row costs, read in order and at random places.
fn reading(found: &BayesLrFindings) -> String {
    let rows = found.features.train.y.len() as f64;
    let cost = |s: &Setting| significant(1e9 / (s.transitions_per_second * s.read * rows), 2);
    format!(
        "An exact decision reads all rows in order, {} ns a row in this run; a test reads some at random places, {} ns a row at {}. \
         So it must read far fewer of them before it saves any time, and then it decides wrongly more often.",
        cost(exact(found)),
        cost(&found.settings[1]),
        found.settings[1].name,
    )
}

pub fn page(found: &BayesLrFindings, options: &Options, folder: &Folder) -> Result<Page, Error> {
    let mut page = Page::new("Bayesian logistic regression: risk against time", None);
    let train = &found.features.train;
    page.paragraph(&format!(
        "{} images with {} features each decide about {} weights. In the paper (section 4.1) subsampled \
         Metropolis-Hastings takes 5 hours to the risk that exact MH reaches in 50, and makes more than ten times as many \
         transitions, in an interpreter that needed about a millisecond for a row. Below is the same experiment here, with \
         every speed beside the bias that buys it.",
        count(train.y.len() as u64),
        train.features,
        train.features + 1
    ));
    page.section("In short").list(&sentences(found));
    page.section("Risk of the predictive mean");
    folder.pictures(
        &mut page,
        &[
            risk(found, "risk-time", ["Risk against time", "processor seconds"], &|m| m.seconds),
            risk(found, "risk-transitions", ["Risk against transitions", "transitions"], &|m| {
                m.transitions
            }),
        ],
    )?;
    page.note(
        "Risk: mean over test images of the squared difference between the mean predicted probability of all draws so \
         far, the first ones included, and that of a long exact run. Where a line levels off, the bias of the decisions is all \
         that is left. Warm-up counts as time; its draws do not count.",
    );
    page.table(&table(found));
    page.note(&format!(
        "Rows read: of those that an exact decision reads. Sd ratio: standard deviation of a weight over the exact one, \
         median of the weights, without the first {} of the run; more than 1 is too wide. A run that has not been everywhere \
         yet is too narrow, so look at the effective draws (ESS, of the weight with fewest) as well.",
        percent(SETTLING)
    ));
    page.section("What it does to the posterior");
    folder.pictures(&mut page, &[widths(found), posterior(found)])?;
    page.section("Why, and what to use");
    page.list(&[
        reading(found),
        "A walk that fits the posterior makes proposals whose total log weight is about 1: the test needs about half of all rows, \
         or decides wrongly. What is saved by a larger epsilon is paid for with a posterior that is too wide."
            .to_owned(),
        "For a posterior like this use nuts (the default kernel) or mh with 'adapt true: both are exact. Subsampling is for \
         rough answers early in a run, and for rows that are expensive to weigh; `smidgen compare` shows its bias."
            .to_owned(),
    ]);
    page.section("How this was made");
    let kernels: Vec<(&str, String)> =
        found.settings.iter().map(|s| (s.name.as_str(), s.kernel.clone())).collect();
    page.facts(&kernels);
    let draws: usize = found.reference.chain.times.iter().map(Vec::len).sum();
    page.facts(&[
        ("data", found.features.origin.clone()),
        ("start", "a draw from the prior".to_owned()),
        ("exact run", format!("{} draws of nuts", count(draws as u64))),
        ("drift, batch", format!("{DRIFT}, {BATCH}")),
        ("seed", options.seed.to_string()),
        ("again", "smidgen sample bayeslr.smg --data train=train.csv --param sd=0.01".to_owned()),
        ("version", format!("smidgen {}", env!("CARGO_PKG_VERSION"))),
    ]);
    page.folded_text("The program", PROGRAM);
    Ok(page)
}

/// Colours and dashes of the settings, so that they differ on paper as well.
fn mark(k: usize, points: Vec<(f64, f64)>) -> Mark {
    match k {
        0 => Mark::Line(points),
        1..=5 if k % 2 == 1 => Mark::Dashed(points),
        1..=5 => Mark::Line(points),
        _ => Mark::Dotted(points),
    }
}

fn colour(k: usize) -> Colour {
    match k {
        0..=5 => Colour::nth(k),
        6 => Colour::First,
        _ => Colour::Neutral,
    }
}

fn risk(
    found: &BayesLrFindings,
    file: &'static str,
    [title, label]: [&str; 2],
    of: &dyn Fn(&Moment) -> f64,
) -> Picture {
    let mut plot = Plot::new(title, Axis::log(label), Axis::log("risk"), 260.0);
    for (k, setting) in found.settings.iter().enumerate() {
        // As many points as can be seen.
        let mut next = 0.0;
        let mut points = Vec::new();
        for moment in setting.moments.iter().filter(|moment| moment.seconds > TICK) {
            let x = of(moment);
            if x >= next {
                points.push((x, moment.risk));
                next = 1.02 * x;
            }
        }
        plot.named(&setting.name, colour(k), mark(k, points));
    }
    let caption =
        format!("Processor time of one thread; a line stops at the end of its run, {}.", {
            let longest = found.settings.iter().filter_map(|s| s.moments.last()).map(|m| m.seconds);
            seconds(longest.fold(0.0, f64::max))
        });
    let caption = match file {
        "risk-time" => caption,
        _ => "The same runs, counted in transitions: what a decision costs does not matter here."
            .to_owned(),
    };
    Picture::new(file, plot, caption)
}

fn widths(found: &BayesLrFindings) -> Picture {
    let names = found.settings.iter().map(|s| s.name.clone());
    let x = Axis::new("standard deviation over the exact one");
    let height = 26.0 * found.settings.len() as f64;
    let mut plot = Plot::new("Width of the posterior", x, Axis::categories(names), height);
    plot.named("exact", Colour::Neutral, Mark::Vertical(1.0));
    let point = |(k, s): (usize, &Setting)| Point {
        x: s.sd_ratio[0],
        y: k as f64,
        x_interval: Some((s.sd_ratio[1], s.sd_ratio[2])),
        y_interval: None,
    };
    let points = found.settings.iter().enumerate().map(point).collect();
    plot.named("median, least to largest", Colour::Second, Mark::Points(Shape::Square, points));
    Picture::new("sd-ratio", plot, "Over all weights. Right of 1 the posterior is too wide.")
}

fn posterior(found: &BayesLrFindings) -> Picture {
    let name = format!("w[{}]", found.shown);
    let exact: Vec<f64> = found.reference.chain.run.draws.scalars()[found.shown].chains.concat();
    let exact = drawable_sorted(exact);
    let some = found.settings.iter().filter(|s| s.epsilon.is_some_and(|e| e > 0.0));
    let runs: Vec<(&str, Vec<f64>)> = some
        .map(|s| (s.name.as_str(), drawable_sorted(s.shown.iter().copied())))
        .step_by(2)
        .collect();
    let views = runs.iter().map(|run| &run.1).chain([&exact]).filter_map(|run| view(run));
    let range = views.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 1.0));
    let x = Axis::new(&name).range(range.0, range.1);
    let mut plot = Plot::new(
        &format!("Posterior of {name}"),
        x,
        Axis::new("").from_zero().bare(),
        26.0 * found.settings.len() as f64,
    );
    let curve = density(&exact, range, 161);
    plot.add(Colour::First, Mark::Band(curve.iter().map(|&(x, y)| (x, 0.0, y)).collect()));
    plot.named("exact", Colour::First, Mark::Line(curve));
    for (k, (name, run)) in runs.iter().enumerate() {
        let curve = density(run, range, 161);
        let (colour, mark) = match k {
            0 => (Colour::Second, Mark::Dashed(curve)),
            1 => (Colour::Fourth, Mark::Dashed(curve)),
            _ => (Colour::Sixth, Mark::Dotted(curve)),
        };
        plot.named(name, colour, mark);
    }
    Picture::new("posterior", plot, "The weight of the first principal component.")
}

pub fn json(found: &BayesLrFindings, options: &Options) -> serde_json::Value {
    let setting = |s: &Setting| {
        json!({
            "name": s.name,
            "kernel": s.kernel,
            "epsilon": s.epsilon,
            "transitions_per_second": s.transitions_per_second,
            "rows_read": s.read,
            "accepted": s.accepted,
            "sd_ratio": { "median": s.sd_ratio[0], "least": s.sd_ratio[1], "largest": s.sd_ratio[2] },
            "least_ess_per_second": s.ess_per_second,
            "seconds_to_risk": RISKS.iter().zip(s.seconds_to)
                .map(|(risk, at)| (format!("{risk:e}"), json!(at)))
                .collect::<serde_json::Map<_, _>>(),
            "seconds": s.moments.last().map(|m| m.seconds),
            "transitions": s.moments.last().map(|m| m.transitions),
            "risk": s.moments.last().map(|m| m.risk),
        })
    };
    json!({
        "experiment": "bayeslr",
        "version": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "data": found.features.origin,
        "train": found.features.train.y.len(),
        "test": found.features.test.y.len(),
        "test_error": found.reference.error,
        "posterior": { "mean": found.reference.means, "sd": found.reference.sds },
        "settings": found.settings.iter().map(setting).collect::<Vec<_>>(),
    })
}
