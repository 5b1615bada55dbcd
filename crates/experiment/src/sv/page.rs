//! What was found about stochastic volatility, as a page, as tables for a terminal and as JSON.

use serde_json::json;
use smidgen::draws::diagnostics::autocovariance;
use smidgen::report::density::{drawable_sorted, view};
use smidgen::report::number::{count, fixed, percent, significant, times};
use smidgen::report::page::Page;
use smidgen::report::plot::{Axis, Colour, Mark, Plot};
use smidgen::report::table::{Cell, Table, wrapped};

use super::{Cost, Course, DAILY, EPSILON, NOISE, PAPER, Real, SvFindings};
use crate::output::{Folder, Picture};
use crate::{Error, Options};

pub fn text(found: &SvFindings) -> String {
    let mut text = format!("{} series of length 5\n", found.returns.series());
    text += &kernels(&found.courses, found.reference()).text();
    text += "\none transition of a parameter, microseconds\n";
    text += &costs(&found.costs).text();
    match &found.real {
        Ok(real) => {
            let days = count(real.daily.returns.len() as u64);
            text += &format!("\n{}, {days} days\n", real.daily.name);
            text += &kernels(&real.courses, &real.courses[0]).text();
        }
        Err(why) => text += &wrapped(&format!("the real series is missing: {why}"), 0),
    }
    text.push('\n');
    for sentence in sentences(found) {
        text += &wrapped(&sentence, 0);
    }
    text
}

fn shown(name: &str) -> &str {
    match name {
        "phi" => "φ",
        "sig" => "σ",
        other => other,
    }
}

/// Kernels with their estimates, their bias against the reference, and their speed.
fn kernels(courses: &[Course], reference: &Course) -> Table {
    let mut header = vec!["kernel".to_owned()];
    for parameter in &reference.parameters {
        let name = shown(&parameter.name);
        header.extend([name.to_owned(), "sd".to_owned(), "bias, sd".to_owned()]);
    }
    header.extend(["read", "draws/s", "ESS", "ESS/s"].map(str::to_owned));
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for course in courses {
        let mut row = vec![Cell::Text(course.name.to_owned())];
        for (k, parameter) in course.parameters.iter().enumerate() {
            let (bias, error) = course.bias(reference, k);
            row.push(Cell::Number(fixed(parameter.mean, 4)));
            row.push(Cell::Number(fixed(parameter.sd, 4)));
            row.push(match std::ptr::eq(course, reference) {
                true => Cell::Text("–".to_owned()),
                false => Cell::Number(format!("{} ± {}", fixed(bias, 2), fixed(error, 2))),
            });
        }
        row.push(Cell::Number(course.share.map_or("–".to_owned(), percent)));
        row.push(Cell::Number(significant(course.draws as f64 / course.seconds, 3)));
        row.push(Cell::Number(count(course.least_ess() as u64)));
        row.push(Cell::Number(significant(course.ess_per_second(), 3)));
        table.row(row);
    }
    table
}

fn costs(costs: &[Cost]) -> Table {
    let mut table = Table::new(&["choices", "parameter", "exact", "subsampled", "ratio"]);
    for cost in costs {
        table.row(vec![
            Cell::Text(cost.form.to_owned()),
            Cell::Text(shown(cost.parameter).to_owned()),
            Cell::Number(significant(cost.exact, 3)),
            Cell::Number(significant(cost.subsampled, 3)),
            Cell::Number(times(cost.exact / cost.subsampled)),
        ]);
    }
    table
}

/// Effective draws from which on a rate of them means something.
const ENOUGH: f64 = 100.0;

/// Subsampled against exact in effective draws per second, or that this cannot be told.
fn ratio(found: &SvFindings, form: &str) -> String {
    let [exact, subsampled] =
        ["exact MH", "subsampled"].map(|kind| found.course(&format!("{kind}, {form}")));
    let (e, s) = (exact.least_ess(), subsampled.least_ess());
    match e.min(s) >= ENOUGH {
        true => format!("{} times", times(subsampled.ess_per_second() / exact.ess_per_second())),
        false => {
            format!(
                "not to be told from {} and {} effective draws",
                count(e as u64),
                count(s as u64)
            )
        }
    }
}

/// The smallest and the largest.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)))
}

