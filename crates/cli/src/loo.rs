//! `smidgen loo`: how well a program predicts what it has not seen, and which of several does it best.

use std::path::Path;

use smidgen::draws::loo::{self, Compared, Loo, relative_efficiency};
use smidgen::draws::{Draws, KeepStates, Pointwise, Quantity, Run};
use smidgen::io::write_draws;
use smidgen::likelihood::{LikelihoodRequest, log_likelihood};
use smidgen::report::{loo_text, models_text};
use smidgen::sampling::Progress;
use smidgen::value::Value;
use smidgen::{SampleRequest, sampling};

use crate::args::{CompareArgs, Format, InputArgs, LooArgs};
use crate::failure::{Failure, say};
use crate::inputs::Seed;
use crate::interrupt::Interrupt;
use crate::{former, inputs, output, progress, render, sample};

pub fn loo(args: &LooArgs) -> Result<(), Failure> {
    if let Some(path) = &args.out {
        sample::check_target(path)?;
    }
    let interrupt = Interrupt::listen(true);
    let run = former::read(&args.draws_from)?;
    let states = former::states(&args.draws_from, &run, &args.file, &args.inputs, &interrupt)?;
    let threads = sample::threads(args.threads);
    let pointwise = pointwise(&args.file, &args.inputs, &states, run.seed, threads, &interrupt)?;
    if let Some(path) = &args.out {
        write_draws(path, &as_run(&pointwise, &run))
            .map_err(|error| Failure::message(error.to_string()))?;
    }
    let found = loo::loo(&pointwise, relative_efficiency(&run.draws));
    match args.format {
        Format::Json => output::line(&json(&found).to_string()),
        Format::Text => output::line(&loo_text(&found)),
    }
}

fn pointwise(
    file: &Path,
    args: &InputArgs,
    states: &smidgen::draws::States,
    seed: u64,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Pointwise, Failure> {
    let mut session = inputs::session(args, seed, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, file)?;
    inputs::check_data_used(&session, &program)?;
    if let Some(thinned) = states.thinned() {
        say(&thinned);
    }
    let request = LikelihoodRequest { seed, draws: None, threads, rows: Vec::new() };
    let progress = Progress::default();
    let found = progress::with_bar(&progress, || {
        log_likelihood(&mut session, &program, states, &request, &progress)
    });
    match found {
        Err(_) if interrupt.is_set() => Err(Failure::Interrupted),
        result => result.map_err(|error| Failure::sample(&session, error)),
    }
}

/// The log likelihoods as draws: one quantity for each unit.
fn as_run(pointwise: &Pointwise, run: &Run) -> Run {
    let mut draws = Draws::default();
    for (i, name) in pointwise.names.iter().enumerate() {
        let chain = |chain: &Vec<Vec<f64>>| chain.iter().map(|d| Value::Number(d[i])).collect();
        draws.add(Quantity::new(name.clone(), pointwise.chains.iter().map(chain).collect()));
    }
    let (program, version) = (run.program.clone(), run.version.clone());
    Run {
        seed: run.seed,
        chains: pointwise.chains.len(),
        draws,
        program,
        version,
        ..Run::default()
    }
}

fn json(found: &Loo) -> serde_json::Value {
    let number = |x: f64| smidgen::io::value_to_json(&Value::Number(x));
    let unit = |unit: &loo::LooUnit| serde_json::json!({"name": unit.name, "elpd": number(unit.elpd), "k_hat": number(unit.k_hat)});
    serde_json::json!({
        "elpd_loo": number(found.elpd), "se": number(found.se), "p_loo": number(found.p_loo),
        "draws": found.draws, "efficiency": number(found.efficiency),
        "units": found.units.iter().map(unit).collect::<Vec<_>>(),
        "warnings": found.warnings(),
    })
}

// ---------------------------------------------------------------- several models

/// `smidgen compare A.smg B.smg ...`: each is sampled, or its draws are given.
pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let files: Vec<&Path> = args.files.iter().map(AsRef::as_ref).collect();
    if !args.draws_from.is_empty() && args.draws_from.len() != files.len() {
        let message = "--draws-from is given once for each program, in their order".to_owned();
        return Err(Failure::Usage(message));
    }
    if args.html.is_some() || !args.record.is_empty() {
        let message = "--html and --record are about one program".to_owned();
        return Err(Failure::Usage(message));
    }
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    if args.draws_from.is_empty() {
        seed.show();
    }
    let threads = sample::threads(args.threads);
    let mut models = Vec::new();
    for (k, file) in files.iter().enumerate() {
        let (run, states) = match args.draws_from.get(k) {
            Some(path) => {
                let run = former::read(path)?;
                let states = former::states(path, &run, file, &args.inputs, &interrupt)?;
                (run, states)
            }
            None => sampled(file, args, seed.value, &interrupt)?,
        };
        let pointwise = pointwise(file, &args.inputs, &states, seed.value, threads, &interrupt)?;
        models.push(loo::loo(&pointwise, relative_efficiency(&run.draws)));
    }
    let compared = loo::compare(&models).map_err(Failure::message)?;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    match args.format {
        Format::Json => output::line(&compared_json(&compared, &models, &names).to_string()),
        Format::Text => output::line(&models_text(&compared, &models, &names)),
    }
}

fn sampled(
    file: &Path,
    args: &CompareArgs,
    seed: u64,
    interrupt: &Interrupt,
) -> Result<(Run, smidgen::draws::States), Failure> {
    let mut session = inputs::session(&args.inputs, seed, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, file)?;
    inputs::check_data_used(&session, &program)?;
    let request = SampleRequest {
        kernel: args.kernel.clone(),
        draws: args.draws,
        warmup: args.warmup,
        thin: args.thin,
        chains: args.chains,
        seed,
        threads: sample::threads(args.threads),
        keep_states: KeepStates::Auto,
        ..SampleRequest::default()
    };
    let progress = Progress::default();
    let name = file.display().to_string();
    let mut result = None;
    progress::with_named_bar(&name, &progress, &mut || {
        result = Some(sampling::sample(&mut session, &program, &request, &progress));
    });
    let sampled = match result.expect("the bar does the work") {
        Err(_) if interrupt.is_set() => return Err(Failure::Interrupted),
        result => result.map_err(|error| Failure::sample(&session, error))?,
    };
    if sampled.interrupted {
        say("the comparison is not complete: there is nothing to show");
        return Err(Failure::Interrupted);
    }
    for warning in &sampled.run.warnings {
        render::warn(&format!("{name}: {warning}"));
    }
    match sampled.states {
        Some(Ok(states)) => Ok((sampled.run, states)),
        Some(Err(reason)) => {
            Err(Failure::message(format!("{name}: {reason}, so its states cannot be kept")))
        }
        None => unreachable!("states were asked for"),
    }
}

fn compared_json(compared: &[Compared], models: &[Loo], names: &[String]) -> serde_json::Value {
    let number = |x: f64| smidgen::io::value_to_json(&Value::Number(x));
    let row = |row: &Compared| {
        serde_json::json!({
            "program": names[row.model], "elpd_loo": number(row.elpd), "se": number(row.se),
            "difference": number(row.difference), "difference_se": number(row.difference_se),
            "p_loo": number(row.p_loo), "weight": number(row.weight),
            "warnings": models[row.model].warnings(),
        })
    };
    serde_json::json!({"models": compared.iter().map(row).collect::<Vec<_>>()})
}
