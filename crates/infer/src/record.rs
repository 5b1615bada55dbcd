//! What a run knows about one kernel, and what it tells: counts, audits, the worst finding about
//! the log weights. Records of several chains add up.

use smidgen_draws::run::{Approximation, KernelReport};

use crate::audit::{self, Audit};
use crate::austerity::{Check, Trust};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub transitions: u64,
    pub accepted: u64,
    /// Sections read for decisions (for an exact move of a whole scaffold: absorbing choices), of
    /// how many there were.
    pub sections_used: u64,
    pub population: u64,
    /// Decisions made by a test that may err.
    pub approximate: u64,
    /// Of these, how many read every section after all.
    pub exhausted: u64,
    /// Sections read to audit decisions, on top of those for the decisions.
    pub audit_sections: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.transitions += other.transitions;
        self.accepted += other.accepted;
        self.sections_used += other.sections_used;
        self.population += other.population;
        self.approximate += other.approximate;
        self.exhausted += other.exhausted;
        self.audit_sections += other.audit_sections;
    }
}

/// A proposal with all its log weights: G, and l_i for every section.
#[derive(Clone, Debug)]
pub struct Weighed {
    pub log_global: f64,
    pub weights: Vec<f64>,
}

/// What a run knows about one kernel of its program.
#[derive(Clone, Debug, Default)]
pub struct KernelRecord {
    pub tally: Tally,
    /// Decisions that were also made exactly.
    pub audits: Vec<Audit>,
    /// The worst of the normality checks.
    pub check: Option<Check>,
    /// Sections read by each decision, if the run is detailed.
    pub sections: Vec<u32>,
    /// Some audited decisions with all their log weights, if the run is detailed.
    pub pairs: Vec<Weighed>,
    /// How it decides, if that is not as it was written.
    pub note: Option<String>,
    /// Whether sections were read, rather than whole scaffolds.
    pub reads_sections: bool,
}

impl KernelRecord {
    pub fn take_check(&mut self, check: Check) {
        if self.check.as_ref().is_none_or(|worst| check.trust() > worst.trust()) {
            self.check = Some(check);
        }
    }

    /// Takes in what another chain knows about the same kernel.
    pub fn merge(&mut self, other: KernelRecord) {
        self.tally.add(&other.tally);
        self.audits.extend(other.audits);
        self.sections.extend(other.sections);
        self.pairs.extend(other.pairs);
        self.reads_sections |= other.reads_sections;
        if let Some(check) = other.check {
            self.take_check(check);
        }
        if self.note.is_none() {
            self.note = other.note;
        }
    }

    pub fn report(&self, kernel: &str) -> KernelReport {
        let tally = &self.tally;
        let evaluator = if self.reads_sections { "interpreted sections" } else { "trace" };
        let approximation = (tally.approximate > 0).then(|| {
            let audit = audit::report(&self.audits).unwrap_or_default();
            Approximation {
                decisions: tally.approximate,
                exhausted: tally.exhausted,
                audits: audit.audits,
                audit_sections: tally.audit_sections,
                wrongly_accepted: audit.wrongly_accepted,
                wrongly_rejected: audit.wrongly_rejected,
                interval: audit.interval,
                predicted_error: audit.predicted_error,
                predicted_usage: audit.predicted_usage,
            }
        });
        KernelReport {
            kernel: kernel.to_owned(),
            transitions: tally.transitions,
            accepted: tally.accepted,
            sections_used: tally.sections_used,
            population: tally.population,
            evaluator: evaluator.to_owned(),
            approximation,
            note: self.note.clone(),
        }
    }

    /// What the user should know before trusting the draws.
    pub fn warnings(&self, kernel: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(check) = &self.check
            && check.trust() > Trust::Fine
        {
            let reasons = check.reasons().join("; ");
            warnings.push(format!(
                "the decisions of {kernel} should not be trusted: {reasons}. Use an exact kernel (epsilon 0), or see `smidgen compare`"
            ));
        }
        if let Some(found) = audit::report(&self.audits) {
            // More than noise: the lower end of the interval lies above what is tolerable.
            if found.interval.0 > WRONG {
                warnings.push(format!(
                    "{kernel}: {} of {} audited decisions were wrong; the draws are too widely spread, or biased. Use a larger batch, a smaller epsilon or an exact kernel, and see `smidgen compare`",
                    found.wrong(), found.audits
                ));
            } else if found.predicted_error > WRONG {
                warnings.push(format!(
                    "{kernel}: about {:.0} % of its decisions are wrong, by the theory of the test at {} audited ones; the draws are too widely spread. Use a larger batch, a smaller epsilon or an exact kernel, and see `smidgen compare`",
                    100.0 * found.predicted_error, found.audits
                ));
            }
        }
        warnings
    }
}

/// Share of wrong decisions from which on a warning is due.
const WRONG: f64 = 0.05;
