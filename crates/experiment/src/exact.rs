//! Exact draws that read almost no rows: the regression of [`crate::sublinearity`], as its data grow.
//!
//! `reference_mh` proposes from a normal law around the mode and reads only rows whose remainder beyond the second-order
//! polynomial may object. All remainders together shrink like N^{−1/2}, so the rows read per move *fall* with N. It is
//! measured beside a random walk as wide as the posterior (`mh`), `nuts`, and `subsampled_mh`, each with its bias: means and
//! standard deviations against those by quadrature ([`crate::regression::moments`]), which owe nothing to any kernel.
//!
//! Effective draws are the least over weights and their squared deviations: a kernel may know where the
//! posterior lies and not how wide it is. What has to be made first (the reference with its sums and bounds, the warm-up of `nuts`) is told apart,
//! and counts in the time to a number of effective draws.
//!
//! Where it does not pay is measured too: few rows, many coordinates.

mod page;

use smidgen::draws::diagnostics::ess_mean;
use smidgen::infer::austerity::Accumulator;
use smidgen::value::math;

use crate::chain::{Budget, Chain, Plan, Program};
use crate::grown::{BATCH, EPSILON, Grown, PRIOR_VARIANCE, data_seed, sizes};
use crate::output::Folder;
use crate::regression::{Moments, moments};
use crate::timing::TICK;
use crate::{Error, Options, Outcome, Progress};

const PROGRAM: &str = include_str!("../../../examples/exact.smg");
/// Effective draws that one may want; how long they take is told.
const WANTED: f64 = 1000.0;
/// From so many rows on, every transition of a random walk is a draw; before, every tenth.
const SLOW: usize = 30_000;
/// Draws from which it is guessed how many a budget allows, where the clock must not be looked at.
const PILOT: usize = 500;
/// A preparation is repeated until it has taken so many seconds in all, at most so often: the clock's steps are coarse.
const LONG_ENOUGH: f64 = 0.1;
const REPEATED: usize = 200;
/// About the seconds that a transition in the warm-up of `nuts` takes for each row: they are added to its budget. Where
/// they are more, it makes at least so many draws.
const WARMUP_PER_ROW: f64 = 1e-7;
const LEAST: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    Reference,
    Walk,
    Nuts,
    Subsampled,
}

impl Kernel {
    const ALL: [Kernel; 4] = [Kernel::Reference, Kernel::Walk, Kernel::Nuts, Kernel::Subsampled];

    fn name(self) -> &'static str {
        match self {
            Kernel::Reference => "reference_mh",
            Kernel::Walk => "mh",
            Kernel::Nuts => "nuts",
            Kernel::Subsampled => "subsampled_mh",
        }
    }

    /// As it is written in a program.
    fn text(self, grown: &Grown) -> String {
        let drift = grown.best_drift();
        let moves = if grown.rows() < SLOW { 10 } else { 1 };
        match self {
            Kernel::Reference => "(reference_mh w all 1)".to_owned(),
            Kernel::Walk => format!("(mh w all 'drift {drift} {moves})"),
            Kernel::Nuts => "(nuts w all 1)".to_owned(),
            Kernel::Subsampled => {
                format!("(subsampled_mh w all {BATCH} {EPSILON} 'drift {drift} 'audit 0 {moves})")
            }
        }
    }
}

/// A number with its standard error.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    value: f64,
    error: f64,
}

/// What a kernel does to the posterior, at its worst over the weights.
#[derive(Clone, Copy, Debug)]
struct Bias {
    /// Of a mean, in posterior standard deviations.
    shift: Estimate,
    /// Standard deviation over the right one.
    sd_ratio: Estimate,
}

/// One kernel at one number of rows.
#[derive(Clone, Copy, Debug)]
struct Measured {
    kernel: Kernel,
    moves: u64,
    rows_per_move: f64,
    /// Share of the proposals; not known for `nuts`.
    accepted: f64,
    /// Seconds of one move.
    each: f64,
    /// Seconds before the first draw: reference or warm-up. Nothing for a walk, whose scale is given.
    preparation: Option<f64>,
    /// The least effective draws.
    ess: f64,
    ess_per_second: f64,
    bias: Option<Bias>,
}

impl Measured {
    fn ess_per_move(&self) -> f64 {
        self.ess / self.moves as f64
    }

    /// To [`WANTED`] effective draws, from nothing.
    fn seconds_to_wanted(&self) -> f64 {
        self.preparation.unwrap_or(0.0) + WANTED / self.ess_per_second
    }
}

struct Row {
    rows: usize,
    /// In the order of [`Kernel::ALL`].
    kernels: Vec<Measured>,
}

