//! `smidgen sample`: several chains, their draws, and what can be said about them.

use std::io::{self, Write};
use std::path::Path;

use smidgen::report::{RunPage, run_report};
use smidgen::sampling::{self, Progress};
use smidgen::{SampleRequest, Sampled, Session, TopDirective};

use crate::args::{Format, SampleArgs};
use crate::failure::{Failure, say};
use crate::inputs::Seed;
use crate::interrupt::Interrupt;
use crate::{inputs, output, progress, render, report, screen, target};

pub fn sample(args: &SampleArgs) -> Result<(), Failure> {
    if let Some(path) = &args.out {
        check_target(path)?;
    }
    if let Some(path) = &args.html {
        target::check("--html", path)?;
    }
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    let mut session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, &args.file)?;
    inputs::check_data_used(&session, &program)?;
    seed.show();
    let sampled = draw(&mut session, &program, &request(args, seed.value), &interrupt)?;
    let written = args.out.as_ref().map_or(Ok(()), |path| write(path, &sampled));
    let reported = args.html.as_ref().map_or(Ok(()), |path| write_report(path, args, &sampled));
    show(&sampled, args.format)?;
    written.and(reported)?;
    if sampled.interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

fn request(args: &SampleArgs, seed: u64) -> SampleRequest {
    let default = SampleRequest::default();
    SampleRequest {
        kernel: args.kernel.clone(),
        draws: args.draws,
        warmup: args.warmup,
        thin: args.thin,
        chains: args.chains,
        seed,
        record: args.record.clone(),
        approximate: args.approximate,
        threads: args.threads.unwrap_or(default.threads),
        ..default
    }
}

fn draw(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    interrupt: &Interrupt,
) -> Result<Sampled, Failure> {
    let progress = Progress::default();
    let result =
        progress::with_bar(&progress, || sampling::sample(session, program, request, &progress));
    match result {
        Err(_) if interrupt.is_set() => {
            say("nothing was drawn yet");
            Err(Failure::Interrupted)
        }
        result => result.map_err(|error| Failure::sample(session, error)),
    }
}

// ---------------------------------------------------------------- the file of draws

/// A file that cannot be written is better known before the chains run.
fn check_target(path: &Path) -> Result<(), Failure> {
    const KNOWN: [&str; 4] = ["csv", "json", "parquet", "arrow"];
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let shown = path.display();
    if !extension.as_ref().is_some_and(|extension| KNOWN.contains(&extension.as_str())) {
        let formats = ".csv, .json, .parquet and .arrow";
        return Err(Failure::Usage(format!("--out {shown}: draws are written to {formats} files")));
    }
    if !smidgen::io::COLUMNAR && extension.is_some_and(|e| e == "parquet" || e == "arrow") {
        let message =
            format!("--out {shown}: this smidgen was built without the feature `columnar`");
        return Err(Failure::Usage(message));
    }
    target::check("--out", path)
}

fn write(path: &Path, sampled: &Sampled) -> Result<(), Failure> {
    let report = smidgen::io::write_draws(path, &sampled.run)
        .map_err(|error| Failure::message(error.to_string()))?;
    for (name, reason) in report.skipped {
        render::warn(&format!("{} does not hold `{name}`: {reason}", path.display()));
    }
    Ok(())
}

/// The page about the draws, with what only this call knows.
fn write_report(path: &Path, args: &SampleArgs, sampled: &Sampled) -> Result<(), Failure> {
    let file = args.file.display().to_string();
    let title = format!("Draws of {file}");
    let fact = |name: &str, text: String| (name.to_owned(), text);
    let facts = vec![
        fact("program", file),
        fact("seed", sampled.run.seed.to_string()),
        fact("warm-up", format!("{} per chain", args.warmup)),
        fact("thinning", format!("{} per draw", args.thin)),
    ];
    let page = RunPage { title, run: &sampled.run, facts, only: Vec::new() };
    report::write_page("--html", path, &run_report(&page).html)
}

// ---------------------------------------------------------------- on the screen

fn show(sampled: &Sampled, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => writeln!(io::stdout(), "{}", smidgen::io::run_to_json(&sampled.run))?,
        Format::Text => screen::show(&text(sampled))?,
    }
    Ok(())
}

fn text(sampled: &Sampled) -> String {
    let run = &sampled.run;
    let mut text = output::summary(&run.draws);
    if run.draws.quantities().is_empty() {
        text.push_str("nothing to record: the program has no predict and assumes no random number; use --record EXPR\n");
    }
    text.push('\n');
    for kernel in &run.kernels {
        text.push_str(&output::kernel_lines(kernel));
        text.push('\n');
    }
    for note in &sampled.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    for warning in &run.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    text
}
