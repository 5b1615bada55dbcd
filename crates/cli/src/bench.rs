//! `smidgen bench`: single-site transitions per processor second on small bundled programs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use smidgen::lang::syntax::DirectiveKind;
use smidgen::stopwatch::Stopwatch;
use smidgen::{Session, Settings, TopDirective};

use crate::args::{BenchArgs, Format};
use crate::failure::{Failure, say};

/// A bundled program, and the speed it should have.
struct Subject {
    name: &'static str,
    program: &'static str,
    table: Option<&'static str>,
    /// Transitions per second.
    target: f64,
}

macro_rules! subject {
    ($name:literal, $target:expr, $table:expr) => {
        Subject {
            name: $name,
            program: include_str!(concat!("../bench/", $name, ".smg")),
            table: $table,
            target: $target,
        }
    };
    ($name:literal, $target:expr) => {
        subject!($name, $target, Some(include_str!(concat!("../bench/", $name, ".csv"))))
    };
}

const SUBJECTS: [Subject; 5] = [
    subject!("branching", 1.5e6, None),
    subject!("geometric", 8e5, None),
    subject!("hmm100", 5e5),
    subject!("crp100", 2.5e5),
    subject!("crp1000", 2.5e5),
];

const BATCH: f64 = 100_000.0;
const FEWEST_BATCHES: usize = 3;

struct Measured {
    name: &'static str,
    /// Median over the batches.
    transitions_per_second: f64,
    target: f64,
    batches: usize,
}

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let folder = Folder::new().map_err(|error| {
        Failure::message(format!("cannot write to the folder for temporary files: {error}"))
    })?;
    let mut measured = Vec::new();
    for subject in &SUBJECTS {
        measured.push(measure(subject, &folder.0, args.seconds)?);
    }
    if !Stopwatch::knows_processor_time() {
        say("processor time is not known here: these are seconds on the clock");
    }
    let text = match args.format {
        Format::Text => table(&measured),
        Format::Json => format!("{}\n", json(&measured)),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

// ---------------------------------------------------------------- measuring

fn measure(subject: &Subject, folder: &Path, seconds: f64) -> Result<Measured, Failure> {
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let batch = prepare(&mut session, subject, folder)?;
    let mut run = |batch: &TopDirective| {
        let stopwatch = Stopwatch::start();
        let done = session.execute(batch);
        done.map_err(|diagnostics| Failure::wrong(&session, diagnostics))?;
        Ok::<f64, Failure>(stopwatch.seconds())
    };
    run(&batch)?;
    let mut times = Vec::new();
    while times.len() < FEWEST_BATCHES || times.iter().sum::<f64>() < seconds {
        times.push(run(&batch)?);
    }
    times.sort_by(f64::total_cmp);
    Ok(Measured {
        name: subject.name,
        transitions_per_second: BATCH / times[times.len() / 2],
        target: subject.target,
        batches: times.len(),
    })
}

/// Builds the trace of a program and gives the directive of one batch.
fn prepare(
    session: &mut Session,
    subject: &Subject,
    folder: &Path,
) -> Result<TopDirective, Failure> {
    let write = |extension: &str, text: &str| {
        let path = folder.join(subject.name).with_extension(extension);
        std::fs::write(&path, text)
            .map(|()| path)
            .map_err(|error| Failure::message(format!("cannot write a temporary file: {error}")))
    };
    if let Some(table) = subject.table {
        write("csv", table)?;
    }
    let path = write("smg", subject.program)?;
    let wrong = |session: &Session, diagnostics| Failure::wrong(session, diagnostics);
    let program = session.parse_file(&path).map_err(|d| wrong(session, d))?;
    for top in &program {
        if !matches!(top.directive.kind, DirectiveKind::Infer { .. }) {
            session.execute(top).map_err(|d| wrong(session, d))?;
        }
    }
    let text = format!("[infer (mh default one {BATCH})]");
    let mut batch = session.parse_text("<bench>", &text).map_err(|d| wrong(session, d))?;
    Ok(batch.remove(0))
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

fn json(measured: &[Measured]) -> serde_json::Value {
    let row = |m: &Measured| {
        serde_json::json!({
            "program": m.name,
            "transitions_per_second": m.transitions_per_second.round(),
            "target": m.target,
            "batches": m.batches,
        })
    };
    serde_json::json!({ "programs": measured.iter().map(row).collect::<Vec<_>>() })
}
