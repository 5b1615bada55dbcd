//! `smidgen calibrate`: does the sampler draw from the posterior of this program?

use smidgen::calibrate::{CalibrateRequest, calibrate as calibration};
use smidgen::report::{calibration_html, calibration_json, calibration_text};
use smidgen::sampling::Progress;

use crate::args::{CalibrateArgs, Format};
use crate::failure::{Failure, say};
use crate::inputs::Seed;
use crate::interrupt::Interrupt;
use crate::{inputs, output, progress, report, sample, target};

pub fn calibrate(args: &CalibrateArgs) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        target::check("--html", path)?;
    }
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    let mut session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, &args.file)?;
    inputs::check_all_used(&session, &program)?;
    seed.show();
    let request = CalibrateRequest {
        kernel: args.kernel.clone(),
        simulations: args.simulations,
        draws: args.draws,
        warmup: args.warmup,
        thin: args.thin,
        record: args.record.clone(),
        seed: seed.value,
        threads: sample::threads(args.threads),
    };
    let progress = Progress::default();
    let found =
        progress::with_bar(&progress, || calibration(&mut session, &program, &request, &progress));
    let found = match found {
        Err(_) if interrupt.is_set() => {
            say("the calibration is not complete: there is nothing to show");
            return Err(Failure::Interrupted);
        }
        result => result.map_err(|error| Failure::sample(&session, error))?,
    };
    let text = std::fs::read_to_string(&args.file).unwrap_or_default();
    let page = found.page(args.file.display().to_string(), text);
    if let Some(path) = &args.html {
        report::write_page("--html", path, &calibration_html(&page))?;
    }
    match args.format {
        Format::Json => output::line(&calibration_json(&page).to_string()),
        Format::Text => output::line(&calibration_text(&page)),
    }
}
