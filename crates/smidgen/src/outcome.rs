//! What a directive shows: plain data for front ends.

use smidgen_draws::KernelReport;
use smidgen_infer::Tally;
use smidgen_value::Value;

#[derive(Clone, Debug)]
pub struct Outcome {
    /// Number of the top-level directive, from 1.
    pub directive: usize,
    pub label: Option<String>,
    pub kind: OutcomeKind,
}

#[derive(Clone, Debug)]
pub enum OutcomeKind {
    Assume { name: String, value: Value },
    Predict(Value),
    Sample(Value),
    Report(Value),
    Force(Value),
    LogJoint(f64),
    LogLikelihood(f64),
    Infer(Inferred),
}

/// What an `infer` directive did.
#[derive(Clone, Debug, Default)]
pub struct Inferred {
    /// One per kernel.
    pub kernels: Vec<KernelReport>,
    /// What `collect` stored, by name.
    pub draws: Vec<(String, Vec<Value>)>,
    pub warnings: Vec<String>,
    pub interrupted: bool,
    /// What `resample` estimates: the log probability of all observations so far.
    pub log_marginal_likelihood: Option<f64>,
}

impl Inferred {
    /// Takes in what the same kernels did to another particle, or what came after.
    pub fn add(&mut self, other: Inferred) {
        for (k, kernel) in other.kernels.into_iter().enumerate() {
            match self.kernels.get_mut(k).filter(|known| known.kernel == kernel.kernel) {
                Some(known) => {
                    known.transitions += kernel.transitions;
                    known.accepted += kernel.accepted;
                    known.drawn += kernel.drawn;
                    known.changed += kernel.changed;
                    known.sections_used += kernel.sections_used;
                    known.population += kernel.population;
                }
                None => self.kernels.push(kernel),
            }
        }
        for warning in other.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self.interrupted |= other.interrupted;
    }

    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for kernel in &self.kernels {
            total.transitions += kernel.transitions;
            total.accepted += kernel.accepted;
            total.sections_used += kernel.sections_used;
            total.population += kernel.population;
        }
        total
    }
}

impl OutcomeKind {
    /// The name of the directive.
    pub fn name(&self) -> &'static str {
        match self {
            OutcomeKind::Assume { .. } => "assume",
            OutcomeKind::Predict(_) => "predict",
            OutcomeKind::Sample(_) => "sample",
            OutcomeKind::Report(_) => "report",
            OutcomeKind::Force(_) => "force",
            OutcomeKind::LogJoint(_) => "log_joint",
            OutcomeKind::LogLikelihood(_) => "log_likelihood",
            OutcomeKind::Infer(_) => "infer",
        }
    }

    /// The value shown, if it is one.
    pub fn value(&self) -> Option<Value> {
        match self {
            OutcomeKind::Assume { value, .. }
            | OutcomeKind::Predict(value)
            | OutcomeKind::Sample(value)
            | OutcomeKind::Report(value)
            | OutcomeKind::Force(value) => Some(value.clone()),
            OutcomeKind::LogJoint(x) | OutcomeKind::LogLikelihood(x) => Some(Value::Number(*x)),
            OutcomeKind::Infer(_) => None,
        }
    }
}
