//! Draws together with how they came about: everything a result file records.

use crate::Draws;

/// What one kernel of the inference program did, summed over chains, after warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelReport {
    /// The kernel as the user wrote it.
    pub kernel: String,
    pub transitions: u64,
    pub accepted: u64,
    /// Local sections that were evaluated, of `population` that an exact scan would have read.
    pub sections_used: u64,
    pub population: u64,
    /// Which evaluator of sections ran.
    pub evaluator: String,
}

/// A finished (or interrupted) run of `sample`.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub seed: u64,
    pub chains: usize,
    pub draws: Draws,
    pub kernels: Vec<KernelReport>,
    pub warnings: Vec<String>,
    /// The text of the program.
    pub program: String,
    /// The version of smidgen that ran it.
    pub version: String,
}
