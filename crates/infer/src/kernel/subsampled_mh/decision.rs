//! One decision of the kernel, and what is learnt from it on the side: audits, checks in the
//! warm-up, trials.

use smidgen_engine::EvalError;
use smidgen_value::Rng;

use super::Policy;
use crate::acceptance::{AcceptanceTest, Exact, Exactness, Question, read_all};
use crate::audit::Audit;
use crate::austerity::{Accumulator, Pair, check};
use crate::run::{Log, Phase};
use crate::sections::Source;
use crate::trial::{self, Choice, Trials};

/// One decision, with what may be learnt from it.
pub(super) struct Decision<'a> {
    pub policy: &'a mut Policy,
    pub trials: &'a mut Option<Trials>,
    pub aside: &'a mut Option<Rng>,
    pub weights: &'a mut Vec<f64>,
    pub warm: &'a mut u64,
    pub audit: f64,
}

impl Decision<'_> {
    pub fn decide(
        self,
        question: &Question,
        sections: &mut dyn Source,
        log: &mut Log<'_>,
    ) -> Result<bool, EvalError> {
        match self.policy {
            Policy::Test { test, schedule, epsilon } => {
                let (schedule, epsilon) = (*schedule, *epsilon);
                // The current state is impossible: anything possible is better.
                let verdict = match question.log_global == f64::INFINITY {
                    true => Exact.decide(question, sections)?,
                    false => test.decide(question, sections)?,
                };
                log.sections(verdict.sections);
                if test.exactness() == Exactness::Exact {
                    return Ok(verdict.accept);
                }
                log.tally.approximate += 1;
                log.tally.exhausted += u64::from(verdict.sections == question.population);
                if verdict.impossible {
                    log.warn("a section became impossible at a proposed value: a test does not notice such sections unless it reads them, so proposals may have been accepted wrongly; use an exact kernel, or epsilon 0".to_owned());
                }
                let aside = self.aside.get_or_insert_with(|| sections.stream_aside());
                let check_due = log.run.phase == Phase::Warmup && {
                    *self.warm += 1;
                    trial::is_due(*self.warm)
                };
                if check_due || aside.uniform() < self.audit {
                    let log_alpha = log_alpha(question, sections, self.weights)?;
                    log.tally.audit_sections += question.population as u64;
                    log.audit(Audit {
                        log_alpha,
                        sigma: population_sd(self.weights),
                        log_u: question.log_u,
                        population: question.population,
                        sections: verdict.sections,
                        accepted: verdict.accept,
                        schedule,
                        epsilon,
                    });
                    log.weights(question.log_global, self.weights);
                    if check_due && log_alpha.is_finite() {
                        log.check(check(self.weights, schedule.first, epsilon, aside));
                    }
                }
                Ok(verdict.accept)
            }
            Policy::Trial(trial) => {
                let log_alpha = log_alpha(question, sections, self.weights)?;
                let accept = question.log_u < log_alpha;
                log.sections(question.population);
                if log_alpha.is_finite() {
                    let aside = self.aside.get_or_insert_with(|| sections.stream_aside());
                    let sigma_l = population_sd(self.weights);
                    let pair = Pair { log_alpha, sigma_l, population: question.population };
                    if let Some(choice) = trial.add(pair, self.weights, aside) {
                        self.trials.iter_mut().for_each(Trials::end);
                        *self.policy = choice.into_policy(log);
                    }
                }
                Ok(accept)
            }
            Policy::Exact => unreachable!("such blocks are moved whole"),
        }
    }
}

impl Choice {
    fn into_policy(self, log: &mut Log<'_>) -> Policy {
        match self {
            Choice::Test { test, schedule, epsilon, note } => {
                log.chose(Ok(note));
                Policy::Test { test: Box::new(test), schedule, epsilon }
            }
            Choice::Exact(reason) => {
                log.chose(Err(reason));
                Policy::Exact
            }
        }
    }
}

/// The standard deviation, divisor N.
fn population_sd(weights: &[f64]) -> f64 {
    let seen: Accumulator = weights.iter().copied().collect();
    (seen.m2 / seen.n as f64).sqrt()
}

/// Reads every section, and keeps what it read: log α.
fn log_alpha(
    question: &Question,
    sections: &mut dyn Source,
    weights: &mut Vec<f64>,
) -> Result<f64, EvalError> {
    weights.clear();
    let total = read_all(sections, &mut |lot| weights.extend_from_slice(lot))?;
    Ok(question.log_global + total)
}
