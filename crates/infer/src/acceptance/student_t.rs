//! Algorithm 2 of the paper: a sequential one-sided Student-t test of μ > μ₀ (theory 2).
//!
//! After n sections, with mean ȳ and standard deviation s_l (divisor n − 1),
//!
//! s = s_l/√n · √((N − n)/(N − 1)),  stop if |ȳ − μ₀| > s · T⁻¹_{n−1}(1 − ε),  accept iff ȳ > μ₀.
//!
//! ε is the level of *one* look, one-sided; a decision that looks often errs more often. Equal
//! log weights (s_l = 0 up to rounding) decide nothing: the next batch is read. When all N have
//! been read the decision is exact. An impossible section (−∞) is a rejection at once; if the
//! *current* state is impossible (+∞), which happens only at a start, everything is read.

use smidgen_engine::EvalError;

use crate::acceptance::{AcceptanceTest, Exactness, LogWeights, Question, Verdict};
use crate::austerity::Accumulator;
use crate::austerity::CriticalValues;
use crate::austerity::Schedule;

pub struct StudentT {
    schedule: Schedule,
    epsilon: f64,
    critical: CriticalValues,
    weights: Vec<f64>,
}

/// Below so many units in the last place of the mean a standard deviation is rounding.
const ROUNDING: f64 = 64.0;

impl StudentT {
    pub fn new(schedule: Schedule, epsilon: f64) -> StudentT {
        let critical = CriticalValues::new(epsilon);
        StudentT { schedule, epsilon, critical, weights: Vec::new() }
    }
}

impl AcceptanceTest for StudentT {
    fn decide(
        &mut self,
        question: &Question,
        weights: &mut dyn LogWeights,
    ) -> Result<Verdict, EvalError> {
        let (population, mu0) = (question.population, question.mu0());
        let mut seen = Accumulator::default();
        let mut only_before_impossible = false;
        let mut next = self.schedule.first.max(2);
        let mut verdict =
            Verdict { accept: false, sections: 0, looks: 0, statistic: None, impossible: false };
        loop {
            let wanted = next.min(population) - verdict.sections;
            self.weights.clear();
            weights.draw(wanted, &mut self.weights)?;
            verdict.sections += wanted;
            let batch = Accumulator::of_batch(&self.weights);
            if !batch.m2.is_finite() && self.weights.iter().any(|l| l.is_infinite()) {
                if self.weights.contains(&f64::NEG_INFINITY) {
                    return Ok(Verdict { impossible: true, ..verdict });
                }
                only_before_impossible = true;
            } else {
                seen = seen.merge(batch);
            }
            if verdict.sections == population {
                let accept = only_before_impossible || seen.mean > mu0;
                return Ok(Verdict { accept, ..verdict });
            }
            verdict.looks += 1;
            let sd = seen.variance().sqrt();
            if !only_before_impossible
                && self.epsilon > 0.0
                && sd > ROUNDING * f64::EPSILON * seen.mean.abs()
            {
                let error = standard_error(sd, verdict.sections, population);
                if (seen.mean - mu0).abs() > error * self.critical.at(verdict.sections as u64) {
                    verdict.statistic = Some((seen.mean - mu0) / error);
                    return Ok(Verdict { accept: seen.mean > mu0, ..verdict });
                }
            }
            next = self.schedule.after(next);
        }
    }

    fn exactness(&self) -> Exactness {
        match self.epsilon {
            0.0 => Exactness::Exact,
            epsilon => Exactness::Asymptotic { epsilon },
        }
    }
}

/// Of the mean of n out of N values without replacement.
fn standard_error(sd: f64, n: usize, population: usize) -> f64 {
    let (n, population) = (n as f64, population as f64);
    sd / n.sqrt() * ((population - n) / (population - 1.0)).sqrt()
}

/// The test on log weights that are given in the order of their drawing: accept or not, the
/// number read, and the statistic that decided.
pub fn sequential_test(mu0: f64, weights: &[f64], schedule: Schedule, epsilon: f64) -> Verdict {
    struct Given<'a>(&'a [f64]);
    impl LogWeights for Given<'_> {
        fn draw(&mut self, n: usize, weights: &mut Vec<f64>) -> Result<(), EvalError> {
            let (now, later) = self.0.split_at(n);
            weights.extend_from_slice(now);
            self.0 = later;
            Ok(())
        }
        fn scan(&mut self, visit: &mut dyn FnMut(&[f64]) -> bool) -> Result<(), EvalError> {
            let _ = visit(self.0);
            Ok(())
        }
        fn strata(&mut self) -> Vec<usize> {
            vec![self.0.len()]
        }
        fn draw_from(&mut self, _: usize, n: usize, to: &mut Vec<f64>) -> Result<(), EvalError> {
            self.draw(n, to)
        }
    }
    let population = weights.len();
    let question = Question { log_u: mu0 * population as f64, log_global: 0.0, population };
    let verdict = StudentT::new(schedule, epsilon).decide(&question, &mut Given(weights));
    verdict.expect("numbers that are given cannot fail")
}