fn sentences(found: &SvFindings) -> Vec<String> {
    let by = |a: &&Course, b: &&Course| a.ess_per_second().total_cmp(&b.ess_per_second());
    let best = found.courses.iter().max_by(by).expect("every setting was run");
    let [states, shocks] =
        ["states", "shocks"].map(|form| found.course(&format!("exact MH, {form}")));
    let (low, high) = range(found.costs.iter().map(|cost| cost.exact / cost.subsampled));
    let subsampled = found.courses.iter().filter(|course| !course.exact);
    let (least, most) = range(subsampled.filter_map(|course| course.share));
    let bias = |k: usize| fixed(shocks.bias(found.reference(), k).0, 2);
    let rough = match states.least_ess() < ENOUGH {
        true => format!(" (a rough figure, from {} of them)", count(states.least_ess() as u64)),
        false => String::new(),
    };
    vec![
        format!(
            "Subsampled against exact, effective draws per second: {} with the shocks as choices; in the paper's coordinates, the states, {}. \
             The paper saw about 2 times.",
            ratio(found, "shocks"),
            ratio(found, "states"),
        ),
        format!(
            "A subsampled transition of a parameter is {} to {} times as fast as an exact one: it reads {} to {} of the sections at ε = {EPSILON}.",
            significant(low, 2),
            significant(high, 2),
            percent(least),
            percent(most),
        ),
        format!(
            "Coordinates matter more than subsampling: exact MH makes {} effective draws per second with the states{rough} and {} with the \
             shocks, from the same model. The most, {} per second, come from {}.",
            significant(states.ess_per_second(), 2),
            significant(shocks.ess_per_second(), 2),
            significant(best.ess_per_second(), 3),
            best.name,
        ),
        format!(
            "Exact MH (shocks) differs from the reference by {} and {} standard deviations in φ and σ.",
            bias(0),
            bias(1)
        ),
    ]
}

pub fn page(found: &SvFindings, options: &Options, folder: &Folder) -> Result<Page, Error> {
    let mut page = Page::new("Stochastic volatility: parameters and states", None);
    page.paragraph(
        "The paper (section 4.3) samples the states of a stochastic volatility model by particle Gibbs and its two parameters by subsampled \
         Metropolis-Hastings, and sees about twice the efficiency of exact decisions. Here the same program runs with smidgen, exact and \
         subsampled, beside the same model in other coordinates and kernels that use gradients.",
    );
    page.section("In short").list(&sentences(found));
    page.section("The paper's figures");
    let [phi, sigma] = ["phi", "sig"];
    folder.pictures(
        &mut page,
        &[
            histogram(found, phi, "histogram-phi"),
            histogram(found, sigma, "histogram-sigma"),
            autocorrelation(found, sigma),
        ],
    )?;
    page.section("Kernels");
    page.table(&kernels(&found.courses, found.reference()));
    page.note(
        "States: the program of the paper (sv.smg); particle Gibbs over each series, then a step of each parameter. Shocks: sv_noise.smg, in which the \
         choices are the shocks and a move of a parameter takes the states along. Bias: difference from the first row in posterior standard \
         deviations, with its Monte Carlo error. Read: share of the sections that decisions about parameters read. ESS: least bulk effective sample size of \
         the parameters; per processor second of a chain, warm-up excluded. Below 100 effective draws both the rate and the error are rough.",
    );
    page.heading("One transition of a parameter, microseconds");
    page.table(&costs(&found.costs));
    page.section("A real series");
    match &found.real {
        Ok(real) => real_series(&mut page, real, folder)?,
        Err(why) => {
            page.paragraph(&format!("It is missing: {why}."));
        }
    }
    page.section("Why");
    page.list(&[
        "Given the states, σ is known to about 2 %, but its posterior is ten times as wide: in the coordinates of the states a chain needs hundreds of rounds to \
         cross it, and cheaper rounds do not make them fewer. The paper says so as well."
            .to_owned(),
        "With the states as choices a round spends about ten times as long on them as on the parameters, as in the paper. Even free decisions about parameters would then \
         gain a tenth. In the paper's interpreter a visit to a section cost far more than here, so there was more to save."
            .to_owned(),
        "With so few sections and ε = 0.001, a test that must not err reads most of them."
            .to_owned(),
    ]);
    page.section("How this was made");
    page.facts(&[
        ("programs", "sv.smg, sv_noise.smg, sp500.smg".to_owned()),
        ("data", found.returns.origin(options)),
        ("epsilon", EPSILON.to_string()),
        ("batch", "100 of the sections with states as choices, 50 with shocks".to_owned()),
        ("chains", "2 of each kernel".to_owned()),
        ("seed", options.seed.to_string()),
        ("version", format!("smidgen {}", env!("CARGO_PKG_VERSION"))),
    ]);
    page.folded_text("sv.smg", PAPER).folded_text("sv_noise.smg", NOISE);
    page.folded_text("sp500.smg", DAILY);
    Ok(page)
}

fn real_series(page: &mut Page, real: &Real, folder: &Folder) -> Result<(), Error> {
    let days = real.daily.returns.len();
    page.paragraph(&format!(
        "{}: {} daily returns in percent, with a level of the log variance as a third parameter. The first row is the reference.",
        real.daily.name,
        count(days as u64)
    ));
    let mut plot = Plot::new("Daily returns", Axis::whole("day"), Axis::new("percent"), 180.0);
    let points = real.daily.returns.iter().enumerate().map(|(t, x)| (t as f64 + 1.0, *x));
    plot.add(Colour::First, Mark::Line(points.collect()));
    folder.pictures(page, &[Picture::new("daily", plot, "Calm and restless times.")])?;
    page.table(&kernels(&real.courses, &real.courses[0]));
    Ok(())
}

const BINS: usize = 30;

