//! Bayesian logistic regression (section 4.1 of the paper): 12,214 images of sevens and nines as 50
//! principal components, weights ~ N(0, 0.1 I), a random walk of sd 0.01, batches of 100.
//!
//! The *risk* of a run up to a draw is the mean over test images of (p̄_i − p_i)², with p̄_i the
//! mean of the predicted probabilities of all draws so far, from the very first on, and p_i that of a
//! long run of an exact kernel. It falls as long as a run's error is chance or burn-in, and stops where the bias of its
//! decisions begins. How much too wide a run is shows in the standard deviations of the weights, as ratios to the
//! exact ones.

mod data;
mod images;
mod page;
mod pca;

use smidgen::draws::Scalar;
use smidgen::draws::diagnostics::ess_bulk;
use smidgen::draws::quantile::quantile;
use smidgen::infer::austerity::Accumulator;
use smidgen::value::{Value, math};

use crate::chain::{Budget, Chain, Plan, Program};
use crate::output::Folder;
use crate::regression::linear;
use crate::sublinearity::PROGRAM;
use crate::synthetic::Logistic;
use crate::timing::TICK;
use crate::{Error, Options, Outcome, Progress};
use data::Features;

const DRIFT: f64 = 0.01;
const BATCH: usize = 100;
const EPSILONS: [f64; 5] = [0.01, 0.05, 0.1, 0.2, 0.3];
/// Draws of a run that its risk is computed from, at most.
const LOOKED_AT: usize = 6000;
/// The part of a run that is not used for standard deviations and effective draws.
const SETTLING: f64 = 0.25;
/// Risks whose time is told.
const RISKS: [f64; 2] = [1e-3, 1e-4];

/// The posterior by a long run of an exact kernel.
struct Reference {
    chain: Chain,
    /// Of each weight.
    means: Vec<f64>,
    sds: Vec<f64>,
    /// Predicted probabilities of the test images.
    predicted: Vec<f64>,
    /// Share of test images that they get wrong.
    error: f64,
}

/// A run up to some draw.
#[derive(Clone, Copy, Debug)]
struct Moment {
    seconds: f64,
    transitions: f64,
    risk: f64,
}

/// One setting of the kernel.
struct Setting {
    name: String,
    /// Of the test that decides; none for kernels that the paper does not have.
    epsilon: Option<f64>,
    kernel: String,
    transitions_per_second: f64,
    /// Shares of the proposals and of the rows.
    accepted: f64,
    read: f64,
    /// Standard deviations over exact ones: median, least and largest of the weights.
    sd_ratio: [f64; 3],
    /// Effective draws per second, of the weight that has fewest.
    ess_per_second: f64,
    moments: Vec<Moment>,
    seconds_to: [Option<f64>; 2],
    /// Draws of the weight whose posterior is shown.
    shown: Vec<f64>,
}

struct BayesLrFindings {
    features: Features,
    reference: Reference,
    settings: Vec<Setting>,
    /// Which weight is shown.
    shown: usize,
}

pub fn run(options: &Options, progress: Progress<'_>) -> Result<Outcome, Error> {
    let folder = Folder::new(options)?;
    let mut program = Program::new("bayeslr.smg", PROGRAM);
    folder.program(&program)?;
    let features = data::features(options, progress)?;
    program.tables = vec![("train", features.train.clone().into_table())];
    program.params = vec![("sd", Value::Number(DRIFT))];
    folder.write("train.csv", features.train.csv().as_bytes())?;
    folder.write("test.csv", features.test.csv().as_bytes())?;
    progress("the exact posterior, by nuts");
    let reference = reference(&program, &features.test, options)?;
    folder.draws("draws-reference.csv", &reference.chain.thinned(500).run)?;
    let shown = 1.min(reference.sds.len() - 1);
    let mut settings = Vec::new();
    for planned in planned(options) {
        progress(&format!("{}: {}", planned.name, planned.kernel));
        let plan = Plan {
            warmup: planned.warmup,
            ..Plan::new(&planned.kernel, Budget::seconds(options.size.pick(0.1, 7.0, 60.0)))
        };
        let chain = program.sample(&plan, options)?;
        folder.draws(&format!("draws-{}.csv", planned.file), &chain.thinned(500).run)?;
        settings.push(planned.judge(&chain, &reference, &features.test, shown));
    }
    let found = BayesLrFindings { features, reference, settings, shown };
    folder.summary(&page::json(&found, options))?;
    let page = folder.page(page::page(&found, options, &folder)?)?;
    Ok(Outcome { text: page::text(&found), page })
}

fn reference(program: &Program, test: &Logistic, options: &Options) -> Result<Reference, Error> {
    let plan = Plan {
        warmup: options.size.pick(150, 400, 1000),
        chains: options.size.pick(1, 2, 4),
        ..Plan::new("(nuts w all 1)", Budget::draws(options.size.pick(200, 1000, 4000)))
    };
    let chain = program.sample(&plan, options)?;
    let moments: Vec<(f64, f64)> = chain.run.draws.scalars().iter().map(mean_and_sd).collect();
    let mut predictive = Predictive::new(test);
    chain.vectors("w").iter().for_each(|w| predictive.add(w));
    let predicted = predictive.mean();
    let wrong = predicted.iter().zip(&test.y).filter(|(p, y)| (**p > 0.5) != (**y > 0.5)).count();
    Ok(Reference {
        means: moments.iter().map(|m| m.0).collect(),
        sds: moments.iter().map(|m| m.1).collect(),
        error: wrong as f64 / test.y.len() as f64,
        chain,
        predicted,
    })
}

