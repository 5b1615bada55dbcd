//! Whole models by the default kernel, as users write them: processor seconds of a usual run (4 chains of
//! 1000 + 1000), and the least effective draws per second.

use std::path::Path;

use smidgen::sampling::{self, Progress, SampleRequest};
use smidgen::stopwatch::Stopwatch;
use smidgen::{Session, Settings, draws};

use super::kernels::Cost;
use super::subjects::{self, Written};
use crate::failure::Failure;

struct Model {
    /// For the seconds, and for the effective draws.
    names: [&'static str; 2],
    written: Written,
    /// Seconds at most, and effective draws per second at least.
    targets: [f64; 2],
}

pub fn measure_all(folder: &Path, seconds: f64) -> Result<Vec<Cost>, Failure> {
    let small = seconds < super::A_LOOK;
    let size = |full: usize| if small { 20 } else { full };
    let models = [
        Model {
            names: ["default, volatility, 200 steps", "the same, effective draws"],
            written: subjects::volatility(size(200)),
            targets: [4.0, 250.0],
        },
        Model {
            names: ["default, volatility, 200 series of 5", "the same, effective draws"],
            written: subjects::volatility_panel(size(200), 5),
            targets: [8.0, 500.0],
        },
        Model {
            names: ["default, change point, 100 rows", "the same, effective draws"],
            written: subjects::change_point(size(100)),
            targets: [4.0, 250.0],
        },
        Model {
            names: ["default, mixture of two, 120 rows", "the same, effective draws"],
            written: subjects::mixture_of_two(size(120)),
            targets: [15.0, 50.0],
        },
    ];
    let mut costs = Vec::new();
    for model in models {
        costs.extend(measure(model, folder, small)?);
    }
    Ok(costs)
}

fn measure(model: Model, folder: &Path, small: bool) -> Result<[Cost; 2], Failure> {
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let program = model.written.open(&mut session, folder)?;
    let transitions = if small { 20 } else { 1000 };
    let request = SampleRequest {
        chains: if small { 1 } else { 4 },
        warmup: transitions,
        draws: transitions,
        seed: 1,
        threads: 1,
        ..SampleRequest::default()
    };
    let stopwatch = Stopwatch::start();
    let sampled = sampling::sample(&mut session, &program, &request, &Progress::default())
        .map_err(|error| Failure::wrong(&session, error.0))?;
    let seconds = stopwatch.seconds();
    let rows = draws::summary::summarise(&sampled.run.draws);
    let least = rows.iter().map(|row| row.ess_bulk).fold(f64::INFINITY, f64::min);
    let cost = |k: usize, unit, measured, more_is_better| Cost {
        name: model.names[k],
        unit,
        measured,
        target: model.targets[k],
        more_is_better,
        anchor: None,
    };
    Ok([cost(0, "s", seconds, false), cost(1, "least ESS/s", least / seconds, true)])
}