/// Staircases of the same bins: the reference, exact and subsampled.
fn histogram(found: &SvFindings, name: &str, file: &'static str) -> Picture {
    let of = |course: &Course| {
        let parameter = course.parameter(name);
        let chains = parameter.into_iter().flat_map(|p| &p.draws.chains);
        drawable_sorted(chains.flatten().copied())
    };
    let reference = of(found.reference());
    let (low, high) = view(&reference).unwrap_or((0.0, 1.0));
    let high = if name == "phi" { high.min(1.0) } else { high };
    let width = (high - low) / BINS as f64;
    let bins = |draws: &[f64]| -> Vec<f64> {
        let mut heights = vec![0.0; BINS];
        for x in draws.iter().filter(|x| **x >= low && **x < high) {
            heights[(((x - low) / width) as usize).min(BINS - 1)] += 1.0;
        }
        heights.iter().map(|n| n / (draws.len() as f64 * width)).collect()
    };
    let edge = |k: usize| low + k as f64 * width;
    let stairs = |draws: &[f64]| {
        let heights = bins(draws);
        let mut points = vec![(low, 0.0)];
        points.extend(heights.iter().enumerate().map(|(k, h)| (edge(k), *h)));
        points.extend([(high, 0.0)]);
        Mark::Steps(points)
    };
    let boxes = bins(&reference).into_iter().enumerate();
    let boxes = boxes.map(|(k, h)| ((edge(k), edge(k + 1)), (0.0, h))).collect();
    let y = Axis::new("density").from_zero();
    let mut plot =
        Plot::new(&format!("Posterior of {}", shown(name)), Axis::new(shown(name)), y, 230.0);
    plot.named("reference", Colour::Neutral, Mark::Boxes(boxes));
    plot.named("exact MH", Colour::First, stairs(&of(found.course("exact MH, shocks"))));
    plot.named("subsampled", Colour::Second, stairs(&of(found.course("subsampled, shocks"))));
    Picture::new(file, plot, "With shocks as choices; the reference is NUTS.")
}

/// Of one parameter against processor time, exact dashed as in the paper.
fn autocorrelation(found: &SvFindings, name: &str) -> Picture {
    let y = Axis::new("autocorrelation").range(-0.2, 1.0);
    let title = format!("Autocorrelation of {}", shown(name));
    let mut plot = Plot::new(&title, Axis::log("processor seconds"), y, 230.0);
    plot.add(Colour::Neutral, Mark::Horizontal(0.0));
    for (k, course) in found.courses.iter().enumerate() {
        let Some(parameter) = course.parameter(name) else { continue };
        let Some(chain) = parameter.draws.chains.first() else { continue };
        let covariance = autocovariance(chain);
        let per_draw = course.seconds / course.draws as f64;
        let mut points = Vec::new();
        let mut lag = 1;
        // Beyond a fifth of the chain it is noise.
        while lag < chain.len() / 5 {
            points.push((lag as f64 * per_draw, covariance[lag] / covariance[0]));
            lag = (lag + 1).max(lag * 11 / 10);
        }
        let name = format!("{} ({})", course.name, significant(course.ess_per_second(), 2));
        let mark = if course.exact { Mark::Dashed(points) } else { Mark::Line(points) };
        plot.named(&name, Colour::nth(k), mark);
    }
    Picture::new("autocorrelation", plot, "In brackets: effective draws per second. Dashed: exact.")
}

pub fn json(found: &SvFindings, options: &Options) -> serde_json::Value {
    let course = |course: &Course, reference: &Course| {
        let parameters: serde_json::Map<_, _> = course
            .parameters
            .iter()
            .enumerate()
            .map(|(k, p)| {
                let (bias, error) = course.bias(reference, k);
                let found = json!({
                    "mean": p.mean, "sd": p.sd, "ess_bulk": p.ess,
                    "bias_in_sd": bias, "bias_error": error,
                });
                (p.name.clone(), found)
            })
            .collect();
        json!({
            "kernel": course.name,
            "parameters": parameters,
            "share_of_sections": course.share,
            "draws": course.draws,
            "seconds": course.seconds,
            "ess_per_second": course.ess_per_second(),
        })
    };
    let all = |courses: &[Course], reference: &Course| {
        courses.iter().map(|c| course(c, reference)).collect::<Vec<_>>()
    };
    let costs = found.costs.iter().map(|cost| {
        json!({
            "choices": cost.form, "parameter": cost.parameter,
            "exact_us": cost.exact, "subsampled_us": cost.subsampled,
        })
    });
    let real = match &found.real {
        Ok(real) => json!({
            "name": real.daily.name,
            "days": real.daily.returns.len(),
            "kernels": all(&real.courses, &real.courses[0]),
        }),
        Err(why) => json!({ "missing": why }),
    };
    json!({
        "experiment": "sv",
        "version": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "series": found.returns.series(),
        "epsilon": EPSILON,
        "kernels": all(&found.courses, found.reference()),
        "transitions": costs.collect::<Vec<_>>(),
        "real_series": real,
    })
}
