//! `smidgen bench`: transitions per second on small bundled programs, and what the other kernels
//! cost, beside hand-written code for the same models if it is there (`--anchor`).

mod anchor;
mod instructions;
mod kernels;
mod models;
mod sections;
mod subjects;
mod transitions;

use std::io::{self, Write};
use std::path::PathBuf;

use smidgen::stopwatch::Stopwatch;

use crate::args::{BenchArgs, Format, Part};
use crate::failure::{Failure, say};
use anchor::Anchor;
use instructions::Counted;
use kernels::Cost;
use sections::{Growth, growth_table};
use transitions::Measured;

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let folder = Folder::new().map_err(|error| {
        Failure::message(format!("cannot write to the folder for temporary files: {error}"))
    })?;
    let anchor = Anchor(args.anchor.clone());
    let asked = |part: Part| args.only.is_none_or(|only| only == part);
    let mut measured = Vec::new();
    let mut costs = Vec::new();
    if asked(Part::Programs) {
        measured = transitions::measure_all(&folder.0, args.seconds)?;
    }
    if asked(Part::Kernels) {
        costs.extend(kernels::measure_all(&folder.0, args.seconds, &anchor)?);
    }
    if asked(Part::Sections) {
        costs.extend(sections::measure_all(&folder.0, args.seconds, &anchor)?);
    }
    if asked(Part::Models) {
        costs.extend(models::measure_all(&folder.0, args.seconds)?);
    }
    let growth = match args.only {
        Some(Part::Growth) => sections::growth(args.seconds, args.rows, &anchor)?,
        _ => Vec::new(),
    };
    let counted = match args.only {
        Some(Part::Instructions) => {
            let counted = instructions::count_all(&folder.0, args.against.as_deref())?;
            if counted.is_none() {
                say("valgrind is not installed: instructions are not counted");
            }
            counted.unwrap_or_default()
        }
        _ => Vec::new(),
    };
    if !Stopwatch::knows_processor_time() {
        say("processor time is not known here: these are seconds on the clock");
    }
    let text = match args.format {
        Format::Text => text(&measured, &costs, &growth, &counted),
        Format::Json => format!("{}\n", json(&measured, &costs, &growth, &counted)),
    };
    io::stdout().write_all(text.as_bytes())?;
    instructions::regressions(&counted).map_or(Ok(()), Err)
}

/// Seconds below which a look is all there is time for.
const A_LOOK: f64 = 0.05;

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("smidgen-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

// ---------------------------------------------------------------- showing

fn text(measured: &[Measured], costs: &[Cost], growth: &[Growth], counted: &[Counted]) -> String {
    let mut parts = Vec::new();
    if !measured.is_empty() {
        parts.push(table(measured));
    }
    if !costs.is_empty() {
        parts.push(cost_table(costs));
    }
    if !growth.is_empty() {
        parts.push(growth_table(growth));
    }
    if !counted.is_empty() {
        parts.push(instructions::table(counted));
    }
    parts.join("\n")
}

fn table(measured: &[Measured]) -> String {
    let mut text =
        format!("{:<12}{:>16}{:>12}{:>8}\n", "program", "transitions/s", "target", "ratio");
    for m in measured {
        let (speed, ratio) = (m.transitions_per_second, m.transitions_per_second / m.target);
        text.push_str(&format!("{:<12}{speed:>16.0}{:>12.0}{ratio:>8.2}\n", m.name, m.target));
    }
    text.push_str(
        "transitions/s: single-site mh proposals per processor second, one chain; target: the goal that was set for it;\n\
         ratio: measured over target, 1 and more is good\n",
    );
    text
}

/// Two figures at least.
fn brief(x: f64) -> String {
    if x < 10.0 { format!("{x:.2}") } else { format!("{x:.0}") }
}

fn cost_table(costs: &[Cost]) -> String {
    let mut text = format!(
        "{:<48}{:>10}{:>12}{:>10}{:>8}\n",
        "kernel", "measured", "target", "anchor", "ratio"
    );
    for cost in costs {
        let target = if cost.more_is_better { "at least" } else { "at most" };
        let (anchor, ratio) = match cost.anchor {
            Some(anchor) => (brief(anchor), format!("{:.1}", cost.measured / anchor)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let name = format!("{} [{}]", cost.name, cost.unit);
        text.push_str(&format!(
            "{name:<48}{:>10}{:>12}{anchor:>10}{ratio:>8}\n",
            brief(cost.measured),
            format!("{} {}", &target[3..].trim(), brief(cost.target)),
        ));
    }
    text.push_str(
        "measured: in the unit in brackets (us: microseconds of processor time); target: at least or at most that;\n\
         anchor: hand-written code for the same model (--anchor PATH), - without; ratio: measured over anchor\n",
    );
    text
}

fn json(
    measured: &[Measured],
    costs: &[Cost],
    growth: &[Growth],
    counted: &[Counted],
) -> serde_json::Value {
    let row = |m: &Measured| {
        serde_json::json!({
            "program": m.name,
            "transitions_per_second": m.transitions_per_second.round(),
            "target": m.target,
            "batches": m.batches,
        })
    };
    let cost = |c: &Cost| {
        serde_json::json!({
            "kernel": c.name,
            "unit": c.unit,
            "measured": c.measured,
            "target": c.target,
            "more_is_better": c.more_is_better,
            "anchor": c.anchor,
            "ratio": c.anchor.map(|anchor| c.measured / anchor),
        })
    };
    let grown = |g: &Growth| {
        serde_json::json!({
            "rows": g.rows,
            "sections_per_transition": g.sections,
            "exact_us": g.exact,
            "subsampled_us": g.subsampled,
            "anchor_exact_us": g.anchor.map(|anchor| anchor.0),
            "anchor_subsampled_us": g.anchor.map(|anchor| anchor.1),
        })
    };
    serde_json::json!({
        "growth": growth.iter().map(grown).collect::<Vec<_>>(),
        "programs": measured.iter().map(row).collect::<Vec<_>>(),
        "kernels": costs.iter().map(cost).collect::<Vec<_>>(),
        "instructions": instructions::json(counted),
    })
}
