//! `smidgen sample`: several chains, their draws, and what can be said about them.

use std::io::{self, Write};
use std::path::Path;

use smidgen::draws::{KeepStates, Run};
use smidgen::former;
use smidgen::predict::{self, PredictRequest};
use smidgen::report::{RunPage, run_report};
use smidgen::sampling::{self, Durable, Progress, manifest};
use smidgen::{SampleError, SampleRequest, Sampled, Session, TopDirective};

use crate::args::{Format, Keep, SampleArgs};
use crate::durable::{self, Place};
use crate::failure::{Failure, say};
use crate::follow::Followed;
use crate::inputs::Seed;
use crate::interrupt::Interrupt;
use crate::{init, inputs, output, progress, render, report, screen, target};

pub fn sample(args: &SampleArgs) -> Result<(), Failure> {
    if let Some(path) = args.resume.as_deref().filter(|path| durable::is_complete(path, args)) {
        return finished(path, args);
    }
    let recalled = args.resume.as_deref().map(|path| durable::recalled(path, args)).transpose()?;
    let args = recalled.as_ref().unwrap_or(args);
    if let Some(path) = &args.out {
        match durable::is_folder(path) {
            true => durable::check_target(path, args)?,
            false => check_target(path)?,
        }
    }
    if args.live && args.resume.is_none() && !args.out.as_deref().is_some_and(durable::is_folder) {
        let message = "--live shows a run folder: give --out NAME.run as well";
        return Err(Failure::Usage(message.to_owned()));
    }
    if let Some(path) = args.out.as_ref().filter(|path| !durable::is_folder(path))
        && args.follow.is_some()
    {
        let message = "draws of several epochs go to a folder: --out NAME.run";
        return Err(Failure::Usage(format!("--out {}: {message}", path.display())));
    }
    if let (Some(path), Some(_)) = (&args.out, args.particles) {
        let message = "particles keep no folder: take what they say from --format json";
        return Err(Failure::Usage(format!("--out {}: {message}", path.display())));
    }
    if args.epochs.is_some() && args.follow.is_none() {
        let message = "--epochs ends a run that follows a table: give --follow TABLE as well";
        return Err(Failure::Usage(message.to_owned()));
    }
    if let Some(path) = &args.html {
        target::check("--html", path)?;
    }
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    let mut session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    let file = args.file.as_deref().unwrap_or(Path::new(""));
    let text = args.resume.as_deref().filter(|_| file.as_os_str().is_empty());
    let program = match text.and_then(durable::text_of) {
        Some((text, folder)) => inputs::parse_text(&mut session, &text, &folder)?,
        None => inputs::parse(&mut session, file)?,
    };
    inputs::check_data_used(&session, &program)?;
    seed.show();
    if args.prior {
        return prior(args, &mut session, &program, seed.value, &interrupt);
    }
    let mut request = request(args, seed.value)?;
    if let Some(path) = &args.resume {
        manifest::recall(&smidgen::io::folder::manifest(path)?, &mut request);
    }
    if args.follow.is_some() {
        let run = Followed { args, file, request: &request, interrupt: &interrupt };
        return run.go(&mut session, &program);
    }
    let place = Place { args, file, request: &request, interrupt: interrupt.flag.clone() };
    let (sampled, durable) = draw(&mut session, &program, &request, &place, &interrupt)?;
    if let (Some(durable), false) = (&durable, sampled.interrupted) {
        manifest::finish(durable, &sampled.run)?;
    }
    let exported = args.out.as_ref().filter(|path| !durable::is_folder(path));
    let written = exported.map_or(Ok(()), |path| {
        match durable.as_ref().filter(|_| sampled.every > 1) {
            Some(durable) => write(path, &crate::former::read(&durable.folder.path)?)?,
            None => write(path, &sampled.run)?,
        }
        write_states(path, &sampled)
    });
    let reported = args.html.as_ref().map_or(Ok(()), |path| write_report(path, args, &sampled.run));
    show(&sampled.run, &sampled.notes, args.format)?;
    written.and(reported)?;
    match sampled.interrupted {
        false => Ok(()),
        true => {
            if let Some(durable) = &durable {
                let shown = durable.folder.path.display();
                say(&format!("`smidgen sample --resume {shown}` goes on"));
            }
            Err(Failure::Interrupted)
        }
    }
}

/// A run that is over: its draws are read, shown and exported.
fn finished(path: &Path, args: &SampleArgs) -> Result<(), Failure> {
    if let Some(path) = &args.out {
        check_target(path)?;
    }
    let run = crate::former::read(path)?;
    args.out.as_ref().map_or(Ok(()), |path| write(path, &run))?;
    args.html.as_ref().map_or(Ok(()), |path| write_report(path, args, &run))?;
    show(&run, &[], args.format)
}

/// Draws from the prior.
fn prior(
    args: &SampleArgs,
    session: &mut Session,
    program: &[TopDirective],
    seed: u64,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let (record, threads) = (args.record.clone(), threads(args.threads));
    let request = PredictRequest { seed, draws: None, record, threads, rows: Vec::new() };
    let progress = Progress::default();
    let size = (args.chains, args.draws.unwrap_or(SampleRequest::default().draws));
    let drawn = progress::with_bar(&progress, || {
        predict::prior(session, program, size, &request, &progress)
    });
    match drawn {
        Err(_) if interrupt.is_set() => Err(Failure::Interrupted),
        result => {
            let run = result.map_err(|error| Failure::sample(session, error))?.run;
            if let Some(path) = &args.html {
                write_report(path, args, &run)?;
            }
            deliver(&run, args.out.as_deref(), args.format)
        }
    }
}

