//! What the kernels beside `mh` cost: a Gibbs step, a particle and step, a gradient, and the effective
//! draws per second of `nuts`.

use std::path::Path;

use smidgen::lang::syntax::DirectiveKind;
use smidgen::sampling::{self, Progress, SampleRequest};
use smidgen::stopwatch::Stopwatch;
use smidgen::{Session, Settings, TopDirective, draws};

use super::anchor::Anchor;
use super::subjects::{self, Written};
use crate::failure::Failure;

pub struct Cost {
    pub name: &'static str,
    pub unit: &'static str,
    pub measured: f64,
    pub target: f64,
    pub more_is_better: bool,
    /// What hand-written code costs on this machine, if it was asked.
    pub anchor: Option<f64>,
}

/// A kernel on a program: `batch` is run again and again and makes so many units of work.
struct Subject {
    name: &'static str,
    unit: &'static str,
    written: Written,
    warmup: &'static str,
    batch: &'static str,
    units: f64,
    /// Units of time in a second.
    per_second: f64,
    target: f64,
    /// The arguments of the anchor, and the names that lead to its number.
    anchor: Option<(&'static str, &'static [&'static str])>,
}

/// At least so many are run; the median is told.
const BATCHES: usize = 5;

/// How much data, and how many draws.
#[derive(Clone, Copy)]
struct Sizes {
    mixture: usize,
    series: usize,
    panel: usize,
    regression: usize,
    draws: usize,
}

const FULL: Sizes =
    Sizes { mixture: 10_000, series: 1000, panel: 200, regression: 12_214, draws: 300 };
/// For a look whether everything runs; the numbers mean nothing.
const SMALL: Sizes = Sizes { mixture: 100, series: 20, panel: 20, regression: 100, draws: 30 };

pub fn measure_all(folder: &Path, seconds: f64, anchor: &Anchor) -> Result<Vec<Cost>, Failure> {
    let sizes = if seconds < super::A_LOOK { SMALL } else { FULL };
    let z_step: &[&str] = &["ns_per_z_step", "median"];
    let subjects = [
        Subject {
            name: "gibbs step, joint DPM, 2 features",
            unit: "ns",
            written: subjects::joint_dpm(2, sizes.mixture),
            warmup: "(cycle ((gibbs z one 1) (subsampled_mh w one 100 0.01 'drift 0.3 1)) 2000)",
            batch: "(gibbs z one 50000)",
            units: 50_000.0,
            per_second: 1e9,
            target: 12.0 * 230.0,
            anchor: Some(("jointdpm --d 2 --k 10 --m 100 --eps 0.01", z_step)),
        },
        Subject {
            name: "gibbs step, joint DPM, 10 features",
            unit: "ns",
            written: subjects::joint_dpm(10, sizes.mixture),
            warmup: "(cycle ((gibbs z one 1) (subsampled_mh w one 100 0.01 'drift 0.3 1)) 2000)",
            batch: "(gibbs z one 50000)",
            units: 50_000.0,
            per_second: 1e9,
            target: 8.0 * 680.0,
            anchor: Some(("jointdpm --d 10 --k 10 --m 100 --eps 0.01", z_step)),
        },
        Subject {
            name: "gibbs step, Poisson mixture, 2 features",
            unit: "ns",
            written: subjects::poisson_mixture(2, sizes.mixture),
            warmup: "(cycle ((gibbs z one 1) (subsampled_mh w one 100 0.01 'drift 0.3 1)) 2000)",
            batch: "(gibbs z one 50000)",
            units: 50_000.0,
            per_second: 1e9,
            target: 12.0 * 230.0,
            // There is no code by hand for this one: that for the joint DPM is the measure.
            anchor: Some(("jointdpm --d 2 --k 10 --m 100 --eps 0.01", z_step)),
        },
        Subject {
            name: "gibbs step, Poisson mixture, 10 features",
            unit: "ns",
            written: subjects::poisson_mixture(10, sizes.mixture),
            warmup: "(cycle ((gibbs z one 1) (subsampled_mh w one 100 0.01 'drift 0.3 1)) 2000)",
            batch: "(gibbs z one 50000)",
            units: 50_000.0,
            per_second: 1e9,
            target: 8.0 * 680.0,
            // There is no code by hand for this one: that for the joint DPM is the measure.
            anchor: Some(("jointdpm --d 10 --k 10 --m 100 --eps 0.01", z_step)),
        },
        Subject {
            name: "pgibbs, per particle and step",
            unit: "ns",
            written: subjects::volatility(sizes.series),
            warmup: "(pgibbs h ordered 10 2)",
            batch: "(pgibbs h ordered 10 'ancestor false 10)",
            units: 10.0 * 10.0 * sizes.series as f64,
            per_second: 1e9,
            target: 30.0 * 13.0,
            anchor: Some(("sv", &["ns_per_particle_step"])),
        },
        Subject {
            name: "gradient, volatility, 200 series of 5",
            unit: "us",
            written: subjects::volatility_panel(sizes.panel, 5),
            warmup: "(hmc default all 0.0001 1 1)",
            batch: "(hmc default all 0.0001 500 4)",
            units: 2000.0,
            per_second: 1e6,
            target: 25.0,
            anchor: None,
        },
        Subject {
            name: "gradient, logistic, 50 x 12214",
            unit: "us",
            written: subjects::logistic(sizes.regression),
            warmup: "(hmc default all 0.0001 1 1)",
            batch: "(hmc default all 0.0001 50 2)",
            units: 100.0,
            per_second: 1e6,
            target: 400.0,
            anchor: None,
        },
    ];
    let mut costs = Vec::new();
    for subject in subjects {
        costs.push(measure(subject, folder, seconds, anchor)?);
    }
    costs.push(effective_draws(folder, sizes)?);
    Ok(costs)
}

fn measure(
    subject: Subject,
    folder: &Path,
    seconds: f64,
    anchor: &Anchor,
) -> Result<Cost, Failure> {
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let program = subject.written.open(&mut session, folder)?;
    let wrong = |session: &Session, diagnostics| Failure::wrong(session, diagnostics);
    for top in &program {
        session.execute(top).map_err(|d| wrong(&session, d))?;
    }
    let run = |session: &mut Session, kernel: &str| {
        let text = format!("[infer {kernel}]");
        let infer = session.parse_text("<bench>", &text).map_err(|d| wrong(session, d))?;
        let stopwatch = Stopwatch::start();
        session.execute(&infer[0]).map_err(|d| wrong(session, d))?;
        Ok::<f64, Failure>(stopwatch.seconds())
    };
    run(&mut session, subject.warmup)?;
    let mut times = Vec::new();
    while times.len() < BATCHES || times.iter().sum::<f64>() < seconds {
        times.push(run(&mut session, subject.batch)?);
    }
    times.sort_by(f64::total_cmp);
    let anchor = match subject.anchor {
        Some((arguments, names)) => anchor.ask(&arguments.split(' ').collect::<Vec<_>>(), names)?,
        None => None,
    };
    Ok(Cost {
        name: subject.name,
        unit: subject.unit,
        measured: times[times.len() / 2] / subject.units * subject.per_second,
        target: subject.target,
        more_is_better: false,
        anchor,
    })
}

/// The least effective sample size per processor second of the draws of one chain.
fn effective_draws(folder: &Path, sizes: Sizes) -> Result<Cost, Failure> {
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let program = subjects::logistic(sizes.regression).open(&mut session, folder)?;
    let models = |top: &&TopDirective| !matches!(top.directive.kind, DirectiveKind::Infer { .. });
    let program: Vec<TopDirective> = program.iter().filter(models).cloned().collect();
    let request = SampleRequest {
        kernel: Some("(nuts default all 1)".to_owned()),
        chains: 1,
        warmup: sizes.draws,
        draws: sizes.draws,
        seed: 1,
        ..SampleRequest::default()
    };
    let sampled = sampling::sample(&mut session, &program, &request, &Progress::default())
        .map_err(|error| Failure::wrong(&session, error.0))?;
    let rows = draws::summary::summarise(&sampled.run.draws);
    let least = rows.iter().map(|row| row.ess_bulk).fold(f64::INFINITY, f64::min);
    Ok(Cost {
        name: "nuts, logistic, 50 x 12214",
        unit: "least ESS/s",
        measured: least / sampled.seconds,
        target: 142.0,
        more_is_better: true,
        anchor: None,
    })
}
