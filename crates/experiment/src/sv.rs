//! Stochastic volatility (section 4.3 of the paper): states by particle Gibbs, the parameters φ and σ by (subsampled)
//! Metropolis-Hastings; 200 series of length 5, and one real series.
//!
//! The states tie the parameters down: given all h, σ is known to 2 %, while its posterior is ten times as wide. So a chain in the
//! paper's coordinates creeps, whatever a transition costs. In the coordinates of `sv_noise.smg`, where the choices are the shocks
//! (h_t - φ h_{t-1}) / σ, a move of the parameters takes the states along. Both are run, exact and subsampled, beside kernels
//! that go along the gradient, one of which is the reference.
//!
//! Effective draws per second are the least bulk ESS of the parameters per processor second of a chain, warm-up excluded.

pub mod data;
mod page;

use smidgen::draws::Scalar;
use smidgen::draws::diagnostics::{ess_bulk, mcse_mean};
use smidgen::value::{Value, math};

use crate::chain::{Budget, Chain, Plan, Program};
use crate::output::Folder;
use crate::timing;
use crate::{Error, Options, Outcome, Progress};
use data::{Daily, Returns};

const PAPER: &str = include_str!("../../../examples/sv.smg");
const NOISE: &str = include_str!("../../../examples/sv_noise.smg");
const DAILY: &str = include_str!("../../../examples/tall/sp500.smg");
const EPSILON: f64 = 0.001;
/// Days of a window of the real series, without what it shares with the next.
const WINDOW: usize = 20;

/// A kernel of a program.
#[derive(Clone, Copy, Debug)]
struct Setting {
    name: &'static str,
    program: &'static str,
    /// Empty: the program's own.
    kernel: &'static str,
    /// For the program's own.
    epsilon: f64,
    warmup: usize,
    /// Processor seconds of a chain: quick and full.
    seconds: (f64, f64),
}

const REFERENCE: &str = "NUTS, shocks";

const SETTINGS: [Setting; 6] = [
    Setting {
        name: REFERENCE,
        program: NOISE,
        // The shocks are nearly standard normal: there is no scale to learn.
        kernel: "(nuts default all 'step 0.4 1)",
        epsilon: 0.0,
        warmup: 50,
        seconds: (12.0, 120.0),
    },
    Setting {
        name: "default, states",
        program: PAPER,
        kernel: "1",
        epsilon: 0.0,
        warmup: 100,
        seconds: (10.0, 60.0),
    },
    Setting {
        name: "exact MH, states",
        program: PAPER,
        kernel: "",
        epsilon: 0.0,
        warmup: 300,
        seconds: (12.0, 240.0),
    },
    Setting {
        name: "subsampled, states",
        program: PAPER,
        kernel: "",
        epsilon: EPSILON,
        warmup: 300,
        seconds: (12.0, 240.0),
    },
    Setting {
        name: "exact MH, shocks",
        program: NOISE,
        kernel: "",
        epsilon: 0.0,
        warmup: 200,
        seconds: (14.0, 120.0),
    },
    Setting {
        name: "subsampled, shocks",
        program: NOISE,
        kernel: "",
        epsilon: EPSILON,
        warmup: 200,
        seconds: (14.0, 120.0),
    },
];

/// A parameter by one kernel.
#[derive(Clone, Debug)]
struct Parameter {
    name: String,
    draws: Scalar,
    mean: f64,
    sd: f64,
    ess: f64,
    mcse: f64,
}

/// A kernel with what came of it.
struct Course {
    name: &'static str,
    exact: bool,
    parameters: Vec<Parameter>,
    /// Of all chains, warm-up excluded.
    seconds: f64,
    draws: usize,
    /// Share of the sections that decisions about parameters read.
    share: Option<f64>,
}

impl Course {
    fn new(name: &'static str, exact: bool, chain: &Chain) -> Course {
        let draws = chain.times.iter().map(Vec::len).sum();
        let span =
            |times: &Vec<f64>| times.last().copied().unwrap_or(0.0) - times.first().unwrap_or(&0.0);
        let (mut used, mut all) = (0, 0);
        for kernel in chain.run.kernels.iter().filter(|k| k.kernel.contains("(subsampled_mh")) {
            used += kernel.sections_used;
            all += kernel.population;
        }
        Course {
            name,
            exact,
            parameters: chain.run.draws.scalars().into_iter().map(parameter).collect(),
            seconds: chain.times.iter().map(span).sum(),
            draws,
            share: (all > 0).then(|| used as f64 / all as f64),
        }
    }

    fn least_ess(&self) -> f64 {
        self.parameters.iter().map(|parameter| parameter.ess).fold(f64::INFINITY, f64::min)
    }

    fn ess_per_second(&self) -> f64 {
        self.least_ess() / self.seconds
    }

    /// (mean - reference mean) / reference sd of a parameter, with its Monte Carlo error.
    fn bias(&self, reference: &Course, k: usize) -> (f64, f64) {
        let (own, true_one) = (&self.parameters[k], &reference.parameters[k]);
        let error = math::sqrt(own.mcse * own.mcse + true_one.mcse * true_one.mcse);
        ((own.mean - true_one.mean) / true_one.sd, error / true_one.sd)
    }

    fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

fn parameter(draws: Scalar) -> Parameter {
    let n = draws.chains.iter().map(Vec::len).sum::<usize>() as f64;
    let all = || draws.chains.iter().flatten();
    let mean = all().sum::<f64>() / n;
    let variance = all().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    Parameter {
        name: draws.name.clone(),
        mean,
        sd: math::sqrt(variance),
        ess: ess_bulk(&draws.chains),
        mcse: mcse_mean(&draws.chains),
        draws,
    }
}

/// Microseconds of one transition of a parameter.
struct Cost {
    form: &'static str,
    parameter: &'static str,
    exact: f64,
    subsampled: f64,
}

/// The real series.
struct Real {
    daily: Daily,
    courses: Vec<Course>,
}

struct SvFindings {
    returns: Returns,
    courses: Vec<Course>,
    costs: Vec<Cost>,
    /// Or why there is none.
    real: Result<Real, String>,
}

impl SvFindings {
    fn course(&self, name: &str) -> &Course {
        self.courses.iter().find(|course| course.name == name).expect("every setting was run")
    }

    fn reference(&self) -> &Course {
        self.course(REFERENCE)
    }
}

pub fn run(options: &Options, progress: Progress<'_>) -> Result<Outcome, Error> {
    let folder = Folder::new(options)?;
    let returns = Returns::new(options);
    folder.write("returns.csv", returns.csv().as_bytes())?;
    let mut courses = Vec::new();
    for setting in &SETTINGS {
        progress(&format!("{} series: {}", returns.series(), setting.name));
        let program = synthetic(setting.program, setting.epsilon, &returns);
        folder.program(&program)?;
        courses.push(course(&program, setting, options, &folder)?);
    }
    progress("the cost of a transition");
    let costs = costs(&returns, options)?;
    let real = real(options, progress, &folder)?;
    let found = SvFindings { returns, courses, costs, real };
    folder.summary(&page::json(&found, options))?;
    let page = folder.page(page::page(&found, options, &folder)?)?;
    Ok(Outcome { text: page::text(&found), page })
}

fn synthetic(text: &'static str, epsilon: f64, returns: &Returns) -> Program {
    let name = if text == PAPER { "sv.smg" } else { "sv_noise.smg" };
    let mut program = Program::new(name, text);
    program.tables = vec![("returns", returns.table())];
    program.params = vec![("epsilon", Value::Number(epsilon))];
    if text == PAPER {
        program.params.push(("series", Value::Number(returns.series() as f64)));
    }
    program
}

fn course(
    program: &Program,
    setting: &Setting,
    options: &Options,
    folder: &Folder,
) -> Result<Course, Error> {
    let (quick, full) = setting.seconds;
    let plan = Plan {
        warmup: options.size.pick(20, setting.warmup, setting.warmup),
        chains: 2,
        ..Plan::new(
            setting.kernel,
            Budget { seconds: options.size.pick(0.3, quick, full), draws: 200_000 },
        )
    };
    let chain = program.sample(&plan, options)?;
    let file = setting.name.replace(", ", "-").replace(' ', "-");
    folder.draws(&format!("draws-{file}.csv"), &chain.thinned(5000).run)?;
    Ok(Course::new(setting.name, setting.epsilon == 0.0, &chain))
}

fn costs(returns: &Returns, options: &Options) -> Result<Vec<Cost>, Error> {
    let seconds = options.size.pick(0.01, 0.3, 1.0);
    let mut costs = Vec::new();
    for (form, text, batch, sizes) in
        [("states", PAPER, 100, [0.07, 0.4]), ("shocks", NOISE, 50, [0.8, 1.8])]
    {
        let (mut session, directives) = synthetic(text, EPSILON, returns).session(options)?;
        for directive in &directives {
            session.execute(directive).map_err(|d| Error::program(&session, d))?;
        }
        for (parameter, drift) in ["sig", "phi"].into_iter().zip(sizes) {
            let mut cost = |epsilon: f64| {
                let kernel = format!(
                    "(subsampled_mh {parameter} 0 {batch} {epsilon} 'drift {drift} 'audit 0 N)"
                );
                timing::time(&mut session, &kernel, seconds, 10.0)
                    .map(|timed| timed.microseconds_per_transition())
            };
            costs.push(Cost { form, parameter, exact: cost(0.0)?, subsampled: cost(EPSILON)? });
        }
    }
    Ok(costs)
}

fn real(
    options: &Options,
    progress: Progress<'_>,
    folder: &Folder,
) -> Result<Result<Real, String>, Error> {
    if options.size == crate::Size::Tiny && options.data.is_none() {
        return Ok(Err("left out: the smallest size uses no network".to_owned()));
    }
    let daily = match data::daily(options, progress)? {
        Ok(daily) => daily,
        Err(why) => return Ok(Err(why)),
    };
    let mut courses = Vec::new();
    for (name, kernel, epsilon, warmup) in
        [("default", "1", 0.0, 200), ("exact MH", "", 0.0, 200), ("subsampled", "", EPSILON, 200)]
    {
        progress(&format!("{}, {} days: {name}", daily.name, daily.returns.len()));
        let mut program = Program::new("sp500.smg", DAILY);
        folder.program(&program)?;
        program.tables = vec![("returns", daily.table())];
        let windows = Value::Number(daily.returns.len().div_ceil(WINDOW) as f64);
        program.params = vec![("epsilon", Value::Number(epsilon)), ("windows", windows)];
        let plan = Plan {
            warmup: options.size.pick(20, warmup, 2 * warmup),
            chains: 2,
            ..Plan::new(
                kernel,
                Budget { seconds: options.size.pick(0.3, 12.0, 240.0), draws: 200_000 },
            )
        };
        let chain = program.sample(&plan, options)?;
        let file = format!("draws-daily-{}.csv", name.replace(' ', "-"));
        folder.draws(&file, &chain.thinned(5000).run)?;
        courses.push(Course::new(name, epsilon == 0.0, &chain));
    }
    Ok(Ok(Real { daily, courses }))
}