impl Row {
    fn of(&self, kernel: Kernel) -> &Measured {
        let found = self.kernels.iter().find(|measured| measured.kernel == kernel);
        found.expect("every kernel runs at every number of rows")
    }

    /// Preparation as a multiple of a scan of all rows, which is what a transition of the walk takes.
    fn scans(&self) -> f64 {
        let preparation = self.of(Kernel::Reference).preparation;
        preparation.map_or(f64::NAN, |seconds| seconds / self.of(Kernel::Walk).each)
    }
}

/// Another shape of data: `reference_mh` and `nuts`.
struct Shape {
    rows: usize,
    features: usize,
    reference: Measured,
    nuts: Measured,
}

struct ExactFindings {
    rows: Vec<Row>,
    shapes: Vec<Shape>,
}

pub fn run(options: &Options, progress: Progress<'_>) -> Result<Outcome, Error> {
    let seed = data_seed(options)?;
    let folder = Folder::new(options)?;
    folder.program(&Program::new("exact.smg", PROGRAM))?;
    let mut rows = Vec::new();
    for (k, &n) in sizes(options.size).iter().enumerate() {
        options.go_on()?;
        progress(&format!("{n} rows"));
        // The same random numbers at every number of rows would make almost the same mistakes.
        let options = &Options { seed: options.seed.wrapping_add(k as u64), ..options.clone() };
        let grown = Grown::new(2, n, seed)?;
        let truth = moments(&grown.data, PRIOR_VARIANCE, &grown.at);
        let mut kernels = Vec::new();
        for kernel in Kernel::ALL {
            let (chain, preparation) = run_kernel(&grown, kernel, options)?;
            let name = format!("draws-{n}-{}.csv", kernel.name());
            folder.draws(&name, &chain.thinned(300).run)?;
            kernels.push(judge(&grown, kernel, &chain, preparation, Some(&truth)));
        }
        rows.push(Row { rows: n, kernels });
    }
    let mut shapes = Vec::new();
    for &(n, features) in options.size.pick(&SHAPES[..1], &SHAPES, &SHAPES) {
        options.go_on()?;
        progress(&format!("{n} rows of {features} features"));
        let grown = Grown::new(features, n, seed)?;
        let measure = |kernel: Kernel| {
            let (chain, preparation) = run_kernel(&grown, kernel, options)?;
            Ok(judge(&grown, kernel, &chain, preparation, None))
        };
        let (reference, nuts) = (measure(Kernel::Reference)?, measure(Kernel::Nuts)?);
        shapes.push(Shape { rows: n, features, reference, nuts });
    }
    let found = ExactFindings { rows, shapes };
    folder.summary(&page::json(&found, options))?;
    let page = folder.page(page::page(&found, options, &folder)?)?;
    Ok(Outcome { text: page::text(&found), page })
}

/// Rows and features where it may not pay.
const SHAPES: [(usize, usize); 5] = [(100, 2), (1000, 10), (1000, 50), (10_000, 10), (10_000, 50)];

/// Seconds, or NaN where the clock's steps say nothing.
fn known(seconds: f64) -> f64 {
    if seconds < 2.0 * TICK { f64::NAN } else { seconds }
}

/// A chain, and the seconds before its first draw.
fn run_kernel(
    grown: &Grown,
    kernel: Kernel,
    options: &Options,
) -> Result<(Chain, Option<f64>), Error> {
    let run = |plan: &Plan<'_>| grown.chain(Program::new("exact.smg", PROGRAM), plan, options);
    let text = kernel.text(grown);
    let seconds = options.size.pick(0.02, 4.0, 30.0);
    let most = options.size.pick(40, 10_000, 100_000);
    let timed = Plan::new(&text, Budget { seconds, draws: most });
    match kernel {
        Kernel::Walk | Kernel::Subsampled => Ok((run(&timed)?, None)),
        Kernel::Nuts => {
            let warmup = options.size.pick(20, 100, 300);
            let learning = WARMUP_PER_ROW * (warmup * grown.rows()) as f64;
            let budget = Budget { seconds: seconds + learning, ..timed.budget };
            let mut chain = run(&Plan { warmup, budget, ..timed })?;
            if chain.times[0].len() < LEAST.min(most) {
                chain = run(&Plan { warmup, budget: Budget::draws(LEAST.min(most)), ..timed })?;
            }
            let preparation = known(chain.seconds() - chain.drawing);
            Ok((chain, Some(preparation)))
        }
        Kernel::Reference => {
            // A warm-up of one transition: the reference is all that there is to learn.
            let plan = Plan { warmup: 1, budget: Budget::draws(most.min(PILOT)), ..timed };
            let pilot = run(&plan)?;
            let allowed = seconds * most.min(PILOT) as f64 / pilot.drawing;
            let draws = (allowed as usize).clamp(most.min(PILOT), 30 * most);
            let chain = run(&Plan { budget: Budget::draws(draws), is_timed: false, ..plan })?;
            let only = Plan { budget: Budget::draws(1), ..plan };
            let mut total = pilot.seconds() - pilot.drawing;
            let mut times = 1;
            while total < LONG_ENOUGH && times < options.size.pick(1, REPEATED, REPEATED) {
                let again = run(&only)?;
                total += again.seconds() - again.drawing;
                times += 1;
            }
            Ok((chain, Some(known(total) / f64::from(times as u32))))
        }
    }
}

