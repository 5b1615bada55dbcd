//! `smidgen bench`: transitions per second on small bundled programs, and what the other kernels
//! cost, beside hand-written code for the same models if it is there (`--anchor`).

mod kernels;
mod subjects;
mod transitions;

use std::io::{self, Write};
use std::path::PathBuf;

use smidgen::stopwatch::Stopwatch;

use crate::args::{BenchArgs, Format};
use crate::failure::{Failure, say};
use kernels::Cost;
use transitions::Measured;

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let folder = Folder::new().map_err(|error| {
        Failure::message(format!("cannot write to the folder for temporary files: {error}"))
    })?;
    let measured = transitions::measure_all(&folder.0, args.seconds)?;
    let costs = kernels::measure_all(&folder.0, args.seconds, args.anchor.as_deref())?;
    if !Stopwatch::knows_processor_time() {
        say("processor time is not known here: these are seconds on the clock");
    }
    let text = match args.format {
        Format::Text => format!("{}\n{}", table(&measured), cost_table(&costs)),
        Format::Json => format!("{}\n", json(&measured, &costs)),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

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

fn table(measured: &[Measured]) -> String {
    let mut text =
        format!("{:<12}{:>16}{:>12}{:>8}\n", "program", "transitions/s", "target", "ratio");
    for m in measured {
        let (speed, ratio) = (m.transitions_per_second, m.transitions_per_second / m.target);
        text.push_str(&format!("{:<12}{speed:>16.0}{:>12.0}{ratio:>8.2}\n", m.name, m.target));
    }
    text
}

fn cost_table(costs: &[Cost]) -> String {
    let mut text = format!(
        "{:<44}{:>10}{:>10}{:>10}{:>8}\n",
        "kernel", "measured", "target", "anchor", "ratio"
    );
    for cost in costs {
        let target = if cost.more_is_better { "at least" } else { "at most" };
        let (anchor, ratio) = match cost.anchor {
            Some(anchor) => (format!("{anchor:.0}"), format!("{:.1}", cost.measured / anchor)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let name = format!("{} [{}]", cost.name, cost.unit);
        text.push_str(&format!(
            "{name:<44}{:>10.0}{:>10}{anchor:>10}{ratio:>8}\n",
            cost.measured,
            format!("{} {:.0}", &target[3..].trim(), cost.target),
        ));
    }
    text
}

fn json(measured: &[Measured], costs: &[Cost]) -> serde_json::Value {
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
    serde_json::json!({
        "programs": measured.iter().map(row).collect::<Vec<_>>(),
        "kernels": costs.iter().map(cost).collect::<Vec<_>>(),
    })
}