fn mean_and_sd(scalar: &Scalar) -> (f64, f64) {
    let all: Accumulator = scalar.chains.iter().flatten().copied().collect();
    (all.mean, math::sqrt(all.variance()))
}

/// Sums of predicted probabilities over draws.
struct Predictive<'a> {
    test: &'a Logistic,
    sums: Vec<f64>,
    draws: f64,
}

impl Predictive<'_> {
    fn new(test: &Logistic) -> Predictive<'_> {
        Predictive { test, sums: vec![0.0; test.y.len()], draws: 0.0 }
    }

    fn add(&mut self, w: &[f64]) {
        self.draws += 1.0;
        for (x, sum) in self.test.x.chunks_exact(self.test.features).zip(&mut self.sums) {
            *sum += math::logistic(linear(w, x));
        }
    }

    fn mean(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / self.draws).collect()
    }

    fn risk(&self, truth: &[f64]) -> f64 {
        let square = |(sum, p): (&f64, &f64)| (sum / self.draws - p) * (sum / self.draws - p);
        self.sums.iter().zip(truth).map(square).sum::<f64>() / truth.len() as f64
    }
}

// ---------------------------------------------------------------- settings

struct Planned {
    name: String,
    file: String,
    epsilon: Option<f64>,
    kernel: String,
    warmup: usize,
    /// Transitions of one application.
    transitions: usize,
}

/// The paper's settings, and beside them what one would use today.
fn planned(options: &Options) -> Vec<Planned> {
    let exact = Planned {
        name: "exact MH".to_owned(),
        file: "exact".to_owned(),
        epsilon: Some(0.0),
        kernel: format!("(mh w all 'drift {DRIFT} 10)"),
        warmup: 0,
        transitions: 10,
    };
    let subsampled = EPSILONS.map(|epsilon| Planned {
        name: format!("ε = {epsilon}"),
        file: format!("epsilon-{epsilon}"),
        epsilon: Some(epsilon),
        kernel: format!("(subsampled_mh w all {BATCH} {epsilon} 'drift {DRIFT} 'audit 0 10)"),
        warmup: 0,
        transitions: 10,
    });
    let adapted = Planned {
        name: "exact MH, adapted".to_owned(),
        file: "adapted".to_owned(),
        epsilon: None,
        kernel: format!("(mh w all 'drift {DRIFT} 'adapt true 10)"),
        warmup: options.size.pick(20, 500, 2000),
        transitions: 10,
    };
    let nuts = Planned {
        name: "nuts".to_owned(),
        file: "nuts".to_owned(),
        epsilon: None,
        kernel: "(nuts w all 1)".to_owned(),
        warmup: options.size.pick(20, 200, 500),
        transitions: 1,
    };
    std::iter::once(exact).chain(subsampled).chain([adapted, nuts]).collect()
}

impl Planned {
    fn judge(self, chain: &Chain, truth: &Reference, test: &Logistic, shown: usize) -> Setting {
        let kernel = chain.kernel();
        // Sections and proposals are counted after the warm-up only.
        let applied = chain.applications(chain.times[0].len().saturating_sub(1));
        let seconds = chain.seconds();
        let settled = chain.scalars_without(SETTLING);
        let ratios: Vec<f64> =
            settled.iter().zip(&truth.sds).map(|(s, sd)| mean_and_sd(s).1 / sd).collect();
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        let ess = settled.iter().map(|s| ess_bulk(&s.chains)).fold(f64::INFINITY, f64::min);
        let moments = self.moments(&chain.thinned(LOOKED_AT), truth, test);
        let at = |risk: f64| moments.iter().find(|m| m.risk <= risk).map(|m| m.seconds.max(TICK));
        Setting {
            transitions_per_second: (applied * self.transitions) as f64 / seconds,
            accepted: share(kernel.accepted, kernel.transitions),
            read: share(kernel.sections_used, kernel.population),
            sd_ratio: [0.5, 0.0, 1.0].map(|q| quantile(&ratios, q)),
            ess_per_second: ess / ((1.0 - SETTLING) * seconds),
            seconds_to: RISKS.map(at),
            shown: settled.get(shown).map(|s| s.chains.concat()).unwrap_or_default(),
            moments,
            name: self.name,
            epsilon: self.epsilon,
            kernel: self.kernel,
        }
    }

    fn moments(&self, chain: &Chain, truth: &Reference, test: &Logistic) -> Vec<Moment> {
        let mut predictive = Predictive::new(test);
        let mut moments = Vec::new();
        for (k, w) in chain.vectors("w").iter().enumerate() {
            predictive.add(w);
            moments.push(Moment {
                seconds: chain.times[0][k],
                transitions: (chain.applications(k) * self.transitions) as f64,
                risk: predictive.risk(&truth.predicted),
            });
        }
        moments
    }
}