fn judge(
    grown: &Grown,
    kernel: Kernel,
    chain: &Chain,
    preparation: Option<f64>,
    truth: Option<&Moments>,
) -> Measured {
    let report = chain.kernel();
    let moves = report.transitions;
    let per_move = |count: u64| count as f64 / moves as f64;
    let rows_per_move = match kernel {
        Kernel::Nuts => per_move(chain.gradients) * grown.rows() as f64,
        _ => per_move(report.sections_used),
    };
    let accepted = if kernel == Kernel::Nuts { f64::NAN } else { per_move(report.accepted) };
    let weights: Vec<Weight> =
        chain.run.draws.scalars().iter().map(|scalar| Weight::new(&scalar.chains[0])).collect();
    let all = weights.iter().flat_map(|w| [w.ess, w.ess_of_squares]);
    // What is not known is not the least, it makes the least unknown.
    let ess = all.reduce(|a, b| if a.is_nan() || a < b { a } else { b }).unwrap_or(f64::NAN);
    let drawing = known(chain.drawing);
    Measured {
        kernel,
        moves,
        rows_per_move,
        accepted,
        each: drawing / moves as f64,
        preparation,
        ess,
        ess_per_second: ess / drawing,
        bias: truth.and_then(|truth| bias(&weights, truth)),
    }
}

/// What the draws say about a weight.
struct Weight {
    mean: f64,
    sd: f64,
    ess: f64,
    ess_of_squares: f64,
}

impl Weight {
    fn new(draws: &[f64]) -> Weight {
        let all: Accumulator = draws.iter().copied().collect();
        let squares: Vec<f64> = draws.iter().map(|w| (w - all.mean) * (w - all.mean)).collect();
        Weight {
            mean: all.mean,
            sd: math::sqrt(all.variance()),
            ess: ess_mean(&[draws]),
            ess_of_squares: ess_mean(&[squares]),
        }
    }
}

/// The largest deviations over the weights. Var z² = 2 for a normal, so that of the standard deviation is 1/2n.
fn bias(weights: &[Weight], truth: &Moments) -> Option<Bias> {
    let worst = |estimates: Vec<Estimate>, from: f64| {
        estimates
            .into_iter()
            .max_by(|a, b| (a.value - from).abs().total_cmp(&(b.value - from).abs()))
    };
    let right = || truth.means.iter().zip(&truth.sds);
    let shift = |(w, (mean, sd)): (&Weight, (&f64, &f64))| Estimate {
        value: (w.mean - mean) / sd,
        error: 1.0 / math::sqrt(w.ess),
    };
    let sd_ratio = |(w, (_, sd)): (&Weight, (&f64, &f64))| Estimate {
        value: w.sd / sd,
        error: 1.0 / math::sqrt(2.0 * w.ess_of_squares),
    };
    let shift = worst(weights.iter().zip(right()).map(shift).collect(), 0.0)?;
    let sd_ratio = worst(weights.iter().zip(right()).map(sd_ratio).collect(), 1.0)?;
    Some(Bias { shift, sd_ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bias_is_that_of_the_worst_weight() {
        let truth = Moments { means: vec![0.0, 1.0], sds: vec![1.0, 2.0] };
        let weight = |mean: f64, sd: f64| Weight { mean, sd, ess: 100.0, ess_of_squares: 50.0 };
        let found = bias(&[weight(0.1, 1.5), weight(0.4, 2.2)], &truth).expect("weights");
        assert!((found.shift.value + 0.3).abs() < 1e-12 && (found.shift.error - 0.1).abs() < 1e-12);
        assert!((found.sd_ratio.value - 1.5).abs() < 1e-12);
        assert!((found.sd_ratio.error - 0.1).abs() < 1e-12);
    }

    #[test]
    fn squares_may_know_less_than_weights() {
        // Signs alternate, sizes do not change for long: the mean is known well, the width is not.
        let draws: Vec<f64> = (0..1000)
            .map(|k| (1.0 + f64::from(k / 100 % 2)) * if k % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        let weight = Weight::new(&draws);
        assert!(weight.ess_of_squares < 0.1 * weight.ess, "{}", weight.ess_of_squares);
    }
}
