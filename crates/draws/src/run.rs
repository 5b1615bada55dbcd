//! Draws together with how they came about: everything a result file records.

use crate::Draws;

/// What one kernel of the inference program did, summed over chains, after warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelReport {
    /// The kernel as the user wrote it.
    pub kernel: String,
    pub transitions: u64,
    pub accepted: u64,
    /// Transitions that drew from a conditional law, where nothing is rejected, and those of them that
    /// changed a value.
    pub drawn: u64,
    pub changed: u64,
    /// Local sections that were evaluated, of `population` that an exact scan would have read.
    pub sections_used: u64,
    pub population: u64,
    /// Which evaluator of sections ran.
    pub evaluator: String,
    /// If it decided by a test that may err.
    pub approximation: Option<Approximation>,
    /// How it decides, if that is not as it was written.
    pub note: Option<String>,
}

/// What is known about decisions by a test that may err.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Approximation {
    pub decisions: u64,
    /// Decisions for which every section was read after all.
    pub exhausted: u64,
    /// Decisions that were also made exactly.
    pub audits: u64,
    /// Sections read for that.
    pub audit_sections: u64,
    pub wrongly_accepted: u64,
    pub wrongly_rejected: u64,
    /// 95 % interval of the share of wrong decisions among all.
    pub interval: (f64, f64),
    /// The same by the theory of the test, at the audited decisions.
    pub predicted_error: f64,
    /// Share of the sections that the theory expects to be read.
    pub predicted_usage: f64,
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
