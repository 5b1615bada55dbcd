//! Sublinearity (section 4.1.1 of the paper): a logistic regression with two features, whose data grow.
//!
//! With a proposal of fixed width, decisions become easier as the data grow: the sections read
//! per transition grow more slowly than N and would level off, since the log weights of a fixed pair
//! (w, w') have a fixed mean and spread. But the posterior contracts like 1/√N, so such proposals are
//! hardly ever accepted. With a proposal as wide as the posterior the mean log weight is of the order of 1/N, its
//! spread of 1/√N, and a constant share of the rows is read. Both are shown, beside exact transitions.
//! Expected numbers come from the dynamic programme of the test.

mod page;

use smidgen::infer::austerity::{ErrorTable, Schedule};
use smidgen::infer::proposer::standard_normal;
use smidgen::value::{Rng, Value, math};

use crate::chain::{Budget, Chain, Plan, Program};
use crate::grown::{BATCH, EPSILON, Grown, PRIOR_VARIANCE, data_seed, mode_of, sizes};
use crate::output::Folder;
use crate::regression::expected_sections;
use crate::synthetic::Logistic;
use crate::{Error, Options, Outcome, Progress};

pub(crate) const PROGRAM: &str = include_str!("../../../examples/bayeslr.smg");
/// The paper's proposal.
const FIXED: f64 = 0.1;

/// What was measured with one proposal at one number of rows.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub drift: f64,
    /// Sections per transition: by the dynamic programme at proposals of the chain, and as counted.
    pub expected: f64,
    pub sections: f64,
    /// Microseconds per transition.
    pub exact: f64,
    pub subsampled: f64,
    /// Shares of accepted proposals.
    pub exact_accepted: f64,
    pub accepted: f64,
    /// Root mean square distance of the draws from the mode, in posterior standard deviations: 1 if
    /// the chain is right.
    pub spread: f64,
}

/// One number of rows.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub rows: usize,
    /// Expected sections for the same pair (w, w') at every number of rows, as in the paper's figure.
    pub fixed_pair: f64,
    pub fixed: Measured,
    pub scaled: Measured,
}

/// Everything that was found.
struct SublinearityFindings {
    rows: Vec<Row>,
    /// Some of the data.
    sample: Logistic,
}

pub fn run(options: &Options, progress: Progress<'_>) -> Result<Outcome, Error> {
    let seed = data_seed(options)?;
    let folder = Folder::new(options)?;
    folder.program(&Program::new("bayeslr.smg", PROGRAM))?;
    let sample = Logistic::new(2, options.size.pick(300, 1000, 1000), seed);
    // The same pair for every number of rows: around the weights that few data suggest.
    let from = mode_of(&sample)?.weights;
    let mut rng = Rng::from_seed(options.seed);
    let to: Vec<f64> = from.iter().map(|w| w + FIXED * standard_normal(&mut rng)).collect();
    let mut rows = Vec::new();
    for &n in sizes(options.size) {
        options.go_on()?;
        progress(&format!("{n} rows"));
        let grown = Grown::new(2, n, seed)?;
        let table = ErrorTable::new(n, &Schedule::new(BATCH, 1.0), EPSILON);
        let fixed_pair = expected_sections(&grown.data, PRIOR_VARIANCE, &table, [&from, &to]);
        let best = grown.best_drift();
        let trial = Trial { grown, table, options };
        let fixed = trial.measure(FIXED, &mut rng, &folder)?;
        let scaled = trial.measure(best, &mut rng, &folder)?;
        rows.push(Row { rows: n, fixed_pair, fixed, scaled });
    }
    let found = SublinearityFindings { rows, sample };
    folder.summary(&page::json(&found, options))?;
    let page = folder.page(page::page(&found, options, &folder)?)?;
    Ok(Outcome { text: page::text(&found), page })
}

/// A number of rows, ready to be run with any proposal.
struct Trial<'a> {
    grown: Grown,
    table: ErrorTable,
    options: &'a Options,
}

impl Trial<'_> {
    fn chain(&self, kernel: &str, budget: Budget) -> Result<Chain, Error> {
        let mut program = Program::new("bayeslr.smg", PROGRAM);
        program.params = vec![("sd", Value::Number(FIXED))];
        self.grown.chain(program, &Plan::new(kernel, budget), self.options)
    }

    fn measure(&self, drift: f64, rng: &mut Rng, folder: &Folder) -> Result<Measured, Error> {
        let seconds = self.options.size.pick(0.02, 1.0, 6.0);
        let most = Budget { seconds, draws: self.options.size.pick(30, 3000, 30_000) };
        // One draw is ten transitions: looking at the clock costs little beside that.
        let exact = self.chain(&format!("(mh w all 'drift {drift} 10)"), most)?;
        let kernel = format!("(subsampled_mh w all {BATCH} {EPSILON} 'drift {drift} 'audit 0 10)");
        let least = self.options.size.pick(10, 30, 30);
        let mut subsampled = self.chain(&kernel, most)?;
        if subsampled.times[0].len() < least {
            subsampled = self.chain(&kernel, Budget::draws(least))?;
        }
        let name = if drift == FIXED { "fixed" } else { "scaled" };
        let rows = self.grown.rows();
        folder.draws(&format!("draws-{rows}-{name}.csv"), &subsampled.thinned(300).run)?;
        let states = subsampled.vectors("w");
        let [e, s] = [exact.kernel(), subsampled.kernel()];
        let micro = |chain: &Chain, transitions: u64| 1e6 * chain.seconds() / transitions as f64;
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        Ok(Measured {
            drift,
            expected: self.expected(&states, drift, rng),
            sections: share(s.sections_used, s.transitions),
            exact: micro(&exact, e.transitions),
            subsampled: micro(&subsampled, s.transitions),
            exact_accepted: share(e.accepted, e.transitions),
            accepted: share(s.accepted, s.transitions),
            spread: self.spread(&states),
        })
    }

    /// The mean over proposals from states of the chain.
    fn expected(&self, states: &[Vec<f64>], drift: f64, rng: &mut Rng) -> f64 {
        let pairs = (60_000_000 / self.grown.rows()).clamp(20, 300).min(states.len());
        let mut total = 0.0;
        for k in 0..pairs {
            let old = &states[(k + 1) * states.len() / pairs - 1];
            let new: Vec<f64> = old.iter().map(|w| w + drift * standard_normal(rng)).collect();
            total += expected_sections(&self.grown.data, PRIOR_VARIANCE, &self.table, [old, &new]);
        }
        total / pairs as f64
    }

    fn spread(&self, states: &[Vec<f64>]) -> f64 {
        let mut total = 0.0;
        for state in states {
            for (j, w) in state.iter().enumerate() {
                let distance = (w - self.grown.at.weights[j]) / self.grown.at.sds[j];
                total += distance * distance / state.len() as f64;
            }
        }
        math::sqrt(total / states.len() as f64)
    }
}