/// Writes and shows draws that no kernel made.
pub fn deliver(run: &Run, out: Option<&Path>, format: Format) -> Result<(), Failure> {
    let written = out.map_or(Ok(()), |path| write(path, run));
    match format {
        Format::Json => output::line(&smidgen::io::run_to_json(run).to_string())?,
        Format::Text => output::line(&output::spread(&run.draws))?,
    }
    written
}

pub fn threads(given: Option<usize>) -> usize {
    given.unwrap_or(SampleRequest::default().threads)
}

fn request(args: &SampleArgs, seed: u64) -> Result<SampleRequest, Failure> {
    let default = SampleRequest::default();
    let keep_states = match (args.keep_states, &args.out) {
        (Keep::No, _) | (_, None) => KeepStates::No,
        // A run folder has the draws and where the chains stand.
        (_, Some(path)) if durable::is_folder(path) => KeepStates::No,
        (Keep::Auto, _) => KeepStates::Auto,
        (Keep::All, _) => KeepStates::All,
    };
    Ok(SampleRequest {
        kernel: args.kernel.clone(),
        draws: args.draws.unwrap_or(default.draws),
        warmup: args.warmup,
        thin: args.thin,
        chains: args.chains,
        seed,
        record: args.record.clone(),
        approximate: args.approximate,
        threads: args.threads.unwrap_or(default.threads),
        stats: args.stats,
        keep_warmup: args.keep_warmup,
        keep_states,
        init: match &args.restart_from {
            Some(path) => Some(durable::restart(path)?),
            None => args.init.as_deref().map(init::read).transpose()?,
        },
        ..default
    })
}

fn draw(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    place: &Place<'_>,
    interrupt: &Interrupt,
) -> Result<(Sampled, Option<Durable>), Failure> {
    let progress = Progress::default();
    let (mut durable, mut refused) = (None, None);
    let folder = |session: &Session| match place.folder(session) {
        Ok(found) => {
            durable = found.clone();
            Ok(found)
        }
        Err(failure) => {
            refused = Some(failure);
            Err(SampleError(Vec::new()))
        }
    };
    let result = progress::with_bar(&progress, || {
        sampling::sample_into(session, program, request, &progress, folder)
    });
    match (result, refused) {
        (_, Some(refused)) => Err(refused),
        (Err(_), None) if interrupt.is_set() => {
            say("nothing was drawn yet");
            Err(Failure::Interrupted)
        }
        (Err(error), None) => Err(Failure::sample(session, error)),
        (Ok(sampled), None) => Ok((sampled, durable)),
    }
}

// ---------------------------------------------------------------- the file of draws

/// A file that cannot be written is better known before the chains run.
pub fn check_target(path: &Path) -> Result<(), Failure> {
    const KNOWN: [&str; 4] = ["csv", "json", "parquet", "arrow"];
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let shown = path.display();
    if !extension.as_ref().is_some_and(|extension| KNOWN.contains(&extension.as_str())) {
        let formats = ".csv, .json, .parquet and .arrow files, and to .run folders";
        return Err(Failure::Usage(format!("--out {shown}: draws are written to {formats}")));
    }
    if !smidgen::io::COLUMNAR && extension.is_some_and(|e| e == "parquet" || e == "arrow") {
        let message =
            format!("--out {shown}: this smidgen was built without the feature `columnar`");
        return Err(Failure::Usage(message));
    }
    target::check("--out", path)
}

/// The states of the program beside the draws.
fn write_states(path: &Path, sampled: &Sampled) -> Result<(), Failure> {
    let (states, reason) = match &sampled.states {
        Some(Ok(states)) => (Some(states), None),
        Some(Err(reason)) => (None, Some(reason)),
        None => (None, None),
    };
    if let Some(reason) = reason {
        say(&format!("no states are kept, which predict and loo need: {reason}"));
    }
    if let Some(thinned) = former::keep_states(path, states).map_err(Failure::message)? {
        say(&thinned);
    }
    Ok(())
}

fn write(path: &Path, run: &Run) -> Result<(), Failure> {
    let report =
        smidgen::io::write_draws(path, run).map_err(|error| Failure::message(error.to_string()))?;
    for (name, reason) in report.skipped {
        render::warn(&format!("{} does not hold `{name}`: {reason}", path.display()));
    }
    Ok(())
}

/// The page about the draws, with what only this call knows.
pub fn write_report(path: &Path, args: &SampleArgs, run: &Run) -> Result<(), Failure> {
    let file = args.file.as_deref().unwrap_or(Path::new("")).display().to_string();
    let title = format!("Draws of {file}");
    let fact = |name: &str, text: String| (name.to_owned(), text);
    let facts = vec![
        fact("program", file),
        fact("seed", run.seed.to_string()),
        fact("warm-up", format!("{} per chain", args.warmup)),
        fact("thinning", format!("{} per draw", args.thin)),
    ];
    let page = RunPage { title, run, facts, only: Vec::new() };
    report::write_page("--html", path, &run_report(&page).html)
}

// ---------------------------------------------------------------- on the screen

fn show(run: &Run, notes: &[String], format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => writeln!(io::stdout(), "{}", smidgen::io::run_to_json(run))?,
        Format::Text => screen::show(&text(run, notes))?,
    }
    Ok(())
}

pub fn text(run: &Run, notes: &[String]) -> String {
    let mut text = output::summary(run);
    if run.draws.quantities().is_empty() {
        text.push_str("nothing to record: the program has no predict and assumes no random number; use --record EXPR\n");
    }
    text.push('\n');
    for kernel in &run.kernels {
        text.push_str(&output::kernel_lines(kernel));
        text.push('\n');
    }
    for note in notes {
        text.push_str(&format!("note: {note}\n"));
    }
    for warning in &run.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    text
}
