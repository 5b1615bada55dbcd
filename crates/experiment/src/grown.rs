//! The regression of [`crate::sublinearity`] and [`crate::exact`]: made-up data that grow, chains from the mode of
//! the posterior, where a chain that has settled would be.

use std::sync::Arc;

use smidgen::value::{Table, Value, math};

use crate::chain::{Chain, Plan, Program};
use crate::regression::{Mode, mode};
use crate::synthetic::Logistic;
use crate::{Error, Options, Size};

/// Of every weight, in the programs that run here.
pub const PRIOR_VARIANCE: f64 = 0.1;
/// Of the subsampled test.
pub const BATCH: usize = 100;
pub const EPSILON: f64 = 0.01;
/// Of the best random walk on a normal posterior, in standard deviations of a weight, times √d.
const BEST: f64 = 2.38;
/// The data are made with this seed, unless another one is asked for.
const DATA_SEED: u64 = 4;
const SIZES: [usize; 10] =
    [300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];

/// The numbers of rows to run with.
pub fn sizes(size: Size) -> &'static [usize] {
    size.pick(&SIZES[..2], &SIZES[1..8], &SIZES[1..])
}

/// The seed of the data.
pub fn data_seed(options: &Options) -> Result<u64, Error> {
    match options.data {
        None => Ok(options.generate.unwrap_or(DATA_SEED)),
        Some(_) => {
            Err(Error::message("this experiment makes its data")
                .hint("--generate SEED makes others"))
        }
    }
}

/// The mode of the posterior of some data.
pub fn mode_of(data: &Logistic) -> Result<Mode, Error> {
    mode(data, PRIOR_VARIANCE).ok_or_else(|| {
        Error::message("the posterior of the made-up data has no mode: their numbers are too large")
    })
}

/// One number of rows.
pub struct Grown {
    pub data: Logistic,
    train: Arc<Table>,
    pub at: Mode,
}

impl Grown {
    pub fn new(features: usize, rows: usize, seed: u64) -> Result<Grown, Error> {
        let data = Logistic::new(features, rows, seed);
        let at = mode_of(&data)?;
        Ok(Grown { train: data.clone().into_table(), data, at })
    }

    pub fn rows(&self) -> usize {
        self.data.y.len()
    }

    /// The standard deviation of a random walk that is scaled to the posterior.
    pub fn best_drift(&self) -> f64 {
        let size = self.at.sds.len() as f64;
        BEST / math::sqrt(size) * self.at.sds.iter().sum::<f64>() / size
    }

    /// Runs a program with these data, from the mode.
    pub fn chain(
        &self,
        mut program: Program,
        plan: &Plan<'_>,
        options: &Options,
    ) -> Result<Chain, Error> {
        program.more = "[force w {start}]".to_owned();
        program.tables = vec![("train", self.train.clone())];
        program.params.push(("start", Value::vector(self.at.weights.clone())));
        program.sample(plan, options)
    }
}
