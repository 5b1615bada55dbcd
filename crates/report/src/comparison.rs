//! The report of `smidgen compare`: the same program run with an approximate and with the exact
//! kernel, and how they differ: in decisions, in the posterior, in cost and in speed.
//!
//! Everything here is plain data that somebody else measured; a number that is not known is NaN.
//! The tables (`tables`) and sentences (`words`) are the same on the page and in the terminal.

mod html;
mod json;
mod plots;
mod tables;
mod text;
mod words;

pub use html::comparison_html;
pub use json::comparison_json;
pub use text::comparison_text;

use crate::{Finding, Verdict};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The text of the program.
    pub program: String,
    /// Where it was read from.
    pub file: String,
    /// The version of smidgen that ran it.
    pub version: String,
    pub seed: u64,
    /// Of each of the two runs, after `warmup` draws per chain, `draws` per chain.
    pub chains: usize,
    pub warmup: usize,
    pub draws: usize,
    /// The inference programs as the user would write them.
    pub approximate_kernel: String,
    pub exact_kernel: String,
    pub kernels: Vec<KernelComparison>,
    pub quantities: Vec<QuantityComparison>,
    pub speed: Speed,
    /// Maximum mean discrepancy of all quantities together: MMD² and its permutation p-value.
    pub mmd: Option<(f64, f64)>,
    /// What led to the verdict, and what else is worth knowing.
    pub findings: Vec<Finding>,
    pub verdict: Verdict,
    pub warnings: Vec<String>,
}

/// One approximate kernel of the inference program, after warm-up, over all chains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelComparison {
    /// As the user wrote it.
    pub kernel: String,
    /// Of its test: the level, and the sections read at a time.
    pub epsilon: f64,
    pub batch: usize,
    pub transitions: u64,
    pub accepted: u64,
    /// The same for its exact twin.
    pub transitions_exact: u64,
    pub accepted_exact: u64,
    /// Sections that a transition would read if it were exact, on average.
    pub population: f64,
    pub sections: Sections,
    /// Decisions that were made exactly as well, with the same random number, and those that
    /// came out otherwise.
    pub shadow: u64,
    pub wrongly_accepted: u64,
    pub wrongly_rejected: u64,
    /// Rate of disagreement and its 95 % Wilson interval.
    pub disagreement: (f64, f64, f64),
    /// By theory: the rate of disagreement, and the fraction of sections read.
    pub predicted_error: f64,
    pub predicted_usage: f64,
    pub pairs: Vec<PairComparison>,
    /// Why it ran exactly, if it did.
    pub fallback: Option<String>,
    /// About the normality of subsample means.
    pub normality: Vec<String>,
}

/// Sections read per transition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections {
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub max: f64,
    /// How many transitions read everything.
    pub fraction_full: f64,
}

/// A move from one state to a proposed one, decided many times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairComparison {
    pub log_alpha: f64,
    /// The sections' number times the standard deviation of their log weights.
    pub sigma: f64,
    /// The exact probability of acceptance.
    pub p_accept: f64,
    /// The frequency of acceptance by the approximate test, and its standard error.
    pub p_approximate: f64,
    pub p_approximate_se: f64,
    /// What theory predicts for it.
    pub predicted: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    pub mean: f64,
    pub sd: f64,
    /// Monte Carlo standard error of the mean.
    pub mcse: f64,
    pub ess_bulk: f64,
}

/// One scalar of the posterior, under both kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuantityComparison {
    pub name: String,
    pub exact: Moments,
    pub approximate: Moments,
    /// Approximate minus exact, in exact standard deviations and in Monte Carlo standard errors.
    pub mean_difference: f64,
    pub mean_difference_z: f64,
    /// Approximate over exact; how many standard errors it is from 1.
    pub sd_ratio: f64,
    pub sd_ratio_z: f64,
    /// Of the two-sample Kolmogorov-Smirnov test on thinned draws.
    pub ks_p: f64,
    pub verdict: Verdict,
    /// By chain.
    pub exact_draws: Vec<Vec<f64>>,
    pub approximate_draws: Vec<Vec<f64>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speed {
    /// For the draws after warm-up.
    pub exact_seconds: f64,
    pub approximate_seconds: f64,
    /// Transitions per second, approximate over exact.
    pub transitions_ratio: f64,
    /// Sections per transition, exact over approximate.
    pub sections_ratio: f64,
    /// Effective draws per second of each quantity: exact, approximate.
    pub ess_per_second: Vec<(String, f64, f64)>,
}

impl Comparison {
    /// What the kernels are called where there is little room: their own text if it is short.
    fn labels(&self) -> Vec<String> {
        const SHORT: usize = 24;
        let short = |k: &KernelComparison| k.kernel.chars().count() <= SHORT;
        match !self.kernels.is_empty() && self.kernels.iter().all(short) {
            true => self.kernels.iter().map(|k| k.kernel.clone()).collect(),
            false => (1..=self.kernels.len()).map(|n| format!("kernel {n}")).collect(),
        }
    }

    /// The kernels that did run approximately, with their labels.
    fn approximate(&self) -> Vec<(String, &KernelComparison)> {
        let labelled = self.labels().into_iter().zip(&self.kernels);
        labelled.filter(|(_, kernel)| kernel.fallback.is_none()).collect()
    }
}

impl QuantityComparison {
    /// How far apart the runs are: the larger of the two numbers of standard errors.
    fn distance(&self) -> f64 {
        self.mean_difference_z.abs().max(self.sd_ratio_z.abs())
    }
}

/// The places of at most `most` quantities, in their order: those with the gravest verdicts and
/// the largest differences.
fn most_different(quantities: &[QuantityComparison], most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..quantities.len()).collect();
    places.sort_by(|&a, &b| {
        let (a, b) = (&quantities[a], &quantities[b]);
        b.verdict.cmp(&a.verdict).then(b.distance().total_cmp(&a.distance()))
    });
    places.truncate(most);
    places.sort_unstable();
    places
}
