//! Single-site transitions per processor second on small bundled programs.

use std::path::{Path, PathBuf};

use smidgen::lang::syntax::DirectiveKind;
use smidgen::stopwatch::Stopwatch;
use smidgen::{Session, Settings, TopDirective};

use super::subjects;
use crate::failure::Failure;

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
            program: include_str!(concat!("../../bench/", $name, ".smg")),
            table: $table,
            target: $target,
        }
    };
    ($name:literal, $target:expr) => {
        subject!($name, $target, Some(include_str!(concat!("../../bench/", $name, ".csv"))))
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

pub struct Measured {
    pub name: &'static str,
    /// Median over the batches.
    pub transitions_per_second: f64,
    pub target: f64,
    pub batches: usize,
}

pub fn measure_all(folder: &Path, seconds: f64) -> Result<Vec<Measured>, Failure> {
    SUBJECTS.iter().map(|subject| measure(subject, folder, seconds)).collect()
}

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

/// Writes all programs and their tables into a folder. Gives their names and paths.
pub fn write_all(folder: &Path) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    SUBJECTS.iter().map(|subject| Ok((subject.name, write(subject, folder)?))).collect()
}

fn write(subject: &Subject, folder: &Path) -> Result<PathBuf, Failure> {
    if let Some(table) = subject.table {
        subjects::write(folder, subject.name, "csv", table)?;
    }
    subjects::write(folder, subject.name, "smg", subject.program)
}

/// Builds the trace of a program and gives the directive of one batch.
fn prepare(
    session: &mut Session,
    subject: &Subject,
    folder: &Path,
) -> Result<TopDirective, Failure> {
    let path = write(subject, folder)?;
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
