//! `smidgen compare`: subsampled against exact inference on a program.

use std::io::{self, Write};

use smidgen::report::{Comparison, comparison_html, comparison_json, comparison_text};
use smidgen::{CompareRequest, compare};

use crate::args::{CompareArgs, Format};
use crate::failure::{Failure, say};
use crate::inputs::Seed;
use crate::interrupt::Interrupt;
use crate::{inputs, progress, report, screen, target};

pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    if !args.draws_from.is_empty() {
        let message = "--draws-from compares several programs: give more than one".to_owned();
        return Err(Failure::Usage(message));
    }
    let file = &args.files[0];
    if let Some(path) = &args.html {
        target::check("--html", path)?;
    }
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    let mut session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, file)?;
    inputs::check_data_used(&session, &program)?;
    seed.show();
    let request = request(args, seed.value);
    let result = compare::compare(&mut session, &program, &request, &progress::with_named_bar);
    let mut comparison = match result {
        Err(_) if interrupt.is_set() => {
            say("the comparison is not complete: there is nothing to show");
            return Err(Failure::Interrupted);
        }
        result => result.map_err(|error| Failure::sample(&session, error))?,
    };
    comparison.file = file.display().to_string();
    let written = args
        .html
        .as_ref()
        .map_or(Ok(()), |path| report::write_page("--html", path, &comparison_html(&comparison)));
    show(&comparison, args.format)?;
    written
}

fn request(args: &CompareArgs, seed: u64) -> CompareRequest {
    let default = CompareRequest::default();
    CompareRequest {
        kernel: args.kernel.clone(),
        draws: args.draws,
        warmup: args.warmup,
        thin: args.thin,
        chains: args.chains,
        seed,
        record: args.record.clone(),
        threads: args.threads.unwrap_or(default.threads),
        budget: None,
    }
}

fn show(comparison: &Comparison, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => writeln!(io::stdout(), "{}", comparison_json(comparison))?,
        Format::Text => screen::show(&comparison_text(comparison))?,
    }
    Ok(())
}
