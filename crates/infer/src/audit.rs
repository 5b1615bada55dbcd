//! Audits: a small share of approximate decisions is also made exactly, with the same u.
//!
//! The share of decisions that differ estimates the error of a decision without bias, but a few
//! dozen audits see few errors. Each audit also knows the margin
//! μ_std = (μ − μ₀)√(N − 1)/σ_l of its decision, for which the dynamic programme predicts the
//! probability of an error; the mean of those predictions is far less noisy, and the two agree
//! if the log weights are as well-behaved as the test assumes.

use smidgen_value::{bytes_of_fields, math};

use crate::austerity::ErrorTable;
use crate::austerity::Schedule;
use crate::austerity::agreement::wilson;

#[derive(Clone, Copy, Debug)]
pub struct Audit {
    /// log α = G + Σ l_i, exactly.
    pub log_alpha: f64,
    /// The standard deviation of the l_i (divisor N).
    pub sigma: f64,
    pub log_u: f64,
    pub population: usize,
    /// Sections read by the decision.
    pub sections: usize,
    pub accepted: bool,
    /// How the decision was made.
    pub schedule: Schedule,
    pub epsilon: f64,
}

bytes_of_fields!(Audit {
    log_alpha,
    sigma,
    log_u,
    population,
    sections,
    accepted,
    schedule,
    epsilon,
});

impl Audit {
    pub fn exactly_accepted(&self) -> bool {
        self.log_u < self.log_alpha
    }

    /// The margin of the decision in standard errors of the whole population.
    pub fn mu_std(&self) -> f64 {
        let n = self.population as f64;
        (self.log_alpha - self.log_u) * (n - 1.0).sqrt() / (n * self.sigma)
    }
}

/// What the audits of one kernel say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AuditReport {
    pub audits: u64,
    pub wrongly_accepted: u64,
    pub wrongly_rejected: u64,
    /// 95 % interval of the share of wrong decisions.
    pub interval: (f64, f64),
    /// Error of a decision and share of sections read, by the dynamic programme.
    pub predicted_error: f64,
    pub predicted_usage: f64,
}

impl AuditReport {
    pub fn wrong(&self) -> u64 {
        self.wrongly_accepted + self.wrongly_rejected
    }
}

/// The report of audits; none if there are none.
pub fn report(audits: &[Audit]) -> Option<AuditReport> {
    if audits.is_empty() {
        return None;
    }
    let wrongly = |accepted| {
        let wrong = |a: &&Audit| a.accepted == accepted && a.exactly_accepted() != accepted;
        audits.iter().filter(wrong).count() as u64
    };
    let (wrongly_accepted, wrongly_rejected) = (wrongly(true), wrongly(false));
    let count = audits.len() as u64;
    let mut tables = Tables::default();
    let (mut error, mut usage) = (0.0, 0.0);
    for audit in audits {
        let outcome = tables.at(audit);
        error += outcome.0;
        usage += outcome.1;
    }
    Some(AuditReport {
        audits: count,
        wrongly_accepted,
        wrongly_rejected,
        interval: wilson(wrongly_accepted + wrongly_rejected, count),
        predicted_error: error / count as f64,
        predicted_usage: usage / count as f64,
    })
}

/// Tables of the dynamic programme, shared by populations of about the same size.
#[derive(Default)]
pub struct Tables(Vec<((usize, Schedule, f64), ErrorTable)>);

impl Tables {
    /// Error and usage at an audit.
    fn at(&mut self, audit: &Audit) -> (f64, f64) {
        if !audit.mu_std().is_finite() {
            return (0.0, 1.0);
        }
        let outcome =
            self.table(audit.population, audit.schedule, audit.epsilon).at(audit.mu_std());
        (outcome.error, outcome.usage)
    }

    pub fn table(&mut self, population: usize, schedule: Schedule, epsilon: f64) -> &ErrorTable {
        let population = about(population);
        let key = (population, schedule, epsilon);
        let known = self.0.iter().position(|(known, _)| *known == key);
        let place = known.unwrap_or_else(|| {
            self.0.push((key, ErrorTable::new(population, &schedule, epsilon)));
            self.0.len() - 1
        });
        &self.0[place].1
    }
}

/// Rounded to about three per cent, so that clusters that grow and shrink share tables.
fn about(population: usize) -> usize {
    if population < 64 {
        return population;
    }
    let step = 0.03;
    let rounded = (math::ln(population as f64) / step).round() * step;
    math::exp(rounded).round() as usize
}
