//! `smidgen report`: a page about draws that were kept in files.

use std::path::{Path, PathBuf};

use smidgen::draws::Run;
use smidgen::io::{join_runs, look_at_run, read_run};
use smidgen::lang::diagnostic::closest;
use smidgen::report::run::{Picture, is_named};
use smidgen::report::{RunPage, run_report};

use crate::args::ReportArgs;
use crate::failure::{Failure, say};
use crate::target;

pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    if let Some(path) = &args.out {
        target::check("--out", path)?;
    }
    if args.png.is_some() && !cfg!(feature = "png") {
        let message = "--png: this smidgen was built without the feature `png`";
        return Err(Failure::Usage(message.to_owned()));
    }
    let mut runs = Vec::new();
    for path in &args.files {
        // Draws of several files are joined, so of each there have to be all.
        let read = if args.files.len() == 1 { look_at_run } else { read_run };
        let run = read(path).map_err(|error| Failure::message(error.to_string()))?;
        runs.push((path.clone(), run));
    }
    let facts = facts(&runs);
    let mut run = join_runs(runs).map_err(|error| Failure::message(error.to_string()))?;
    if let Some(path) = &args.program {
        run.program = std::fs::read_to_string(path).map_err(|error| {
            let shown = path.display();
            Failure::message(format!("--program {shown}: cannot read the file: {error}"))
        })?;
    }
    check_names(&run, &args.only)?;
    let names: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let title = args.title.clone().unwrap_or_else(|| format!("Draws in {}", shortened(&names)));
    let page = RunPage { title, run: &run, facts, only: args.only.clone() };
    let report = run_report(&page);
    if let Some(path) = &args.out {
        write_page("--out", path, &report.html)?;
    }
    args.png.as_ref().map_or(Ok(()), |folder| write_pictures(folder, &report.figures))
}

fn shortened(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        [first, .., last] if names.len() > 3 => {
            format!("{first} to {last} ({} files)", names.len())
        }
        names => names.join(", "),
    }
}

/// From which files, and what they say about their seeds; CSV says nothing.
fn facts(runs: &[(PathBuf, Run)]) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    for (path, run) in runs {
        let seed = match run.version.is_empty() {
            true => String::new(),
            false => format!(", seed {}", run.seed),
        };
        facts.push(("draws".to_owned(), format!("{}{seed}", path.display())));
    }
    facts
}

/// A name that means no quantity is a typo.
fn check_names(run: &Run, only: &[String]) -> Result<(), Failure> {
    if only.is_empty() {
        return Ok(());
    }
    let scalars = run.draws.scalars();
    for name in only {
        if !scalars.iter().any(|scalar| is_named(&scalar.name, name)) {
            let close = closest(name, scalars.iter().map(|scalar| scalar.name.as_str()));
            let hint = close.map_or_else(String::new, |close| format!("; did you mean `{close}`?"));
            return Err(Failure::message(format!("--only: no number is called `{name}`{hint}")));
        }
    }
    Ok(())
}

/// Writes a page; `option` is how the user gave the path.
pub fn write_page(option: &str, path: &Path, html: &str) -> Result<(), Failure> {
    let shown = path.display();
    std::fs::write(path, html).map_err(|error| {
        Failure::message(format!("{option} {shown}: cannot be written: {error}"))
    })?;
    say(&format!("the report is written to {shown}"));
    Ok(())
}

// ---------------------------------------------------------------- pictures

#[cfg(feature = "png")]
fn write_pictures(folder: &Path, figures: &[Picture]) -> Result<(), Failure> {
    /// Pixels for each unit of a plot.
    const SCALE: f64 = 3.0;
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::message(format!("--png {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    for figure in figures {
        let path = folder.join(format!("{}.png", figure.name));
        let png = smidgen::report::png::render(&figure.svg, SCALE)
            .map_err(|error| failed(&path, &error))?;
        std::fs::write(&path, png).map_err(|error| failed(&path, &error))?;
    }
    let plural = if figures.len() == 1 { "" } else { "s" };
    say(&format!("{} picture{plural} written to {}", figures.len(), folder.display()));
    Ok(())
}

#[cfg(not(feature = "png"))]
fn write_pictures(_: &Path, _: &[Picture]) -> Result<(), Failure> {
    Ok(()) // refused at the start
}
