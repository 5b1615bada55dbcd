//! `smidgen calibrate`: does the sampler draw from the posterior of this program?

use std::path::Path;

use smidgen::calibrate::{CalibrateRequest, Calibration, calibrate as calibration};
use smidgen::report::{CalibrationPage, calibration_html, calibration_text, calibration_verdict};
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
    let page = page(&args.file, text, found);
    if let Some(path) = &args.html {
        report::write_page("--html", path, &calibration_html(&page))?;
    }
    match args.format {
        Format::Json => output::line(&json(&page).to_string()),
        Format::Text => output::line(&calibration_text(&page)),
    }
}

fn page(file: &Path, program: String, found: Calibration) -> CalibrationPage {
    CalibrationPage {
        file: file.display().to_string(),
        program,
        ranks: found.ranks,
        tests: found.tests,
        p: found.p,
        simulations: found.simulations,
        thin: found.thin,
        failed: found.failed,
        failure: found.failure,
        is_correlated: found.is_correlated,
        seed: found.seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn json(page: &CalibrationPage) -> serde_json::Value {
    let (verdict, findings) = calibration_verdict(page);
    let ranks = |name: &str| page.ranks.iter().find(|ranks| ranks.name == name);
    let quantities: Vec<_> = (page.tests.iter())
        .map(|test| {
            serde_json::json!({
                "name": test.name, "p": test.p, "shift": test.shift, "spread": test.spread,
                "ranks": ranks(&test.name).map(|ranks| &ranks.ranks),
            })
        })
        .collect();
    let findings: Vec<String> = findings.into_iter().map(|finding| finding.text).collect();
    serde_json::json!({
        "verdict": verdict.word(), "p": page.p, "findings": findings, "seed": page.seed,
        "simulations": page.simulations, "failed": page.failed, "thin": page.thin,
        "draws": page.ranks.first().map(|ranks| ranks.most), "quantities": quantities,
    })
}
