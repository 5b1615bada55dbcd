//! Draws together with how they came about: everything a result file records.

use std::collections::HashMap;

use crate::{Draws, Online};

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

/// What is known about each draw, where somebody asked for it: the log joint density, the mean acceptance of the
/// transitions it took, of those along a gradient the last step size and energy, the greatest depth and whether one
/// diverged, sections or rows read and how many there were. In files their columns end in `__`.
pub const STATISTICS: [&str; 8] = [
    "lp",
    "acceptance_rate",
    "step_size",
    "tree_depth",
    "energy",
    "diverging",
    "n_used",
    "n_total",
];

/// What is known of draws of which only some are kept.
#[derive(Clone, Debug, Default)]
pub struct LongRun {
    /// Draws from one that is kept to the next.
    pub every: usize,
    /// By the name of a quantity: chain by chain, entry by entry, all draws.
    pub added_up: HashMap<String, Vec<Vec<Online>>>,
}

impl LongRun {
    /// Another chain, added up: by the name of a quantity, entry by entry.
    pub fn add(&mut self, chain: Vec<(String, Vec<Online>)>) {
        for (name, sums) in chain {
            self.added_up.entry(name).or_default().push(sums);
        }
    }

    /// How many draws each chain has made, if anything of them was added up.
    pub fn made(&self) -> Option<Vec<usize>> {
        let any = self.added_up.values().find(|chains| chains.iter().all(|own| !own.is_empty()))?;
        Some(any.iter().map(|own| own[0].count() as usize).collect())
    }

    /// Of so many chains: what not all of them have added up is not known.
    pub fn of(mut self, chains: usize) -> LongRun {
        self.added_up.retain(|_, own| own.len() == chains);
        self
    }
}

/// A finished (or interrupted) run of `sample`.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub seed: u64,
    pub chains: usize,
    pub draws: Draws,
    /// What all draws say, if `draws` are only some of them.
    pub long: Option<LongRun>,
    /// [`STATISTICS`] of the draws, if they were asked for.
    pub stats: Draws,
    /// Draws of the warm-up, if they were asked for or there are no others, and their statistics.
    pub warmup: Draws,
    pub warmup_stats: Draws,
    pub kernels: Vec<KernelReport>,
    pub warnings: Vec<String>,
    /// The text of the program.
    pub program: String,
    /// The version of smidgen that ran it.
    pub version: String,
}

impl Run {
    /// A number that this run has and others have not, whatever file its draws were in.
    pub fn fingerprint(&self) -> u64 {
        self.draws.fingerprint().wrapping_add(self.warmup.fingerprint().rotate_left(1))
    }
}
